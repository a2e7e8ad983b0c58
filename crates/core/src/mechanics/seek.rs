//! Seek times by distance, tabulated once from the curve of a specification.

use std::sync::Arc;

use crate::request::Op;
use crate::spec::Mechanics;
use crate::units::{Cylinder, Span};

/// Arm movement, head switch and write settle for every distance, operation and head change.
#[derive(Clone, Debug)]
pub struct SeekTimes {
    /// One row per signed distance, from the longest outward seek to the longest inward one.
    rows: Arc<[SeekEntry]>,
    /// Index of the row for distance zero: the number of cylinders minus one.
    zero_row: u32,
    /// By distance, the shortest movement of any kind over at least that distance.
    min: Arc<[u32]>,
    /// The row for distance zero in a continuing transfer, without a request's initial settle.
    onward: SeekEntry,
}

#[derive(Clone, Copy, Debug, Default)]
struct SeekEntry {
    /// Arm movement alone, before a read and before a write.
    seek: [u32; 2],
    /// Total with head switch and settle, by operation and by whether the head changes.
    total: [[u32; 2]; 2],
}

impl SeekTimes {
    /// Tabulates the seeks of a drive with `cylinders` cylinders.
    pub fn new(mechanics: &Mechanics, cylinders: u32) -> Self {
        let zero_row = cylinders - 1;
        let outward = (1..cylinders).rev().map(|d| (d, -mechanics.inward_seek));
        let inward = (1..cylinders).map(|d| (d, mechanics.inward_seek));
        let distances = outward.chain([(0, Span::ZERO)]).chain(inward);
        let rows: Arc<[SeekEntry]> = distances
            .map(|(d, extra)| SeekEntry::new(mechanics, d, extra, cylinders))
            .collect();
        let shortest = |row: usize| {
            *rows[row]
                .total
                .as_flattened()
                .iter()
                .min()
                .expect("a row has four totals")
        };
        let without_settle = Mechanics {
            track_settle: Span::ZERO,
            cylinder_settle: Span::ZERO,
            ..mechanics.clone()
        };
        let onward = SeekEntry::new(&without_settle, 0, Span::ZERO, cylinders);
        let mut min: Vec<u32> = (0..cylinders as usize)
            .map(|d| shortest(zero_row as usize + d).min(shortest(zero_row as usize - d)))
            .collect();
        for d in (0..min.len().saturating_sub(1)).rev() {
            min[d] = min[d].min(min[d + 1]);
        }
        Self {
            rows,
            zero_row,
            min: min.into(),
            onward,
        }
    }

    #[inline]
    fn row(&self, from: Cylinder, to: Cylinder) -> &SeekEntry {
        &self.rows[(self.zero_row + to.0 - from.0) as usize]
    }

    /// Returns the time of the arm movement between two cylinders, and the additional time of head
    /// switch and settle. The sum is never negative. If `continues`, there is no initial settle.
    #[inline]
    pub fn parts(
        &self,
        continues: bool,
        op: Op,
        path: (Cylinder, Cylinder),
        head_changes: bool,
    ) -> (Span, Span) {
        let (from, to) = path;
        let row = if continues && from == to {
            &self.onward
        } else {
            self.row(from, to)
        };
        let op = usize::from(!op.is_read());
        let seek = i64::from(row.seek[op]);
        let total = i64::from(row.total[op][usize::from(head_changes)]);
        (Span::from_ns(seek), Span::from_ns(total - seek))
    }

    /// Returns the sum of [`SeekTimes::parts`].
    #[inline]
    pub fn total(&self, op: Op, (from, to): (Cylinder, Cylinder), head_changes: bool) -> Span {
        let row = self.row(from, to);
        let total = row.total[usize::from(!op.is_read())][usize::from(head_changes)];
        Span::from_ns(i64::from(total))
    }

    /// Returns a lower bound on all movements over at least `distance` cylinders.
    #[inline]
    pub fn min(&self, distance: u32) -> Span {
        Span::from_ns(i64::from(self.min[distance as usize]))
    }
}

impl SeekEntry {
    /// Creates the row for distance `d`, whose seeks take `extra` longer than the curve says.
    fn new(mechanics: &Mechanics, d: u32, extra: Span, cylinders: u32) -> Self {
        let write = mechanics.write_seek.as_ref().unwrap_or(&mechanics.seek);
        let seek =
            [&mechanics.seek, write].map(|curve| (curve.time(d, cylinders) + extra).or_zero());
        let total = |op: usize, head_changes: bool| {
            let only_if = |applies, time| if applies { time } else { Span::ZERO };
            let switch = only_if(head_changes, mechanics.head_switch);
            let has_moved = d > 0 || head_changes;
            let settle = only_if(op == 1 && has_moved, mechanics.write_settle);
            let track_settle = match (d, head_changes) {
                (0, false) => mechanics.track_settle,
                (0, true) => mechanics.cylinder_settle,
                _ => Span::ZERO,
            };
            // The longer of seek and head switch, plus the settle; at least zero.
            (switch.max(seek[op]) + settle).or_zero() + track_settle
        };
        let total = [0, 1].map(|op| [total(op, false), total(op, true)]);
        let ns = |span: Span| span.as_ns() as u32;
        Self {
            seek: seek.map(ns),
            total: total.map(|by_head| by_head.map(ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{SeekCurve, TwoPiece};

    const HP_97560: TwoPiece = TwoPiece {
        knee: 384,
        short_ms: 3.24,
        short_sqrt_ms: 0.40,
        long_ms: 8.20,
        long_slope_ms: 0.0075,
        single: None,
    };

    fn mechanics(seek: SeekCurve, head_switch: f64, write_settle: f64) -> Mechanics {
        Mechanics {
            period_ns: 1e7,
            seek,
            head_switch: Span::from_ms(head_switch),
            write_settle: Span::from_ms(write_settle),
            ..Mechanics::default()
        }
    }

    fn total(times: &SeekTimes, op: Op, distance: u32, head_changes: bool) -> f64 {
        let path = (Cylinder(0), Cylinder(distance));
        let (seek, settle) = times.parts(false, op, path, head_changes);
        (seek + settle).as_ms()
    }

    #[test]
    fn the_two_piece_formula_of_the_hp_97560() {
        let times = SeekTimes::new(&mechanics(SeekCurve::TwoPiece(HP_97560), 2.5, 0.0), 1964);
        for (distance, head_changes, ms) in [
            // 3.24 + 0.40 * sqrt(100) = 7.24; 8.20 + 0.0075 * 1000 = 15.7.
            (100, false, 7.24),
            (1000, true, 15.7),
            (0, false, 0.0),
            (0, true, 2.5),
            // 3.24 + 0.40 * 19.570386 = 11.068154; the line would give 11.0725. 8.20 + 0.0075 * 384
            // = 11.08; the root would give 11.078367.
            (383, false, 11.068154),
            (384, false, 11.08),
        ] {
            assert_eq!(total(&times, Op::Read, distance, head_changes), ms);
        }
    }

    #[test]
    fn measured_points_are_joined_by_straight_lines() {
        let ms = Span::from_ms;
        let curve = SeekCurve::Table(vec![(1, ms(1.0)), (3, ms(2.0)), (10, ms(9.0))]);
        let times = SeekTimes::new(&mechanics(curve, 0.0, 0.5), 20);
        let read: Vec<f64> = [1, 2, 3, 4, 10, 19]
            .iter()
            .map(|&d| total(&times, Op::Read, d, false))
            .collect();
        assert_eq!(read, [1.0, 1.5, 2.0, 3.0, 9.0, 9.0]);
        assert_eq!(total(&times, Op::Write, 2, false), 2.0);
        assert_eq!(total(&times, Op::Write, 0, false), 0.0);
    }

    #[test]
    fn a_negative_settle_never_makes_a_movement_negative() {
        let curve = SeekCurve::Table(vec![(1, Span::from_ms(0.3)), (9, Span::from_ms(3.0))]);
        let times = SeekTimes::new(&mechanics(curve, 0.1, -0.5), 10);
        assert_eq!(total(&times, Op::Write, 1, true), 0.0);
        assert_eq!(total(&times, Op::Write, 9, true), 2.5);
        assert_eq!(times.min(5), Span::from_ms(1.15));
    }

    #[test]
    fn the_three_point_curve_passes_through_its_points() {
        let ms = Span::from_ms;
        let curve = SeekCurve::ThreePoint {
            single: ms(1.0),
            average: ms(8.0),
            full: ms(16.0),
        };
        let times = SeekTimes::new(&mechanics(curve, 0.0, 0.0), 3001);
        for (d, expected) in [(1, 1.0), (1000, 8.0), (3000, 16.0), (2000, 12.0)] {
            assert_eq!(total(&times, Op::Read, d, false), expected);
        }
    }

    #[test]
    fn min_is_a_lower_bound_for_every_longer_distance() {
        // The C2247's short seeks are not monotone: 4.65 ms at 6, 4.52 ms at 7.
        let ms = Span::from_ms;
        let points = [(1, 4.0), (6, 4.65), (7, 4.52), (9, 5.0)];
        let curve = SeekCurve::Table(points.map(|(d, time)| (d, ms(time))).into());
        let times = SeekTimes::new(&mechanics(curve, 0.9, -0.2), 10);
        for d in 0..10 {
            for (e, op) in (d..10).flat_map(|e| [(e, Op::Read), (e, Op::Write)]) {
                for head_changes in [false, true] {
                    assert!(times.min(d).as_ms() <= total(&times, op, e, head_changes));
                }
            }
        }
    }
}
