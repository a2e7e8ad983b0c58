//! Rotation and arm.

use super::key::{A1, Key, KeyKind, SIGNED_TIME, SheetEntry, TIME, Variation};
use crate::units::Span;

section! {
    /// Rotation and arm.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Mechanics at "mechanics." |spec| (Some(&spec.mechanics), &mut spec.mechanics) {
        /// Speed, or time of a revolution.
        ///
        /// Stored in nanoseconds; rpm is only for display.
        period_ns as rotation: f64 = 0.0
            => Key::new(KeyKind::Rotation).required().varied(30, Variation::Jointly).cited(A1);
        /// Seek times.
        seek: SeekCurve = SeekCurve::default() => CURVE.required().shown(SheetEntry::Hidden);
        /// Time to switch to another head of the same cylinder. It overlaps a seek: positioning
        /// takes the longer of the two.
        head_switch: Span = Span::ZERO => TIME.fitted(6, 0.3).cited(TABLE_8);
        /// Time added to inward seeks (to a higher cylinder) and subtracted from outward seeks; at
        /// most the shortest seek.
        ///
        /// On the HP C2247 this is half a millisecond at all distances.
        inward_seek: Span = Span::ZERO => SIGNED_TIME.fitted(7, 0.3);
        /// Time to settle before a request on the track where the head already is.
        ///
        /// Parameter sets extracted over SCSI tend to include part of the command overhead in their
        /// seek curves, so that requests without a movement would be too fast. A transfer that
        /// continues to the next track pays only the head switch.
        track_settle: Span = Span::ZERO => TIME.fitted(6, 0.3);
        /// Time to settle before a request on another track of the cylinder, after the head switch.
        cylinder_settle: Span = Span::ZERO => TIME.fitted(6, 0.3);
        /// Standard deviation of the time of a movement before a read, by distance. The deviation
        /// of each movement is normally distributed and depends on the run's seed.
        ///
        /// Estimates for policies and predictions use the mean.
        seek_scatter: Option<SeekCurve> = None
            => SCATTER.shown(SheetEntry::As("seek_scatter_curve"));
        /// Standard deviation of movement times before writes, by distance; by default that of
        /// reads.
        write_seek_scatter: Option<SeekCurve> = None
            => SCATTER.shown(SheetEntry::As("write_seek_scatter_curve"));
        /// Time added to any seek or head switch before a write. It may be negative if it is an
        /// *effective* time (reads settle too, or the write's setup overlaps), but not by more than
        /// the shortest movement.
        write_settle: Span = Span::ZERO => SIGNED_TIME.fitted(6, 0.5).cited(TABLE_8);
        /// Seek times before a write, if they were measured separately; otherwise those of
        /// reads. `write_settle` is added to either.
        write_seek: Option<SeekCurve> = None
            => CURVE.cited("own").shown(SheetEntry::As("write_seek_curve_of_its_own"));
    }
}

const CURVE: Key = Key::new(KeyKind::SeekCurve)
    .varied(30, Variation::Jointly)
    .cited("worthington94 table A.3");
/// Standard deviations by distance.
const SCATTER: Key = Key::new(KeyKind::SeekCurve).varied(32, Variation::Jointly);
const TABLE_8: &str = "worthington96 table 8";

/// Seek time as a function of distance in cylinders. Zero distance takes no time.
#[derive(Clone, Debug, PartialEq)]
pub enum SeekCurve {
    /// Square root below the knee, linear above (jacobson91 section 3).
    TwoPiece(TwoPiece),
    /// [`Self::TwoPiece`] with a table of the shortest seeks (worthington94 table A.3).
    TwoPieceAndTable(TwoPiece, Vec<Span>),
    /// Measured (distance, time) pairs in ascending distance, with linear interpolation.
    Table(Vec<(u32, Span)>),
    /// Track to track, average (at a third of the stroke), full stroke; linear in between.
    ThreePoint {
        /// Time over one cylinder.
        single: Span,
        /// Time over a third of all cylinders.
        average: Span,
        /// Time from the first to the last cylinder.
        full: Span,
    },
}

impl Default for SeekCurve {
    /// All seeks take no time.
    fn default() -> Self {
        Self::Table(Vec::new())
    }
}

/// `short + short_sqrt * sqrt(d)` below the knee, `long + long_slope * d` from the knee on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoPiece {
    /// First distance of the linear piece, in cylinders.
    pub knee: u32,
    /// Constant term of the curved piece, in milliseconds.
    pub short_ms: f64,
    /// Milliseconds per square root of a cylinder.
    pub short_sqrt_ms: f64,
    /// Constant term of the linear piece, in milliseconds.
    pub long_ms: f64,
    /// Slope of the linear piece, in milliseconds per cylinder.
    pub long_slope_ms: f64,
    /// The time over one cylinder, if it is not on the curve.
    pub single: Option<Span>,
}

impl Mechanics {
    /// Returns the name of the first key that conflicts with another one, on a drive with
    /// `cylinders`, and what is allowed.
    pub fn contradiction(&self, cylinders: u32) -> Option<(&'static str, String)> {
        let read = self.seek.shortest(cylinders);
        let write = (self.write_seek.as_ref()).map_or(read, |curve| curve.shortest(cylinders));
        let min = match self.head_switch {
            Span::ZERO => -write,
            head_switch => -write.min(head_switch),
        };
        if self.write_settle < min {
            let expected =
                format!("{min} or more, so that no movement before a write takes a negative time");
            return Some(("write_settle", expected));
        }
        let shortest = read.min(write);
        let fits = (-shortest..=shortest).contains(&self.inward_seek);
        let expected = format!("a time from -{shortest} to {shortest}, which is the shortest seek");
        (!fits).then_some(("inward_seek", expected))
    }

    /// Returns a warning for each probable mistake: a seek that takes less than half the time of a
    /// shorter one.
    pub fn doubts(&self) -> Vec<String> {
        let write = self.write_seek.as_ref().map(|curve| ("write_seek", curve));
        let curves = std::iter::once(("seek", &self.seek)).chain(write);
        let falling = |(key, curve): (&str, &SeekCurve)| {
            let SeekCurve::Table(points) = curve else {
                return None;
            };
            let (mut longest, mut falls) = ((0, Span::ZERO), None);
            for &(distance, time) in points {
                if time + time < longest.1 {
                    falls.get_or_insert((longest, (distance, time)));
                }
                if time > longest.1 {
                    longest = (distance, time);
                }
            }
            let ((near, slow), (far, fast)) = falls?;
            Some(format!(
                "mechanics.{key}: a seek over {far} cylinders takes {fast}, but one over {near} \
                 takes {slow}"
            ))
        };
        curves.filter_map(falling).collect()
    }
}

impl SeekCurve {
    /// Returns the time over `distance`, on a drive with `cylinders`.
    pub(crate) fn time(&self, distance: u32, cylinders: u32) -> Span {
        if distance == 0 {
            return Span::ZERO;
        }
        let time = match self {
            Self::TwoPiece(piece) => piece.time(distance),
            Self::TwoPieceAndTable(piece, first) => {
                let listed = first.get(distance as usize - 1).copied();
                listed.unwrap_or_else(|| piece.time(distance))
            }
            Self::Table(points) => interpolate(points, distance),
            Self::ThreePoint {
                single,
                average,
                full,
            } => {
                let third = (cylinders / 3).max(2);
                let last = cylinders.saturating_sub(1).max(third + 1);
                interpolate(&[(1, *single), (third, *average), (last, *full)], distance)
            }
        };
        // A formula may give more than a second, although no coefficient does.
        time.min(Span::from_ns(1_000_000_000))
    }

    /// Returns the shortest seek time, which is at an end of a piece of the curve.
    fn shortest(&self, cylinders: u32) -> Span {
        let last = cylinders.saturating_sub(1).max(1);
        let formula = |listed: usize, piece: &TwoPiece| -> Vec<u32> {
            (1..=listed as u32 + 1).chain([piece.knee]).collect()
        };
        let bounds = match self {
            Self::TwoPiece(piece) => formula(piece.single.as_slice().len(), piece),
            Self::TwoPieceAndTable(piece, first) => formula(first.len(), piece),
            Self::Table(points) => points.iter().map(|(d, _)| *d).chain([last]).collect(),
            Self::ThreePoint { .. } => vec![1],
        };
        let reached = bounds.into_iter().filter(|d| (1..=last).contains(d));
        let times = reached.map(|d| self.time(d, cylinders));
        times.min().unwrap_or(Span::ZERO)
    }
}

impl TwoPiece {
    /// Returns the time over `distance`: a square root for short seeks, linear once the arm coasts.
    fn time(&self, distance: u32) -> Span {
        let d = f64::from(distance);
        match self.single {
            Some(single) if distance == 1 => single,
            _ if distance < self.knee => {
                Span::from_ms(self.short_ms + self.short_sqrt_ms * d.sqrt())
            }
            _ => Span::from_ms(self.long_ms + self.long_slope_ms * d),
        }
    }
}

/// Interpolates linearly between measured points; outside them, returns the time of the nearest.
fn interpolate(points: &[(u32, Span)], distance: u32) -> Span {
    let after = points.partition_point(|&(d, _)| d < distance);
    let Some(&(d1, t1)) = points.get(after) else {
        return points.last().map_or(Span::ZERO, |&(_, t)| t);
    };
    if after == 0 || d1 == distance {
        return t1;
    }
    let (d0, t0) = points[after - 1];
    let share = f64::from(distance - d0) / f64::from(d1 - d0);
    t0 + Span::from_ns(((t1 - t0).as_ns() as f64 * share).round() as i64)
}
