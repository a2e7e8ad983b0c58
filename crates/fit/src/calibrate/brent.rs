//! The minimum of a function of one variable without its derivative: Brent, Algorithms for
//! Minimization without Derivatives (1973), chapter 5.

/// The relative and the absolute part of the distance below which two points are the same.
const TOLERANCE: (f64, f64) = (1e-4, 1e-3);

/// The share of an interval that a golden section step takes: (3 - sqrt(5)) / 2.
const GOLDEN: f64 = 0.381_966_011_250_105_1;

/// A point and the function there.
#[derive(Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
}

/// A local minimum of `f` within `[low, high]` after at most `steps` steps, and `f` there.
///
/// Each step evaluates `f` once: at the minimum of a parabola through the three best points if
/// that can be trusted, else by golden section.
pub fn minimum(f: impl Fn(f64) -> f64, [mut low, mut high]: [f64; 2], steps: u64) -> (f64, f64) {
    let at = |x: f64| Point { x, y: f(x) };
    // The best point, the second, and what was the second before.
    let mut best = at(low + GOLDEN * (high - low));
    let (mut second, mut third) = (best, best);
    // The last step, and the one before.
    let (mut step, mut before) = (0.0, 0.0_f64);
    for _ in 0..steps {
        let near = TOLERANCE.0 * best.x.abs() + TOLERANCE.1;
        let middle = (low + high) / 2.0;
        if (best.x - middle).abs() <= 2.0 * near - (high - low) / 2.0 {
            break;
        }
        let (up, down) = parabola(best, second, third);
        let is_outside = up < down * (low - best.x) || up > down * (high - best.x);
        if before.abs() <= near || is_outside || 2.0 * up.abs() >= down * before.abs() {
            before = if best.x < middle { high } else { low } - best.x;
            step = GOLDEN * before;
        } else {
            before = step;
            step = up / down;
            if best.x + step - low < 2.0 * near || high - best.x - step < 2.0 * near {
                step = (middle - best.x).signum() * near;
            }
        }
        let next = at(best.x + step.signum() * step.abs().max(near));
        if next.y <= best.y {
            *(if next.x < best.x { &mut high } else { &mut low }) = best.x;
            (third, second, best) = (second, best, next);
        } else {
            *(if next.x < best.x { &mut low } else { &mut high }) = next.x;
            if next.y <= second.y || second.x == best.x {
                (third, second) = (second, next);
            } else if next.y <= third.y || third.x == best.x || third.x == second.x {
                third = next;
            }
        }
    }
    (best.x, best.y)
}

/// The way from `a` to the minimum of the parabola through three points, as a fraction whose
/// denominator is not negative; it is zero where two points are the same.
fn parabola(a: Point, b: Point, c: Point) -> (f64, f64) {
    let ((ab, ac), (fb, fc)) = ((a.x - b.x, a.x - c.x), (a.y - b.y, a.y - c.y));
    let up = ac * ac * fb - ab * ab * fc;
    let down = 2.0 * (ab * fc - ac * fb);
    if down >= 0.0 {
        (up, down)
    } else {
        (-up, -down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_parabola_is_minimised_once_three_points_are_known() {
        let found = minimum(|x| (x - 0.7).powi(2) + 3.0, [-2.0, 5.0], 5);
        assert!((found.0 - 0.7).abs() < 2e-3 && (found.1 - 3.0).abs() < 1e-5);
    }

    /// exp(x) - 2x has its minimum at ln 2; |x - 1| has no parabola there; x^4 is flat.
    #[test]
    fn other_functions_are_minimised_to_the_tolerance() {
        let check = |f: fn(f64) -> f64, at: f64, within: f64| {
            let (x, y) = minimum(f, [-3.0, 4.0], 100);
            assert!((x - at).abs() < within, "{x}, not {at}");
            assert_eq!(y, f(x));
        };
        check(|x| x.exp() - 2.0 * x, std::f64::consts::LN_2, 4e-3);
        check(|x| (x - 1.0).abs(), 1.0, 4e-3);
        check(|x| x.powi(4), 0.0, 0.1);
        // At the edge of the interval.
        check(|x| x, -3.0, 4e-3);
        check(|x| -x, 4.0, 4e-3);
    }

    #[test]
    fn a_step_evaluates_once_and_the_best_point_is_kept() {
        let count = Cell::new(0);
        let lowest = Cell::new(f64::INFINITY);
        let rough = |x: f64| {
            count.set(count.get() + 1);
            let y = (7.0 * x).sin() + (x * 0.3).cos();
            lowest.set(lowest.get().min(y));
            y
        };
        let (_, y) = minimum(rough, [-3.0, 4.0], 6);
        assert_eq!((count.get(), y), (7, lowest.get()));
    }
}
