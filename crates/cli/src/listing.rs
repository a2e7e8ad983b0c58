//! `list`, behind commands that list something anyway.

/// The command that some type behind `drives`, `devices` and `policies`.
#[derive(clap::Subcommand)]
pub enum Listing {
    /// The same as without `list`
    #[command(hide = true)]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Listing {
    /// Whether `--json` was given, behind `list` or in its place.
    pub fn is_json(typed: Option<Self>, json: bool) -> bool {
        match typed {
            Some(Self::List { json }) => json,
            None => json,
        }
    }
}
