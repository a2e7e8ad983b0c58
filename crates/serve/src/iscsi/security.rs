//! The security stage of a login: with CHAP, both sides prove that they know a secret without
//! sending it (RFC 1994, and RFC 7143, "Challenge Handshake Authentication Protocol").

use std::fmt::Display;

use diskarm_wire::iscsi::login_status;
use diskarm_wire::iscsi::text::{self, Hexadecimal};
use md5::{Digest, Md5};
use subtle::ConstantTimeEq;

/// A name and its secret, which is never displayed.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    secret: String,
}

#[derive(Clone, PartialEq, Eq)]
pub struct Accounts {
    /// The account with which initiators must authenticate themselves.
    pub initiator: Account,
    /// The account with which the target authenticates itself if an initiator requires it.
    pub target: Option<Account>,
}

/// Minimum length of a secret, in bytes: RFC 7143 requires 96 bits on unprotected connections.
const MIN_SECRET: usize = 12;
/// Maximum length of a secret, in bytes. RFC 7143 allows 1024 bytes for any binary value.
const MAX_SECRET: usize = 255;

pub const RESPONSE_LENGTH: usize = 16;
/// Maximum length of a challenge, in bytes.
pub const MAX_CHALLENGE: usize = 1024;
/// The algorithm number of MD5.
pub const MD5: &str = "5";

impl Account {
    /// Creates an account. Fails if the name is empty or the secret has an invalid length.
    pub fn new(name: &str, secret: &str) -> Result<Self, String> {
        let length = secret.len();
        if name.is_empty() || !(MIN_SECRET..=MAX_SECRET).contains(&length) {
            return Err(format!(
                "a name must not be empty, and a secret must have {MIN_SECRET} to {MAX_SECRET} \
                 bytes; found {} and {length} bytes",
                name.len()
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            secret: secret.to_owned(),
        })
    }

    pub fn secret(&self) -> &str {
        &self.secret
    }

    pub fn respond(&self, id: u8, challenge: &[u8]) -> [u8; RESPONSE_LENGTH] {
        let mut digest = Md5::new();
        digest.update([id]);
        digest.update(self.secret.as_bytes());
        digest.update(challenge);
        digest.finalize().into()
    }

    /// Returns true if `response` answers the challenge for the account `name`. The time that this
    /// takes does not depend on how much of the response is correct.
    pub fn verify(&self, name: &str, id: u8, challenge: &[u8], response: &[u8]) -> bool {
        let is_correct = self.respond(id, challenge).ct_eq(response);
        let has_name = self.name.as_bytes().ct_eq(name.as_bytes());
        (is_correct & has_name).into()
    }
}

impl Accounts {
    /// Parses a line `initiator NAME SECRET` and an optional line `target NAME SECRET`. Skips empty
    /// lines and comments (`#`). Errors name the line, but never contain a secret.
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
                return Err(at("expected `initiator` or `target`, a name and a secret"));
            };
            let account = Account::new(name, secret).map_err(|error| at(&error))?;
            let slot = match side {
                "initiator" => &mut initiator,
                "target" => &mut target,
                _ => return Err(at("the line must start with \"initiator\" or \"target\"")),
            };
            if slot.replace(account).is_some() {
                return Err(at("there is already a line of this kind"));
            }
        }
        let initiator = initiator.ok_or("there is no line \"initiator NAME SECRET\"")?;
        if target
            .as_ref()
            .is_some_and(|t| t.secret == initiator.secret)
        {
            return Err("the initiator and the target must have different secrets".to_owned());
        }
        Ok(Self { initiator, target })
    }
}

/// The progress of an initiator's authentication.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// No method has been negotiated.
    #[default]
    Open,
    /// CHAP has been negotiated.
    Chosen,
    /// The initiator must answer this challenge.
    Challenged {
        id: u8,
        challenge: [u8; CHALLENGE_LENGTH],
    },
    Done,
}

const CHALLENGE_LENGTH: usize = 24;

#[derive(Debug, Default)]
pub struct SecurityKeys<'a> {
    methods: Option<&'a str>,
    algorithms: Option<&'a str>,
    name: Option<&'a str>,
    response: Option<&'a str>,
    id: Option<&'a str>,
    challenge: Option<&'a str>,
}

impl<'a> SecurityKeys<'a> {
    /// Stores a key; returns false if it is not a security key.
    pub fn take(&mut self, key: &str, value: &'a str) -> bool {
        let slot = match key {
            "AuthMethod" => &mut self.methods,
            "CHAP_A" => &mut self.algorithms,
            "CHAP_N" => &mut self.name,
            "CHAP_R" => &mut self.response,
            "CHAP_I" => &mut self.id,
            "CHAP_C" => &mut self.challenge,
            _ => return false,
        };
        *slot = Some(value);
        true
    }
}

/// Keys and values that the target sends.
pub type Answers = Vec<(&'static str, String)>;

impl Security {
    /// Answers the security keys of a request. Without accounts, any initiator is accepted. The
    /// error is the status of the failed login.
    pub fn advance(
        &mut self,
        keys: &SecurityKeys<'_>,
        accounts: Option<&Accounts>,
    ) -> Result<Answers, u16> {
        let mut answers = Vec::new();
        let mut send = |key, value: &dyn Display| answers.push((key, value.to_string()));
        if let Some(methods) = keys.methods {
            let wanted = if accounts.is_some() { "CHAP" } else { "None" };
            let is_offered = methods.split(',').any(|method| method == wanted);
            if *self != Self::Open || !is_offered {
                return Err(login_status::AUTHENTICATION_FAILURE);
            }
            send("AuthMethod", &wanted);
            *self = match accounts {
                Some(_) => Self::Chosen,
                None => Self::Done,
            };
        }
        if let Some(algorithms) = keys.algorithms {
            let is_offered = algorithms.split(',').any(|number| number == MD5);
            if *self != Self::Chosen || !is_offered {
                return Err(login_status::AUTHENTICATION_FAILURE);
            }
            let random: [u8; CHALLENGE_LENGTH + 1] = random()?;
            let (id, challenge) = (random[CHALLENGE_LENGTH], random.first_chunk().copied());
            let challenge = challenge.unwrap_or([0; CHALLENGE_LENGTH]);
            send("CHAP_A", &MD5);
            send("CHAP_I", &id);
            send("CHAP_C", &Hexadecimal(&challenge));
            *self = Self::Challenged { id, challenge };
        }
        if keys.response.is_some() {
            answers.extend(self.answer_response(keys, accounts)?);
        }
        Ok(answers)
    }

    /// Verifies the initiator's response to the challenge, and answers the initiator's challenge.
    fn answer_response(
        &mut self,
        keys: &SecurityKeys<'_>,
        accounts: Option<&Accounts>,
    ) -> Result<Answers, u16> {
        let failed = login_status::AUTHENTICATION_FAILURE;
        let (Self::Challenged { id, challenge }, Some(accounts)) = (&self, accounts) else {
            return Err(failed);
        };
        let mut response = [0; RESPONSE_LENGTH];
        let given = keys.response.unwrap_or_default();
        let length = text::binary(given, &mut response).ok_or(failed)?;
        let name = keys.name.ok_or(login_status::MISSING_PARAMETER)?;
        let account = &accounts.initiator;
        if !account.verify(name, *id, challenge, &response[..length]) {
            return Err(failed);
        }
        let answers = match (keys.id, keys.challenge) {
            (None, None) => Vec::new(),
            (Some(id), Some(theirs)) => {
                let id = text::number(id).and_then(|id| u8::try_from(id).ok());
                let mut data = [0; MAX_CHALLENGE];
                let length = text::binary(theirs, &mut data).ok_or(failed)?;
                let theirs = &data[..length];
                // If the initiator sends back the target's own challenge, an answer would give away
                // the response.
                let (Some(id), Some(target)) = (id, &accounts.target) else {
                    return Err(failed);
                };
                if theirs == challenge {
                    return Err(failed);
                }
                let response = target.respond(id, theirs);
                vec![
                    ("CHAP_N", target.name.clone()),
                    ("CHAP_R", Hexadecimal(&response).to_string()),
                ]
            }
            _ => return Err(login_status::MISSING_PARAMETER),
        };
        *self = Self::Done;
        Ok(answers)
    }

    /// Returns true if the initiator may advance to the next stage. Fails with a login status if
    /// the initiator has skipped the authentication.
    pub fn may_continue(&self, accounts: Option<&Accounts>) -> Result<bool, u16> {
        match (self, accounts) {
            (Self::Done, _) | (Self::Open, None) => Ok(true),
            (Self::Open, Some(_)) => Err(login_status::AUTHENTICATION_FAILURE),
            _ => Ok(false),
        }
    }
}

fn random<const COUNT: usize>() -> Result<[u8; COUNT], u16> {
    let mut data = [0; COUNT];
    let filled = rustix::rand::getrandom(&mut data, rustix::rand::GetRandomFlags::empty());
    match filled {
        Ok(count) if count == COUNT => Ok(data),
        _ => Err(login_status::TARGET_ERROR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected response is the output of `printf '\001a-secret-of-12challenge' | md5sum`.
    #[test]
    fn a_response_is_the_digest_of_id_secret_and_challenge() {
        let account = Account::new("disk", "a-secret-of-12").expect("an account");
        let expected = [
            0xa7, 0x57, 0x04, 0x06, 0x7d, 0x31, 0x3b, 0xc8, 0xe3, 0xc1, 0x4e, 0x0e, 0xcd, 0x06,
            0x3e, 0x47,
        ];
        assert_eq!(account.respond(1, b"challenge"), expected);
        assert!(account.verify("disk", 1, b"challenge", &expected));
        assert!(!account.verify("disk", 2, b"challenge", &expected));
        assert!(!account.verify("task", 1, b"challenge", &expected));
        assert!(!account.verify("disk", 1, b"challenge", &expected[..15]));
        assert!(!account.verify("disk", 1, b"challenge", b""));
    }

    #[test]
    fn accounts_are_parsed_and_errors_name_the_line() {
        let text = "# both\n\ninitiator alice a-secret-of-12\ntarget disk b-secret-of-12\n";
        let accounts = Accounts::parse(text).expect("accounts");
        assert_eq!(accounts.initiator.name, "alice");
        assert_eq!(accounts.target.expect("a target").name, "disk");
        let cases = "
            => there is no line
            initiator alice short => line 1: a name must not be empty, and a secret
            initiator alice => line 1: expected `initiator` or `target`
            ; user alice a-secret-of-12 => line 2: the line must start with
            initiator a a-secret-of-12; initiator b a-secret-of-12 => line 2: there is already
            initiator a a-secret-of-12; target b a-secret-of-12 => the initiator and the target must
        ";
        for case in cases.trim().lines() {
            let (lines, expected) = case.split_once("=> ").expect("a case");
            let error = Accounts::parse(&lines.replace(';', "\n"))
                .err()
                .expect(case);
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
