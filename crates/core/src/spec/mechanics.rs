//! Rotation and arm.

use super::key::{A1, Key, KeyKind, SIGNED_TIME, SheetEntry, TIME, Variation};
use crate::units::Span;

section! {
    /// Rotation and arm.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Mechanics at "mechanics." |spec| (Some(&spec.mechanics), &mut spec.mechanics) {
        /// Speed, or time of a revolution.
        ///
        /// In nanoseconds, which is the definition; rpm is only for display.
        period_ns as rotation: f64 = 0.0
            => Key::new(KeyKind::Rotation).required().varied(30, Variation::Jointly).cited(A1);
        /// Seek times.
        seek: SeekCurve = SeekCurve::default() => CURVE.required().shown(SheetEntry::Hidden);
        /// Time to another head of the same cylinder. It overlaps a seek: positioning takes the
        /// longer of the two.
        head_switch: Span = Span::ZERO => TIME.fitted(6, 0.3).cited(TABLE_8);
        /// Added to an inward seek (to a higher cylinder), subtracted from an outward one; no more
        /// than the shortest seek.
        ///
        /// On the HP C2247 this is half a millisecond at all distances.
        inward_seek: Span = Span::ZERO => SIGNED_TIME.fitted(7, 0.3);
        /// Time to settle before a request on the track where the head already is.
        ///
        /// Sets that were extracted over SCSI tend to have part of the command overhead in their
        /// seek curves, so that a request without a movement is charged too little. A transfer that
        /// continues to the next track pays only the head switch.
        track_settle: Span = Span::ZERO => TIME.fitted(6, 0.3);
        /// Time to settle before a request on another track of the cylinder, after the head switch.
        cylinder_settle: Span = Span::ZERO => TIME.fitted(6, 0.3);
        /// Standard deviation of the time of a movement before a read, by distance: each takes
        /// longer or shorter by a normally distributed time, at random from the run's seed.
        ///
        /// Estimates for policies and predictions are for the mean.
        seek_scatter: Option<SeekCurve> = None
            => SCATTER.shown(SheetEntry::As("seek_scatter_curve"));
        /// Standard deviation of the time of a movement before a write, by distance; otherwise that
        /// of reads.
        write_seek_scatter: Option<SeekCurve> = None
            => SCATTER.shown(SheetEntry::As("write_seek_scatter_curve"));
        /// Added to any seek or head switch before a write; negative when *effective* (reads wait
        /// to settle too, or the write's setup overlaps), by no more than the shortest movement.
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
    /// Square root below the knee, straight above (jacobson91 section 3).
    TwoPiece(TwoPiece),
    /// [`Self::TwoPiece`] with the shortest seeks in a table from 1 (worthington94 table A.3).
    TwoPieceAndTable(TwoPiece, Vec<Span>),
    /// Measured (distance, time) pairs in ascending distance, linear between.
    Table(Vec<(u32, Span)>),
    /// Track to track, average (at a third of the stroke), full stroke: straight between.
    ThreePoint {
        /// One cylinder.
        single: Span,
        /// A third of all cylinders.
        average: Span,
        /// From the first to the last cylinder.
        full: Span,
    },
}

impl Default for SeekCurve {
    /// No time at all.
    fn default() -> Self {
        Self::Table(Vec::new())
    }
}

/// `short + short_sqrt * sqrt(d)` below the knee, `long + long_slope * d` from the knee on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoPiece {
    /// First distance of the straight piece, in cylinders.
    pub knee: u32,
    /// Constant term of the curved piece, in milliseconds.
    pub short_ms: f64,
    /// Milliseconds per square root of a cylinder.
    pub short_sqrt_ms: f64,
    /// Constant term of the straight piece, in milliseconds.
    pub long_ms: f64,
    /// Slope of the straight piece, in milliseconds per cylinder.
    pub long_slope_ms: f64,
    /// The time over one cylinder, if it is not on the curve.
    pub single: Option<Span>,
}

impl Mechanics {
    /// Returns the name of the first key that conflicts with another one, on a drive with
    /// `cylinders`, and what is allowed.
    pub fn contradiction(&self, cylinders: u32) -> Option<(&'static str, String)> {
        let last = cylinders.saturating_sub(1).max(1);
        let read = shortest_seek(&self.seek, last);
        let write = (self.write_seek.as_ref()).map_or(read, |curve| shortest_seek(curve, last));
        let min = match self.head_switch {
            Span::ZERO => -write,
            head_switch => -write.min(head_switch),
        };
        if self.write_settle < min {
            let expected =
                format!("{min} or more: the shortest movement before a write is no longer");
            return Some(("write_settle", expected));
        }
        let shortest = read.min(write);
        let fits = (-shortest..=shortest).contains(&self.inward_seek);
        let expected = format!("a time from -{shortest} to {shortest}, which is the shortest seek");
        (!fits).then_some(("inward_seek", expected))
    }

    /// Returns a warning for each probable mistake: a seek less than half as long as a shorter one.
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
                "mechanics.{key}: a seek over {far} cylinders takes {fast}, one over {near} {slow}"
            ))
        };
        curves.filter_map(falling).collect()
    }
}

/// Returns the shortest time over 1 to `last` cylinders. Each piece of a formula begins shortest.
fn shortest_seek(curve: &SeekCurve, last: u32) -> Span {
    match curve {
        SeekCurve::TwoPiece(piece) => shortest_of(piece.single.as_slice(), piece, last),
        SeekCurve::TwoPieceAndTable(piece, first) => shortest_of(first, piece, last),
        SeekCurve::Table(points) => shortest_point(points, last),
        SeekCurve::ThreePoint { single, .. } => *single,
    }
}

/// Returns the shortest time of a measured curve: at a point or the last cylinder's distance.
fn shortest_point(points: &[(u32, Span)], last: u32) -> Span {
    let (reached, beyond) = points.split_at(points.partition_point(|(d, _)| *d <= last));
    let cut = match (reached.last(), beyond.first()) {
        (Some(&(d0, t0)), Some(&(d1, t1))) => {
            let share = f64::from(last - d0) / f64::from(d1 - d0);
            Some(t0 + Span::from_ns(((t1 - t0).as_ns() as f64 * share).round() as i64))
        }
        (_, beyond) => beyond.map(|(_, time)| *time),
    };
    let times = reached.iter().map(|(_, time)| *time).chain(cut);
    times.min().unwrap_or(Span::ZERO)
}

/// Returns the shortest of the listed times, one cylinder first, and of the formula beyond them.
fn shortest_of(listed: &[Span], piece: &TwoPiece, last: u32) -> Span {
    let next = listed.len() as u32 + 1;
    let short = Span::from_ms(piece.short_ms + piece.short_sqrt_ms * f64::from(next).sqrt());
    let knee = piece.knee.max(next);
    let long = Span::from_ms(piece.long_ms + piece.long_slope_ms * f64::from(knee));
    let reached = listed.iter().copied().take(last as usize);
    let short = (next < piece.knee && next <= last).then_some(short);
    let long = (knee <= last).then_some(long);
    reached.chain(short).chain(long).min().unwrap_or(Span::ZERO)
}
