//! Facts found about simulated drives' buffers match their specifications.

mod battery;
mod variants;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{self, Buffer, Key, Overheads, Spec, Value, WriteCache};
use diskarm_core::units::{SectorCount, Span};
use diskarm_extract::cache::{self, Facts, Finding};
use diskarm_extract::{
    Cost, Disk, Effort, Error, HostDelay, NoisyTransport, Setup, SimulatedDrive, Transport, timing,
};

const HOST: HostDelay = HostDelay {
    min: Span::from_ns(50_000),
    max: Span::from_ns(150_000),
};

/// Number of request sequences sent to both drives.
const SEQUENCES: u32 = 1000;

fn catalogued(name: &str) -> Spec {
    spec::parse(diskarm_drives::find(name).unwrap().text, name).unwrap()
}

/// Measures the buffer of a drive with a known layout, and returns the cost.
fn measure(given: &Spec, writes: bool, seed: u64) -> Result<(Facts, Cost, f64), Error> {
    let mut drive = SimulatedDrive::new(given, HOST, seed).unwrap();
    measure_through(&mut drive, given, writes, seed)
}

/// Like [`measure`], but through any transport.
fn measure_through(
    drive: &mut dyn Transport,
    given: &Spec,
    writes: bool,
    seed: u64,
) -> Result<(Facts, Cost, f64), Error> {
    let mut disk = Disk::new(drive)?;
    let layout = Layout::new(&given.geometry).unwrap();
    let effort = Effort::Normal;
    let mut timing = timing::measure(&mut disk, &layout, effort, seed)?;
    if writes {
        let written = timing::measure_writes(&mut disk, &layout, &timing, effort, seed)?;
        timing.written = Some(written);
    }
    let setup = Setup {
        layout: &layout,
        rotation: timing.rotation,
        idle: timing.idle,
        effort,
        seed,
    };
    let mut known = Spec {
        geometry: given.geometry.clone(),
        ..Spec::default()
    };
    timing.describe(&mut known);
    let before = disk.cost();
    let clock = std::time::Instant::now();
    let facts = match &timing.written {
        Some(written) => cache::measure_writes(&mut disk, &setup, &known, &written.hits)?,
        None => cache::measure(&mut disk, &setup, &known)?,
    };
    let wall = clock.elapsed().as_secs_f64();
    let after = disk.cost();
    let cost = Cost {
        commands: after.commands - before.commands,
        time: after.time - before.time,
        ..after
    };
    Ok((facts, cost, wall))
}

/// The findings about a buffer, compared with the given one.
struct Assessment {
    right: u32,
    open: Vec<String>,
    wrong: Vec<String>,
    described: Spec,
}

fn assess(given: &Spec, facts: &Facts) -> Assessment {
    let mut described = Spec {
        buffer: Buffer::default(),
        ..given.clone()
    };
    facts.describe(&mut described);
    let mut assessment = Assessment {
        right: 0,
        open: Vec::new(),
        wrong: Vec::new(),
        described,
    };
    for fact in &facts.facts {
        let key = Key::find(fact.key).unwrap();
        let [is, was] = [&assessment.described, given].map(|spec| key.get(spec));
        match &fact.finding {
            Finding::Found { .. } if agree(is.as_ref(), was.as_ref()) => assessment.right += 1,
            Finding::Found { agreed, trials, .. } => {
                let trials = format!("{agreed} of {trials}");
                assessment
                    .wrong
                    .push(format!("{}: {is:?} for {was:?}, {trials}", key.name()));
            }
            Finding::NotDeterminable { reason, .. } => {
                let differs = if agree(is.as_ref(), was.as_ref()) {
                    ""
                } else {
                    "!"
                };
                assessment
                    .open
                    .push(format!("{}{differs} ({reason})", key.name()));
            }
        }
    }
    assessment
}

/// Returns true if two values are equal, numbers and times (in ms) within 0.05.
fn agree(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => (a - b).abs() < 0.05,
        (Some(Value::Time(a)), Some(Value::Time(b))) => (*a - *b).as_ms().abs() < 0.05,
        (a, b) => a == b,
    }
}

/// Every fact is right or not determinable, and the measured buffer behaves like the given one.
#[test]
fn facts_of_the_catalogue_are_right_or_not_determinable() {
    for drive in diskarm_drives::CATALOGUE {
        let given = spec::parse(drive.text, drive.name).unwrap();
        // Without a layout, the suite skips the buffer of a drive that emulates sectors.
        if given.geometry.physical_sector.0 > 1 {
            continue;
        }
        let (facts, cost, wall) = measure(&given, true, 7).unwrap();
        let found = assess(&given, &facts);
        let differing = battery::count_differing(&given, &found.described, true, (SEQUENCES, 3));
        println!(
            "{}: {} commands, {:.1} min, {wall:.1} s; {} right, {differing} of {SEQUENCES} differ",
            drive.name,
            cost.commands,
            cost.time.as_s() / 60.0,
            found.right
        );
        println!("    not determinable: {}", found.open.join(", "));
        assert!(found.wrong.is_empty(), "{}: {:?}", drive.name, found.wrong);
        assert!(differing * 50 <= SEQUENCES, "{}: {differing}", drive.name);
        assert!(cost.time < Span::from_s(480.0), "{}: {cost:?}", drive.name);
    }
}

/// A write cache with several ranges is not mistaken for one with a single range: the suite reports
/// an unsupported kind of cache, and no other fact is wrong.
#[test]
fn a_deferred_write_cache_is_recognized() {
    let at_once = |spec: Spec| Spec {
        overheads: Overheads {
            read_hit_after_read: spec.overheads.read_hit_after_read,
            read_hit_after_write: spec.overheads.read_hit_after_write,
            ..Overheads::default()
        },
        ..spec
    };
    let drives = [
        (catalogued("hp-c2247"), 64),
        (catalogued("seagate-st41601n"), 2048),
        // Neither misses nor absorbed writes need any processing.
        (at_once(catalogued("hp-c2247")), 64),
    ];
    for (mut given, dirty) in drives {
        let name = given.name.clone();
        given.buffer.write_cache = WriteCache::Deferred;
        given.buffer.dirty_max = SectorCount(dirty);
        assert_eq!(given.contradiction(), None, "{name}");
        let (facts, ..) = measure(&given, true, 7).unwrap();
        let of_cache = facts
            .facts
            .iter()
            .find(|fact| fact.key == "buffer.write_cache");
        let finding = &of_cache.unwrap().finding;
        let Finding::NotDeterminable { reason, .. } = finding else {
            panic!("{name}: {finding:?}");
        };
        assert!(reason.contains("deferred"), "{name}: {reason}");
        // The capacity of such a cache must not be combined with another kind of cache.
        given.buffer.dirty_max = SectorCount(0);
        given.buffer.write_cache = WriteCache::Always;
        let found = assess(&given, &facts);
        assert!(found.wrong.is_empty(), "{name}: {:?}", found.wrong);
        assert_eq!(found.described.contradiction(), None, "{name}");
        // The same drive with a single-range cache is not mistaken for a deferred one.
        let (facts, ..) = self::measure(&given, true, 7).unwrap();
        let is_always = |fact: &cache::Fact| match &fact.finding {
            Finding::Found { value, .. } => *value == Value::Word("always"),
            Finding::NotDeterminable { .. } => false,
        };
        let of_cache = facts
            .facts
            .iter()
            .find(|fact| fact.key == "buffer.write_cache");
        assert!(of_cache.is_some_and(is_always), "{name}: {of_cache:?}");
    }
}

/// If read-ahead leaves room in a segment and only reads could show it, the segment is not reported
/// to be as large as read-ahead, for any random numbers.
#[test]
fn a_segment_is_not_reported_to_equal_read_ahead() {
    for seed in [1, 3, 5] {
        let mut given = catalogued("hp-c2247");
        assert!(given.buffer.read_ahead_max < given.buffer.segment);
        given.buffer.write_cache = WriteCache::Deferred;
        given.buffer.dirty_max = SectorCount(64);
        let (facts, ..) = measure(&given, true, seed).unwrap();
        given.buffer.dirty_max = SectorCount(0);
        given.buffer.write_cache = WriteCache::Always;
        let found = assess(&given, &facts);
        assert!(found.wrong.is_empty(), "seed {seed}: {:?}", found.wrong);
    }
}

/// No hit reveals the bus rate of a drive that only matches speeds: its zero-latency reads are
/// right or not determinable, but never ruled out.
#[test]
fn zero_latency_reads_are_not_ruled_out_without_hits() {
    for is_on_arrival in [false, true] {
        for name in ["hp-c2247", "seagate-st41601n"] {
            let mut given = catalogued(name);
            given.buffer = Buffer {
                read_on_arrival: is_on_arrival,
                ..Buffer::default()
            };
            let (facts, ..) = measure(&given, true, 7).unwrap();
            let found = assess(&given, &facts);
            assert!(found.wrong.is_empty(), "{name}: {:?}", found.wrong);
        }
    }
}

/// Like the previous test, with noise of 0.1 ms.
#[test]
fn noise_does_not_change_facts() {
    for name in [
        "seagate-st41601n",
        "hp-c3323a",
        "quantum-atlas-iii",
        "dec-rz26",
    ] {
        let given = catalogued(name);
        let drive = SimulatedDrive::new(&given, HOST, 7).unwrap();
        let mut noisy = NoisyTransport::new(Box::new(drive), Span::from_us(100.0), 7);
        let (facts, cost, wall) = measure_through(&mut noisy, &given, true, 7).unwrap();
        let found = assess(&given, &facts);
        let differing = battery::count_differing(&given, &found.described, true, (SEQUENCES, 3));
        println!(
            "{name} with noise: {} commands, {:.1} min, {wall:.1} s; {} right, {differing} of \
             {SEQUENCES} differ",
            cost.commands,
            cost.time.as_s() / 60.0,
            found.right
        );
        assert!(found.wrong.is_empty(), "{name}: {:?}", found.wrong);
        assert!(differing * 50 <= SEQUENCES, "{name}: {differing}");
    }
}
