//! Means that are known in closed form.

use diskarm_core::device::{Breakdown, Completion, Device};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, ClosedLoop, OpenLoop};
use diskarm_core::geometry::Layout;
use diskarm_core::host::Host;
use diskarm_core::mechanics::SeekTimes;
use diskarm_core::request::Op;
use diskarm_core::sched::PolicyConfig;
use diskarm_core::spec::{self, ReadAhead, Spec};
use diskarm_core::units::{Angle, Bytes, Cylinder, Lbn, SectorCount, Span};
use diskarm_core::workload::arrivals::Poisson;
use diskarm_core::workload::{Disk, Pauses, Requests, Sizes, Stream, Times, sizes};

use super::tiny::{CompletionLog, tiny};

const C2247: &str = include_str!("../../../drives/data/hp-c2247.toml");

/// Returns the HP C2247 without its buffer, so that services share only the arm.
fn c2247() -> Spec {
    let mut spec = spec::parse(C2247, "hp-c2247.toml").expect("a valid specification");
    spec.buffer.caching = false;
    spec.buffer.read_ahead = ReadAhead::None;
    spec
}

/// Reads of one sector.
fn reads(sectors: SectorCount, seed: u64) -> Requests {
    let stream = Stream {
        sizes: Sizes::Fixed(sizes::Fixed {
            sectors: SectorCount(1),
        }),
        read_share: 1.0,
        ..Stream::worthington94()
    };
    let sector = Bytes(512);
    stream.requests(Disk { sectors, sector }, seed)
}

/// `count` random reads, one at a time.
fn one_by_one(spec: &Spec, count: usize) -> Vec<Completion> {
    let mut drive = Drive::new(spec, Angle::ZERO).expect("a valid layout");
    let stream = reads(drive.capacity(), 11).take(count);
    // A pause unrelated to the revolution.
    let mut load = ClosedLoop::new(stream, 1, Span::from_ms(3.7));
    let mut seen = CompletionLog::default();
    engine::run(&mut drive, &mut load, &mut seen).expect("accepted requests");
    seen.0
}

/// Mean and standard deviation of a part, in ms.
fn moments(done: &[Completion], part: impl Fn(&Breakdown) -> Span) -> (f64, f64) {
    let n = done.len() as f64;
    let times = || done.iter().map(|c| part(&c.breakdown).as_ms());
    let mean = times().sum::<f64>() / n;
    let variance = times().map(|t| (t - mean).powi(2)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

#[test]
fn random_reads_wait_half_a_revolution() {
    let spec = c2247();
    let done = one_by_one(&spec, 40_000);
    let (mean, sd) = moments(&done, |b| b.rotation);
    let half = spec.mechanics.period_ns / 2e6;
    assert!((mean - half).abs() < 5.0 * sd / 200.0, "{mean} {half}");
    // Uniform: the standard deviation is a revolution over the root of twelve.
    assert!((sd / (2.0 * half) - 12f64.powf(-0.5)).abs() < 0.01, "{sd}");
}

#[test]
fn random_seeks_take_the_mean_over_all_pairs_of_cylinders() {
    let spec = c2247();
    let layout = Layout::new(&spec.geometry).expect("a valid layout");
    let cylinders = spec.geometry.cylinders as usize;
    let mut share = vec![0.0; cylinders];
    for lbn in 0..layout.sectors().0 {
        share[layout.extent(Lbn(lbn)).cylinder.0 as usize] += 1.0 / layout.sectors().0 as f64;
    }
    let table = SeekTimes::new(&spec.mechanics, spec.geometry.cylinders);
    let time: Vec<f64> = (0..cylinders)
        .map(|d| {
            table
                .parts(false, Op::Read, (Cylinder(0), Cylinder(d as u32)), false)
                .0
                .as_ms()
        })
        .collect();
    let mut exact = 0.0;
    for (a, from) in share.iter().enumerate() {
        for (b, to) in share.iter().enumerate() {
            exact += from * to * time[a.abs_diff(b)];
        }
    }
    let (mean, sd) = moments(&one_by_one(&spec, 40_000), |b| b.seek);
    // Neighbouring distances share an end; their correlation is negative or small.
    assert!((mean - exact).abs() < 5.0 * sd / 200.0, "{mean} {exact}");
}

#[test]
fn poisson_arrivals_match_pollaczek_and_khinchine() {
    // M/G/1, first come, first served: W = arrivals * E[S^2] / (2 (1 - load)). Services of a disk
    // are slightly correlated through the arm's position; at a load of 0.3 that shifts the wait by
    // less than the 4 % allowed, of which statistics of 60,000 requests take half.
    let spec = c2247();
    let service = |done: &[Completion], power: i32| {
        let times = done.iter().map(|c| c.service().as_ms().powi(power));
        times.sum::<f64>() / done.len() as f64
    };
    let mean = service(&one_by_one(&spec, 5_000), 1);
    let pause = Span::from_ms(mean / 0.3);
    let drive = Drive::new(&spec, Angle::ZERO).expect("a valid layout");
    let stream = reads(drive.capacity(), 5);
    let times = Times::new(&Pauses::Poisson(Poisson { mean: pause }), 6, 0);
    let arrivals = times.zip(stream).take(60_000);
    let policy = PolicyConfig::default().policy(&drive);
    let mut host = Host::new(drive, policy);
    let mut seen = CompletionLog::default();
    engine::run(&mut host, &mut OpenLoop::new(arrivals), &mut seen).expect("accepted requests");
    let rate = 1.0 / pause.as_ms();
    let load = rate * service(&seen.0, 1);
    let expected = rate * service(&seen.0, 2) / (2.0 * (1.0 - load));
    let (wait, _) = moments(&seen.0, |b| b.queue);
    assert!((wait / expected - 1.0).abs() < 0.04, "{wait} {expected}");
}

#[test]
fn a_whole_disk_passes_in_the_time_of_its_tracks_and_skews() {
    // 200 blocks: 20 tracks of 10 ms; a track crossing costs 2 ms of skew, a cylinder's 4 ms.
    // From tenth 0 at 0: 20 * 10 + 10 * 2 + 9 * 4.
    let done = super::tiny::last(&tiny(""), &[(0.0, Op::Read, 0, 200)]);
    super::tiny::check(&done, 256.0, [0.0, 0.0, 0.0, 0.0, 0.0, 256.0, 0.0]);
}
