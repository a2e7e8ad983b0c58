//! A device behind a connection: commands arrive late, and answers are delayed in proportion to
//! their data.

use std::collections::VecDeque;

use diskarm_core::device::{Completion, Device, SubmitError};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, Load, Streams};
use diskarm_core::request::{Op, Request};
use diskarm_core::testing::SplitMix64;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use diskarm_core::workload::{Disk, Workload};
use diskarm_scan::{BackgroundSettings, ExternalScheduler, Model, Prediction};

use crate::bench::{
    CLOSED, Observations, atlas, empty_gathered, new, policy, scan, without_write_cache,
};
use crate::predicted::record_predictions;

/// A drive behind a connection.
struct RemoteDrive {
    drive: Drive,
    /// The maximum delay of a command.
    max_command_delay: Span,
    /// Generates the delays of commands.
    random: SplitMix64,
    /// If set, the host alternates between being idle and being busy for this many commands. While
    /// it is busy, commands and answers are late.
    busy_period: Option<u64>,
    /// Number of commands sent.
    commands: u64,
    /// The command in transit, and when it arrives.
    in_transit: Option<(Instant, Request)>,
    /// The time at which the last command was sent.
    sent: Instant,
    /// The transfer time of a block of data.
    per_block: Span,
    /// Answers in transit, in order of arrival.
    answers: VecDeque<Completion>,
}

impl RemoteDrive {
    /// Generates the delay of a command or an answer.
    fn delay(&mut self) -> Span {
        match self.busy_period {
            Some(every) if (self.commands / every).is_multiple_of(2) => Span::ZERO,
            _ => Span::from_ns(self.random.below(self.max_command_delay.as_ns() as u64 + 1) as i64),
        }
    }

    /// Delivers everything that arrives by `now`.
    fn deliver(&mut self, now: Instant) {
        if let Some((at, request)) = self.in_transit.take_if(|(at, _)| *at <= now) {
            let result = self.drive.submit(at, request);
            assert_eq!(result, Ok(()), "{request:?}");
        }
        while let Some(at) = self.drive.next_event().filter(|at| *at <= now) {
            if let Some(mut completion) = self.drive.advance(at) {
                completion.arrived = self.sent;
                if completion.request.op.is_read() {
                    completion.at += self.per_block * completion.request.sectors.0;
                }
                if self.busy_period.is_some() {
                    completion.at += self.delay();
                }
                self.answers.push_back(completion);
            }
        }
    }
}

impl Device for RemoteDrive {
    diskarm_core::forward!(drive: capacity sector_size);

    fn has_room(&self) -> bool {
        self.in_transit.is_none() && self.drive.has_room()
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.deliver(now);
        self.commands += 1;
        let delay = self.delay();
        self.in_transit = Some((now + delay, request));
        self.sent = now;
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        let answer = self.answers.front().map(|completion| completion.at);
        let arrival = self.in_transit.map(|(at, _)| at);
        let events = [answer, arrival, self.drive.next_event()];
        events.into_iter().flatten().min()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        self.deliver(now);
        self.answers.pop_front_if(|completion| completion.at <= now)
    }

    fn abort(&mut self, _: Instant, _: u64) -> bool {
        false
    }
}

/// A load that reads one block repeatedly, mostly from the buffer, and then runs a workload.
struct AfterHits {
    left: u64,
    next: Option<Instant>,
    workload: Streams,
    workload_start: Option<Instant>,
}

impl Load for AfterHits {
    fn next_arrival(&mut self) -> Option<Instant> {
        match self.workload_start {
            Some(workload_start) => self
                .workload
                .next_arrival()
                .map(|at| at.max(workload_start)),
            None => self.next,
        }
    }

    fn take(&mut self) -> Request {
        if self.workload_start.is_some() {
            return self.workload.take();
        }
        self.next = None;
        self.left -= 1;
        Request::new(self.left, Op::Read, Lbn(0), SectorCount(1))
    }

    fn completed(&mut self, completion: &Completion) {
        if self.workload_start.is_some() {
            self.workload.completed(completion);
        } else if self.left > 0 {
            self.next = Some(completion.at);
        } else {
            self.workload_start = Some(completion.at);
        }
    }
}

/// Returns the predictions for 4,000 foreground requests and the concurrent scan, except for the
/// first thousand commands.
fn run_with_predictions(
    workload: &str,
    (max_command_delay, busy_period): (Span, Option<u64>),
    per_block: Span,
) -> Vec<Prediction> {
    let spec = without_write_cache(atlas());
    let model = Model::with_origin(&spec, Angle::ZERO).expect("valid layout");
    let remote_drive = RemoteDrive {
        drive: new(&spec),
        max_command_delay,
        random: SplitMix64::new(1),
        busy_period,
        commands: 0,
        in_transit: None,
        sent: Instant::START,
        per_block,
        answers: VecDeque::new(),
    };
    let gathered = empty_gathered(spec.geometry.sectors);
    let (on_prediction, predictions) = record_predictions();
    let external =
        ExternalScheduler::new(remote_drive, model, &policy("sptf-sw(n=40%)"), 1).learning_lag();
    let external = external.with_background(scan(&spec, BackgroundSettings::default(), &gathered));
    let mut external = external.on_prediction(on_prediction);
    let disk = Disk {
        sectors: external.capacity(),
        sector: external.sector_size(),
    };
    let workload = Workload::parse(workload, disk).expect("valid workload");
    let mut load = AfterHits {
        left: 40,
        next: Some(Instant::START),
        workload: Streams::new(&workload, disk, 1, u64::MAX),
        workload_start: None,
    };
    let mut observations = Observations {
        completions: Vec::new(),
        max: 4_000,
        gathered: None,
    };
    engine::run(&mut external, &mut load, &mut observations).expect("all requests are accepted");
    let predictions = predictions.lock().expect("no thread panicked");
    predictions[1_000..].to_vec()
}

/// Counts the predictions that are right to within 50 us, and the commands that end a revolution
/// late.
fn count_right_and_late(predictions: &[Prediction]) -> (usize, usize) {
    let right = predictions.iter().filter(|one| one.is_right());
    let is_late = |one: &&Prediction| one.error().is_some_and(|error| error.as_ms() > 3.0);
    (right.count(), predictions.iter().filter(is_late).count())
}

/// The model allows for 0.5 us per block, as on a local connection, and 5 us, as on a network with
/// 100 MB/s, with varying sizes and with small requests among large reads of the scan.
#[test]
fn the_transfer_time_of_data_is_learnt() {
    let small = "closed(clients=10) uniform size=4KiB reads=66.7%";
    for workload in [CLOSED, small] {
        for per_block in [0.0, 0.5, 5.0] {
            let predictions =
                run_with_predictions(workload, (Span::ZERO, None), Span::from_us(per_block));
            let (right, late) = count_right_and_late(&predictions);
            let total = predictions.len();
            assert!(
                total > 3_000 && right * 100 >= total * 98,
                "{right} of {total}"
            );
            assert!(late * 500 <= total, "{late} of {total}");
        }
    }
}

/// Commands are in transit for up to 0.1 ms, which only answers reveal: a request that the arm can
/// barely reach is not attempted.
#[test]
fn delayed_commands_lose_no_revolutions() {
    let predictions =
        run_with_predictions(CLOSED, (Span::from_us(100.0), None), Span::from_us(0.5));
    let (_, late) = count_right_and_late(&predictions);
    let total = predictions.len();
    assert!(total > 3_000 && late * 1_000 <= total, "{late} of {total}");
}

/// The same if the host alternates between being idle for 100 commands and being busy for 100. The
/// buffer serves about ten of them, but all answers reveal the delay: only one or two revolutions
/// are lost whenever the host becomes busy.
#[test]
fn a_busy_host_is_allowed_for() {
    let predictions = run_with_predictions(CLOSED, (Span::from_us(100.0), Some(100)), Span::ZERO);
    let (_, late) = count_right_and_late(&predictions);
    let total = predictions.len();
    assert!(total > 3_000 && late * 100 <= total, "{late} of {total}");
}

/// The answers to every other 500 commands are up to two revolutions late: predictions are not
/// relied on until answers are on time again.
#[test]
fn confidence_returns_when_the_host_is_idle_again() {
    let predictions = run_with_predictions(CLOSED, (Span::from_ms(6.0), Some(500)), Span::ZERO);
    let periods = predictions.chunks_exact(500);
    assert!(periods.len() >= 6, "{}", periods.len());
    for (period, commands) in periods.enumerate() {
        let confident = commands[150..].iter().filter(|one| one.is_confident);
        match period % 2 {
            0 => assert!(confident.count() >= 340, "{period}"),
            _ => assert!(confident.count() <= 10, "{period}"),
        }
    }
}
