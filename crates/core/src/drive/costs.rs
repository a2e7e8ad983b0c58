//! Command overheads and watermarks, laid out for quick look-up.

use crate::request::Op;
use crate::spec::{self, Overheads, Spec, WatermarkOf};
use crate::units::{Cylinder, SectorCount, Span};

/// A time that depends on the command before: after a read, after a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct After([Span; 2]);

impl After {
    /// The time behind a command of direction `last`.
    #[inline]
    pub fn of(&self, last: Op) -> Span {
        self.0[usize::from(!last.is_read())]
    }
}

/// Overheads by type, hit or miss, and by the previous command.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    pub read_hit: After,
    pub read_miss: After,
    pub write_hit: After,
    pub write_miss: After,
    /// Before a read leaves the bus; nothing on a drive that never does.
    pub read_disconnect: After,
    pub read_mark: Watermark,
    pub write_mark: Watermark,
    /// What an absorbed write takes longer on another cylinder of the same zone and of another one;
    /// `None` if nothing.
    pub write_hit_moves: Option<[Span; 2]>,
    /// The first cylinders of the zones but the first.
    zones: Box<[Cylinder]>,
}

impl Costs {
    pub fn new(spec: &Spec) -> Self {
        let o: &Overheads = &spec.overheads;
        let moved = o.write_hit_seek + o.write_hit_zone;
        let leaves = |cost: Span| {
            if spec.bus.never_disconnect {
                Span::ZERO
            } else {
                cost
            }
        };
        let buffer = &spec.buffer;
        Self {
            read_hit: After([o.read_hit_after_read, o.read_hit_after_write]),
            read_miss: After([o.read_miss_after_read, o.read_miss_after_write]),
            write_hit: After([o.write_hit_after_read, o.write_hit_after_write]),
            write_miss: After([o.write_miss_after_read, o.write_miss_after_write]),
            read_disconnect: After([
                leaves(o.read_disconnect_after_read),
                leaves(o.read_disconnect_after_write),
            ]),
            read_mark: Watermark::new(buffer.read_watermark, buffer),
            write_mark: Watermark::new(buffer.write_watermark, buffer),
            write_hit_moves: (moved > Span::ZERO).then_some([o.write_hit_seek, moved]),
            zones: spec
                .geometry
                .zones
                .iter()
                .skip(1)
                .map(|zone| Cylinder(zone.first_cylinder))
                .collect(),
        }
    }

    /// Whether a movement leads to another zone; `None` if it stays on its cylinder.
    pub fn moves(&self, from: Cylinder, to: Cylinder) -> Option<bool> {
        let zone = |at: Cylinder| self.zones.partition_point(|first| *first <= at);
        (from != to).then(|| zone(from) != zone(to))
    }
}

/// A fraction of a request or of a segment, rounded down to whole sectors: on the HP C2247 the
/// bus begins with three quarters so rounded, to within 0.03 ms for every size from 1 to 43.
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

    /// The mark for a request of `sectors`: at least one sector, at most the request, and no
    /// more than the segment holds.
    #[inline]
    pub fn sectors(&self, sectors: SectorCount) -> SectorCount {
        let whole = match self.of {
            WatermarkOf::Request => sectors,
            WatermarkOf::Segment => self.segment,
        };
        let mark = (whole.0 * self.fraction) >> 32;
        SectorCount(mark.clamp(1, sectors.0.min(self.segment.0)))
    }
}
