//! Names and secrets for CHAP, which serve and log in.

use std::env;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;

use diskarm_serve::iscsi::Accounts;
use diskarm_transport::iscsi::Credentials;

use crate::error::Error;

/// The names and secrets that `--chap` names: `file:PATH` or `env`.
pub fn accounts(text: &str) -> Result<Accounts, Error> {
    let lines = match text.split_once(':') {
        Some(("file", path)) => secrets(text, path)?,
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

/// The text of a file that nobody but its owner may read, as ssh demands of keys.
fn secrets(text: &str, path: &str) -> Result<String, Error> {
    let unread = |source| Error::Io {
        doing: "read",
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(unread)?;
    let about = file.metadata().map_err(unread)?;
    // What is no file, such as a pipe, has no mode of its own.
    let others = about.permissions().mode() & 0o077;
    if about.is_file() && others != 0 {
        let mode = about.permissions().mode() & 0o777;
        let expected = format!("a file for its owner alone (its mode is {mode:03o}, not 600)");
        return Err(Error::flag("--chap", text, expected));
    }
    std::io::read_to_string(file).map_err(unread)
}
