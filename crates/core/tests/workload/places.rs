//! Placement against closed forms, and against traces of the papers' workloads.

use diskarm_core::request::Request;
use diskarm_core::units::{Bytes, SectorCount};
use diskarm_core::workload::{Disk, Workload};

use crate::{DISK, N, assert_mean, assert_share, generated};

/// Returns the sectors from the start of each request's predecessor to its own start.
fn jumps(requests: &[Request]) -> impl ExactSizeIterator<Item = f64> {
    let pairs = requests.windows(2);
    pairs.map(|pair| pair[1].start.0 as f64 - pair[0].start.0 as f64)
}

/// Returns true if each request begins where its predecessor ended.
fn follows(requests: &[Request]) -> impl ExactSizeIterator<Item = bool> {
    requests
        .windows(2)
        .map(|pair| pair[1].start == pair[0].end())
}

fn assert_within_the_disk(requests: &[Request]) {
    let beyond = requests
        .iter()
        .find(|r| r.end().0 > DISK.sectors.0 || r.sectors.0 == 0);
    assert_eq!(beyond, None);
}

#[test]
fn a_seed_always_gives_the_same_stream() {
    // Recorded once: a change here changes every recorded result.
    let starts = generated("poisson(rate=60/s)")[..3]
        .iter()
        .map(|r| r.start.0)
        .collect::<Vec<_>>();
    assert_eq!(starts, [282_640, 1_492_336, 1_144_864]);
    // A single size written as a mix takes another code path to the same requests.
    assert_eq!(
        generated("poisson(rate=60/s)"),
        generated("closed(clients=1) size=mixed(8KiB=100%)")
    );
}

#[test]
fn uniform() {
    let requests = generated("poisson(rate=60/s) uniform reads=67%");
    assert_within_the_disk(&requests);
    assert_share("reads", requests.iter().map(|r| r.op.is_read()), 0.67);
    // The place among 128,429 of them, as a share: mean 1/2, second moment 1/3.
    let shares = || {
        requests
            .iter()
            .map(|r| r.start.0 as f64 / (DISK.sectors.0 - 16) as f64)
    };
    assert_mean("places", shares(), 0.5, 1.0 / 12.0);
    assert_mean(
        "squares",
        shares().map(|x| x * x),
        1.0 / 3.0,
        1.0 / 5.0 - 1.0 / 9.0,
    );
    for (text, reads) in [("reads=0%", false), ("reads=100%", true)] {
        let requests = generated(&format!("poisson(rate=60/s) {text}"));
        assert!(requests.iter().all(|r| r.op.is_read() == reads));
    }
}

#[test]
fn the_last_place_on_a_disk_is_used() {
    // 40 sectors, all of whose five units of 8 are used equally; a request of two units has four
    // places.
    let (sectors, sector) = (SectorCount(43), Bytes(512));
    let disk = Disk { sectors, sector };
    let workload = Workload::parse("closed(clients=1) size=mixed(4KiB=50%, 8KiB=50%)", disk);
    let requests = workload.unwrap().streams[0].requests(disk, 1);
    let mut met = [[0u32; 5]; 2];
    for r in requests.take(10_000) {
        met[r.sectors.0 as usize / 8 - 1][r.start.0 as usize / 8] += 1;
    }
    // Means 1000 and 1250, standard deviations 30 and 33.
    assert!(met[0].iter().all(|n| n.abs_diff(1000) < 150), "{met:?}");
    assert!(
        met[1][..4].iter().all(|n| n.abs_diff(1250) < 165),
        "{met:?}"
    );
    assert_eq!(met[1][4], 0);
}

#[test]
fn sequential_with_a_share() {
    let requests = generated("poisson(rate=60/s) sequential(share=30%) uniform reads=40%");
    assert_within_the_disk(&requests);
    // Uniform requests are sequential by chance once in 128,429.
    assert_share("sequential", follows(&requests), 0.3);
    let turned = requests
        .windows(2)
        .filter(|pair| pair[1].start == pair[0].end())
        .filter(|pair| pair[1].op != pair[0].op)
        .count();
    assert!(turned <= 5, "{turned} sequential requests change direction");
    // Directions are copied for 1 / 0.7 requests on average: of a series with correlation 0.3
    // the variance of the mean is that of an independent series times (1 + 0.3) / (1 - 0.3).
    let reads = requests.iter().map(|r| f64::from(u8::from(r.op.is_read())));
    assert_mean("reads", reads, 0.4, 0.24 * 1.3 / 0.7);
}

#[test]
fn separate_runs() {
    let requests = generated("poisson(rate=60/s) sequential(runs=7) size=4KiB");
    assert_within_the_disk(&requests);
    // Followed by hand: each request continues one of at most seven ends.
    let mut ends: Vec<Request> = Vec::new();
    let mut turns = vec![0u32; 7];
    for request in &requests[..20_000] {
        match ends.iter().position(|end| end.end() == request.start) {
            Some(run) => {
                assert_eq!(ends[run].op, request.op);
                ends[run] = *request;
                turns[run] += 1;
            }
            None => ends.push(*request),
        }
    }
    // None passes the end of the disk, 256,858 requests away, unless it began near it.
    assert!(ends.len() <= 8, "{} runs", ends.len());
    // A run's turns: mean 2857, standard deviation 49.
    assert!(
        turns[..5].iter().all(|n| n.abs_diff(2857) < 250),
        "{turns:?}"
    );
}

#[test]
fn local_with_a_normal_distance() {
    // Rounded to the unit of 16 sectors, whose own variance is a twelfth of it squared. The ends of
    // the disk are 200 deviations apart: rejection shifts nothing.
    let requests = generated("poisson(rate=60/s) local(share=50%, deviation=10000sectors) uniform");
    assert_within_the_disk(&requests);
    let near: Vec<f64> = jumps(&requests).filter(|d| d.abs() < 50_000.0).collect();
    // Uniform jumps are as short with probability 2 d - d^2 for d = 50,000 / 2,054,864.
    let d = 50_000.0 / 2_054_864.0;
    let uniform = (2.0 * d - d * d) / 2.0;
    let is_near = jumps(&requests).map(|jump| jump.abs() < 50_000.0);
    assert_share("near", is_near, 0.5 + uniform);
    // Both kinds together: a mixture with these weights and variances.
    let weight = uniform / (0.5 + uniform);
    let normal = 1e8 + 256.0 / 12.0;
    let variance = (1.0 - weight) * normal + weight * 50_000f64.powi(2) / 3.0;
    assert_mean("distances", near.iter().copied(), 0.0, variance);
    let fourth = (1.0 - weight) * 3.0 * normal * normal + weight * 50_000f64.powi(4) / 5.0;
    let squares = near.iter().map(|d| d * d);
    assert_mean("squares", squares, variance, fourth - variance * variance);
}

#[test]
fn local_from_beginning_to_beginning() {
    // All local, in units of 64 sectors. The ends of the disk, which a walk of these steps is near
    // for some thousandth of the time, reduce the variance by less than 0.2 %.
    let requests = generated("poisson(rate=60/s) local(deviation=1000sectors) size=32KiB");
    let variance = 1e6 + 4096.0 / 12.0;
    assert_mean("distances", jumps(&requests), 0.0, variance);
    let squares = jumps(&requests).map(|d| d * d / 0.999);
    assert_mean("squares", squares, variance, 2.0 * variance * variance);
}

#[test]
fn local_stays_on_a_small_disk() {
    let requests = generated("poisson(rate=60/s) local(deviation=2054864sectors) size=1sector");
    assert_within_the_disk(&requests);
    // With such a wide distance all places are nearly equally likely: a random walk without bounds.
    let outer = requests
        .iter()
        .filter(|r| r.start.0 < DISK.sectors.0 / 2)
        .count() as f64;
    assert!((outer / N as f64 - 0.5).abs() < 0.02, "{outer}");
}

#[test]
fn hot_zones() {
    // liu05 figure 6.1: two zones of 1 %, the outermost and the central.
    let requests = generated("poisson(rate=60/s) hot(at=0%, at=50%) size=4KiB");
    let width = DISK.sectors.0 as f64 / 100.0;
    let place = |r: &Request| r.start.0 as f64 / width;
    let zone = |r: &Request, at: f64| (at - 0.001..at + 1.0).contains(&place(r));
    assert_share("outer", requests.iter().map(|r| zone(r, 0.0)), 0.5);
    assert_share("central", requests.iter().map(|r| zone(r, 50.0)), 0.5);
    let ends = requests.iter().map(|r| r.end().0 as f64 / width % 50.0);
    assert!(ends.into_iter().all(|end| end <= 1.0005));
    // Uniform within a zone: mean 1/2 of it, minus half a request.
    let within = requests.iter().map(|r| place(r) % 50.0 + 4.0 / width);
    assert_mean("within", within, 0.5, 1.0 / 12.0);
    // A share of hot requests among others: 80 % and a fifth of the rest.
    let requests = generated("poisson(rate=60/s) hot(share=80%, at=20%, width=20%) uniform");
    let is_hot = |r: &Request| (20.0..40.0).contains(&place(r));
    assert_share("80/20", requests.iter().map(is_hot), 0.8 + 0.2 * 0.2);
}

#[test]
fn zipf() {
    // 1003 extents of 1 MiB; the k-th with probability k^-s / sum.
    for exponent in [0.0f64, 0.7, 1.0, 1.5] {
        let requests = generated(&format!("poisson(rate=60/s) zipf(exponent={exponent})"));
        assert_within_the_disk(&requests);
        let mut counts = vec![0u32; 1003];
        for r in &requests {
            counts[r.start.0 as usize / 2048] += 1;
            assert_eq!(r.start.0 / 2048, (r.end().0 - 1) / 2048);
        }
        // The rule of its documentation: rank k at k times a step, 619 here.
        let sum: f64 = (1..=1003).map(|k| f64::from(k).powf(-exponent)).sum();
        for rank in [0usize, 1, 2, 9, 99, 999] {
            let share = ((rank + 1) as f64).powf(-exponent) / sum;
            let extent = rank * 619 % 1003;
            let found = f64::from(counts[extent]);
            let expected = share * N as f64;
            let bound = 5.0 * (expected * (1.0 - share)).sqrt();
            let off = (found - expected).abs();
            assert!(
                off <= bound,
                "{exponent} {rank}: {found} for {expected} ± {bound}"
            );
        }
    }
}

/// Like [`generated`], on a disk of `extents` extents, each one sector long.
fn ranks(exponent: f64, extents: u64) -> impl Iterator<Item = u64> {
    let disk = Disk {
        sectors: SectorCount(extents),
        sector: Bytes(512),
    };
    let text = format!("closed(clients=1) zipf(exponent={exponent}, extent=1sector) size=1sector");
    let workload = Workload::parse(&text, disk).expect("a valid workload");
    // Reverses the scattering: the inverse of the step by Fermat's theorem, for a prime number of
    // extents.
    let golden = (extents as f64 * 0.618_033_988_749_894_9) as u64;
    let inverse = (0..extents.ilog2() + 1).rev().fold(1u128, |power, bit| {
        let square = power * power % u128::from(extents);
        let times = if (extents - 2) >> bit & 1 == 1 {
            golden
        } else {
            1
        };
        square * u128::from(times) % u128::from(extents)
    });
    let requests = workload.streams[0].requests(disk, 1);
    requests.map(move |r| (u128::from(r.start.0) * inverse % u128::from(extents)) as u64 + 1)
}

#[test]
fn zipf_of_more_extents_than_its_table_lists() {
    // A prime; the table lists 16,384 of them. Shares by the sum of all terms.
    const EXTENTS: u64 = 1_000_003;
    for exponent in [0.0f64, 0.7, 1.0, 1.000_000_000_000_001, 1.2] {
        let found: Vec<u64> = ranks(exponent, EXTENTS).take(N).collect();
        let sum = |ranks: std::ops::RangeInclusive<u64>| -> f64 {
            ranks.map(|k| (k as f64).powf(-exponent)).sum()
        };
        let all = sum(1..=EXTENTS);
        for (from, to) in [
            (1, 1),
            (2, 100),
            (101, 16_384),
            (16_385, 16_385),
            (16_386, 20_000),
            (20_001, 300_000),
            (300_001, EXTENTS),
        ] {
            let hits = found.iter().map(|rank| (from..=to).contains(rank));
            let what = format!("{exponent}: ranks {from} to {to}");
            assert_share(&what, hits, sum(from..=to) / all);
        }
    }
}

/// The validation workload of worthington96 section 6, generated and as traced on the
/// HP C2247. The bounds follow from the trace's 9,999 requests.
#[test]
fn the_validation_workload_of_the_papers_is_reproduced() {
    let rows = crate::measured::trace("hp-c2247");
    // op, observed, lbn, sectors.
    let rows = rows
        .lines()
        .skip(1)
        .map(|row| row.split(',').collect::<Vec<_>>());
    let traced: Vec<(bool, f64, f64)> = rows
        .map(|row| {
            (
                row[0] == "R",
                row[2].parse().unwrap(),
                row[3].parse().unwrap(),
            )
        })
        .collect();
    let n = (traced.len() - 1) as f64;
    let pairs = || traced.windows(2);
    let followed = pairs().filter(|p| p[1].1 == p[0].1 + p[0].2).count() as f64 / n;
    let near = pairs().filter(|p| p[1].1 != p[0].1 + p[0].2 && (p[1].1 - p[0].1).abs() < 3e4);
    let near = near.count() as f64 / n;

    let text = "uniform(to=22ms) sequential(share=30%) local(share=30%, deviation=10000sectors) \
                uniform size=exponential(mean=8KiB) reads=50%";
    let requests = generated(text);
    let generated = follows(&requests).filter(|f| *f).count() as f64 / (N - 1) as f64;
    let bound = 5.0 * (0.3 * 0.7 / n).sqrt();
    assert!(
        (followed - generated).abs() < bound,
        "{followed} {generated}"
    );
    let pairs = requests.windows(2);
    let generated =
        pairs.filter(|p| p[1].start != p[0].end() && p[1].start.0.abs_diff(p[0].start.0) < 30_000);
    let generated = generated.count() as f64 / (N - 1) as f64;
    assert!((near - generated).abs() < bound, "{near} {generated}");
}
