//! The HTML page on an extraction, with tables and charts like those of worthington96.

use std::collections::BTreeSet;

use diskarm_core::spec::{Key, Spec, Value};
use diskarm_core::units::Span;
use diskarm_extract::Estimate;
use diskarm_extract::cache::Finding;
use diskarm_extract::mtbrc::Pair;
use diskarm_extract::seek::Seeks;
use diskarm_extract::suite::{
    Checkpoint, Findings, MeasuredValue, MtbrcFinding, Provenance, WriteSeeks,
};
use diskarm_plot::{Axis, Figure, Point, Series, rounded};

use super::{ExtractionReport, assumed, outcome, unknown};
use crate::html::{Html, Section, figure, page, wide};

/// Returns the page, which depends only on the measurements.
pub fn html(extracted: &ExtractionReport<'_>) -> String {
    let findings = &extracted.checkpoint.findings;
    let values = extracted.values();
    let (mtbrc, unknown) = (mtbrcs(findings), undetermined(extracted));
    let mut sections: Vec<Section> = vec![
        ("drive", "The drive", basics(extracted.checkpoint)),
        ("seeks", "Seek times", seeks(findings)),
        ("times", "Overheads and other times", times(values)),
        ("mtbrc", "Minimum times between completions", mtbrc),
        ("buffer", "The buffer", buffer(findings)),
        ("zones", "Zones", zones(findings)),
        ("defects", "Defects", defects(findings)),
        ("unknown", "Undetermined and assumed values", unknown),
        ("cost", "Cost", costs(extracted)),
    ];
    sections.retain(|(_, _, content)| *content != Html::default());
    page(&title(extracted), head(extracted), sections)
}

fn title(extracted: &ExtractionReport<'_>) -> String {
    let checkpoint = extracted.checkpoint;
    format!("{}, measured over SCSI", checkpoint.identity.name())
}

fn head(extracted: &ExtractionReport<'_>) -> Html {
    let paragraph = |class: &str, words: String| Html::with("p", &[("class", class)], words);
    let checkpoint = extracted.checkpoint;
    let serial = extracted.serial();
    let effort = checkpoint.options.effort.to_string();
    let writes = if checkpoint.options.writes {
        "with writes"
    } else {
        "read only"
    };
    let outcomes = checkpoint.records.iter().map(|record| outcome(record).0);
    let count = |name| outcomes.clone().filter(|outcome| *outcome == name).count();
    let [done, failed, skipped] = ["done", "failed", "skipped"].map(count);
    let mut outcomes = format!("{done} measurements succeeded");
    for (number, what) in [(failed, "failed"), (skipped, "skipped")] {
        if number > 0 {
            outcomes += &format!(", {number} {what}");
        }
    }
    let values = extracted.values();
    let count = |is: fn(&Provenance) -> bool| {
        let found = values.iter().filter(|found| is(&found.provenance));
        found.count()
    };
    let known = count(|provenance| matches!(provenance, Provenance::Measured { .. }));
    let unknown = count(|provenance| matches!(provenance, Provenance::Unknown(_)));
    let cost = checkpoint.cost();
    let summary = format!(
        "{known} values measured, {unknown} not determined; {} commands in {:.0} s on the drive",
        cost.commands,
        cost.time.as_s()
    );
    let warning = if failed > 0 { " warning" } else { "" };
    let class = &format!("summary{warning}");
    let source = format!("{}{serial}; {effort} effort, {writes}", checkpoint.drive);
    let counts = [paragraph("count", outcomes), paragraph("cells", summary)];
    let heading = Html::element("h1", title(extracted));
    let results = Html::with("div", &[("class", class)], counts);
    Html::element("header", [heading, paragraph("source", source), results])
}

/// Returns a table. ` | ` separates `headings`, and a leading `<` marks a column of text.
/// The first cell of a row is its heading.
fn table(headings: &str, rows: impl IntoIterator<Item = Vec<Html>>) -> Html {
    let headings: Vec<&str> = headings.split(" | ").collect();
    let has_words: Vec<bool> = headings.iter().map(|head| head.starts_with('<')).collect();
    let class = |column: usize| {
        if has_words[column] { "words" } else { "number" }
    };
    let head = headings.iter().enumerate().map(|(column, head)| {
        let attributes = [("scope", "col"), ("class", class(column))];
        Html::with("th", &attributes, head.trim_start_matches('<'))
    });
    let head = Html::element("tr", head.collect::<Html>());
    let body = rows.into_iter().map(|row| {
        let numbered = row.into_iter().enumerate();
        let cells = numbered.map(|(column, cell)| match column {
            0 => Html::with("th", &[("scope", "row")], cell),
            _ => Html::with("td", &[("class", class(column))], cell),
        });
        Html::element("tr", cells.collect::<Html>())
    });
    let content = [
        Html::element("thead", head),
        Html::element("tbody", body.collect::<Html>()),
    ];
    wide(Html::element("table", content))
}

fn ms(span: Span) -> String {
    format!("{:.3}", span.as_ms())
}

/// Returns the drive's basic properties (tables 4, 9, 14 and 19).
fn basics(checkpoint: &Checkpoint) -> Html {
    let findings = &checkpoint.findings;
    let identity = &checkpoint.identity;
    let bytes = identity.sectors.0 as f64 * identity.sector_size.0 as f64;
    let capacity = format!("{:.2} GB in {} blocks", bytes / 1e9, identity.sectors.0);
    let block = format!("{} bytes", identity.sector_size.0);
    let mut rows = vec![("Capacity", capacity), ("Block", block)];
    if let Some(rotation) = &findings.rotation {
        let (ns, uncertainty_ns) = (rotation.period_ns, rotation.uncertainty_ns);
        let (rpm, ms) = (60e9 / ns, ns / 1e6);
        let rotation = format!("{rpm:.3} rpm: {ms:.6} ms ± {uncertainty_ns:.3} ns");
        rows.push(("Rotation", rotation));
    }
    if let Some(chosen) = &findings.layout {
        let geometry = &chosen.found.geometry;
        let sectors = geometry.zones.iter().map(|zone| zone.sectors_per_track);
        let (min, max) = (sectors.clone().min(), sectors.max());
        rows.push(("Surfaces", geometry.surfaces.to_string()));
        rows.push(("Cylinders", geometry.cylinders.to_string()));
        rows.push(("Zones", geometry.zones.len().to_string()));
        let range = format!("{} to {}", min.unwrap_or(0), max.unwrap_or(0));
        rows.push(("Sectors per track", range));
        rows.push(("Layout found by", chosen.method.to_string()));
        for (method, why) in &chosen.refused {
            rows.push(("", format!("not by {method}: {why}")));
        }
    }
    listed(rows)
}

fn listed(rows: Vec<(&str, String)>) -> Html {
    let rows = rows
        .into_iter()
        .flat_map(|(name, value)| [Html::element("dt", name), Html::element("dd", value)]);
    Html::element("dl", rows.collect::<Html>())
}

/// Returns the table of zones (tables 5, 10, 15 and 20).
fn zones(findings: &Findings) -> Html {
    let Some(chosen) = &findings.layout else {
        return Html::default();
    };
    let geometry = &chosen.found.geometry;
    let rows = geometry.zones.iter().enumerate().map(|(number, zone)| {
        let last_cylinder = zone.end_cylinder.saturating_sub(1);
        let cells = [
            (number + 1).to_string(),
            format!("{} to {last_cylinder}", zone.first_cylinder),
            zone.sectors_per_track.to_string(),
            short(zone.track_skew_sectors),
            short(zone.cylinder_skew_sectors),
            zone.reserved_sectors.0.to_string(),
            zone.spares.to_string(),
            zone.slips.len().to_string(),
            zone.defects.len().to_string(),
        ];
        cells.map(Html::from).to_vec()
    });
    let headings = "Zone | Cylinders | Sectors per track | Track skew | Cylinder skew | \
                    Reserved sectors | Spares | Slips | Reallocated";
    let scheme = Key::find("geometry.sparing").and_then(|key| {
        let geometry = geometry.clone();
        let spec = Spec {
            geometry,
            ..Spec::default()
        };
        Some(key.toml(&key.get(&spec)?).trim_matches('"').to_owned())
    });
    let about = format!(
        "Skews are in sectors of the zone, spares and slips in the unit of the sparing scheme: {}.",
        scheme.unwrap_or_default()
    );
    Html::from([Html::element("p", about), table(headings, rows)])
}

fn short(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the measured and assumed values of mechanics, overheads and bus.
fn times(values: &[MeasuredValue]) -> Html {
    let is_time = |found: &&MeasuredValue| {
        let table = found.key.split('.').next();
        matches!(table, Some("mechanics" | "overheads" | "bus"))
            && found.value.is_some()
            && !matches!(found.provenance, Provenance::Unknown(_))
    };
    let rows = values.iter().filter(is_time).map(|found| {
        let (spread, samples, method) = match &found.provenance {
            Provenance::Measured {
                method,
                spread,
                samples,
            } => (spread.as_deref(), *samples, method.as_str()),
            _ => (None, None, "assumed, see below"),
        };
        let (value, spread) = (found.value.as_deref(), spread.unwrap_or_default());
        let samples = samples.map_or(String::new(), |samples| samples.to_string());
        vec![
            Html::element("code", found.key),
            as_precise(value.unwrap_or_default(), spread).into(),
            spread.into(),
            samples.into(),
            method.into(),
        ]
    });
    let rows: Vec<Vec<Html>> = rows.collect();
    if rows.is_empty() {
        Html::default()
    } else {
        table("<Key | Value | ± | Samples | <Method", rows)
    }
}

/// Rounds a value to as many decimals as its spread has, if both have the same unit.
fn as_precise(value: &str, spread: &str) -> String {
    let parts = |text| {
        let (number, unit) = str::split_once(text, ' ')?;
        Some((number.parse::<f64>().ok()?, number, unit))
    };
    match (parts(value), parts(spread)) {
        (Some((number, _, unit)), Some((_, half, of_half))) if unit == of_half => {
            let decimals = half.split_once('.');
            let decimals = decimals.map_or(0, |(_, decimals)| decimals.len());
            format!("{number:.decimals$} {unit}")
        }
        _ => value.to_owned(),
    }
}

/// Returns the facts about the buffer (tables 7, 11, 16 and 21): hypothesis, decision and evidence.
fn buffer(findings: &Findings) -> Html {
    let Some(facts) = &findings.buffer else {
        return Html::default();
    };
    let rows = facts.facts.iter().filter_map(|fact| {
        let key = Key::find(fact.key)?;
        let format = |value: &Value| key.toml(value).trim_matches('"').to_owned();
        let (found, why) = match &fact.finding {
            Finding::Found {
                value,
                agreed,
                trials,
            } => {
                let why = match trials {
                    0 => "by its size alone".to_owned(),
                    trials => format!("{agreed} of {trials} test vectors agree"),
                };
                (format(value), why)
            }
            Finding::NotDeterminable { reason, .. } => {
                ("not determined".to_owned(), reason.clone())
            }
        };
        let sentence = key.documentation.split(". ").next().unwrap_or_default();
        let question = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(vec![
            Html::element("code", fact.key),
            found.into(),
            why.into(),
            with_code(question.trim_end_matches('.')),
        ])
    });
    let about = "A test vector is a sequence of requests whose timing distinguishes between \
                 hypotheses about a drive. The hypothesis that predicts the drive's behaviour is \
                 accepted.";
    let headings = "<Fact | Decision | <Evidence | <Hypothesis";
    Html::from([Html::element("p", about), table(headings, rows)])
}

/// Converts backticks around the names of keys to code elements.
fn with_code(text: &str) -> Html {
    let parts = text.split('`').enumerate();
    let html = parts.map(|(n, part)| match n % 2 {
        0 => part.into(),
        _ => Html::element("code", part),
    });
    html.collect()
}

fn defects(findings: &Findings) -> Html {
    match findings.layout.as_ref().map(|chosen| &chosen.defects) {
        None => Html::default(),
        Some(Err(why)) => Html::element("p", format!("The defect lists could not be read: {why}.")),
        Some(Ok(defects)) => listed(vec![
            ("Primary defects", defects.primary.len().to_string()),
            ("Grown defects", defects.grown.len().to_string()),
        ]),
    }
}

fn undetermined(extracted: &ExtractionReport<'_>) -> Html {
    let values = extracted.values();
    let mut content = Vec::new();
    if let Err(why) = extracted.described {
        content.push(Html::element("p", why.clone()));
    }
    for (heading, groups) in [
        ("Not determined", unknown(values)),
        ("Assumed", assumed(values)),
    ] {
        let items = groups.into_iter().map(|(why, keys)| {
            let keys = keys
                .into_iter()
                .flat_map(|key| [Html::element("code", key), " ".into()]);
            Html::element("li", [keys.collect::<Html>(), why.into()])
        });
        let mut items: Vec<Html> = items.collect();
        if heading == "Assumed" {
            let sentences = extracted.assumed().iter();
            items.extend(sentences.map(|sentence| Html::element("li", sentence.as_str())));
        }
        if !items.is_empty() {
            content.push(Html::element("h3", heading));
            content.push(Html::element("ul", items.into_iter().collect::<Html>()));
        }
    }
    content.into_iter().collect()
}

fn costs(extracted: &ExtractionReport<'_>) -> Html {
    let rows = extracted.measurements().map(|(measurement, record)| {
        let outcome = match outcome(record) {
            (outcome, None) => outcome.to_owned(),
            (outcome, Some(why)) => format!("{outcome}: {why}"),
        };
        vec![
            measurement.name.into(),
            record.cost.commands.to_string().into(),
            format!("{:.1}", record.cost.time.as_s()).into(),
            outcome.into(),
            measurement.summary.into(),
        ]
    });
    let headings = "<Measurement | Commands | Time, s | <Outcome | <Measures";
    table(headings, rows)
}

/// The maximum distance in the chart of short seeks, in cylinders.
const MAX_SHORT: u32 = 100;
/// The number of kinds of pairs with a scatter chart.
const SCATTER_CHARTS: usize = 3;

/// Draws mean and maximum seek curves, full and short (figures 3 and 12 to 15).
pub fn seeks(findings: &Findings) -> Html {
    let lines = lines(findings);
    if lines.is_empty() {
        return Html::default();
    }
    let points = lines.iter().flat_map(|line| &line.points);
    let longest = points.map(|point| point.0).max();
    let chart = |title: &str, max: u32| {
        let series = lines.iter().map(|line| line.up_to(max)).collect();
        let axes = ["Distance, cylinders", "Seek time, ms"].map(Axis::linear);
        Figure::new(title, "", axes, series)
    };
    let about = "MTBRC times are measured with pairs of requests, the second of which just catches \
                 its sector; the maximum is the 95th percentile. SEEK times are measured with the \
                 SEEK command; the maximum is from the slowest starting point.";
    let curve = draw("seeks", &chart("Seek curve", u32::MAX), numbers(&lines));
    let mut content = vec![Html::element("p", about), curve];
    if longest > Some(MAX_SHORT) {
        let short = chart("Short seeks", MAX_SHORT);
        content.push(draw("short-seeks", &short, Html::default()));
    }
    if let Some(curves) = &findings.seek_commands {
        let processing = ms(curves.processing.value);
        let (discarded, all) = curves.discarded;
        let about = format!(
            "The {processing} ms that a SEEK takes besides the movement are subtracted. \
             {discarded} of {all} SEEKs were discarded because they were more than 10 % off the \
             median."
        );
        content.push(Html::element("p", about));
    }
    content.into_iter().collect()
}

struct Line {
    label: &'static str,
    /// Distance, time, and half the width of its interval.
    points: Vec<(u32, Span, Option<Span>)>,
    /// True for a broad line drawn behind the others, which should agree with it.
    is_reference: bool,
}

impl Line {
    fn up_to(&self, max: u32) -> Series {
        let points = self.points.iter().filter(|point| point.0 <= max);
        let points = points.map(|point| Point::new(f64::from(point.0), point.1.as_ms()));
        Series {
            label: self.label.to_owned(),
            points: points.collect(),
            is_reference: self.is_reference,
            ..Series::default()
        }
    }
}

fn lines(findings: &Findings) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |label: &'static str, points: Vec<(u32, Span, Option<Span>)>| {
        let is_reference = label.starts_with("SEEK");
        lines.push(Line {
            label,
            points,
            is_reference,
        });
    };
    let mean = |distance, mean: Estimate| (distance, mean.value, Some(mean.uncertainty));
    let means = |seeks: &Seeks| {
        let points = seeks.points.iter();
        points.map(|p| mean(p.distance, p.mean)).collect()
    };
    if let Some(seeks) = &findings.seeks {
        let maxima = seeks.points.iter().map(|p| (p.distance, p.maximum, None));
        add("reads, MTBRC: mean", means(seeks));
        add("reads, MTBRC: maximum", maxima.collect());
    }
    if let Some(WriteSeeks::Own(seeks)) = &findings.write_seeks {
        add("writes, MTBRC: mean", means(seeks));
    }
    if let Some(curves) = &findings.seek_commands {
        let points = curves.points.iter();
        let maxima = points.clone().map(|p| (p.distance, p.maximum, None));
        let means = points.map(|p| mean(p.distance, p.mean));
        add("SEEK: mean", means.collect());
        add("SEEK: maximum", maxima.collect());
    }
    lines
}

fn numbers(lines: &[Line]) -> Html {
    let points = lines.iter().flat_map(|line| &line.points);
    let distances: BTreeSet<u32> = points.map(|point| point.0).collect();
    let rows = distances.into_iter().map(|distance| {
        let cell = |line: &Line| {
            let point = line.points.iter().find(|point| point.0 == distance);
            point.map_or("\u{2013}".into(), |(_, time, half)| match half {
                Some(half) => Html::from(rounded(time.as_ms(), Some(half.as_ms()))),
                None => ms(*time).into(),
            })
        };
        let head = [Html::from(distance.to_string())];
        head.into_iter().chain(lines.iter().map(cell)).collect()
    });
    let labels = lines.iter().map(|line| line.label);
    let headings: Vec<&str> = ["Cylinders"].into_iter().chain(labels).collect();
    let summary = Html::element("summary", "Numbers, in ms");
    Html::element("details", [summary, table(&headings.join(" | "), rows)])
}

fn draw(id: &str, plotted: &Figure, caption: Html) -> Html {
    figure(id, [&plotted.svg(), &plotted.narrow_svg()], caption)
}

/// Returns the minimum times between completions (table 1), with scatter charts of some.
pub fn mtbrcs(findings: &Findings) -> Html {
    let all = &findings.mtbrcs;
    if all.is_empty() {
        return Html::default();
    }
    let rows = all.iter().map(|finding| {
        let found = &finding.mtbrc;
        let (median, half) = (found.median.value, found.median.uncertainty);
        let cells = [
            finding.name.clone(),
            rounded(median.as_ms(), Some(half.as_ms())),
            ms(found.upper),
            ms(found.host),
            ms(found.distances.0),
            found.median.samples.to_string(),
        ];
        cells.map(Html::from).to_vec()
    });
    let headings = "<X, Y | Median, ms | 95th percentile, ms | of which host, ms | Distance, ms | \
                    Pairs";
    let about = "The time between the completions of X and Y if Y just catches its first \
                 sector: the mean of three zones, and the largest of their percentiles. The \
                 distance is the time from when X's first sector passes the head until Y's does.";
    let mut content = vec![Html::element("p", about), table(headings, rows)];
    for (number, finding) in (1..).zip(all).take(SCATTER_CHARTS) {
        let id = format!("pairs-{number}");
        content.push(draw(&id, &scatter(finding), Html::default()));
    }
    content.into_iter().collect()
}

fn scatter(finding: &MtbrcFinding) -> Figure {
    let (half, max) = finding.mtbrc.distances;
    let times = finding.pairs.iter().map(|pair| pair.between.as_ms());
    let longest = times.fold(0.0, f64::max);
    let line = |label: &str, at: Span| Series {
        label: label.to_owned(),
        points: vec![Point::new(at.as_ms(), 0.0), Point::new(at.as_ms(), longest)],
        is_reference: true,
        ..Series::default()
    };
    // Gaps separate the points.
    let gap = Point::new(f64::NAN, f64::NAN);
    let dot = |pair: &Pair| [Point::new(pair.distance.as_ms(), pair.between.as_ms()), gap];
    let dots = |label: &str, caught: bool| {
        let pairs = finding.pairs.iter().filter(|pair| pair.caught == caught);
        Series {
            label: label.to_owned(),
            points: pairs.flat_map(dot).collect(),
            ..Series::default()
        }
    };
    let x = Axis::linear("Distance between the first sectors of X and Y, ms");
    let y = Axis::linear("Time between the ends of X and Y, ms");
    let series = vec![
        line("50th percentile", half),
        line("95th percentile", max),
        dots("caught", true),
        dots("missed: a revolution later", false),
    ];
    let note = "mean of three zones; each pair narrows down the threshold";
    Figure::new(&format!("Pairs of {}", finding.name), note, [x, y], series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_precise_as_their_spreads() {
        for (value, spread, shown) in [
            ("11111111.11165294 ns", "0.010 ns", "11111111.112 ns"),
            ("0.890042 ms", "0.0073 ms", "0.8900 ms"),
            ("12.6 ms", "2 ms", "13 ms"),
            ("1.00388 ms", "1 ns", "1.00388 ms"),
            ("0.03139 ms", "", "0.03139 ms"),
            ("true", "", "true"),
        ] {
            assert_eq!(as_precise(value, spread), shown);
        }
    }
}
