//! What can be observed of a drive's times from outside, from the equations of the model.
//!
//! A specification has the parts of sums. Two specifications that divide the sums in different ways
//! describe the same drive (worthington96 section A.2), so it is the sums that are compared.

use diskarm_core::mechanics::SeekTimes;
use diskarm_core::request::Op;
use diskarm_core::spec::{Spec, WriteCache};
use diskarm_core::units::{Cylinder, Span};

/// The observable sums of a specification.
pub struct ObservableTimes<'a> {
    spec: &'a Spec,
    times: SeekTimes,
    /// From the end of the media transfer to the end of a read of one sector.
    behind_read: Span,
    /// Writes after a read, and after a write that they do not continue.
    writes: [Command; 2],
}

/// When a command may use what, from its sending on.
#[derive(Clone, Copy)]
struct Command {
    arm: Span,
    /// The bus, for its data.
    data: Span,
}

impl<'a> ObservableTimes<'a> {
    /// Of a specification.
    pub fn new(spec: &'a Spec) -> Self {
        let (o, bus) = (&spec.overheads, &spec.bus);
        let connects = |time| {
            if bus.never_disconnect {
                Span::ZERO
            } else {
                time
            }
        };
        let plain = |command: Span| Command {
            arm: command,
            data: command + o.data_preparation,
        };
        let after_write =
            o.extra_write_disconnect
                .map_or(plain(o.write_miss_after_write), |extra| {
                    let data = extra.command + extra.disconnect + extra.duration;
                    Command {
                        arm: extra.command + extra.seek_delay,
                        data: data + connects(o.first_reselect) + o.data_preparation,
                    }
                });
        Self {
            spec,
            times: SeekTimes::new(&spec.mechanics, spec.geometry.cylinders),
            behind_read: connects(o.first_reselect)
                + o.data_preparation
                + bus.read_sector
                + o.read_completion,
            writes: [plain(o.write_miss_after_read), after_write],
        }
    }

    /// The lead at which a request of one sector just catches it that is sent when the arm is on
    /// the first cylinder, for a sector on the second: after a read, or, for a write, after a
    /// write. As the ends of reads tell when sectors pass, what reads take after the media is part
    /// of it.
    pub fn lead(&self, op: Op, way: (Cylinder, Cylinder)) -> Span {
        let time = self.times.total(op, way, false);
        match op {
            Op::Write => self.write(self.writes[1], time),
            _ => self.spec.overheads.read_miss_after_read + time + self.behind_read,
        }
    }

    /// The media wait for the arm and for the data.
    fn write(&self, command: Command, arm: Span) -> Span {
        let min = self.spec.overheads.write_minimum_delay;
        let data = command.data + self.spec.bus.write_sector + min;
        (command.arm + arm).max(data) + self.behind_read
    }

    fn over(&self, op: Op, distance: u32) -> Span {
        self.times
            .total(op, (Cylinder(0), Cylinder(distance)), false)
    }

    /// What can be observed of the overheads of requests of one sector, by name: leads, and
    /// services from the buffer. Which there are depends on the drive's buffer.
    pub fn sums(&self) -> Vec<(&'static str, Span)> {
        let o = &self.spec.overheads;
        let still = self.over(Op::Read, 0);
        let switch = |op| self.times.total(op, (Cylinder(0), Cylinder(0)), true);
        // Where no drive of the catalogue scatters.
        let far = self.spec.geometry.cylinders / 2;
        let elsewhere = self.over(Op::Write, far) - self.over(Op::Read, far) + still;
        let [after_read, after_write] = self.writes;
        let read = |command: Span| command + still + self.behind_read;
        let on_track = |command| self.write(command, self.over(Op::Write, 0));
        let again = match o.extra_write_disconnect {
            Some(_) => o.other_reselect,
            None => o.first_reselect,
        };
        let mut all = vec![
            ("read after read", read(o.read_miss_after_read)),
            ("read after write", read(o.read_miss_after_write)),
            ("write after read", on_track(after_read)),
            ("write after write", on_track(after_write)),
            (
                "seek and write after read",
                after_read.arm + elsewhere + self.behind_read,
            ),
            (
                "seek and write after write",
                after_write.arm + elsewhere + self.behind_read,
            ),
            ("head switch", switch(Op::Read) - still),
            (
                "head switch and settle",
                self.write(after_read, switch(Op::Write)),
            ),
            ("end of a write after a read", self.end(o.first_reselect)),
            ("end of a write after a write", self.end(again)),
        ];
        all.extend(self.hits());
        all
    }

    /// By how much a write ends later than a read, after their sectors.
    fn end(&self, reselect: Span) -> Span {
        let reselect = match self.spec.bus.never_disconnect {
            true => Span::ZERO,
            false => reselect,
        };
        reselect + self.spec.overheads.write_completion - self.behind_read
    }

    /// Requests that the buffer serves.
    fn hits(&self) -> Vec<(&'static str, Span)> {
        let (o, bus, buffer) = (&self.spec.overheads, &self.spec.bus, &self.spec.buffer);
        let hit = o.data_preparation + bus.read_sector + o.read_completion;
        let taken = o.data_preparation + bus.write_sector + o.write_completion;
        let mut all = Vec::new();
        if buffer.caching {
            all.push(("read hit after read", o.read_hit_after_read + hit));
            all.push(("bus", bus.read_sector));
        }
        if buffer.caching && buffer.hits_on_written {
            all.push(("read hit after write", o.read_hit_after_write + hit));
        }
        if buffer.write_cache != WriteCache::Off {
            all.push(("write hit after read", o.write_hit_after_read + taken));
            all.push(("write hit after write", o.write_hit_after_write + taken));
            all.push(("write hit elsewhere", o.write_hit_seek));
            all.push(("write hit in another zone", o.write_hit_zone));
            all.push(("bus of writes", bus.write_sector));
        }
        all
    }
}
