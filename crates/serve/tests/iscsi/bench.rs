//! A target, and initiators that send it messages.

use std::time::Instant;

use diskarm_core::units::Span;
use diskarm_serve::iscsi::{
    Accounts, Connection, Iscsi, IscsiTarget, Login, SharedMemory, target_name,
};
use diskarm_serve::store::StoreSpec;
use diskarm_serve::{
    Clients, DEFAULT_POLICY, Exchange as _, ExchangeStep, ExportSpec, Facts, Handshake as _, Pace,
    Service, Session as _, WakeReceiver, Waker,
};
use diskarm_wire::iscsi::text::Writer;
use diskarm_wire::iscsi::{
    Command, Lengths, LoginRequest, LoginResponse, Lun, Message, Serial, Tag, attribute, padded,
    stage,
};

/// A message with its data.
pub type Received = (Message, Vec<u8>);

/// Formats a message without digests.
pub fn bytes(message: &Message, data: &[u8]) -> Vec<u8> {
    let mut bytes = message.emit(Lengths::of_data(data.len())).to_vec();
    bytes.extend_from_slice(data);
    bytes.resize(48 + padded(data.len()), 0);
    bytes
}

/// Parses the messages in `bytes`, which have no digests.
pub fn messages(mut bytes: &[u8]) -> Vec<Received> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let message = Message::parse(bytes).expect("a message");
        let lengths = Lengths::parse(bytes).expect("a message");
        let data = bytes[48..48 + lengths.data_length as usize].to_vec();
        all.push((message, data));
        bytes = &bytes[48 + lengths.padded()..];
    }
    all
}

pub fn text(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut data = vec![0; 8192];
    let mut writer = Writer::new(&mut data);
    for (key, value) in pairs {
        writer.put(key, value).expect("room");
    }
    let length = writer.length();
    data.truncate(length);
    data
}

/// Returns the value of a key in a text.
pub fn value<'a>(data: &'a [u8], key: &str) -> Option<&'a str> {
    let mut pairs = diskarm_wire::iscsi::text::pairs(data).map(|pair| pair.expect("text"));
    pairs
        .find(|(found, _)| *found == key)
        .map(|(_, value)| value)
}

pub fn export_spec(name: &str) -> ExportSpec {
    ExportSpec {
        name: name.to_owned(),
        drive: "hp-c2247".to_owned(),
        changes: Vec::new(),
        policy: DEFAULT_POLICY.to_owned(),
        size: Some("1 MiB".to_owned()),
        store: StoreSpec::Memory,
        is_read_only: name == "fixed",
        record: None,
        bound: None,
    }
}

pub const PACE: Pace = Pace {
    speed: None,
    spins: false,
    bound: Span::ZERO,
};

/// Returns a login request in stage `current` that proposes the stage `next`.
pub fn login_request(current: u8, next: Option<u8>) -> LoginRequest {
    LoginRequest {
        transit: next.is_some(),
        continues: false,
        current,
        next: next.unwrap_or(0),
        version_max: 0,
        version_min: 0,
        isid: [0x80, 0, 0, 0, 0, 1],
        tsih: 0,
        tag: Tag(1),
        connection: 0,
        command: Serial(1),
        expected_status: Serial(0),
    }
}

/// Returns the keys that name an initiator and a target.
pub fn names(initiator: &str, target: &str) -> Vec<(String, String)> {
    vec![
        (
            "InitiatorName".to_owned(),
            format!("iqn.2026-01.test:{initiator}"),
        ),
        ("TargetName".to_owned(), target_name(target)),
    ]
}

/// A login in progress.
pub struct PendingLogin {
    pub login: Login,
    pub facts: Vec<Facts>,
    pub session: Option<Box<Connection>>,
    pub is_closed: bool,
}

impl PendingLogin {
    pub fn new(accounts: Option<Accounts>) -> Self {
        Self::with_target(&Iscsi::new(accounts))
    }

    pub fn with_target(target: &Iscsi) -> Self {
        let facts = ["", "fixed"].map(|name| {
            let export = export_spec(name).build_unit(PACE, 1).expect("an export");
            export.facts
        });
        Self {
            login: target.login("127.0.0.1:3260".to_owned()),
            facts: facts.to_vec(),
            session: None,
            is_closed: false,
        }
    }

    /// Sends bytes; returns the target's messages.
    pub fn send(&mut self, data: &[u8], is_full: bool) -> Vec<Received> {
        self.login.received(data);
        let mut output = Vec::new();
        loop {
            match self.login.step(&self.facts, is_full) {
                ExchangeStep::Wait if self.login.output().is_empty() => break,
                ExchangeStep::Wait => {}
                ExchangeStep::StartTls => panic!("iSCSI has no TLS"),
                ExchangeStep::Close => self.is_closed = true,
                ExchangeStep::Chosen(_, session) => self.session = Some(session),
            }
            if let Some(session) = &mut self.session {
                let count = session.output().len();
                output.extend_from_slice(session.output());
                session.sent(count);
                break;
            }
            let count = self.login.output().len();
            output.extend_from_slice(self.login.output());
            self.login.sent(count);
            if self.is_closed {
                break;
            }
        }
        messages(&output)
    }

    /// Sends a login request; returns the answer.
    pub fn ask(
        &mut self,
        request: LoginRequest,
        pairs: &[(&str, &str)],
    ) -> (LoginResponse, Vec<u8>) {
        let sent = bytes(&Message::LoginRequest(request), &text(pairs));
        let received = self.send(&sent, false);
        let [(Message::LoginResponse(response), data)] = &received[..] else {
            panic!("{received:?}");
        };
        (*response, data.clone())
    }
}

/// The connections of a target.
#[derive(Default)]
pub struct Sessions(Vec<Option<Box<Connection>>>);

impl Clients<Connection> for Sessions {
    fn get_mut(&mut self, number: usize) -> Option<&mut Connection> {
        self.0.get_mut(number)?.as_deref_mut()
    }

    fn record_due(&mut self, _: usize, _: Instant) {}

    fn numbers(&self) -> Vec<usize> {
        (0..self.0.len())
            .filter(|number| self.0[*number].is_some())
            .collect()
    }
}

/// A target with its sessions.
pub struct Target {
    pub iscsi: Iscsi,
    pub service: IscsiTarget,
    pub sessions: Sessions,
    /// Connections with work to do.
    touched: Vec<usize>,
    _woken: WakeReceiver,
}

/// The initiator's side of a session.
pub struct Initiator {
    /// The target's part of the session id.
    pub tsih: u16,
    /// The number of the first connection.
    pub number: usize,
    pub command: Serial,
    pub tag: u32,
}

impl Target {
    pub fn new(name: &str) -> Self {
        let (waker, woken) = Waker::new().expect("a socket");
        let export = export_spec(name).build_unit(PACE, 1).expect("an export");
        let service = IscsiTarget::new(export, waker).expect("a service");
        Self {
            iscsi: Iscsi::new(None),
            service,
            sessions: Sessions::default(),
            touched: Vec::new(),
            _woken: woken,
        }
    }

    /// Makes the sessions share `memory` with those of other targets.
    pub fn with_memory(self, memory: &SharedMemory) -> Self {
        Self {
            service: self.service.with_memory(memory.clone()),
            ..self
        }
    }

    /// Logs in with the keys `pairs`; the first command clears the unit attention.
    pub fn log_in(&mut self, initiator: &str, pairs: &[(&str, &str)]) -> Initiator {
        let request = login_request(stage::OPERATIONAL, Some(stage::FULL_FEATURE));
        let (tsih, number) = self.enter(request, initiator, pairs).expect("a session");
        let mut initiator = Initiator {
            tsih,
            number,
            command: Serial(1),
            tag: 100,
        };
        let ready = initiator.command(&[0; 6], 0, false);
        self.send(number, &bytes(&Message::Command(ready), &[]));
        initiator
    }

    /// Logs in with one request; returns the target's part of the session id, and the connection.
    ///
    /// # Errors
    /// The status of a failed login.
    pub fn enter(
        &mut self,
        request: LoginRequest,
        initiator: &str,
        pairs: &[(&str, &str)],
    ) -> Result<(u16, usize), u16> {
        let mut pending = PendingLogin::with_target(&self.iscsi);
        let names = names(initiator, "");
        let mut all: Vec<(&str, &str)> = names.iter().map(|(k, v)| (&**k, &**v)).collect();
        all.extend_from_slice(pairs);
        let (response, _) = pending.ask(request, &all);
        match pending.session {
            Some(connection) => Ok((response.tsih, self.open(connection))),
            None => Err(response.result),
        }
    }

    /// Opens a connection; returns its number.
    pub fn open(&mut self, connection: Box<Connection>) -> usize {
        self.sessions.0.push(Some(connection));
        let number = self.sessions.0.len() - 1;
        for other in self
            .service
            .open(number, &mut self.sessions, Instant::now())
        {
            self.close(other);
        }
        number
    }

    /// Returns true if a connection exists and has not ended.
    pub fn is_open(&mut self, number: usize) -> bool {
        let connection = self.sessions.get_mut(number);
        connection.is_some_and(|connection| !connection.has_ended())
    }

    pub fn close(&mut self, number: usize) {
        if let Some(session) = self.sessions.0[number].take() {
            self.service.close(number, *session, Instant::now());
        }
    }

    pub fn session(&mut self, number: usize) -> &mut Connection {
        self.sessions.get_mut(number).expect("a session")
    }

    /// Sends bytes; returns the messages to this connection, or `None` if the target closes it.
    pub fn exchange(&mut self, number: usize, data: &[u8]) -> Option<Vec<u8>> {
        let mut output = Vec::new();
        // A session has a buffer of a bounded size.
        for part in data.chunks(64 << 10).chain(data.is_empty().then_some(data)) {
            let session = self.session(number);
            session.room()[..part.len()].copy_from_slice(part);
            session.filled(part.len());
            loop {
                let now = Instant::now();
                let has_message = self
                    .service
                    .handle_next(number, &mut self.sessions, now)
                    .ok()?;
                self.touched
                    .extend(self.service.serve_due(&mut self.sessions, now));
                let session = self.sessions.get_mut(number)?;
                self.service.fill(session).ok()?;
                let count = session.output().len();
                output.extend_from_slice(session.output());
                session.sent(count);
                if !has_message && count == 0 {
                    break;
                }
            }
        }
        Some(output)
    }

    /// Returns the target's unprompted messages to a connection.
    pub fn unprompted(&mut self, number: usize) -> Vec<Received> {
        assert!(
            self.touched.contains(&number),
            "the service must announce the output"
        );
        self.touched.clear();
        self.send(number, &[])
    }

    pub fn send(&mut self, number: usize, data: &[u8]) -> Vec<Received> {
        messages(&self.exchange(number, data).expect("an open connection"))
    }

    /// Executes a command of the initiator without data.
    pub fn run(&mut self, initiator: &mut Initiator, block: &[u8], length: u32) -> Vec<Received> {
        let command = initiator.command(block, length, false);
        self.send(initiator.number, &bytes(&Message::Command(command), &[]))
    }
}

impl Initiator {
    /// Creates a command with the next numbers.
    pub fn command(&mut self, block: &[u8], length: u32, writes: bool) -> Command {
        let mut padded = [0; 16];
        padded[..block.len()].copy_from_slice(block);
        self.tag += 1;
        let command = Command {
            immediate: false,
            is_final: true,
            reads: !writes && length > 0,
            writes,
            attribute: attribute::SIMPLE,
            lun: Lun::new(0),
            tag: Tag(self.tag),
            length,
            command: self.command,
            expected_status: Serial(0),
            block: padded,
        };
        self.command = self.command.next();
        command
    }
}

/// Formats READ(10) or WRITE(10).
pub fn transfer(code: u8, at: u16, count: u16) -> [u8; 10] {
    let (at, count) = (at.to_be_bytes(), count.to_be_bytes());
    [code, 0, 0, 0, at[0], at[1], 0, count[0], count[1], 0]
}

pub const READ: u8 = 0x28;
pub const WRITE: u8 = 0x2a;
