//! The stage of a login in which both sides say who they are.

use std::fmt::Display;

use diskarm_wire::iscsi::login_status;
use diskarm_wire::iscsi::text::{self, Hexadecimal};

use super::chap::{Accounts, MAX_CHALLENGE, MD5, RESPONSE};

/// How far an initiator has come with showing who it is.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// No method has been chosen.
    #[default]
    Open,
    /// CHAP has been chosen.
    Chosen,
    /// The initiator has to answer this challenge.
    Challenged {
        id: u8,
        challenge: [u8; CHALLENGE],
    },
    Done,
}

/// How many bytes a challenge of the target has.
const CHALLENGE: usize = 24;

/// The keys of one request that are about security.
#[derive(Debug, Default)]
pub struct Claims<'a> {
    methods: Option<&'a str>,
    algorithms: Option<&'a str>,
    name: Option<&'a str>,
    response: Option<&'a str>,
    id: Option<&'a str>,
    challenge: Option<&'a str>,
}

impl<'a> Claims<'a> {
    /// Takes a key; returns whether it is one of them.
    pub fn take(&mut self, key: &str, value: &'a str) -> bool {
        let place = match key {
            "AuthMethod" => &mut self.methods,
            "CHAP_A" => &mut self.algorithms,
            "CHAP_N" => &mut self.name,
            "CHAP_R" => &mut self.response,
            "CHAP_I" => &mut self.id,
            "CHAP_C" => &mut self.challenge,
            _ => return false,
        };
        *place = Some(value);
        true
    }
}

/// Keys with the target's values.
pub type Answers = Vec<(&'static str, String)>;

impl Security {
    /// Continues as the initiator claims; returns what the target says. Without accounts anybody is
    /// let in.
    ///
    /// # Errors
    /// The result of a login that fails.
    pub fn go_on(
        &mut self,
        claims: &Claims<'_>,
        accounts: Option<&Accounts>,
    ) -> Result<Answers, u16> {
        let mut answers = Vec::new();
        let mut say = |key, value: &dyn Display| answers.push((key, value.to_string()));
        if let Some(methods) = claims.methods {
            let wanted = if accounts.is_some() { "CHAP" } else { "None" };
            let is_offered = methods.split(',').any(|method| method == wanted);
            if *self != Self::Open || !is_offered {
                return Err(login_status::AUTHENTICATION_FAILURE);
            }
            say("AuthMethod", &wanted);
            *self = match accounts {
                Some(_) => Self::Chosen,
                None => Self::Done,
            };
        }
        if let Some(algorithms) = claims.algorithms {
            let is_offered = algorithms.split(',').any(|number| number == MD5);
            if *self != Self::Chosen || !is_offered {
                return Err(login_status::AUTHENTICATION_FAILURE);
            }
            let random: [u8; CHALLENGE + 1] = random()?;
            let (id, challenge) = (random[CHALLENGE], random.first_chunk().copied());
            let challenge = challenge.unwrap_or([0; CHALLENGE]);
            say("CHAP_A", &MD5);
            say("CHAP_I", &id);
            say("CHAP_C", &Hexadecimal(&challenge));
            *self = Self::Challenged { id, challenge };
        }
        if claims.response.is_some() {
            answers.extend(self.prove(claims, accounts)?);
        }
        Ok(answers)
    }

    /// Looks at the answer to the challenge, and answers the initiator's if there is one.
    fn prove(&mut self, claims: &Claims<'_>, accounts: Option<&Accounts>) -> Result<Answers, u16> {
        let failed = login_status::AUTHENTICATION_FAILURE;
        let (Self::Challenged { id, challenge }, Some(accounts)) = (&self, accounts) else {
            return Err(failed);
        };
        let mut response = [0; RESPONSE];
        let given = claims.response.unwrap_or_default();
        let length = text::binary(given, &mut response).ok_or(failed)?;
        let name = claims.name.ok_or(login_status::MISSING_PARAMETER)?;
        let account = &accounts.initiator;
        if !account.admits(name, *id, challenge, &response[..length]) {
            return Err(failed);
        }
        let answers = match (claims.id, claims.challenge) {
            (None, None) => Vec::new(),
            (Some(id), Some(theirs)) => {
                let id = text::number(id).and_then(|id| u8::try_from(id).ok());
                let mut data = [0; MAX_CHALLENGE];
                let length = text::binary(theirs, &mut data).ok_or(failed)?;
                let theirs = &data[..length];
                // One who sends a challenge back wants to have the answer from its own author.
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

    /// Whether the initiator may continue to the next stage.
    ///
    /// # Errors
    /// If it wants to without having shown who it is.
    pub fn lets_on(&self, accounts: Option<&Accounts>) -> Result<bool, u16> {
        match (self, accounts) {
            (Self::Done, _) | (Self::Open, None) => Ok(true),
            (Self::Open, Some(_)) => Err(login_status::AUTHENTICATION_FAILURE),
            _ => Ok(false),
        }
    }
}

/// Bytes that nobody can guess.
fn random<const COUNT: usize>() -> Result<[u8; COUNT], u16> {
    let mut data = [0; COUNT];
    let filled = rustix::rand::getrandom(&mut data, rustix::rand::GetRandomFlags::empty());
    match filled {
        Ok(count) if count == COUNT => Ok(data),
        _ => Err(login_status::TARGET_ERROR),
    }
}
