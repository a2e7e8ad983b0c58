//! Keeps overlapping marks distinguishable: enlarges hidden marks and shifts arrowheads.

use crate::mark::TIP;

/// A mark on the page, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedMark {
    /// The number of its line. Marks of later lines are drawn on top.
    pub line: usize,
    pub x: f64,
    pub y: f64,
}

/// Marks this close to each other hide each other.
const CLOSE: f64 = 3.0;

/// The enlargement of a mark for each mark that hides it, and the maximum number that count.
const LARGER: f64 = 0.3;
const MAX: usize = 4;

/// Half the width and the height of an arrowhead with its margin, and the radius of a mark, in
/// pixels.
const HEAD: (f64, f64) = (4.5, 8.0);
const MARK: f64 = 5.0;

/// Candidate shifts of an arrowhead from its normal position, to the right and upwards, in order of
/// preference.
const SHIFTS: [(f64, f64); 9] = [
    (0.0, 0.0),
    (0.0, 12.0),
    (0.0, 24.0),
    (0.0, 36.0),
    (10.0, 0.0),
    (-10.0, 0.0),
    (20.0, 0.0),
    (-20.0, 0.0),
    (0.0, 48.0),
];

/// Returns the scale of each mark, so that a mark hidden by others is visible around them.
pub fn scales(marks: &[PlacedMark]) -> Vec<f64> {
    let hides = |mark: &PlacedMark, other: &&PlacedMark| {
        other.line > mark.line && (other.x - mark.x).hypot(other.y - mark.y) < CLOSE
    };
    let scale = |mark: &PlacedMark| {
        let above = marks.iter().filter(|other| hides(mark, other)).count();
        1.0 + LARGER * above.min(MAX) as f64
    };
    marks.iter().map(scale).collect()
}

/// Returns the shifts of the arrowheads that keep them clear of other marks and of each other. No
/// shift moves a head out of the area bounded by `left`, `top` and `right`.
pub fn shifts(
    arrows: &[PlacedMark],
    marks: &[PlacedMark],
    [left, top, right]: [f64; 3],
) -> Vec<(f64, f64)> {
    let mut heads: Vec<(f64, f64)> = Vec::new();
    let mut shifts = Vec::new();
    for arrow in arrows {
        let head = |shift: (f64, f64)| {
            let middle = arrow.y + TIP + HEAD.1 / 2.0;
            (arrow.x + shift.0, middle - shift.1)
        };
        let is_free = |shift: &&(f64, f64)| {
            let (x, y) = head(**shift);
            let is_apart = |other: (f64, f64), room: f64| {
                (other.0 - x).abs() >= HEAD.0 + room || (other.1 - y).abs() >= HEAD.1 / 2.0 + room
            };
            let others = marks.iter().filter(|mark| mark.line != arrow.line);
            (shift.1 == 0.0 || y - HEAD.1 / 2.0 >= top)
                && (shift.0 == 0.0 || (left + HEAD.0..=right - HEAD.0).contains(&x))
                && others
                    .map(|mark| (mark.x, mark.y))
                    .all(|at| is_apart(at, MARK))
                && heads.iter().all(|other| is_apart(*other, HEAD.0))
        };
        let shift = SHIFTS.iter().find(is_free).copied().unwrap_or_default();
        heads.push(head(shift));
        shifts.push(shift);
    }
    shifts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: usize, x: f64, y: f64) -> PlacedMark {
        PlacedMark { line, x, y }
    }

    #[test]
    fn a_mark_below_others_is_larger() {
        let marks = [
            at(0, 10.0, 10.0),
            at(1, 11.0, 10.0),
            at(2, 10.0, 11.0),
            at(3, 10.0, 20.0),
            // The next point of the same line hides nothing.
            at(3, 10.0, 21.0),
        ];
        assert_eq!(scales(&marks), [1.6, 1.3, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn an_arrow_rises_above_marks_and_moves_aside_for_arrows() {
        let end = at(0, 100.0, 100.0);
        assert_eq!(shifts(&[end], &[end], [0.0, 0.0, 200.0]), [(0.0, 0.0)]);
        // The mark of another line is where its head would be.
        let other = at(1, 101.0, 87.0);
        assert_eq!(
            shifts(&[end], &[end, other], [0.0, 0.0, 200.0]),
            [(0.0, 12.0)]
        );
        // The left is preferred where the top is blocked.
        assert_eq!(
            shifts(&[end], &[end, other], [0.0, 80.0, 200.0]),
            [(-10.0, 0.0)]
        );
        // Both near positions at the sides are blocked too.
        let neighbours = [at(1, 101.0, 87.0), at(1, 90.0, 87.0)];
        assert_eq!(
            shifts(&[end], &neighbours, [0.0, 80.0, 200.0]),
            [(20.0, 0.0)]
        );
        assert_eq!(
            shifts(&[end], &neighbours, [0.0, 80.0, 124.0]),
            [(-20.0, 0.0)]
        );
        let same = at(1, 100.0, 100.0);
        assert_eq!(
            shifts(&[end, same], &[end, same], [0.0, 0.0, 200.0]),
            [(0.0, 0.0), (0.0, 12.0)]
        );
    }
}
