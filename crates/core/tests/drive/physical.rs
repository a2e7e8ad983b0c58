//! Drives whose media hold larger sectors than the host sees: the tiny drive with physical sectors
//! of two sectors.
//!
//! Block 22 is in tenth 8, on cylinder 1, where the arm is from 2.0 on; its physical sector is 22
//! and 23, from 8.0 until 10.0.

use diskarm_core::device::{Device, Outcome};
use diskarm_core::drive::Drive;
use diskarm_core::request::Request;
use diskarm_core::sched::{Estimate, Outlook};
use diskarm_core::spec::Spec;
use diskarm_core::units::{Angle, Instant};

use super::tiny::{R, W, check, check_at, held, last, request, serve_all, tiny_with};

fn emulated(sections: &str) -> Spec {
    let line = "sector_bytes = 512\nphysical_sector = \"1 KiB\"";
    tiny_with(&[("sector_bytes = 512", line)], sections)
}

const CACHED: &str = "[buffer]\ncaching = true\nhits_on_written = true\nsegments = 2\n\
                      combine_writes = true\nwrite_invalidates = \"overlap\"\n";

fn cached() -> Spec {
    emulated(&format!("{CACHED}write_cache = \"always\"\n"))
}

#[test]
fn a_write_of_whole_physical_sectors_takes_no_extra_time() {
    let c = last(&emulated(""), &[(0.0, W, 22, 4)]);
    check(&c, 12.0, [0.0, 0.0, 2.0, 0.0, 6.0, 4.0, 0.0]);
}

#[test]
fn a_write_of_part_of_one_takes_an_extra_revolution() {
    for (start, sectors) in [(22, 3), (23, 3), (23, 2)] {
        let c = last(&emulated(""), &[(0.0, W, start, sectors)]);
        check(&c, 22.0, [0.0, 0.0, 2.0, 0.0, 16.0, 4.0, 0.0]);
    }
    let c = last(&emulated(""), &[(0.0, W, 23, 1)]);
    check(&c, 20.0, [0.0, 0.0, 2.0, 0.0, 16.0, 2.0, 0.0]);
}

#[test]
fn each_track_with_a_partial_sector_takes_an_extra_revolution() {
    // Blocks 26 to 33: tenth 2 of head 0, passed from 12.0 and written until 26.0; head 1 at 27.0,
    // tenth 8 at 28.0, written until 42.0.
    let c = last(&emulated(""), &[(0.5, W, 27, 6)]);
    check(&c, 42.0, [0.0, 0.0, 2.0, 0.0, 19.5, 20.0, 0.0]);
    // With the second end whole until 32.0.
    let c = last(&emulated(""), &[(0.5, W, 27, 7)]);
    check(&c, 32.0, [0.0, 0.0, 2.0, 0.0, 19.5, 10.0, 0.0]);
}

#[test]
fn a_read_of_part_of_one_reads_all_of_it() {
    for start in [22, 23] {
        let c = last(&emulated(""), &[(0.0, R, start, 1)]);
        check(&c, 10.0, [0.0, 0.0, 2.0, 0.0, 6.0, 2.0, 0.0]);
    }
    assert_eq!(
        held(&emulated(CACHED), &[(0.0, R, 23, 2)]),
        [22, 23, 24, 25]
    );
    // The first sector goes over the bus when both have passed.
    let slow = emulated("[bus]\nread_sector = \"5 ms\"\n");
    check_at(&last(&slow, &[(0.0, R, 22, 4)]), 30.0, Outcome::Miss);
    check_at(&last(&slow, &[(0.0, R, 23, 3)]), 25.0, Outcome::Miss);
}

#[test]
fn buffered_data_are_not_read_first() {
    let spec = emulated(CACHED);
    // Read until 10.0; cylinder 1 again, tenth 8 at 18.0.
    for read in [(0.0, R, 22, 1), (0.0, R, 23, 1)] {
        check_at(&last(&spec, &[read, (11.0, W, 23, 1)]), 20.0, Outcome::Miss);
    }
    // Written until 20.0; the rest that was read is in the buffer.
    let writes = [(0.0, W, 23, 1), (21.0, W, 22, 1)];
    check_at(&last(&spec, &writes), 30.0, Outcome::Miss);
    assert_eq!(held(&spec, &writes[..1]), [22, 23]);
    // Where written data are not kept, it is read again: from 28.0, written until 40.0.
    let drops = emulated("[buffer]\ncaching = true\n");
    check_at(&last(&drops, &writes), 40.0, Outcome::Miss);
}

/// Returns when a read of block 60 completes after `writes`, all absorbed: when they are on the
/// media, a seek of 3 ms and the wait for tenths 8 and 9.
fn read_behind(writes: &[(f64, u64, u64)]) -> f64 {
    let mut asked: Vec<_> = writes
        .iter()
        .map(|&(at, start, n)| (at, W, start, n))
        .collect();
    asked.push((writes[writes.len() - 1].0 + 0.5, R, 60, 2));
    let all = serve_all(&cached(), &asked);
    let (read, writes) = all.split_last().expect("a completion");
    assert!(writes.iter().all(|c| c.outcome == Outcome::Absorbed));
    (read.at - Instant::START).as_ms().round()
}

#[test]
fn the_write_cache_reads_first_too() {
    // On the media at 10.0: cylinder 3 at 13.0, tenth 8 at 18.0. With a part at 20.0.
    assert_eq!(read_behind(&[(0.0, 22, 2)]), 20.0);
    assert_eq!(read_behind(&[(0.0, 22, 1)]), 30.0);
}

#[test]
fn a_stream_that_the_write_cache_joins_needs_no_reads() {
    // Whole before the first pass over them, at 8.0: on the media at 10.0.
    assert_eq!(read_behind(&[(0.0, 22, 1), (1.0, 23, 1)]), 20.0);
    // Four sectors, until 12.0.
    let singly = [(0.0, 22, 1), (1.0, 23, 1), (2.0, 24, 1), (3.0, 25, 1)];
    assert_eq!(read_behind(&singly), 20.0);
    let parts = [(0.0, 22, 3), (1.0, 25, 3), (2.0, 28, 2)];
    assert_eq!(read_behind(&parts), 30.0);
    // The first physical sector has been read by 10.0, and is whole at 11.0: until 20.0.
    assert_eq!(read_behind(&[(0.0, 22, 1), (11.0, 23, 1)]), 30.0);
    // It is being written, from 18.0 until 20.0: again from 28.0 until 30.0.
    assert_eq!(read_behind(&[(0.0, 22, 1), (18.5, 23, 1)]), 40.0);
    // The ends of a stream are still read. On the media until 22.0; where the first write is whole,
    // the second follows at 10.0 and is written at 20.0.
    assert_eq!(read_behind(&[(0.0, 23, 1), (1.0, 24, 2)]), 30.0);
    assert_eq!(read_behind(&[(0.0, 22, 2), (1.0, 24, 1)]), 30.0);
}

#[test]
fn only_written_blocks_are_persisted() {
    let mut drive = Drive::new(&cached(), Angle::ZERO).expect("a valid layout");
    let at = |ms: f64| Instant::from_ns((ms * 1e6) as u64);
    let persisted = |drive: &mut Drive, ms: f64| -> Vec<u64> {
        while drive.advance(at(ms)).is_some() {}
        let runs = drive.persisted(at(ms)).expect("a drive reports");
        let blocks = runs
            .iter()
            .flat_map(|run| run.first.0..run.first.0 + run.sectors.0);
        blocks.collect()
    };
    assert!(persisted(&mut drive, 0.0).is_empty());
    assert_eq!(drive.submit(at(0.0), request(0, W, 22, 1)), Ok(()));
    assert!(persisted(&mut drive, 1.0).is_empty());
    assert_eq!(drive.submit(at(1.0), request(1, W, 23, 2)), Ok(()));
    // One run, from 18.0 until 22.0; the first physical sector of it until 20.0.
    assert!(persisted(&mut drive, 19.9).is_empty());
    assert_eq!(persisted(&mut drive, 20.1), [22, 23]);
    assert_eq!(persisted(&mut drive, 22.1), [24]);
    assert!(persisted(&mut drive, 100.0).is_empty());
}

#[test]
fn a_policy_sees_the_extra_revolution() {
    let drive = Drive::new(&emulated(""), Angle::ZERO).expect("a valid layout");
    let positioning = |request: &Request| {
        let outlook = drive.outlook(Instant::START);
        let place = drive.locate(request);
        let times = [
            outlook.positioning(request, &place),
            outlook.access(request, &place),
        ];
        times.map(|time| time.as_ms().round())
    };
    assert_eq!(positioning(&request(0, W, 22, 4)), [8.0, 12.0]);
    assert_eq!(positioning(&request(0, W, 23, 3)), [18.0, 22.0]);
    assert_eq!(positioning(&request(0, R, 23, 3)), [8.0, 12.0]);
}
