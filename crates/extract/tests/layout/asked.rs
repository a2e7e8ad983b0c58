//! Layouts of drives that report information about them, correctly or not.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{Geometry, Sparing, Spec};
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};
use diskarm_extract::defects::{self, DefectCounts, Defects};
use diskarm_extract::layout::{self, LayoutFinding, Method, notches, translate};
use diskarm_extract::{Cost, Data, Disk, Error, Reply, SimulatedDrive, Transport, TransportError};
use diskarm_wire::mode::{self, FormatDevice, Notch};

use super::{HOST, catalogued, difference, differences_in_tracks, reads_determine};

/// Start of the error for a 512e drive.
const EMULATES: &str = "the drive emulates sectors of 512 bytes on sectors of 4096 bytes";

const SEND_DIAGNOSTIC: u8 = 0x1d;
const RECEIVE_DIAGNOSTIC_RESULTS: u8 = 0x1c;
const MODE_SENSE_6: u8 = 0x1a;
const READ_CAPACITY_10: u8 = 0x25;
const READ_DEFECT_DATA_10: u8 = 0x37;

/// A drive that does not support some operations and falsifies the answers to others.
struct Altered {
    drive: SimulatedDrive,
    unknown: &'static [u8],
    alter: fn(&[u8], &mut [u8]),
}

impl Altered {
    fn new(spec: &Spec, unknown: &'static [u8], alter: fn(&[u8], &mut [u8])) -> Self {
        Self {
            drive: SimulatedDrive::new(spec, HOST, 1).unwrap(),
            unknown,
            alter,
        }
    }
}

impl Transport for Altered {
    fn execute(&mut self, command: &[u8], mut data: Data<'_>) -> Result<Reply, TransportError> {
        let mut changed = command.to_vec();
        if self.unknown.contains(&command[0]) {
            // A vendor-specific operation, which no modelled disk supports.
            changed[0] = 0xff;
        }
        match &mut data {
            Data::In(room) => {
                let reply = self.drive.execute(&changed, Data::In(room))?;
                if reply.status == 0 {
                    (self.alter)(command, &mut room[..reply.transferred]);
                }
                Ok(reply)
            }
            Data::Out(bytes) => self.drive.execute(&changed, Data::Out(bytes)),
            Data::None => self.drive.execute(&changed, Data::None),
        }
    }

    fn sleep(&mut self, span: Span) {
        self.drive.sleep(span);
    }

    fn now(&self) -> Instant {
        self.drive.now()
    }
}

fn unaltered(_: &[u8], _: &mut [u8]) {}

fn measure_layout(drive: &mut dyn Transport, spec: &Spec) -> (LayoutFinding, Cost) {
    let mut disk = Disk::new(drive).unwrap();
    let chosen = layout::measure(&mut disk, spec.mechanics.period_ns, 1);
    (
        chosen.unwrap_or_else(|error| panic!("{}: {error}", spec.name)),
        disk.cost(),
    )
}

/// Checks that every listed defect is a slip, a reallocation or in unused space of the layout, and
/// that the layout has no others.
fn all_defects_are_found(name: &str, geometry: &Geometry, listed: &Defects) -> DefectCounts {
    let counts = defects::count(geometry, &listed.all()).unwrap();
    assert_eq!(
        (counts.contradicted, counts.unlisted),
        (0, 0),
        "{name}: {counts:?}"
    );
    counts
}

#[test]
fn drives_that_translate_reveal_their_layout() {
    for entry in diskarm_drives::CATALOGUE {
        let spec = catalogued(entry.name);
        if spec.geometry.physical_sector > SectorCount(1) {
            let mut drive = SimulatedDrive::new(&spec, HOST, 1).unwrap();
            let mut disk = Disk::new(&mut drive).unwrap();
            let found = layout::measure(&mut disk, spec.mechanics.period_ns, 1);
            let error = found.expect_err(entry.name).to_string();
            assert!(error.starts_with(EMULATES), "{error}");
            continue;
        }
        let mut drive = SimulatedDrive::new(&spec, HOST, 1).unwrap();
        let (chosen, cost) = measure_layout(&mut drive, &spec);
        assert_eq!(
            chosen.method,
            Method::Translated,
            "{}: {:?}",
            entry.name,
            chosen.refused
        );
        let geometry = &chosen.found.geometry;
        assert_eq!(difference(geometry, &spec.geometry), None, "{}", entry.name);
        let counts = all_defects_are_found(entry.name, geometry, &chosen.defects.unwrap());
        println!(
            "| {} | translate | exact | {} slipped, {} unused | {} | {:.1} s |",
            entry.name,
            counts.slipped,
            counts.unused,
            cost.commands,
            cost.time.as_s()
        );
    }
}

/// Quantum's drives: exact to the sector on all drives whose tracks reads can confirm. Angles are
/// relative to the index mark if a sector is listed as defective, otherwise to the first block.
#[test]
fn drives_that_report_notches_and_cylinders_reveal_their_layout() {
    for entry in diskarm_drives::CATALOGUE {
        let spec = catalogued(entry.name);
        let mut drive = Altered::new(&spec, &[SEND_DIAGNOSTIC], unaltered);
        if !reads_determine(&spec) {
            let mut disk = Disk::new(&mut drive).unwrap();
            let found = layout::measure(&mut disk, spec.mechanics.period_ns, 1);
            let error = found.expect_err(entry.name).to_string();
            assert!(error.starts_with(EMULATES), "{error}");
            continue;
        }
        let (chosen, cost) = measure_layout(&mut drive, &spec);
        assert_eq!(
            chosen.method,
            Method::Notches,
            "{}: {:?}",
            entry.name,
            chosen.refused
        );
        let geometry = &chosen.found.geometry;
        let listed = chosen.defects.unwrap();
        let counts = all_defects_are_found(entry.name, geometry, &listed);
        let by_sector = spec.geometry.sparing != Sparing::TracksPerZone && counts.slipped > 0;
        let differs = if by_sector {
            difference(geometry, &spec.geometry)
        } else {
            difference_up_to_rotation(geometry, &spec.geometry).map(|at| format!("block {}", at.0))
        };
        assert_eq!(differs, None, "{}", entry.name);
        println!(
            "| {} | notches | exact{} | {} slipped, {} unused | {} | {:.1} s |",
            entry.name,
            if by_sector { "" } else { " up to a rotation" },
            counts.slipped,
            counts.unused,
            cost.commands,
            cost.time.as_s()
        );
    }
}

/// Returns the first block on another track, or at another angle relative to the first block.
fn difference_up_to_rotation(found: &Geometry, truth: &Geometry) -> Option<Lbn> {
    if let [Some(at), _] = differences_in_tracks(found, truth) {
        return Some(at);
    }
    let [found, truth] = [found, truth].map(|geometry| Layout::new(geometry).unwrap());
    let mut at = Lbn(0);
    while at.0 < truth.sectors().0 {
        let (one, other) = (found.extent(at), truth.extent(at));
        if (one.cylinder, one.head) != (other.cylinder, other.head) {
            return Some(at);
        }
        at = at + one.sectors.min(other.sectors);
    }
    None
}

/// Returns the content of a mode page returned by MODE SENSE(6).
fn page<'a>(code: u8, command: &[u8], data: &'a mut [u8]) -> Option<&'a mut [u8]> {
    let is_match = command[0] == MODE_SENSE_6 && command[2] & 0x3f == code;
    is_match.then(|| &mut data[6..])
}

/// Nominal numbers of sectors and heads are measured instead, and the difference is reported.
#[test]
fn nominal_values_are_measured_instead() {
    let spec = catalogued("hp-c3323a");
    let mut drive = Altered::new(&spec, &[SEND_DIAGNOSTIC], |command, data| {
        if let Some(page) = page(FormatDevice::CODE, command, data) {
            page[9] = 99;
        }
        if let Some(page) = page(mode::Geometry::CODE, command, data) {
            page[3] = 16;
        }
    });
    let (chosen, _) = measure_layout(&mut drive, &spec);
    assert_eq!(chosen.method, Method::Notches);
    let differs = difference_up_to_rotation(&chosen.found.geometry, &spec.geometry);
    assert_eq!(differs, None);
    for reported in ["99 sectors per track", "16 heads"] {
        let assumed = &chosen.found.assumed;
        assert!(
            assumed.iter().any(|line| line.contains(reported)),
            "{reported}: {assumed:?}"
        );
    }
}

/// If zone boundaries are wrong or READ CAPACITY ignores PMI, the layout is derived from reads, and
/// the reason is reported.
#[test]
fn wrong_boundaries_are_detected() {
    type Lie = (&'static str, fn(&[u8], &mut [u8]));
    let lies: [Lie; 3] = [
        ("MODE SELECT(6) ended", |command, data| {
            // Corrupts the ending boundary of every notch, so that MODE SELECT refuses it.
            if let Some(page) = page(Notch::CODE, command, data) {
                page[13] ^= 1;
            }
        }),
        ("no cylinders", |command, data| {
            if command[0] == READ_CAPACITY_10 && command[8] == 1 {
                data[..4].copy_from_slice(&LAST.to_be_bytes());
            }
        }),
        ("ends with block", |command, data| {
            if command[0] == READ_CAPACITY_10 && command[8] == 1 {
                data[..4].copy_from_slice(&0u32.to_be_bytes());
            }
        }),
    ];
    const LAST: u32 = 2_056_007;
    let spec = catalogued("hp-c3323a");
    for (reason, alter) in lies {
        let mut drive = Altered::new(&spec, &[SEND_DIAGNOSTIC], alter);
        let (chosen, _) = measure_layout(&mut drive, &spec);
        assert_eq!(chosen.method, Method::Timing, "{reason}");
        let reported = &chosen.refused[1].1;
        assert!(reported.contains(reason), "{reason}: {reported}");
        assert_eq!(
            differences_in_tracks(&chosen.found.geometry, &spec.geometry),
            [None, None]
        );
    }
}

/// A drive that translates addresses to wrong sectors.
#[test]
fn translated_locations_are_checked() {
    let spec = catalogued("hp-c3323a");
    let mut drive = Altered::new(&spec, &[], |command, data| {
        if command[0] == RECEIVE_DIAGNOSTIC_RESULTS {
            // The same sector on each track.
            data[10..14].copy_from_slice(&[0, 0, 0, 7]);
        }
    });
    let (chosen, _) = measure_layout(&mut drive, &spec);
    assert_ne!(chosen.method, Method::Translated);
    assert_eq!(chosen.refused[0].0, Method::Translated);
    // Reads do not notice swapped heads, but they notice a rotation of every other track.
    let mut drive = Altered::new(&spec, &[], |command, data| {
        if command[0] == RECEIVE_DIAGNOSTIC_RESULTS && data[9] % 2 == 1 {
            let sector = u32::from_be_bytes([data[10], data[11], data[12], data[13]]);
            data[10..14].copy_from_slice(&(sector ^ 1).to_be_bytes());
        }
    });
    let (chosen, _) = measure_layout(&mut drive, &spec);
    assert_ne!(chosen.method, Method::Translated);
}

/// Without a list of defects the order of heads is unknown; everything else is found.
#[test]
fn drives_without_a_list_of_defects_are_measured() {
    let spec = catalogued("quantum-atlas-iii");
    const UNKNOWN: &[u8] = &[SEND_DIAGNOSTIC, READ_DEFECT_DATA_10, 0xb7];
    let mut drive = Altered::new(&spec, UNKNOWN, unaltered);
    let mut disk = Disk::new(&mut drive).unwrap();
    assert!(matches!(
        defects::read(&mut disk),
        Err(Error::Status { .. })
    ));
    assert!(matches!(
        translate::measure(&mut disk, &[]),
        Err(Error::Status { .. })
    ));
    let found = notches::measure(&mut disk, spec.mechanics.period_ns, &[], 1).unwrap();
    assert!(
        found
            .assumed
            .iter()
            .any(|reported| reported.contains("order of heads"))
    );
    let differs = differences_in_tracks(&found.geometry, &spec.geometry);
    assert_eq!(differs, [None, None]);
}
