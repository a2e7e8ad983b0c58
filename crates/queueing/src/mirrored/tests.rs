use super::*;
use crate::service::tests::plain;

/// The midpoints of `n` equal parts of 0 to 1.
fn points(n: u32) -> impl Iterator<Item = f64> + Clone {
    (0..n).map(move |k| (f64::from(k) + 0.5) / f64::from(n))
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), v| (sum + v, count + 1.0));
    sum / count
}

/// All positions of two arms and a request, at 120 points each: the error of the midpoint rule
/// is below 1e-4, a fortieth of the difference between the exact means and C/5 or 7C/15.
#[test]
fn mean_distances_match_an_enumeration() {
    let all = points(120)
        .flat_map(|a| points(120).map(move |b| (a, b)))
        .flat_map(|(a, b)| points(120).map(move |t| ((a - t).abs(), (b - t).abs())));
    let near = mean(all.clone().map(|(a, b)| f64::min(a, b)));
    let far = mean(all.clone().map(|(a, b)| f64::max(a, b)));
    assert!((near - READ_DISTANCE).abs() < 1e-4, "{near}");
    assert!((far - WRITE_DISTANCE).abs() < 1e-4, "{far}");
    // The errors of the approximations exceed that of the midpoint rule.
    assert!(near - 1.0 / 5.0 > 8e-3 && 7.0 / 15.0 - far > 8e-3);
}

/// Each arm has its own request, so that the distances are independent.
#[test]
fn a_mean_of_one_fifth_holds_for_independent_requests() {
    let distances: Vec<f64> = points(50)
        .flat_map(|a| points(50).map(move |t| (a - t).abs()))
        .collect();
    let pairs = || {
        distances
            .iter()
            .flat_map(|a| distances.iter().map(move |b| (*a, *b)))
    };
    assert!((mean(pairs().map(|(a, b)| a.min(b))) - 1.0 / 5.0).abs() < 5e-4);
    assert!((mean(pairs().map(|(a, b)| a.max(b))) - 7.0 / 15.0).abs() < 5e-4);
}

/// Every combination of angles of up to three copies.
#[test]
fn waits_for_the_first_and_last_copy_match_an_enumeration() {
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

/// liu05, section 8.2.1: 2.0, 1.6, 1.33 and 1.14 requests per service, for these read shares.
#[test]
fn saturation_rates_match_the_thesis() {
    for (reads, max) in [(1.0, 2.0), (0.75, 1.6), (0.5, 1.33), (0.25, 1.14)] {
        let found = saturation_rate(1.0 - reads, 1.0, 1.0);
        assert!((found - max).abs() < 0.005, "{reads}");
    }
    // Ten requests: five reads of 8 ms at either disk, and five writes of 12 ms at both.
    assert!((saturation_rate(0.5, 8.0, 12.0) - 10.0 / 80.0).abs() < 1e-12);
}

fn reads<'a>((spec, mechanism): &'a (Spec, Mechanism)) -> Reads<'a> {
    Reads::new(spec, mechanism, SectorCount(8))
}

#[test]
fn a_part_without_reads_has_no_service() {
    let drive = plain("hp-c2247");
    assert_eq!(reads(&drive).split(0.0), None);
    assert_eq!(reads(&drive).split(1.0), None);
}

/// Each read is in one part, wherever the pivot has been before: on a drive with zones, slips
/// and spare sectors, the parts are those of a fresh count of their tracks.
#[test]
fn each_read_is_in_one_part() {
    let drive = plain("ibm-18es");
    let blocks = drive.1.layout.sectors();
    let mut reads = reads(&drive);
    for share in [0.5, 0.25, 0.75, 0.7501, 0.7499, 1.0, 0.0, 0.3] {
        let is_split = reads.split(share).is_some();
        assert_eq!(is_split, share > 0.0 && share < 1.0, "{share}");
        let pivot = reads.pivot;
        let fresh = [Lbn(0)..pivot, pivot..Lbn(blocks.0)];
        let fresh = fresh.map(|blocks| reads.requests.part(&blocks));
        assert!(reads.parts == fresh, "{share}");
    }
}

/// On a drive with zones, the outer part has shorter seeks and faster transfers, so the pivot
/// gives it more than half of the blocks. A scan of pivots finds no better one.
#[test]
fn no_other_pivot_is_better() {
    let drive = plain("ibm-18es");
    let mut reads = reads(&drive);
    let equal = reads.equal_utilisations().unwrap();
    let [first, second] = equal.utilisations(1.0);
    assert!((first / second - 1.0).abs() < 1e-3, "{equal:?}");
    assert!(equal.share > 0.505 && equal.share < 0.6, "{equal:?}");
    for rate in [0.02, 0.17] {
        let min = reads.min_response_pivot(rate).unwrap();
        let found = min.response(rate).unwrap();
        for percent in (2..=98).step_by(4) {
            let split = reads.split(f64::from(percent) / 100.0);
            let response = split.and_then(|split| split.response(rate));
            let other = response.unwrap_or(f64::INFINITY);
            assert!(found <= other, "{percent} %: {other} is less than {found}");
        }
    }
    assert_eq!(reads.min_response_pivot(0.25), None);
}

/// With cylinders of equal capacity, the halves are equal.
#[test]
fn without_zones_the_pivot_is_in_the_middle() {
    let drive = plain("hp-97560");
    let mut reads = reads(&drive);
    let equal = reads.equal_utilisations().unwrap();
    assert!((equal.share - 0.5).abs() < 1e-3, "{equal:?}");
    let min = reads.min_response_pivot(0.05).unwrap();
    assert!((min.share - 0.5).abs() < 2e-3, "{min:?}");
}
