//! Arguments that several commands share, parsers for their values, and CHAP credentials.

use std::env;
use std::fs::File;
use std::ops::RangeInclusive;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use diskarm_core::text::{InputError, quantity};
use diskarm_core::units::Span;
use diskarm_drives::CATALOGUE;
use diskarm_drives::text::Edit;
use diskarm_results::output_file::Files;
use diskarm_serve::iscsi::Accounts;
use diskarm_simulate::{Model, System, devices};
use diskarm_transport::iscsi::Credentials;

use crate::error::Error;

/// Changes to a drive's specification.
#[derive(clap::Args)]
pub struct Changes {
    /// Change a value of the drive's specification, such as queue.depth=1; may be repeated
    ///
    /// KEY is a key of a specification, preceded by its table: --set "mechanics.rotation=10000
    /// rpm". docs/specification.md lists the keys; `diskarm drives show NAME --toml` prints a
    /// specification. In results, the drive's name includes the changes.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    values: Vec<String>,
}

impl Changes {
    pub fn apply(&self, model: Model) -> Result<Model, diskarm_simulate::Error> {
        model.with_edits(&self.edits()?, "--set")
    }

    pub fn apply_to_system(&self, system: System) -> Result<System, diskarm_simulate::Error> {
        system.with_edits(&self.edits()?, "--set")
    }

    pub fn edits(&self) -> Result<Vec<Edit>, InputError> {
        let edits = self.values.iter().map(|text| Edit::parse(text, "--set"));
        edits.collect()
    }
}

pub fn drive_help() -> String {
    let names: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
    format!(
        "Drive: a name from the catalogue, or the path of your own specification (a .toml \
         file).\n\nCatalogue: {}",
        names.join(", ")
    )
}

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
    /// Same as without `list`
    #[command(hide = true)]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Listing {
    /// Returns true if `--json` was given, with or without `list`.
    pub fn is_json(typed: Option<Self>, json: bool) -> bool {
        match typed {
            Some(Self::List { json }) => json,
            None => json,
        }
    }
}

/// Parses an integer within `range`, which must fit in `T`.
pub fn integer<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = quantity::count(text).filter(|number| range.contains(number));
        number.and_then(|n| T::try_from(n).ok()).ok_or_else(|| {
            let (first, last) = (range.start(), range.end());
            let has_only_digits = text.bytes().all(|byte| byte.is_ascii_digit());
            if *last == u64::MAX && !(has_only_digits && text.len() > 1) {
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
    share.ok_or("expected a percentage from 0 % to 100 %, with the % sign, such as \"67 %\"")
}

/// Accepts names of TOML files, and `-` for standard output.
pub fn toml_or_standard(text: &str) -> Result<String, &'static str> {
    // A `Path` does not distinguish the file `x.toml` from the folder `x.toml/`.
    let is_folder = text.ends_with(std::path::is_separator);
    let is_toml = Path::new(text).extension().is_some_and(|end| end == "toml") && !is_folder;
    let is_accepted = is_toml || text == "-";
    is_accepted
        .then(|| text.to_owned())
        .ok_or("expected a name ending in .toml")
}

/// Reads the CHAP names and secrets from the source given to `--chap`: `file:PATH` or `env`.
pub fn accounts(text: &str) -> Result<Accounts, Error> {
    let lines = match text.split_once(':') {
        Some(("file", path)) => secrets(path)?,
        None if text == "env" => {
            let line = |side: &str| {
                let name = format!("DISKARM_CHAP_{}", side.to_uppercase());
                env::var(name).map_or_else(|_| String::new(), |text| format!("{side} {text}\n"))
            };
            line("initiator") + &line("target")
        }
        _ => return Err(Error::option("--chap", text, "file:PATH or env")),
    };
    let invalid = |error| Error::option("--chap", text, format!("names and secrets ({error})"));
    Accounts::parse(&lines).map_err(invalid)
}

/// Adds the file given to `--chap`, if any, to those that a command reads.
pub fn with_secrets(files: Files, chap: Option<&str>) -> Files {
    match chap.and_then(|text| text.strip_prefix("file:")) {
        Some(path) => files.with_input_file("--chap", path),
        None => files,
    }
}

/// Reads the initiator's credentials for a login, and the target's if they are given.
pub fn credentials(chap: &str) -> Result<Credentials, Error> {
    let accounts = accounts(chap)?;
    Ok(Credentials {
        secret: accounts.initiator.secret().into(),
        target_secret: accounts.target.map(|target| target.secret().into()),
        user: accounts.initiator.name,
    })
}

/// Reads a file that only its owner may access, as ssh requires for private keys.
fn secrets(path: &str) -> Result<String, Error> {
    let read_error = Error::io("read", path);
    let file = File::open(path).map_err(&read_error)?;
    let metadata = file.metadata().map_err(&read_error)?;
    // A pipe, for example, has no meaningful mode.
    let others = metadata.permissions().mode() & 0o077;
    if metadata.is_file() && others != 0 {
        let mode = metadata.permissions().mode() & 0o777;
        return Err(Error::Failed(format!(
            "`--chap`: {path} must be accessible only to its owner (its mode is {mode:03o}; run \
             chmod 600 {path})"
        )));
    }
    std::io::read_to_string(file).map_err(read_error)
}
