//! Reading study files, and errors in them.

use diskarm_study::Scalar;
use diskarm_study::{Study, StudyOptions};

const VALID: &str = r#"title = "T"
source = "S"
[cell]
drive = "hp-c2247"
policy = "{policy}"
workload = "poisson(rate={load*base}/s) uniform"
requests = 100
[cell.spec]
"buffer.segments" = "{segments}"
[quick]
requests = 50
axes.load = [1]
[[axis]]
name = "policy"
values = [{ value = "fcfs", label = "FCFS" }, "sptf"]
[[axis]]
name = "load"
unit = "of FCFS"
values = [{ value = 0.5, base = 40 }, { value = 1, base = 40 }]
[[axis]]
name = "segments"
values = [1, 2, 4]
[columns]
normalised = "response_ms_mean * load / 2"
[[figure]]
name = "a"
title = "A"
x = "load"
y = "normalised"
series = "policy"
[[map]]
name = "m"
title = "M"
x = "load"
y = ["response_ms_mean", "normalised"]
y_label = "Y"
y_most = 2
values = "V"
bounds = [1, 2]
where = {policy = "sptf"}
[[claim]]
says = "so"
source = "s"
theirs = "t"
check = "ratio"
metric = "response_ms_mean"
of = { policy = "sptf" }
to = { policy = "FCFS" }
at_most = 1
"#;

fn read(text: &str, quick: bool) -> Result<Study, String> {
    let options = StudyOptions {
        quick,
        ..StudyOptions::default()
    };
    Study::read("one", text, "one.toml", options).map_err(|error| error.to_string())
}

#[test]
fn a_study_has_a_cell_at_every_point() {
    let study = read(VALID, false).unwrap();
    assert_eq!(study.cells.len(), 2 * 2 * 3);
    // The last axis varies fastest.
    let cell = &study.cells[3 + 1];
    assert_eq!(cell.point, [0, 1, 1]);
    let inputs = serde_json::to_value(&cell.inputs).unwrap();
    assert_eq!(inputs["policy"], "fcfs");
    assert_eq!(inputs["spec"]["buffer.segments"], "2");
    assert_eq!(
        inputs["source"]["drawn"]["workload"],
        "poisson(rate=40/s) uniform"
    );
    assert_eq!(study.axes[1].values[0].value, Scalar::Number(0.5));
    let quick = read(VALID, true).unwrap();
    assert_eq!(quick.cells.len(), 2 * 3);
    let inputs = serde_json::to_value(&quick.cells[0].inputs).unwrap();
    assert_eq!(inputs["source"]["drawn"]["requests"], 50);
}

/// A text in the valid file, its replacement, and the expected error.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "requests = 100",
        "requests = 100\nreplications = 4294967297",
        "cell.replications: found 4294967297, expected at most a million",
    ),
    // The line of the key, not that of the header.
    (
        "series = \"policy\"",
        "series = \"polisy\"",
        "one.toml:30: ",
    ),
    (
        "metric = \"response_ms_mean\"",
        "metric = \"response_ms_meen\"",
        "one.toml:46: ",
    ),
    ("of = { policy", "of = { polisy", "one.toml:47: "),
    (
        "title = \"T\"",
        "titel = \"T\"",
        "one.toml:1: unknown field \"titel\"",
    ),
    (
        "values = [1, 2, 4]",
        "values = []",
        "22: axis.segments.values: found none, expected at",
    ),
    (
        "values = [1, 2, 4]",
        "values = [1, 1]",
        "found \"1\" twice, expected labels that differ",
    ),
    (
        "values = [1, 2, 4]",
        "values = 7",
        "found 7, expected a list of values",
    ),
    (
        "values = [1, 2, 4]",
        "values = \"--trace\"",
        "found none, expected one or more traces",
    ),
    (
        "\"{segments}\"",
        "\"{segment}\"",
        "found \"segment\", expected an axis or a field of one, perhaps \"segments\"",
    ),
    (
        "\"{segments}\"",
        "2",
        "21: axis.segments: found an axis that changes nothing, expected",
    ),
    (
        "\"{policy}\"",
        "\"{policy\"",
        "5: cell.policy: found \"{policy\", expected pairs of",
    ),
    (
        "\"{policy}\"",
        "\"{policy*2}\"",
        "but \"policy\" is not a number (in the cell policy = FCFS,",
    ),
    (
        "requests = 100",
        "requests = 0",
        "7: cell.requests: found 0, expected a whole number",
    ),
    (
        "requests = 100",
        "request = 100",
        "7: cell.request: found \"request\", expected a known key, perhaps \"requests\"",
    ),
    (
        "requests = 100",
        "",
        "cell.requests: found nothing, expected a whole number of 1",
    ),
    (
        "requests = 100",
        "requests = 100\nwarm_up = 100",
        "expected less than the 100 requests",
    ),
    (
        "requests = 100",
        "requests = 100\ntrace = \"x\"",
        "found both, expected a workload or",
    ),
    (
        "requests = 100",
        "requests = 100\nfit = \"fold\"",
        "cell.fit: found a value, expected",
    ),
    (
        "requests = 100",
        "requests = 100\nreplications = 3\nuntil_ci95 = \"2 %\"",
        "most_replications: found noth",
    ),
    (
        "requests = 100",
        "requests = 100\nmeasure = \"x\"",
        "expected a measure: responses, parts, access, choices, drain",
    ),
    (
        "x = \"load\"",
        "x = \"policy\"",
        "found \"policy\", expected an axis of numbers",
    ),
    (
        "x = \"load\"",
        "x = \"loads\"",
        "found \"loads\", expected an axis, perhaps \"load\"",
    ),
    (
        "x = \"load\"",
        "x = \"rate\"",
        "found \"rate\", expected an axis: policy, load, segments",
    ),
    (
        "series = \"policy\"",
        "series = \"load\"",
        "figure[0].series: found \"load\", expected a different axis from x",
    ),
    (
        "x = \"load\"",
        "x = \"load\"\nalong = \"load\"",
        "figure[0].x: found \"load\", expected a metric",
    ),
    (
        "x = \"load\"",
        "x = \"throughput_per_s\"\nalong = \"loads\"",
        "figure[0].along: found \"loads\", expected an axis, perhaps \"load\"",
    ),
    (
        "x = \"load\"",
        "x = \"throughput_per_s\"\nalong = \"policy\"",
        "figure[0].series: found \"policy\", expected a different axis from along",
    ),
    (
        "series = \"policy\"",
        "series = \"policy\"\ny_most = -3",
        "figure[0].y_most: found -3, expected a number above 0",
    ),
    (
        "series = \"policy\"",
        "series = \"policy\"\nwhere = { load = [] }",
        "figure[0].where.load: found none, expected at least one value",
    ),
    (
        "series = \"policy\"",
        "series = \"policy\"\n[[table]]\nname = \"t\"\ntitle = \"T\"\nrows = \"load\"\n\
         columns = \"load\"\nmetric = \"normalised\"",
        "table[0].columns: found \"load\", expected a different axis from rows",
    ),
    (
        "at_most = 1",
        "at_most = 1\nwhere = { segments = [] }",
        "claim[0].where.segments: found none, expected at least one value",
    ),
    (
        "y = \"normalised\"",
        "y = \"normal\"",
        "figure[0].y: found \"normal\", expected a metric that is measured: response",
    ),
    (
        "y = \"normalised\"",
        "y = \"normalized\"",
        "found \"normalized\", expected a metric that is measured, perhaps \"normalised\"",
    ),
    (
        "\"normalised\"]",
        "\"normalise\"]",
        "map[0].y: found \"normalise\", expected a metric that is measured, perhaps",
    ),
    (
        "[\"response_ms_mean\", \"normalised\"]",
        "[]",
        "map[0].y: found none, expected at least one metric",
    ),
    (
        "title = \"M\"\nx = \"load\"",
        "title = \"M\"\nx = \"loads\"",
        "map[0].x: found \"loads\", expected an axis, perhaps",
    ),
    (
        "title = \"M\"\nx = \"load\"",
        "title = \"M\"\nx = \"policy\"",
        "map[0].x: found \"policy\", expected an axis of two or more numbers",
    ),
    (
        "where = {policy",
        "where = {load = 1, policy",
        "map[0].x: found \"load\", expected an axis of two or more numbers",
    ),
    (
        "{ value = 0.5, base",
        "{ value = 1, label = \"b\", base",
        "map[0].x: found \"load\", expected an axis of two or more numbers",
    ),
    (
        "y_most = 2",
        "y_most = 0",
        "map[0].y_most: found 0, expected a number above 0",
    ),
    (
        "y_most = 2",
        "y_most = inf",
        "map[0].y_most: found inf, expected a number above 0",
    ),
    (
        "bounds = [1, 2]",
        "bounds = [2, 2]",
        "map[0].bounds: found [2.0, 2.0], expected one or more ascending numbers",
    ),
    (
        "bounds = [1, 2]",
        "bounds = [1, inf]",
        "map[0].bounds: found [1.0, inf], expected",
    ),
    (
        "bounds = [1, 2]",
        "bounds = []",
        "map[0].bounds: found [], expected",
    ),
    (
        "name = \"m\"",
        "name = \"a/m\"",
        "map[0].name: found \"a/m\", expected letters",
    ),
    (
        "name = \"a\"",
        "name = \"../a\"",
        "figure[0].name: found \"../a\", expected letters",
    ),
    (
        "load / 2",
        "loads / 2",
        "columns.normalised: found \"loads\", expected a metric or a",
    ),
    (
        "check = \"ratio\"",
        "check = \"ration\"",
        "claim[0].check: found \"ration\", expected",
    ),
    (
        "metric = \"r",
        "metric = \"x",
        "claim[0].metric: found \"xesponse_ms_mean\", expected",
    ),
    (
        "at_most = 1",
        "",
        "claim[0].at_least: found nothing, expected at_least, at_most or",
    ),
    (
        "at_most = 1",
        "at_most = 1\nat_least = 2",
        "found 2, expected a number no greater than at_most = 1",
    ),
    (
        "at_most = 1",
        "at_most = 1\ntie = 2",
        "claim[0].tie: found 2, expected a string",
    ),
    (
        "at_most = 1",
        "at_most = 1\nbounds = \"theirs\"",
        "unknown variant \"theirs\", expected \"source\" or \"ours\"",
    ),
    (
        "at_most = 1",
        "at_most = 1\n[claim.known]\ncause = \"our reading\"\nevidence = \"conjecture\"",
        "missing field \"why\"",
    ),
    (
        "at_most = 1",
        "at_most = 1\n[claim.known]\nwhy = \"w\"\ncause = \"reading\"\nevidence = \"x\"",
        "claim[0].known.cause: found \"reading\", expected a cause",
    ),
    (
        "at_most = 1",
        "at_most = 1\n[claim.known]\nwhy = \"w\"\ncause = \"our reading\"\nevidence = \"tested\"",
        "claim[0].known.command: found nothing, expected the command",
    ),
    (
        "at_most = 1",
        "at_most = 1\n[claim.known]\nwhy = \"\"\ncause = \"our reading\"\nevidence=\"conjecture\"",
        "claim[0].known.at_least: found nothing, expected the smallest number",
    ),
    (
        "at_most = 1",
        "at_most = 1\nlevel = 2",
        "claim[0].level: found \"level\", expected a key of the check \"ratio\": metric",
    ),
    (
        "{ policy = \"FCFS\" }",
        "{ policy = \"FCF\" }",
        "expected a value of axis \"policy\", perhaps \"FCFS\"",
    ),
    (
        "{ policy = \"sptf\" }",
        "{ policy = \"x\" }",
        "of.policy: found \"x\", expected a value",
    ),
    (
        "{ policy = \"sptf\" }",
        "{ police = \"x\" }",
        "of.police: found \"police\", expected an",
    ),
    (
        "axes.load = [1]",
        "axes.load = [3]",
        "quick.axes.load: found \"3\", expected a value of",
    ),
    (
        "axes.load = [1]",
        "axes.load = []",
        "quick.axes.load: found none, expected at least one value",
    ),
    (
        "requests = 50",
        "requests = 0",
        "11: cell.requests: found 0, expected a whole number",
    ),
    (
        "requests = 50",
        "request = 50",
        "11: cell.request: found \"request\", expected a known key",
    ),
];

#[test]
fn errors_name_the_line() {
    for (what, by, expected) in WRONG {
        assert!(VALID.contains(what), "{what}");
        let text = VALID.replacen(what, by, 1);
        // Errors in either form are reported, whichever is requested.
        for quick in [false, true] {
            let error = read(&text, quick)
                .err()
                .unwrap_or_else(|| panic!("{by}: read"));
            assert!(error.contains(expected), "{by}: {error}");
            assert!(
                error.starts_with("one.toml:") && !error.contains('\n'),
                "{error}"
            );
        }
    }
}

#[test]
fn the_number_of_cells_is_limited() {
    let values: Vec<String> = (0..25_001).map(|value| value.to_string()).collect();
    let values = format!("values = [{}]", values.join(", "));
    let text = VALID.replacen("values = [1, 2, 4]", &values, 1);
    let expected = "one.toml:1: axis: found 100004 cells, expected at most 100000";
    assert_eq!(read(&text, false).err().as_deref(), Some(expected));
}

#[test]
fn a_requested_form_must_exist() {
    let traces = vec!["a.spc".to_owned()];
    let options = StudyOptions {
        traces,
        ..StudyOptions::default()
    };
    let text = VALID.replace("[1, 2, 4]", "\"--trace\"");
    let study = Study::read("one", &text, "one.toml", options).unwrap();
    assert!(study.takes_traces && !read(VALID, false).unwrap().takes_traces);
    let from = VALID.find("[quick]").unwrap();
    let to = VALID.find("[[axis]]").unwrap();
    let without = [&VALID[..from], &VALID[to..]].concat();
    assert!(read(&without, false).is_ok());
    let error = read(&without, true).unwrap_err();
    assert!(
        error.contains("quick: found nothing, expected a [quick] table"),
        "{error}"
    );
    // A short form may have no differences.
    let same = [&VALID[..from], "[quick]\n", &VALID[to..]].concat();
    assert!(read(&same, true).unwrap().differences.is_empty());
}

#[test]
fn a_short_form_lists_its_differences_and_omissions() {
    let parts = r#"
[[figure]]
name = "left-out"
title = "B"
x = "segments"
y = "normalised"
series = "policy"
where = { load = 0.5 }
[[figure]]
name = "in-part"
title = "C"
x = "segments"
y = "normalised"
series = "load"
where = { load = [1, 0.5] }
[[claim]]
says = "left out"
source = "s"
theirs = "t"
check = "value"
metric = "response_ms_mean"
where = { load = 0.5 }
at_most = 1
"#;
    let text = VALID.to_owned() + parts;
    let whole = read(&text, false).unwrap();
    let short = read(&text, true).unwrap();
    assert!(whole.differences.is_empty());
    let expected = ["6 of its 12 cells", "requests 50 instead of 100"];
    assert_eq!(short.differences, expected);
    let names =
        |study: &Study| -> Vec<String> { study.figures.iter().map(|f| f.name.clone()).collect() };
    assert_eq!(names(&whole), ["a", "left-out", "in-part"]);
    assert_eq!(names(&short), ["a", "in-part"]);
    let [all, left] = [&whole, &short].map(|study| &study.figures.last().unwrap().cells);
    assert!(all.contains(&vec![0, 1, 0]) && left.contains(&vec![0, 0, 0]));
    assert_eq!(short.claims.len(), 2);
    // A misspelt value is not a value that the short form leaves out.
    let wrong = text.replace(
        "where = { load = 0.5 }\nat_most",
        "where = { load = 0.6 }\nat_most",
    );
    let error = read(&wrong, true).unwrap_err();
    assert!(
        error.contains("found \"0.6\", expected a value of axis"),
        "{error}"
    );
}

#[test]
fn the_shipped_studies_are_valid() {
    for entry in diskarm_study::studies::STUDIES {
        for quick in [false, entry.has_short_form()] {
            let traces = if entry.takes_traces() {
                vec!["a.spc".to_owned()]
            } else {
                Vec::new()
            };
            let options = StudyOptions { quick, traces };
            let study = entry.read(options);
            let study = study.unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            assert!(!study.claims.is_empty(), "{} claims nothing", entry.name);
        }
    }
    let names: Vec<&str> = diskarm_study::studies::STUDIES
        .iter()
        .map(|e| e.name)
        .collect();
    assert!(names.is_sorted(), "{names:?}");
}

/// A claim stays in the short form even if its reason is only about cells that do not.
#[test]
fn a_reason_about_left_out_cells_stays_with_its_claim() {
    let known = "[claim.known]\nwhy = \"w\"\ncause = \"our reading\"\nevidence = \"conjecture\"\n\
                 at_least = 1\nat_most = 2\nwhere = { load = 0.5 }\n";
    let text = VALID.to_owned() + known;
    for quick in [false, true] {
        let study = read(&text, quick).unwrap();
        let known = study.claims[0].known.as_ref().unwrap();
        assert_eq!(known.kind(), "our reading, conjecture");
    }
    let wrong = text.replace("where = { load = 0.5 }", "where = { load = 0.6 }");
    let error = read(&wrong, true).unwrap_err();
    assert!(
        error.contains("claim[0].known.where.load: found \"0.6\""),
        "{error}"
    );
}

/// A study writes only to the folder of its name within the output folder.
#[test]
fn a_name_stays_in_its_folder() {
    let read = |name: &str| Study::read(name, VALID, "s.toml", StudyOptions::default());
    for name in ["..", ".", "", "/", "a/b", "../a", "/a", "a/..", "a/", "a/."] {
        let error = read(name).expect_err(name).to_string();
        let expected = "expected a name for the results folder, not a path";
        assert_eq!(error, format!("study: found {name:?}, {expected}"));
    }
    for name in ["a", "...", "a.b", "fig 3", "..a"] {
        assert_eq!(read(name).expect(name).name, name);
    }
}
