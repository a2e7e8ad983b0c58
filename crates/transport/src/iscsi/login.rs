//! Login: authentication by CHAP, and negotiation of parameters.

use std::fmt;
use std::time::{Duration, Instant};

use diskarm_wire::iscsi::text::{self, Hexadecimal, Writer};
use diskarm_wire::iscsi::{LoginRequest, LoginResponse, Message, Serial, Tag, login_status, stage};

use md5::{Digest, Md5};

use super::connection::{Connection, Error, MAX_DATA, protocol_error};

/// Name of this initiator.
const NAME: &str = "iqn.2026-11.diskarm:initiator";

const LOGIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of requests of a login.
const MAX_REQUESTS: u32 = 16;

/// Maximum text in one answer of a target, in bytes.
pub const MAX_TEXT: usize = 1 << 16;

/// CHAP credentials of the initiator, and optionally of the target.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// User name (key CHAP_N).
    pub user: String,
    pub secret: Vec<u8>,
    /// The secret that the target must prove to know, if any.
    pub target_secret: Option<Vec<u8>>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// MD5 (key CHAP_A), the only algorithm that all targets support.
const CHAP_MD5: &str = "5";

/// Maximum length of challenge and response in bytes (section "Challenge Handshake Authentication
/// Protocol (CHAP)").
const MAX_CHAP_LENGTH: usize = 1024;

/// Computes the response to a challenge, which proves knowledge of the secret without revealing it
/// (RFC 1994).
fn chap_response(identifier: u8, secret: &[u8], challenge: &[u8]) -> [u8; 16] {
    let mut hash = Md5::new();
    hash.update([identifier]);
    hash.update(secret);
    hash.update(challenge);
    hash.finalize().into()
}

/// The purpose of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// List the targets.
    Discovery,
    /// Use this target.
    Target(&'a str),
}

/// Negotiated parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Maximum data in a message to the target, in bytes (MaxRecvDataSegmentLength).
    pub max_data: usize,
    /// Maximum data that may be sent with a command, in bytes.
    pub immediate: usize,
}

/// Sequence numbers of the next messages.
#[derive(Clone, Copy, Debug)]
pub struct SequenceNumbers {
    pub command: Serial,
    /// The last command that the target accepts now.
    pub max_command: Serial,
    pub expected_status: Serial,
}

/// The state of a login.
struct Login<'a> {
    connection: &'a mut Connection,
    credentials: Option<&'a Credentials>,
    isid: [u8; 6],
    stage: u8,
    numbers: SequenceNumbers,
    parameters: Parameters,
    immediate_data: bool,
    first_burst: usize,
    has_header_digest: bool,
    has_data_digest: bool,
    /// The challenge that was sent to the target.
    challenge: Option<Challenge>,
    deadline: Instant,
}

/// A challenge of CHAP.
#[derive(Clone, Copy)]
struct Challenge {
    identifier: u8,
    value: [u8; 16],
}

/// The text of a login request.
#[derive(Default)]
struct RequestText {
    pairs: Vec<(&'static str, String)>,
    /// True if the initiator is ready for the next stage.
    is_done: bool,
}

impl RequestText {
    fn last(pairs: Vec<(&'static str, String)>) -> Self {
        Self {
            pairs,
            is_done: true,
        }
    }
}

/// Logs in. `unique` is the number of the session in this process.
pub fn login(
    connection: &mut Connection,
    purpose: Purpose<'_>,
    credentials: Option<&Credentials>,
    unique: u16,
) -> Result<(Parameters, SequenceNumbers), Error> {
    let [.., high, middle, low] = std::process::id().to_be_bytes();
    let [first, second] = unique.to_be_bytes();
    let mut login = Login {
        connection,
        credentials,
        // The upper two bits select the format "random": 24 random bits and a qualifier.
        isid: [0x80, high, middle, low, first, second],
        stage: stage::SECURITY,
        numbers: SequenceNumbers {
            command: Serial(1),
            max_command: Serial(1),
            expected_status: Serial(0),
        },
        parameters: Parameters {
            max_data: 8192,
            immediate: 0,
        },
        immediate_data: true,
        first_burst: 1 << 16,
        has_header_digest: false,
        has_data_digest: false,
        challenge: None,
        deadline: Instant::now() + LOGIN_TIMEOUT,
    };
    login.run(purpose)?;
    if login.immediate_data {
        login.parameters.immediate = login.first_burst.min(login.parameters.max_data);
    }
    Ok((login.parameters, login.numbers))
}

impl Login<'_> {
    fn run(&mut self, purpose: Purpose<'_>) -> Result<(), Error> {
        let mut text = RequestText {
            pairs: self.introduction(purpose),
            is_done: self.credentials.is_none(),
        };
        for _ in 0..MAX_REQUESTS {
            self.request(&text)?;
            let (response, answer) = self.response()?;
            let pairs = pairs(&answer)?;
            if response.transit {
                if !text.is_done {
                    return Err(protocol_error(
                        "it advanced to the next stage without being asked",
                    ));
                }
                self.check_security(&pairs)?;
                self.operational(&pairs)?;
                self.stage = response.next;
                if self.stage == stage::FULL_FEATURE {
                    self.connection.has_header_digest = self.has_header_digest;
                    self.connection.has_data_digest = self.has_data_digest;
                    return Ok(());
                }
                text = RequestText::last(self.offers(purpose));
                continue;
            }
            text = match self.stage {
                stage::SECURITY => self.security(&pairs)?,
                _ => {
                    self.operational(&pairs)?;
                    RequestText::last(Vec::new())
                }
            };
        }
        Err(protocol_error(format!(
            "the login does not end after {MAX_REQUESTS} requests"
        )))
    }

    fn introduction(&self, purpose: Purpose<'_>) -> Vec<(&'static str, String)> {
        let mut pairs = vec![("InitiatorName", NAME.to_owned())];
        match purpose {
            Purpose::Discovery => pairs.push(("SessionType", "Discovery".to_owned())),
            Purpose::Target(name) => {
                pairs.push(("SessionType", "Normal".to_owned()));
                pairs.push(("TargetName", name.to_owned()));
            }
        }
        let methods = match self.credentials {
            Some(_) => "CHAP,None",
            None => "None",
        };
        pairs.push(("AuthMethod", methods.to_owned()));
        pairs
    }

    /// Returns the offers among which the target chooses.
    fn offers(&self, purpose: Purpose<'_>) -> Vec<(&'static str, String)> {
        let mut offers = vec![
            ("HeaderDigest", "None,CRC32C".to_owned()),
            ("DataDigest", "None,CRC32C".to_owned()),
            ("MaxRecvDataSegmentLength", MAX_DATA.to_string()),
            ("ErrorRecoveryLevel", "0".to_owned()),
            ("DefaultTime2Wait", "2".to_owned()),
            ("DefaultTime2Retain", "0".to_owned()),
        ];
        if purpose != Purpose::Discovery {
            offers.extend([
                ("MaxConnections", "1".to_owned()),
                ("InitialR2T", "Yes".to_owned()),
                ("ImmediateData", "Yes".to_owned()),
                ("MaxBurstLength", "16776192".to_owned()),
                ("FirstBurstLength", MAX_DATA.to_string()),
                ("MaxOutstandingR2T", "1".to_owned()),
                ("DataPDUInOrder", "Yes".to_owned()),
                ("DataSequenceInOrder", "Yes".to_owned()),
            ]);
        }
        offers
    }

    /// Stores the choices of the target.
    fn operational(&mut self, pairs: &[(String, String)]) -> Result<(), Error> {
        if self.stage != stage::OPERATIONAL {
            return Ok(());
        }
        for (key, value) in pairs {
            // Messages have at most 2^24 - 1 bytes of data.
            let number = || {
                let number = text::number(value).filter(|number| *number >= 512);
                let number = number.map(|number| number.min((1 << 24) - 1));
                number.ok_or_else(|| protocol_error(format!("{key}={value}")))
            };
            let digest = || match value.as_str() {
                "None" => Ok(false),
                "CRC32C" => Ok(true),
                _ => Err(protocol_error(format!("{key}={value}"))),
            };
            match key.as_str() {
                "HeaderDigest" => self.has_header_digest = digest()?,
                "DataDigest" => self.has_data_digest = digest()?,
                "MaxRecvDataSegmentLength" => self.parameters.max_data = number()? as usize,
                "FirstBurstLength" => self.first_burst = number()? as usize,
                "ImmediateData" => self.immediate_data = value == "Yes",
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the next request of the authentication stage.
    fn security(&mut self, pairs: &[(String, String)]) -> Result<RequestText, Error> {
        let value = |key| {
            let found = pairs.iter().find(|(name, _)| name == key);
            found.map(|(_, value)| value.as_str())
        };
        match value("AuthMethod") {
            Some("CHAP") if self.credentials.is_some() => {
                return Ok(RequestText {
                    pairs: vec![("CHAP_A", CHAP_MD5.to_owned())],
                    is_done: false,
                });
            }
            Some("None") => return Ok(RequestText::last(Vec::new())),
            Some(other) => return Err(protocol_error(format!("AuthMethod={other}"))),
            None => {}
        }
        let (Some(credentials), Some(identifier), Some(challenge)) =
            (self.credentials, value("CHAP_I"), value("CHAP_C"))
        else {
            return Ok(RequestText::last(Vec::new()));
        };
        if let Some(other) = value("CHAP_A").filter(|algorithm| *algorithm != CHAP_MD5) {
            return Err(protocol_error(format!("CHAP_A={other}")));
        }
        let identifier = text::number(identifier).and_then(|number| u8::try_from(number).ok());
        let identifier = identifier.ok_or_else(|| protocol_error("CHAP_I is not a byte"))?;
        let challenge =
            binary(challenge).ok_or_else(|| protocol_error("CHAP_C is not a binary value"))?;
        let response = chap_response(identifier, &credentials.secret, &challenge);
        let mut answer = vec![
            ("CHAP_N", credentials.user.clone()),
            ("CHAP_R", Hexadecimal(&response).to_string()),
        ];
        if credentials.target_secret.is_some() {
            let mut challenge = Challenge {
                identifier: identifier.wrapping_add(1),
                value: [0; 16],
            };
            getrandom::fill(&mut challenge.value).map_err(std::io::Error::from)?;
            answer.push(("CHAP_I", challenge.identifier.to_string()));
            answer.push(("CHAP_C", Hexadecimal(&challenge.value).to_string()));
            self.challenge = Some(challenge);
        }
        Ok(RequestText::last(answer))
    }

    /// Checks the proof of the target at the end of the authentication stage.
    fn check_security(&self, pairs: &[(String, String)]) -> Result<(), Error> {
        let secret = self
            .credentials
            .and_then(|credentials| credentials.target_secret.as_ref());
        let (stage::SECURITY, Some(secret)) = (self.stage, secret) else {
            return Ok(());
        };
        let challenge = self.challenge.ok_or(Error::Impostor)?;
        let response = pairs.iter().find(|(key, _)| key == "CHAP_R");
        let response = response.and_then(|(_, value)| binary(value));
        let expected = chap_response(challenge.identifier, secret, &challenge.value);
        match response {
            Some(response) if response == expected => Ok(()),
            _ => Err(Error::Impostor),
        }
    }

    fn request(&mut self, text: &RequestText) -> Result<(), Error> {
        let length = text
            .pairs
            .iter()
            .map(|(key, value)| key.len() + value.len() + 2)
            .sum();
        let mut data = vec![0; length];
        let mut writer = Writer::new(&mut data);
        for (key, value) in &text.pairs {
            writer.put(key, value).expect("room for all of them");
        }
        let next = match self.stage {
            stage::SECURITY => stage::OPERATIONAL,
            _ => stage::FULL_FEATURE,
        };
        let request = LoginRequest {
            transit: text.is_done,
            continues: false,
            current: self.stage,
            next: if text.is_done { next } else { 0 },
            version_max: 0,
            version_min: 0,
            isid: self.isid,
            tsih: 0,
            tag: Tag(0),
            connection: 0,
            command: self.numbers.command,
            expected_status: self.numbers.expected_status,
        };
        self.connection.send(&Message::LoginRequest(request), &data)
    }

    /// Receives the answer to a request with all of its text.
    fn response(&mut self) -> Result<(LoginResponse, Vec<u8>), Error> {
        let mut text = Vec::new();
        loop {
            let (message, data) = self.connection.receive(self.deadline)?;
            let Message::LoginResponse(response) = message else {
                return Err(protocol_error("not a login response"));
            };
            if response.result != login_status::SUCCESS {
                return Err(Error::Login(response.result));
            }
            self.numbers.expected_status = response.status.next();
            self.numbers.max_command = response.max_command;
            text.extend(data);
            if text.len() > MAX_TEXT {
                return Err(protocol_error("a login response does not end"));
            }
            if !response.continues {
                return Ok((response, text));
            }
            self.request(&RequestText::default())?;
        }
    }
}

/// Parses the keys and values of a text. Control characters are rejected because the values are
/// printed.
pub fn pairs(text: &[u8]) -> Result<Vec<(String, String)>, Error> {
    let pairs = text::pairs(text).map(|pair| {
        let (key, value) = pair.map_err(|_| protocol_error("text is not a list of keys"))?;
        if value.contains(char::is_control) {
            return Err(protocol_error(format!("control characters in {key}")));
        }
        Ok((key.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

/// Parses a binary value.
fn binary(value: &str) -> Option<Vec<u8>> {
    let mut room = vec![0; MAX_CHAP_LENGTH];
    let length = text::binary(value, &mut room)?;
    room.truncate(length);
    Some(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1321: the digest of "abc", split into the three inputs.
    #[test]
    fn the_response_is_a_digest_of_all_three_inputs() {
        let expected = 0x9001_5098_3cd2_4fb0_d696_3f7d_28e1_7f72_u128;
        assert_eq!(chap_response(b'a', b"b", b"c"), expected.to_be_bytes());
    }

    #[test]
    fn secrets_are_not_printed() {
        let credentials = Credentials {
            user: "me".to_owned(),
            secret: b"hidden".to_vec(),
            target_secret: None,
        };
        assert_eq!(
            format!("{credentials:?}"),
            "Credentials { user: \"me\", .. }"
        );
    }
}
