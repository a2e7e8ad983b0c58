//! NBD messages: bytes laid out by hand from the protocol document, and random round trips.

use diskarm_wire::nbd::message::{self, Chunk, Failure, kind};
use diskarm_wire::nbd::option::{self, Choice, Context, ListedExport, Queries, answer, code, info};
use diskarm_wire::nbd::{
    BadMagic, ClientFlags, Command, CommandFlags, Error, ExportReply, ExtentFlags, Greeting,
    Headers, Request, TransmissionFlags,
};
use proptest::prelude::*;

const HEADERS: [Headers; 3] = [Headers::Simple, Headers::Structured, Headers::Extended];

#[test]
fn greetings_match_the_document() {
    let greeting = Greeting {
        password: Greeting::PASSWORD,
        magic: Greeting::MAGIC,
        fixed_newstyle: true,
        no_zeroes: true,
    };
    assert_eq!(&greeting.emit(), b"NBDMAGICIHAVEOPT\0\x03");
    let flags = ClientFlags::parse(&[0, 0, 0, 2]).unwrap();
    assert!(flags.no_zeroes && !flags.fixed_newstyle);
    let reply = ExportReply {
        size: 0x1_0000_0200,
        flags: 0x0103,
    };
    assert_eq!(reply.emit(), [0, 0, 0, 1, 0, 0, 2, 0, 1, 3]);
}

/// Section "Transmission flags": bit numbers.
#[test]
fn flags_have_the_documented_bits() {
    let none = TransmissionFlags::parse(&[0; 2]).unwrap();
    type Set = fn(&mut TransmissionFlags);
    let set: [(u16, Set); 13] = [
        (0, |flags| flags.has_flags = true),
        (1, |flags| flags.read_only = true),
        (2, |flags| flags.flush = true),
        (3, |flags| flags.force_unit_access = true),
        (4, |flags| flags.rotational = true),
        (5, |flags| flags.trim = true),
        (6, |flags| flags.write_zeroes = true),
        (7, |flags| flags.dont_fragment = true),
        (8, |flags| flags.multi_conn = true),
        (9, |flags| flags.resize = true),
        (10, |flags| flags.cache = true),
        (11, |flags| flags.fast_zero = true),
        (12, |flags| flags.status_payload = true),
    ];
    for (bit, set) in set {
        let mut flags = none;
        set(&mut flags);
        assert_eq!(u16::from_be_bytes(flags.emit()), 1 << bit);
    }
    let fua = CommandFlags::parse(&[0, 1]).unwrap();
    assert!(fua.force_unit_access);
    assert!(CommandFlags::parse(&[0, 0x20]).unwrap().payload);
    assert!(ExtentFlags::parse(&[0, 0, 0, 2]).unwrap().zero);
}

/// Sections "Newstyle negotiation" and "Option types".
#[test]
fn options_match_the_document() {
    let header = option::OptionHeader {
        magic: Greeting::MAGIC,
        option: code::GO,
        length: 12,
    };
    assert_eq!(&header.emit(), b"IHAVEOPT\0\0\0\x07\0\0\0\x0c");
    let choice = Choice::emit("disk", &[info::BLOCK_SIZE]);
    assert_eq!(choice, b"\0\0\0\x04disk\0\x01\0\x03");
    let queries = Queries::emit("d", &["base:"]);
    assert_eq!(queries, b"\0\0\0\x01d\0\0\0\x01\0\0\0\x05base:");
    let answer = option::AnswerHeader {
        magic: option::AnswerHeader::MAGIC,
        option: code::LIST,
        answer: answer::UNKNOWN,
        length: 0,
    };
    let expected = b"\0\x03\xe8\x89\x04\x55\x65\xa9\0\0\0\x03\x80\0\0\x06\0\0\0\0";
    assert_eq!(&answer.emit(), expected);
    let listed = ListedExport {
        name: "d",
        description: "a disk",
    };
    assert_eq!(listed.emit(), b"\0\0\0\x01da disk");
    let context = Context {
        id: 1,
        name: Context::ALLOCATION,
    };
    assert_eq!(context.emit(), b"\0\0\0\x01base:allocation");
}

/// A name longer than its option, one that is not UTF-8, one with a NUL, and excess data.
#[test]
fn invalid_options_are_refused() {
    assert_eq!(Choice::parse(b"\0\0\0\x05disk\0\0"), None);
    assert_eq!(Choice::parse(b"\xff\xff\xff\xffdisk\0\0"), None);
    assert_eq!(Choice::parse(b"\0\0\0\x01\xff\0\0"), None);
    assert_eq!(Choice::parse(b"\0\0\0\x01\0\0\0"), None);
    assert_eq!(Choice::parse(b"\0\0\0\x01d\0\0\0"), None);
    assert_eq!(Choice::parse(b"\0\0\0\x01d\0\x02\0\x03"), None);
    assert_eq!(Queries::parse(b"\0\0\0\0\0\0\0\x01\0\0\0\x06base:"), None);
    assert_eq!(Queries::parse(b"\0\0\0\0\0\0\0\0\0"), None);
    assert_eq!(Queries::parse(b"\0\0\0\0\xff\xff\xff\xff"), None);
    let long = [&4097_u32.to_be_bytes()[..], &[b'x'; 4097], &[0; 2]].concat();
    assert_eq!(Choice::parse(&long), None);
}

/// Section "Request message", and that of the extension.
#[test]
fn requests_match_the_document() {
    let request = Request {
        flags: 1,
        command: Command::Write,
        cookie: 0x0102_0304_0506_0708,
        offset: 0x1000,
        length: 0x200,
    };
    let mut data = [0; 32];
    let compact = b"\x25\x60\x95\x13\0\x01\0\x01\x01\x02\x03\x04\x05\x06\x07\x08\
        \0\0\0\0\0\0\x10\0\0\0\x02\0";
    assert_eq!(request.emit(Headers::Simple, &mut data), 28);
    assert_eq!(&data[..28], compact);
    let extended = b"\x21\xe4\x1c\x71\0\x01\0\x01\x01\x02\x03\x04\x05\x06\x07\x08\
        \0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x02\0";
    assert_eq!(request.emit(Headers::Extended, &mut data), 32);
    assert_eq!(&data, extended);
    assert_eq!(Request::parse(Headers::Structured, &data), Err(BadMagic));
    assert_eq!(Request::parse(Headers::Extended, compact), Err(BadMagic));
}

/// Sections "Simple reply message", "Structured reply chunk message" and "Structured reply types".
#[test]
fn replies_match_the_document() {
    let simple = message::Simple {
        magic: message::Simple::MAGIC,
        error: Error::Invalid.code(),
        cookie: 7,
    };
    let expected = b"\x67\x44\x66\x98\0\0\0\x16\0\0\0\0\0\0\0\x07";
    assert_eq!(&simple.emit(), expected);
    let chunk = Chunk {
        is_last: true,
        kind: kind::ERROR,
        cookie: 7,
        offset: 0,
        length: 9,
    };
    let mut data = [0; 32];
    assert_eq!(chunk.emit(Headers::Structured, &mut data), 20);
    let expected = b"\x66\x8e\x33\xef\0\x01\x80\x01\0\0\0\0\0\0\0\x07\0\0\0\x09";
    assert_eq!(&data[..20], expected);
    let chunk = Chunk {
        offset: 0x200,
        ..chunk
    };
    assert_eq!(chunk.emit(Headers::Extended, &mut data), 32);
    let expected = b"\x6e\x8a\x27\x8c\0\x01\x80\x01\0\0\0\0\0\0\0\x07\
        \0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\x09";
    assert_eq!(&data, expected);
    let failure = Failure {
        error: Error::Io,
        message: "bad",
    };
    assert_eq!(failure.emit(), b"\0\0\0\x05\0\x03bad");
}

#[test]
fn errors_have_the_documented_numbers() {
    let numbers: Vec<u32> = Error::ALL.iter().map(|error| error.code()).collect();
    assert_eq!(numbers, [1, 5, 12, 22, 28, 75, 95, 108]);
    for error in Error::ALL {
        assert_eq!(Error::from_code(error.code()), Some(*error));
    }
    assert_eq!(
        (Error::from_code(0), Error::from_code(2)),
        (None, Some(Error::Invalid))
    );
}

fn headers() -> impl Strategy<Value = Headers> {
    (0..HEADERS.len()).prop_map(|index| HEADERS[index])
}

/// Returns a length that fits the headers.
fn fitting_length(headers: Headers, length: u64) -> u64 {
    match headers {
        Headers::Extended => length,
        _ => length & u64::from(u32::MAX),
    }
}

proptest! {
    #[test]
    fn requests_round_trip(
        headers in headers(), numbers in any::<[u64; 3]>(), flags: u16, command: u16,
    ) {
        let [cookie, offset, length] = numbers;
        let command = Command::from_number(command % 10);
        let length = fitting_length(headers, length);
        let request = Request { flags, command, cookie, offset, length };
        let mut data = [0xaa; Request::MAX_LENGTH];
        let length = request.emit(headers, &mut data);
        prop_assert_eq!(length, Request::header_length(headers));
        prop_assert_eq!(Request::parse(headers, &data[..length]), Ok(request));
        prop_assert_eq!(Request::parse(headers, &data[..length - 1]), Err(BadMagic));
    }

    #[test]
    fn chunks_round_trip(
        headers in headers(), numbers in any::<[u64; 3]>(), is_last: bool, kind: u16,
    ) {
        let [cookie, offset, length] = numbers;
        let offset = if headers == Headers::Extended { offset } else { 0 };
        let length = fitting_length(headers, length);
        let chunk = Chunk { is_last, kind, cookie, offset, length };
        let mut data = [0xaa; 32];
        let length = chunk.emit(headers, &mut data);
        prop_assert_eq!(length, Chunk::header_length(headers));
        prop_assert_eq!(Chunk::parse(headers, &data[..length]), Ok(chunk));
        prop_assert_eq!(&data[4..6], [0, u8::from(is_last)]);
        // Reserved flags are ignored.
        data[4] = 0xff;
        data[5] |= 0xfe;
        prop_assert_eq!(Chunk::parse(headers, &data[..length]), Ok(chunk));
    }

    #[test]
    fn choices_round_trip(
        name in "[^\0]{0,20}", wanted in prop::collection::vec(any::<u16>(), 0..5),
    ) {
        let data = Choice::emit(&name, &wanted);
        let choice = Choice::parse(&data).expect("valid data");
        prop_assert_eq!(choice.name, &name);
        prop_assert_eq!(choice.wanted().collect::<Vec<_>>(), wanted);
        prop_assert_eq!(Choice::parse(&data[..data.len() - 1]), None);
    }

    #[test]
    fn queries_round_trip(
        name in "[^\0]{0,20}", queries in prop::collection::vec("[^\0]{0,20}", 0..5),
    ) {
        let query_strings: Vec<&str> = queries.iter().map(|query| &**query).collect();
        let data = Queries::emit(&name, &query_strings);
        let found = Queries::parse(&data).expect("valid data");
        prop_assert_eq!((found.name, found.count as usize), (&*name, query_strings.len()));
        prop_assert_eq!(found.queries().collect::<Vec<_>>(), query_strings);
        prop_assert_eq!(Queries::parse(&data[..data.len() - 1]), None);
    }

    #[test]
    fn names_and_messages_round_trip(name in "[^\0]{0,20}", text in "[^\0]{0,20}", id: u32) {
        let listed = ListedExport { name: &name, description: &text };
        let data = listed.emit();
        prop_assert_eq!(ListedExport::parse(&data), Some(listed));
        let context = Context { id, name: &name };
        let data = context.emit();
        prop_assert_eq!(Context::parse(&data), Some(context));
        let failure = Failure { error: Error::NoSpace, message: &text };
        let data = [failure.emit(), vec![9]].concat();
        prop_assert_eq!(Failure::parse(&data), Some((failure, &[9][..])));
    }
}
