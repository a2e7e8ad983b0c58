//! The option that starts TLS, without TLS itself (sections "TLS support" and "Option types" of
//! NBD).

use diskarm_core::units::{Bytes, SectorCount};
use diskarm_serve::Exchange as _;
use diskarm_serve::Facts;
use diskarm_serve::nbd::{Encryption, NbdHandshake, NbdStep};
use diskarm_wire::nbd::option::{AnswerHeader, Choice, OptionHeader, Queries, answer, code};
use diskarm_wire::nbd::{Greeting, Headers};

fn exports() -> Vec<Facts> {
    vec![Facts {
        name: String::new(),
        description: String::new(),
        sector: Bytes(512),
        physical: Bytes(512),
        sectors: SectorCount(2048),
        is_read_only: false,
        is_timed: false,
    }]
}

pub fn option(option: u32, data: &[u8]) -> Vec<u8> {
    let header = OptionHeader {
        magic: Greeting::MAGIC,
        option,
        length: data.len() as u32,
    };
    [&header.emit(), data].concat()
}

pub fn choice() -> Vec<u8> {
    Choice::emit("", &[])
}

fn contexts() -> Vec<u8> {
    Queries::emit("", &["base:allocation"])
}

/// Returns a handshake after its greeting and `flags`.
fn handshake_with_flags(encryption: Encryption, flags: u8) -> (NbdHandshake, NbdStep) {
    let mut handshake = NbdHandshake::new(encryption);
    handshake.sent(Greeting::LENGTH);
    handshake.received(&[0, 0, 0, flags]);
    let step = handshake.step(&exports(), false);
    (handshake, step)
}

fn new_handshake(encryption: Encryption) -> NbdHandshake {
    handshake_with_flags(encryption, 3).0
}

/// Sends an option; returns the last answer and the state of the handshake.
fn ask(handshake: &mut NbdHandshake, number: u32, data: &[u8]) -> (Option<u32>, NbdStep) {
    handshake.received(&option(number, data));
    let step = handshake.step(&exports(), false);
    let output = handshake.output().to_vec();
    handshake.sent(output.len());
    let mut left = &output[..];
    let mut last = None;
    while let Ok(header) = AnswerHeader::parse(left) {
        assert_eq!(header.option, number);
        left = &left[AnswerHeader::LENGTH + header.length as usize..];
        last = Some(header.answer);
    }
    (last, step)
}

#[test]
fn all_other_options_are_refused_if_tls_is_required() {
    let mut handshake = new_handshake(Encryption::Required);
    let required = (Some(answer::TLS_REQUIRED), NbdStep::Wait);
    for (number, data) in [
        (code::LIST, vec![]),
        (code::STRUCTURED_REPLY, vec![]),
        (code::EXTENDED_HEADERS, vec![]),
        (code::SET_CONTEXTS, contexts()),
        (code::INFO, choice()),
        (code::GO, choice()),
        (code::GO, b"nonsense".to_vec()),
        (code::LIST, vec![0; 1 << 17]),
        (999, vec![]),
    ] {
        assert_eq!(ask(&mut handshake, number, &data), required, "{number}");
    }
    // An option that is too long has no effect on the next one.
    assert_eq!(ask(&mut handshake, code::LIST, b""), required);
    let started = ask(&mut handshake, code::START_TLS, b"");
    assert_eq!(started, (Some(answer::ACK), NbdStep::StartTls));
    let chosen = ask(&mut handshake, code::GO, &choice());
    assert!(matches!(
        chosen,
        (Some(answer::ACK), NbdStep::Negotiated(_))
    ));
    // This option has no error reply, so the connection ends.
    let mut handshake = new_handshake(Encryption::Required);
    assert_eq!(
        ask(&mut handshake, code::EXPORT_NAME, b""),
        (None, NbdStep::Close)
    );
    let mut handshake = new_handshake(Encryption::Required);
    let aborted = ask(&mut handshake, code::ABORT, b"");
    assert_eq!(aborted, (Some(answer::ACK), NbdStep::Close));
}

#[test]
fn tls_is_optional_if_it_is_offered() {
    let mut handshake = new_handshake(Encryption::Offered);
    let chosen = ask(&mut handshake, code::GO, &choice());
    assert!(matches!(
        chosen,
        (Some(answer::ACK), NbdStep::Negotiated(_))
    ));
    let mut handshake = new_handshake(Encryption::Offered);
    let started = ask(&mut handshake, code::START_TLS, b"");
    assert_eq!(started, (Some(answer::ACK), NbdStep::StartTls));
    let mut handshake = new_handshake(Encryption::Off);
    let refused = ask(&mut handshake, code::START_TLS, b"");
    assert_eq!(refused, (Some(answer::POLICY), NbdStep::Wait));
}

#[test]
fn options_negotiated_without_encryption_are_reset() {
    for headers in [code::STRUCTURED_REPLY, code::EXTENDED_HEADERS] {
        let mut handshake = new_handshake(Encryption::Offered);
        for (number, data) in [(headers, vec![]), (code::SET_CONTEXTS, contexts())] {
            let negotiated = ask(&mut handshake, number, &data);
            assert_eq!(negotiated, (Some(answer::ACK), NbdStep::Wait));
        }
        ask(&mut handshake, code::START_TLS, b"");
        let (_, NbdStep::Negotiated(negotiated)) = ask(&mut handshake, code::GO, &choice()) else {
            panic!("no export was negotiated");
        };
        assert_eq!(
            (negotiated.headers, negotiated.has_status),
            (Headers::Simple, false)
        );
    }
}

#[test]
fn tls_starts_once_and_only_without_further_input() {
    let mut handshake = new_handshake(Encryption::Required);
    let with_data = ask(&mut handshake, code::START_TLS, b"data");
    assert_eq!(with_data, (Some(answer::INVALID), NbdStep::Wait));
    ask(&mut handshake, code::START_TLS, b"");
    let second = ask(&mut handshake, code::START_TLS, b"");
    assert_eq!(second, (Some(answer::INVALID), NbdStep::Wait));
    // An unencrypted option that follows would be mistaken for an encrypted one.
    let following = option(code::STRUCTURED_REPLY, b"");
    for count in 1..=following.len() {
        let mut handshake = new_handshake(Encryption::Required);
        let sent = [option(code::START_TLS, b""), following[..count].to_vec()].concat();
        handshake.received(&sent);
        assert_eq!(handshake.step(&exports(), false), NbdStep::Close);
        assert_eq!(handshake.output(), b"");
    }
}

#[test]
fn clients_with_the_old_handshake_cannot_use_tls() {
    assert_eq!(
        handshake_with_flags(Encryption::Required, 0).1,
        NbdStep::Close
    );
    let (mut handshake, step) = handshake_with_flags(Encryption::Offered, 0);
    assert_eq!(step, NbdStep::Wait);
    let refused = ask(&mut handshake, code::START_TLS, b"");
    assert_eq!(refused, (Some(answer::POLICY), NbdStep::Wait));
}
