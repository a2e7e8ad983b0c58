//! Evidence in the measured traces that needs the layouts of the drives: the counts in
//! `docs/background/assumptions.md`, "Behaviours settled by measurement".

use diskarm_core::geometry::{Extent, Layout};
use diskarm_core::request::Op;
use diskarm_core::spec::{Spec, parse};
use diskarm_core::units::{Lbn, SectorCount};
use diskarm_trace::{Record, open};

use crate::trace_of;

/// A drive, and the pairs of successive rows of its trace.
struct Measured {
    spec: Spec,
    layout: Layout,
    rows: Vec<Record>,
}

impl Measured {
    fn read(name: &str) -> Self {
        let rows = open(trace_of(name), None).and_then(Iterator::collect);
        let text = diskarm_drives::find(name).expect("in the catalogue").text;
        let spec = parse(text, name).expect("a specification");
        let layout = Layout::new(&spec.geometry).expect("a layout");
        Self {
            spec,
            layout,
            rows: rows.expect("a valid trace"),
        }
    }

    /// Returns the pairs, with the end of the first and the start of the second.
    fn pairs(&self) -> impl Iterator<Item = (&Record, &Record, Extent, Extent)> {
        self.rows.windows(2).map(|two| {
            let last = Lbn(two[0].end().0 - 1);
            let ends = (self.layout.extent(last), self.layout.extent(two[1].start));
            (&two[0], &two[1], ends.0, ends.1)
        })
    }

    /// Returns the zone of a cylinder.
    fn zone(&self, extent: &Extent) -> usize {
        let zones = &self.spec.geometry.zones;
        zones.partition_point(|zone| zone.first_cylinder <= extent.cylinder.0)
    }
}

fn response_ms(row: &Record) -> f64 {
    row.response.expect("measured").as_ms()
}

#[test]
fn the_atlas_reads_whole_tracks() {
    let atlas = Measured::read("quantum-atlas-10k");
    let (mut hits, mut all) = (0, 0);
    for (before, read, last, first) in atlas.pairs() {
        let reads = before.op == Op::Read && read.op == Op::Read;
        let same_track = (last.cylinder, last.head) == (first.cylinder, first.head);
        let behind = read.start < before.end() && before.end() - read.start < SectorCount(400);
        if reads && same_track && behind {
            all += 1;
            // Less than overhead and bus.
            hits += u32::from(response_ms(read) < 0.35 + 0.1025 * read.sectors.0 as f64);
        }
    }
    assert_eq!((hits, all), (508, 508));
}

#[test]
fn the_barracuda_starts_the_seek_of_an_absorbed_write_first() {
    let barracuda = Measured::read("seagate-barracuda-st32171w");
    // On the same cylinder, on another cylinder of the same zone, and in another zone.
    let mut times: [Vec<f64>; 3] = Default::default();
    for (before, write, last, first) in barracuda.pairs() {
        let absorbed = write.op == Op::Write && response_ms(write) < 2.0;
        if before.op == Op::Read && absorbed && write.sectors == SectorCount(4) {
            let place = if last.cylinder == first.cylinder {
                0
            } else {
                1 + usize::from(barracuda.zone(&last) != barracuda.zone(&first))
            };
            times[place].push(response_ms(write));
        }
    }
    let medians = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        (times.len(), times[times.len() / 2])
    });
    for ((count, median), should) in medians.into_iter().zip([1.30, 1.46, 1.55]) {
        assert!(count > 100, "{count}");
        assert!((median - should).abs() < 0.011, "{median}");
    }
}

/// If the first of two consecutive reads crossed to another track, the second may find all of that
/// track and of the next one in the buffer; otherwise only its own track.
#[test]
fn the_rz26_reads_ahead_by_the_tracks_of_a_read() {
    let rz26 = Measured::read("dec-rz26");
    let track = |block: Lbn| {
        let extent = rz26.layout.extent(block);
        (extent.cylinder, extent.head)
    };
    // Hits and reads, by whether the first crosses and whether the second does.
    let mut counts = [[(0, 0); 2]; 2];
    for (before, read, ..) in rz26.pairs() {
        let is_run = read.start == before.end();
        if before.op != Op::Read || read.op != Op::Read || !is_run {
            continue;
        }
        let last = Lbn(before.end().0 - 1);
        let crossed = track(before.start) != track(last);
        let end = track(Lbn(read.end().0 - 1));
        if track(read.start) != track(last) {
            continue;
        }
        let (hits, all) = &mut counts[usize::from(crossed)][usize::from(end != track(last))];
        *all += 1;
        // Twice a hit's overhead and bus, and less than a track switch and its wait.
        *hits += u32::from(response_ms(read) < 1.2 + 0.16 * read.sectors.0 as f64);
    }
    assert_eq!(counts, [[(677, 723), (33, 265)], [(251, 255), (89, 99)]]);
}
