//! The option that begins TLS, without TLS (sections "TLS support" and "Option types" of NBD).

use diskarm_core::units::{Bytes, SectorCount};
use diskarm_serve::Facts;
use diskarm_serve::Handshake as _;
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

/// A handshake after its greeting and `flags`.
fn flagged(encryption: Encryption, flags: u8) -> (NbdHandshake, NbdStep) {
    let mut handshake = NbdHandshake::new(encryption);
    handshake.sent(Greeting::LENGTH);
    handshake.received(&[0, 0, 0, flags]);
    let step = handshake.step(&exports(), false);
    (handshake, step)
}

fn greeted(encryption: Encryption) -> NbdHandshake {
    flagged(encryption, 3).0
}

/// The last answer to an option, and the state of the handshake.
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
fn nothing_else_is_answered_where_tls_is_required() {
    let mut handshake = greeted(Encryption::Required);
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
    // Data that are too long leave no state.
    assert_eq!(ask(&mut handshake, code::LIST, b""), required);
    let started = ask(&mut handshake, code::START_TLS, b"");
    assert_eq!(started, (Some(answer::ACK), NbdStep::StartTls));
    let chosen = ask(&mut handshake, code::GO, &choice());
    assert!(matches!(
        chosen,
        (Some(answer::ACK), NbdStep::Negotiated(_))
    ));
    // This option has no errors, so the connection ends.
    let mut handshake = greeted(Encryption::Required);
    assert_eq!(
        ask(&mut handshake, code::EXPORT_NAME, b""),
        (None, NbdStep::Close)
    );
    let mut handshake = greeted(Encryption::Required);
    let aborted = ask(&mut handshake, code::ABORT, b"");
    assert_eq!(aborted, (Some(answer::ACK), NbdStep::Close));
}

#[test]
fn clients_choose_where_tls_is_offered() {
    let mut handshake = greeted(Encryption::Offered);
    let chosen = ask(&mut handshake, code::GO, &choice());
    assert!(matches!(
        chosen,
        (Some(answer::ACK), NbdStep::Negotiated(_))
    ));
    let mut handshake = greeted(Encryption::Offered);
    let started = ask(&mut handshake, code::START_TLS, b"");
    assert_eq!(started, (Some(answer::ACK), NbdStep::StartTls));
    let mut handshake = greeted(Encryption::Off);
    let refused = ask(&mut handshake, code::START_TLS, b"");
    assert_eq!(refused, (Some(answer::POLICY), NbdStep::Wait));
}

#[test]
fn what_was_agreed_in_plain_text_is_forgotten() {
    for headers in [code::STRUCTURED_REPLY, code::EXTENDED_HEADERS] {
        let mut handshake = greeted(Encryption::Offered);
        for (number, data) in [(headers, vec![]), (code::SET_CONTEXTS, contexts())] {
            let agreed = ask(&mut handshake, number, &data);
            assert_eq!(agreed, (Some(answer::ACK), NbdStep::Wait));
        }
        ask(&mut handshake, code::START_TLS, b"");
        let (_, NbdStep::Negotiated(agreed)) = ask(&mut handshake, code::GO, &choice()) else {
            panic!("not agreed");
        };
        assert_eq!(
            (agreed.headers, agreed.has_status),
            (Headers::Simple, false)
        );
    }
}

#[test]
fn tls_begins_once_and_with_nothing_behind_its_option() {
    let mut handshake = greeted(Encryption::Required);
    let with_data = ask(&mut handshake, code::START_TLS, b"data");
    assert_eq!(with_data, (Some(answer::INVALID), NbdStep::Wait));
    ask(&mut handshake, code::START_TLS, b"");
    let again = ask(&mut handshake, code::START_TLS, b"");
    assert_eq!(again, (Some(answer::INVALID), NbdStep::Wait));
    // A following option in plain text would be mistaken for an encrypted one.
    let following = option(code::STRUCTURED_REPLY, b"");
    for count in 1..=following.len() {
        let mut handshake = greeted(Encryption::Required);
        let sent = [option(code::START_TLS, b""), following[..count].to_vec()].concat();
        handshake.received(&sent);
        assert_eq!(handshake.step(&exports(), false), NbdStep::Close);
        assert_eq!(handshake.output(), b"");
    }
}

#[test]
fn clients_of_the_older_handshake_have_no_tls() {
    assert_eq!(flagged(Encryption::Required, 0).1, NbdStep::Close);
    let (mut handshake, step) = flagged(Encryption::Offered, 0);
    assert_eq!(step, NbdStep::Wait);
    let refused = ask(&mut handshake, code::START_TLS, b"");
    assert_eq!(refused, (Some(answer::POLICY), NbdStep::Wait));
}
