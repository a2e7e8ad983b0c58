//! Measures a drive from scratch: its layout, and its timing on that layout. The resulting
//! specification, written and parsed again, is compared with the one that the drive was made from.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{self, Key, Source, Spec, Value};
use diskarm_core::units::{SectorCount, Span};
use diskarm_extract::layout::translate;
use diskarm_extract::suite::{
    self, Checkpoint, MeasuredDrive, Observer, Options, Progress, Provenance,
};
use diskarm_extract::{
    Comparison, Cost, Disk, Effort, Error, HostDelay, ObservableTimes, SimulatedDrive, Transport,
    TransportError, timing,
};

const HOST: HostDelay = HostDelay {
    min: Span::from_ns(50_000),
    max: Span::from_ns(150_000),
};

/// Drives whose seeks do not scatter and that need no time to settle on the current track, so that
/// reads determine their seek curves.
const DRIVES: [&str; 10] = [
    "dec-rz26",
    "hp-c2247",
    "hp-c2490a",
    "hp-c3323a",
    "ibm-dnes-309170w",
    "quantum-atlas-10k",
    "quantum-atlas-iii",
    "seagate-barracuda-st32171w",
    "seagate-cheetah-st34501n",
    "seagate-st41601n",
];

fn catalogued(name: &str) -> Spec {
    spec::parse(diskarm_drives::find(name).unwrap().text, name).unwrap()
}

/// Returns the specification derived from commands, and their cost.
fn extract(given: &Spec, seed: u64) -> Result<(Spec, Cost), Error> {
    let mut drive = SimulatedDrive::new(given, HOST, seed).unwrap();
    let mut disk = Disk::new(&mut drive)?;
    let geometry = translate::measure(&mut disk, &[])?.geometry;
    let layout = Layout::new(&geometry).expect("the found geometry is consistent");
    let mut timing = timing::measure(&mut disk, &layout, Effort::Normal, seed)?;
    let written = timing::measure_writes(&mut disk, &layout, &timing, Effort::Normal, seed)?;
    timing.written = Some(written);
    let mut found = Spec {
        name: "found".to_owned(),
        summary: "A drive that was measured".to_owned(),
        source: Source {
            origin: "Measured through commands".to_owned(),
            ..Source::default()
        },
        geometry,
        ..Spec::default()
    };
    timing.describe(&mut found);
    Ok((found, disk.cost()))
}

#[test]
fn the_extracted_specification_equals_the_given_one() {
    for name in DRIVES {
        let given = catalogued(name);
        let (found, cost) = extract(&given, 5).unwrap_or_else(|error| panic!("{name}: {error}"));
        let text = diskarm_drives::text::specification(&found, &|_| None);
        let read = spec::parse(&text, name).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(read, found, "{name}");

        let compared = Comparison::new(&given, &read).unwrap();
        assert_eq!(compared.layout.first_elsewhere, None, "{name}");
        assert_eq!(compared.layout.other_track, SectorCount(0), "{name}");
        assert_eq!(compared.layout.blocks, given.geometry.sectors, "{name}");
        let (distance, [first, second]) = compared.reads.largest;
        let difference = (second - first).as_ms().abs();
        let bound = f64::max(0.02, first.as_ms() / 100.0);
        assert!(
            difference <= bound,
            "{name}: {difference} ms over {distance} cylinders"
        );
        let period = read.mechanics.period_ns - given.mechanics.period_ns;
        assert!(period.abs() < 6.0, "{name}: {period} ns");
        // The budget of the whole suite is 30 minutes.
        assert!(cost.time.as_s() < 900.0, "{name}: {cost:?}");
    }
}

struct IgnoreProgress;

impl Observer for IgnoreProgress {
    fn progressed(&mut self, _: &Progress) {}

    fn save(&mut self, _: &Checkpoint) -> Result<(), String> {
        Ok(())
    }
}

/// Runs the whole suite on a drive.
fn describe(given: &Spec, seed: u64) -> MeasuredDrive {
    let mut connect = |seed| -> Result<Box<dyn Transport>, TransportError> {
        Ok(Box::new(SimulatedDrive::new(given, HOST, seed).unwrap()))
    };
    let options = Options {
        effort: Effort::Quick,
        writes: true,
        seed,
    };
    let identity = suite::identity(&mut connect).unwrap();
    let mut checkpoint = Checkpoint::new(&given.name, identity, options);
    suite::run(&mut connect, &mut checkpoint, &mut IgnoreProgress).unwrap();
    MeasuredDrive::new(&checkpoint, "found").unwrap()
}

/// Two drives, and the facts of their buffers that remain undetermined.
const UNDETERMINED: [(&str, &[&str]); 2] = [
    (
        "hp-c3323a",
        &[
            "write_stops_read_ahead",
            "read_whole_track",
            "write_watermark",
            "watermark_of",
        ],
    ),
    (
        "seagate-st41601n",
        &[
            "write_stops_read_ahead",
            "read_before_requested",
            "read_whole_track",
            "partial_hits_at_once",
            "write_invalidates",
            "read_watermark",
            "write_watermark",
            "watermark_of",
        ],
    ),
];

/// Runs the whole suite on two drives with different buffers and sparing: every block is at its
/// location, sums of overheads are within 0.02 ms, and no fact found about the buffer is wrong.
#[test]
fn the_suite_describes_two_drives() {
    for (name, open) in UNDETERMINED {
        let given = catalogued(name);
        let described = describe(&given, 1);
        let found = &described.spec;
        let compared = Comparison::new(&given, found).unwrap();
        assert!(compared.layout.is_equal(), "{name}: {:?}", compared.layout);
        let sums = [&given, found].map(|spec| ObservableTimes::new(spec).sums());
        for ((what, was), (_, is)) in sums[0].iter().zip(&sums[1]) {
            // Sums with a seek may differ by one per cent of its time.
            let allowed = if what.starts_with("seek") { 0.1 } else { 0.02 };
            let error = (*is - *was).as_ms();
            assert!(error.abs() < allowed, "{name}: {what}: {is}, given {was}");
        }
        let facts = described
            .values
            .iter()
            .filter(|value| value.key.starts_with("buffer."));
        let mut undetermined = Vec::new();
        for value in facts {
            let key = Key::find(value.key).unwrap();
            let [was, is] = [&given, found].map(|spec| key.get(spec));
            match value.provenance {
                Provenance::Measured { .. } => {
                    let same = agree(was.as_ref(), is.as_ref());
                    assert!(same, "{name}: {}: {is:?}, given {was:?}", value.key);
                }
                Provenance::Assumed(_) | Provenance::Unknown(_) => undetermined.push(key.name()),
            }
        }
        assert_eq!(undetermined, *open, "{name}");
    }
}

/// Compares values; fractions need only agree to within a few per cent.
fn agree(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => (a - b).abs() <= 0.05,
        (a, b) => a == b,
    }
}
