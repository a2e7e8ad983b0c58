//! Every possible error in a specification, one at a time, with the exact line that reports it.

use diskarm_core::mechanics::SeekTimes;
use diskarm_core::request::Op;
use diskarm_core::spec::{self, Document};
use diskarm_core::text::{InputError, quantity};
use diskarm_core::units::{Cylinder, Span};

/// A small drive with every kind of field, whose meaning `spec_values` checks.
const GOOD: &str = include_str!("spec/good.toml");

/// Parts of it, each replaced by something wrong, with the expected errors.
const BAD: &str = include_str!("spec/bad.txt");

/// Returns the lines of a paragraph that begin with a mark, without the mark.
fn marked(paragraph: &str, mark: &str) -> Vec<String> {
    let lines = paragraph.lines();
    let marked = lines.filter_map(|line| line.strip_prefix(mark)?.strip_prefix(' '));
    marked.map(str::to_owned).collect()
}

#[test]
fn each_error_names_file_line_field_value_and_expectation() {
    let whole_lines = |lines: Vec<String>| {
        lines
            .iter()
            .fold("\n".to_owned(), |text, line| text + line + "\n")
    };
    let good = format!("\n{GOOD}");
    let mut wrong = String::new();
    let mut tried = 0;
    for paragraph in BAD.split("\n\n").skip(1) {
        let from = whole_lines(marked(paragraph, "-"));
        assert_eq!(
            good.matches(&from).count(),
            1,
            "not exactly one passage: {from}"
        );
        let text = good.replace(&from, &whole_lines(marked(paragraph, "+")));
        let expected = format!("x.toml:{}", marked(paragraph, "!").join(" "));
        let found = match spec::parse(&text[1..], "x.toml") {
            Ok(_) => "no error".to_owned(),
            Err(error) => error.to_string(),
        };
        let is_expected = match expected.strip_suffix("...") {
            Some(begin) => found.starts_with(begin),
            None => found == expected,
        };
        if !is_expected {
            wrong += &format!("{paragraph}\nfound    {found}\nexpected {expected}\n\n");
        }
        tried += 1;
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(tried > 60, "only {tried} paragraphs were read");
}

#[test]
fn later_stages_report_the_line_of_the_field() {
    let document = Document::read(GOOD, "x.toml").unwrap_or_else(|error| panic!("{error}"));
    let line_of = |field| document.locate(InputError::missing(field, "")).line;
    let line_with = |text: &str| {
        let before = GOOD.lines().take_while(|line| *line != text);
        1 + before.count() as u64
    };
    assert_eq!(
        line_of("geometry.zones[1].spares"),
        Some(line_with("spares = 4"))
    );
    assert_eq!(
        line_of("geometry.sectors"),
        Some(line_with("sectors = 1_000"))
    );
    // An omitted field is reported at the line of its table.
    assert_eq!(
        line_of("geometry.zones[0].slips"),
        Some(line_with("[[geometry.zones]]"))
    );
    assert_eq!(line_of("nowhere.at.all"), Some(1));
    let error = document.locate(InputError::shown("geometry.sectors", 1000, "1024"));
    let line = line_with("sectors = 1_000");
    assert_eq!(
        error.to_string(),
        format!("x.toml:{line}: geometry.sectors: found 1000, expected 1024")
    );
}

/// The asymmetry of inward seeks is at most the shortest seek time, of reads and of writes.
#[test]
fn an_inward_seek_takes_no_more_than_the_shortest_seek() {
    let message = |inward: &str, write: &str| {
        let text = format!(
            "name = \"x\"\nsummary = \"x\"\nsource.origin = \"x\"\n[geometry]\nsurfaces = 1\n\
             cylinders = 10\nsectors = 100\nsector_bytes = 512\n\
             zones = [{{ cylinders = [0, 10], sectors_per_track = 10 }}]\n\
             [mechanics]\nrotation = \"10 ms\"\ninward_seek = \"{inward}\"\n\
             seek = {{ form = \"table\", cylinders_ms = [[1, 2], [9, 5]] }}\n{write}"
        );
        match spec::parse(&text, "x.toml") {
            Ok(_) => "nothing".to_owned(),
            Err(error) => error.to_string(),
        }
    };
    let writes = "write_seek = { form = \"table\", cylinders_ms = [[1, 1.5], [9, 5]] }\n";
    for (inward, write, shortest) in [
        ("2 ms", "", None),
        ("-2 ms", "", None),
        ("2.001 ms", "", Some("2 ms")),
        ("-2.001 ms", "", Some("2 ms")),
        ("1.5 ms", writes, None),
        ("-1.6 ms", writes, Some("1.5 ms")),
    ] {
        let expected = shortest.map_or("nothing".to_owned(), |shortest| {
            format!(
                "x.toml:12: mechanics.inward_seek: found {inward:?}, expected a time from \
                 -{shortest} to {shortest}, which is the shortest seek"
            )
        });
        assert_eq!(message(inward, write), expected);
    }
}

/// Each seek curve's shortest time, by hand and by the table that the model moves by, bounds an
/// effective write settle without a head switch; the bound itself is accepted.
#[test]
fn a_write_settle_takes_no_more_than_the_shortest_seek() {
    let formula = "form = \"two-piece\"\nshort = \"2.48 ms\"\n\
                   short_sqrt = \"0.41 ms/sqrt(cylinder)\"\nlong = \"1 ms\"\n\
                   long_slope = \"0.5 ms/cylinder\"\n";
    let knee =
        |cylinders: u32, more: &str| format!("{formula}knee = \"{cylinders} cylinders\"\n{more}");
    let table = |points: &str| format!("form = \"table\"\ncylinders_ms = [{points}]\n");
    let curves = [
        // 2.48 + 0.41 * sqrt(1); 1 + 0.5 * 9 = 5.5 is the last of ten cylinders.
        (knee(8, ""), "-2.89 ms"),
        // Beyond two listed ones: 1 + 0.5 * 3, before the 2.48 + 0.41 * sqrt(3) it replaces.
        (knee(3, "first_ms = [2.6, 2.7]\n"), "-2.5 ms"),
        (knee(3, "first_ms = [2.6, 2.4]\n"), "-2.4 ms"),
        // One cylinder off the curve; then 1 + 0.5 * 2.
        (knee(2, "single = \"2.1 ms\"\n"), "-2 ms"),
        (knee(1, ""), "-1.5 ms"),
        // 2.48 + 0.41 * sqrt(2) = 3.05983; a linear piece beyond the disk does not count.
        (knee(10, "single = \"3.5 ms\"\n"), "-3.059828 ms"),
        (table("[2, 3], [7, 2.25], [10, 3]"), "-2.25 ms"),
        // At nine cylinders, 2.25 - 1.25 * 2/3; and the first point for all before it.
        (table("[2, 3], [7, 2.25], [10, 1]"), "-1.416667 ms"),
        (table("[12, 3.5]"), "-3.5 ms"),
        (
            "form = \"three-point\"\nsingle = \"1.25 ms\"\naverage = \"3 ms\"\nfull = \"5 ms\"\n"
                .to_owned(),
            "-1.25 ms",
        ),
    ];
    let drive = |curve: &str, settle: &str| {
        format!(
            "name = \"x\"\nsummary = \"x\"\nsource.origin = \"x\"\n[geometry]\nsurfaces = 1\n\
             cylinders = 10\nsectors = 100\nsector_bytes = 512\n\
             zones = [{{ cylinders = [0, 10], sectors_per_track = 10 }}]\n\
             [mechanics]\nrotation = \"10 ms\"\nwrite_settle = \"{settle}\"\n\
             [mechanics.seek]\n{curve}"
        )
    };
    let message = |curve: &str, settle: &str| match spec::parse(&drive(curve, settle), "x.toml") {
        Ok(_) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    };
    for (curve, bound) in curves {
        let spec = spec::parse(&drive(&curve, "0 ms"), "x.toml").expect("a valid drive");
        let seeks = SeekTimes::new(&spec.mechanics, 10);
        let shortest = (1..10)
            .map(|distance| seeks.total(Op::Write, (Cylinder(0), Cylinder(distance)), false))
            .min();
        assert_eq!(shortest.map(|time| -time), quantity::span(bound), "{curve}");
        assert_eq!(message(&curve, bound), "nothing", "{curve}");
        let min = quantity::span(bound).expect("a time");
        let less = (min - Span::from_us(1.0)).to_string();
        let expected = format!(
            "x.toml:12: mechanics.write_settle: found \"{less}\", expected {bound} or more, so \
             that no movement before a write takes a negative time"
        );
        assert_eq!(message(&curve, &less), expected, "{curve}");
    }
}
