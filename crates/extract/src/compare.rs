//! Two specifications of a drive, value by value.

use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::SeekTimes;
use diskarm_core::request::Op;
use diskarm_core::spec::{Key, Kind, Spec, Value};
use diskarm_core::text::InputError;
use diskarm_core::units::{Angle, Cylinder, Lbn, SectorCount, Span};

use crate::ObservableTimes;

/// How two specifications differ.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The keys whose values differ, in the order of the manual. Texts, zones and seek curves are
    /// not among them: different ones can mean the same.
    pub values: Vec<Difference>,
    /// What their zones make of the blocks.
    pub layout: LayoutDifference,
    /// Seek times of reads.
    pub reads: SeekDifference,
    /// Seek times of writes, with the time to settle.
    pub writes: SeekDifference,
    /// The sums of overheads that can be observed of both drives, by name.
    pub sums: Vec<(&'static str, [Span; 2])>,
}

/// A key with two values.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The key.
    pub key: &'static Key,
    /// Its value in the first specification, if it has one.
    pub first: Option<Value>,
    /// Its value in the second.
    pub second: Option<Value>,
}

/// Where blocks are in two layouts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayoutDifference {
    /// How many blocks both have.
    pub blocks: SectorCount,
    /// How many of them are not on the same cylinder and head.
    pub other_track: SectorCount,
    /// The largest difference of angles between two blocks, in revolutions from 0 to 0.5, over all
    /// blocks that are on the same track. Angles are counted from block 0: where the index mark is
    /// cannot be observed.
    pub largest_turn: f64,
    /// The first block that is on another track, or whose angle differs by half a sector or more.
    pub first_elsewhere: Option<Lbn>,
    /// By how much the numbers of cylinders in the second are higher, if that is so of all blocks
    /// and all else is equal: an arm moves in the same way to any of them from any other.
    pub cylinders_higher: Option<i64>,
}

/// Two seek curves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeekDifference {
    /// The mean over all distances of the difference without its sign.
    pub mean: Span,
    /// Where they differ most: distance in cylinders, and the two times, each the mean of both
    /// directions.
    pub largest: (u32, [Span; 2]),
    /// Where they differ most in proportion to the first.
    pub largest_relative: (u32, [Span; 2]),
}

impl Comparison {
    /// Compares the drives that two specifications describe.
    ///
    /// # Errors
    /// A layout contradicts itself.
    pub fn new(first: &Spec, second: &Spec) -> Result<Self, InputError> {
        let layouts = [
            Layout::new(&first.geometry)?,
            Layout::new(&second.geometry)?,
        ];
        Ok(Self {
            values: values(first, second),
            layout: LayoutDifference::new(&layouts[0], &layouts[1]),
            reads: SeekDifference::new(first, second, Op::Read),
            writes: SeekDifference::new(first, second, Op::Write),
            sums: sums(first, second),
        })
    }
}

/// The sums that both have, in the order of the first.
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
    let compared = |key: &&'static Key| {
        !matches!(key.kind, Kind::Text | Kind::Zones | Kind::SeekCurve)
            && !key.path.starts_with("source.")
    };
    Key::all()
        .into_iter()
        .filter(compared)
        .map(|key| Difference {
            key,
            first: key.get(first),
            second: key.get(second),
        })
        .filter(|difference| difference.first != difference.second)
        .collect()
}

impl LayoutDifference {
    /// Walks both layouts, track by track.
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
            // On the same track angles drift apart if their sectors have different widths.
            let run = a.sectors.min(b.sectors).min(SectorCount(blocks.0 - at.0));
            let same_track = (a.cylinder, a.head) == (b.cylinder, b.head);
            let half_sector = (a.sector_angle.as_revolutions() / 2.0).max(f64::EPSILON);
            let last = run.0 - 1;
            let apart = [0, last].map(|offset| {
                let a = a.start + a.sector_angle * offset - origins[0];
                let b = b.start + b.sector_angle * offset - origins[1];
                turn(a, b)
            });
            let apart = apart[0].max(apart[1]);
            let apart_by = i64::from(b.cylinder.0) - i64::from(a.cylinder.0);
            is_shifted &= a.head == b.head
                && apart < half_sector
                && *higher.get_or_insert(apart_by) == apart_by;
            if same_track {
                found.largest_turn = found.largest_turn.max(apart);
            } else {
                found.other_track = found.other_track + run;
            }
            if !same_track || apart >= half_sector {
                found.first_elsewhere.get_or_insert(at);
            }
            at = at + run;
        }
        found.cylinders_higher = higher.filter(|by| is_shifted && *by != 0);
        found
    }

    /// Whether every block is at the same place, to half a sector.
    pub fn is_equal(&self) -> bool {
        self.first_elsewhere.is_none()
    }

    /// The same except for the numbers of cylinders, which begin elsewhere.
    pub fn is_equal_up_to_numbering(&self) -> bool {
        self.is_equal() || self.cylinders_higher.is_some()
    }
}

/// The angle between two, from 0 to 0.5 revolutions.
fn turn(a: Angle, b: Angle) -> f64 {
    let apart = (a - b).as_revolutions();
    apart.min(1.0 - apart)
}

impl SeekDifference {
    fn new(first: &Spec, second: &Spec, op: Op) -> Self {
        let cylinders = first.geometry.cylinders.min(second.geometry.cylinders);
        let times = [first, second].map(|spec| SeekTimes::new(&spec.mechanics, cylinders));
        let mut found = Self {
            mean: Span::ZERO,
            largest: (0, [Span::ZERO; 2]),
            largest_relative: (0, [Span::ZERO; 2]),
        };
        let (mut sum, mut relative, mut max) = (0, 0.0, -1);
        for distance in 1..cylinders {
            let both = [0, 1].map(|k| mean_time(&times[k], op, distance));
            let apart = (both[1] - both[0]).as_ns().abs();
            sum += apart;
            if apart > max {
                max = apart;
                found.largest = (distance, both);
            }
            let share = apart as f64 / both[0].as_ns().max(1) as f64;
            if share > relative {
                relative = share;
                found.largest_relative = (distance, both);
            }
        }
        found.mean = Span::from_ns(sum / i64::from(cylinders.max(2) - 1));
        found
    }
}

/// The mean of a seek inward and one outward.
fn mean_time(times: &SeekTimes, op: Op, distance: u32) -> Span {
    let ends = (Cylinder(0), Cylinder(distance));
    let inward = times.total(op, ends, false);
    let outward = times.total(op, (ends.1, ends.0), false);
    Span::from_ns((inward + outward).as_ns() / 2)
}
