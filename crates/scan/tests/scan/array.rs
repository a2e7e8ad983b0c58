//! Scans of arrays.

use std::sync::{Arc, Mutex};

use diskarm_core::freeblock::{BlockSet, Delivery};
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::mirror::{Mirror, MirrorConfig};
use diskarm_core::raid::{Level, Raid, RaidConfig};
use diskarm_core::sched::PolicyConfig;
use diskarm_core::spec::Spec;
use diskarm_core::stack::BoxedDevice;
use diskarm_core::text::InputError;
use diskarm_core::units::{Angle, Bytes, SectorCount, Span};
use diskarm_core::workload::{self, Workload};
use diskarm_scan::{
    BackgroundSettings, DiskFactory, OnPrediction, OnProgress, Requests, Scan, ScanReport,
    SchedulerLocation,
};

use crate::bench::{CLOSED, policy, small};

/// Scans the disks of an array of `sectors` blocks until all blocks are read.
fn scan_array(
    spec: &Spec,
    location: SchedulerLocation,
    sectors: SectorCount,
    build: impl Fn(&DiskFactory<'_>) -> BoxedDevice,
) -> ScanReport {
    let (policy, workload) = (policy("sptf-sw(n=40%)"), load(sectors));
    let scan = scan(spec, location, &policy, &workload);
    let build_array = |disk: &DiskFactory<'_>| Ok::<_, InputError>(build(disk));
    scan.run_array(build_array).expect("valid layout")
}

fn load(sectors: SectorCount) -> Workload {
    let sector = Bytes(512);
    Workload::parse(CLOSED, workload::Disk { sectors, sector }).expect("valid workload")
}

/// Returns a scan without conservatism, since the model is exact.
fn scan<'a>(
    spec: &'a Spec,
    location: SchedulerLocation,
    policy: &'a PolicyConfig,
    workload: &'a Workload,
) -> Scan<'a> {
    Scan {
        spec,
        model: spec,
        requests: Requests::Generated(workload),
        policy,
        location,
        settings: BackgroundSettings {
            conservatism: Span::ZERO,
            ..BackgroundSettings::default()
        },
        seed: 5,
        max_requests: 200_000,
        on_progress: OnProgress::default(),
        on_prediction: OnPrediction::default(),
    }
}

fn mechanism(spec: &Spec) -> Mechanism {
    let layout = Arc::new(Layout::new(&spec.geometry).expect("valid layout"));
    Mechanism::new(spec, layout, Angle::ZERO)
}

/// An array of one disk, with one stripe unit, is scanned like the disk.
#[test]
fn an_array_of_one_disk_is_scanned_like_the_disk() {
    let spec = small();
    let sectors = spec.geometry.sectors;
    for location in [SchedulerLocation::Outside(1), SchedulerLocation::InFirmware] {
        let (policy, workload) = (policy("sptf-sw(n=40%)"), load(sectors));
        let alone = scan(&spec, location, &policy, &workload).run();
        let alone = alone.expect("valid layout");
        let array = scan_array(&spec, location, sectors, |disk| {
            let striping = RaidConfig {
                level: Level::Zero,
                unit: sectors,
                policy: PolicyConfig::default(),
                failures: Vec::new(),
                rebuild_share: None,
            };
            let disks = vec![disk(mechanism(&spec), 5)];
            BoxedDevice::opaque(Raid::new(disks, &striping).expect("valid array"))
        });
        assert!(alone.is_complete() && array.is_complete());
        assert_eq!(alone.percents, array.percents);
        assert_eq!(alone.by_part, array.by_part);
        assert_eq!(alone.stats, array.stats);
        assert_eq!(alone.foreground, array.foreground);
        assert_eq!(alone.alone, array.alone);
        assert_eq!(alone.observations, array.observations);
    }
}

/// Counts the unread blocks of each tenth whenever another tenth of the disk has been read.
#[test]
fn reads_across_a_boundary_count_for_both_tenths() {
    let spec = small();
    let sectors = spec.geometry.sectors;
    let (policy, workload) = (policy("sptf-sw(n=40%)"), load(sectors));
    let reads = Arc::new(Mutex::new(Vec::new()));
    let recorder = Arc::clone(&reads);
    let sink = move |read: &Delivery| recorder.lock().expect("no thread panicked").push(*read);
    let scan = scan(&spec, SchedulerLocation::InFirmware, &policy, &workload);
    let scanned = scan.run_for(BlockSet::all(sectors), sink);
    let by_part = scanned.expect("valid layout").by_part;
    let reads = reads.lock().expect("no thread panicked");
    let tenth = sectors.0 / 10;
    assert_eq!(tenth * 10, sectors.0);
    let (mut unread, mut read_blocks, mut expected) = ([tenth; 10], 0, Vec::new());
    let mut crossings = 0;
    for read in reads.iter() {
        let blocks = read.first.0..read.first.0 + read.sectors.0;
        crossings += u32::from(blocks.start / tenth != (blocks.end - 1) / tenth);
        for block in blocks {
            unread[(block / tenth) as usize] -= 1;
        }
        read_blocks += read.sectors.0;
        while read_blocks < sectors.0 && read_blocks / tenth > expected.len() as u64 {
            expected.push(unread.map(|blocks| blocks as f64 / tenth as f64));
        }
    }
    assert!(crossings > 0 && expected.len() == 9);
    assert_eq!(by_part, expected);
}

/// Every block of both disks of a pair is read once, and no request of the pair is delayed.
#[test]
fn both_disks_of_a_pair_are_scanned() {
    let spec = small();
    let sectors = spec.geometry.sectors;
    for location in [SchedulerLocation::Outside(1), SchedulerLocation::InFirmware] {
        let pair = scan_array(&spec, location, sectors, |disk| {
            let members = [1, 2].map(|seed| disk(mechanism(&spec), seed));
            let pair = Mirror::new(members, &MirrorConfig::default()).expect("valid pair");
            BoxedDevice::opaque(pair)
        });
        assert!(pair.is_complete(), "{pair:?}");
        assert_eq!(pair.sectors.0, 2 * sectors.0);
        assert_eq!(pair.stats.sectors, 2 * sectors.0);
        assert_eq!(pair.stats.delayed, 0);
        assert!(pair.slowdown().abs() < 0.01, "{}", pair.slowdown());
    }
}
