//! Measures compared with closed forms and with one another.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use diskarm_simulate::Model;
use diskarm_study::Metric;
use diskarm_study::{Estimate, Folder, Runner, Store, Study, StudyOptions, compute};

/// A folder that no other run uses.
fn folder() -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("diskarm-measures-{}-{number}", std::process::id()))
}

/// The mean of each of `metrics` in the only cell of a study of the HP 97560.
fn means<const N: usize>(measure: &str, cell: &str, metrics: [&str; N]) -> [f64; N] {
    means_on("hp-97560", measure, cell, metrics)
}

fn means_on<const N: usize>(
    drive: &str,
    measure: &str,
    cell: &str,
    metrics: [&str; N],
) -> [f64; N] {
    estimates(drive, measure, cell, metrics).map(|estimate| estimate.mean)
}

fn estimates<const N: usize>(
    drive: &str,
    measure: &str,
    cell: &str,
    metrics: [&str; N],
) -> [Estimate; N] {
    let text = format!(
        "title = \"T\"\nsource = \"none\"\n[cell]\ndrive = '{drive}'\n\
         measure = \"{measure}\"\n{cell}\n"
    );
    let study = Study::read("m", &text, "m.toml", StudyOptions::default()).unwrap();
    let folder = folder();
    let runner = Runner::new(&study).unwrap();
    let place = Folder::new(&folder, "folder", runner.inputs()).unwrap();
    let mut store = Store::open(&place).unwrap();
    let results = runner.run(&mut store, 1, &mut |_| ControlFlow::Continue(()));
    let results = results.unwrap().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    metrics.map(|name| {
        let column = study.columns.iter().position(|column| column.name == name);
        let metric = Metric(column.unwrap());
        results.estimate(&vec![], metric).unwrap().clone()
    })
}

/// In order of arrival, a batch takes the sum of its service times.
#[test]
fn a_clump_in_order_of_arrival_takes_the_sum_of_its_services() {
    let cell = |requests: u64| {
        format!(
            "policy = \"fcfs\"\nworkload = \"closed(clients=1) uniform reads=100%\"\n\
             requests = {requests}\nwarm_up = 5"
        )
    };
    let [all, each] = means("drain", &cell(45), ["drain_ms", "drain_ms_per_request"]);
    let [service] = means("responses", &cell(45), ["service_ms_mean"]);
    assert!((each - service).abs() < 1e-3, "{each} {service}");
    assert!((all - 40.0 * each).abs() < 1e-6, "{all} {each}");
}

#[test]
fn a_clump_of_several_streams_is_refused() {
    let text = "title = \"T\"\nsource = \"none\"\n[cell]\ndrive = \"hp-97560\"\n\
                measure = \"drain\"\npolicy = \"fcfs\"\nrequests = 45\nwarm_up = 5\n\
                workload = \"closed(clients=1) uniform + closed(clients=1) sequential\"\n";
    let study = Study::read("m", text, "m.toml", StudyOptions::default()).unwrap();
    let folder = folder();
    let runner = Runner::new(&study).unwrap();
    let place = Folder::new(&folder, "folder", runner.inputs()).unwrap();
    let mut store = Store::open(&place).unwrap();
    let error = runner.run(&mut store, 1, &mut |_| ControlFlow::Continue(()));
    let error = error.err().unwrap().to_string();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        error.contains("cell.workload: found 2 streams, expected one"),
        "{error}"
    );
}

/// A sector of the first half millisecond of cylinder 0 and all of cylinder `to`: by the formula
/// of jacobson91 section 3 the seek takes 3.24 + 0.40 sqrt(d) ms, and the share within a
/// revolution is that of the sectors that pass after it.
#[test]
fn access_follows_the_formula_of_the_drive() {
    let revolution = 60_000.0 / 4002.0;
    for to in [25_u32, 100, 196] {
        let seek = 3.24 + 0.40 * f64::from(to).sqrt();
        let begin = f64::from(to) / 1964.0 * 100.0;
        let cell = format!(
            "policy = \"fcfs\"\nrequests = 20_000\nworkload = \"\"\"\\\n\
             closed(clients=1) hot(at=0%, width=0.05%) size=512B reads=100% + \\\n\
             closed(clients=1) hot(at={begin:.6}%, width=0.04%) size=512B reads=100%\"\"\""
        );
        let names = [
            "seek_ms_mean",
            "one_revolution_share",
            "two_revolutions_share",
        ];
        let [ours, one, two] = means("access", &cell, names);
        assert!((ours - seek).abs() < 0.005, "{to}: {ours} {seek}");
        // Half a sector of 72 less, as sectors are read whole. A sample of 20,000 is accurate to
        // 0.01.
        let share = 1.0 - seek / revolution - 0.5 / 72.0;
        assert!((one - share).abs() < 0.015, "{to}: {one} {share}");
        assert!((two - 1.0).abs() < 1e-9, "{to}: {two}");
    }
}

/// jacobson91 section 4: T_A(c, s) = s + S ceil((T_S(c) / t - s) / S), for s sectors of t ms, with
/// S sectors to a revolution. Here times are in revolutions, so S and S t are 1.
#[test]
fn access_at_an_angle_follows_the_formula_of_the_paper() {
    let revolution = 60_000.0 / 4002.0;
    let names: [String; 24] = std::array::from_fn(|n| format!("positioning_ms_at_{n:02}"));
    for to in [1_u32, 100, 383, 500, 1963] {
        let distance = f64::from(to);
        let seek = match to {
            ..384 => 3.24 + 0.40 * distance.sqrt(),
            _ => 8.20 + 0.0075 * distance,
        };
        let begin = (distance + 0.3) / 1964.0 * 100.0;
        let cell = format!(
            "policy = \"fcfs\"\nrequests = 20\nworkload = \"\"\"\\\n\
             closed(clients=1) hot(at=0%, width=0.05%) size=512B reads=100% + \\\n\
             closed(clients=1) hot(at={begin:.6}%, width=0.03%) size=512B reads=100%\"\"\""
        );
        let ours = means("access", &cell, names.each_ref().map(String::as_str));
        for (number, ours) in (0_u8..).zip(ours) {
            let on = (f64::from(number) + 0.5) / 24.0;
            let theirs = (on + (seek / revolution - on).ceil()) * revolution;
            let off = (ours - theirs).abs();
            assert!(off < 0.001, "{to}, {on}: {ours} {theirs}");
        }
    }
}

/// First come, first served ignores positions: of m waiting requests, the chosen one has the
/// shortest seek as often as any other, and likewise the shortest rotational wait. Ties on a
/// cylinder are rare.
#[test]
fn fcfs_chooses_the_shortest_seek_by_chance() {
    let cell = "policy = \"fcfs\"\nworkload = \"closed(clients=11) uniform reads=100%\"\n\
                requests = 40_000\nwarm_up = 100";
    let names = [
        "least_seek_share",
        "least_rotation_share",
        "both_share",
        "waiting_mean",
    ];
    let [seek, rotation, both, waiting] = means("choices", cell, names);
    assert!((waiting - 10.0).abs() < 0.01, "{waiting}");
    for share in [seek, rotation] {
        // Three standard deviations are 0.0045.
        assert!((share - 0.1).abs() < 0.006, "{share}");
    }
    assert!((both - 0.01).abs() < 0.004, "{both}");
}

/// Each choice has the shortest seek, the shortest wait, both or neither.
#[test]
fn shares_of_choices_add_up() {
    let cell = |policy: &str| {
        format!(
            "policy = \"{policy}\"\nrequests = 10_000\nwarm_up = 100\n\
             workload = \"closed(clients=11) uniform reads=100%\""
        )
    };
    let names = [
        "least_seek_share",
        "least_rotation_share",
        "both_share",
        "neither_share",
    ];
    let [seek, rotation, both, neither] = means("choices", &cell("sptf"), names);
    assert!((seek + rotation - both + neither - 1.0).abs() < 1e-9);
    assert!(both > 0.01 && neither > 0.1, "{both} {neither}");
    let [seek, ..] = means("choices", &cell("sstf(by=map)"), names);
    assert!(seek > 0.98, "{seek}");
}

/// A scan whose margin is too large for any seek does not change how the drive serves a foreground
/// in order of arrival.
#[test]
fn a_scan_that_never_seeks_costs_nothing() {
    let cell = "policy = \"fcfs\"\nrequests = 300\n\
                workload = \"closed(clients=4) uniform size=8KiB reads=67%\"\n";
    let [response] = means("responses", cell, ["response_ms_mean"]);
    for scan in [
        "conservatism = \"100 ms\"",
        "inside = true\nconservatism = \"100 ms\"",
    ] {
        let cell = format!("{cell}[cell.scan]\n{scan}\n");
        let figures = ["read_share", "response_ms_mean", "response_alone_ms_mean"];
        let [read, beside, alone] = means("scan", &cell, figures);
        // Blocks that the foreground passes are still read.
        assert!(read < 0.01, "{read}");
        assert_eq!(beside, alone);
        assert!((alone - response).abs() < 1e-5, "{alone} {response}");
    }
}

/// The bandwidth accounts for everything that is read, and with an exact model nothing is lost.
#[test]
fn a_scan_reads_in_gaps_only() {
    let cell = "policy = \"sptf\"\nrequests = 300\n\
                workload = \"closed(clients=4) uniform size=8KiB reads=67%\"\n\
                [cell.scan]\nconservatism = \"0 ms\"\n";
    let figures = [
        "read_share",
        "free_mb_per_s",
        "foreground_per_s",
        "utilisation_gain",
        "foreground_mb_per_s",
        "slowdown_share",
        "lost_per_1000",
    ];
    let [read, free, per_s, gain, foreground, slowdown, lost] = means("scan", cell, figures);
    let drive = Model::find("hp-97560").unwrap();
    let mb = read * drive.layout().sectors().0 as f64 * 512.0 / 1e6;
    let time_s = 300.0 / per_s;
    assert!((mb - free * time_s).abs() < 1e-6, "{mb} {free} {time_s}");
    let alone = (free + foreground) / gain;
    assert!(
        (alone / foreground - 1.0).abs() < 0.002,
        "{alone} {foreground}"
    );
    assert!(free > 0.1, "{free}");
    assert!(slowdown.abs() < 0.002 && lost == 0.0, "{slowdown} {lost}");
}

/// A scan ends with its trace; without the scan, the foreground is as in a simulation of the trace.
/// Several runs differ only if seek times are scattered.
#[test]
fn a_scan_during_a_trace_ends_with_it() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let cell = format!(
        "policy = \"fcfs\"\ntrace = '{root}/examples/postgresql-hp-c2247.csv.gz'\n\
         until = \"4 s\"\n"
    );
    let figures = ["requests", "response_ms_mean"];
    let [requests, response] = means_on("hp-c2247", "responses", &cell, figures);
    let figures = [
        "response_alone_ms_mean",
        "response_ms_mean",
        "foreground_per_s",
        "free_mb_per_s",
        "read_share",
    ];
    let scan = format!("{cell}replications = 2\n");
    let [alone, beside, per_s, free, read] = means_on("hp-c2247", "scan", &scan, figures);
    assert!((alone - response).abs() < 1e-5, "{alone} {response}");
    assert!((beside / alone - 1.0).abs() < 0.02, "{beside} {alone}");
    assert!((0.0..0.01).contains(&read) && free > 0.0, "{read} {free}");
    let drive = Model::find("hp-c2247").unwrap();
    let mb = read * drive.layout().sectors().0 as f64 * 512.0 / 1e6;
    assert!((requests / per_s * free / mb - 1.0).abs() < 1e-9);

    let scattered = format!(
        "{scan}[cell.spec]\n\"mechanics.seek_scatter.form\" = \"table\"\n\
         \"mechanics.seek_scatter.cylinders_ms\" = [[1, 0.15]]\n"
    );
    let half_width = |cell: &str| {
        let metric = "response_alone_ms_mean";
        estimates("hp-c2247", "scan", cell, [metric])[0]
            .half_width
            .unwrap()
    };
    assert!(half_width(&scattered) > 0.0);
    assert_eq!(half_width(&scan), 0.0);
}

/// The path of the measured trace of a drive.
fn measurements(drive: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    format!("{root}/data/validation/{drive}.csv.gz")
}

/// Shares of errors are those of the requests of these sizes only, which `validate --locked` counts
/// by direction, and each error is in one bin.
#[test]
fn predictions_are_those_of_a_followed_trace() {
    let (name, file) = ("hp-c2247-calibrated", measurements("hp-c2247"));
    let predict = diskarm_simulate::measured::predict;
    let judged = predict(
        &Model::find(name).unwrap(),
        &file,
        &Default::default(),
        Default::default(),
    );
    let judged = judged.unwrap();
    let is_size = |sectors: u64| (9..17).contains(&sectors);
    let classes = judged.figures.by_size.iter();
    let classes = classes.filter(|(_, sizes, _)| is_size(sizes.from.0));
    let [count, near] = classes.fold([0.0; 2], |[count, near], (_, _, judged)| {
        let own = judged.count as f64;
        let share = judged.model.within_0_25ms_fraction;
        [count + own, near + share * own]
    });
    let cell = format!("policy = \"fcfs\"\ntrace = '{file}'\nsizes = \"9..17\"\n");
    let figures = [
        "requests",
        "within_250us_share",
        "error_ms_median",
        "revolution_share",
        "share_at_plus_000us",
        "share_at_minus_020us",
        "share_at_plus_300us",
    ];
    let [requests, within, median, revolution, zero, below, last] =
        means_on(name, "predictions", &cell, figures);
    assert_eq!((requests, within), (count, near / count));
    let rows = judged.followed.rows().iter();
    let rows = rows.filter(|row| is_size(row.predicted.request.sectors.0));
    let errors: Vec<i64> = rows.map(|row| row.error().as_ns()).collect();
    let counted = |is_in: &dyn Fn(i64) -> bool| {
        errors.iter().filter(|error| is_in(**error)).count() as f64 / count
    };
    assert_eq!(zero, counted(&|error| (-10_000..10_000).contains(&error)));
    assert_eq!(below, counted(&|error| (-30_000..-10_000).contains(&error)));
    assert_eq!(last, counted(&|error| (290_000..310_000).contains(&error)));
    let turn_ns = judged.followed.period().as_ns();
    let is_turn = |error: i64| (error.abs() - turn_ns).abs() <= 250_000;
    assert_eq!(revolution, counted(&is_turn));
    assert!(
        [revolution, zero, below, last]
            .iter()
            .all(|share| *share > 0.0)
    );
    let median_ns = median * 1e6;
    let shorter = counted(&|error| (error as f64) < median_ns - 0.5);
    let longer = counted(&|error| error as f64 > median_ns + 0.5);
    assert!(shorter <= 0.5 && longer <= 0.5, "{shorter} {longer}");

    // The warm-up is followed but not judged.
    let cell = format!("{cell}warm_up = 9_000\n");
    let [rest] = means_on(name, "predictions", &cell, ["requests"]);
    let rows = judged.followed.rows()[9_000..].iter();
    let rows = rows.filter(|row| is_size(row.predicted.request.sectors.0));
    assert_eq!(rest, rows.count() as f64);
}

#[test]
fn a_stopped_prediction_has_no_runs() {
    let text = format!(
        "title = \"T\"\nsource = \"none\"\n[cell]\ndrive = \"hp-c2247\"\npolicy = \"fcfs\"\n\
         measure = \"predictions\"\ntrace = '{}'\n",
        measurements("hp-c2247")
    );
    let study = Study::read("m", &text, "m.toml", StudyOptions::default()).unwrap();
    let stop = || ControlFlow::Break(());
    assert!(compute(&study, 0, &stop).unwrap().is_none());
}

#[test]
fn invalid_trace_cells_are_refused() {
    let refused = |cell: &str| {
        let text = format!(
            "title = \"T\"\nsource = \"none\"\n[cell]\ndrive = \"hp-c2247\"\n\
             policy = \"fcfs\"\n{cell}\n"
        );
        let study = Study::read("m", &text, "m.toml", StudyOptions::default());
        let runner = match &study {
            Err(error) => return error.to_string(),
            Ok(study) => Runner::new(study),
        };
        let folder = folder();
        let error = runner.and_then(|runner| {
            let place = Folder::new(&folder, "folder", runner.inputs())?;
            let mut store = Store::open(&place)?;
            runner.run(&mut store, 1, &mut |_| ControlFlow::Continue(()))
        });
        error.err().unwrap().to_string()
    };
    let trace = format!("trace = '{}'", measurements("hp-c2247"));
    let measure = "measure = \"predictions\"";
    for (cell, expected) in [
        (
            format!("{trace}\nsizes = \"1..\""),
            "cell.sizes: found sizes, expected nothing, as the measure is not \"predictions\"",
        ),
        (
            format!("{trace}\n{measure}\nsizes = \"9..5\""),
            "cell.sizes: found \"9..5\", expected sectors A..B with A below B",
        ),
        (
            format!("{trace}\n{measure}\nfaster = 2"),
            "cell.faster: found a value, expected nothing, as the measure \"predictions\"",
        ),
        (
            format!("{trace}\nmeasure = \"scan\"\nrequests = 9"),
            "cell.requests: found a value, expected nothing, as the cell has a trace",
        ),
        (
            format!("{trace}\nmeasure = \"scan\"\noutstanding = 2"),
            "outstanding: found \"2\", expected nothing, because requests are issued at their \
             arrival times",
        ),
        (
            format!("{trace}\nmeasure = \"scan\""),
            "expected a trace with the time of each arrival",
        ),
        (
            format!("{measure}\nworkload = \"closed(clients=1)\"\nrequests = 9"),
            "cell.workload: found a workload, expected a measured trace",
        ),
    ] {
        let error = refused(&cell);
        assert!(error.contains(expected), "{error}");
    }
}

/// A scheduler in front of a drive with faults is affected by them: a tenth of its predictions are
/// wrong, and some of those that depend on them.
#[test]
fn faults_of_the_drive_affect_a_scan() {
    let right = |drive: &str| {
        let cell = "policy = \"sptf\"\nrequests = 300\n\
                    workload = \"closed(clients=4) uniform size=8KiB reads=67%\"\n";
        means_on(drive, "scan", cell, ["predicted_share"])
    };
    let [without] = right("hp-97560");
    let [with] = right("faults(spikes=\"10% for 5ms\", drive=hp-97560)");
    assert!(without > 0.99, "{without}");
    assert!(with < 0.93, "{with}");
}

#[test]
fn invalid_scans_are_refused() {
    let refused = |measure: &str, scan: &str| {
        let text = format!(
            "title = \"T\"\nsource = \"none\"\n[cell]\ndrive = \"hp-97560\"\n\
             measure = \"{measure}\"\npolicy = \"fcfs\"\nrequests = 45\n\
             workload = \"closed(clients=1) uniform\"\n[cell.scan]\n{scan}\n"
        );
        let study = Study::read("m", &text, "m.toml", StudyOptions::default());
        match study {
            Err(error) => error.to_string(),
            Ok(study) => Runner::new(&study).err().unwrap().to_string(),
        }
    };
    for (measure, scan, expected) in [
        (
            "drain",
            "inside = true",
            "cell.scan: found a table, expected nothing, as the measure is not \"scan\"",
        ),
        (
            "scan",
            "insid = true",
            "cell.scan.insid: found a value, expected one of model, inside",
        ),
        (
            "scan",
            "depth = 3",
            "cell.scan.depth: found 3, expected 1 or 2",
        ),
        (
            "scan",
            "depth = 2",
            "cell.scan.depth: found 2, expected at most 1, the depth of",
        ),
        (
            "scan",
            "inside = true\ndepth = 1",
            "cell.scan.depth: found 1, expected nothing, because the scan",
        ),
        (
            "scan",
            "conservatism = \"-1 ms\"",
            "cell.scan.conservatism: found -1 ms, expected a time",
        ),
        (
            "scan",
            "max_slowdown = 2",
            "cell.scan.max_slowdown: found 2, expected a percentage",
        ),
        (
            "scan",
            "model = \"hp-c2247\"",
            "cell.scan.model: found \"hp-c2247\", expected a drive of",
        ),
    ] {
        let error = refused(measure, scan);
        assert!(error.contains(expected), "{error}");
    }
}
