//! A second, slow implementation of the main path: reads that miss and writes that go through,
//! one at a time, sector by sector, in floating-point milliseconds.
//!
//! It takes only the layout from the model under test (which has a reference of its own):
//! rotation, seeks, the bus and the segment are stepped through here as plain loops.

use diskarm_core::geometry::Layout;
use diskarm_core::request::Op;
use diskarm_core::spec::{SeekCurve, Spec, WatermarkOf};
use diskarm_core::units::{Lbn, Span};

/// The slow implementation, with its own state.
pub struct Stepwise<'a> {
    spec: &'a Spec,
    layout: &'a Layout,
    cylinder: u32,
    head: u32,
    last: Op,
    /// One past the last block of the previous request.
    last_end: u64,
    /// The head came so close to a sector's beginning that rounding decides on a revolution.
    pub close: bool,
}

fn ms(span: Span) -> f64 {
    span.as_ms()
}

impl<'a> Stepwise<'a> {
    pub fn new(spec: &'a Spec, layout: &'a Layout) -> Self {
        let first = layout.extent(Lbn(0));
        Self {
            spec,
            layout,
            cylinder: first.cylinder.0,
            head: 0,
            last: Op::Read,
            last_end: u64::MAX,
            close: false,
        }
    }

    fn period(&self) -> f64 {
        self.spec.mechanics.period_ns / 1e6
    }

    /// Linear between the points of a table, constant beyond them.
    fn seek(curve: &SeekCurve, distance: u32) -> f64 {
        let SeekCurve::Table(points) = curve else {
            panic!("only tables here");
        };
        let d = f64::from(distance);
        let mut below = points[0];
        for &above in points {
            if above.0 >= distance {
                let width = f64::from(above.0 - below.0).max(1.0);
                let share = ((d - f64::from(below.0)) / width).max(0.0);
                return ms(below.1) + (ms(above.1) - ms(below.1)) * share;
            }
            below = above;
        }
        ms(below.1)
    }

    /// Returns the settle time of a request whose first block is on this cylinder.
    fn settled(&self, block: u64) -> f64 {
        let extent = self.layout.extent(Lbn(block));
        let m = &self.spec.mechanics;
        match (
            extent.cylinder.0 == self.cylinder,
            extent.head.0 == self.head,
        ) {
            (true, true) => ms(m.track_settle),
            (true, false) => ms(m.cylinder_settle),
            _ => 0.0,
        }
    }

    fn continues(&self, op: Op, start: u64) -> bool {
        self.last == op && self.last_end == start
    }

    /// Returns when the head, free at `now`, reaches the track of `block`.
    fn moved(&mut self, op: Op, block: u64, now: f64) -> f64 {
        let extent = self.layout.extent(Lbn(block));
        let m = &self.spec.mechanics;
        let distance = self.cylinder.abs_diff(extent.cylinder.0);
        let switches = self.head != extent.head.0;
        if distance == 0 && !switches {
            return now;
        }
        let curve = match (op, &m.write_seek) {
            (Op::Write, Some(curve)) => curve,
            _ => &m.seek,
        };
        let inward = if extent.cylinder.0 > self.cylinder {
            ms(m.inward_seek)
        } else {
            -ms(m.inward_seek)
        };
        let mut time = if distance == 0 {
            0.0
        } else {
            (Self::seek(curve, distance) + inward).max(0.0)
        };
        if switches {
            time = time.max(ms(m.head_switch));
        }
        if op == Op::Write {
            time = (time + ms(m.write_settle)).max(0.0);
        }
        (self.cylinder, self.head) = (extent.cylinder.0, extent.head.0);
        now + time
    }

    /// Returns when `block` begins to pass at or after `now`, and its duration.
    fn passes(&mut self, block: u64, now: f64) -> (f64, f64) {
        let extent = self.layout.extent(Lbn(block));
        let (start, width) = (
            extent.start.as_revolutions(),
            extent.sector_angle.as_revolutions(),
        );
        let width = if width == 0.0 { 1.0 } else { width };
        let turns = now / self.period();
        let mut wait = (start - turns).rem_euclid(1.0);
        self.close |= (1e-9..1e-5).contains(&wait.min(1.0 - wait));
        // As much grace as the model has, and the rounding of its instants.
        if wait > 1.0 - 2e-6 {
            wait = 0.0;
        }
        (now + wait * self.period(), width * self.period())
    }

    /// Serves a request that arrives at `now` on an idle drive; returns when it completes.
    pub fn serve(&mut self, now: f64, op: Op, start: u64, sectors: u64) -> f64 {
        let at = match op {
            Op::Read => self.read(now, start, sectors),
            Op::Write | Op::Flush => self.write(now, start, sectors),
        };
        (self.last, self.last_end) = (op, start + sectors);
        at
    }

    fn read(&mut self, now: f64, start: u64, sectors: u64) -> f64 {
        let o = &self.spec.overheads;
        let (overhead, leave) = match self.last {
            Op::Read => (o.read_miss_after_read, o.read_disconnect_after_read),
            Op::Write | Op::Flush => (o.read_miss_after_write, o.read_disconnect_after_write),
        };
        let bus = &self.spec.bus;
        let (leave, reselect) = if bus.never_disconnect {
            (0.0, 0.0)
        } else {
            (ms(leave), ms(o.first_reselect))
        };
        let called = if self.continues(Op::Read, start) {
            now + ms(overhead) + ms(o.read_miss_in_sequence)
        } else {
            now + ms(overhead)
        };
        let of = match self.spec.buffer.watermark_of {
            WatermarkOf::Request => sectors,
            WatermarkOf::Segment => self.spec.buffer.segment.0,
        };
        let part = (self.spec.buffer.read_watermark * of as f64).floor() as u64;
        let room = self.spec.buffer.segment.0;
        let mark = part.clamp(1, sectors.min(room));
        let (mut head, mut there, mut sent) =
            (called + self.settled(start), Vec::new(), Vec::new());
        for k in 0..sectors {
            head = self.moved(Op::Read, start + k, head);
            if k >= room {
                // Its place is empty when the sector `room` before it has left.
                head = f64::max(head, sent[(k - room) as usize]);
            }
            let (begin, takes) = self.passes(start + k, head);
            head = begin + takes;
            there.push(head);
            // Sectors that have left by now, limited by those that have arrived.
            while sent.len() < there.len() && there.len() as u64 >= mark {
                let connected = there[mark as usize - 1].max(called + leave)
                    + reselect
                    + ms(o.data_preparation);
                let before = sent.last().copied().unwrap_or(connected);
                let next = there[sent.len()];
                let from = if next > before {
                    next + ms(bus.read_restart)
                } else {
                    before
                };
                sent.push(from + ms(bus.read_sector));
            }
        }
        sent[sent.len() - 1] + ms(o.read_completion)
    }

    fn write(&mut self, now: f64, start: u64, sectors: u64) -> f64 {
        let o = &self.spec.overheads;
        let overhead = match self.last {
            Op::Read => o.write_miss_after_read,
            Op::Write | Op::Flush => o.write_miss_after_write,
        };
        let go = now + ms(overhead);
        let sector = ms(self.spec.bus.write_sector);
        let room = self.spec.buffer.segment.0;
        let write_start = match o.write_start.sequential {
            Some(sequential) if self.continues(Op::Write, start) => sequential,
            _ => o.write_start.small,
        };
        let wanted = write_start.0.min(sectors).min(room);
        let mut received = go + ms(o.data_preparation);
        let enough = received + sector * wanted as f64;
        let (mut head, mut written) = (go + self.settled(start), Vec::<f64>::new());
        for k in 0..sectors {
            head = self.moved(Op::Write, start + k, head);
            if k == 0 {
                head = head.max(enough);
            }
            if k >= room {
                received = received.max(written[(k - room) as usize]);
            }
            received += sector;
            head = head.max(received);
            let (begin, takes) = self.passes(start + k, head);
            head = begin + takes;
            written.push(head);
        }
        let mut ready = head;
        if !self.spec.bus.never_disconnect {
            ready = head.max(received + ms(o.write_disconnect)) + ms(o.first_reselect);
        }
        ready + ms(o.write_completion)
    }
}
