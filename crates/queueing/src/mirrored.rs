//! Two disks with the same data: seek distances, rotational waits and the largest load of liu05,
//! section 3.2.
//!
//! Distances are fractions of the stroke on a drive without zones, for requests uniform over it.

/// The mean distance of one arm that is as likely anywhere as the request: 1/3.
pub const SINGLE: f64 = 1.0 / 3.0;

/// The mean distance of the nearer of two arms, for a read: 5/24, if both arms are uniform and
/// independent.
///
/// The C/5 that section 3.2 cites for C cylinders ([`independent_distances`]) is 4 % lower: it
/// takes the distances of the two arms as independent, though they lead to the same place.
pub const READ: f64 = 5.0 / 24.0;

/// The mean distance of the farther of two arms, for a write: 11/24, if both are uniform and
/// independent. The 7C/15 of section 3.2 ([`independent_distances`]) is 2 % higher.
pub const WRITE: f64 = 11.0 / 24.0;

/// The mean distance of the nearer arm, if the other one is moved to [`placed_other`] at no cost
/// after each read: 5/36.
pub const READ_PLACED: f64 = 5.0 / 36.0;

/// The mean distance of the nearer arm, if both return to 1/4 and 3/4 after each read: 1/8, the
/// minimum for reads.
pub const READ_AT_QUARTERS: f64 = 1.0 / 8.0;

/// The shortest and the longest mean distance among `arms` whose distances are taken as
/// independent, in strokes: 1 / (2 n + 1), and 1 minus the product of 2 k / (2 k + 1) for k from 1
/// to n. `None` without arms.
///
/// For two arms these are the C/5 and 7C/15 of section 3.2. They are approximations: [`READ`] and
/// [`WRITE`] are the exact means.
pub fn independent_distances(arms: u32) -> Option<(f64, f64)> {
    let share = |k: u32| f64::from(2 * k) / f64::from(2 * k + 1);
    let longest = 1.0 - (1..=arms).map(share).product::<f64>();
    (arms > 0).then(|| (1.0 / f64::from(2 * arms + 1), longest))
}

/// Returns the position of the other arm under the greedy policy of section 3.2, after the nearer
/// arm has served a request at `target`: a third of the way from the farther edge. Both are
/// fractions of the stroke, 0 to 1.
pub fn placed_other(target: f64) -> f64 {
    if target >= 0.5 {
        target / 3.0
    } else {
        1.0 - (1.0 - target) / 3.0
    }
}

/// Returns the best offset s of two idle arms at 1/2 - s and 1/2 + s, for a share of `writes` from
/// 0 to 1, in strokes: s = (1 - 2 w) / 4 (1 - w), and 0 if at least half are writes.
pub fn best_offset(writes: f64) -> f64 {
    if writes < 0.5 {
        0.25 * (1.0 - 2.0 * writes) / (1.0 - writes)
    } else {
        0.0
    }
}

/// Returns the mean distance of two idle arms at 1/2 - s and 1/2 + s with s = `offset`, from 0 to
/// 1/2 stroke, for a share of `writes`: reads use the nearer arm, (1/2 - s)^2 + s^2, and writes
/// wait for the farther arm, 1/4 + s.
pub fn distance_at_offset(offset: f64, writes: f64) -> f64 {
    let read = (0.5 - offset).powi(2) + offset * offset;
    (1.0 - writes) * read + writes * (0.25 + offset)
}

/// Returns the mean rotational wait of a read of the first of `copies` to arrive under its head: 1
/// / (k + 1) of a revolution, if all heads are on their tracks at the same time and the copies are
/// at independent angles.
pub fn read_wait(copies: u32) -> f64 {
    1.0 / f64::from(copies + 1)
}

/// Returns the mean rotational wait of a write to all of `copies`, which is that of the last one:
/// k / (k + 1) of a revolution, under the assumptions of [`read_wait`]. 0 without copies.
pub fn write_wait(copies: u32) -> f64 {
    f64::from(copies) / f64::from(copies + 1)
}

/// Returns the saturation rate of two disks that serve in order of arrival, where each read goes to
/// one disk and each write to both, for a share of `writes` from 0 to 1 and mean services of a read
/// and a write, in the inverse of their unit (liu05, section 8.2.1): 1 / (reads / 2 * read + writes
/// * write).
pub fn largest_rate(writes: f64, read: f64, write: f64) -> f64 {
    1.0 / (0.5 * (1.0 - writes) * read + writes * write)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The midpoints of `n` equal parts of 0 to 1.
    fn points(n: u32) -> impl Iterator<Item = f64> + Clone {
        (0..n).map(move |k| (f64::from(k) + 0.5) / f64::from(n))
    }

    fn mean(values: impl Iterator<Item = f64>) -> f64 {
        let (sum, count) = values.fold((0.0, 0.0), |(sum, count), v| (sum + v, count + 1.0));
        sum / count
    }

    /// All places of two arms and a request, at 120 places each: the error of the midpoint rule is
    /// below 1e-4, a fortieth of what separates the exact means from C/5 and 7C/15.
    #[test]
    fn two_arms_are_as_far_as_their_enumeration() {
        let all = points(120)
            .flat_map(|a| points(120).map(move |b| (a, b)))
            .flat_map(|(a, b)| points(120).map(move |t| ((a - t).abs(), (b - t).abs())));
        let near = mean(all.clone().map(|(a, b)| f64::min(a, b)));
        let far = mean(all.clone().map(|(a, b)| f64::max(a, b)));
        assert!((near - READ).abs() < 1e-4, "{near}");
        assert!((far - WRITE).abs() < 1e-4, "{far}");
        assert!((mean(all.map(|(a, _)| a)) - SINGLE).abs() < 1e-4);
        let (fifth, fifteenths) = independent_distances(2).unwrap();
        assert!((fifth - 1.0 / 5.0).abs() < 1e-12 && (fifteenths - 7.0 / 15.0).abs() < 1e-12);
        // The approximations are not within that error.
        assert!(near - fifth > 8e-3 && fifteenths - far > 8e-3);
    }

    /// Distances that are independent indeed: each of two arms has a request of its own.
    #[test]
    fn a_fifth_is_right_for_independent_requests() {
        let distances: Vec<f64> = points(50)
            .flat_map(|a| points(50).map(move |t| (a - t).abs()))
            .collect();
        let pairs = || {
            distances
                .iter()
                .flat_map(|a| distances.iter().map(move |b| (*a, *b)))
        };
        let (near, far) = independent_distances(2).unwrap();
        assert!((mean(pairs().map(|(a, b)| a.min(b))) - near).abs() < 5e-4);
        assert!((mean(pairs().map(|(a, b)| a.max(b))) - far).abs() < 5e-4);
        let one = independent_distances(1).unwrap();
        assert!((one.0 - SINGLE).abs() < 1e-12 && (one.1 - SINGLE).abs() < 1e-12);
        assert_eq!(independent_distances(0), None);
    }

    /// Reads only, the nearer arm on the last target: the placed arm is where the next is nearest.
    #[test]
    fn placing_the_other_arm_is_as_good_as_printed() {
        let next = |a: f64, b: f64| mean(points(600).map(|t| (a - t).abs().min((b - t).abs())));
        let placed = mean(points(600).map(|target| next(target, placed_other(target))));
        assert!((placed - READ_PLACED).abs() < 1e-4, "{placed}");
        for target in [0.1, 0.49, 0.5, 0.8] {
            let best = next(target, placed_other(target));
            let others = points(100).map(|other| next(target, other));
            assert!(others.fold(1.0, f64::min) > best - 1e-4, "{target}");
        }
        let quarters = next(0.25, 0.75);
        assert!((quarters - READ_AT_QUARTERS).abs() < 1e-4, "{quarters}");
    }

    #[test]
    fn waiting_arms_are_best_where_the_formula_puts_them() {
        for writes in [0.0, 0.1, 0.3, 0.5, 0.7, 1.0] {
            let of = |s: f64| {
                mean(points(2_000).map(|t| {
                    let arms = [(0.5 - s - t).abs(), (0.5 + s - t).abs()];
                    let (near, far) = (arms[0].min(arms[1]), arms[0].max(arms[1]));
                    (1.0 - writes) * near + writes * far
                }))
            };
            let best = best_offset(writes);
            assert!((of(best) - distance_at_offset(best, writes)).abs() < 1e-6);
            let others = points(100).map(|s| of(s / 2.0));
            assert!(others.fold(1.0, f64::min) > of(best) - 1e-6, "{writes}");
        }
        assert_eq!(best_offset(0.0), 0.25);
        assert_eq!(distance_at_offset(0.25, 0.0), READ_AT_QUARTERS);
    }

    /// Every combination of angles of up to three copies.
    #[test]
    fn the_first_and_the_last_copy_come_round_as_printed() {
        let two = || points(100).flat_map(|a| points(100).map(move |b| (a, b)));
        let three = || two().flat_map(|(a, b)| points(100).map(move |c| (a, b, c)));
        let first = [
            mean(points(100)),
            mean(two().map(|(a, b)| a.min(b))),
            mean(three().map(|(a, b, c)| a.min(b).min(c))),
        ];
        let last = mean(three().map(|(a, b, c)| a.max(b).max(c)));
        for (copies, first) in (1..).zip(first) {
            assert!((first - read_wait(copies)).abs() < 1e-4, "{copies}");
        }
        assert!((last - write_wait(3)).abs() < 1e-4);
        assert_eq!((write_wait(1), write_wait(0)), (0.5, 0.0));
    }

    /// liu05, section 8.2.1: 2.0, 1.6, 1.33 and 1.14 services, for these shares of reads.
    #[test]
    fn the_largest_rates_are_as_printed() {
        for (reads, max) in [(1.0, 2.0), (0.75, 1.6), (0.5, 1.33), (0.25, 1.14)] {
            assert!(
                (largest_rate(1.0 - reads, 1.0, 1.0) - max).abs() < 0.005,
                "{reads}"
            );
        }
        // Ten requests: five reads of 8 at two disks, and five writes of 12 at both.
        assert!((largest_rate(0.5, 8.0, 12.0) - 10.0 / 80.0).abs() < 1e-12);
    }
}
