//! A device that gets commands later than they are sent, and whose answers take the longer to come
//! the more data they bring.

use std::collections::VecDeque;

use diskarm_core::device::{Completion, Device, SubmitError};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, Load, Streams};
use diskarm_core::request::{Op, Request};
use diskarm_core::testing::SplitMix64;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use diskarm_core::workload::{Disk, Workload};
use diskarm_scan::{BackgroundSettings, ExternalScheduler, Model, Prediction};

use crate::bench::{CLOSED, Observations, atlas, new, nothing, policy, scan, without_write_cache};
use crate::predicted::kept;

/// A drive at the end of a line.
struct Away {
    drive: Drive,
    /// The most that a command is on the line.
    of_command: Span,
    /// Draws how long one is.
    random: SplitMix64,
    /// If set, the host is quiet for this many commands and disturbed for as many: then
    /// commands are late, and answers as much.
    disturbed: Option<u64>,
    /// Commands that were sent.
    commands: u64,
    /// A command on its way, and when it arrives.
    going: Option<(Instant, Request)>,
    /// When the last one was sent.
    sent: Instant,
    /// How long the data of a block are on the line.
    of_block: Span,
    /// Answers on their way, the first to come first.
    coming: VecDeque<Completion>,
}

impl Away {
    /// Draws by how much a command or an answer is late.
    fn late(&mut self) -> Span {
        match self.disturbed {
            Some(every) if (self.commands / every).is_multiple_of(2) => Span::ZERO,
            _ => Span::from_ns(self.random.below(self.of_command.as_ns() as u64 + 1) as i64),
        }
    }

    /// Brings what is on the line by `now` to its end.
    fn carry(&mut self, now: Instant) {
        if let Some((at, request)) = self.going.take_if(|(at, _)| *at <= now) {
            let taken = self.drive.submit(at, request);
            assert_eq!(taken, Ok(()), "{request:?}");
        }
        while let Some(at) = self.drive.next_event().filter(|at| *at <= now) {
            if let Some(mut completion) = self.drive.advance(at) {
                completion.arrived = self.sent;
                if completion.request.op.is_read() {
                    completion.at += self.of_block * completion.request.sectors.0;
                }
                if self.disturbed.is_some() {
                    completion.at += self.late();
                }
                self.coming.push_back(completion);
            }
        }
    }
}

impl Device for Away {
    diskarm_core::forward!(drive: capacity sector_size);

    fn has_room(&self) -> bool {
        self.going.is_none() && self.drive.has_room()
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.carry(now);
        self.commands += 1;
        let way = self.late();
        self.going = Some((now + way, request));
        self.sent = now;
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        let answer = self.coming.front().map(|completion| completion.at);
        let arrival = self.going.map(|(at, _)| at);
        let events = [answer, arrival, self.drive.next_event()];
        events.into_iter().flatten().min()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        self.carry(now);
        self.coming.pop_front_if(|completion| completion.at <= now)
    }

    fn abort(&mut self, _: Instant, _: u64) -> bool {
        false
    }
}

/// Reads of one block, one after the other, most of which the buffer serves, and then those of a
/// workload.
struct AfterHits {
    left: u64,
    next: Option<Instant>,
    then: Streams,
    begun: Option<Instant>,
}

impl Load for AfterHits {
    fn next_arrival(&mut self) -> Option<Instant> {
        match self.begun {
            Some(begun) => self.then.next_arrival().map(|at| at.max(begun)),
            None => self.next,
        }
    }

    fn take(&mut self) -> Request {
        if self.begun.is_some() {
            return self.then.take();
        }
        self.next = None;
        self.left -= 1;
        Request::new(self.left, Op::Read, Lbn(0), SectorCount(1))
    }

    fn completed(&mut self, completion: &Completion) {
        if self.begun.is_some() {
            self.then.completed(completion);
        } else if self.left > 0 {
            self.next = Some(completion.at);
        } else {
            self.begun = Some(completion.at);
        }
    }
}

/// What is predicted of 4,000 requests of the foreground and of the scan beside it, except for the
/// first thousand commands.
fn predicted(
    workload: &str,
    (of_command, disturbed): (Span, Option<u64>),
    of_block: Span,
) -> Vec<Prediction> {
    let spec = without_write_cache(atlas());
    let model = Model::with_origin(&spec, Angle::ZERO).expect("a sound layout");
    let away = Away {
        drive: new(&spec),
        of_command,
        random: SplitMix64::new(1),
        disturbed,
        commands: 0,
        going: None,
        sent: Instant::START,
        of_block,
        coming: VecDeque::new(),
    };
    let got = nothing(spec.geometry.sectors);
    let (on_prediction, predictions) = kept();
    let external = ExternalScheduler::new(away, model, &policy("sptf-sw(n=40%)"), 1).learning_lag();
    let external = external.with_background(scan(&spec, BackgroundSettings::default(), &got));
    let mut external = external.on_prediction(on_prediction);
    let disk = Disk {
        sectors: external.capacity(),
        sector: external.sector_size(),
    };
    let workload = Workload::parse(workload, disk).expect("a workload");
    let mut load = AfterHits {
        left: 40,
        next: Some(Instant::START),
        then: Streams::new(&workload, disk, 1, u64::MAX),
        begun: None,
    };
    let mut seen = Observations {
        all: Vec::new(),
        max: 4_000,
        got: None,
    };
    engine::run(&mut external, &mut load, &mut seen).expect("accepted requests");
    let predictions = predictions.lock().expect("nobody panicked");
    predictions[1_000..].to_vec()
}

/// How many of these are predicted to within 50 us, and how many come a revolution late.
fn judged(predictions: &[Prediction]) -> (usize, usize) {
    let right = predictions.iter().filter(|one| one.is_right());
    let is_late = |one: &&Prediction| one.error().is_some_and(|error| error.as_ms() > 3.0);
    (right.count(), predictions.iter().filter(is_late).count())
}

/// 0.5 us a block, as of a local connection, and 5 us, as of a network of 100 MB/s, with sizes that
/// vary and with small ones among large reads of the scan: the model allows for it.
#[test]
fn the_time_that_data_take_is_learnt() {
    let small = "closed(clients=10) uniform size=4KiB reads=66.7%";
    for workload in [CLOSED, small] {
        for of_block in [0.0, 0.5, 5.0] {
            let predictions = predicted(workload, (Span::ZERO, None), Span::from_us(of_block));
            let (right, late) = judged(&predictions);
            let all = predictions.len();
            assert!(all > 3_000 && right * 100 >= all * 98, "{right} of {all}");
            assert!(late * 500 <= all, "{late} of {all}");
        }
    }
}

/// Commands are on their way for up to 0.1 ms, and only answers show for how long: what the arm
/// only just reaches is not tried.
#[test]
fn commands_on_their_way_lose_no_revolutions() {
    let predictions = predicted(CLOSED, (Span::from_us(100.0), None), Span::from_us(0.5));
    let (_, late) = judged(&predictions);
    let all = predictions.len();
    assert!(all > 3_000 && late * 1_000 <= all, "{late} of {all}");
}

/// The same where the host is quiet for 100 commands and disturbed for 100, in which commands and
/// answers are late. The buffer serves some ten of them, but all answers tell: a revolution or two
/// are lost each time that it begins.
#[test]
fn a_host_that_becomes_busy_is_allowed_for() {
    let predictions = predicted(CLOSED, (Span::from_us(100.0), Some(100)), Span::ZERO);
    let (_, late) = judged(&predictions);
    let all = predictions.len();
    assert!(all > 3_000 && late * 100 <= all, "{late} of {all}");
}

/// Answers of every other 500 commands come up to two revolutions late: what they say of the
/// platter is not relied on until they come in time again.
#[test]
fn confidence_comes_back_when_the_host_is_quiet_again() {
    let predictions = predicted(CLOSED, (Span::from_ms(6.0), Some(500)), Span::ZERO);
    let periods = predictions.chunks_exact(500);
    assert!(periods.len() >= 6, "{}", periods.len());
    for (period, commands) in periods.enumerate() {
        let relied_on = commands[150..].iter().filter(|one| one.is_confident);
        match period % 2 {
            0 => assert!(relied_on.count() >= 340, "{period}"),
            _ => assert!(relied_on.count() <= 10, "{period}"),
        }
    }
}
