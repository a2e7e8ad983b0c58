//! Clients that are served one message at a time, without sockets or a clock: handshakes, and the
//! clients of the control socket and of the metrics.

use std::io;
use std::time::{Duration, Instant};

use crate::engine::Channel;
use crate::panics::contain;

/// The server's side of an exchange of messages with a client.
pub trait Exchange {
    /// Returns the maximum number of bytes that [`received`](Self::received) accepts now.
    fn room(&self) -> usize;

    fn received(&mut self, data: &[u8]);

    fn output(&self) -> &[u8];

    /// Drops the first `count` bytes of the output, after they have been sent.
    fn sent(&mut self, count: usize);

    /// Returns true if the client may stay silent until the server needs its place.
    fn is_idle(&self) -> bool {
        false
    }
}

pub enum ExchangeStep<S> {
    /// The exchange needs more input, or its output must be sent first.
    Wait,
    /// The index of the chosen export, and the session with the remaining input and output.
    Chosen(usize, Box<S>),
    /// TLS starts once the output has been sent.
    StartTls,
    /// The connection closes once the output has been sent.
    Close,
}

/// A server of exchanges over channels of type `C`.
pub trait Host<C> {
    type Exchange: Exchange;
    type Session;

    fn start(&self, channel: &C) -> Self::Exchange;

    /// Answers the next message if it is complete and the previous answer has been sent.
    fn step(&self, exchange: &mut Self::Exchange) -> ExchangeStep<Self::Session>;

    fn start_tls(&self, _: &mut C) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Serves a client that has chosen an export.
    fn hand_over(&self, _: C, _export: usize, _: Self::Session, _now: Instant) {}
}

#[derive(Clone, Copy, Debug)]
pub struct ExchangeLimits {
    /// Maximum number of clients. A further one replaces the one that began its message, or fell
    /// silent after one, before all others.
    pub clients: usize,
    /// Time limit for an exchange; if clients may be idle, for each message and its answer.
    pub time: Duration,
}

/// The exchanges in progress with the clients of a host.
pub struct Exchanges<C, H: Host<C>> {
    pub host: H,
    limits: ExchangeLimits,
    pending: Vec<PendingExchange<C, H::Exchange>>,
}

impl<C: Channel, H: Host<C>> Exchanges<C, H> {
    pub const fn new(host: H, limits: ExchangeLimits) -> Self {
        Self {
            host,
            limits,
            pending: Vec::new(),
        }
    }

    pub fn pending(&self) -> &[PendingExchange<C, H::Exchange>] {
        &self.pending
    }

    pub fn accept(&mut self, channel: C, now: Instant) {
        let pending = self.pending.iter().enumerate();
        if self.pending.len() == self.limits.clients
            && let Some((oldest, _)) = pending.min_by_key(|(_, exchange)| exchange.since)
        {
            self.pending.remove(oldest);
        }
        self.pending.push(PendingExchange {
            exchange: self.host.start(&channel),
            channel,
            since: now,
            next_action: NextAction::Step,
        });
        self.advance(self.pending.len() - 1, now);
    }

    /// Continues the exchanges that are `ready`, and ends those that have taken too long.
    pub fn turn(&mut self, ready: impl IntoIterator<Item = bool>, now: Instant) {
        let pending = ready.into_iter().zip(&self.pending).enumerate();
        let ready = pending.filter(|(_, (is_ready, pending))| *is_ready || pending.has_more());
        let numbers: Vec<usize> = ready.map(|(number, _)| number).collect();
        for number in numbers.into_iter().rev() {
            self.advance(number, now);
        }
        let time = self.limits.time;
        self.pending
            .retain(|pending| pending.exchange.is_idle() || pending.since + time > now);
    }

    /// Returns the time of the next turn if no channel becomes ready; `now` if there is work to do.
    pub fn next_turn(&self, now: Instant) -> Option<Instant> {
        if self.pending.iter().any(PendingExchange::has_more) {
            return Some(now);
        }
        let limited = self.pending.iter().filter(|one| !one.exchange.is_idle());
        limited.map(|one| one.since + self.limits.time).min()
    }

    fn advance(&mut self, number: usize, now: Instant) {
        let pending = &mut self.pending[number];
        if pending.exchange.is_idle() {
            pending.since = now;
        }
        let advanced = contain("a client was disconnected", || pending.advance(&self.host));
        match advanced {
            Some(Ok(None)) if pending.exchange.is_idle() => pending.since = now,
            Some(Ok(None)) => {}
            Some(Ok(Some((export, session)))) => {
                let channel = self.pending.remove(number).channel;
                self.host.hand_over(channel, export, *session, now);
            }
            Some(Err(_)) | None => _ = self.pending.remove(number),
        }
    }
}

pub struct PendingExchange<C, E> {
    pub channel: C,
    exchange: E,
    /// The time at which the exchange or the last message began, or the client fell silent.
    since: Instant,
    next_action: NextAction,
}

/// The action after the output of an exchange has been sent.
#[derive(Clone, Copy)]
enum NextAction {
    Step,
    StartTls,
    Close,
}

type ChosenSession<S> = Option<(usize, Box<S>)>;

impl<C: Channel, E: Exchange> PendingExchange<C, E> {
    /// Returns true if the exchange can use input now.
    pub fn takes_input(&self) -> bool {
        self.exchange.output().is_empty()
    }

    pub fn has_output(&self) -> bool {
        !self.exchange.output().is_empty() || self.channel.has_output()
    }

    /// Returns true if there is usable input that poll(2) does not see: it is already decrypted.
    fn has_more(&self) -> bool {
        self.takes_input() && self.channel.has_input()
    }

    /// Continues the exchange; returns the session if the client has chosen an export. Fails if the
    /// connection has ended.
    fn advance<H>(&mut self, host: &H) -> io::Result<ChosenSession<H::Session>>
    where
        H: Host<C, Exchange = E>,
    {
        self.channel.flush()?;
        let mut data = [0; 1 << 12];
        let room = self.exchange.room().min(data.len());
        if room > 0
            && self.takes_input()
            && let Some(count) = self.channel.receive(&mut data[..room])?
        {
            self.exchange.received(&data[..count]);
        }
        loop {
            if !self.takes_input() {
                match self.channel.send(self.exchange.output())? {
                    Some(count) => self.exchange.sent(count),
                    None => return Ok(None),
                }
                continue;
            }
            match self.next_action {
                NextAction::Step => {}
                NextAction::StartTls => {
                    host.start_tls(&mut self.channel)?;
                    self.next_action = NextAction::Step;
                }
                NextAction::Close => return Err(io::ErrorKind::ConnectionAborted.into()),
            }
            match host.step(&mut self.exchange) {
                ExchangeStep::Wait if self.takes_input() => return Ok(None),
                ExchangeStep::Wait => {}
                ExchangeStep::StartTls => self.next_action = NextAction::StartTls,
                ExchangeStep::Close => self.next_action = NextAction::Close,
                ExchangeStep::Chosen(export, session) => return Ok(Some((export, session))),
            }
        }
    }
}
