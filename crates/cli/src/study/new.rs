//! `diskarm study new`.

use diskarm_results::output_file::Files;

use crate::error::Error;
use crate::output;

#[derive(clap::Args)]
pub struct New {
    /// The file to write; its name must end in .toml, and nothing is replaced. - is standard output
    #[arg(value_name = "FILE.toml", value_parser = crate::calibrate::toml_or_standard)]
    file: String,
}

/// A study that runs in seconds, with a comment on each part.
const SMALL: &str = include_str!("new.toml");

/// Writes it.
pub fn run(args: &New) -> Result<(), Error> {
    let file = &args.file;
    if file == "-" {
        return output::print(SMALL);
    }
    if std::fs::symlink_metadata(file).is_ok() {
        let expected = "a file that does not exist yet";
        return Err(Error::flag("FILE.toml", file, expected));
    }
    let place = Files::default().output("FILE.toml", file)?;
    place.write(SMALL.replace("FILE.toml", file).as_bytes())?;
    output::print(&format!("wrote {file}; run it: diskarm study run {file}\n"))
}
