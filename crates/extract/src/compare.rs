//! Compares two specifications of a drive, both value by value and by what a host can observe.
//!
//! A host can observe only sums of some values. Two specifications that divide these sums
//! differently describe the same drive (worthington96 section A.2), so sums are compared.

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::SeekTimes;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::{Bus, Key, KeyKind, Spec, Value, WriteCache};
use diskarm_core::text::InputError;
use diskarm_core::units::{Angle, Cylinder, Instant, Lbn, SectorCount, Span};

#[derive(Clone, Debug)]
pub struct Comparison {
    /// The keys whose values differ, in the order of the manual. Strings, zones and seek curves are
    /// excluded, because different values can be equivalent.
    pub values: Vec<Difference>,
    pub layout: LayoutDifference,
    pub reads: SeekDifference,
    /// Seek times of writes, including the time to settle.
    pub writes: SeekDifference,
    /// The observable sums of overheads that both drives have, by name.
    pub sums: Vec<(&'static str, [Span; 2])>,
}

#[derive(Clone, Debug)]
pub struct Difference {
    pub key: &'static Key,
    pub first: Option<Value>,
    pub second: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayoutDifference {
    /// Number of blocks that both layouts have.
    pub blocks: SectorCount,
    /// Number of these blocks that are on a different cylinder or head.
    pub other_track: SectorCount,
    /// Maximum angle between the two locations of a block, in revolutions from 0 to 0.5, among
    /// blocks on the same track. Angles are relative to block 0.
    pub largest_turn: f64,
    /// The first block on another track, or at an angle that differs by half a sector or more.
    pub first_elsewhere: Option<Lbn>,
    /// The offset of the cylinder numbers of the second layout, if it is constant and not zero and
    /// the layouts are otherwise equal. Seeks are then the same.
    pub cylinders_higher: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeekDifference {
    /// Mean absolute difference over all distances.
    pub mean: Span,
    /// Distance in cylinders at which times differ most, and both times (means of two directions).
    pub largest: (u32, [Span; 2]),
    /// The same values for the difference that is largest relative to the first time.
    pub largest_relative: (u32, [Span; 2]),
}

impl Comparison {
    /// Compares the drives that two specifications describe.
    ///
    /// # Errors
    /// A layout is not consistent.
    pub fn new(first: &Spec, second: &Spec) -> Result<Self, InputError> {
        let one = Layout::new(&first.geometry)?;
        let other = Layout::new(&second.geometry)?;
        Ok(Self {
            values: values(first, second),
            layout: LayoutDifference::new(&one, &other),
            reads: SeekDifference::new(first, second, Op::Read),
            writes: SeekDifference::new(first, second, Op::Write),
            sums: sums(first, second),
        })
    }
}

/// Returns the sums that both specifications have, in the order of the first.
fn sums(first: &Spec, second: &Spec) -> Vec<(&'static str, [Span; 2])> {
    let others = ObservableTimes::new(second).sums();
    let both = ObservableTimes::new(first).sums().into_iter();
    let both = both.filter_map(|(name, first)| {
        let (_, second) = others.iter().find(|(other, _)| *other == name)?;
        Some((name, [first, *second]))
    });
    both.collect()
}

fn values(first: &Spec, second: &Spec) -> Vec<Difference> {
    use KeyKind::{SeekCurve, Text, Zones};
    let mut keys = Key::all();
    keys.retain(|key| !matches!(key.kind, Text | Zones | SeekCurve));
    keys.retain(|key| !key.path.starts_with("source."));
    let differences = keys.into_iter().map(|key| Difference {
        key,
        first: key.get(first),
        second: key.get(second),
    });
    differences
        .filter(|found| found.first != found.second)
        .collect()
}

impl LayoutDifference {
    pub fn new(first: &Layout, second: &Layout) -> Self {
        let blocks = first.sectors().min(second.sectors());
        let mut found = Self {
            blocks,
            other_track: SectorCount(0),
            largest_turn: 0.0,
            first_elsewhere: None,
            cylinders_higher: None,
        };
        let (mut higher, mut is_shifted) = (None, true);
        let origin = |layout: &Layout| layout.extent(Lbn(0)).start;
        let origins = [origin(first), origin(second)];
        let mut at = Lbn(0);
        while at.0 < blocks.0 {
            let (a, b) = (first.extent(at), second.extent(at));
            // If sector widths differ, angles diverge along a track, so both ends are compared.
            let run = a.sectors.min(b.sectors).min(SectorCount(blocks.0 - at.0));
            let same_track = (a.cylinder, a.head) == (b.cylinder, b.head);
            let half_sector = (a.sector_angle.as_revolutions() / 2.0).max(f64::EPSILON);
            let angle_at = |offset| {
                let a = a.start + a.sector_angle * offset - origins[0];
                let b = b.start + b.sector_angle * offset - origins[1];
                angle_between(a, b)
            };
            let difference = angle_at(0).max(angle_at(run.0 - 1));
            let offset_by = i64::from(b.cylinder.0) - i64::from(a.cylinder.0);
            is_shifted &= a.head == b.head
                && difference < half_sector
                && *higher.get_or_insert(offset_by) == offset_by;
            if same_track {
                found.largest_turn = found.largest_turn.max(difference);
            } else {
                found.other_track = found.other_track + run;
            }
            if !same_track || difference >= half_sector {
                found.first_elsewhere.get_or_insert(at);
            }
            at = at + run;
        }
        found.cylinders_higher = higher.filter(|by| is_shifted && *by != 0);
        found
    }

    /// Returns true if every block is at the same location to within half a sector.
    pub fn is_equal(&self) -> bool {
        self.first_elsewhere.is_none()
    }

    /// Like [`Self::is_equal`], but cylinder numbers may have an offset.
    pub fn is_equal_up_to_numbering(&self) -> bool {
        self.is_equal() || self.cylinders_higher.is_some()
    }
}

/// Returns the absolute difference between two angles, from 0 to 0.5 revolutions.
fn angle_between(a: Angle, b: Angle) -> f64 {
    let difference = (a - b).as_revolutions();
    difference.min(1.0 - difference)
}

impl SeekDifference {
    fn new(first: &Spec, second: &Spec, op: Op) -> Self {
        let cylinders = first.geometry.cylinders.min(second.geometry.cylinders);
        let times = [first, second].map(|spec| SeekTimes::new(&spec.mechanics, cylinders));
        let mut found = Self::default();
        let (mut sum, mut relative, mut max) = (0, 0.0, -1);
        for distance in 1..cylinders {
            let both = [0, 1].map(|k| mean_time(&times[k], op, distance));
            let difference = (both[1] - both[0]).as_ns().abs();
            sum += difference;
            if difference > max {
                max = difference;
                found.largest = (distance, both);
            }
            let share = difference as f64 / both[0].as_ns().max(1) as f64;
            if share > relative {
                relative = share;
                found.largest_relative = (distance, both);
            }
        }
        found.mean = Span::from_ns(sum / i64::from(cylinders.max(2) - 1));
        found
    }
}

fn mean_time(times: &SeekTimes, op: Op, distance: u32) -> Span {
    let ends = (Cylinder(0), Cylinder(distance));
    let inward = times.total(op, ends, false);
    let outward = times.total(op, (ends.1, ends.0), false);
    Span::from_ns((inward + outward).as_ns() / 2)
}

/// The times of a drive that a host can observe.
pub struct ObservableTimes<'a> {
    spec: &'a Spec,
    times: SeekTimes,
    /// Time from the end of the media transfer to the end of a one-sector read.
    after_media: Span,
    /// Command times of a write after a read, and after a write that it does not continue.
    writes: [CommandTimes; 2],
}

/// Times from the start of a command until it may move the arm, and until it may transfer data.
#[derive(Clone, Copy)]
struct CommandTimes {
    arm: Span,
    data: Span,
}

impl<'a> ObservableTimes<'a> {
    pub fn new(spec: &'a Spec) -> Self {
        let (o, bus) = (&spec.overheads, &spec.bus);
        let reconnect = |time| reconnection(bus, time);
        let plain = |command: Span| CommandTimes {
            arm: command,
            data: command + o.data_preparation,
        };
        let after_write = match &o.extra_write_disconnect {
            None => plain(o.write_miss_after_write),
            Some(extra) => {
                let data = extra.command + extra.disconnect + extra.duration;
                CommandTimes {
                    arm: extra.command + extra.seek_delay,
                    data: data + reconnect(o.first_reselect) + o.data_preparation,
                }
            }
        };
        Self {
            spec,
            times: SeekTimes::new(&spec.mechanics, spec.geometry.cylinders),
            after_media: reconnect(o.first_reselect)
                + o.data_preparation
                + bus.read_sector
                + o.read_completion,
            writes: [plain(o.write_miss_after_read), after_write],
        }
    }

    /// Returns the lead at which a one-sector request just catches its sector if the arm must make
    /// `movement`, for a read after a read or a write after a write. Includes the time from media
    /// to host, because read completions show when sectors pass.
    pub fn lead(&self, op: Op, movement: (Cylinder, Cylinder)) -> Span {
        let time = self.times.total(op, movement, false);
        match op {
            Op::Write => self.write(self.writes[1], time),
            _ => self.spec.overheads.read_miss_after_read + time + self.after_media,
        }
    }

    /// Returns the lead of a write, for which the media wait for both the arm and the data.
    fn write(&self, command: CommandTimes, arm: Span) -> Span {
        let min = self.spec.overheads.write_minimum_delay;
        let data = command.data + self.spec.bus.write_sector + min;
        (command.arm + arm).max(data) + self.after_media
    }

    fn seek_time(&self, op: Op, distance: u32) -> Span {
        let movement = (Cylinder(0), Cylinder(distance));
        self.times.total(op, movement, false)
    }

    /// Returns the observable overheads of one-sector requests by name: leads and times of hits.
    pub fn sums(&self) -> Vec<(&'static str, Span)> {
        let o = &self.spec.overheads;
        let still = self.seek_time(Op::Read, 0);
        let switch = |op| self.times.total(op, (Cylinder(0), Cylinder(0)), true);
        // A distance over which seek times do not vary on any drive of the catalogue.
        let far = self.spec.geometry.cylinders / 2;
        let write_settle = self.seek_time(Op::Write, far) - self.seek_time(Op::Read, far) + still;
        let seek_and_write = |command: CommandTimes| command.arm + write_settle + self.after_media;
        let [after_read, after_write] = self.writes;
        let read = |command: Span| command + still + self.after_media;
        let on_track = |command| self.write(command, self.seek_time(Op::Write, 0));
        let reselect_after_write = match o.extra_write_disconnect {
            Some(_) => o.other_reselect,
            None => o.first_reselect,
        };
        let mut all = vec![
            ("read after read", read(o.read_miss_after_read)),
            ("read after write", read(o.read_miss_after_write)),
            ("write after read", on_track(after_read)),
            ("write after write", on_track(after_write)),
            ("seek and write after read", seek_and_write(after_read)),
            ("seek and write after write", seek_and_write(after_write)),
            ("head switch", switch(Op::Read) - still),
            (
                "head switch and settle",
                self.write(after_read, switch(Op::Write)),
            ),
            ("end of a write after a read", self.end(o.first_reselect)),
            (
                "end of a write after a write",
                self.end(reselect_after_write),
            ),
        ];
        all.extend(self.hits());
        all
    }

    /// Returns how much longer a write takes than a read from the end of its sector to completion.
    fn end(&self, reselect: Span) -> Span {
        let reselect = reconnection(&self.spec.bus, reselect);
        reselect + self.spec.overheads.write_completion - self.after_media
    }

    fn hits(&self) -> Vec<(&'static str, Span)> {
        let (o, bus, buffer) = (&self.spec.overheads, &self.spec.bus, &self.spec.buffer);
        let reading = o.data_preparation + bus.read_sector + o.read_completion;
        let writing = o.data_preparation + bus.write_sector + o.write_completion;
        let mut all = Vec::new();
        if buffer.caching {
            all.push(("read hit after read", o.read_hit_after_read + reading));
            all.push(("bus", bus.read_sector));
        }
        if buffer.caching && buffer.hits_on_written {
            all.push(("read hit after write", o.read_hit_after_write + reading));
        }
        if buffer.write_cache != WriteCache::Off {
            all.push(("write hit after read", o.write_hit_after_read + writing));
            all.push(("write hit after write", o.write_hit_after_write + writing));
            all.push(("write hit elsewhere", o.write_hit_seek));
            all.push(("write hit in another zone", o.write_hit_zone));
            all.push(("bus of writes", bus.write_sector));
        }
        all
    }
}

/// Returns the time of a reconnection, or zero if the drive never disconnects.
fn reconnection(bus: &Bus, time: Span) -> Span {
    if bus.never_disconnect {
        Span::ZERO
    } else {
        time
    }
}

const REQUESTS: u64 = 400;
/// Start of each run, as a percentage of the blocks.
const RUN_STARTS: [u64; 3] = [1, 50, 95];

/// Returns the mean response time of contiguous requests of `sectors`, sent without pauses in runs
/// of 400 that start near the first block, in the middle and near the last block.
///
/// Specifications that nearly agree may have very different response times, because a few
/// microseconds may decide whether a request is served in this revolution or the next.
///
/// # Errors
/// The specification is not consistent.
/// # Panics
/// If `sectors` is 0 or more than a thousandth of the disk.
pub fn mean_sequential_response(
    spec: &Spec,
    op: Op,
    sectors: SectorCount,
) -> Result<Span, InputError> {
    let blocks = spec.geometry.sectors.0;
    assert!((1..=blocks / 1000).contains(&sectors.0), "{sectors:?}");
    let mut sum = Span::ZERO;
    let mut count = 0;
    for percent in RUN_STARTS {
        let mut drive = Drive::new(spec, Angle::ZERO)?;
        let first = blocks * percent / 100;
        let room = (blocks - first) / sectors.0;
        let mut now = Instant::START;
        for k in 0..REQUESTS.min(room) {
            let request = Request::new(k, op, Lbn(first + k * sectors.0), sectors);
            let end = serve(&mut drive, now, request);
            sum += end.after(now);
            count += 1;
            now = end;
        }
    }
    Ok(Span::from_ns(sum.as_ns() / count))
}

fn serve(drive: &mut Drive, now: Instant, request: Request) -> Instant {
    let accepted = drive.submit(now, request);
    assert!(accepted.is_ok(), "the drive is idle");
    loop {
        let next = drive.next_event().expect("a request is outstanding");
        if let Some(completion) = drive.advance(next) {
            return completion.at;
        }
    }
}
