//! CHAP credentials for the server and the initiator.

use std::env;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;

use diskarm_serve::iscsi::Accounts;
use diskarm_transport::iscsi::Credentials;

use crate::error::Error;

/// Reads the names and secrets given by `--chap`: `file:PATH` or `env`.
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
    let refused = |error| Error::option("--chap", text, format!("names and secrets ({error})"));
    Accounts::parse(&lines).map_err(refused)
}

/// Reads the credentials for a login, and the secret that the target must prove.
pub fn credentials(chap: &str) -> Result<Credentials, Error> {
    let accounts = accounts(chap)?;
    Ok(Credentials {
        secret: accounts.initiator.secret().into(),
        target_secret: accounts.target.map(|target| target.secret().into()),
        user: accounts.initiator.name,
    })
}

/// Reads a file that only its owner may access, as ssh demands of keys.
fn secrets(path: &str) -> Result<String, Error> {
    let unread = Error::io("read", path);
    let file = File::open(path).map_err(&unread)?;
    let about = file.metadata().map_err(&unread)?;
    // A pipe, for example, has no meaningful mode.
    let others = about.permissions().mode() & 0o077;
    if about.is_file() && others != 0 {
        let mode = about.permissions().mode() & 0o777;
        return Err(Error::Failed(format!(
            "`--chap`: {path} must be accessible to its owner alone (its mode is {mode:03o}; run \
             chmod 600 {path})"
        )));
    }
    std::io::read_to_string(file).map_err(unread)
}
