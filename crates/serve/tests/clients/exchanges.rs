//! Handshakes, and the clients of the control socket and the metrics, in virtual time.

use std::cell::Cell;
use std::time::{Duration, Instant};

use diskarm_core::units::{Bytes, SectorCount};
use diskarm_serve::nbd::{Encryption, NbdHandshake, NbdSession};
use diskarm_serve::{
    ExchangeStep, Exchanges, Facts, HANDSHAKE_LIMITS, Handshake, Host, TEXT_LIMITS, TextAnswer,
    TextServer,
};
use diskarm_wire::nbd::Greeting;
use diskarm_wire::nbd::option::{OptionHeader, code};

use crate::channel::Wire;

const MOMENT: Duration = Duration::from_millis(1);
const FLAGS: [u8; 4] = [0, 0, 0, 3];

/// Serves handshakes; with an export of this name, a fault occurs.
#[derive(Default)]
struct Acceptor {
    facts: Vec<Facts>,
    chosen: Cell<usize>,
}

impl Host<Wire> for Acceptor {
    type Exchange = NbdHandshake;
    type Session = NbdSession;

    fn start(&self, _: &Wire) -> NbdHandshake {
        NbdHandshake::new(Encryption::Off)
    }

    fn step(&self, handshake: &mut NbdHandshake) -> ExchangeStep<NbdSession> {
        Handshake::step(handshake, &self.facts, false)
    }

    fn hand_over(&self, _: Wire, _: usize, _: NbdSession, _: Instant) {
        self.chosen.set(self.chosen.get() + 1);
    }
}

fn handshakes(description: usize) -> Exchanges<Wire, Acceptor> {
    let facts = Facts {
        // NBD allows names of 4096 bytes. The server has checked that.
        name: "x".repeat(description),
        description: "disk".to_owned(),
        sector: Bytes(512),
        physical: Bytes(512),
        sectors: SectorCount(1),
        is_read_only: false,
        is_timed: false,
    };
    let acceptor = Acceptor {
        facts: vec![facts],
        chosen: Cell::new(0),
    };
    Exchanges::new(acceptor, HANDSHAKE_LIMITS)
}

fn connect<H: Host<Wire>>(exchanges: &mut Exchanges<Wire, H>, now: Instant) -> Wire {
    let wire = Wire::default();
    exchanges.accept(wire.clone(), now);
    wire
}

/// Serves all clients at `now`.
fn turn<H: Host<Wire>>(exchanges: &mut Exchanges<Wire, H>, now: Instant) {
    let ready = vec![true; exchanges.pending().len()];
    exchanges.turn(ready, now);
}

fn option(option: u32, data: &[u8]) -> Vec<u8> {
    let header = OptionHeader {
        magic: Greeting::MAGIC,
        option,
        length: data.len() as u32,
    };
    [&header.emit(), data].concat()
}

#[test]
fn a_handshake_has_ten_seconds() {
    let start = Instant::now();
    let mut exchanges = handshakes(1);
    let clients = [0, 1].map(|_| connect(&mut exchanges, start));
    let end = start + HANDSHAKE_LIMITS.time;
    assert_eq!(HANDSHAKE_LIMITS.time, Duration::from_secs(10));
    for (second, byte) in FLAGS.into_iter().enumerate() {
        // Bytes that come one after the other do not extend it.
        clients[1].send(&[byte]);
        turn(
            &mut exchanges,
            start + Duration::from_secs(2 * second as u64),
        );
        assert_eq!(exchanges.next_turn(start), Some(end));
    }
    turn(&mut exchanges, end - MOMENT);
    assert!(clients.iter().all(|client| !client.is_closed()));
    exchanges.turn([], end);
    assert!(clients.iter().all(Wire::is_closed));
    assert_eq!(exchanges.next_turn(end), None);
}

#[test]
fn a_further_handshake_replaces_the_oldest() {
    let start = Instant::now();
    let mut exchanges = handshakes(1);
    let max = HANDSHAKE_LIMITS.clients;
    assert_eq!(max, 64);
    let at = |number: usize| start + number as u32 * MOMENT;
    let clients: Vec<Wire> = (0..max)
        .map(|number| connect(&mut exchanges, at(number)))
        .collect();
    assert!(clients.iter().all(|client| !client.is_closed()));
    clients[0].send(&FLAGS);
    turn(&mut exchanges, at(max));
    let last = connect(&mut exchanges, at(max));
    let closed: Vec<bool> = clients.iter().map(Wire::is_closed).collect();
    assert!(closed[0] && !closed[1..].contains(&true));
    // Those that end make room.
    for client in [&last, &clients[1]] {
        client.send(&[&FLAGS[..], &option(code::EXPORT_NAME, b"x")].concat());
    }
    turn(&mut exchanges, at(max));
    assert_eq!(exchanges.host.chosen.get(), 2);
    assert_eq!(exchanges.pending().len(), max - 2);
    assert_eq!(clients[1].take().len(), Greeting::LENGTH);
}

/// Input that has been decrypted must not wake the thread as long as the client reads no output.
#[test]
fn a_client_that_reads_nothing_does_not_keep_the_thread_awake() {
    let start = Instant::now();
    let mut exchanges = handshakes(1);
    let client = connect(&mut exchanges, start);
    client.block();
    client.send(&[&FLAGS[..], &option(code::LIST, b"").repeat(1000)].concat());
    for _ in 0..10 {
        turn(&mut exchanges, start);
    }
    assert!(!client.is_closed() && client.unread() > 0);
    assert_eq!(
        exchanges.next_turn(start),
        Some(start + HANDSHAKE_LIMITS.time)
    );
}

#[test]
fn a_fault_ends_only_the_exchange() {
    let start = Instant::now();
    // Listing a name that is too long for NBD is a fault.
    let mut exchanges = handshakes(5000);
    let clients = [0, 1].map(|_| connect(&mut exchanges, start));
    clients[0].send(&[&FLAGS[..], &option(code::LIST, b"")].concat());
    clients[1].send(&[&FLAGS[..], &option(99, b"")].concat());
    turn(&mut exchanges, start);
    assert_eq!(clients.each_ref().map(Wire::is_closed), [true, false]);
    assert!(clients[1].take().len() > Greeting::LENGTH);
}

/// Answers each line with its length.
fn lines(input: &[u8]) -> Option<TextAnswer> {
    let end = input.iter().position(|byte| *byte == b'\n')?;
    Some(TextAnswer {
        length: end + 1,
        text: (end > 0).then(|| format!("{end}\n")),
        is_last: input.starts_with(b"last"),
    })
}

type Lines = TextServer<fn(&[u8]) -> Option<TextAnswer>>;

fn texts() -> Exchanges<Wire, Lines> {
    Exchanges::new(TextServer(lines), TEXT_LIMITS)
}

#[test]
fn texts_are_answered_in_order() {
    let now = Instant::now();
    let mut exchanges = texts();
    let client = connect(&mut exchanges, now);
    client.send(b"abc\nde");
    turn(&mut exchanges, now);
    assert_eq!(client.take(), b"3\n");
    client.send(b"f\ng\nlast\nh\n");
    turn(&mut exchanges, now);
    assert_eq!(client.take(), b"3\n1\n4\n");
    assert!(client.is_closed());
    // An answer without a text, and a line that is too long.
    for input in [&b"a\n\nb\n"[..], &vec![b'x'; 1 << 14]] {
        let client = connect(&mut exchanges, now);
        client.send(input);
        for _ in 0..8 {
            turn(&mut exchanges, now);
        }
        assert!(client.is_closed());
        assert!(client.take().len() <= 2);
    }
}

#[test]
fn only_idle_clients_of_texts_may_be_silent() {
    let start = Instant::now();
    let mut exchanges = texts();
    let [idle, slow, blocked] = [0, 1, 2].map(|_| connect(&mut exchanges, start));
    assert_eq!(exchanges.next_turn(start), None);
    blocked.block();
    let later = start + 100 * TEXT_LIMITS.time;
    slow.send(b"a");
    blocked.send(b"a\n");
    turn(&mut exchanges, later);
    let end = later + TEXT_LIMITS.time;
    assert_eq!(exchanges.next_turn(later), Some(end));
    slow.send(b"a");
    turn(&mut exchanges, end - MOMENT);
    assert!(!slow.is_closed() && !blocked.is_closed());
    turn(&mut exchanges, end);
    assert!(slow.is_closed() && blocked.is_closed() && !idle.is_closed());
}

#[test]
fn a_further_client_of_texts_replaces_the_one_that_was_silent_for_longest() {
    let start = Instant::now();
    let mut exchanges = texts();
    let clients: Vec<Wire> = (0..TEXT_LIMITS.clients)
        .map(|_| connect(&mut exchanges, start))
        .collect();
    for client in &clients {
        client.send(b"a\n");
    }
    // The first one is served after the others.
    for (time, is_first) in [(MOMENT, false), (2 * MOMENT, true)] {
        let ready = (0..clients.len()).map(|number| (number == 0) == is_first);
        exchanges.turn(ready, start + time);
    }
    let last = connect(&mut exchanges, start + 2 * MOMENT);
    let closed: Vec<bool> = clients.iter().map(Wire::is_closed).collect();
    assert!(closed[1] && !closed[0] && !last.is_closed());
    assert_eq!(exchanges.pending().len(), TEXT_LIMITS.clients);
}
