//! The protocol without sockets: a client's bytes in, the server's bytes out.

use diskarm_core::testing::XorShift;
use diskarm_core::units::{Bytes, SectorCount};
use diskarm_serve::Exchange as _;
use diskarm_serve::nbd::{
    Encryption, Input, Job, JobKind, MAX_OUTSTANDING, Nbd, NbdHandshake, NbdSession, NbdStep,
    NegotiatedExport,
};
use diskarm_serve::store::{SparseStore, Store};
use diskarm_serve::{Export, Facts, Protocol as _, Session as _, Waker};
use diskarm_wire::nbd::message::{Chunk, Extent, Failure, LongExtent, Simple, kind};
use diskarm_wire::nbd::option::{
    AnswerHeader, Choice, Context, ExportInfo, ListedExport, OptionHeader, Queries, answer, code,
    info,
};
use diskarm_wire::nbd::{Command, Error, Greeting, Headers, Request, TransmissionFlags};

const BYTES: u64 = 1 << 20;

fn facts(name: &str) -> Facts {
    Facts {
        name: name.to_owned(),
        description: format!("the disk {name}"),
        sector: Bytes(512),
        physical: Bytes(512),
        sectors: SectorCount(BYTES / 512),
        is_read_only: name == "fixed",
        is_timed: name == "timed",
    }
}

fn exports() -> Vec<Facts> {
    ["", "fixed", "timed"].map(facts).to_vec()
}

fn option(option: u32, data: &[u8]) -> Vec<u8> {
    let header = OptionHeader {
        magic: Greeting::MAGIC,
        option,
        length: data.len() as u32,
    };
    [&header.emit(), data].concat()
}

/// Returns a handshake after its greeting and flags.
fn new_handshake() -> NbdHandshake {
    let mut handshake = NbdHandshake::new(Encryption::Off);
    assert_eq!(handshake.output(), b"NBDMAGICIHAVEOPT\0\x03");
    handshake.sent(18);
    handshake.received(&[0, 0, 0, 3]);
    assert_eq!(handshake.step(&exports(), false), NbdStep::Wait);
    handshake
}

type Answer = (u32, Vec<u8>);

/// Returns the answers in the output, each to `option`.
fn answers(handshake: &mut NbdHandshake, option: u32) -> Vec<Answer> {
    let output = handshake.output().to_vec();
    handshake.sent(output.len());
    let mut left = &output[..];
    let mut answers = Vec::new();
    while !left.is_empty() {
        let header = AnswerHeader::parse(left).expect("a header");
        assert_eq!((header.magic, header.option), (AnswerHeader::MAGIC, option));
        let (data, rest) = left[AnswerHeader::LENGTH..].split_at(header.length as usize);
        answers.push((header.answer, data.to_vec()));
        left = rest;
    }
    answers
}

/// Returns the answers to an option, and the state of the handshake.
fn ask(handshake: &mut NbdHandshake, number: u32, data: &[u8]) -> (Vec<Answer>, NbdStep) {
    handshake.received(&option(number, data));
    let step = handshake.step(&exports(), false);
    (answers(handshake, number), step)
}

/// Returns the only answer.
fn only_answer(answers: &(Vec<Answer>, NbdStep)) -> u32 {
    assert_eq!(
        (answers.0.len(), &answers.1),
        (1, &NbdStep::Wait),
        "{answers:?}"
    );
    answers.0[0].0
}

#[test]
fn exports_are_listed_and_described() {
    let mut handshake = new_handshake();
    let (list, _) = ask(&mut handshake, code::LIST, b"");
    let names: Vec<String> = list[..3]
        .iter()
        .map(|(_, data)| {
            ListedExport::parse(data)
                .expect("an export")
                .name
                .to_owned()
        })
        .collect();
    assert_eq!(names, ["", "fixed", "timed"]);
    assert_eq!(list[3], (answer::ACK, vec![]));
    let data = Choice::emit("fixed", &[info::NAME, info::DESCRIPTION]);
    let (infos, step) = ask(&mut handshake, code::INFO, &data);
    assert_eq!(step, NbdStep::Wait);
    let export_info = ExportInfo::parse(&infos[0].1).expect("an export");
    let flags = TransmissionFlags::parse(&export_info.flags.to_be_bytes()).unwrap();
    assert_eq!(export_info.size, BYTES);
    assert!(flags.has_flags && flags.read_only && flags.rotational && flags.multi_conn);
    assert!(!flags.dont_fragment && !flags.trim);
    assert_eq!(infos[1].1, [0, 3, 0, 0, 2, 0, 0, 0, 16, 0, 2, 0, 0, 0]);
    assert_eq!(infos[2].1, b"\0\x01fixed");
    assert_eq!(infos[3].1, b"\0\x02the disk fixed");
    assert_eq!(infos[4].0, answer::ACK);
}

/// A stack of many devices has a description longer than NBD's strings.
#[test]
fn long_descriptions_are_shortened_to_whole_characters() {
    let mut export = facts("");
    // The limit of 4096 bytes is inside of a character.
    export.description = "x".to_owned() + &"\u{e9}".repeat(1 << 18);
    let expected = &export.description[..4095];
    let mut handshake = new_handshake();
    let mut ask = |number, data: &[u8]| {
        handshake.received(&option(number, data));
        let step = handshake.step(std::slice::from_ref(&export), false);
        (answers(&mut handshake, number), step)
    };
    let (list, _) = ask(code::LIST, b"");
    let listed = ListedExport::parse(&list[0].1).expect("an export");
    assert_eq!(listed.description, expected);
    let (infos, step) = ask(code::GO, &Choice::emit("", &[info::DESCRIPTION]));
    assert_eq!(infos[2].1, [b"\0\x02", expected.as_bytes()].concat());
    assert!(matches!(step, NbdStep::Negotiated(_)));
}

#[test]
fn names_longer_than_those_of_nbd_are_refused_at_the_start() {
    let serve = |length: usize| {
        let export = Export {
            facts: facts(&"x".repeat(length)),
            store: Box::new(SparseStore::empty(BYTES)),
            timing: None,
            power: None,
        };
        let (waker, _) = Waker::new().expect("a socket");
        Nbd::default().serve(export, waker)
    };
    assert!(serve(4096).is_ok());
    let error = serve(4097).err().expect("an error").to_string();
    assert!(error.contains("4097 bytes"), "{error}");
}

#[test]
fn options_are_refused_with_the_reason() {
    let mut handshake = new_handshake();
    let mut refused = |number, data: &[u8]| only_answer(&ask(&mut handshake, number, data));
    assert_eq!(
        refused(code::GO, &Choice::emit("none", &[])),
        answer::UNKNOWN
    );
    assert_eq!(refused(code::GO, b"\0"), answer::INVALID);
    assert_eq!(refused(code::LIST, b"x"), answer::INVALID);
    assert_eq!(refused(code::START_TLS, b""), answer::POLICY);
    assert_eq!(refused(4, b"anything"), answer::UNSUPPORTED);
    assert_eq!(refused(99, b""), answer::UNSUPPORTED);
    let all = Queries::emit("", &["base:allocation"]);
    assert_eq!(refused(code::SET_CONTEXTS, &all), answer::INVALID);
    assert_eq!(refused(code::EXTENDED_HEADERS, b"x"), answer::INVALID);
    assert_eq!(refused(code::EXTENDED_HEADERS, b""), answer::ACK);
    assert_eq!(refused(code::EXTENDED_HEADERS, b""), answer::INVALID);
    assert_eq!(
        refused(code::STRUCTURED_REPLY, b""),
        answer::EXTENDED_HEADERS
    );
    let (answers, step) = ask(&mut handshake, code::ABORT, b"");
    assert_eq!((answers[0].0, step), (answer::ACK, NbdStep::Close));
}

#[test]
fn an_option_that_is_too_long_is_skipped() {
    let mut handshake = new_handshake();
    let long = option(code::GO, &[0; 100_000]);
    for part in long.chunks(5_000) {
        assert!(part.len() <= handshake.room());
        handshake.received(part);
        assert_eq!(handshake.step(&exports(), false), NbdStep::Wait);
    }
    assert_eq!(answers(&mut handshake, code::GO)[0].0, answer::TOO_BIG);
    assert_eq!(ask(&mut handshake, code::LIST, b"").0.len(), 4);
}

#[test]
fn contexts_are_listed_and_chosen() {
    let mut handshake = new_handshake();
    ask(&mut handshake, code::STRUCTURED_REPLY, b"");
    let mut found = |number, name, texts: &[&str]| {
        let (answers, _) = ask(&mut handshake, number, &Queries::emit(name, texts));
        assert_eq!(answers.last().map(|answer| answer.0), Some(answer::ACK));
        let context = |data| {
            Context::parse(data).map(|context| (context.id, context.name == Context::ALLOCATION))
        };
        answers[..answers.len() - 1]
            .iter()
            .map(|(_, data)| context(data).expect("a context"))
            .collect::<Vec<_>>()
    };
    assert_eq!(found(code::LIST_CONTEXTS, "", &[]), [(0, true)]);
    assert_eq!(found(code::LIST_CONTEXTS, "", &["base:"]), [(0, true)]);
    assert_eq!(found(code::LIST_CONTEXTS, "", &["x-other:"]), []);
    assert_eq!(found(code::SET_CONTEXTS, "", &["base:", "qemu:x"]), []);
    assert_eq!(
        found(code::SET_CONTEXTS, "", &["base:allocation"]),
        [(1, true)]
    );
    // The choice is for one export.
    let go = |handshake: &mut NbdHandshake, name| match ask(
        handshake,
        code::GO,
        &Choice::emit(name, &[]),
    )
    .1
    {
        NbdStep::Negotiated(negotiated) => negotiated,
        step => panic!("{step:?}"),
    };
    let negotiated = go(&mut handshake, "");
    assert_eq!(
        (negotiated.export, negotiated.headers),
        (0, Headers::Structured)
    );
    assert!(negotiated.has_status);
    assert!(!go(&mut handshake, "timed").has_status);
    assert_eq!(choose_missing_export(&mut handshake), answer::UNKNOWN);
    assert!(!go(&mut handshake, "").has_status);
}

/// Chooses a context of a missing export, which revokes the previous choice.
fn choose_missing_export(handshake: &mut NbdHandshake) -> u32 {
    let data = Queries::emit("none", &["base:allocation"]);
    only_answer(&ask(handshake, code::SET_CONTEXTS, &data))
}

#[test]
fn an_export_can_be_chosen_without_go() {
    for (flags, length) in [(1, 134), (3, 10)] {
        let mut handshake = NbdHandshake::new(Encryption::Off);
        handshake.sent(18);
        handshake.received(&[0, 0, 0, flags]);
        handshake.received(&option(code::EXPORT_NAME, b"timed"));
        handshake.received(b"rest");
        let NbdStep::Negotiated(negotiated) = handshake.step(&exports(), false) else {
            panic!("no export was negotiated");
        };
        assert_eq!((negotiated.export, &negotiated.rest[..]), (2, &b"rest"[..]));
        assert_eq!(handshake.output().len(), length);
        assert_eq!(handshake.output()[..8], BYTES.to_be_bytes());
    }
    let mut handshake = new_handshake();
    handshake.received(&option(code::EXPORT_NAME, b"none"));
    assert_eq!(handshake.step(&exports(), false), NbdStep::Close);
}

#[test]
fn connections_beyond_the_limit_and_unknown_flags_are_refused() {
    let mut handshake = new_handshake();
    handshake.received(&option(code::GO, &Choice::emit("", &[])));
    assert_eq!(handshake.step(&exports(), true), NbdStep::Wait);
    assert_eq!(answers(&mut handshake, code::GO)[0].0, answer::POLICY);
    let mut handshake = NbdHandshake::new(Encryption::Off);
    handshake.sent(18);
    handshake.received(&[0, 0, 0, 4]);
    assert_eq!(handshake.step(&exports(), false), NbdStep::Close);
}

/// Input that is not NBD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InvalidInput;

/// A connection to an export, and its store.
struct Client {
    session: NbdSession,
    store: SparseStore,
    headers: Headers,
}

/// A reply: its error, and its data or extents.
#[derive(Debug, Default, PartialEq, Eq)]
struct ParsedReply {
    error: Option<Error>,
    data: Vec<u8>,
    extents: Vec<(u64, u64)>,
}

impl Client {
    fn new(name: &str, headers: Headers) -> Self {
        let negotiated = NegotiatedExport {
            export: 0,
            headers,
            has_status: headers > Headers::Simple,
            rest: Vec::new(),
        };
        Self {
            session: NbdSession::new(facts(name), &negotiated, b""),
            store: SparseStore::empty(BYTES),
            headers,
        }
    }

    /// Parses the next request, and stores the data of writes; `None` if more input is needed.
    fn next(&mut self) -> Option<Result<Job, InvalidInput>> {
        loop {
            match self.session.next_input() {
                Input::Request(job) => return Some(Ok(job)),
                Input::WriteStart { .. } => {}
                Input::WriteData { offset, data, .. } => {
                    self.store.write(offset, data).expect("memory");
                }
                Input::Wait => return None,
                Input::Invalid => return Some(Err(InvalidInput)),
            }
        }
    }

    /// Sends bytes; returns the requests that the server parses.
    fn send(&mut self, mut bytes: &[u8]) -> Vec<Result<Job, InvalidInput>> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let room = self.session.room();
            let count = room.len().min(bytes.len());
            assert!(count > 0, "the session is full but has no request");
            room[..count].copy_from_slice(&bytes[..count]);
            self.session.filled(count);
            bytes = &bytes[count..];
            while let Some(next) = self.next() {
                found.push(next);
                if next.is_err() {
                    return found;
                }
            }
        }
        found
    }

    fn request(
        &mut self,
        command: Command,
        flags: u16,
        range: (u64, u64),
        data: &[u8],
    ) -> ParsedReply {
        let request = Request {
            flags,
            command,
            cookie: 7,
            offset: range.0,
            length: range.1,
        };
        let mut bytes = [0; Request::MAX_LENGTH];
        let length = request.emit(self.headers, &mut bytes);
        let found = self.send(&[&bytes[..length], data].concat());
        let [Ok(job)] = found[..] else {
            panic!("{found:?}");
        };
        let error = match job.kind {
            JobKind::Refused(error, message) => Some((error, message)),
            JobKind::Zero { .. } | JobKind::Trim => {
                self.store
                    .zero(job.offset, job.length, true)
                    .expect("memory");
                None
            }
            _ => None,
        };
        self.session.reply(job, error);
        self.read_reply(range, command)
    }

    fn output(&mut self) -> Vec<u8> {
        let mut output = Vec::new();
        loop {
            self.session.fill(&mut self.store).expect("memory");
            let bytes = self.session.output().to_vec();
            if bytes.is_empty() {
                assert!(self.session.is_idle());
                return output;
            }
            self.session.sent(bytes.len());
            output.extend(bytes);
        }
    }

    /// Reads the reply to the only request.
    fn read_reply(&mut self, range: (u64, u64), command: Command) -> ParsedReply {
        let output = self.output();
        let mut found_reply = ParsedReply::default();
        let mut left = &output[..];
        let is_simple = |left: &[u8]| left.starts_with(&Simple::MAGIC.to_be_bytes());
        if is_simple(left) {
            let reply = Simple::parse(left).expect("a reply");
            assert_eq!(reply.cookie, 7);
            found_reply.error = Error::from_code(reply.error);
            assert!(self.headers == Headers::Simple || command != Command::Read);
            assert!(self.headers < Headers::Extended);
            found_reply.data = left[Simple::LENGTH..].to_vec();
            return found_reply;
        }
        loop {
            let chunk = Chunk::parse(self.headers, left).expect("a chunk");
            assert_eq!(chunk.cookie, 7);
            assert!(self.headers < Headers::Extended || chunk.offset == range.0);
            let (data, rest) =
                left[Chunk::header_length(self.headers)..].split_at(chunk.length as usize);
            self.chunk(chunk.kind, data, range, &mut found_reply);
            left = rest;
            if chunk.is_last {
                assert!(left.is_empty());
                return found_reply;
            }
        }
    }

    fn chunk(&self, number: u16, data: &[u8], range: (u64, u64), found_reply: &mut ParsedReply) {
        match number {
            kind::NONE => {}
            kind::DATA => {
                let (at, data) = data.split_at(8);
                assert_eq!(at, (range.0 + found_reply.data.len() as u64).to_be_bytes());
                found_reply.data.extend(data);
            }
            kind::ERROR => found_reply.error = Failure::parse(data).map(|found| found.0.error),
            kind::STATUS => {
                assert_eq!(data[..4], [0, 0, 0, 1]);
                let extents = data[4..].chunks(8).map(|data| Extent::parse(data).unwrap());
                let extents = extents.map(|it| (u64::from(it.length), u64::from(it.flags)));
                found_reply.extents = extents.collect();
            }
            kind::STATUS_EXTENDED => {
                assert_eq!(data[..4], [0, 0, 0, 1]);
                let extents: Vec<_> = data[8..]
                    .chunks(16)
                    .map(|data| LongExtent::parse(data).unwrap())
                    .map(|extent| (extent.length, extent.flags))
                    .collect();
                assert_eq!(data[4..8], (extents.len() as u32).to_be_bytes());
                found_reply.extents = extents;
            }
            other => panic!("a chunk of kind {other}"),
        }
    }
}

const HEADERS: [Headers; 3] = [Headers::Simple, Headers::Structured, Headers::Extended];

/// Returns the flag that announces data, if the headers require it.
fn payload(headers: Headers) -> u16 {
    if headers == Headers::Extended {
        0x20
    } else {
        0
    }
}

#[test]
fn reads_return_written_data() {
    for headers in HEADERS {
        let mut client = Client::new("", headers);
        let data: Vec<u8> = (0..600_064_u32).map(|at| (at / 7) as u8).collect();
        let range = (512, data.len() as u64 / 512 * 512);
        let data = &data[..range.1 as usize];
        let flags = payload(headers);
        let done = ParsedReply::default();
        assert_eq!(client.request(Command::Write, flags, range, data), done);
        let read = client.request(Command::Read, 0, range, b"");
        assert_eq!(read.error, None);
        assert!(read.data == data, "{headers:?}");
        assert_eq!(
            client.request(Command::WriteZeroes, 2, (1024, 512), b""),
            done
        );
        assert_eq!(client.request(Command::Trim, 1, (2048, 512), b""), done);
        assert_eq!(client.request(Command::Flush, 0, (0, 0), b""), done);
        let read = client.request(Command::Read, 0, (512, 2560), b"");
        let mut expected = data[..2560].to_vec();
        expected[512..1024].fill(0);
        expected[1536..2048].fill(0);
        assert!(read.data == expected, "{headers:?}");
    }
}

#[test]
fn requests_are_refused_with_the_error() {
    let read = |flags, range| (Command::Read, flags, range);
    let cases = [
        ("", read(0, (0, 0)), Error::Invalid),
        ("", read(0, (BYTES - 512, 1024)), Error::Invalid),
        ("", read(0, (u64::MAX - 511, 512)), Error::Invalid),
        ("", read(0, (1, 512)), Error::Invalid),
        ("", read(0, (0, 100)), Error::Invalid),
        ("", read(2, (0, 512)), Error::Invalid),
        ("", read(0x8000, (0, 512)), Error::Invalid),
        ("", (Command::Cache, 0, (0, 512)), Error::Invalid),
        ("", (Command::Other(77), 0, (0, 512)), Error::Invalid),
        ("", (Command::Flush, 0, (0, 512)), Error::Invalid),
        ("", (Command::Trim, 0, (BYTES, 512)), Error::Invalid),
        ("", (Command::WriteZeroes, 0, (BYTES, 512)), Error::NoSpace),
        (
            "fixed",
            (Command::WriteZeroes, 0, (0, 512)),
            Error::NotPermitted,
        ),
        ("fixed", (Command::Trim, 0, (0, 512)), Error::NotPermitted),
        (
            "timed",
            (Command::WriteZeroes, 0x10, (0, 512)),
            Error::NotSupported,
        ),
    ];
    for (name, (command, flags, range), expected) in cases {
        for headers in HEADERS {
            let mut client = Client::new(name, headers);
            let found_reply = client.request(command, flags, range, b"");
            assert_eq!(
                found_reply.error,
                Some(expected),
                "{command:?} {flags} {range:?}"
            );
            assert_eq!(found_reply.data, b"");
        }
    }
    // If requests take no time, writing zeroes is fast.
    let mut client = Client::new("", Headers::Simple);
    let fast = client.request(Command::WriteZeroes, 0x10, (0, 512), b"");
    assert_eq!(fast, ParsedReply::default());
    // The data of a refused write are skipped.
    let mut client = Client::new("", Headers::Structured);
    let found_reply = client.request(Command::Write, 0, (BYTES - 512, 1024), &[9; 1024]);
    assert_eq!(found_reply.error, Some(Error::NoSpace));
    let found_reply = client.request(Command::Read, 0, (BYTES - 512, 512), b"");
    assert_eq!(found_reply.data, [0; 512]);
    let mut client = Client::new("fixed", Headers::Simple);
    let found_reply = client.request(Command::Write, 0, (0, 512), &[9; 512]);
    assert_eq!(found_reply.error, Some(Error::NotPermitted));
    // With extended headers, any request may have a payload.
    let mut client = Client::new("", Headers::Extended);
    let found_reply = client.request(Command::Read, 0x20, (0, 512), &[0; 512]);
    assert_eq!(found_reply.error, Some(Error::Invalid));
}

#[test]
fn block_status_reports_holes() {
    for headers in [Headers::Structured, Headers::Extended] {
        let mut client = Client::new("", headers);
        let flags = payload(headers);
        let chunk = 1 << 16;
        client.request(Command::Write, flags, (chunk, 512), &[1; 512]);
        let all = client.request(Command::BlockStatus, 0, (0, BYTES), b"");
        let rest = BYTES - 2 * chunk;
        assert_eq!(all.extents, [(chunk, 3), (chunk, 0), (rest, 3)]);
        let one = client.request(Command::BlockStatus, 8, (chunk - 512, BYTES / 2), b"");
        assert_eq!(one.extents, [(512, 3)]);
    }
    let mut client = Client::new("", Headers::Simple);
    let found_reply = client.request(Command::BlockStatus, 0, (0, 512), b"");
    assert_eq!(found_reply.error, Some(Error::Invalid));
}

#[test]
fn an_undivided_read_has_one_chunk_or_fails() {
    let mut client = Client::new("", Headers::Structured);
    let found_reply = client.request(Command::Read, 4, (0, 1 << 16), b"");
    assert_eq!((found_reply.error, found_reply.data.len()), (None, 1 << 16));
    let found_reply = client.request(Command::Read, 4, (0, 1 << 18), b"");
    assert_eq!(found_reply.error, Some(Error::Overflow));
}

#[test]
fn requests_above_the_limit_wait() {
    let mut client = Client::new("", Headers::Simple);
    let request = Request {
        flags: 0,
        command: Command::Read,
        cookie: 1,
        offset: 0,
        length: 512,
    };
    let mut bytes = [0; 32];
    let length = request.emit(Headers::Simple, &mut bytes);
    let many = bytes[..length].repeat(MAX_OUTSTANDING + 5);
    let found = client.send(&many);
    assert_eq!(found.len(), MAX_OUTSTANDING);
    assert!(!client.session.wants_input());
    let job = found[0].expect("a request");
    client.session.reply(job, None);
    client.session.fill(&mut client.store).expect("memory");
    assert_eq!(client.session.output().len(), 16 + 512);
    assert!(matches!(client.next(), Some(Ok(_))));
    assert_eq!(client.next(), None);
}

#[test]
fn a_disconnect_or_invalid_input_ends_the_session() {
    let mut client = Client::new("", Headers::Simple);
    let request = Request {
        flags: 0,
        command: Command::Disconnect,
        cookie: 1,
        offset: 0,
        length: 0,
    };
    let mut bytes = [0; 32];
    let length = request.emit(Headers::Simple, &mut bytes);
    assert_eq!(client.send(&bytes[..length]), []);
    assert!(client.session.has_ended() && !client.session.wants_input());
    let mut client = Client::new("", Headers::Simple);
    assert_eq!(client.send(&[0xff; 28]), [Err(InvalidInput)]);
}

/// 100,000 requests, most of them nearly valid: no panic, and each well-formed one has a reply.
#[test]
fn random_requests_are_answered() {
    let mut numbers = XorShift::new(17);
    for headers in HEADERS {
        let mut client = Client::new("", headers);
        for _ in 0..33_000 {
            let mut number = || match numbers.below(8) {
                0 => u64::MAX - numbers.below(3000),
                1 => BYTES - numbers.below(3) * 512,
                2 => numbers.below(1 << 34),
                _ => numbers.below(20) * 256,
            };
            let (offset, mut length) = (number(), number());
            let command = Command::from_number(numbers.below(9) as u16);
            let command = match command {
                Command::Disconnect => Command::Cache,
                other => other,
            };
            if headers < Headers::Extended {
                length &= u64::from(u32::MAX);
            }
            let flags = match numbers.below(4) {
                0 => 1 << numbers.below(6),
                _ => 0,
            };
            let has_data = command == Command::Write || flags & payload(headers) != 0;
            if has_data {
                length %= 4096;
            }
            let data = vec![1; if has_data { length as usize } else { 0 }];
            let found_reply = client.request(command, flags, (offset, length), &data);
            let is_read = command == Command::Read && found_reply.error.is_none();
            assert_eq!(
                found_reply.data.len() as u64,
                if is_read { length } else { 0 }
            );
        }
    }
}

/// Random bytes in handshakes: no panic, no unlimited output, no endless loop.
#[test]
fn random_options_are_answered() {
    let mut numbers = XorShift::new(18);
    let valid = [
        option(code::GO, &Choice::emit("", &[3])),
        option(code::INFO, &Choice::emit("fixed", &[1])),
        option(code::SET_CONTEXTS, &Queries::emit("", &["base:"])),
        option(code::LIST, b""),
        option(code::STRUCTURED_REPLY, b""),
    ];
    for _ in 0..20_000 {
        let mut handshake = new_handshake();
        for _ in 0..4 {
            let mut bytes = valid[numbers.below(5) as usize].clone();
            let at = numbers.below(bytes.len() as u64) as usize;
            bytes[at] = numbers.below(256) as u8;
            if handshake.room() < bytes.len() {
                break;
            }
            handshake.received(&bytes);
            let step = handshake.step(&exports(), false);
            assert!(handshake.output().len() < 1024);
            handshake.sent(handshake.output().len());
            if step != NbdStep::Wait {
                break;
            }
        }
    }
}
