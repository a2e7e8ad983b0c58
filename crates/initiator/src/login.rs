//! Login: who both sides are, and what they agree on.

use std::time::{Duration, Instant};

use diskarm_wire::iscsi::text::{self, Hexadecimal, Writer};
use diskarm_wire::iscsi::{LoginRequest, LoginResponse, Message, Serial, Tag, login_status, stage};

use crate::chap::{self, Credentials};
use crate::connection::{Connection, MAX_DATA};
use crate::error::{Error, protocol};

/// The name of this initiator.
const NAME: &str = "iqn.2026-11.diskarm:initiator";

/// How long a login may take.
const TIME: Duration = Duration::from_secs(30);

/// The most requests that a login may take.
const MAX_REQUESTS: u32 = 16;

/// The most text that a target may send in one answer, in bytes.
pub const MAX_TEXT: usize = 1 << 16;

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// To ask which targets there are.
    Discovery,
    /// To use this target.
    Target(&'a str),
}

/// What both sides agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The most data in a message to the target, in bytes (MaxRecvDataSegmentLength).
    pub most_data: usize,
    /// The most data that may be sent before the target asks, in bytes; 0 if none may.
    pub immediate: usize,
}

/// Numbers of the next messages.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// Of the next command.
    pub command: Serial,
    /// The largest of a command that the target takes now.
    pub max_command: Serial,
    /// Of the next response.
    pub expected_status: Serial,
}

/// A login under way.
struct Login<'a> {
    connection: &'a mut Connection,
    credentials: Option<&'a Credentials>,
    isid: [u8; 6],
    stage: u8,
    numbers: Numbers,
    agreed: Agreed,
    /// Whether the target takes data with commands, and how much before it asks.
    immediate_data: bool,
    first_burst: usize,
    /// Whether headers and data will have digests.
    digests: (bool, bool),
    /// What the target must prove: the identifier and the challenge that it got.
    challenge: Option<(u8, [u8; 16])>,
    deadline: Instant,
}

/// The next text to send, and whether this side is done with the stage.
type Step = (Vec<(&'static str, String)>, bool);

/// Logs in. `unique` numbers the sessions of this program.
pub fn login(
    connection: &mut Connection,
    purpose: Purpose<'_>,
    credentials: Option<&Credentials>,
    unique: u16,
) -> Result<(Agreed, Numbers), Error> {
    let [.., high, middle, low] = std::process::id().to_be_bytes();
    let [first, second] = unique.to_be_bytes();
    let mut login = Login {
        connection,
        credentials,
        // "Random", as its upper two bits say, of 24 bits, and a qualifier.
        isid: [0x80, high, middle, low, first, second],
        stage: stage::SECURITY,
        numbers: Numbers {
            command: Serial(1),
            max_command: Serial(1),
            expected_status: Serial(0),
        },
        agreed: Agreed {
            most_data: 8192,
            immediate: 0,
        },
        immediate_data: true,
        first_burst: 1 << 16,
        digests: (false, false),
        challenge: None,
        deadline: Instant::now() + TIME,
    };
    login.run(purpose)?;
    if login.immediate_data {
        login.agreed.immediate = login.first_burst.min(login.agreed.most_data);
    }
    let (agreed, numbers) = (login.agreed, login.numbers);
    Ok((agreed, numbers))
}

impl Login<'_> {
    fn run(&mut self, purpose: Purpose<'_>) -> Result<(), Error> {
        let mut step = (self.introduction(purpose), self.credentials.is_none());
        for _ in 0..MAX_REQUESTS {
            self.request(&step)?;
            let (response, text) = self.response()?;
            let pairs = pairs(&text)?;
            if response.transit {
                if !step.1 {
                    return Err(protocol("it went on to the next stage unasked"));
                }
                self.check_security(&pairs)?;
                self.operational(&pairs)?;
                self.stage = response.next;
                if self.stage == stage::FULL_FEATURE {
                    let (header, data) = self.digests;
                    self.connection.header_digest = header;
                    self.connection.data_digest = data;
                    return Ok(());
                }
                step = (self.offers(purpose), true);
                continue;
            }
            step = match self.stage {
                stage::SECURITY => self.security(&pairs)?,
                _ => {
                    self.operational(&pairs)?;
                    (Vec::new(), true)
                }
            };
        }
        Err(protocol(format!(
            "no end of the login after {MAX_REQUESTS} requests"
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

    /// Offers for the session, in which the target chooses.
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

    /// What the target chose.
    fn operational(&mut self, pairs: &[(String, String)]) -> Result<(), Error> {
        if self.stage != stage::OPERATIONAL {
            return Ok(());
        }
        for (key, value) in pairs {
            // More than a message can have is as good as that.
            let number = || {
                let number = text::number(value).filter(|number| *number >= 512);
                let number = number.map(|number| number.min((1 << 24) - 1));
                number.ok_or_else(|| protocol(format!("{key}={value}")))
            };
            let digest = || match value.as_str() {
                "None" => Ok(false),
                "CRC32C" => Ok(true),
                _ => Err(protocol(format!("{key}={value}"))),
            };
            match key.as_str() {
                "HeaderDigest" => self.digests.0 = digest()?,
                "DataDigest" => self.digests.1 = digest()?,
                "MaxRecvDataSegmentLength" => self.agreed.most_data = number()? as usize,
                "FirstBurstLength" => self.first_burst = number()? as usize,
                "ImmediateData" => self.immediate_data = value == "Yes",
                _ => {}
            }
        }
        Ok(())
    }

    /// The next step of the stage in which both sides prove who they are.
    fn security(&mut self, pairs: &[(String, String)]) -> Result<Step, Error> {
        let value = |key| {
            let found = pairs.iter().find(|(name, _)| name == key);
            found.map(|(_, value)| value.as_str())
        };
        match value("AuthMethod") {
            Some("CHAP") if self.credentials.is_some() => {
                return Ok((vec![("CHAP_A", chap::ALGORITHM.to_owned())], false));
            }
            Some("None") => return Ok((Vec::new(), true)),
            Some(other) => return Err(protocol(format!("AuthMethod={other}"))),
            None => {}
        }
        let (Some(credentials), Some(identifier), Some(challenge)) =
            (self.credentials, value("CHAP_I"), value("CHAP_C"))
        else {
            return Ok((Vec::new(), true));
        };
        if let Some(other) = value("CHAP_A").filter(|algorithm| *algorithm != chap::ALGORITHM) {
            return Err(protocol(format!("CHAP_A={other}")));
        }
        let identifier = text::number(identifier).and_then(|number| u8::try_from(number).ok());
        let identifier = identifier.ok_or_else(|| protocol("CHAP_I is no byte"))?;
        let challenge = binary(challenge).ok_or_else(|| protocol("CHAP_C is no binary value"))?;
        let response = chap::response(identifier, &credentials.secret, &challenge);
        let mut step = vec![
            ("CHAP_N", credentials.user.clone()),
            ("CHAP_R", Hexadecimal(&response).to_string()),
        ];
        if credentials.target_secret.is_some() {
            let mut own = (identifier.wrapping_add(1), [0; 16]);
            getrandom::fill(&mut own.1).map_err(std::io::Error::from)?;
            step.push(("CHAP_I", own.0.to_string()));
            step.push(("CHAP_C", Hexadecimal(&own.1).to_string()));
            self.challenge = Some(own);
        }
        Ok((step, true))
    }

    /// Whether the target has proved what it must, when the stage of security ends.
    fn check_security(&self, pairs: &[(String, String)]) -> Result<(), Error> {
        let secret = self
            .credentials
            .and_then(|credentials| credentials.target_secret.as_ref());
        let (stage::SECURITY, Some(secret)) = (self.stage, secret) else {
            return Ok(());
        };
        let (identifier, challenge) = self.challenge.ok_or(Error::Impostor)?;
        let response = pairs.iter().find(|(key, _)| key == "CHAP_R");
        let response = response.and_then(|(_, value)| binary(value));
        let expected = chap::response(identifier, secret, &challenge);
        match response {
            Some(response) if response == expected => Ok(()),
            _ => Err(Error::Impostor),
        }
    }

    fn request(&mut self, (pairs, transit): &Step) -> Result<(), Error> {
        let length = pairs
            .iter()
            .map(|(key, value)| key.len() + value.len() + 2)
            .sum();
        let mut data = vec![0; length];
        let mut writer = Writer::new(&mut data);
        for (key, value) in pairs {
            writer.put(key, value).expect("room for all of them");
        }
        let next = match self.stage {
            stage::SECURITY => stage::OPERATIONAL,
            _ => stage::FULL_FEATURE,
        };
        let request = LoginRequest {
            transit: *transit,
            continues: false,
            current: self.stage,
            next: if *transit { next } else { 0 },
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

    /// The answer to a request, with all of its text.
    fn response(&mut self) -> Result<(LoginResponse, Vec<u8>), Error> {
        let mut text = Vec::new();
        loop {
            let (message, data) = self.connection.receive(self.deadline)?;
            let Message::LoginResponse(response) = message else {
                return Err(protocol("no login response"));
            };
            if response.result != login_status::SUCCESS {
                return Err(Error::Login(response.result));
            }
            self.numbers.expected_status = response.status.next();
            self.numbers.max_command = response.max_command;
            text.extend(data);
            if text.len() > MAX_TEXT {
                return Err(protocol("a login response without end"));
            }
            if !response.continues {
                return Ok((response, text));
            }
            self.request(&(Vec::new(), false))?;
        }
    }
}

/// The keys and values of a text. They are printed, so that control characters do not belong there.
pub fn pairs(text: &[u8]) -> Result<Vec<(String, String)>, Error> {
    let pairs = text::pairs(text).map(|pair| {
        let (key, value) = pair.map_err(|_| protocol("text that is no list of keys"))?;
        if value.contains(char::is_control) {
            return Err(protocol(format!("control characters in {key}")));
        }
        Ok((key.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

/// The bytes of a binary value.
fn binary(value: &str) -> Option<Vec<u8>> {
    let mut room = vec![0; chap::MAX];
    let length = text::binary(value, &mut room)?;
    room.truncate(length);
    Some(room)
}
