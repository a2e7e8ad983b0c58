//! `diskarm declustering`.

use crate::{assert_within, diskarm, file_of, json, keys, stdout};

#[test]
fn the_table_fits_a_terminal() {
    for more in [
        &[][..],
        &["--disks", "16", "--cluster", "2", "--failed", "0,15"],
        &["--mttf", "1 h", "--mttr", "1000000000 h"],
        &["--mttf", "1000000000000 h", "--mttr", "0.0001 s"],
    ] {
        let text = stdout(&[&["declustering"], more].concat());
        assert_within(&text, 80);
    }
}

/// The example in the thesis (liu05, section 9.3), and values that it does not print.
#[test]
fn the_example_of_the_thesis_is_in_the_table() {
    let text = stdout(&["declustering"]);
    for line in [
        "  disk 0                           failed       failed       failed       failed",
        "  disk 1                            1.500        1.167        1.071        1.071",
        "  disk 7                            1.000        1.000        1.071        1.071",
        "  equal on remaining disks             no           no          yes          yes",
        "  2 failed: 28 sets             24  0.857    16  0.571    20  0.714    12  0.429",
        "  3 failed: 56 sets             32  0.571     0  0.000    16  0.286     8  0.143",
        "  4 failed: 70 sets             16  0.229     0  0.000     2  0.029     2  0.029",
        "  G - 1                                 1            3            2            4",
        "Equations 9.11 to 9.17 of liu05 give the same shares.",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let lost = stdout(&["declustering", "--failed", "0,1"]);
    assert!(lost.contains("  disk 2                                -            -            -"));
    let four = stdout(&["declustering", "--cluster", "2"]);
    assert!(
        four.contains("9.17 of liu05 gives different shares: 0.143 for 2"),
        "{four}"
    );
}

#[test]
fn json_has_the_values_of_the_table() {
    let found = json(&[
        "declustering",
        "--failed",
        "3,0",
        "--reads",
        "75 %",
        "--json",
    ]);
    let expected = [
        "disks",
        "cluster",
        "failed",
        "read_share",
        "mttf_h",
        "mttr_h",
        "layouts",
        "notes",
    ];
    assert_eq!(keys(&found), expected);
    assert_eq!(found["failed"], serde_json::json!([0, 3]));
    assert_eq!(found["mttf_h"], 1e6);
    let chained = &found["layouts"][2];
    let expected = [
        "layout",
        "is_lost",
        "is_balanced",
        "loads",
        "failures",
        "mttdl_h",
        "mttdl_approximate_h",
        "sharing_disks",
    ];
    assert_eq!(keys(chained), expected);
    assert_eq!(chained["layout"], "chained");
    assert!(chained["loads"][0]["degraded_reads"].is_null());
    // Between the two failures two disks serve the reads of three, and 0.75 (3/2) + 0.25 (2) of
    // 0.75 + 0.25 (2) accesses.
    let load = &chained["loads"][1];
    assert_eq!(load["degraded_reads"], 1.5);
    assert_eq!(load["degraded_writes"], 2.0);
    let ratio = load["degraded_over_normal"].as_f64().unwrap();
    assert!((ratio - 1.625 / 1.25).abs() < 1e-12);
    let two = &chained["failures"][1];
    assert_eq!(
        (&two["sets"], &two["survived_sets"]),
        (&28.into(), &20.into())
    );
    assert_eq!(
        (&two["equation"], &two["balanced_sets"]),
        (&"9.14".into(), &4.into())
    );
    // MTTF^2 / N (G - 1) MTTR.
    assert_eq!(chained["mttdl_approximate_h"], 1e12 / (8.0 * 2.0 * 24.0));
    assert!(found["layouts"][1]["is_lost"].as_bool().unwrap());
}

/// An odd number of disks has no pairs, and a single cluster has no partner.
#[test]
fn layouts_that_do_not_fit_the_number_of_disks_are_left_out() {
    let output = diskarm(&["declustering", "--disks", "7"]);
    assert!(output.status.success());
    let notes = String::from_utf8(output.stderr).unwrap();
    let expected = "note: left out: basic mirroring needs pairs of disks, found 7\n\
                    note: left out: group rotate needs an even number of clusters, found 1 \
                    cluster of 7 disks\n";
    assert_eq!(notes, expected);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("interleaved      chained\n"), "{text}");
}

#[test]
fn the_plot_has_a_bar_for_each_disk_and_layout() {
    let path = file_of("loads.svg", "");
    stdout(&["declustering", "--failed", "0,3", "--plot", &path]);
    let svg = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    for text in [
        "8 disks, clusters of 4",
        "interleaved: data lost",
        ">\nfailed\n<",
        "chained",
    ] {
        assert!(svg.contains(text), "{text}");
    }
    // 8 disks without failures, 6 with them for each of three layouts; the page and the legend.
    let bars = svg.matches("<rect ").count();
    assert_eq!(bars, 8 + 3 * 6 + 1 + 2 * 5);
}

#[test]
fn errors_take_one_line() {
    let cases = [
        (
            &["--cluster", "3"][..],
            "--cluster: found \"3\", expected a divisor of 8 disks: 2, 4, 8",
        ),
        (
            &["--disks", "1"],
            "--disks: found \"1\", expected a whole number from 2 to 24",
        ),
        (
            &["--failed", "0,8"],
            "--failed: found \"8\", expected disks from 0 to 7",
        ),
        (
            &["--mttr", "0 h"],
            "--mttr: found \"0 h\", expected a time above 0 with its unit, such as \"24 h\"",
        ),
        (
            &["--mttf", "1e6h"],
            "--mttf: found \"1e6h\", expected a time above 0 with its unit, such as \"24 h\"",
        ),
        (
            &["--reads", "0.75"],
            "--reads: found \"0.75\", expected a percentage from 0 % to 100 %, with the % sign, \
             such as \"67 %\"",
        ),
        (
            &["--plot", "loads.png"],
            "--plot: found \"loads.png\", expected a name ending in .svg, or - for standard output",
        ),
    ];
    for (arguments, expected) in cases {
        let output = diskarm(&[&["declustering"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text, format!("error: {expected}\n"));
    }
}
