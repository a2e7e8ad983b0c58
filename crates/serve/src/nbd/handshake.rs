//! The handshake, in which a client chooses an export and the format of replies.

use diskarm_wire::nbd::option::{
    AnswerHeader, BlockSizes, Choice, Context, ExportInfo, ListedExport, OptionHeader, Queries,
    answer, code, info,
};
use diskarm_wire::nbd::{
    ClientFlags, ExportReply, Greeting, Headers, TransmissionFlags, shortened,
};

use super::job::{ALLOCATION, MAX_PAYLOAD};
use super::session::{NbdSession, NegotiatedExport};
use crate::exchange::{Exchange, ExchangeStep};
use crate::export::Facts;
use crate::server::Handshake;

/// Maximum length of option data, in bytes; longer data are skipped, and the option is refused.
const MAX_OPTION: usize = 1 << 16;

/// A handshake in progress. It buffers at most one option and one answer.
pub struct NbdHandshake {
    state: State,
    encryption: Encryption,
    input: Vec<u8>,
    output: Vec<u8>,
    headers: Headers,
    omits_zeroes: bool,
    /// The export for which block status was negotiated.
    status_export: Option<String>,
}

/// Encryption of a connection (section "TLS support").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// The server does not offer encryption.
    Off,
    /// The client may start TLS.
    Offered,
    /// The client must start TLS before anything else.
    Required,
    On,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Flags,
    Option,
    /// Skips the data of an option that is too long; `left` bytes remain.
    Skipping {
        option: u32,
        left: u64,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub enum NbdStep {
    /// The handshake needs more input, or its output must be sent first.
    Wait,
    /// The client has chosen an export. The session starts once the output has been sent.
    Negotiated(NegotiatedExport),
    /// TLS starts once the output has been sent.
    StartTls,
    /// The connection closes once the output has been sent.
    Close,
}

impl NbdHandshake {
    /// Starts an unencrypted handshake.
    pub fn new(encryption: Encryption) -> Self {
        let greeting = Greeting {
            password: Greeting::PASSWORD,
            magic: Greeting::MAGIC,
            fixed_newstyle: true,
            no_zeroes: true,
        };
        Self {
            state: State::Flags,
            encryption,
            input: Vec::new(),
            output: greeting.emit().to_vec(),
            headers: Headers::Simple,
            omits_zeroes: false,
            status_export: None,
        }
    }

    /// Answers the next option if it is complete and the previous answer has been sent. If
    /// `is_full`, no connection may complete the handshake.
    pub fn step(&mut self, exports: &[Facts], is_full: bool) -> NbdStep {
        if !self.output.is_empty() {
            return NbdStep::Wait;
        }
        match self.state {
            State::Flags => self.read_flags(exports, is_full),
            State::Skipping { option, left } => {
                let count = left.min(self.input.len() as u64);
                self.input.drain(..count as usize);
                let left = left - count;
                self.state = match left {
                    0 => State::Option,
                    _ => State::Skipping { option, left },
                };
                if left > 0 {
                    return NbdStep::Wait;
                }
                if self.encryption == Encryption::Required {
                    return self.refuse_unencrypted(option);
                }
                let message = b"the option data are too long";
                self.answer(option, answer::TOO_BIG, message);
                NbdStep::Wait
            }
            State::Option => self.read_option(exports, is_full),
        }
    }

    fn read_flags(&mut self, exports: &[Facts], is_full: bool) -> NbdStep {
        let Ok(flags) = ClientFlags::parse(&self.input) else {
            return NbdStep::Wait;
        };
        if flags.emit() != self.input[..ClientFlags::LENGTH] {
            return NbdStep::Close;
        }
        if !flags.fixed_newstyle {
            // Only clients that use the fixed newstyle handshake can start TLS.
            match self.encryption {
                Encryption::Required => return NbdStep::Close,
                _ => self.encryption = Encryption::Off,
            }
        }
        self.omits_zeroes = flags.no_zeroes;
        self.input.drain(..ClientFlags::LENGTH);
        self.state = State::Option;
        // The first option may already have arrived.
        self.read_option(exports, is_full)
    }

    fn read_option(&mut self, exports: &[Facts], is_full: bool) -> NbdStep {
        let Ok(header) = OptionHeader::parse(&self.input) else {
            return NbdStep::Wait;
        };
        if header.magic != Greeting::MAGIC {
            return NbdStep::Close;
        }
        let length = header.length as usize;
        if length > MAX_OPTION {
            self.input.drain(..OptionHeader::LENGTH);
            self.state = State::Skipping {
                option: header.option,
                left: u64::from(header.length),
            };
            return self.step(exports, is_full);
        }
        let end = OptionHeader::LENGTH + length;
        if self.input.len() < end {
            return NbdStep::Wait;
        }
        let remaining = self.input.split_off(end);
        let input = std::mem::replace(&mut self.input, remaining);
        self.serve(
            header.option,
            &input[OptionHeader::LENGTH..],
            exports,
            is_full,
        )
    }

    fn serve(&mut self, option: u32, data: &[u8], exports: &[Facts], is_full: bool) -> NbdStep {
        match option {
            code::START_TLS => return self.start_tls(data),
            code::ABORT => {
                self.answer(option, answer::ACK, b"");
                return NbdStep::Close;
            }
            _ if self.encryption == Encryption::Required => return self.refuse_unencrypted(option),
            code::EXPORT_NAME => return self.export_name(data, exports, is_full),
            code::INFO | code::GO => return self.choose(option, data, exports, is_full),
            code::LIST_CONTEXTS | code::SET_CONTEXTS => self.answer_contexts(option, data, exports),
            code::LIST | code::STRUCTURED_REPLY | code::EXTENDED_HEADERS if !data.is_empty() => {
                self.answer(option, answer::INVALID, b"the option takes no data");
            }
            code::LIST => self.list_exports(exports),
            code::STRUCTURED_REPLY if self.headers == Headers::Extended => {
                let message = b"extended headers have already been negotiated";
                self.answer(option, answer::EXTENDED_HEADERS, message);
            }
            code::STRUCTURED_REPLY => self.negotiate_headers(option, Headers::Structured),
            code::EXTENDED_HEADERS => self.negotiate_headers(option, Headers::Extended),
            _ => self.answer(option, answer::UNSUPPORTED, b"unknown option"),
        }
        NbdStep::Wait
    }

    /// Starts TLS and resets what was negotiated before, since an attacker may have altered it.
    fn start_tls(&mut self, data: &[u8]) -> NbdStep {
        let option = code::START_TLS;
        let (answer, message) = match self.encryption {
            Encryption::Off => (answer::POLICY, "the server does not support TLS"),
            Encryption::On => (answer::INVALID, "the connection is already encrypted"),
            _ if !data.is_empty() => (answer::INVALID, "the option takes no data"),
            // Further plain text would be mistaken for encrypted input.
            _ if !self.input.is_empty() => return NbdStep::Close,
            _ => {
                self.encryption = Encryption::On;
                self.headers = Headers::Simple;
                self.status_export = None;
                self.answer(option, answer::ACK, b"");
                return NbdStep::StartTls;
            }
        };
        self.answer(option, answer, message.as_bytes());
        NbdStep::Wait
    }

    fn refuse_unencrypted(&mut self, option: u32) -> NbdStep {
        if option == code::EXPORT_NAME {
            return NbdStep::Close;
        }
        let message = b"the server requires TLS";
        self.answer(option, answer::TLS_REQUIRED, message);
        NbdStep::Wait
    }

    fn negotiate_headers(&mut self, option: u32, headers: Headers) {
        if self.headers == headers {
            return self.answer(option, answer::INVALID, b"the option is already in use");
        }
        self.headers = headers;
        self.answer(option, answer::ACK, b"");
    }

    fn list_exports(&mut self, exports: &[Facts]) {
        for facts in exports {
            let listed = ListedExport {
                name: &facts.name,
                description: shortened(&facts.description),
            };
            let data = listed.emit();
            self.answer(code::LIST, answer::SERVER, &data);
        }
        self.answer(code::LIST, answer::ACK, b"");
    }

    fn export_name(&mut self, data: &[u8], exports: &[Facts], is_full: bool) -> NbdStep {
        let name = std::str::from_utf8(data).ok();
        let export = exports.iter().position(|facts| Some(&*facts.name) == name);
        let Some(export) = export.filter(|_| !is_full) else {
            return NbdStep::Close;
        };
        let reply = ExportReply {
            size: exports[export].bytes().0,
            flags: self.transmission_flags(&exports[export]),
        };
        self.output.extend_from_slice(&reply.emit());
        if !self.omits_zeroes {
            self.output.extend_from_slice(&[0; ExportReply::ZEROES]);
        }
        NbdStep::Negotiated(self.negotiated(export, &exports[export].name))
    }

    fn choose(&mut self, option: u32, data: &[u8], exports: &[Facts], is_full: bool) -> NbdStep {
        let Some(choice) = Choice::parse(data) else {
            self.answer(option, answer::INVALID, b"the option data are invalid");
            return NbdStep::Wait;
        };
        let Some(export) = exports.iter().position(|facts| facts.name == choice.name) else {
            self.answer(option, answer::UNKNOWN, b"there is no such export");
            return NbdStep::Wait;
        };
        if is_full && option == code::GO {
            let message = b"the server has reached its maximum number of connections";
            self.answer(option, answer::POLICY, message);
            return NbdStep::Wait;
        }
        let facts = &exports[export];
        let export_info = ExportInfo {
            info: info::EXPORT,
            size: facts.bytes().0,
            flags: self.transmission_flags(facts),
        };
        self.answer(option, answer::INFO, &export_info.emit());
        let sizes = BlockSizes {
            info: info::BLOCK_SIZE,
            minimum: facts.sector.0 as u32,
            preferred: facts.physical.0.clamp(4096, MAX_PAYLOAD) as u32,
            maximum: MAX_PAYLOAD as u32,
        };
        self.answer(option, answer::INFO, &sizes.emit());
        for (number, text) in [
            (info::NAME, &*facts.name),
            (info::DESCRIPTION, shortened(&facts.description)),
        ] {
            if choice.wanted().any(|wanted| wanted == number) {
                let data = [&number.to_be_bytes(), text.as_bytes()].concat();
                self.answer(option, answer::INFO, &data);
            }
        }
        self.answer(option, answer::ACK, b"");
        match option {
            code::GO => NbdStep::Negotiated(self.negotiated(export, &facts.name)),
            _ => NbdStep::Wait,
        }
    }

    fn answer_contexts(&mut self, option: u32, data: &[u8], exports: &[Facts]) {
        let is_choice = option == code::SET_CONTEXTS;
        if is_choice {
            self.status_export = None;
        }
        let Some(queries) = Queries::parse(data) else {
            return self.answer(option, answer::INVALID, b"the option data are invalid");
        };
        if self.headers == Headers::Simple {
            let message = b"structured replies have not been negotiated";
            return self.answer(option, answer::INVALID, message);
        }
        if exports.iter().all(|facts| facts.name != queries.name) {
            return self.answer(option, answer::UNKNOWN, b"there is no such export");
        }
        let is_supported = |query| match query {
            Context::ALLOCATION => true,
            "base:" => !is_choice,
            _ => false,
        };
        let lists_all = !is_choice && queries.count == 0;
        if lists_all || queries.queries().any(is_supported) {
            let context = Context {
                // In a list, the id field is reserved.
                id: if is_choice { ALLOCATION } else { 0 },
                name: Context::ALLOCATION,
            };
            self.answer(option, answer::CONTEXT, &context.emit());
            if is_choice {
                self.status_export = Some(queries.name.to_owned());
            }
        }
        self.answer(option, answer::ACK, b"");
    }

    fn transmission_flags(&self, facts: &Facts) -> u16 {
        let can_write = !facts.is_read_only;
        let flags = TransmissionFlags {
            has_flags: true,
            read_only: facts.is_read_only,
            flush: true,
            force_unit_access: true,
            rotational: true,
            trim: can_write,
            write_zeroes: can_write,
            dont_fragment: self.headers > Headers::Simple,
            multi_conn: true,
            fast_zero: can_write,
            ..TransmissionFlags::default()
        };
        u16::from_be_bytes(flags.emit())
    }

    fn negotiated(&mut self, export: usize, name: &str) -> NegotiatedExport {
        NegotiatedExport {
            export,
            headers: self.headers,
            has_status: self.status_export.as_deref() == Some(name),
            rest: std::mem::take(&mut self.input),
        }
    }

    fn answer(&mut self, option: u32, answer: u32, data: &[u8]) {
        let header = AnswerHeader {
            magic: AnswerHeader::MAGIC,
            option,
            answer,
            length: data.len() as u32,
        };
        self.output.extend_from_slice(&header.emit());
        self.output.extend_from_slice(data);
    }
}

impl Exchange for NbdHandshake {
    fn room(&self) -> usize {
        (MAX_OPTION + OptionHeader::LENGTH).saturating_sub(self.input.len())
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

impl Handshake for NbdHandshake {
    type Session = NbdSession;

    fn step(&mut self, exports: &[Facts], is_full: bool) -> ExchangeStep<NbdSession> {
        match Self::step(self, exports, is_full) {
            NbdStep::Wait => ExchangeStep::Wait,
            NbdStep::StartTls => ExchangeStep::StartTls,
            NbdStep::Close => ExchangeStep::Close,
            NbdStep::Negotiated(negotiated) => {
                let facts = exports[negotiated.export].clone();
                let session = NbdSession::new(facts, &negotiated, &self.output);
                ExchangeStep::Chosen(negotiated.export, Box::new(session))
            }
        }
    }
}
