//! The whole suite: interrupted runs, failing drives, and failing transports.

use diskarm_core::spec::{self, Spec};
use diskarm_core::units::{Instant, Span};
use diskarm_extract::suite::{
    self, Checkpoint, MEASUREMENTS, MeasuredDrive, Observer, Options, Outcome, Progress,
    Provenance, RunError,
};
use diskarm_extract::{Data, Effort, HostDelay, Reply, SimulatedDrive, Transport, TransportError};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

const HOST: HostDelay = HostDelay {
    min: Span::from_ns(50_000),
    max: Span::from_ns(150_000),
};

const OPTIONS: Options = Options {
    effort: Effort::Quick,
    writes: true,
    seed: 1,
};

fn catalogued(name: &str) -> Spec {
    spec::parse(diskarm_drives::find(name).unwrap().text, name).unwrap()
}

/// Connects to a new drive.
fn connected(spec: &Spec, seed: u64) -> Result<Box<dyn Transport>, TransportError> {
    Ok(Box::new(SimulatedDrive::new(spec, HOST, seed).unwrap()))
}

/// Interrupts a run after some measurements.
struct Interrupted {
    left: usize,
    kept: String,
}

impl Observer for Interrupted {
    fn progressed(&mut self, _: &Progress) {}

    fn save(&mut self, checkpoint: &Checkpoint) -> Result<(), String> {
        self.kept = checkpoint.text();
        self.left = self.left.checked_sub(1).ok_or("interrupted")?;
        Ok(())
    }
}

/// An observer that never interrupts.
fn patient() -> Interrupted {
    Interrupted {
        left: usize::MAX,
        kept: String::new(),
    }
}

fn start(spec: &Spec, options: Options) -> Checkpoint {
    let identity = suite::identity(&mut |seed| connected(spec, seed)).unwrap();
    Checkpoint::new("sim:test", identity, options)
}

/// Returns the outcomes of all measurements of a run.
fn outcomes(checkpoint: &Checkpoint) -> Vec<(&str, &Outcome)> {
    let records = checkpoint.records.iter();
    records
        .map(|record| (record.name.as_str(), &record.outcome))
        .collect()
}

#[test]
fn an_interrupted_run_has_the_same_results() {
    let spec = catalogued("hp-c2247");
    let mut whole = start(&spec, OPTIONS);
    suite::run(
        &mut |seed| connected(&spec, seed),
        &mut whole,
        &mut patient(),
    )
    .unwrap();
    for (name, outcome) in outcomes(&whole) {
        assert_eq!(*outcome, Outcome::Done, "{name}");
    }

    let mut text = start(&spec, OPTIONS).text();
    for done in 1..=MEASUREMENTS.len() {
        let mut part = Checkpoint::parse(&text).unwrap();
        let mut once = Interrupted {
            left: 0,
            kept: String::new(),
        };
        let stopped = suite::run(&mut |seed| connected(&spec, seed), &mut part, &mut once);
        assert_eq!(stopped, Err(RunError::Checkpoint("interrupted".to_owned())));
        text = once.kept;
        assert_eq!(Checkpoint::parse(&text).unwrap().records.len(), done);
    }
    assert_eq!(text, whole.text());
    let described = |checkpoint| MeasuredDrive::new(checkpoint, "found").unwrap().text();
    let continued = Checkpoint::parse(&text).unwrap();
    assert_eq!(described(&continued), described(&whole));
}

/// On a drive whose transfers continue to the next track in less time than requests need, the
/// results for the head switch and the settling time are bounds, which hold and are called bounds.
/// If transfers need as long as requests, the head switch is measured.
#[test]
fn bounds_of_a_head_switch_are_reported_as_bounds() {
    let last = MEASUREMENTS
        .iter()
        .position(|one| one.name == "write-seeks");
    for (name, is_bound) in [("hp-c2247-calibrated", true), ("hp-c2247", false)] {
        let given = catalogued(name);
        let mut mechanics = Interrupted {
            left: last.unwrap(),
            kept: String::new(),
        };
        let mut checkpoint = start(&given, OPTIONS);
        let connect = &mut |seed| connected(&given, seed);
        suite::run(connect, &mut checkpoint, &mut mechanics).unwrap_err();
        let found = MeasuredDrive::new(&checkpoint, "found").unwrap();
        let provenance = |key| {
            let mut values = found.values.iter();
            values
                .find(|value| value.key == key)
                .map(|value| value.provenance.clone())
        };
        let switch = provenance("mechanics.head_switch").unwrap();
        let settle = provenance("mechanics.cylinder_settle");
        if !is_bound {
            assert!(matches!(switch, Provenance::Measured { .. }), "{switch}");
            assert_eq!(settle, None);
            continue;
        }
        let settle = settle.unwrap();
        assert!(matches!(&switch, Provenance::Assumed(what) if what.contains("may be shorter")));
        assert!(matches!(&settle, Provenance::Assumed(what) if what.contains("lower bound")));
        let [was, is] = [&given, &found.spec].map(|spec| &spec.mechanics);
        let margin = Span::from_us(20.0);
        assert!(was.head_switch <= is.head_switch + margin, "{switch}");
        assert!(
            was.cylinder_settle + margin >= is.cylinder_settle,
            "{settle}"
        );
    }
}

/// A fault of a drive or its transport.
#[derive(Clone, Copy)]
enum Fault {
    /// The transport fails after this many commands.
    Dies(u64),
    /// No command is answered after this many in a connection.
    Hangs(u64),
    /// All commands end with CHECK CONDITION after this many in a connection.
    Refuses(u64),
    /// Commands end with a random delay up to this.
    Dawdles(Span),
    /// Data are random, except for the capacity.
    Babbles,
    /// Each command takes an hour.
    Crawls,
}

/// A drive with a fault.
struct Faulty {
    drive: Box<dyn Transport>,
    fault: Fault,
    commands: u64,
    later: Span,
    generator: Pcg64Mcg,
}

impl Faulty {
    fn connected(
        spec: &Spec,
        fault: Fault,
        seed: u64,
    ) -> Result<Box<dyn Transport>, TransportError> {
        Ok(Box::new(Self {
            drive: connected(spec, seed)?,
            fault,
            commands: 0,
            later: Span::ZERO,
            generator: Pcg64Mcg::seed_from_u64(seed),
        }))
    }

    fn delay(&mut self, max: Span) {
        let random = self.generator.next_u64() % max.as_ns() as u64;
        self.later += Span::from_ns(random as i64);
    }
}

impl Transport for Faulty {
    fn execute(&mut self, command: &[u8], mut data: Data<'_>) -> Result<Reply, TransportError> {
        self.commands += 1;
        let is_capacity = command[0] == 0x25;
        let sent = self.later;
        match self.fault {
            Fault::Dies(after) if self.commands > after => {
                return Err(TransportError::Lost("the cable is out".to_owned()));
            }
            Fault::Hangs(after) if self.commands > after => {
                self.later += Span::from_s(30.0);
                return Err(TransportError::Unanswered("no end in time".to_owned()));
            }
            Fault::Dawdles(max) => self.delay(max),
            Fault::Crawls => self.later += Span::from_s(3600.0),
            _ => {}
        }
        let mut reply = match &mut data {
            Data::In(bytes) => self.drive.execute(command, Data::In(bytes))?,
            Data::Out(bytes) => self.drive.execute(command, Data::Out(bytes))?,
            Data::None => self.drive.execute(command, Data::None)?,
        };
        match self.fault {
            Fault::Refuses(after) if self.commands > after => reply.status = 2,
            Fault::Babbles if !is_capacity => {
                if let Data::In(bytes) = &mut data {
                    bytes.fill_with(|| self.generator.next_u64() as u8);
                }
            }
            _ => {}
        }
        reply.sent = reply.sent.shifted(sent);
        reply.ended = reply.ended.shifted(self.later);
        Ok(reply)
    }

    fn sleep(&mut self, span: Span) {
        self.drive.sleep(span);
    }

    fn now(&self) -> Instant {
        self.drive.now().shifted(self.later)
    }
}

/// Runs the suite on a drive with a fault.
fn faulty(fault: Fault, options: Options) -> (Checkpoint, Result<(), RunError>) {
    let spec = catalogued("hp-c2247");
    let mut checkpoint = start(&spec, options);
    let mut connect = |seed| Faulty::connected(&spec, fault, seed);
    let result = suite::run(&mut connect, &mut checkpoint, &mut patient());
    (checkpoint, result)
}

#[test]
fn a_failed_transport_leaves_the_findings() {
    // More than the rotation and the layout need, fewer than the seeks need.
    let (checkpoint, stopped) = faulty(Fault::Dies(1_000), OPTIONS);
    let Err(RunError::Transport { during, broken }) = stopped else {
        panic!("{stopped:?}");
    };
    assert_eq!(
        (during, broken.to_string().as_str()),
        (Some("layout"), "the cable is out")
    );
    assert_eq!(outcomes(&checkpoint), [("rotation", &Outcome::Done)]);
    assert!(checkpoint.findings.rotation.is_some());
}

#[test]
fn a_hanging_drive_only_fails_the_affected_measurements() {
    let (checkpoint, stopped) = faulty(Fault::Hangs(700), OPTIONS);
    assert_eq!(stopped, Ok(()));
    let outcome = |name| &checkpoint.record(name).unwrap().outcome;
    assert_eq!(*outcome("rotation"), Outcome::Done);
    let expected = Outcome::Failed("no end in time".to_owned());
    assert_eq!(*outcome("layout"), expected);
    assert_eq!(checkpoint.records.len(), MEASUREMENTS.len());
}

#[test]
fn failed_measurements_do_not_stop_others() {
    // Fewer than the seeks and the writes need, more than all others need: the
    // layout alone needs more.
    let (checkpoint, stopped) = faulty(Fault::Refuses(700), OPTIONS);
    assert_eq!(stopped, Ok(()));
    let expected: Vec<&str> = MEASUREMENTS.iter().map(|one| one.name).collect();
    let found: Vec<&str> = outcomes(&checkpoint)
        .iter()
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(found, expected);
    let outcome = |name| &checkpoint.record(name).unwrap().outcome;
    assert_eq!(*outcome("rotation"), Outcome::Done);
    assert!(
        matches!(outcome("layout"), Outcome::Failed(_)),
        "{:?}",
        outcome("layout")
    );
    for name in ["idle", "seeks"] {
        let expected = "needs layout, which failed".to_owned();
        assert_eq!(*outcome(name), Outcome::Skipped(expected), "{name}");
    }
    let error = MeasuredDrive::new(&checkpoint, "found").unwrap_err();
    assert!(error.contains("measuring layout failed"), "{error}");
}

#[test]
fn without_writes_only_reads_are_measured() {
    let options = Options {
        writes: false,
        ..OPTIONS
    };
    let (checkpoint, stopped) = faulty(Fault::Refuses(u64::MAX), options);
    assert_eq!(stopped, Ok(()));
    for (measurement, (_, outcome)) in MEASUREMENTS.iter().zip(outcomes(&checkpoint)) {
        let expected = match measurement.writes {
            true => Outcome::Skipped("needs writes, which were not allowed".to_owned()),
            false => Outcome::Done,
        };
        assert_eq!(*outcome, expected, "{}", measurement.name);
    }
    let text = MeasuredDrive::new(&checkpoint, "found").unwrap().text();
    assert!(text.contains("# Not determined: needs writes,"), "{text}");
}

#[test]
fn nonsensical_drives_do_not_stop_the_run() {
    let faults = [
        Fault::Dawdles(Span::from_ms(1.0)),
        Fault::Dawdles(Span::from_ms(30.0)),
        Fault::Babbles,
        Fault::Crawls,
    ];
    for fault in faults {
        let (checkpoint, stopped) = faulty(fault, OPTIONS);
        assert_eq!(stopped, Ok(()));
        assert_eq!(checkpoint.records.len(), MEASUREMENTS.len());
        for (name, outcome) in outcomes(&checkpoint) {
            let why = match outcome {
                Outcome::Done => continue,
                Outcome::Failed(why) | Outcome::Skipped(why) => why,
            };
            assert!(!why.is_empty(), "{name}");
        }
    }
}

#[test]
fn a_checkpoint_belongs_to_one_drive_and_its_options() {
    let checkpoint = start(&catalogued("hp-c2247"), OPTIONS);
    let other = start(&catalogued("dec-rz26"), OPTIONS);
    let error = checkpoint.check(&other).unwrap_err();
    assert!(error.contains("another drive"), "{error}");
    let longer = Options {
        effort: Effort::Thorough,
        ..OPTIONS
    };
    let mut slower = checkpoint.clone();
    slower.options = longer;
    let error = slower.check(&checkpoint).unwrap_err();
    assert!(error.contains("thorough effort"), "{error}");
    assert_eq!(checkpoint.check(&checkpoint), Ok(()));
    let error = Checkpoint::parse("{\"version\": 99}").unwrap_err();
    assert!(error.contains("version 99"), "{error}");
    assert!(Checkpoint::parse("[geometry]").is_err());
}

/// Compares the predicted with the actual duration of a run.
struct Timekeeper {
    said: Option<Span>,
    took: Span,
}

impl Observer for Timekeeper {
    fn progressed(&mut self, progress: &Progress) {
        self.said.get_or_insert(progress.left);
        assert!(progress.left >= Span::ZERO && progress.cost.time >= self.took);
        self.took = progress.cost.time;
    }

    fn save(&mut self, _: &Checkpoint) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn the_time_left_is_right_within_a_factor_of_three() {
    for (name, effort) in [
        ("hp-c2247", Effort::Quick),
        ("hp-c2490a", Effort::Normal),
        ("seagate-st41601n", Effort::Thorough),
    ] {
        let spec = catalogued(name);
        let options = Options { effort, ..OPTIONS };
        let mut keeper = Timekeeper {
            said: None,
            took: Span::ZERO,
        };
        let mut checkpoint = start(&spec, options);
        suite::run(
            &mut |seed| connected(&spec, seed),
            &mut checkpoint,
            &mut keeper,
        )
        .unwrap();
        let (said, took) = (keeper.said.unwrap(), keeper.took);
        let ratio = said.as_s() / took.as_s();
        assert!(
            (1.0 / 3.0..3.0).contains(&ratio),
            "{name}: {said} said, {took} taken"
        );
    }
}

/// A drive that exposes only its first blocks, as a target may do. Measurements that are impossible
/// on so few blocks report it.
#[test]
fn small_disks_are_measured_where_possible() {
    for (blocks, failed) in [
        (200_000, None),
        (5_000, Some("buffer")),
        (100, Some("seeks")),
        (2, Some("seeks")),
    ] {
        let mut spec = catalogued("quantum-atlas-iii");
        let less = spec.geometry.sectors.0 - blocks;
        spec.geometry.sectors.0 -= less;
        spec.geometry.unused_sectors.0 += less;
        let mut checkpoint = start(&spec, OPTIONS);
        let mut connect = |seed| connected(&spec, seed);
        suite::run(&mut connect, &mut checkpoint, &mut patient()).unwrap();
        let outcome = |name| &checkpoint.record(name).unwrap().outcome;
        match failed {
            Some(name) => assert!(
                matches!(outcome(name), Outcome::Failed(_)),
                "{blocks}: {:?}",
                outcome(name)
            ),
            None => assert_eq!(*outcome("buffer"), Outcome::Done, "{blocks}"),
        }
    }
}
