//! A connection to a target: messages over TCP, and the login, which includes CHAP authentication
//! and the negotiation of parameters.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use diskarm_wire::iscsi::text::{self, Hexadecimal, Writer};
use diskarm_wire::iscsi::{
    Digest, Lengths, LoginRequest, LoginResponse, Message, Serial, login_status, padded, stage,
};
use md5::{Digest as _, Md5};

/// Maximum data length of a message from the target, in bytes (MaxRecvDataSegmentLength).
pub const MAX_DATA: usize = 1 << 18;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The reason why a disk cannot be used.
#[derive(Debug)]
pub enum Error {
    Io(io::Error),
    Timeout,
    /// The target rejected the login, with a code from [`login_status`].
    Login(u16),
    /// The target violates the protocol, or requires an unsupported feature.
    Protocol(String),
    /// The target did not prove that it knows its secret.
    Impostor,
    /// The disk is not empty.
    Content(&'static str),
    Disk(crate::transport::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(source) => source.fmt(f),
            Self::Timeout => f.write_str("the target did not answer in time"),
            Self::Login(status) => {
                let reason = match *status {
                    login_status::AUTHENTICATION_FAILURE => "wrong or missing user name or secret",
                    login_status::AUTHORIZATION_FAILURE => "the initiator may not use this target",
                    login_status::NOT_FOUND => "no such target",
                    login_status::UNSUPPORTED_VERSION => "the protocol version is not supported",
                    login_status::TOO_MANY_CONNECTIONS | login_status::OUT_OF_RESOURCES => {
                        "the target has no room for another session"
                    }
                    login_status::UNAVAILABLE => "the target is currently unavailable",
                    status if status >> 8 == 1 => "the target has moved",
                    _ => "no reason given",
                };
                write!(f, "login refused: {reason} (status 0x{status:04x})")
            }
            Self::Protocol(reason) => write!(f, "the target violates the protocol: {reason}"),
            Self::Impostor => f.write_str("the target did not prove that it knows its secret"),
            Self::Content(what) => write!(f, "contains {what}: writes would destroy data"),
            Self::Disk(source) => source.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(source) => Some(source),
            Self::Disk(source) => Some(source),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // Unix and Windows report a read timeout differently.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Timeout,
            _ => Self::Io(error),
        }
    }
}

pub fn protocol_error(reason: impl Into<String>) -> Error {
    Error::Protocol(reason.into())
}

#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    pub has_header_digest: bool,
    pub has_data_digest: bool,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects to the first of a host's addresses that accepts a connection.
    pub fn open(host: &str, port: u16) -> Result<Self, Error> {
        let mut failure = None;
        for address in (host, port).to_socket_addrs()? {
            let stream = match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(stream) => stream,
                Err(error) => {
                    failure = Some(error);
                    continue;
                }
            };
            // Commands must be sent without delay, although they are short.
            stream.set_nodelay(true)?;
            stream.set_write_timeout(Some(Duration::from_secs(60)))?;
            return Ok(Self {
                stream,
                has_header_digest: false,
                has_data_digest: false,
                buffer: Vec::new(),
            });
        }
        let no_address = || protocol_error(format!("{host} has no address"));
        Err(failure.map_or_else(no_address, Error::from))
    }

    pub fn send(&mut self, message: &Message, data: &[u8]) -> Result<(), Error> {
        let header = message.emit(Lengths::of_data(data.len()));
        self.buffer.clear();
        self.buffer.extend(header);
        if self.has_header_digest {
            self.buffer.extend(Digest::new(&header).bytes());
        }
        self.buffer.extend(data);
        self.buffer
            .resize(self.buffer.len() + padded(data.len()) - data.len(), 0);
        if self.has_data_digest && !data.is_empty() {
            self.buffer.extend(Digest::new(data).bytes());
        }
        Ok(self.stream.write_all(&self.buffer)?)
    }

    /// Receives the next message and its data. Fails if they have not arrived by `deadline`.
    pub fn receive(&mut self, deadline: Instant) -> Result<(Message, Vec<u8>), Error> {
        let mut header = [0; Message::LENGTH];
        self.fill(&mut header, deadline)?;
        let lengths = Lengths::parse(&header).expect("a complete header");
        let mut additional = vec![0; lengths.ahs()];
        self.fill(&mut additional, deadline)?;
        if self.has_header_digest {
            let mut sum = Digest::default();
            sum.update(&header);
            sum.update(&additional);
            self.check(sum, "header", deadline)?;
        }
        let message = Message::parse(&header)
            .map_err(|_| protocol_error(format!("unknown message 0x{:02x}", header[0])))?;
        let length = lengths.data_length as usize;
        if length > MAX_DATA {
            let reason = format!("a message with {length} bytes of data exceeds {MAX_DATA}");
            return Err(protocol_error(reason));
        }
        let mut data = vec![0; lengths.padded()];
        self.fill(&mut data, deadline)?;
        if self.has_data_digest && length > 0 {
            self.check(Digest::new(&data), "data", deadline)?;
        }
        data.truncate(length);
        Ok((message, data))
    }

    /// Reads a digest and compares it with `sum`.
    fn check(&mut self, sum: Digest, part: &str, deadline: Instant) -> Result<(), Error> {
        let mut found = [0; Digest::LENGTH];
        self.fill(&mut found, deadline)?;
        let expected = sum.bytes();
        if found != expected {
            return Err(protocol_error(format!(
                "wrong {part} digest: found {found:02x?}, expected {expected:02x?}"
            )));
        }
        Ok(())
    }

    fn fill(&mut self, mut room: &mut [u8], deadline: Instant) -> Result<(), Error> {
        while !room.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::Timeout);
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(room) {
                Ok(0) => {
                    let message = "the target closed the connection";
                    let error = io::Error::new(io::ErrorKind::UnexpectedEof, message);
                    return Err(Error::Io(error));
                }
                Ok(read) => room = &mut room[read..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

const NAME: &str = "iqn.2026-11.diskarm:initiator";

const LOGIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of requests of a login.
const MAX_REQUESTS: u32 = 16;

/// Maximum text length of one answer from a target, in bytes.
pub const MAX_TEXT: usize = 1 << 16;

/// CHAP credentials of the initiator, and optionally of the target.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// User name (key CHAP_N).
    pub user: String,
    pub secret: Vec<u8>,
    /// The secret with which the target must authenticate itself; `None` if it need not.
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

/// Maximum length of a CHAP challenge or response in bytes (RFC 7143, section on CHAP).
const MAX_CHAP_LENGTH: usize = 1024;

/// Computes the response to a challenge, which proves knowledge of the secret (RFC 1994).
fn chap_response(identifier: u8, secret: &[u8], challenge: &[u8]) -> [u8; 16] {
    let mut hash = Md5::new();
    hash.update([identifier]);
    hash.update(secret);
    hash.update(challenge);
    hash.finalize().into()
}

/// The purpose of a session: to list all targets, or to use one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose<'a> {
    Discovery,
    Target(&'a str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Maximum data length of a message to the target, in bytes (MaxRecvDataSegmentLength).
    pub max_data: usize,
    /// Maximum length of the data sent with a command, in bytes.
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
    /// The identifier and value of the CHAP challenge that was sent to the target.
    challenge: Option<(u8, [u8; 16])>,
    deadline: Instant,
}

type Pairs = Vec<(&'static str, String)>;

enum RequestText {
    /// The initiator will send more in this stage.
    Part(Pairs),
    /// The initiator is ready for the next stage.
    Last(Pairs),
}

/// Logs in. `unique` is a number that distinguishes the sessions of this process.
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
        let introduction = self.introduction(purpose);
        let mut text = match self.credentials {
            Some(_) => RequestText::Part(introduction),
            None => RequestText::Last(introduction),
        };
        for _ in 0..MAX_REQUESTS {
            self.request(&text)?;
            let (response, answer) = self.response()?;
            let pairs = pairs(&answer)?;
            if response.transit {
                if let RequestText::Part(_) = text {
                    let reason = "it advanced to the next stage without being asked";
                    return Err(protocol_error(reason));
                }
                self.check_security(&pairs)?;
                self.operational(&pairs)?;
                self.stage = response.next;
                if self.stage == stage::FULL_FEATURE {
                    self.connection.has_header_digest = self.has_header_digest;
                    self.connection.has_data_digest = self.has_data_digest;
                    return Ok(());
                }
                text = RequestText::Last(offers(purpose));
                continue;
            }
            text = match self.stage {
                stage::SECURITY => self.security(&pairs)?,
                _ => {
                    self.operational(&pairs)?;
                    RequestText::Last(Vec::new())
                }
            };
        }
        Err(protocol_error(format!(
            "the login did not end within {MAX_REQUESTS} requests"
        )))
    }

    fn introduction(&self, purpose: Purpose<'_>) -> Pairs {
        let mut pairs = vec![("InitiatorName", NAME)];
        match purpose {
            Purpose::Discovery => pairs.push(("SessionType", "Discovery")),
            Purpose::Target(name) => {
                pairs.extend([("SessionType", "Normal"), ("TargetName", name)]);
            }
        }
        let has_credentials = self.credentials.is_some();
        let methods = if has_credentials { "CHAP,None" } else { "None" };
        pairs.push(("AuthMethod", methods));
        to_pairs(&pairs)
    }

    /// Stores the parameters that the target has chosen.
    fn operational(&mut self, pairs: &[(String, String)]) -> Result<(), Error> {
        if self.stage != stage::OPERATIONAL {
            return Ok(());
        }
        for (key, value) in pairs {
            // Messages have at most 2^24 - 1 bytes of data.
            let invalid = || protocol_error(format!("unexpected {key}={value}"));
            let number = || {
                let number = text::number(value).filter(|number| *number >= 512);
                Ok::<_, Error>(number.ok_or_else(invalid)?.min((1 << 24) - 1) as usize)
            };
            let digest = || match value.as_str() {
                "None" => Ok(false),
                "CRC32C" => Ok(true),
                _ => Err(invalid()),
            };
            match key.as_str() {
                "HeaderDigest" => self.has_header_digest = digest()?,
                "DataDigest" => self.has_data_digest = digest()?,
                "MaxRecvDataSegmentLength" => self.parameters.max_data = number()?,
                "FirstBurstLength" => self.first_burst = number()?,
                "ImmediateData" => self.immediate_data = value == "Yes",
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the next request of the authentication stage.
    fn security(&mut self, pairs: &[(String, String)]) -> Result<RequestText, Error> {
        let value = |key| value(pairs, key);
        match value("AuthMethod") {
            Some("CHAP") if self.credentials.is_some() => {
                return Ok(RequestText::Part(to_pairs(&[("CHAP_A", CHAP_MD5)])));
            }
            Some("None") => return Ok(RequestText::Last(Vec::new())),
            Some(other) => return Err(protocol_error(format!("unexpected AuthMethod={other}"))),
            None => {}
        }
        let (Some(credentials), Some(identifier), Some(challenge)) =
            (self.credentials, value("CHAP_I"), value("CHAP_C"))
        else {
            return Ok(RequestText::Last(Vec::new()));
        };
        if let Some(other) = value("CHAP_A").filter(|algorithm| *algorithm != CHAP_MD5) {
            return Err(protocol_error(format!("unexpected CHAP_A={other}")));
        }
        let identifier = text::number(identifier)
            .and_then(|number| u8::try_from(number).ok())
            .ok_or_else(|| protocol_error("CHAP_I is not a byte"))?;
        let challenge =
            binary(challenge).ok_or_else(|| protocol_error("CHAP_C is not a binary value"))?;
        let response = chap_response(identifier, &credentials.secret, &challenge);
        let mut answer = vec![
            ("CHAP_N", credentials.user.clone()),
            ("CHAP_R", Hexadecimal(&response).to_string()),
        ];
        if credentials.target_secret.is_some() {
            let own_identifier = identifier.wrapping_add(1);
            let mut value = [0; 16];
            getrandom::fill(&mut value).map_err(io::Error::from)?;
            answer.push(("CHAP_I", own_identifier.to_string()));
            answer.push(("CHAP_C", Hexadecimal(&value).to_string()));
            self.challenge = Some((own_identifier, value));
        }
        Ok(RequestText::Last(answer))
    }

    /// Checks the target's proof at the end of the authentication stage.
    fn check_security(&self, pairs: &[(String, String)]) -> Result<(), Error> {
        let credentials = self.credentials.filter(|_| self.stage == stage::SECURITY);
        let Some(secret) = credentials.and_then(|all| all.target_secret.as_ref()) else {
            return Ok(());
        };
        let (identifier, challenge) = self.challenge.ok_or(Error::Impostor)?;
        let expected = chap_response(identifier, secret, &challenge);
        let response = value(pairs, "CHAP_R").and_then(binary);
        if response.is_none_or(|response| response != expected) {
            return Err(Error::Impostor);
        }
        Ok(())
    }

    fn request(&mut self, text: &RequestText) -> Result<(), Error> {
        let (RequestText::Part(pairs) | RequestText::Last(pairs)) = text;
        let length = pairs.iter().map(|(key, value)| key.len() + value.len() + 2);
        let mut data = vec![0; length.sum()];
        let mut writer = Writer::new(&mut data);
        for (key, value) in pairs {
            writer.put(key, value).expect("a buffer for all pairs");
        }
        let transit = matches!(text, RequestText::Last(_));
        let request = LoginRequest {
            transit,
            current: self.stage,
            next: match self.stage {
                _ if !transit => 0,
                stage::SECURITY => stage::OPERATIONAL,
                _ => stage::FULL_FEATURE,
            },
            isid: self.isid,
            command: self.numbers.command,
            expected_status: self.numbers.expected_status,
            ..LoginRequest::default()
        };
        self.connection.send(&Message::LoginRequest(request), &data)
    }

    /// Receives the answer to a request with all of its text.
    fn response(&mut self) -> Result<(LoginResponse, Vec<u8>), Error> {
        let mut text = Vec::new();
        loop {
            let (message, data) = self.connection.receive(self.deadline)?;
            let Message::LoginResponse(response) = message else {
                return Err(protocol_error("it did not answer the login request"));
            };
            if response.result != login_status::SUCCESS {
                return Err(Error::Login(response.result));
            }
            self.numbers.expected_status = response.status.next();
            self.numbers.max_command = response.max_command;
            text.extend(data);
            if text.len() > MAX_TEXT {
                return Err(protocol_error("a login response is too long"));
            }
            if !response.continues {
                return Ok((response, text));
            }
            self.request(&RequestText::Part(Vec::new()))?;
        }
    }
}

/// Returns the offers from which the target chooses.
fn offers(purpose: Purpose<'_>) -> Pairs {
    let max_data = MAX_DATA.to_string();
    let mut offers = vec![
        ("HeaderDigest", "None,CRC32C"),
        ("DataDigest", "None,CRC32C"),
        ("MaxRecvDataSegmentLength", &max_data),
        ("ErrorRecoveryLevel", "0"),
        ("DefaultTime2Wait", "2"),
        ("DefaultTime2Retain", "0"),
    ];
    if purpose != Purpose::Discovery {
        offers.extend([
            ("MaxConnections", "1"),
            ("InitialR2T", "Yes"),
            ("ImmediateData", "Yes"),
            ("MaxBurstLength", "16776192"),
            ("FirstBurstLength", &max_data),
            ("MaxOutstandingR2T", "1"),
            ("DataPDUInOrder", "Yes"),
            ("DataSequenceInOrder", "Yes"),
        ]);
    }
    to_pairs(&offers)
}

fn to_pairs(pairs: &[(&'static str, &str)]) -> Pairs {
    pairs
        .iter()
        .map(|&(key, value)| (key, value.to_owned()))
        .collect()
}

fn value<'a>(pairs: &'a [(String, String)], key: &str) -> Option<&'a str> {
    let found = pairs.iter().find(|(name, _)| name == key);
    found.map(|(_, value)| value.as_str())
}

/// Parses the keys and values in text. Values are printed, so they must not contain control
/// characters.
pub fn pairs(text: &[u8]) -> Result<Vec<(String, String)>, Error> {
    let pairs = text::pairs(text).map(|pair| {
        let (key, value) = pair.map_err(|_| protocol_error("text without key-value pairs"))?;
        if value.contains(char::is_control) {
            return Err(protocol_error(format!("control characters in {key}")));
        }
        Ok((key.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

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
        let printed = format!("{credentials:?}");
        assert_eq!(printed, "Credentials { user: \"me\", .. }");
    }
}
