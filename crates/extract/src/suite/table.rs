//! The measurements, in the order in which they are made.

use diskarm_core::units::Span;

use super::bench::{self, Bench};
use crate::{Effort, Error};

/// One measurement.
#[derive(Debug)]
pub struct Measurement {
    /// Its name.
    pub name: &'static str,
    /// What it finds.
    pub summary: &'static str,
    /// The measurements whose findings it needs.
    pub needs: &'static [&'static str],
    /// Whether it writes.
    pub writes: bool,
    /// How long it usually takes, in seconds on the drive, by effort: the median over the
    /// catalogue.
    usual: [f64; 3],
    /// Its share of the time of a run, beside those of the others.
    pub(super) share: f64,
    pub(super) run: fn(&mut Bench<'_, '_>) -> Result<(), Error>,
}

impl Measurement {
    /// How long it usually takes.
    pub fn usual(&self, effort: Effort) -> Span {
        Span::from_s(self.usual[effort as usize])
    }

    pub(super) fn seed(&self, seed: u64) -> u64 {
        // FNV-1a, so that a new measurement does not change the others' seeds.
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, mix)
    }
}

/// All measurements.
pub const MEASUREMENTS: &[Measurement] = &[
    Measurement {
        name: "rotation",
        summary: "how fast the drive turns",
        needs: &[],
        writes: false,
        usual: [1.5, 1.5, 1.5],
        share: 3.0,
        run: bench::rotation,
    },
    Measurement {
        name: "layout",
        summary: "where blocks are: zones, skews, spare space, slips",
        needs: &["rotation"],
        writes: false,
        usual: [1.5, 1.5, 1.5],
        share: 40.0,
        run: bench::layout,
    },
    Measurement {
        name: "idle",
        summary: "when the arm is free after a read",
        needs: &["rotation", "layout"],
        writes: false,
        usual: [15.0, 15.0, 15.0],
        share: 8.0,
        run: bench::idle,
    },
    Measurement {
        name: "empty-cylinders",
        summary: "cylinders between zones that hold nothing",
        needs: &["idle"],
        writes: false,
        usual: [0.0, 0.0, 0.0],
        share: 6.0,
        run: bench::empty_cylinders,
    },
    Measurement {
        name: "reads",
        summary: "overheads of reads from the media, and the head switch",
        needs: &["idle"],
        writes: false,
        usual: [4.7, 8.4, 16.9],
        share: 4.0,
        run: bench::reads,
    },
    Measurement {
        name: "seeks",
        summary: "seek times before reads, by distance and direction",
        needs: &["idle"],
        writes: false,
        usual: [54.0, 93.8, 103.5],
        share: 18.0,
        run: bench::seeks,
    },
    Measurement {
        name: "read-hits",
        summary: "overheads of reads from the buffer, and the bus rate",
        needs: &["idle"],
        writes: false,
        usual: [3.0, 5.1, 13.3],
        share: 2.0,
        run: bench::read_hits,
    },
    Measurement {
        name: "writes",
        summary: "overheads of writes to the media, and the time to settle",
        needs: &["idle"],
        writes: true,
        usual: [27.2, 37.1, 114.3],
        share: 8.0,
        run: bench::writes,
    },
    Measurement {
        name: "write-hits",
        summary: "overheads of writes to the buffer, and of reads after writes",
        needs: &["idle"],
        writes: true,
        usual: [6.4, 11.1, 29.8],
        share: 3.0,
        run: bench::write_hits,
    },
    Measurement {
        name: "write-seeks",
        summary: "seek times before writes, where they differ",
        needs: &["seeks"],
        writes: true,
        usual: [7.3, 6.8, 9.8],
        share: 10.0,
        run: bench::write_seeks,
    },
    Measurement {
        name: "mtbrc",
        summary: "minimum times between the completions of reads",
        needs: &["idle"],
        writes: false,
        usual: [10.0, 14.5, 34.5],
        share: 4.0,
        run: bench::mtbrc,
    },
    Measurement {
        name: "write-mtbrc",
        summary: "minimum times between completions where one is a write",
        needs: &["idle"],
        writes: true,
        usual: [21.2, 26.8, 69.7],
        share: 8.0,
        run: bench::write_mtbrc,
    },
    Measurement {
        name: "seek-commands",
        summary: "seek times by the SEEK command, to compare",
        needs: &["idle"],
        writes: false,
        usual: [22.9, 100.1, 342.8],
        share: 8.0,
        run: bench::seek_commands,
    },
    Measurement {
        name: "buffer",
        summary: "segments, read-ahead and write caching: facts of the buffer",
        needs: &["reads", "seeks"],
        writes: false,
        usual: [15.6, 17.2, 20.8],
        share: 6.0,
        run: bench::buffer,
    },
];
