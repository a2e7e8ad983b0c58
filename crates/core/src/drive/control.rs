//! Operations of a drive other than requests, for a unit above it: moving the arm without a
//! transfer, and changing the buffer rules or the layout.

use std::sync::Arc;

use super::arm::Arm;
use super::bus::HostPath;
use super::core::{Command, Core, Dirty, Last, overheads};
use super::costs::Costs;
use super::{Drive, core};
use crate::buffer::Buffer;
use crate::geometry::Layout;
use crate::mechanics::Position;
use crate::request::{Op, Request};
use crate::spec::Spec;
use crate::units::{Instant, Lbn, SectorCount};

impl Drive {
    /// Returns true if no request is outstanding.
    pub fn is_idle(&self) -> bool {
        self.inside == 0
    }

    /// Moves the arm to the track of a block (SCSI: SEEK). Returns when the command completes.
    ///
    /// No published parameter set covers it. The model assumes a read that is not in the buffer and
    /// ends when the head has settled: its command overhead, the movement before a read with
    /// everything the arm must do first, and a read's completion.
    ///
    /// # Panics
    /// If a request is outstanding, the block does not exist, or time runs backwards.
    pub fn seek(&mut self, now: Instant, at: Lbn) -> Instant {
        assert!(self.is_idle(), "the drive is not idle");
        assert!(now >= self.now, "time runs backwards: {now:?}");
        self.now = now;
        self.begin(now);
        let end = self.core.seek(&core::Command {
            request: Request::new(0, Op::Read, at, SectorCount(1)),
            arrived: now,
            open: self.open,
        });
        self.open = end;
        self.last = end;
        if let Some(deferred) = &mut self.deferred {
            deferred.arm_is_busy(end);
        }
        end
    }

    /// Applies the buffer rules of `spec` to all commands that begin from now on. Dirty data reach
    /// the media as scheduled, or before anything else if the cache was `deferred`; the buffer is
    /// emptied if its segments change.
    pub fn set_buffer(&mut self, now: Instant, spec: &Spec) {
        assert!(now >= self.now, "time runs backwards: {now:?}");
        self.now = now;
        self.begin(now);
        self.set_deferred(now, spec);
        self.core.set_buffer(now, spec);
    }

    /// Changes to another layout with the same numbers of cylinders, surfaces and blocks. The
    /// buffer is emptied, because blocks may have moved.
    ///
    /// # Panics
    /// If a request is outstanding, or the layout belongs to another drive.
    pub fn set_layout(&mut self, now: Instant, layout: Arc<Layout>) {
        assert!(self.is_idle(), "the drive is not idle");
        assert!(now >= self.now, "time runs backwards: {now:?}");
        let old = self.layout();
        assert!(
            (old.cylinders(), old.surfaces(), old.sectors())
                == (layout.cylinders(), layout.surfaces(), layout.sectors()),
            "the layout of another drive"
        );
        self.now = now;
        self.begin(now);
        self.destage_all(now);
        self.core.set_layout(now, layout);
    }
}

impl Core {
    fn seek(&mut self, command: &Command) -> Instant {
        let overhead = self.costs.read_miss.after(self.last.op);
        let go = command
            .processed(overhead)
            .max(self.flushed(command.begin()));
        let from = self.call(go);
        let to = self.mechanism.layout.extent(command.request.start);
        let way = (from.cylinder, to.cylinder);
        let head_changes = from.head != to.head;
        let moved = self.mechanism.seek.total(Op::Read, way, head_changes);
        let there = from.since + moved;
        self.arm = Arm::Free(Position {
            cylinder: to.cylinder,
            head: to.head,
            since: there,
        });
        self.dirty.destaged = Lbn(u64::MAX);
        self.last = Last {
            op: Op::Read,
            end: Lbn(u64::MAX),
        };
        let end = there.max(self.bus_free) + self.overheads.read_completion;
        self.bus_free = end;
        end
    }

    fn set_buffer(&mut self, now: Instant, spec: &Spec) {
        let (old, new) = (&self.rules, &spec.buffer);
        let segments = (old.segments, old.segment, old.dedicated_write_segment);
        if segments != (new.segments, new.segment, new.dedicated_write_segment) {
            self.empty(now, &spec.buffer);
        }
        self.buffer.set_invalidates(new.write_invalidates);
        self.path = HostPath::new(spec);
        self.costs = Costs::new(spec);
        self.overheads = overheads(spec, self.mechanism.layout.physical());
        self.rules = spec.buffer.clone();
    }

    fn set_layout(&mut self, now: Instant, layout: Arc<Layout>) {
        let rules = self.rules.clone();
        self.empty(now, &rules);
        self.mechanism.layout = layout;
        self.dirty = Dirty {
            end: Lbn(u64::MAX),
            on_media: self.dirty.on_media,
            runs: Vec::new(),
            tail: None,
            destaged: Lbn(u64::MAX),
            waits: false,
        };
        self.last.end = Lbn(u64::MAX);
    }

    /// Ends the pass under way and empties the buffer.
    fn empty(&mut self, now: Instant, rules: &crate::spec::Buffer) {
        let position = self.call(now);
        self.arm = Arm::Free(position);
        self.buffer = Buffer::new(rules);
    }
}
