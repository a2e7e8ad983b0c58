//! Names and secrets for CHAP, which serve and log in.

use std::env;
use std::path::Path;

use diskarm_initiator::Credentials;
use diskarm_serve::iscsi::Accounts;

use crate::error::Error;

/// The names and secrets that `--chap` names: `file:PATH` or `env`.
pub fn accounts(text: &str) -> Result<Accounts, Error> {
    let lines = match text.split_once(':') {
        Some(("file", path)) => std::fs::read_to_string(path).map_err(|source| Error::Io {
            doing: "read",
            path: Path::new(path).display().to_string(),
            source,
        })?,
        None if text == "env" => {
            let line = |side: &str| {
                let name = format!("DISKARM_CHAP_{}", side.to_uppercase());
                env::var(name).map_or_else(|_| String::new(), |text| format!("{side} {text}\n"))
            };
            line("initiator") + &line("target")
        }
        _ => return Err(Error::flag("--chap", text, "file:PATH or env")),
    };
    let refused = |error| Error::flag("--chap", text, format!("names and secrets ({error})"));
    Accounts::parse(&lines).map_err(refused)
}

/// Who logs in to a target, and what it must prove.
pub fn credentials(chap: &str) -> Result<Credentials, Error> {
    let accounts = accounts(chap)?;
    Ok(Credentials {
        secret: accounts.initiator.secret().into(),
        target_secret: accounts.target.map(|target| target.secret().into()),
        user: accounts.initiator.name,
    })
}
