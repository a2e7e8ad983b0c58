//! Logins (authentication, the choice of a target, and negotiation of the session's parameters) and
//! discovery sessions, in which initiators ask for the available targets.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::Arc;

use diskarm_wire::iscsi::text::{self, Writer};
use diskarm_wire::iscsi::{
    LoginRequest, LoginResponse, LogoutResponse, Message, NopIn, Serial, Tag, TextRequest,
    TextResponse, login_status, logout_response, stage,
};

use super::connection::{Connection, SerialNumbers, stamp};
use super::frame::{Digests, Frame};
use super::parameters::{MAX_NAME, MAX_RECEIVE, PORTAL_GROUP, Parameters, WINDOW, target_name};
use super::register::{Member, SessionName, Settings};
use super::security::{Accounts, Security, SecurityKeys};
use crate::exchange::{Exchange, ExchangeStep};
use crate::export::Facts;
use crate::server::Handshake;

/// Maximum data length of a login message, in bytes: the default MaxRecvDataSegmentLength of RFC
/// 7143.
pub const MAX_DATA: usize = 8192;
/// Maximum length of all the text in a login, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// A login in progress, or the discovery session that follows.
pub struct Login {
    settings: Arc<Settings>,
    address: String,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Text received so far, to be continued in the next request.
    text: Vec<u8>,
    /// Length of all the text so far, in bytes.
    text_length: usize,
    stage: Option<u8>,
    status: Serial,
    /// The initiator's part of the session id.
    isid: [u8; 6],
    /// The target's part of the session id, if the connection joins a session.
    joined_tsih: Option<NonZero<u16>>,
    connection: u16,
    /// The registered connection, set at the end of the login.
    member: Option<Member>,
    seen_keys: BTreeSet<String>,
    initiator: Option<String>,
    target: Option<String>,
    is_discovery: bool,
    security: Security,
    parameters: Parameters,
    has_sent_group: bool,
    has_sent_length: bool,
    discovery: Option<DiscoverySession>,
}

/// The answer to a login request.
#[derive(Default)]
struct Reply {
    transit: bool,
    next: u8,
    tsih: u16,
    text: Vec<u8>,
}

impl Login {
    pub(super) fn new(settings: Arc<Settings>, address: String) -> Self {
        Self {
            settings,
            address,
            input: Vec::new(),
            output: Vec::new(),
            text: Vec::new(),
            text_length: 0,
            stage: None,
            status: Serial(1),
            isid: [0; 6],
            joined_tsih: None,
            connection: 0,
            member: None,
            seen_keys: BTreeSet::new(),
            initiator: None,
            target: None,
            is_discovery: false,
            security: Security::default(),
            parameters: Parameters::default(),
            has_sent_group: false,
            has_sent_length: false,
            discovery: None,
        }
    }

    fn answer(
        &mut self,
        frame: &Frame<'_>,
        exports: &[Facts],
        is_full: bool,
    ) -> ExchangeStep<Connection> {
        let Ok(Message::LoginRequest(request)) = Message::parse(&frame.header) else {
            return ExchangeStep::Close;
        };
        match self.process(&request, frame.data, exports, is_full) {
            Ok(reply) => {
                self.send(&request, login_status::SUCCESS, &reply);
                if reply.transit && reply.next == stage::FULL_FEATURE {
                    return self.finish(&request, exports);
                }
                self.stage = Some(if reply.transit {
                    reply.next
                } else {
                    request.current
                });
                ExchangeStep::Wait
            }
            Err(result) => {
                let reply = Reply {
                    tsih: request.tsih,
                    ..Reply::default()
                };
                self.send(&request, result, &reply);
                ExchangeStep::Close
            }
        }
    }

    /// Returns the target's answer, or the status of a failed login.
    fn process(
        &mut self,
        request: &LoginRequest,
        data: &[u8],
        exports: &[Facts],
        is_full: bool,
    ) -> Result<Reply, u16> {
        let is_first = self.stage.is_none() && self.text_length == 0;
        if request.version_min > 0 {
            return Err(login_status::UNSUPPORTED_VERSION);
        }
        if is_first {
            self.joined_tsih = NonZero::new(request.tsih);
            self.isid = request.isid;
            self.connection = request.connection;
        }
        let is_stage = matches!(request.current, stage::SECURITY | stage::OPERATIONAL);
        let is_same_stage = self.stage.is_none_or(|stage| stage == request.current);
        let is_same = request.isid == self.isid && NonZero::new(request.tsih) == self.joined_tsih;
        if !is_stage || !is_same_stage || !is_same {
            return Err(login_status::INVALID_REQUEST);
        }
        self.text_length += data.len();
        if self.text_length > MAX_TEXT {
            return Err(login_status::OUT_OF_RESOURCES);
        }
        self.text.extend_from_slice(data);
        let mut reply = Reply {
            next: request.next,
            tsih: request.tsih,
            ..Reply::default()
        };
        if request.continues {
            if request.transit {
                return Err(login_status::INITIATOR_ERROR);
            }
            return Ok(reply);
        }
        let all = std::mem::take(&mut self.text);
        reply.text = self.process_text(&all, request.current, exports, is_full)?;
        if request.transit {
            let is_later = match request.current {
                stage::SECURITY => matches!(request.next, stage::OPERATIONAL | stage::FULL_FEATURE),
                _ => request.next == stage::FULL_FEATURE,
            };
            if !is_later {
                return Err(login_status::INITIATOR_ERROR);
            }
            reply.transit = self.security.may_continue(self.accounts())?;
        }
        if reply.transit && reply.next == stage::FULL_FEATURE {
            reply.tsih = self.register_session()?;
        }
        Ok(reply)
    }

    /// Starts or joins a session; returns the target's part of the session id.
    fn register_session(&mut self) -> Result<u16, u16> {
        self.parameters.settle();
        let name = SessionName {
            initiator: self.initiator.take().unwrap_or_default(),
            isid: self.isid,
            target: if self.is_discovery {
                String::new()
            } else {
                self.target.clone().unwrap_or_default()
            },
        };
        let register = &self.settings.register;
        let member = match self.joined_tsih {
            None => register.start(name, self.connection, self.parameters),
            // Discovery sessions cannot be joined.
            Some(_) if self.is_discovery => return Err(login_status::NO_SESSION),
            Some(tsih) => {
                let joined = register.join(tsih.get(), name, self.connection);
                let (member, parameters) = joined?;
                self.parameters = self.parameters.with_session(parameters);
                member
            }
        };
        Ok(self.member.insert(member).tsih)
    }

    fn accounts(&self) -> Option<&Accounts> {
        self.settings.accounts.as_ref()
    }

    /// Handles the text of a request; returns the text of the answer.
    fn process_text(
        &mut self,
        all: &[u8],
        current: u8,
        exports: &[Facts],
        is_full: bool,
    ) -> Result<Vec<u8>, u16> {
        let mut security_keys = SecurityKeys::default();
        let mut answers: Vec<(String, String)> = Vec::new();
        for pair in text::pairs(all) {
            let (key, value) = pair.map_err(|_| login_status::INITIATOR_ERROR)?;
            if !self.seen_keys.insert(key.to_owned()) {
                return Err(login_status::INITIATOR_ERROR);
            }
            match key {
                "InitiatorName" if value.len() > MAX_NAME => {
                    return Err(login_status::INITIATOR_ERROR);
                }
                "InitiatorName" => self.initiator = Some(value.to_owned()),
                "TargetName" => self.target = Some(value.to_owned()),
                "SessionType" => self.is_discovery = value == "Discovery",
                "InitiatorAlias" => {}
                _ if security_keys.take(key, value) => {}
                _ => {
                    let starts_session = !self.is_discovery && self.joined_tsih.is_none();
                    let answer = self.parameters.negotiate(key, value, starts_session);
                    answers.extend(answer.map(|value| (key.to_owned(), value)));
                }
            }
        }
        self.check(current, exports, is_full)?;
        if current == stage::SECURITY {
            let accounts = self.settings.accounts.as_ref();
            let keys = self.security.advance(&security_keys, accounts)?;
            let answer = keys.into_iter();
            answers.extend(answer.map(|(key, value)| (key.to_owned(), value)));
        }
        if !self.has_sent_group && !self.is_discovery {
            self.has_sent_group = true;
            answers.push(("TargetPortalGroupTag".to_owned(), PORTAL_GROUP.to_string()));
        }
        if !self.has_sent_length && current == stage::OPERATIONAL {
            self.has_sent_length = true;
            let length = MAX_RECEIVE.to_string();
            answers.push(("MaxRecvDataSegmentLength".to_owned(), length));
        }
        let mut data = vec![0; MAX_DATA];
        let mut writer = Writer::new(&mut data);
        for (key, value) in answers {
            let put = writer.put(&key, value);
            put.map_err(|_| login_status::OUT_OF_RESOURCES)?;
        }
        let length = writer.length();
        data.truncate(length);
        Ok(data)
    }

    /// Checks that the requested session is available.
    fn check(&self, current: u8, exports: &[Facts], is_full: bool) -> Result<(), u16> {
        if self.initiator.as_ref().is_none_or(String::is_empty) {
            return Err(login_status::MISSING_PARAMETER);
        }
        if current == stage::OPERATIONAL && !self.security.may_continue(self.accounts())? {
            return Err(login_status::AUTHENTICATION_FAILURE);
        }
        if self.is_discovery {
            return Ok(());
        }
        if self.target.is_none() {
            return Err(login_status::MISSING_PARAMETER);
        }
        if self.export(exports).is_none() {
            return Err(login_status::NOT_FOUND);
        }
        if is_full {
            return Err(login_status::OUT_OF_RESOURCES);
        }
        Ok(())
    }

    fn export(&self, exports: &[Facts]) -> Option<usize> {
        let mut names = exports.iter().map(|facts| target_name(&facts.name));
        names.position(|name| Some(name) == self.target)
    }

    fn send(&mut self, request: &LoginRequest, result: u16, reply: &Reply) {
        let response = LoginResponse {
            transit: reply.transit,
            current: request.current,
            next: if reply.transit { reply.next } else { 0 },
            isid: request.isid,
            tsih: reply.tsih,
            tag: request.tag,
            status: self.status,
            expected_command: request.command,
            // A connection that joins a session learns the window from later messages.
            max_command: match self.joined_tsih {
                None => request.command.plus(WINDOW - 1),
                Some(_) => request.command.previous(),
            },
            result,
            ..LoginResponse::default()
        };
        self.status = self.status.next();
        let message = Message::LoginResponse(response);
        Digests::default().append(&message, &reply.text, &mut self.output);
    }

    /// Continues after a successful login.
    fn finish(&mut self, request: &LoginRequest, exports: &[Facts]) -> ExchangeStep<Connection> {
        let export = self.export(exports);
        let Some(export) = export.filter(|_| !self.is_discovery) else {
            self.discovery = Some(DiscoverySession {
                parameters: self.parameters,
                status: self.status,
                expected: request.command,
                unsent: Vec::new(),
            });
            return ExchangeStep::Wait;
        };
        let Some(member) = self.member.take() else {
            return ExchangeStep::Close;
        };
        let (address, status) = (self.address.clone(), self.status);
        let first = self.joined_tsih.is_none().then_some(request.command);
        let mut connection = Connection::new(member, address, self.parameters, status, first);
        connection.preload(&self.input, &self.output);
        ExchangeStep::Chosen(export, Box::new(connection))
    }
}

impl Exchange for Login {
    fn room(&self) -> usize {
        Digests::max_length(MAX_DATA).saturating_sub(self.input.len())
    }

    fn received(&mut self, data: &[u8]) {
        self.input.extend_from_slice(data);
    }

    fn output(&self) -> &[u8] {
        &self.output
    }

    fn sent(&mut self, count: usize) {
        self.output.drain(..count);
    }
}

impl Handshake for Login {
    type Session = Connection;

    fn step(&mut self, exports: &[Facts], is_full: bool) -> ExchangeStep<Connection> {
        if !self.output.is_empty() {
            return ExchangeStep::Wait;
        }
        let input = std::mem::take(&mut self.input);
        let discovery = self.discovery.as_ref();
        let digests = discovery.map_or(Digests::default(), |all| all.parameters.digests);
        let frame = match digests.first(&input, MAX_DATA) {
            Ok(Some(frame)) => frame,
            Ok(None) => {
                self.input = input;
                return ExchangeStep::Wait;
            }
            Err(_) => return ExchangeStep::Close,
        };
        self.input = input[frame.length..].to_vec();
        if let Some(discovery) = &mut self.discovery {
            let has_ended = discovery.answer(&frame, &self.address, exports, &mut self.output);
            return if has_ended {
                ExchangeStep::Close
            } else {
                ExchangeStep::Wait
            };
        }
        self.answer(&frame, exports, is_full)
    }
}

struct DiscoverySession {
    parameters: Parameters,
    status: Serial,
    /// The number of the next command.
    expected: Serial,
    /// The unsent rest of an answer that does not fit into one message.
    unsent: Vec<u8>,
}

/// The transfer tag of a partial answer.
const CONTINUES: Tag = Tag(1);

impl DiscoverySession {
    /// Answers a message; returns true if the session has ended.
    pub fn answer(
        &mut self,
        frame: &Frame<'_>,
        address: &str,
        exports: &[Facts],
        output: &mut Vec<u8>,
    ) -> bool {
        let mut has_ended = false;
        let (mut message, data) = match Message::parse(&frame.header) {
            Ok(Message::TextRequest(request)) => {
                self.count_command(request.immediate);
                if request.transfer == Tag::NONE {
                    self.unsent = targets(frame.data, address, exports);
                }
                self.next_part(&request)
            }
            Ok(Message::NopOut(request)) => {
                if request.tag == Tag::NONE {
                    return false;
                }
                self.count_command(request.immediate);
                let answer = NopIn {
                    lun: request.lun,
                    tag: request.tag,
                    transfer: Tag::NONE,
                    ..NopIn::default()
                };
                let length = frame.data.len().min(self.parameters.max_send as usize);
                (Message::NopIn(answer), frame.data[..length].to_vec())
            }
            Ok(Message::LogoutRequest(request)) => {
                self.count_command(request.immediate);
                has_ended = true;
                let answer = LogoutResponse {
                    response: logout_response::CLOSED,
                    tag: request.tag,
                    ..LogoutResponse::default()
                };
                (Message::LogoutResponse(answer), Vec::new())
            }
            // No other message is allowed in a discovery session.
            _ => return true,
        };
        let numbers = SerialNumbers {
            status: self.status,
            expected: self.expected,
            max: self.expected.plus(WINDOW - 1),
        };
        stamp(&mut message, numbers);
        self.status = self.status.next();
        self.parameters.digests.append(&message, &data, output);
        has_ended
    }

    fn count_command(&mut self, is_immediate: bool) {
        if !is_immediate {
            self.expected = self.expected.next();
        }
    }

    fn next_part(&mut self, request: &TextRequest) -> (Message, Vec<u8>) {
        let length = self.unsent.len().min(self.parameters.max_send as usize);
        let remaining = self.unsent.split_off(length);
        let data = std::mem::replace(&mut self.unsent, remaining);
        let is_final = self.unsent.is_empty();
        let answer = TextResponse {
            is_final,
            continues: !is_final,
            tag: request.tag,
            transfer: if is_final { Tag::NONE } else { CONTINUES },
            ..TextResponse::default()
        };
        (Message::TextResponse(answer), data)
    }
}

/// Returns the answer to the first `SendTargets`: all exports or the named one. Answers other keys
/// with `NotUnderstood`.
pub fn targets(data: &[u8], address: &str, exports: &[Facts]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut has_list = false;
    let mut put = |key: &str, value: &str| {
        let mut room = vec![0; key.len() + value.len() + 2];
        // The buffer has exactly the required size.
        if Writer::new(&mut room).put(key, value).is_ok() {
            all.extend_from_slice(&room);
        }
    };
    for (key, value) in text::pairs(data).map_while(Result::ok) {
        if key != "SendTargets" {
            put(key, text::NOT_UNDERSTOOD);
            continue;
        }
        // Repeated lists of many exports would take much memory.
        if std::mem::replace(&mut has_list, true) {
            continue;
        }
        let names = exports.iter().map(|facts| target_name(&facts.name));
        for name in names.filter(|name| matches!(value, "All" | "") || value == name) {
            put("TargetName", &name);
            if !address.is_empty() {
                put("TargetAddress", &format!("{address},{PORTAL_GROUP}"));
            }
        }
    }
    all
}
