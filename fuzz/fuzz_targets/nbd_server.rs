//! Sends arbitrary bytes to an NBD server, from a client that negotiates, or from two that have
//! chosen the export: the server answers every request, in messages, and keeps a bounded part of
//! the input.

#![no_main]

use std::time::Instant;

use diskarm_core::units::{Bytes, SectorCount};
use diskarm_fuzz::Connections;
use diskarm_serve::nbd::{Encryption, Nbd, NbdHandshake, NbdSession, NegotiatedExport};
use diskarm_serve::store::SparseStore;
use diskarm_serve::{
    Clients, Exchange, ExchangeStep, Export, Facts, Handshake, Protocol as _, Service,
    Session as _, Waker,
};
use diskarm_wire::nbd::Headers;
use diskarm_wire::nbd::message::{Chunk, Simple};
use libfuzzer_sys::fuzz_target;

/// Few enough that a reply with all of them fits into a session's output buffer.
const SECTORS: u64 = 1 << 8;
/// Number of connections.
const COUNT: usize = 2;

fn facts(is_read_only: bool) -> Facts {
    Facts {
        name: String::new(),
        description: "disk".to_owned(),
        sector: Bytes(512),
        physical: Bytes(4096),
        sectors: SectorCount(SECTORS),
        is_read_only,
        is_timed: false,
    }
}

/// The next bytes and their connection; one byte selects the length and the connection.
fn next<'a>(data: &mut &'a [u8]) -> Option<(usize, &'a [u8])> {
    let (how, rest) = data.split_first()?;
    let count = usize::from(how & 0x7f) * 8;
    let (part, rest) = rest.split_at(count.min(rest.len()));
    *data = rest;
    Some((usize::from(how >> 7), part))
}

/// Sends arbitrary bytes after the greeting; returns the session that is negotiated.
fn enter(data: &mut &[u8], encryption: Encryption, facts: &Facts) -> Option<Box<NbdSession>> {
    let mut handshake = NbdHandshake::new(encryption);
    while let Some((_, part)) = next(data) {
        assert!(Exchange::room(&handshake) >= part.len());
        Exchange::received(&mut handshake, part);
        loop {
            match Handshake::step(&mut handshake, std::slice::from_ref(facts), false) {
                ExchangeStep::Wait if Exchange::output(&handshake).is_empty() => break,
                ExchangeStep::Wait => {}
                ExchangeStep::Chosen(_, session) => return Some(session),
                // What follows is for TLS.
                ExchangeStep::StartTls | ExchangeStep::Close => return None,
            }
            let count = Exchange::output(&handshake).len();
            assert!(count < 1 << 16);
            Exchange::sent(&mut handshake, count);
        }
    }
    None
}

/// Checks that all bytes are replies, with the chunks of these headers. Replies without chunks do
/// not state the length of their data.
fn check(mut bytes: &[u8], headers: Headers) {
    while !bytes.is_empty() {
        let length = match Simple::parse(bytes) {
            Ok(simple) if simple.magic == Simple::MAGIC => {
                assert!(headers < Headers::Extended);
                Simple::LENGTH
            }
            _ => {
                let chunk = Chunk::parse(headers, bytes).expect("a chunk");
                Chunk::header_length(headers) + chunk.length as usize
            }
        };
        bytes = &bytes[length..];
    }
}

/// Sends requests by two connections, with these headers if given.
fn serve(
    mut data: &[u8],
    facts: Facts,
    mut clients: Connections<NbdSession, COUNT>,
    headers: [Option<Headers>; 2],
) {
    let export = Export {
        facts,
        store: Box::new(SparseStore::empty(SECTORS * 512)),
        timing: None,
        power: None,
    };
    let (waker, _woken) = Waker::new().expect("a socket");
    let mut service = Nbd::default().serve(export, waker).expect("a service");
    // Input may have arrived with the end of the handshake.
    let mut sent = Some((0, &[][..]));
    while let Some((number, part)) = sent {
        sent = next(&mut data);
        let Some(session) = clients.get_mut(number) else {
            continue;
        };
        let room = session.room();
        assert!(room.len() >= part.len());
        room[..part.len()].copy_from_slice(part);
        session.filled(part.len());
        let mut output = Vec::new();
        let is_open = loop {
            let taken = service.handle_next(number, &mut clients, Instant::now());
            service.serve_due(&mut clients, Instant::now());
            service.continue_work(&mut clients, Instant::now());
            let session = clients.get_mut(number).expect("it is there");
            while service.fill(session).is_ok() && !session.output().is_empty() {
                let count = session.output().len();
                output.extend_from_slice(session.output());
                session.sent(count);
            }
            match taken {
                Err(_) => break false,
                Ok(false) if service.next_due().is_none() => break !session.has_ended(),
                Ok(_) => {}
            }
        };
        if let Some(headers) = headers[number].filter(|headers| *headers > Headers::Simple) {
            check(&output, headers);
        }
        let session = clients.get_mut(number).expect("it is there");
        assert!(!is_open || service.is_answered(number, session));
        if !is_open {
            let session = clients.0[number].take();
            service.close(number, *session.expect("it is there"), Instant::now());
        }
    }
    for number in clients.numbers() {
        let session = clients.0[number].take();
        service.close(number, *session.expect("it is there"), Instant::now());
    }
    assert!(service.is_idle());
}

/// A connection that has chosen the export.
fn negotiated_session(facts: &Facts, headers: Headers) -> Option<Box<NbdSession>> {
    let agreed = NegotiatedExport {
        export: 0,
        headers,
        has_status: headers > Headers::Simple,
        rest: Vec::new(),
    };
    Some(Box::new(NbdSession::new(facts.clone(), &agreed, b"")))
}

fuzz_target!(|data: &[u8]| {
    let Some((how, mut data)) = data.split_first() else {
        return;
    };
    let facts = facts(how & 4 != 0);
    let headers = match how & 3 {
        0 => Headers::Simple,
        1 => Headers::Structured,
        2 => Headers::Extended,
        _ => {
            let encryption = match how & 0x18 {
                0 => Encryption::Off,
                8 => Encryption::Offered,
                0x10 => Encryption::Required,
                _ => Encryption::On,
            };
            if let Some(session) = enter(&mut data, encryption, &facts) {
                let other = negotiated_session(&facts, Headers::Simple);
                let clients = Connections([Some(session), other]);
                serve(data, facts, clients, [None, Some(Headers::Simple)]);
            }
            return;
        }
    };
    let clients = Connections([(); COUNT].map(|()| negotiated_session(&facts, headers)));
    serve(data, facts, clients, [Some(headers); 2]);
});
