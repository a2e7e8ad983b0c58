//! The login: who both sides are, which target is meant, and what holds for the session.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::Arc;

use diskarm_wire::iscsi::text::{self, Writer};
use diskarm_wire::iscsi::{LoginRequest, LoginResponse, Message, Serial, login_status, stage};

use super::chap::Accounts;
use super::connection::Connection;
use super::discovery::Discovery;
use super::frame::{Digests, Frame};
use super::keys::{Answer, MAX_RECEIVE, Parameters};
use super::register::{Member, Name};
use super::security::{Claims, Security};
use super::{PORTAL_GROUP, Settings, WINDOW, target_name};
use crate::export::Facts;
use crate::server::{Handshake, HandshakeStep};

/// The longest data of a message of a login (RFC 7143: the default of MaxRecvDataSegmentLength).
pub const MAX_DATA: usize = 8192;
/// The longest name (RFC 7143, "iSCSI Names"), in bytes.
pub const MAX_NAME: usize = 223;
/// The most text that an initiator may send in a login, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// A login under way, or a discovery session after it.
pub struct Login {
    settings: Arc<Settings>,
    /// What clients call the address to which they are connected.
    address: String,
    /// What has arrived and was not looked at.
    input: Vec<u8>,
    /// What is to be sent.
    output: Vec<u8>,
    /// Text that continues in the next request.
    text: Vec<u8>,
    /// How much text has come in all.
    text_length: usize,
    stage: Option<u8>,
    status: Serial,
    /// The initiator's part of the name of the session.
    isid: [u8; 6],
    /// The target's part, if the connection joins a session.
    joins: Option<NonZero<u16>>,
    connection: u16,
    /// Set at the end.
    member: Option<Member>,
    /// Keys that have come.
    seen: BTreeSet<String>,
    initiator: Option<String>,
    target: Option<String>,
    is_discovery: bool,
    security: Security,
    parameters: Parameters,
    has_told_group: bool,
    has_told_length: bool,
    /// Set once a discovery session has begun.
    discovery: Option<Discovery>,
}

/// What an answer to a request says.
struct Reply {
    transit: bool,
    next: u8,
    tsih: u16,
    text: Vec<u8>,
}

impl Login {
    /// A connection on which nothing has been said.
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
            joins: None,
            connection: 0,
            member: None,
            seen: BTreeSet::new(),
            initiator: None,
            target: None,
            is_discovery: false,
            security: Security::default(),
            parameters: Parameters::default(),
            has_told_group: false,
            has_told_length: false,
            discovery: None,
        }
    }

    /// Answers a request of the login.
    fn answer(
        &mut self,
        frame: &Frame<'_>,
        exports: &[Facts],
        is_full: bool,
    ) -> HandshakeStep<Connection> {
        let Ok(Message::LoginRequest(request)) = Message::parse(&frame.header) else {
            return HandshakeStep::Close;
        };
        match self.go_on(&request, frame.data, exports, is_full) {
            Ok(reply) => {
                self.send(&request, login_status::SUCCESS, &reply);
                if reply.transit && reply.next == stage::FULL_FEATURE {
                    return self.begin(&request, exports);
                }
                self.stage = Some(if reply.transit {
                    reply.next
                } else {
                    request.current
                });
                HandshakeStep::Wait
            }
            Err(result) => {
                let reply = Reply {
                    transit: false,
                    next: 0,
                    tsih: request.tsih,
                    text: Vec::new(),
                };
                self.send(&request, result, &reply);
                HandshakeStep::Close
            }
        }
    }

    /// What the target answers, or the result of a login that fails.
    fn go_on(
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
            self.joins = NonZero::new(request.tsih);
            self.isid = request.isid;
            self.connection = request.connection;
        }
        let is_stage = matches!(request.current, stage::SECURITY | stage::OPERATIONAL);
        let goes_on = self.stage.is_none_or(|stage| stage == request.current);
        let is_same = request.isid == self.isid && NonZero::new(request.tsih) == self.joins;
        if !is_stage || !goes_on || !is_same {
            return Err(login_status::INVALID_REQUEST);
        }
        self.text_length += data.len();
        if self.text_length > MAX_TEXT {
            return Err(login_status::OUT_OF_RESOURCES);
        }
        self.text.extend_from_slice(data);
        let mut reply = Reply {
            transit: false,
            next: request.next,
            tsih: request.tsih,
            text: Vec::new(),
        };
        if request.continues {
            if request.transit {
                return Err(login_status::INITIATOR_ERROR);
            }
            return Ok(reply);
        }
        let all = std::mem::take(&mut self.text);
        reply.text = self.read(&all, request.current, exports, is_full)?;
        if request.transit {
            let is_ahead = match request.current {
                stage::SECURITY => matches!(request.next, stage::OPERATIONAL | stage::FULL_FEATURE),
                _ => request.next == stage::FULL_FEATURE,
            };
            if !is_ahead {
                return Err(login_status::INITIATOR_ERROR);
            }
            reply.transit = self.security.lets_on(self.accounts())?;
        }
        if reply.transit && reply.next == stage::FULL_FEATURE {
            reply.tsih = self.enter()?;
        }
        Ok(reply)
    }

    /// Begins or joins a session; returns the target's part of its name.
    fn enter(&mut self) -> Result<u16, u16> {
        self.parameters.settle();
        let name = Name {
            initiator: self.initiator.take().unwrap_or_default(),
            isid: self.isid,
            target: match self.is_discovery {
                true => String::new(),
                false => self.target.clone().unwrap_or_default(),
            },
        };
        let register = &self.settings.register;
        let member = match self.joins {
            None => register.begin(name, self.connection, self.parameters),
            // Nobody joins a session for discovery.
            Some(_) if self.is_discovery => return Err(login_status::NO_SESSION),
            Some(tsih) => {
                let joined = register.join(tsih.get(), name, self.connection);
                let (member, parameters) = joined?;
                self.parameters = self.parameters.joining(parameters);
                member
            }
        };
        Ok(self.member.insert(member).tsih)
    }

    fn accounts(&self) -> Option<&Accounts> {
        self.settings.accounts.as_ref()
    }

    /// Takes the text of a request; returns that of the answer.
    fn read(
        &mut self,
        all: &[u8],
        current: u8,
        exports: &[Facts],
        is_full: bool,
    ) -> Result<Vec<u8>, u16> {
        let mut claims = Claims::default();
        let mut answers: Vec<(String, String)> = Vec::new();
        for pair in text::pairs(all) {
            let (key, value) = pair.map_err(|_| login_status::INITIATOR_ERROR)?;
            if !self.seen.insert(key.to_owned()) {
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
                _ if claims.take(key, value) => {}
                _ => {
                    let is_of_commands = !self.is_discovery && self.joins.is_none();
                    let answer = self.parameters.negotiate(key, value, is_of_commands);
                    if let Answer::Value(value) = answer {
                        answers.push((key.to_owned(), value));
                    }
                }
            }
        }
        self.check(current, exports, is_full)?;
        if current == stage::SECURITY {
            let accounts = self.settings.accounts.as_ref();
            let said = self.security.go_on(&claims, accounts)?;
            answers.extend(said.into_iter().map(|(key, value)| (key.to_owned(), value)));
        }
        if !self.has_told_group && !self.is_discovery {
            self.has_told_group = true;
            answers.push(("TargetPortalGroupTag".to_owned(), PORTAL_GROUP.to_string()));
        }
        if !self.has_told_length && current == stage::OPERATIONAL {
            self.has_told_length = true;
            answers.push((
                "MaxRecvDataSegmentLength".to_owned(),
                MAX_RECEIVE.to_string(),
            ));
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

    /// Whether the session can be had that the initiator wants.
    fn check(&self, current: u8, exports: &[Facts], is_full: bool) -> Result<(), u16> {
        if self.initiator.as_ref().is_none_or(String::is_empty) {
            return Err(login_status::MISSING_PARAMETER);
        }
        if current == stage::OPERATIONAL && !self.security.lets_on(self.accounts())? {
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

    /// The place of the export that the initiator means.
    fn export(&self, exports: &[Facts]) -> Option<usize> {
        let mut names = exports.iter().map(|facts| target_name(&facts.name));
        names.position(|name| Some(name) == self.target)
    }

    fn send(&mut self, request: &LoginRequest, result: u16, reply: &Reply) {
        let response = LoginResponse {
            transit: reply.transit,
            continues: false,
            current: request.current,
            next: if reply.transit { reply.next } else { 0 },
            version_max: 0,
            version_active: 0,
            isid: request.isid,
            tsih: reply.tsih,
            tag: request.tag,
            status: self.status,
            expected_command: request.command,
            // Of a session that is joined, other messages tell it.
            max_command: match self.joins {
                None => request.command.plus(WINDOW - 1),
                Some(_) => request.command.previous(),
            },
            result,
        };
        self.status = self.status.next();
        let digests = Digests::default();
        let mut room = vec![0; digests.length(reply.text.len())];
        let message = Message::LoginResponse(response);
        let length = digests.emit(&message, &reply.text, &mut room);
        self.output.extend_from_slice(&room[..length]);
    }

    /// The login has succeeded.
    fn begin(&mut self, request: &LoginRequest, exports: &[Facts]) -> HandshakeStep<Connection> {
        let export = self.export(exports);
        let Some(export) = export.filter(|_| !self.is_discovery) else {
            let parameters = self.parameters;
            let discovery = Discovery::new(parameters, self.status, request.command);
            self.discovery = Some(discovery);
            return HandshakeStep::Wait;
        };
        let Some(member) = self.member.take() else {
            return HandshakeStep::Close;
        };
        let (address, status) = (self.address.clone(), self.status);
        let first = self.joins.is_none().then_some(request.command);
        let mut connection = Connection::new(member, address, self.parameters, status, first);
        connection.preload(&self.input, &self.output);
        HandshakeStep::Agreed(export, Box::new(connection))
    }
}

impl Handshake for Login {
    type Session = Connection;

    fn room(&self) -> usize {
        Digests {
            header: true,
            data: true,
        }
        .longest(MAX_DATA)
        .saturating_sub(self.input.len())
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

    fn step(&mut self, exports: &[Facts], is_full: bool) -> HandshakeStep<Connection> {
        if !self.output.is_empty() {
            return HandshakeStep::Wait;
        }
        let input = std::mem::take(&mut self.input);
        let digests = self
            .discovery
            .as_ref()
            .map_or(Digests::default(), Discovery::digests);
        let frame = match digests.first(&input, MAX_DATA) {
            Ok(Some(frame)) => frame,
            Ok(None) => {
                self.input = input;
                return HandshakeStep::Wait;
            }
            Err(_) => return HandshakeStep::Close,
        };
        self.input = input[frame.length..].to_vec();
        if let Some(discovery) = &mut self.discovery {
            let is_over = discovery.answer(&frame, &self.address, exports, &mut self.output);
            return if is_over {
                HandshakeStep::Close
            } else {
                HandshakeStep::Wait
            };
        }
        self.answer(&frame, exports, is_full)
    }
}
