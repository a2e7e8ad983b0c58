//! Arguments that several commands share, and parsers of their values.

use std::ops::RangeInclusive;
use std::path::Path;

use diskarm_core::text::{InputError, quantity};
use diskarm_core::units::Span;
use diskarm_drives::CATALOGUE;
use diskarm_drives::text::Edit;
use diskarm_simulate::{Error, Model, System, devices};

/// Changes to a drive's specification.
#[derive(clap::Args)]
pub struct Changes {
    /// Change a value of the drive's specification, such as queue.depth=1; may be repeated
    ///
    /// Keys are those of a specification, with their table (docs/specification.md; `diskarm drives
    /// show NAME --toml` prints one): --set queue.depth=1 --set "mechanics.rotation=10000 rpm".
    /// Results name the drive with its changes.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    values: Vec<String>,
}

impl Changes {
    /// Returns the changed model.
    ///
    /// # Errors
    /// An unknown key, or a value that is wrong or does not fit the others.
    pub fn apply(&self, model: Model) -> Result<Model, Error> {
        model.with_edits(&self.edits()?, "--set")
    }

    /// Applies the changes to the drive of `system`.
    pub fn apply_to_system(&self, system: System) -> Result<System, Error> {
        system.with_edits(&self.edits()?, "--set")
    }

    /// Returns the changes as edits of a specification.
    ///
    /// # Errors
    /// An unknown key, or a value that is wrong.
    pub fn edits(&self) -> Result<Vec<Edit>, InputError> {
        let edits = self.values.iter().map(|text| Edit::parse(text, "--set"));
        edits.collect()
    }
}

/// Returns the help for a drive, with all names.
pub fn drive_help() -> String {
    let names: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
    format!(
        "Drive: a name from the catalogue, or the path of your own specification, which ends in \
         .toml.\n\nCatalogue: {}",
        names.join(", ")
    )
}

/// Returns the help for a drive or a device stack.
pub fn stack_help() -> String {
    let names: Vec<&str> = devices::infos().map(|info| info.name).collect();
    format!(
        "{}\n\nDevices can be stacked in front of it: host(policy=sptf, drive=hp-c2247). \
         `diskarm devices` describes them: {}",
        drive_help(),
        names.join(", ")
    )
}

/// A redundant `list` after `drives`, `devices` and `policies`.
#[derive(clap::Subcommand)]
pub enum Listing {
    /// Like the command without `list`
    #[command(hide = true)]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Listing {
    /// Returns true if `--json` was given, after `list` or instead of it.
    pub fn is_json(typed: Option<Self>, json: bool) -> bool {
        match typed {
            Some(Self::List { json }) => json,
            None => json,
        }
    }
}

/// Parses a whole number within `range`, which must fit in `T`.
pub fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = quantity::count(text).filter(|number| range.contains(number));
        number.and_then(|n| T::try_from(n).ok()).ok_or_else(|| {
            let (first, last) = (range.start(), range.end());
            let is_too_long = text.bytes().all(|byte| byte.is_ascii_digit());
            if *last == u64::MAX && !(is_too_long && text.len() > 1) {
                format!("expected a whole number of {first} or more")
            } else {
                format!("expected a whole number from {first} to {last}")
            }
        })
    }
}

pub fn time(text: &str) -> Result<Span, &'static str> {
    let span = quantity::span(text).filter(|span| *span >= Span::ZERO);
    span.ok_or("expected a time from 0 to an hour with its unit, such as \"5 ms\"")
}

pub fn positive_time(text: &str) -> Result<Span, &'static str> {
    let span = quantity::span(text).filter(|span| *span > Span::ZERO);
    span.ok_or("expected a time above 0, up to an hour, with its unit, such as \"31.2 ms\"")
}

pub fn rate(text: &str) -> Result<Span, &'static str> {
    quantity::interval(text)
        .ok_or("expected a rate from one per hour to 1000000000/s, such as \"32/s\"")
}

pub fn share(text: &str) -> Result<f64, &'static str> {
    let share = quantity::typed_fraction(text).filter(|share| (0.0..=1.0).contains(share));
    share.ok_or("expected a percentage from 0 % to 100 %, with its sign, such as \"67 %\"")
}

/// Accepts the names of TOML files only.
fn toml(text: &str) -> Result<String, &'static str> {
    let kind = Path::new(text).extension();
    // A path does not distinguish `x.toml` from the folder `x.toml/`.
    let file = !text.ends_with(std::path::is_separator);
    (file && kind.is_some_and(|kind| kind == "toml"))
        .then(|| text.to_owned())
        .ok_or("expected a name ending in .toml")
}

/// Accepts standard output too.
pub fn toml_or_standard(text: &str) -> Result<String, &'static str> {
    match text {
        "-" => Ok(text.to_owned()),
        _ => toml(text),
    }
}
