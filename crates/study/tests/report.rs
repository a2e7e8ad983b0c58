//! The report of a study, read back.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use diskarm_study::Metric;
use diskarm_study::{Files, Report, Results, Runner, Store, Study, StudyOptions};
use roxmltree::{Document, Node, ParsingOptions};

/// Every name contains as much markup as possible.
const STUDY: &str = r#"
title = "Title </title><script>alert(1)</script>"
source = "Source \"quoted\" & <b>bold</b>"
about = """
First line
of a paragraph.

]]> <!-- Second. """
[cell]
drive = "{drive}"
policy = "{policy}"
workload = "poisson(rate={rate}/s) uniform"
requests = 400
warm_up = 50
replications = 3
max_waiting = 100
[cell.spec]
"buffer.segments" = 2
[[axis]]
name = "drive"
title = "Drive"
values = [{ value = "hp-c2247", label = "C2247 <i>&" }, "dec-rz26"]
[[axis]]
name = "policy"
title = "<em>Policy"
values = [{ value = "fcfs", label = "<script>FCFS" }, "clook", "sptf"]
[[axis]]
name = "rate"
title = "Rate"
unit = "requests/s"
values = [10, 40, 200]
[[figure]]
name = "3a"
title = "Mean <img src=x>"
x = "rate"
y = "response_ms_mean"
y_most = 200
series = "policy"
[[figure]]
name = "3a"
title = "Only one drive"
x = "rate"
x_scale = "log2"
y = "response_cv2"
series = "policy"
where = { drive = "dec-rz26", policy = ["clook", "sptf"] }
[[table]]
name = "1"
title = "Everything"
rows = "policy"
columns = "rate"
metric = ["response_ms_mean", "cache_hit_rate"]
where = { drive = "dec-rz26", rate = [10, 200] }
[[claim]]
says = "Claim one <script>"
source = "section <1>"
theirs = "> 1 & < 2"
check = "order"
metric = "response_ms_mean"
ascending = [{ policy = "sptf" }, { policy = "<script>FCFS" }]
slack = "500 %"
[[claim]]
says = "Claim two"
source = "section 2"
theirs = "1 ms"
check = "value"
metric = "response_ms_mean"
at_most = 1
where = { rate = 10 }
[claim.known]
why = "The reason is looked into </li>"
cause = "our reading"
evidence = "conjecture"
at_least = 1
at_most = 1000
[[claim]]
says = "Claim three"
source = "section 3"
theirs = "1 ms"
check = "value"
metric = "response_ms_mean"
at_most = 1
where = { rate = 200 }
[[claim]]
says = "Claim four"
source = "section 4"
theirs = "a ratio"
check = "ratio"
metric = "response_ms_mean"
of = { policy = "sptf" }
to = { policy = "clook" }
where = { rate = 200 }
at_most = 1
"#;

/// A separate folder for each test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("diskarm-report-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        Self(folder)
    }

    fn results(&self) -> diskarm_study::Folder {
        diskarm_study::Folder::new(&self.0, "folder", Files::default()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn study(text: &str) -> Study {
    let options = StudyOptions {
        quick: text.contains("[quick]"),
        traces: Vec::new(),
    };
    Study::read("hostile", text, "hostile.toml", options).unwrap()
}

fn run<'s>(study: &'s Study, folder: &Folder) -> Results<'s> {
    let runner = Runner::new(study).unwrap();
    let mut store = Store::open(&folder.results()).unwrap();
    let progress = &mut |_| ControlFlow::Continue(());
    runner.run(&mut store, 2, progress).unwrap().unwrap()
}

fn parse(html: &str) -> Document<'_> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(html, options).unwrap()
}

/// Returns all text below a node, with normalised whitespace.
fn text(node: Node<'_, '_>) -> String {
    let all = node.descendants().filter(Node::is_text);
    let all: Vec<&str> = all.filter_map(|node| node.text()).collect();
    all.join(" ")
        .split_whitespace()
        .collect::<Vec<&str>>()
        .join(" ")
}

fn below<'a, 'd>(node: Node<'a, 'd>, tag: &str) -> Vec<Node<'a, 'd>> {
    let found = node.descendants().filter(|node| node.has_tag_name(tag));
    let with_namespace = node
        .descendants()
        .filter(|node| node.tag_name().name() == tag);
    if tag == "svg" {
        with_namespace.collect()
    } else {
        found.collect()
    }
}

fn section<'a, 'd>(document: &'a Document<'d>, id: &str) -> Node<'a, 'd> {
    let mut all = document.descendants();
    all.find(|node| node.attribute("id") == Some(id)).unwrap()
}

#[test]
fn the_page_is_complete_and_escapes_all_text() {
    let folder = Folder::new("whole");
    let study = study(STUDY);
    let results = run(&study, &folder);
    let report = Report::new(&study, &results).unwrap();
    let document = parse(&report.html);
    for tag in ["b", "i", "em", "img", "link", "iframe"] {
        assert!(below(document.root(), tag).is_empty(), "{tag}");
    }
    // The only script is the program's own.
    let scripts = below(document.root(), "script");
    assert_eq!(scripts.len(), 1);
    assert!(text(scripts[0]).starts_with("// \"use strict\";"));
    let page = text(document.root());
    let claims = section(&document, "claims");
    let items = below(claims, "li");
    assert_eq!(items.len(), study.claims.len());
    for (claim, item) in study.claims.iter().zip(items) {
        let judged = claim.judge(&results);
        for words in [&claim.says, &claim.source, &claim.theirs, &judged.ours] {
            assert!(
                text(item).contains(words.as_str()),
                "{words} in {}",
                text(item)
            );
        }
        assert!(text(item).contains(&judged.verdict.to_string()));
    }
    for words in [
        study.title.as_str(),
        &study.source,
        "First line of a paragraph.",
        "4 claims: 1 holds, 1 fails for a known reason, 1 fails, 1 not measured",
        "Claims to look at: 2 \u{2717} fails (known) 3 \u{2717} fails 4 \u{2013} not measured",
        "\u{2717} fails (known) Claim two",
        "The reason is looked into </li>",
        "18 cells from 42 runs; 6 saturated",
        "diskarm study run hostile.toml",
        "drive = dec-rz26, policy = <script>FCFS, rate = 200",
    ] {
        assert!(page.contains(words), "{words} in {page}");
    }
    // The browser wraps the lines of a paragraph.
    assert!(report.html.contains("First line of a paragraph.\n\n]]&gt;"));
    // The page contains the study file, byte for byte.
    let file = below(section(&document, "again"), "pre");
    assert_eq!(file[0].descendants().find_map(|n| n.text()), Some(STUDY));
    for (cell, outcome) in study.cells.iter().zip(&results.outcomes) {
        assert!(page.contains(&cell.inputs.drive));
        assert!(
            outcome
                .seeds
                .iter()
                .all(|seed| page.contains(&seed.to_string()))
        );
    }
}

#[test]
fn there_is_a_figure_for_each_combination() {
    let folder = Folder::new("figures");
    let study = study(STUDY);
    let results = run(&study, &folder);
    let report = Report::new(&study, &results).unwrap();
    let names: Vec<&str> = report.drawings.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["3a-c2247-i", "3a-dec-rz26", "3a-dec-rz26-2"]);
    let document = parse(&report.html);
    let drawn = below(section(&document, "figures"), "figure");
    assert_eq!(drawn.len(), 3);
    // Figures come first.
    let links = below(below(document.root(), "nav")[0], "a");
    let links: Vec<String> = links.into_iter().map(text).collect();
    assert_eq!(links[..2], ["Figures", "Claims"]);
    for (figure, drawing) in drawn.iter().zip(&report.drawings) {
        let svg = below(*figure, "svg");
        // One drawing is for wide pages, one for narrow ones.
        assert_eq!(svg.len(), 2);
        for svg in svg {
            assert!(text(svg).contains(&drawing.title), "{}", drawing.title);
            assert!(text(svg).contains("<em>Policy"));
            assert!(text(svg).contains("saturated beyond"));
            assert!(!text(svg).contains("single runs"));
        }
    }
    assert!(text(drawn[0]).contains("Mean <img src=x> (Drive: C2247 <i>&)"));
    // Two lines of two points each: the cells at 200/s have no metrics.
    let numbers = below(drawn[2], "td");
    assert_eq!(numbers.len(), 3 * 2);
    let saturated = numbers.iter().filter(|cell| text(**cell) == "saturated");
    assert_eq!(saturated.count(), 2);
    assert!(!text(drawn[2]).contains("FCFS"));
}

#[test]
fn tables_have_means_with_intervals() {
    let folder = Folder::new("tables");
    let study = study(STUDY);
    let results = run(&study, &folder);
    let report = Report::new(&study, &results).unwrap();
    let document = parse(&report.html);
    let tables = below(section(&document, "tables"), "table");
    assert_eq!(tables.len(), 2);
    let rows: Vec<Vec<String>> = below(tables[0], "tr")
        .into_iter()
        .map(|row| row.children().map(text).collect())
        .collect();
    assert_eq!(rows[0], ["<em>Policy", "Rate, requests/s"]);
    assert_eq!(rows[1], ["10", "200"]);
    for (policy, row) in rows[2..].iter().enumerate() {
        assert_eq!(row[0], study.axes[1].values[policy].label);
        let estimate = results.estimate(&vec![1, policy, 0], Metric(0)).unwrap();
        let (mean, half) = row[1].split_once(" \u{b1} ").unwrap();
        let (mean, half): (f64, f64) = (mean.parse().unwrap(), half.parse().unwrap());
        let known = estimate.half_width.unwrap();
        // The interval has two digits, and the mean as many decimals.
        assert!((half - known).abs() <= 0.05 * known, "{half} {known}");
        assert!((mean - estimate.mean).abs() <= 0.06 * known, "{mean}");
        assert_eq!(row[2], "saturated");
    }
}

#[test]
fn the_page_is_self_contained_and_its_files_are_written() {
    let folder = Folder::new("files");
    let study = study(STUDY);
    let results = run(&study, &folder);
    let report = Report::new(&study, &results).unwrap();
    assert_eq!(report, Report::new(&study, &results).unwrap());
    let document = parse(&report.html);
    for node in document.descendants() {
        for attribute in node.attributes() {
            let is_link = ["href", "src", "srcset", "data", "action"].contains(&attribute.name());
            assert!(
                !is_link || attribute.value().starts_with('#'),
                "{attribute:?}"
            );
            assert!(!attribute.name().starts_with("on"), "{attribute:?}");
        }
    }
    let without_namespace = report.html.replace("http://www.w3.org/2000/svg", "");
    assert!(!without_namespace.contains("://") && !without_namespace.contains("@import"));
    // Every link of the page has a target.
    for link in below(document.root(), "a") {
        section(&document, &link.attribute("href").unwrap()[1..]);
    }
    report.write(&folder.results()).unwrap();
    assert_eq!(
        fs::read_to_string(folder.0.join("report.html")).unwrap(),
        report.html
    );
    for drawing in &report.drawings {
        let path = |ending: &str| folder.0.join(format!("figures/{}.{ending}", drawing.name));
        assert_eq!(fs::read_to_string(path("svg")).unwrap(), drawing.svg);
        assert!(fs::read(path("png")).unwrap().starts_with(b"\x89PNG"));
    }
}

#[test]
fn a_short_form_is_marked_and_a_single_cell_has_a_page() {
    let folder = Folder::new("short");
    let small = "title = \"Small\"\nsource = \"none\"\n[cell]\ndrive = \"hp-c2247\"\n\
                 policy = \"fcfs\"\nworkload = \"poisson(rate=20/s) uniform\"\nrequests = 400\n\
                 replications = 1\n[quick]\nrequests = 200\n";
    let study = study(small);
    let results = run(&study, &folder);
    let report = Report::new(&study, &results).unwrap();
    let page = text(parse(&report.html).root());
    assert!(page.contains("The short form of the study"), "{page}");
    let expected = "no claims 1 cell from 1 run; single runs, no interval The short form of the \
                study: requests 200 instead of 400; verdicts may be different.";
    assert!(page.contains(expected), "{page}");
    assert!(
        page.contains("diskarm study run hostile.toml --quick"),
        "{page}"
    );
    assert!(report.drawings.is_empty());
}

/// Returns the numbers on the vertical axis of a drawing: texts that end where its grid begins.
fn heights(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let texts = below(document.root(), "text");
    let ends = |text: &&Node<'_, '_>| text.attribute("text-anchor") == Some("end");
    let texts = texts.iter().filter(ends);
    texts.map(|node| text(*node)).collect()
}

#[test]
fn figures_to_compare_share_a_vertical_axis_from_zero() {
    let folder = Folder::new("shared");
    let small = "title = \"Small\"\nsource = \"none\"\n[cell]\ndrive = \"hp-c2247\"\n\
                 policy = \"{policy}\"\nworkload = \"closed(clients={n}) uniform size={size}KiB\"\n\
                 requests = 100\n[[axis]]\nname = \"size\"\nvalues = [4, 256]\n[[axis]]\n\
                 name = \"policy\"\nvalues = [\"fcfs\", \"sptf\"]\n[[axis]]\nname = \"n\"\n\
                 values = [10, 11]\n[[figure]]\nname = \"a\"\ntitle = \"A\"\nx = \"n\"\n\
                 y = \"response_ms_mean\"\ny_most = 100_000\nseries = \"policy\"\n";
    let drawn = |text: &str, folder: &Folder| -> Vec<Vec<String>> {
        let study = study(text);
        let report = Report::new(&study, &run(&study, folder)).unwrap();
        let alone = report.drawings.iter().map(|drawing| heights(&drawing.svg));
        let page = report.html.matches("single runs, no interval").count();
        // Once in the summary, and twice in each figure: as a visible note and as its description.
        assert_eq!(page, 1 + 2 * 2 * report.drawings.len());
        alone.collect()
    };
    let both = drawn(small, &folder);
    assert_eq!(both.len(), 2);
    assert_eq!(both[0], both[1]);
    assert_eq!(both[0][0], "0");
    // Alone, the smaller one has a shorter axis.
    let one = drawn(&small.replace("[4, 256]", "[4]"), &folder);
    assert_ne!(one[0], both[0]);
    // `y_most` only shortens an axis that would be longer.
    let last = |heights: &[String]| {
        heights
            .last()
            .unwrap()
            .replace(',', "")
            .parse::<f64>()
            .unwrap()
    };
    assert!(last(&both[0]) < 5_000.0, "{both:?}");
    let cut = drawn(&small.replace("100_000", "20"), &folder);
    assert_eq!(last(&cut[0]), 20.0);
}

/// Returns the lines of a drawing that have this number of points.
fn lines_of(svg: &str, points: usize) -> Vec<Vec<[f64; 2]>> {
    let document = Document::parse(svg).unwrap();
    let drawn = below(document.root(), "polyline").into_iter();
    let drawn = drawn.map(|line| {
        let pairs = line.attribute("points").unwrap().split_whitespace();
        let pairs = pairs.map(|pair| {
            let (x, y) = pair.split_once(',').unwrap();
            [x, y].map(|text| text.parse::<f64>().unwrap())
        });
        pairs.collect::<Vec<_>>()
    });
    drawn.filter(|line| line.len() == points).collect()
}

#[test]
fn a_metric_can_be_on_the_horizontal_axis() {
    let folder = Folder::new("metric");
    let small = "title = \"Small\"\nsource = \"none\"\n[cell]\ndrive = \"hp-c2247\"\n\
                policy = \"{policy}\"\nworkload = \"closed(clients={n}) uniform\"\n\
                requests = 500\nreplications = 3\n[[axis]]\nname = \"policy\"\n\
                values = [\"fcfs\", \"sptf\"]\n[[axis]]\nname = \"n\"\nvalues = [8, 2, 4, 6]\n\
                [[figure]]\nname = \"itself\"\ntitle = \"A\"\nx = \"response_ms_mean\"\n\
                along = \"n\"\nx_label = \"Below\"\ny = \"response_ms_mean\"\n\
                series = \"policy\"\n";
    let study = study(small);
    let results = run(&study, &folder);
    let report = Report::new(&study, &results).unwrap();
    let [drawing] = &report.drawings[..] else {
        panic!("{} drawings", report.drawings.len());
    };
    assert!(drawing.svg.contains(">\nBelow\n<"), "{}", drawing.svg);
    // A metric plotted against itself is a straight line, and more clients wait longer: the second
    // value of the axis is on the left, the first on the right.
    let lines = lines_of(&drawing.svg, 4);
    assert_eq!(lines.len(), 2);
    for line in &lines {
        let [[x8, y8], [x2, y2], [x4, y4], [x6, _]] = line[..] else {
            unreachable!("it has four points")
        };
        assert!(x2 < x4 && x4 < x6 && x6 < x8, "{line:?}");
        let rises = [(y4 - y2) / (x4 - x2), (y8 - y2) / (x8 - x2)];
        assert!((rises[0] - rises[1]).abs() < 0.01, "{line:?}");
    }
    // In the table below, each number is paired with itself.
    let document = parse(&report.html);
    let cells = below(document.root(), "td").into_iter().map(text);
    let cells: Vec<String> = cells.filter(|cell| cell.contains(" at ")).collect();
    assert_eq!(cells.len(), 8);
    for cell in cells {
        let (y, x) = cell.split_once(" at ").unwrap();
        assert_eq!(y, x);
    }
}

/// Returns the rectangles of a drawing in the colour that the legend shows for `key`, except that
/// of the legend itself: left, top, width, height.
fn in_colour_of(svg: &str, key: &str) -> Vec<[f64; 4]> {
    let document = Document::parse(svg).unwrap();
    let number = |node: &Node<'_, '_>, name| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let texts = below(document.root(), "text");
    let label = texts.iter().find(|node| text(**node) == key).unwrap();
    let all = below(document.root(), "rect");
    // The nearest rectangle is that of the legend.
    let away = |node: &Node<'_, '_>| {
        let sides = ["x", "y"].map(|side| number(node, side) - number(label, side));
        sides[0].hypot(sides[1])
    };
    let sample = all
        .iter()
        .min_by(|one, other| away(one).total_cmp(&away(other)));
    let sample = sample.unwrap();
    let fill = sample.attribute("fill");
    let same = all
        .iter()
        .filter(|node| node.attribute("fill") == fill && node != &sample);
    let sides = ["x", "y", "width", "height"];
    same.map(|node| sides.map(|side| number(node, side)))
        .collect()
}

/// With a single client, the response is the service, which is longer for larger requests. The map
/// has each mean where its axis has the number, whatever the order in the file.
#[test]
fn maps_have_the_means_where_the_axis_has_its_numbers() {
    let folder = Folder::new("maps");
    let small = "title = \"Small\"\nsource = \"none\"\n[cell]\ndrive = \"{drive}\"\n\
                 policy = \"fcfs\"\nworkload = \"closed(clients=1) uniform size={size}KiB\"\n\
                 requests = 100\n[[axis]]\nname = \"size\"\nvalues = [512, 4, 1024]\n\
                 [[axis]]\nname = \"drive\"\nvalues = [\"hp-c2247\", \"dec-rz26\"]\n\
                 [[map]]\nname = \"m\"\ntitle = \"M\"\nx = \"size\"\n\
                 y = [\"queue_mean\", \"response_ms_mean\"]\ny_label = \"Y\"\ny_most = 1\n\
                 values = \"V\"\nbounds = [1, 50]\n";
    let study = study(small);
    let results = run(&study, &folder);
    let report = Report::new(&study, &results).unwrap();
    let names: Vec<&str> = report.drawings.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["m-hp-c2247", "m-dec-rz26"]);
    let document = parse(&report.html);
    let figures = below(section(&document, "figures"), "figure");
    for (place, drawing) in report.drawings.iter().enumerate() {
        // 4 KiB take less than 50 ms, 512 and 1024 KiB more; no request waits.
        let response = Metric(0);
        let means = [1, 0, 2].map(|size| results.estimate(&vec![size, place], response).unwrap());
        assert!(means[0].mean < 50.0 && means[1].mean > 50.0 && means[2].mean > 50.0);
        let keys = ["less than 1", "1 to 50", "50 or more"];
        let [none, short, long] = keys.map(|key| in_colour_of(&drawing.svg, key));
        assert_eq!([none.len(), short.len(), long.len()], [1, 1, 1]);
        // Columns are from 4 to 258, halfway to 512, and from there to 1024.
        let share = short[0][2] / none[0][2];
        assert!((share - 254.0 / 1020.0).abs() < 0.005, "{share}");
        assert_eq!(short[0][0], none[0][0]);
        let ends = [&none, &long].map(|run| run[0][0] + run[0][2]);
        assert!((ends[0] - ends[1]).abs() < 0.01, "{ends:?}");
        // The first row is at the bottom.
        assert!(short[0][1] < none[0][1]);
        assert_eq!(below(figures[place], "td").len(), 2 * 3);
        assert!(text(figures[place]).contains("Mean response time, ms"));
    }
}

/// The heights of a density's lines are proportional to the shares, with the same factor in all
/// drawings, and its points are as far apart as the bins.
#[test]
fn densities_have_the_shares_of_their_bins() {
    let folder = Folder::new("densities");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let file = "title = \"T\"\nsource = \"none\"\n[cell]\ndrive = \"{drive}\"\n\
                policy = \"fcfs\"\nmeasure = \"predictions\"\nsizes = \"{size}\"\n\
                trace = 'ROOT/data/validation/hp-c2247.csv.gz'\n\
                [[axis]]\nname = \"size\"\nvalues = [\"1..9\", \"9..\"]\n[[axis]]\n\
                name = \"drive\"\nvalues = [\"hp-c2247\", \"hp-c2247-calibrated\"]\n\
                [[density]]\nname = \"e\"\ntitle = \"E\"\nx_label = \"X\"\nseries = \"size\"\n";
    let study = study(&file.replace("ROOT", root));
    let results = run(&study, &folder);
    let report = Report::new(&study, &results).unwrap();
    let names: Vec<&str> = report.drawings.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["e-hp-c2247", "e-hp-c2247-calibrated"]);
    let columns = study.columns.iter().enumerate();
    let bins = columns.filter(|(_, column)| column.name.starts_with("share_at_"));
    let bins: Vec<usize> = bins.map(|(place, _)| place).collect();
    assert_eq!(bins.len(), 51);
    // The height of a share of one, in whole units of the drawing, and the position of zero.
    let mut scales = Vec::new();
    for (drive, drawing) in report.drawings.iter().enumerate() {
        let lines = lines_of(&drawing.svg, bins.len());
        assert_eq!(lines.len(), 2);
        for (size, line) in lines.iter().enumerate() {
            let share = |bin: usize| {
                let estimate = results.estimate(&vec![size, drive], Metric(bins[bin]));
                estimate.unwrap().mean
            };
            let widths: Vec<f64> = line
                .windows(2)
                .map(|pair| pair[1][0] - pair[0][0])
                .collect();
            assert!(
                widths.iter().all(|width| (width - widths[0]).abs() < 1.5),
                "{widths:?}"
            );
            // The middle bin has the largest share, the first almost none.
            let scale = (line[25][1] - line[0][1]) / (share(25) - share(0));
            scales.push([scale, line[0][1] - scale * share(0)]);
            for (bin, point) in line.iter().enumerate() {
                let [scale, zero] = scales[0];
                let expected = zero + scale * share(bin);
                assert!(
                    (point[1] - expected).abs() < 4.0,
                    "{bin}: {point:?} {expected}"
                );
            }
        }
    }
    let document = parse(&report.html);
    let figures = below(section(&document, "figures"), "figure");
    assert_eq!(below(figures[0], "td").len(), 51 * 2);
    for bin in ["of -0.50 ms", "of 0.00 ms", "of 0.50 ms"] {
        assert!(text(figures[0]).contains(bin), "{bin}");
    }
}
