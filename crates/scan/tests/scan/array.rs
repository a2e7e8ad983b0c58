//! Scans of arrays.

use std::sync::Arc;

use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::mirror::{Mirror, Mirroring};
use diskarm_core::raid::{Level, Raid, Striping};
use diskarm_core::sched::PolicyConfig;
use diskarm_core::spec::Spec;
use diskarm_core::text::InputError;
use diskarm_core::tower::BoxedDevice;
use diskarm_core::units::{Angle, Bytes, SectorCount, Span};
use diskarm_core::workload::{self, Workload};
use diskarm_scan::{Disk, OnPredicted, OnProgress, Place, Requests, Scan, Scanned, Settings};

use crate::bench::{CLOSED, policy, small};

/// Scans the disks of an array of this many blocks until all is read.
fn scanned(
    spec: &Spec,
    place: Place,
    sectors: SectorCount,
    build: impl Fn(&Disk<'_>) -> BoxedDevice,
) -> Scanned {
    let (policy, workload) = (policy("sptf-sw(n=40%)"), load(sectors));
    let scan = scan(spec, place, &policy, &workload);
    let built = |disk: &Disk<'_>| Ok::<_, InputError>(build(disk));
    scan.run_array(built).expect("a sound layout")
}

fn load(sectors: SectorCount) -> Workload {
    let sector = Bytes(512);
    Workload::parse(CLOSED, workload::Disk { sectors, sector }).expect("a workload")
}

/// With no care, as the model is the drive.
fn scan<'a>(
    spec: &'a Spec,
    place: Place,
    policy: &'a PolicyConfig,
    workload: &'a Workload,
) -> Scan<'a> {
    Scan {
        spec,
        model: spec,
        requests: Requests::Generated(workload),
        policy,
        place,
        settings: Settings {
            conservatism: Span::ZERO,
            ..Settings::default()
        },
        seed: 5,
        max_requests: 200_000,
        on_progress: OnProgress::default(),
        on_predicted: OnPredicted::default(),
    }
}

fn mechanism(spec: &Spec) -> Mechanism {
    let layout = Arc::new(Layout::new(&spec.geometry).expect("a sound layout"));
    Mechanism::new(spec, layout, Angle::ZERO)
}

/// An array of one disk, in a unit, is scanned as the disk is.
#[test]
fn an_array_of_one_disk_is_that_disk() {
    let spec = small();
    let sectors = spec.geometry.sectors;
    for place in [Place::Outside(1), Place::Inside] {
        let (policy, workload) = (policy("sptf-sw(n=40%)"), load(sectors));
        let alone = scan(&spec, place, &policy, &workload).run();
        let alone = alone.expect("a sound layout");
        let array = scanned(&spec, place, sectors, |disk| {
            let striping = Striping {
                level: Level::Zero,
                unit: sectors,
                policy: PolicyConfig::default(),
                failures: Vec::new(),
                rebuild_share: None,
            };
            let disks = vec![disk(mechanism(&spec), 5)];
            BoxedDevice::opaque(Raid::new(disks, &striping).expect("an array"))
        });
        assert!(alone.is_complete() && array.is_complete());
        assert_eq!(alone.percents, array.percents);
        assert_eq!(alone.by_part, array.by_part);
        // A read over the border of two parts is of both.
        let is_share = |share: &f64| (0.0..=1.0).contains(share);
        assert!(
            alone.by_part.iter().flatten().all(is_share),
            "{:?}",
            alone.by_part
        );
        assert_eq!(alone.figures, array.figures);
        assert_eq!(alone.foreground, array.foreground);
        assert_eq!(alone.alone, array.alone);
        assert_eq!(alone.seen, array.seen);
    }
}

/// Every block of both disks of a pair is read once, and no request of the pair is delayed.
#[test]
fn both_disks_of_a_pair_are_scanned() {
    let spec = small();
    let sectors = spec.geometry.sectors;
    for place in [Place::Outside(1), Place::Inside] {
        let pair = scanned(&spec, place, sectors, |disk| {
            let members = [1, 2].map(|seed| disk(mechanism(&spec), seed));
            let pair = Mirror::new(members, &Mirroring::default()).expect("a pair");
            BoxedDevice::opaque(pair)
        });
        assert!(pair.is_complete(), "{pair:?}");
        assert_eq!(pair.sectors.0, 2 * sectors.0);
        assert_eq!(pair.figures.sectors, 2 * sectors.0);
        assert_eq!(pair.figures.delayed, 0);
        assert!(pair.slowdown().abs() < 0.01, "{}", pair.slowdown());
    }
}
