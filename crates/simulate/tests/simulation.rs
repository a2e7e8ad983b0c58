//! Simulations through the library: they stop on request and hand over what they observed.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use diskarm_core::device::Completion;
use diskarm_core::sched::PolicyConfig;
use diskarm_core::spec::SeekCurve;
use diskarm_core::units::{Lbn, Span};
use diskarm_core::workload::replication_seeds;
use diskarm_simulate::{
    Error, GeneratedRequests, Input, Issue, Model, Run, Simulation, Sink, System, TraceReplay,
    never_stop,
};

const OPEN: &str = "poisson(rate=60/s) uniform size=8KiB reads=67%";

fn system() -> System {
    System::parse("hp-c2247").expect("a drive in the catalogue")
}

fn generated(system: &System, workload: &str, requests: u64) -> GeneratedRequests {
    let workload = system.workload(workload).expect("a sound workload");
    GeneratedRequests {
        requests: Some(requests),
        ..GeneratedRequests::new(workload)
    }
}

fn policy(text: &str) -> PolicyConfig {
    text.parse().expect("a policy")
}

/// The figures that distinguish runs.
fn figures(run: &Run) -> (u64, Option<f64>, Option<f64>) {
    let mean = run.report.all().responses().stats().map(|f| f.mean_ms);
    (
        run.report.requests_count(),
        mean,
        run.report.waiting_mean_count(),
    )
}

/// A temporary file that no other process uses.
fn file_of(name: &str, text: &str) -> String {
    let name = format!("diskarm-simulate-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, text).expect("a temporary file");
    path.into_os_string()
        .into_string()
        .expect("a name in UTF-8")
}

#[derive(Default)]
struct Completions(Vec<(u16, Lbn, Completion)>);

impl Sink for Completions {
    fn take(&mut self, completion: &Completion) {
        let request = completion.request;
        self.0.push((request.unit, request.start, *completion));
    }
}

#[test]
fn looks_come_at_the_first_completion_and_at_least_every_1024() {
    let (system, sptf) = (system(), policy("sptf"));
    let input = Input::Generated(generated(&system, OPEN, 20_000));
    let seen = Mutex::new(Vec::new());
    let look = |done| {
        seen.lock().expect("no panic").push(done);
        ControlFlow::Continue(())
    };
    let simulation = Simulation::new(&system, &sptf, &input);
    let run = simulation.run(&look, None).expect("a sound run");
    assert!(!run.is_stopped);
    assert_eq!(run.report.requests_count(), 20_000);
    let seen = seen.into_inner().expect("no panic");
    assert_eq!(seen[0], 1);
    let gaps = seen.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(
        gaps.clone().all(|gap| (1..=1024).contains(&gap)),
        "{seen:?}"
    );
    assert!(20_000 - seen[seen.len() - 1] < 1024);
}

/// A stopped run is identical to the first part of the whole run.
#[test]
fn a_stopped_run_is_the_first_part_of_the_full_run() {
    let (system, sptf) = (system(), policy("sptf"));
    for workload in [
        OPEN,
        "closed(clients=20) uniform",
        "poisson(rate=20/s) + closed(clients=2)",
    ] {
        let input = Input::Generated(generated(&system, workload, 5_000));
        let simulation = Simulation::new(&system, &sptf, &input);
        let (mut whole, mut part) = (Completions::default(), Completions::default());
        let run = simulation.run(&never_stop, Some(&mut whole));
        assert!(!run.expect("a sound run").is_stopped);
        let look = |done| match done < 1_000 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        let run = simulation.run(&look, Some(&mut part)).expect("sound");
        assert!(run.is_stopped);
        assert_eq!(run.report.requests_count(), part.0.len() as u64);
        assert!((1_000..2_024).contains(&part.0.len()), "{}", part.0.len());
        assert_eq!(part.0, whole.0[..part.0.len()]);
    }
}

#[test]
fn a_replication_is_the_run_with_its_seed() {
    let (system, sptf) = (system(), policy("sptf"));
    let several = GeneratedRequests {
        seed: 7,
        replications: Some(4),
        ..generated(&system, OPEN, 2_000)
    };
    let input = Input::Generated(several.clone());
    let finished = AtomicU64::new(0);
    let runs = Simulation::new(&system, &sptf, &input)
        .replications(&never_stop, |done| {
            finished.fetch_max(done, Ordering::Relaxed);
        })
        .expect("sound runs");
    assert_eq!(finished.into_inner(), 4);
    for (run, seed) in runs.iter().zip(replication_seeds(7)) {
        assert_eq!(run.seed, Some(seed));
        let input = Input::Generated(GeneratedRequests {
            seed,
            replications: None,
            ..several.clone()
        });
        let alone = Simulation::new(&system, &sptf, &input).run(&never_stop, None);
        assert_eq!(figures(run), figures(&alone.expect("a sound run")));
    }
    assert_ne!(figures(&runs[0]), figures(&runs[1]));
}

/// At 600 requests a second, far more than any disk serves one by one, `max_waiting` is soon
/// reached. All that have arrived are served or wait, and this many arrive in that time except for
/// four standard deviations, which a Poisson process exceeds once in 16,000 times.
#[test]
fn a_run_whose_queue_grows_beyond_the_most_ends_as_saturated() {
    let (system, fcfs) = (system(), policy("fcfs"));
    let input = Input::Generated(generated(&system, "poisson(rate=600/s) uniform", 1_000_000));
    let simulation = Simulation {
        max_waiting: Some(2_000),
        ..Simulation::new(&system, &fcfs, &input)
    };
    let run = simulation.run(&never_stop, None).expect("a sound run");
    assert!(run.is_saturated && !run.is_stopped);
    let report = &run.report;
    let waiting = report.waiting_max_count();
    assert!((2_001..2_040).contains(&waiting));
    let arrived = (report.requests_count() + waiting) as f64;
    let expected = 600.0 * report.elapsed().as_s();
    assert!(
        (arrived - expected).abs() < 4.0 * expected.sqrt(),
        "{arrived} arrived, not {expected}"
    );
    // The same rate with a bound that is not reached, and clients that wait for their requests.
    for (workload, max) in [("poisson(rate=20/s)", 500), ("closed(clients=50)", 10)] {
        let input = Input::Generated(generated(&system, workload, 3_000));
        let simulation = Simulation {
            max_waiting: Some(max),
            ..Simulation::new(&system, &fcfs, &input)
        };
        let run = simulation.run(&never_stop, None).expect("a sound run");
        assert!(!run.is_saturated, "{workload}");
        assert_eq!(run.report.requests_count(), 3_000);
    }
}

/// A client that waits for each request before it sends the next never meets a queue: what a drive
/// still has to do for the previous request does not count as waiting for another client's.
#[test]
fn one_client_never_waits_in_a_queue() {
    let fcfs = policy("fcfs");
    for entry in diskarm_drives::CATALOGUE {
        let system = System::parse(entry.name).expect("a drive in the catalogue");
        for places in ["uniform", "sequential"] {
            let workload = format!("closed(clients=1) {places} size=8KiB reads=67%");
            let input = Input::Generated(generated(&system, &workload, 3_000));
            let mut done = Completions::default();
            Simulation::new(&system, &fcfs, &input)
                .run(&never_stop, Some(&mut done))
                .expect("a sound run");
            assert_eq!(done.0.len(), 3_000);
            for (.., c) in done.0 {
                assert_eq!(c.breakdown.queue, Span::ZERO, "{}: {c:?}", entry.name);
            }
        }
    }
}

/// A drive whose arm scatters.
fn scattering() -> System {
    let mut system = system();
    let deviation = SeekCurve::Table(vec![(1, Span::from_ms(0.2))]);
    system.drive.spec.mechanics.seek_scatter = Some(deviation);
    system
}

#[test]
fn equal_seeds_of_a_random_drive_give_equal_runs() {
    let (system, sptf) = (scattering(), policy("sptf"));
    let run = |system: &System, seed| {
        let input = Input::Generated(GeneratedRequests {
            seed,
            ..generated(system, OPEN, 1_000)
        });
        let mut done = Completions::default();
        let simulation = Simulation::new(system, &sptf, &input);
        let run = simulation.run(&never_stop, Some(&mut done)).expect("sound");
        assert_eq!(run.seed, Some(seed));
        done.0
    };
    assert_eq!(run(&system, 1), run(&system, 1));
    assert_ne!(run(&system, 1), run(&system, 2));
}

/// The requests of a replay do not depend on its seed; the drive may. A plain drive has none to
/// record.
#[test]
fn the_seed_of_a_replay_is_recorded_if_the_drive_is_random() {
    let fcfs = policy("fcfs");
    let file = file_of("random.spc", &trace(200));
    let replay = |system: &System, seed| {
        let input = Input::Traced(TraceReplay {
            seed,
            ..TraceReplay::new(vec![file.clone()])
        });
        let mut done = Completions::default();
        let simulation = Simulation::new(system, &fcfs, &input);
        let run = simulation.run(&never_stop, Some(&mut done)).expect("sound");
        (run.seed, done.0)
    };
    let random = scattering();
    assert_eq!(replay(&random, 5).0, Some(5));
    assert_eq!(replay(&random, 5), replay(&random, 5));
    assert_ne!(replay(&random, 5).1, replay(&random, 6).1);
    let plain = system();
    assert_eq!(replay(&plain, 5), (None, replay(&plain, 6).1));
    std::fs::remove_file(&file).expect("its file");
}

/// A trace of requests to two devices, all within some milliseconds, in the format `spc`.
fn trace(requests: u64) -> String {
    let row = |n: u64| format!("{},{},4096,R,0.{n:06}\n", n % 2, n * 7_919 % 2_000_000);
    (0..requests).map(row).collect()
}

/// The oracle is the row of each request: it must get whole sectors that hold all of its blocks.
#[test]
fn blocks_of_a_trace_are_in_larger_sectors() {
    let mut system = system();
    system.drive.spec.geometry.sector_bytes = 4096;
    // Blocks 16 to 24, 7 to 9, 8 to 11, and the last of the drive.
    let last = system.drive.spec.geometry.sectors.0 * 8 - 1;
    let rows = format!("0,16,4096,R,0.0\n0,7,1024,R,1.0\n0,8,1536,W,2.0\n0,{last},512,R,3.0\n");
    let file = file_of("large.spc", &rows);
    let input = Input::Traced(TraceReplay::new(vec![file.clone()]));
    let fcfs = policy("fcfs");
    let mut served = Extents::default();
    let simulation = Simulation::new(&system, &fcfs, &input);
    let run = simulation
        .run(&never_stop, Some(&mut served))
        .expect("sound");
    let end = last / 8;
    assert_eq!(served.0, [(2, 1), (0, 2), (1, 1), (end, 1)]);
    let note = "3 requests widened to whole sectors of 4096 bytes";
    assert!(
        run.doubts.iter().any(|doubt| doubt.ends_with(note)),
        "{:?}",
        run.doubts
    );
    let beyond = format!("0,{},512,R,0.0\n", last + 1);
    std::fs::write(&file, beyond).expect("a temporary file");
    let error = simulation
        .run(&never_stop, None)
        .expect_err("beyond the end");
    let expected = format!("expected a request within {} blocks", last + 1);
    assert!(error.to_string().contains(&expected), "{error}");
    std::fs::remove_file(&file).expect("its file");
}

/// First sectors and numbers of sectors, in order.
#[derive(Default)]
struct Extents(Vec<(u64, u64)>);

impl Sink for Extents {
    fn take(&mut self, completion: &Completion) {
        let request = completion.request;
        self.0.push((request.start.0, request.sectors.0));
    }
}

#[test]
fn a_trace_is_replayed_and_cut_off_like_any_other_load() {
    let (system, fcfs) = (system(), policy("fcfs"));
    let file = file_of("two.spc", &trace(3_000));
    let traced = TraceReplay::new(vec![file.clone()]);
    let input = Input::Traced(traced.clone());
    let simulation = Simulation::new(&system, &fcfs, &input);
    let mut rows = Completions::default();
    let run = simulation.run(&never_stop, Some(&mut rows)).expect("sound");
    assert_eq!((run.seed, run.disks.len()), (None, 2));
    assert!(run.is_saturated && !run.is_stopped);
    assert_eq!(rows.0.len(), 3_000);
    let of_first = rows.0.iter().filter(|(disk, ..)| *disk == 0);
    assert_eq!(of_first.count(), 1_500);
    assert!(
        rows.0
            .iter()
            .all(|(_, lbn, _)| lbn.0 < system.drive.layout().sectors().0)
    );
    let replayed = run.replayed.expect("a trace was replayed");
    assert_eq!(replayed.issue, Issue::Traced);
    assert_eq!(
        (replayed.origins.len(), replayed.files[0].format),
        (2, "spc")
    );
    // A run that is cut off within the warm-up reports that, not an error about the warm-up.
    let cut = Simulation {
        max_waiting: Some(100),
        warm_up: 2_900,
        ..simulation
    };
    let run = cut.run(&never_stop, None).expect("sound");
    assert!(run.is_saturated);
    assert_eq!(run.report.requests_count(), 0);
    let cut = Simulation {
        max_waiting: None,
        ..cut
    };
    let stopped = cut.run(&|_| ControlFlow::Break(()), None).expect("sound");
    assert!(stopped.is_stopped);
    // With a fixed number outstanding, waiting requests are not a backlog.
    let closed = Input::Traced(TraceReplay {
        issue: Issue::Outstanding {
            clients: 500,
            think: Span::ZERO,
        },
        ..traced
    });
    let simulation = Simulation {
        input: &closed,
        warm_up: 0,
        ..cut
    };
    let run = simulation.run(&never_stop, None).expect("sound");
    assert!(!run.is_saturated);
    assert_eq!(run.report.requests_count(), 3_000);
    let _ = std::fs::remove_file(file);
}

#[test]
fn errors_name_file_line_and_field() {
    let place = |error: &Error| {
        let file = error.file().map(str::to_owned);
        (file, error.line(), error.field().map(str::to_owned))
    };
    let some = |text: &str| Some(text.to_owned());
    let error = Model::find("hp-c2274").expect_err("no such drive");
    assert_eq!(place(&error), (None, None, some("drive")));
    assert!(error.to_string().contains("nearest: hp-c2247"), "{error}");
    let renamed = error.with_field("NAME").to_string();
    assert!(renamed.starts_with("NAME: found \"hp-c2274\""), "{renamed}");

    let system = system();
    let wrong = system.drive.text.replace("surfaces = 13", "surfaces = 0");
    assert_ne!(wrong, system.drive.text);
    let error = Model::read(wrong, "mine.toml").expect_err("no surfaces");
    let line = 1 + system
        .drive
        .text
        .lines()
        .take_while(|l| !l.starts_with("surfaces"))
        .count();
    let expected = (
        some("mine.toml"),
        Some(line as u64),
        some("geometry.surfaces"),
    );
    assert_eq!(place(&error), expected);

    let error = system.workload("poison(rate=60/s)").expect_err("misspelt");
    assert_eq!(place(&error), (None, None, some("arrivals")));
    let error = system.workload("/absent/x.toml").expect_err("absent");
    assert_eq!(place(&error), (some("/absent/x.toml"), None, None));

    let file = file_of("broken.spc", "0,1,512,r,0.1\n0,x,512,r,0.2\n");
    let input = Input::Traced(TraceReplay::new(vec![file.clone()]));
    let fcfs = policy("fcfs");
    let run = Simulation::new(&system, &fcfs, &input).run(&never_stop, None);
    let error = run.expect_err("no block");
    assert_eq!(place(&error), (Some(file.clone()), Some(2), some("lba")));
    let _ = std::fs::remove_file(file);
}

/// A trace in which no request succeeds has a report, even with a warm-up.
#[test]
fn a_trace_that_fails_is_reported() {
    let system = System::parse("faults(outage=\"0s to 1000s\", drive=hp-c2247)");
    let system = system.expect("a stack");
    let file = file_of("failing.spc", &trace(100));
    let input = Input::Traced(TraceReplay::new(vec![file.clone()]));
    let fcfs = policy("fcfs");
    let run = |warm_up| {
        let simulation = Simulation {
            warm_up,
            ..Simulation::new(&system, &fcfs, &input)
        };
        let run = simulation.run(&never_stop, None);
        run.map(|run| run.report.failed_count())
    };
    assert_eq!(run(0).expect("a report"), 100);
    assert_eq!(run(10).expect("a report"), 90);
    assert!(
        run(100)
            .expect_err("all warm-up")
            .to_string()
            .contains("warm_up")
    );
    let _ = std::fs::remove_file(file);
}

/// The HP C2247's short seeks fall from 4.65 to 4.52 ms, which raises no doubt.
#[test]
fn a_seek_curve_that_falls_far_is_doubtful() {
    let mut system = system();
    let workload = generated(&system, OPEN, 10);
    let input = Input::Generated(workload);
    let doubts = |system: &System| {
        let run = Simulation::new(system, &policy("fcfs"), &input).run(&never_stop, None);
        run.expect("a sound run").doubts
    };
    assert_eq!(doubts(&system), [""; 0]);
    let points = [(1, 20.0), (5, 10.0), (9, 9.9), (20, 1.0)];
    let points = points.map(|(d, ms)| (d, Span::from_ms(ms)));
    system.drive.spec.mechanics.seek = SeekCurve::Table(points.to_vec());
    assert_eq!(
        doubts(&system),
        [
            "hp-c2247: mechanics.seek: a seek over 9 cylinders takes 9.9 ms, but one over 1 \
             takes 20 ms"
        ]
    );
}
