//! A server with simulated clients, network, storage and time, all of which follow from a seed.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use diskarm_core::testing::Random;
use diskarm_core::units::{SectorCount, Span};
use diskarm_serve::control::{Command, Reply};
use diskarm_serve::power::PowerCut;
use diskarm_serve::store::StoreSpec;
use diskarm_serve::{
    Connection, DEFAULT_POLICY, Engine, ExportSpec, Facts, MAX_SILENCE, Pace, Permit, Ready, Speed,
    WakeReceiver, Waker,
};

use super::channel::SimChannel;
use super::expected::{Expected, Value, ZERO};
use super::protocol::{Access, Answer, Client, Protocol, SECTOR};
use super::store::Host;

const CLIENTS: usize = 4;
/// Sectors of which one client is the only user.
const OWN_SECTORS: usize = 1 << 12;
const SECTORS: usize = CLIENTS * OWN_SECTORS;
/// Each reading of the clock takes this long, so that work takes time.
const TICK_NS: u64 = 200;
/// The longest time that a client that reads its replies waits for one. A write may have to wait
/// for stalled clients to be disconnected.
const MAX_WAIT: Duration = Duration::from_secs(CLIENTS as u64 * MAX_SILENCE.as_secs() + 30);

struct SimClient {
    /// The number of its connection in the engine, and its own end.
    connection: Option<(usize, Box<dyn Client>)>,
    /// Bytes on their way to the server.
    sending: VecDeque<u8>,
    received: VecDeque<u8>,
    outstanding: BTreeMap<u64, Outstanding>,
    /// The time until which the client neither sends nor receives.
    stalled_until: u64,
    /// The last time that the client could not make progress itself.
    waits_since: u64,
}

struct Outstanding {
    access: Access,
    mark: u64,
}

/// What the simulation did, as evidence that it did something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    pub steps: u64,
    pub answers: u64,
    pub errors: u64,
    pub power_cuts: u64,
    pub crashes: u64,
    pub closed: u64,
    pub synchronisations: u64,
}

impl Summary {
    pub fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.answers += other.answers;
        self.errors += other.errors;
        self.power_cuts += other.power_cuts;
        self.crashes += other.crashes;
        self.closed += other.closed;
        self.synchronisations += other.synchronisations;
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            steps,
            answers,
            errors,
            power_cuts,
            crashes,
            closed,
            synchronisations,
        } = self;
        write!(
            f,
            "{steps} steps: {answers} answers with {errors} errors, {synchronisations} \
             synchronisations, {power_cuts} power cuts, {crashes} crashes, {closed} lost \
             connections"
        )
    }
}

pub struct World<P: Protocol> {
    protocol: P,
    engine: Engine<P::Service, SimChannel>,
    spec: ExportSpec,
    pace: Pace,
    facts: Facts,
    host: Host,
    start: Instant,
    now_ns: Cell<u64>,
    random: Random,
    clients: Vec<SimClient>,
    expected: Expected,
    next_value: Value,
    next_id: u64,
    is_on: bool,
    has_faults: bool,
    /// False if clients never ask for durability.
    flushes: bool,
    summary: Summary,
    _woken: WakeReceiver,
}

impl<P: Protocol> World<P> {
    /// Starts a server; prints what happens to a `watched` sector.
    pub fn new(protocol: P, seed: u64, watched: Option<usize>) -> Self {
        let mut random = Random::new(seed);
        let spec = ExportSpec {
            name: String::new(),
            drive: random
                .choose(&["hp-c2247", "sata-4tb-7200", "quantum-atlas-10k"])
                .to_owned(),
            changes: Vec::new(),
            policy: random
                .choose(&[DEFAULT_POLICY, DEFAULT_POLICY, "sptf"])
                .to_owned(),
            size: Some(format!("{} KiB", (SECTORS * SECTOR) >> 10)),
            store: StoreSpec::Memory,
            is_read_only: false,
            record: None,
            bound: None,
        };
        let is_timed = random.one_in(2);
        let pace = Pace {
            speed: is_timed.then_some(Speed::REAL),
            spins: false,
            bound: Span::ZERO,
        };
        let host = Host::new(SECTORS * SECTOR, random.next_u64());
        let has_faults = random.one_in(2);
        if has_faults {
            let sync_us = random.choose(&[1, 10_000, 2_000_000]);
            host.set_faults(sync_us, random.choose(&[0, 50]), random.choose(&[0, 1000]));
        }
        let flushes = !random.one_in(4);
        let capacity = random.choose(&[0, 64, 1024]);
        let (service, facts, woken) = start(&protocol, &spec, pace, &host, capacity);
        Self {
            engine: Engine::new(service),
            protocol,
            spec,
            pace,
            facts,
            host,
            start: Instant::now(),
            now_ns: Cell::new(0),
            clients: (0..CLIENTS).map(|_| SimClient::new()).collect(),
            expected: Expected::new(SECTORS, watched),
            next_value: ZERO + 1,
            next_id: 0,
            is_on: true,
            has_faults,
            flushes,
            summary: Summary::default(),
            random,
            _woken: woken,
        }
    }

    pub fn run(mut self, steps: u64) -> Summary {
        for _ in 0..steps {
            self.step();
        }
        self.summary.steps = steps;
        self.summary.synchronisations = self.host.sync_count();
        self.summary
    }

    fn step(&mut self) {
        let number = self.random.below(CLIENTS as u64) as usize;
        match self.random.below(1000) {
            0..300 => self.deliver(number),
            300..550 => self.collect(number),
            550..700 => self.send(number),
            700..990 => self.pass_time(),
            990..992 => self.stall(number),
            992..994 => self.reset(number),
            994..997 => self.control(),
            997 if self.has_faults => self.crash(),
            _ => self.pass_time(),
        }
    }

    fn now_us(&self) -> u64 {
        self.now_ns.get() / 1000
    }

    /// Gives the engine a turn in which `number` may have input or room for output.
    fn turn(&mut self, number: Option<usize>) {
        self.host.set_time(self.now_us());
        let ready = number.and_then(|number| self.clients[number].connection.as_ref());
        let ready = ready.map(|(connection, _)| Ready {
            number: *connection,
            has_disconnected: false,
        });
        let (start, now) = (self.start, &self.now_ns);
        let clock = || {
            now.set(now.get() + TICK_NS);
            start + Duration::from_nanos(now.get())
        };
        self.engine.turn(ready.into_iter().collect(), &clock);
        assert_eq!(self.engine.panics(), 0);
        self.notice_closed();
    }

    /// Forgets the connections that the server has closed.
    fn notice_closed(&mut self) {
        for number in 0..CLIENTS {
            let Some((connection, _)) = &self.clients[number].connection else {
                continue;
            };
            let channel = self.engine.channel_mut(*connection);
            if channel.is_none_or(|channel| channel.client != number) {
                self.disconnect(number);
            }
        }
    }

    fn disconnect(&mut self, number: usize) {
        let client = &mut self.clients[number];
        client.connection = None;
        client.sending.clear();
        client.received.clear();
        client.outstanding.clear();
        client.stalled_until = 0;
        self.summary.closed += 1;
    }

    /// Lets some bytes of a client arrive at the server.
    fn deliver(&mut self, number: usize) {
        let now = self.now_us();
        let count = self.random.choose(&[1, 28, 700, 1 << 20]);
        let max = self.random.choose(&[100, 1 << 20]);
        let client = &mut self.clients[number];
        if client.stalled_until > now {
            return;
        }
        let Some((connection, _)) = &client.connection else {
            return self.connect(number);
        };
        let channel = self
            .engine
            .channel_mut(*connection)
            .expect("an open connection");
        channel.max = max;
        let count = count.min(client.sending.len());
        channel.inbox.extend(client.sending.drain(..count));
        if !client.sending.is_empty() {
            client.waits_since = now;
        }
        self.turn(Some(number));
    }

    fn connect(&mut self, number: usize) {
        let now = self.start + Duration::from_nanos(self.now_ns.get());
        let (session, mut client) = self.protocol.connect(&self.facts, number);
        client.start(&mut self.clients[number].sending);
        let channel = SimChannel {
            client: number,
            room: 1 << 16,
            max: 1 << 20,
            ..SimChannel::default()
        };
        let connection = Connection::new(channel, session, Permit::new(&Default::default()), now);
        let connected = self.engine.connect(connection, &|| now);
        // Without power, the server disconnects clients.
        assert_eq!(connected.is_some(), self.is_on);
        if let Some(connected) = connected {
            self.clients[number].connection = Some((connected, client));
            self.clients[number].waits_since = self.now_us();
        }
    }

    /// Lets a client receive what the server has sent.
    fn collect(&mut self, number: usize) {
        let now = self.now_us();
        let client = &mut self.clients[number];
        if client.stalled_until > now {
            return;
        }
        let Some((connection, end)) = &mut client.connection else {
            return;
        };
        let channel = self
            .engine
            .channel_mut(*connection)
            .expect("an open connection");
        if channel.outbox.len() == channel.room {
            client.waits_since = now;
        }
        client.received.extend(channel.outbox.drain(..));
        let mut answers = Vec::new();
        while let Some(answer) = end.receive(&mut client.received, &mut client.sending) {
            answers.push(answer);
        }
        for (id, answer) in answers {
            client.waits_since = now;
            let Some(outstanding) = client.outstanding.remove(&id) else {
                panic!("client {number} received a second answer to request {id}");
            };
            self.summary.answers += 1;
            self.summary.errors += u64::from(answer.is_err());
            let is_durable = end.acknowledges_durably() || outstanding.access.is_durable();
            check(&mut self.expected, &outstanding, answer, is_durable);
        }
        let is_waiting = !client.outstanding.is_empty() && client.sending.is_empty() && self.is_on;
        let waited = Duration::from_micros(now - client.waits_since);
        assert!(
            !is_waiting || waited < MAX_WAIT,
            "client {number} waits for {waited:?}"
        );
        self.turn(Some(number));
    }

    /// Sends a random request that concerns no sector of an outstanding one.
    fn send(&mut self, number: usize) {
        let client = &mut self.clients[number];
        if client.connection.is_none() || client.outstanding.len() >= 8 {
            return;
        }
        let random = &mut self.random;
        let count = match random.below(200) {
            0 => 3000,
            1..20 => 200,
            _ => random.between(1, 8) as usize,
        };
        let sector = random.below((OWN_SECTORS - count) as u64) as usize;
        // Most requests concern few sectors, so that they meet.
        let sector = number * OWN_SECTORS
            + if random.one_in(4) {
                sector
            } else {
                sector % 16
            };
        let is_free = |other: &Outstanding| !other.access.overlaps(sector, count);
        if !client.outstanding.values().all(is_free) {
            return;
        }
        let is_durable = self.flushes && random.one_in(8);
        let access = match random.below(20) {
            0..7 => Access::Read { sector, count },
            7..14 => {
                let values = (self.next_value..).take(count).collect();
                self.next_value += count as Value;
                Access::Write {
                    sector,
                    values,
                    is_durable,
                }
            }
            14..16 if P::TRIMS => Access::Trim { sector, count },
            16..18 if P::TRIMS => Access::Zero {
                sector,
                count,
                is_durable,
            },
            _ if self.flushes => Access::Flush,
            _ => Access::Read { sector, count },
        };
        for (sector, value) in access.changes() {
            self.expected.sent(sector, value);
        }
        let id = self.next_id;
        self.next_id += 1;
        if client.outstanding.is_empty() {
            client.waits_since = self.now_ns.get() / 1000;
        }
        let Some((_, end)) = &mut client.connection else {
            return;
        };
        end.send(id, &access, &mut client.sending);
        let mark = self.expected.mark();
        client.outstanding.insert(id, Outstanding { access, mark });
    }

    /// Lets time pass until something happens, or for a random time.
    fn pass_time(&mut self) {
        let now_ns = self.now_ns.get();
        let now = self.start + Duration::from_nanos(now_ns);
        let next = self.engine.next_turn(now).map(|at| {
            let ahead = at.saturating_duration_since(self.start);
            ahead.as_nanos() as u64
        });
        let answer = self.host.next_answer_us().map(|us| us * 1000);
        let next = next.into_iter().chain(answer).min();
        let step = match self.random.below(4) {
            0 => 1_000_000 * self.random.below(1000),
            _ => 1_000_000_000,
        };
        self.now_ns
            .set((now_ns + step).min(next.unwrap_or(u64::MAX)).max(now_ns));
        self.turn(None);
    }

    fn stall(&mut self, number: usize) {
        let seconds = self.random.choose(&[1, 40, 100]);
        self.clients[number].stalled_until = self.now_us() + seconds * 1_000_000;
        // A stalled client may wait for itself.
        self.clients[number].waits_since = self.clients[number].stalled_until;
    }

    fn reset(&mut self, number: usize) {
        if let Some((connection, _)) = &self.clients[number].connection {
            let channel = self
                .engine
                .channel_mut(*connection)
                .expect("an open connection");
            channel.is_reset = true;
            self.turn(Some(number));
        }
    }

    fn control(&mut self) {
        let cut = PowerCut {
            torn: self.random.one_in(2),
            worst: self.random.one_in(2),
            seed: self.random.next_u64(),
        };
        let command = match self.random.below(4) {
            _ if !self.is_on => Command::PowerRestore,
            0 => Command::Pending,
            _ => Command::PowerCut(cut),
        };
        let now = self.start + Duration::from_nanos(self.now_ns.get());
        let reply = self.engine.execute(&command, &|| now);
        match (command, reply) {
            (Command::PowerRestore, Ok(Reply::Done)) => {
                self.is_on = true;
                let now = self.now_us();
                self.clients
                    .iter_mut()
                    .for_each(|client| client.waits_since = now);
            }
            (Command::PowerCut(_), Ok(Reply::PowerCut(_))) => {
                self.is_on = false;
                self.summary.power_cuts += 1;
                self.expected.power_was_cut();
            }
            (Command::Pending, Ok(Reply::Pending(_))) => {}
            // A failure of the store.
            (Command::PowerCut(_), Err(_)) if self.has_faults => {
                self.is_on = false;
                self.expected.host_has_crashed();
            }
            (command, reply) => panic!("{command:?}: {reply:?}"),
        }
        self.notice_closed();
    }

    /// Crashes the host and starts a new server.
    fn crash(&mut self) {
        self.host.crash();
        let capacity = 64;
        let (service, _, woken) =
            start(&self.protocol, &self.spec, self.pace, &self.host, capacity);
        self.engine = Engine::new(service);
        self._woken = woken;
        self.is_on = true;
        (0..CLIENTS).for_each(|number| self.disconnect(number));
        self.expected.host_has_crashed();
        self.summary.crashes += 1;
    }
}

fn start<P: Protocol>(
    protocol: &P,
    spec: &ExportSpec,
    pace: Pace,
    host: &Host,
    capacity: u64,
) -> (P::Service, Facts, WakeReceiver) {
    let mut export = P::build(spec, pace);
    export.store = Box::new(host.clone());
    if let Some(power) = &mut export.power {
        power.capacity = SectorCount(capacity);
        power.max_unacknowledged = SectorCount(1 << 8);
    }
    let facts = export.facts.clone();
    let (waker, woken) = Waker::new().expect("a pair of sockets");
    let service = protocol.start(export, waker).expect("a service");
    (service, facts, woken)
}

/// Checks an answer, and records what follows from it.
fn check(expected: &mut Expected, outstanding: &Outstanding, answer: Answer, is_durable: bool) {
    match (&outstanding.access, answer) {
        (Access::Read { sector, count }, Ok(values)) => {
            assert_eq!(values.len(), *count);
            for (sector, value) in (*sector..).zip(values) {
                if let Err(possible) = expected.read(sector, value) {
                    panic!("sector {sector} contains {value}, expected one of {possible:?}");
                }
            }
        }
        (Access::Flush, Ok(_)) => expected.flushed(outstanding.mark),
        (access, Ok(_)) => {
            for (sector, _) in access.changes() {
                expected.acknowledged(sector, is_durable);
            }
        }
        // What was written is not known until it is read.
        (_, Err(_)) => {}
    }
}

impl SimClient {
    fn new() -> Self {
        Self {
            connection: None,
            sending: VecDeque::new(),
            received: VecDeque::new(),
            outstanding: BTreeMap::new(),
            stalled_until: 0,
            waits_since: 0,
        }
    }
}
