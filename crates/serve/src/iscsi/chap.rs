//! CHAP: both sides prove that they know a secret, without sending it (RFC 1994, and RFC 7143,
//! "Challenge Handshake Authentication Protocol").

use md5::{Digest, Md5};
use subtle::ConstantTimeEq;

/// A name with its secret. Its secret is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// Who it is.
    pub name: String,
    secret: String,
}

/// The accounts of a target.
#[derive(Clone, PartialEq, Eq)]
pub struct Accounts {
    /// What initiators have to prove.
    pub initiator: Account,
    /// What the target proves if an initiator asks for it.
    pub target: Option<Account>,
}

/// The shortest secret: RFC 7143 wants 96 bits where nothing else protects a connection.
const SHORTEST: usize = 12;
/// The longest secret, and the longest challenge: RFC 7143 allows 1024 bytes for any binary value.
const LONGEST: usize = 255;

/// How many bytes a response has.
pub const RESPONSE: usize = 16;
/// The longest challenge, in bytes.
pub const MAX_CHALLENGE: usize = 1024;
/// The number of MD5 among the algorithms.
pub const MD5: &str = "5";

impl Account {
    /// An account, if its secret has a sound length.
    ///
    /// # Errors
    /// What is wrong.
    pub fn new(name: &str, secret: &str) -> Result<Self, String> {
        let length = secret.len();
        if name.is_empty() || !(SHORTEST..=LONGEST).contains(&length) {
            return Err(format!(
                "the name has {} bytes and the secret {length}; secrets have {SHORTEST} to \
                 {LONGEST}",
                name.len()
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            secret: secret.to_owned(),
        })
    }

    /// The secret.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// What one answers to a challenge who knows the secret.
    pub fn respond(&self, id: u8, challenge: &[u8]) -> [u8; RESPONSE] {
        let mut digest = Md5::new();
        digest.update([id]);
        digest.update(self.secret.as_bytes());
        digest.update(challenge);
        digest.finalize().into()
    }

    /// Whether one who calls itself `name` has answered a challenge as one who knows the secret.
    /// How long that takes does not depend on how much of the response is right.
    pub fn admits(&self, name: &str, id: u8, challenge: &[u8], response: &[u8]) -> bool {
        let is_right = self.respond(id, challenge).ct_eq(response);
        let is_named = self.name.as_bytes().ct_eq(name.as_bytes());
        (is_right & is_named).into()
    }
}

impl Accounts {
    /// Reads lines `initiator NAME SECRET` and `target NAME SECRET`; that of the target may be
    /// missing. Empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// What is wrong and in which line; secrets are left out.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut initiator, mut target) = (None, None);
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let at = |error: &str| format!("line {}: {error}", number + 1);
            let mut words = line.split_whitespace();
            let words = [words.next(), words.next(), words.next(), words.next()];
            let [Some(side), Some(name), Some(secret), None] = words else {
                return Err(at("it is no side, name and secret"));
            };
            let account = Account::new(name, secret).map_err(|error| at(&error))?;
            let place = match side {
                "initiator" => &mut initiator,
                "target" => &mut target,
                _ => return Err(at("it begins with neither \"initiator\" nor \"target\"")),
            };
            if place.replace(account).is_some() {
                return Err(at("there is one such line already"));
            }
        }
        let initiator = initiator.ok_or("there is no line \"initiator NAME SECRET\"")?;
        if target
            .as_ref()
            .is_some_and(|t| t.secret == initiator.secret)
        {
            return Err("both sides have the same secret".to_owned());
        }
        Ok(Self { initiator, target })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The oracle is `printf '\001a-secret-of-12challenge' | md5sum`.
    #[test]
    fn a_response_is_the_digest_of_id_secret_and_challenge() {
        let account = Account::new("disk", "a-secret-of-12").expect("an account");
        let expected = [
            0xa7, 0x57, 0x04, 0x06, 0x7d, 0x31, 0x3b, 0xc8, 0xe3, 0xc1, 0x4e, 0x0e, 0xcd, 0x06,
            0x3e, 0x47,
        ];
        assert_eq!(account.respond(1, b"challenge"), expected);
        assert!(account.admits("disk", 1, b"challenge", &expected));
        assert!(!account.admits("disk", 2, b"challenge", &expected));
        assert!(!account.admits("task", 1, b"challenge", &expected));
        assert!(!account.admits("disk", 1, b"challenge", &expected[..15]));
        assert!(!account.admits("disk", 1, b"challenge", b""));
    }

    #[test]
    fn accounts_are_read_and_errors_say_where() {
        let text = "# both\n\ninitiator alice a-secret-of-12\ntarget disk b-secret-of-12\n";
        let accounts = Accounts::parse(text).expect("accounts");
        assert_eq!(accounts.initiator.name, "alice");
        assert_eq!(accounts.target.expect("a target").name, "disk");
        let cases = [
            ("", "there is no line"),
            (
                "initiator alice short",
                "line 1: the name has 5 bytes and the secret 5",
            ),
            ("initiator alice", "line 1: it is no side"),
            (
                "\nuser alice a-secret-of-12",
                "line 2: it begins with neither",
            ),
            (
                "initiator a a-secret-of-12\ninitiator b a-secret-of-12",
                "line 2: there is one",
            ),
            (
                "initiator a a-secret-of-12\ntarget b a-secret-of-12",
                "both sides have the same secret",
            ),
        ];
        for (text, expected) in cases {
            let error = Accounts::parse(text).err().expect(text);
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
