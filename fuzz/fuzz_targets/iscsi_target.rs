//! Sends arbitrary bytes to an iSCSI target, from an initiator that logs in, or from two that have
//! logged in, one of them with two connections: the target answers in messages and keeps a bounded
//! part of the input.

#![no_main]

use std::time::Instant;

use diskarm_core::units::{Bytes, SectorCount};
use diskarm_fuzz::Connections;
use diskarm_serve::iscsi::{Accounts, Connection, Iscsi, IscsiTarget, target_name};
use diskarm_serve::store::SparseStore;
use diskarm_serve::{
    Clients, Exchange as _, ExchangeStep, Export, Facts, Handshake as _, Service, Session as _,
    Waker,
};
use diskarm_wire::iscsi::text::Writer;
use diskarm_wire::iscsi::{Lengths, LoginRequest, Message, Serial, Tag, padded, stage};
use libfuzzer_sys::fuzz_target;

const SECTORS: u64 = 1 << 12;
/// Number of connections.
const COUNT: usize = 3;

fn facts() -> Facts {
    Facts {
        name: String::new(),
        description: "disk".to_owned(),
        sector: Bytes(512),
        physical: Bytes(512),
        sectors: SectorCount(SECTORS),
        is_read_only: false,
        is_timed: false,
    }
}

/// The next `count` bytes, or what is left of them.
fn take<'a>(data: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, rest) = data.split_at(count.min(data.len()));
    *data = rest;
    taken
}

/// Checks that all bytes are messages; returns the next command number in the last one.
fn check(mut bytes: &[u8]) -> Option<[u8; 4]> {
    let mut expected = None;
    while !bytes.is_empty() {
        Message::parse(bytes).expect("a message");
        let lengths = Lengths::parse(bytes).expect("a message");
        expected = bytes[28..32].first_chunk().copied();
        bytes = &bytes[48 + lengths.padded()..];
    }
    expected
}

/// Sends arbitrary bytes before the login.
fn enter(mut data: &[u8], accounts: Option<Accounts>) {
    let mut login = Iscsi::new(accounts).login("127.0.0.1:3260".to_owned());
    while let [count, ..] = *data {
        data = &data[1..];
        let part = take(&mut data, usize::from(count));
        assert!(login.room() >= part.len() || login.room() < 256);
        login.received(&part[..part.len().min(login.room())]);
        loop {
            match login.step(&[facts()], false) {
                ExchangeStep::Wait if login.output().is_empty() => break,
                ExchangeStep::Wait => {}
                ExchangeStep::Close | ExchangeStep::Chosen(..) => return,
                ExchangeStep::StartTls => panic!("iSCSI knows no TLS"),
            }
            let count = login.output().len();
            assert!(count < 1 << 20);
            login.sent(count);
        }
    }
}

/// A connection of the initiator `name`, which joins a session if `tsih` is not zero.
fn connection(target: &Iscsi, name: &str, tsih: u16) -> Box<Connection> {
    let mut login = target.login(String::new());
    let request = LoginRequest {
        transit: true,
        continues: false,
        current: stage::OPERATIONAL,
        next: stage::FULL_FEATURE,
        version_max: 0,
        version_min: 0,
        isid: [0x80, 0, 0, 0, 0, 1],
        tsih,
        tag: Tag(1),
        connection: tsih,
        command: Serial(1),
        expected_status: Serial(0),
    };
    let mut data = [0; 256];
    let mut writer = Writer::new(&mut data);
    for (key, value) in [
        ("InitiatorName", name),
        ("TargetName", &target_name("")),
        ("MaxConnections", "2"),
        ("InitialR2T", "No"),
        ("FirstBurstLength", "1024"),
        ("MaxBurstLength", "1024"),
    ] {
        writer.put(key, value).expect("room");
    }
    let length = writer.length();
    let header = Message::LoginRequest(request).emit(Lengths::of_data(length));
    login.received(&[&header, &data[..padded(length)]].concat());
    match login.step(&[facts()], false) {
        ExchangeStep::Chosen(_, connection) => connection,
        _ => panic!("a login that is valid failed"),
    }
}

/// Sends messages on several connections. The input selects the connection, whether the command
/// number is correct, the length of the data, and the data.
fn serve(mut data: &[u8]) {
    let export = Export {
        facts: facts(),
        store: Box::new(SparseStore::empty(SECTORS * 512)),
        timing: None,
        power: None,
    };
    let (waker, _woken) = Waker::new().expect("a socket");
    let mut service = IscsiTarget::new(export, waker).expect("a service");
    let target = Iscsi::new(None);
    // Two connections of one session, and one of another.
    let three = [("a", 0), ("a", 1), ("b", 0)];
    let three = three.map(|(name, tsih)| Some(connection(&target, name, tsih)));
    let mut sessions = Connections(three);
    let mut expected = [[0, 0, 0, 1]; COUNT];
    for number in 0..COUNT {
        let replaced = service.open(number, &mut sessions, Instant::now());
        assert!(replaced.is_empty());
    }
    while let [how, length, ..] = *data {
        data = &data[2..];
        let number = match how & 0x81 {
            0 => 0,
            1 => 1,
            _ => 2,
        };
        let mut header = [0; 48];
        let given = take(&mut data, 48);
        header[..given.len()].copy_from_slice(given);
        if how & 2 == 0 {
            header[4..8].copy_from_slice(&[0, 0, 0, length]);
            header[24..28].copy_from_slice(&expected[number]);
        }
        let payload = take(&mut data, padded(length.into()));
        let message = [&header, payload].concat();
        let Some(session) = sessions.get_mut(number) else {
            continue;
        };
        if session.room().len() < message.len() {
            return;
        }
        session.room()[..message.len()].copy_from_slice(&message);
        session.filled(message.len());
        let mut is_open = true;
        loop {
            let taken = service.handle_next(number, &mut sessions, Instant::now());
            service.serve_due(&mut sessions, Instant::now());
            for number in 0..COUNT {
                let Some(session) = sessions.get_mut(number) else {
                    continue;
                };
                while service.fill(session).is_ok() && !session.output().is_empty() {
                    let count = session.output().len();
                    if let Some(next) = check(session.output()) {
                        expected[number] = next;
                    }
                    session.sent(count);
                }
            }
            is_open &= taken.is_ok();
            if !matches!(taken, Ok(true)) {
                break;
            }
        }
        let is_over = sessions
            .get_mut(number)
            .is_some_and(|session| session.has_ended());
        if !is_open || is_over {
            let session = sessions.0[number].take();
            service.close(number, *session.expect("a session"), Instant::now());
        }
    }
}

fuzz_target!(|data: &[u8]| {
    match data.split_first() {
        Some((0, rest)) => enter(rest, None),
        Some((1, rest)) => {
            let accounts = "initiator a secret-of-12b\ntarget b other-of-12b";
            enter(rest, Some(Accounts::parse(accounts).expect("accounts")));
        }
        Some((_, rest)) => serve(rest),
        None => {}
    }
});
