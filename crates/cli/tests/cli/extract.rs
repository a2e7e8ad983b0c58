//! Tests of `diskarm extract`: its outputs, checkpoints and errors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use diskarm_core::geometry::Layout;
use diskarm_core::spec;
use diskarm_core::units::Lbn;
use diskarm_extract::suite::Checkpoint;

use crate::{assert_within, diskarm, json, stdout};

/// An empty folder for one test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("extract-{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns the error of a command, which must be one line.
fn error_line(arguments: &[&str], code: i32) -> String {
    let run = diskarm(arguments);
    let message = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(code), "{arguments:?}: {message}");
    let message = message.strip_prefix("error: ").unwrap();
    assert_eq!(message.lines().count(), 1, "{message}");
    message.trim_end().to_owned()
}

#[test]
fn the_output_is_a_valid_drive() {
    let folder = folder("drive");
    let output = folder.join("found.toml");
    let shown = stdout(&["extract", "sim:hp-c2247", "-o", text(&output), "--quick"]);
    assert_within(&shown, 80);
    assert!(
        shown.contains(&format!("wrote {}", text(&output))),
        "{shown}"
    );

    let written = fs::read_to_string(&output).unwrap();
    let found = spec::parse(&written, "found.toml").unwrap();
    assert_eq!(found.name, "found");
    assert!(written.contains(" samples.\nhead_switch = "), "{written}");
    let (_, queue) = written.split_once("\n[queue]\n").expect("a queue");
    assert!(
        queue.starts_with("# Not determined: commands are sent one at a time"),
        "{queue}"
    );
    let entry = diskarm_drives::find("hp-c2247").unwrap();
    let given = spec::parse(entry.text, "hp-c2247").unwrap();
    let [found, given] = [found, given].map(|spec| Layout::new(&spec.geometry).unwrap());
    for at in (0..given.sectors().0).step_by(9_973) {
        assert_eq!(found.pba(Lbn(at)).cylinder, given.pba(Lbn(at)).cylinder);
    }
    // The found drive divides its times differently, but no request reveals this.
    let compared = diskarm(&["extract", "--compare", "hp-c2247", text(&output)]);
    let compared = String::from_utf8(compared.stdout).unwrap();
    let near = |key: &str| {
        let line = compared.lines().find(|line| line.starts_with(key));
        line.unwrap_or_else(|| panic!("{compared}"))
            .ends_with("near")
    };
    assert!(near("overheads.write_disconnect"), "{compared}");
    assert!(near("mechanics.write_settle"), "{compared}");
    assert!(compared.contains("observable sums of overheads: near\n"));
    // There is no other file.
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);

    let simulate = [
        "simulate",
        "--random",
        "--policy",
        "sptf",
        "--requests",
        "100",
    ];
    stdout(&[&simulate[..], &["--drive", text(&output)]].concat());
}

#[test]
fn a_failure_is_explained_once() {
    let output = folder("noise").join("found.toml");
    let noisy = "sim:hp-c2247(noise=1ms)";
    let run = diskarm(&["extract", noisy, "-o", text(&output), "--quick"]);
    assert_eq!(run.status.code(), Some(1));
    let shown = String::from_utf8(run.stdout).unwrap();
    assert_within(&shown, 80);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let reason = "rotation failed: reads of one block do not end at the same angle for any \
                  rotation period from 3 to 25 ms; delays in the host";
    assert!(words.contains(reason), "{shown}");
    assert_eq!(
        words.matches("do not end at the same angle").count(),
        1,
        "{shown}"
    );
    assert!(
        words.ends_with("specification: measuring rotation failed"),
        "{shown}"
    );
}

#[test]
fn renumbered_cylinders_are_equal() {
    let entry = diskarm_drives::find("hp-c2247").unwrap();
    let mut spec = spec::parse(entry.text, "hp-c2247").unwrap();
    spec.geometry.cylinders += 1;
    for zone in &mut spec.geometry.zones {
        zone.first_cylinder += 1;
        zone.end_cylinder += 1;
    }
    let other = folder("numbers").join("other.toml");
    fs::write(
        &other,
        diskarm_drives::text::specification(&spec, &|_| None),
    )
    .unwrap();
    let shown = stdout(&["extract", "--compare", "hp-c2247", text(&other)]);
    let expected = "layout: all 2054864 blocks at the same locations; the second drive \
                    numbers cylinders 1 higher\n";
    assert!(shown.contains(expected), "{shown}");
    assert!(
        shown.ends_with("\nequal within measurement accuracy\n"),
        "{shown}"
    );
}

/// Every track of the last zone except its first is rotated.
#[test]
fn different_skews_are_different_layouts() {
    let entry = diskarm_drives::find("hp-c2247").unwrap();
    let mut spec = spec::parse(entry.text, "hp-c2247").unwrap();
    let zone = spec.geometry.zones.last_mut().unwrap();
    zone.track_skew_sectors += 1.0;
    let other = folder("skew").join("other.toml");
    fs::write(
        &other,
        diskarm_drives::text::specification(&spec, &|_| None),
    )
    .unwrap();
    let run = diskarm(&["extract", "--compare", "hp-c2247", text(&other)]);
    assert_eq!(run.status.code(), Some(1));
    let shown = String::from_utf8(run.stdout).unwrap();
    assert!(shown.contains("\nvalues: equal\n"), "{shown}");
    let layout = Layout::new(&spec.geometry).unwrap();
    let (first, _) = layout.zone_blocks(spec.geometry.zones.len() - 1);
    let second = first + layout.extent(first).sectors;
    let expected = format!(
        "layout: 0 of 2054864 blocks are on other tracks; the first difference is at block {}\n",
        second.0
    );
    assert!(shown.contains(&expected), "{shown}");
    assert!(shown.ends_with("\ndifferent\n"), "{shown}");
}

#[test]
fn json_has_costs_and_methods() {
    let output = folder("json").join("found.toml");
    let found = json(&[
        "extract",
        "sim:hp-c2247",
        "-o",
        text(&output),
        "--quick",
        "--json",
    ]);
    assert_eq!(
        (&found["effort"], &found["sectors"]),
        (&"quick".into(), &2_054_864.into())
    );
    let measurements = found["measurements"].as_array().unwrap();
    let commands = measurements
        .iter()
        .map(|one| one["commands"].as_u64().unwrap());
    assert_eq!(commands.sum::<u64>(), found["commands"].as_u64().unwrap());
    let values = found["values"].as_array().unwrap();
    let value = |key: &str| values.iter().find(|value| value["key"] == key).unwrap();
    let rotation = &value("mechanics.rotation")["how"]["measured"];
    assert!(rotation["samples"].as_u64().unwrap() > 20, "{rotation}");
    assert!(value("overheads.read_completion")["how"]["assumed"].is_string());
}

#[test]
fn the_report_shows_the_findings() {
    let folder = folder("report");
    let (output, report) = (folder.join("found.toml"), folder.join("found.html"));
    let arguments = [
        "extract",
        "sim:hp-c2247",
        "--quick",
        "-o",
        text(&output),
        "--report",
    ];
    let shown = stdout(&[&arguments[..], &[text(&report)]].concat());
    assert!(shown.contains("found.html\n"), "{shown}");
    let page = fs::read_to_string(&report).unwrap();
    // With the page on standard output, results go to standard error.
    let with_page = diskarm(&[&arguments[..], &["-"]].concat());
    assert_eq!(String::from_utf8_lossy(&with_page.stdout), page);
    let stderr = String::from_utf8_lossy(&with_page.stderr);
    assert!(stderr.starts_with("sim:hp-c2247: "), "{stderr}");
    for heading in [
        "Seek times",
        "The buffer",
        "Zones",
        "Undetermined and assumed values",
        "Cost",
    ] {
        assert!(page.contains(&format!(">{heading}</h2>")), "{heading}");
    }
    // Mean and maximum, full and short; and three kinds of pairs; each in two widths.
    assert_eq!(page.matches("<svg").count(), 2 * (2 + 3));
    // The first cylinder has no blocks: 17 tracks are reserved, and a cylinder has 13.
    assert_eq!(page.matches("<th scope=\"row\">").count(), rows(&page));
    assert!(page.contains("<td class=\"number\">1 to 558</td><td class=\"number\">96</td>"));
    assert!(
        !page.contains("src=") && !page.contains("href=\"http"),
        "no other file"
    );
    let (words, _) = page.split_once("<script>").expect("figures respond");
    assert!(words.contains("at most <code>read_ahead_max</code>") && !words.contains('`'));
    let error = error_line(&[&arguments[..], &[text(&output)]].concat(), 2);
    assert!(error.contains("expected a name ending in .html"), "{error}");
}

/// Returns the number of rows of all tables, each of which has a heading.
fn rows(page: &str) -> usize {
    page.matches("<tr>").count() - page.matches("<thead>").count()
}

#[test]
fn drives_that_are_harder_to_measure_are_measured() {
    let output = folder("hidden").join("found.toml");
    let url = "sim:hp-c2247(places=hidden)";
    stdout(&["extract", url, "-o", text(&output), "--quick"]);
    let written = fs::read_to_string(&output).unwrap();
    assert!(
        written.contains("# Read completion times: 8 zones"),
        "{written}"
    );
    // Noise makes intervals wider: without it the smallest of these is a nanosecond.
    let url = "sim:hp-c2247(noise=0.1ms)";
    let found = json(&["extract", url, "-o", text(&output), "--quick", "--json"]);
    let values = found["values"].as_array().unwrap();
    let hit = values
        .iter()
        .find(|value| value["key"] == "overheads.read_hit_after_read");
    let spread = hit.unwrap()["how"]["measured"]["spread"].as_str().unwrap();
    assert!(spread.ends_with(" ms"), "{spread}");
    let misspelt = ["extract", "sim:hp-c2247(nose=1ms)", "-o", text(&output)];
    assert!(error_line(&misspelt, 2).contains("noise"));
}

#[test]
fn a_run_continues_from_its_checkpoint() {
    let folder = folder("continue");
    let whole = folder.join("whole.toml");
    let arguments = ["extract", "sim:hp-c2247", "--quick", "-o"];
    let drive = json(&[&arguments[..], &[text(&whole), "--json"]].concat());

    // The checkpoint of an interrupted run that has not measured anything yet.
    let checkpoint = r#"{"version": 2, "drive": "sim:hp-c2247", "identity": IDENTITY,
        "options": {"effort": "quick", "writes": true, "seed": 1},
        "records": [{"name": "rotation", "outcome": {"failed": "it was Tuesday"},
                     "cost": {"commands": 7, "repeated": 0, "time": 1000}}],
        "findings": {}}"#;
    let reported = ["vendor", "product", "revision", "serial", "sectors"];
    let reported = reported.map(|key| format!("{key:?}: {}, ", drive[key]));
    let identity = format!("{{{}\"sector_size\": 512}}", reported.concat());
    assert!(identity.contains("2054864"), "{identity}");
    let output = folder.join("found.toml");
    let partial = folder.join("found.toml.partial");
    let checkpoint = checkpoint.replace("IDENTITY", &identity);
    let simulating = |checkpoint: &str, name: &str| {
        let text = diskarm_drives::find(name).unwrap().text;
        let spec = spec::parse(text, name).unwrap();
        Checkpoint::parse(checkpoint)
            .unwrap()
            .simulating(&spec)
            .text()
    };
    fs::write(&partial, simulating(&checkpoint, "hp-c2247")).unwrap();
    let arguments = [&arguments[..], &[text(&output)]].concat();
    let run = diskarm(&arguments);
    // Failed measurements are repeated.
    assert_eq!(run.status.code(), Some(0));
    let shown = String::from_utf8(run.stdout).unwrap();
    assert!(!shown.contains("it was Tuesday"), "{shown}");
    assert!(output.exists() && !partial.exists());

    let other = checkpoint.replace("2054864", "2054863");
    fs::write(&partial, other).unwrap();
    let error = error_line(&arguments, 2);
    assert!(error.contains("measurements of another drive"), "{error}");
    assert!(error.contains("remove the file to start over"), "{error}");
    fs::write(&partial, simulating(&checkpoint, "hp-c2247-5p")).unwrap();
    let error = error_line(&arguments, 2);
    let expected = "found measurements of sim:hp-c2247 with an earlier specification";
    assert!(error.contains(expected), "{error}");
    let thorough = simulating(&checkpoint.replace("quick", "thorough"), "hp-c2247");
    fs::write(&partial, thorough).unwrap();
    let error = error_line(&arguments, 2);
    assert!(error.contains("measurements with other options"), "{error}");
    fs::write(&partial, "rotation = 11").unwrap();
    let error = error_line(&arguments, 2);
    assert!(
        error.contains("found.toml.partial: not a checkpoint"),
        "{error}"
    );
    // A file that cannot be parsed is not removed.
    assert_eq!(fs::read_to_string(&partial).unwrap(), "rotation = 11");
}

/// Ctrl-C prints how to continue the run, and the same command continues it.
#[cfg(unix)]
#[test]
fn an_interrupted_run_prints_how_to_continue() {
    let folder = folder("interrupted");
    let output = folder.join("found.toml");
    let partial = folder.join("found.toml.partial");
    let arguments = ["extract", "sim:quantum-atlas-10k", "--thorough", "-o"];
    let arguments = [&arguments[..], &[text(&output)]].concat();
    let mut run = Command::new(env!("CARGO_BIN_EXE_diskarm"))
        .args(&arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !partial.exists() {
        assert!(run.try_wait().unwrap().is_none(), "the run ended");
        thread::yield_now();
    }
    let kill = Command::new("kill")
        .args(["-INT", &run.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let run = run.wait_with_output().unwrap();
    assert_eq!(run.status.code(), Some(130));
    let shown = String::from_utf8(run.stderr).unwrap();
    let expected = format!(
        "stopped: results so far are in {}; run the same command again to continue\n",
        partial.display()
    );
    assert!(shown.ends_with(&expected), "{shown}");
    assert!(!output.exists());
    let kept = Checkpoint::parse(&fs::read_to_string(&partial).unwrap()).unwrap();
    assert!(!kept.records.is_empty());
}

#[test]
fn comparisons_list_differences() {
    let same = stdout(&["extract", "--compare", "hp-c2247", "hp-c2247"]);
    assert_within(&same, 80);
    assert!(same.contains("equal within measurement accuracy"), "{same}");

    let run = diskarm(&["extract", "--compare", "hp-c2247", "hp-c2490a"]);
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(run.stderr).unwrap(),
        "error: the two differ\n"
    );
    let shown = String::from_utf8(run.stdout).unwrap();
    assert!(shown.contains("geometry.surfaces"), "{shown}");
    assert!(
        shown.contains("observable sums of overheads that differ:\n  read after read: "),
        "{shown}"
    );

    let folder = folder("compare");
    let changed = folder.join("changed.toml");
    let entry = diskarm_drives::find("hp-c2247").unwrap();
    let write = |from: &str, to: &str| fs::write(&changed, entry.text.replace(from, to)).unwrap();
    // 0.01 ms is within the precision of measurements, 0.1 ms is not.
    write("head_switch = \"0.89 ms\"", "head_switch = \"0.90 ms\"");
    let near = json(&["extract", "--json", "--compare", "hp-c2247", text(&changed)]);
    assert_eq!(near["is_equal"], true);
    assert_eq!(near["values"][0]["key"], "mechanics.head_switch");
    write("head_switch = \"0.89 ms\"", "head_switch = \"0.99 ms\"");
    let arguments = ["extract", "--compare", "hp-c2247", text(&changed)];
    assert_eq!(diskarm(&arguments).status.code(), Some(1));

    // A value that was not determined is ignored, any other counts.
    write(
        "segments = 2\n",
        "# Not determined: no request is served from\n# the buffer.\nsegments = 7\n",
    );
    let shown = stdout(&arguments);
    assert!(!shown.contains("values that differ"), "{shown}");
    let (_, open) = shown.split_once("that were not determined").unwrap();
    assert!(open.contains("\nbuffer.segments "), "{shown}");
    let open = json(&["extract", "--json", "--compare", text(&changed), "hp-c2247"]);
    assert_eq!(open["values"][0]["is_determined"], false);
    write("segments = 2\n", "# Counted.\nsegments = 7\n");
    assert_eq!(diskarm(&arguments).status.code(), Some(1));
}

#[test]
fn invalid_drives_are_refused() {
    let output = folder("refused").join("found.toml");
    let of = |url| error_line(&["extract", url, "-o", text(&output)], 2);
    for url in ["hp-c2247", "ftp:hp-c2247"] {
        let error = of(url);
        assert!(error.contains("expected sim:NAME"), "{error}");
        assert!(error.starts_with("URL: found"), "{error}");
    }
    for url in ["iscsi:host/t/0", "iscsi://host/t/x", "iscsi://"] {
        let error = of(url);
        assert!(error.contains("expected iscsi://HOST"), "{error}");
    }
    // Nothing listens on the discard port.
    let error = of("iscsi://127.0.0.1:9/t/0");
    assert!(error.contains("Connection refused"), "{error}");
    for url in ["/dev/null", "/dev/sg-no-such"] {
        let error = of(url);
        assert!(error.starts_with(url), "{error}");
    }
    let serial = [
        "extract",
        "sim:hp-c2247",
        "--allow-writes",
        "7",
        "-o",
        text(&output),
    ];
    let error = error_line(&serial, 2);
    assert!(
        error.contains("the serial number of sim:hp-c2247"),
        "{error}"
    );
    assert!(of("sim:hp-c2248").contains("nearest: hp-c2247"));
    let error = error_line(&["extract", "sim:hp-c2247", "-o", "found.txt"], 2);
    assert!(error.contains("expected a name ending in .toml"), "{error}");
    let entry = diskarm_drives::find("hp-c2247").unwrap();
    fs::write(&output, entry.text).unwrap();
    let error = of(&format!("sim:{}", text(&output)));
    assert!(error.contains("which is read and would be lost"), "{error}");
}

/// The specification equals one written to a file, except that its name is reported by the drive.
#[test]
fn a_specification_can_be_written_to_standard_output() {
    let folder = std::env::temp_dir().join(format!("diskarm-{}-standard", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("found.toml");
    let file = file.to_str().unwrap();
    stdout(&["extract", "sim:hp-c2247", "--quick", "-o", file]);
    let written = std::fs::read_to_string(file).unwrap();
    let output = crate::diskarm(&["extract", "sim:hp-c2247", "--quick", "-o", "-"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let other = written.replacen("name = \"found\"", "name = \"DISKARM HP-C2247 1.0\"", 1);
    assert_eq!(text, other);
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("measurements")
    );
    // Neither a completed run nor a run without a file leaves a checkpoint.
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let both = ["extract", "sim:hp-c2247", "-o", "-", "--report", "-"];
    let error = crate::errors::error(&both);
    assert!(
        error.starts_with("`--report -`: standard output is already used by `--output`"),
        "{error}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
