//! The suite through a host that sends commands late, as a guest of an emulator without hardware
//! support does.

use diskarm_core::mechanics::SeekTimes;
use diskarm_core::spec::{self, Spec};
use diskarm_core::units::{Instant, Span};
use diskarm_extract::seek::SeekPoint;
use diskarm_extract::suite::{
    self, Checkpoint, MeasuredDrive, Observer, Options, Outcome, Progress, Provenance,
};
use diskarm_extract::{
    Comparison, Data, Effort, HostDelay, Reply, SimulatedDrive, Transport, TransportError,
};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The drive that is measured from a guest in the tests of the command line.
const SMALL: &str = include_str!("../../cli/tests/cli/guest.toml");

const HOST: HostDelay = HostDelay {
    min: Span::from_ns(50_000),
    max: Span::from_ns(100_000),
};

/// Delays commands and completions by a fixed and an exponential time, one in 500 by milliseconds.
struct Late {
    drive: SimulatedDrive,
    generator: Pcg64Mcg,
}

impl Late {
    fn delay(&mut self, min: f64, mean: f64) -> Span {
        let mut uniform = || (self.generator.next_u64() >> 11) as f64 / 2f64.powi(53);
        let (deviate, rare) = (-(1.0 - uniform()).ln(), uniform());
        let late = if rare < 0.002 {
            1.0 + 0.5 * deviate
        } else {
            min + mean * deviate
        };
        Span::from_us(1e3 * late)
    }
}

impl Transport for Late {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError> {
        let (before, after) = (self.delay(0.06, 0.07), self.delay(0.04, 0.03));
        self.drive.sleep(before);
        let mut reply = self.drive.execute(command, data)?;
        self.drive.sleep(after);
        reply.sent = reply.sent.shifted(-before);
        reply.ended = reply.ended.shifted(after);
        Ok(reply)
    }

    fn sleep(&mut self, span: Span) {
        self.drive.sleep(span);
    }

    fn now(&self) -> Instant {
        self.drive.now()
    }
}

struct IgnoreProgress;

impl Observer for IgnoreProgress {
    fn progressed(&mut self, _: &Progress) {}

    fn save(&mut self, _: &Checkpoint) -> Result<(), String> {
        Ok(())
    }
}

fn measure(given: &Spec, seed: u64) -> Checkpoint {
    let mut connect = |connection_seed: u64| -> Result<Box<dyn Transport>, TransportError> {
        let connection_seed = connection_seed ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Ok(Box::new(Late {
            drive: SimulatedDrive::new(given, HOST, connection_seed).unwrap(),
            generator: Pcg64Mcg::seed_from_u64(connection_seed + 1),
        }))
    };
    let options = Options {
        effort: Effort::Quick,
        writes: false,
        seed: 1,
    };
    let identity = suite::identity(&mut connect).unwrap();
    let mut checkpoint = Checkpoint::new("late", identity, options);
    suite::run(&mut connect, &mut checkpoint, &mut IgnoreProgress).unwrap();
    checkpoint
}

/// The suite finds a complete specification within the time limit of a test in a guest: the layout
/// is exact, seek times are about as accurate as reported, and no fact of the buffer is wrong.
#[test]
fn a_late_host_finds_a_complete_specification() {
    let given = spec::parse(SMALL, "guest.toml").unwrap();
    for seed in 1..=4 {
        let checkpoint = measure(&given, seed);
        for record in &checkpoint.records {
            let has_not_failed = !matches!(record.outcome, Outcome::Failed(_));
            assert!(has_not_failed, "seed {seed}: {record:?}");
        }
        assert!(checkpoint.cost().time < Span::from_s(90.0), "seed {seed}");
        assert_eq!(checkpoint.findings.idle.unwrap().rest, Span::ZERO);
        let found = MeasuredDrive::new(&checkpoint, "found").unwrap();
        let compared = Comparison::new(&given, &found.spec).unwrap();
        assert!(compared.layout.is_equal(), "seed {seed}");
        assert!(compared.reads.mean < Span::from_ms(0.05), "seed {seed}");
        let times = SeekTimes::new(&given.mechanics, given.geometry.cylinders);
        let seeks = checkpoint.findings.seeks.as_ref().unwrap();
        // Seeks are measured relative to pairs on one track, whose error is common to all of them.
        let still = Span::from_ms(0.03);
        let is_wrong = |point: &&SeekPoint| {
            let wrong = point.mean.value - times.min(point.distance);
            wrong.max(-wrong) > point.mean.uncertainty + still
        };
        let wrong = seeks.points.iter().filter(is_wrong).count();
        assert!(wrong <= seeks.points.len() / 10, "seed {seed}: {wrong}");
        for value in &found.values {
            let is_measured = matches!(value.provenance, Provenance::Measured { .. });
            let is_of_buffer = value.key.starts_with("buffer.");
            let differs = compared.values.iter().any(|one| one.key.path == value.key);
            assert!(
                !(is_measured && is_of_buffer && differs),
                "seed {seed}: {value:?}"
            );
        }
    }
}
