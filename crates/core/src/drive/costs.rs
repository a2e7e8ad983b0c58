//! Command overheads and watermarks for quick lookup, and the random deviations of a drive.

use rand_distr::{Distribution, StandardNormal};

use crate::mechanics::Position;
use crate::random::{Chance, Generator, Purpose, generator};
use crate::request::Op;
use crate::spec::{self, Overheads, SeekCurve, Spec, WatermarkOf};
use crate::units::{Cylinder, SectorCount, Span};

/// A time that depends on the previous command: its values after a read and after a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct OverheadByLast([Span; 2]);

impl OverheadByLast {
    #[inline]
    pub fn after(&self, last: Op) -> Span {
        self.0[usize::from(!last.is_read())]
    }
}

#[derive(Clone, Debug)]
pub(super) struct Costs {
    pub read_hit: OverheadByLast,
    pub read_miss: OverheadByLast,
    pub write_hit: OverheadByLast,
    pub write_miss: OverheadByLast,
    /// Time before a read disconnects; zero if the drive never disconnects.
    pub read_disconnect: OverheadByLast,
    pub read_mark: Watermark,
    pub write_mark: Watermark,
    /// Extra times for absorbed writes to another cylinder and to another zone; `None` if zero.
    pub write_hit_moves: Option<[Span; 2]>,
    zones: Box<[Cylinder]>,
}

impl Costs {
    pub fn new(spec: &Spec) -> Self {
        let o: &Overheads = &spec.overheads;
        let moved = o.write_hit_seek + o.write_hit_zone;
        let disconnect = if spec.bus.never_disconnect {
            [Span::ZERO; 2]
        } else {
            [o.read_disconnect_after_read, o.read_disconnect_after_write]
        };
        let (buffer, zones) = (&spec.buffer, spec.geometry.zones.iter().skip(1));
        Self {
            read_hit: OverheadByLast([o.read_hit_after_read, o.read_hit_after_write]),
            read_miss: OverheadByLast([o.read_miss_after_read, o.read_miss_after_write]),
            write_hit: OverheadByLast([o.write_hit_after_read, o.write_hit_after_write]),
            write_miss: OverheadByLast([o.write_miss_after_read, o.write_miss_after_write]),
            read_disconnect: OverheadByLast(disconnect),
            read_mark: Watermark::new(buffer.read_watermark, buffer),
            write_mark: Watermark::new(buffer.write_watermark, buffer),
            write_hit_moves: (moved > Span::ZERO).then_some([o.write_hit_seek, moved]),
            zones: zones.map(|zone| Cylinder(zone.first_cylinder)).collect(),
        }
    }

    /// Returns true if the cylinders are in different zones; `None` if they are the same cylinder.
    pub fn moves(&self, from: Cylinder, to: Cylinder) -> Option<bool> {
        let zone = |at: Cylinder| self.zones.partition_point(|first| *first <= at);
        (from != to).then(|| zone(from) != zone(to))
    }
}

/// A fraction of a request or of a segment, rounded down to whole sectors. On the HP C2247, three
/// quarters of a request of 1 to 43 sectors, rounded in this way, predict the start of its bus
/// transfer to within 0.03 ms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watermark {
    /// In units of 2^-32, rounded up, so that a tenth of ten is one.
    fraction: u64,
    of: WatermarkOf,
    segment: SectorCount,
}

impl Watermark {
    fn new(fraction: f64, buffer: &spec::Buffer) -> Self {
        Self {
            fraction: (fraction * 2f64.powi(32)).ceil() as u64,
            of: buffer.watermark_of,
            segment: buffer.segment,
        }
    }

    /// Returns the watermark in sectors: at least one, at most the request or the segment.
    #[inline]
    pub fn sectors(&self, sectors: SectorCount) -> SectorCount {
        let size = match self.of {
            WatermarkOf::Request => sectors,
            WatermarkOf::Segment => self.segment,
        };
        let mark = (size.0 * self.fraction) >> 32;
        SectorCount(mark.clamp(1, sectors.0.min(self.segment.0)))
    }
}

#[derive(Clone, Debug)]
pub(super) struct Fate {
    generator: Generator,
    failures: Option<Chance>,
    /// Standard deviations, in ns, of seeks over each distance, for reads and for writes.
    scatter: [Option<Box<[f64]>>; 2],
    in_sequence: Span,
}

impl Fate {
    /// Creates the random behaviour of a drive, with seed 0; `None` if `spec` has none.
    pub fn new(spec: &Spec) -> Option<Box<Self>> {
        let mechanics = &spec.mechanics;
        let cylinders = spec.geometry.cylinders;
        let tabulated = |curve: &SeekCurve| -> Box<[f64]> {
            let at = |d| curve.time(d, cylinders).as_ns() as f64;
            (0..cylinders).map(at).collect()
        };
        let reads = mechanics.seek_scatter.as_ref();
        let writes = mechanics.write_seek_scatter.as_ref().or(reads);
        let failures = spec.buffer.read_ahead_failures;
        spec.is_random().then(|| {
            Box::new(Self {
                generator: generator(0, 0, Purpose::Drive),
                failures: (failures > 0.0).then(|| Chance::new(failures)),
                scatter: [reads.map(tabulated), writes.map(tabulated)],
                in_sequence: spec.overheads.read_miss_in_sequence_scatter,
            })
        })
    }

    pub fn seed(&mut self, seed: u64) {
        self.generator = generator(seed, 0, Purpose::Drive);
    }

    pub fn fails(&mut self) -> bool {
        let failures = self.failures;
        failures.is_some_and(|chance| chance.hits(&mut self.generator))
    }

    /// Returns a random deviation of an arm movement, at least `-mean`.
    pub fn scatter(&mut self, op: Op, from: Position, to: Cylinder, mean: Span) -> Span {
        let distance = from.cylinder.distance(to) as usize;
        let Some(deviations) = &self.scatter[usize::from(!op.is_read())] else {
            return Span::ZERO;
        };
        let deviation_ns = deviations[distance];
        self.deviation(deviation_ns, mean)
    }

    /// Returns a random deviation of a sequential read miss's overhead, at least `-mean`.
    pub fn in_sequence(&mut self, mean: Span) -> Span {
        self.deviation(self.in_sequence.as_ns() as f64, mean)
    }

    /// Returns a normally distributed deviation, at least `-mean`, with this standard deviation.
    fn deviation(&mut self, deviation_ns: f64, mean: Span) -> Span {
        if deviation_ns == 0.0 {
            return Span::ZERO;
        }
        let z: f64 = StandardNormal.sample(&mut self.generator);
        Span::from_ns((z * deviation_ns).round() as i64).max(-mean)
    }
}
