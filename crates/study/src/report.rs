//! The report of a study: one self-contained page, and its figures as files.

mod charts;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use diskarm_core::text::with_noun;
use diskarm_results::html::{self, Html, Section, page};

use crate::axis::{Point, describe};
use crate::cell::{Cell, CellInput};
use crate::claim::{Count, JudgedClaim, Judgement, Verdict};
use crate::error::{StudyError, VERSION_AND_BUILD};
use crate::file::Study;
use crate::job::{Job, SharedInputs, cell_error};
use crate::output::{FIGURES, Folder};
use crate::results::Results;
use crate::studies;
use charts::Drawing;

/// An HTML page that needs no other file, and its drawings. The same results give the same bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The page, which is also well-formed XML.
    pub html: String,
    /// The figures and maps, in the order of the page.
    pub drawings: Vec<Drawing>,
}

impl Report {
    /// Creates the report. Fails if a specification or trace that the study names cannot be read.
    pub fn new(study: &Study, results: &Results<'_>) -> Result<Self, StudyError> {
        let inputs = ExternalInputs::new(study, results)?;
        let claims = study.judge(results);
        let drawings = charts::all(study, results);
        let mut sections: Vec<Section> = Vec::new();
        if !drawings.is_empty() {
            let figures = drawings.iter().map(figure).collect();
            sections.push(("figures", "Figures", figures));
        }
        if !claims.is_empty() {
            let list = claims.iter().enumerate();
            let items: Html = list
                .map(|(index, claim)| claim_item(index, claim))
                .collect();
            let list = Html::with("ol", &[("class", "claims")], items);
            sections.push(("claims", "Claims", list));
        }
        if !study.tables.is_empty() {
            sections.push(("tables", "Tables", tables::all(study, results)));
        }
        if results.outcomes.iter().any(|outcome| outcome.is_saturated) {
            sections.push(("saturated", "Saturated cells", saturated(results)));
        }
        sections.push(("again", "How to run it again", inputs.html(study)));
        let head = head(study, results, &claims, inputs.runs);
        Ok(Self {
            html: page(&study.title, head, sections),
            drawings,
        })
    }

    /// Writes `report.html`, and `figures/*.svg` and `*.png`, into `folder`, each completely or not
    /// at all. Fails if one of them cannot be written or is an input of the study.
    pub fn write(&self, folder: &Folder) -> Result<(), StudyError> {
        if !self.drawings.is_empty() {
            let figures = folder.path().join(FIGURES);
            fs::create_dir_all(&figures).map_err(|e| StudyError::cannot_write(&figures, e))?;
            for drawing in &self.drawings {
                let name = |ending: &str| format!("{FIGURES}/{}.{ending}", drawing.name);
                folder.write(name("svg"), drawing.svg.as_bytes())?;
                let image = diskarm_plot::png(&drawing.svg).expect("the drawing is valid SVG");
                folder.write(name("png"), &image)?;
            }
        }
        folder.write("report.html", self.html.as_bytes())
    }
}

fn head(study: &Study, results: &Results<'_>, claims: &[JudgedClaim<'_>], runs: usize) -> Html {
    let paragraph = |class: &str, words: String| Html::with("p", &[("class", class)], words);
    let outcomes = results.outcomes.iter();
    let saturated = outcomes.filter(|outcome| outcome.is_saturated).count();
    let (count, runs) = (with_noun(study.cells.len(), "cell"), with_noun(runs, "run"));
    let mut cells = format!("{count} from {runs}");
    if saturated > 0 {
        cells += &format!("; {saturated} saturated");
    }
    if let Some(wide) = results.wide_text() {
        cells += &format!("; {wide}");
    }
    if study.has_single_runs() {
        cells += "; single runs, no interval";
    }
    let mut summary = vec![paragraph("count", Count::new(claims).text())];
    let links = links(claims);
    summary.extend(links.map(|links| Html::with("p", &[("class", "links")], links)));
    summary.push(paragraph("cells", cells));
    let mut class = "summary";
    if study.options.quick {
        class = "summary warning";
        let differences = match &study.differences[..] {
            [] => "no different from the full study".to_owned(),
            differences => format!("{}; verdicts may be different", differences.join(", ")),
        };
        let words = format!("The short form of the study: {differences}.");
        summary.push(paragraph("short", words));
    }
    let summary: Html = summary.into_iter().collect();
    Html::element(
        "header",
        [
            Html::element("h1", study.title.as_str()),
            paragraph("source", study.source.clone()),
            paragraph("about", reflow(&study.about)),
            Html::with("div", &[("class", class)], summary),
        ],
    )
}

/// Removes the line breaks within the paragraphs of `text`.
fn reflow(text: &str) -> String {
    let lines = |paragraph: &str| Vec::from_iter(paragraph.lines().map(str::trim)).join(" ");
    Vec::from_iter(text.split("\n\n").map(lines)).join("\n\n")
}

fn figure(drawing: &Drawing) -> Html {
    let summary = format!("Numbers of figure {}", drawing.name);
    let summary = Html::element("summary", summary);
    let numbers = Html::element("details", [summary, drawing.numbers.clone()]);
    let id = format!("figure-{}", drawing.name);
    html::figure(&id, [&drawing.svg, &drawing.narrow_svg], numbers)
}

/// Lists the saturated cells. Neighbours along the last axis share a line: `rate = 80, 90, 100`.
fn saturated(results: &Results<'_>) -> Html {
    let cells = results.cells.iter().zip(&results.outcomes);
    let saturated = cells.filter(|(_, outcome)| outcome.is_saturated);
    let points: Vec<&Point> = saturated.map(|(cell, _)| &cell.point).collect();
    let shared = |point: &Point| point[..point.len().saturating_sub(1)].to_vec();
    let lines = points.chunk_by(|one, next| shared(one) == shared(next));
    let items = lines.map(|line| {
        let others = line[1..].iter().filter_map(|point| {
            let (axis, index) = results.axes.iter().zip(point.iter()).next_back()?;
            Some(format!(", {}", axis.values[*index].label))
        });
        let cells = describe(results.axes, line[0]) + &others.collect::<String>();
        Html::element("li", cells)
    });
    let why = "Requests arrived faster than they were served: these cells have no metrics.";
    let items = Html::element("ul", items.collect::<Html>());
    Html::from([Html::element("p", why), items])
}

/// Returns a verdict as text, and its class in the style sheet.
fn verdict_words(judged: &Judgement) -> (&'static str, &'static str) {
    match (judged.verdict, judged.explained) {
        (Verdict::Holds, _) => ("\u{2713} holds", "holds"),
        (Verdict::Unsure, _) => ("? unsure", "unsure"),
        (Verdict::Fails, true) => ("\u{2717} fails (known)", "known"),
        (Verdict::Fails, false) => ("\u{2717} fails", "fails"),
        (Verdict::NotMeasured, true) => ("\u{2013} not measured (known)", "known"),
        (Verdict::NotMeasured, false) => ("\u{2013} not measured", "unmeasured"),
    }
}

/// Returns links to the claims that do not hold; `None` if all do.
fn links(claims: &[JudgedClaim<'_>]) -> Option<Html> {
    let others = claims.iter().enumerate();
    let others = others.filter(|(_, claim)| claim.judged.verdict != Verdict::Holds);
    let links = others.map(|(index, claim)| {
        let (word, _) = verdict_words(&claim.judged);
        let href = format!("#{}", claim_id(index));
        let link = Html::with("a", &[("href", &href)], format!("{} {word}", index + 1));
        Html::from([Html::text(" "), link])
    });
    let links: Vec<Html> = links.collect();
    let words = Html::text("Claims to look at:");
    (!links.is_empty()).then(|| [words].into_iter().chain(links).collect())
}

fn claim_id(index: usize) -> String {
    format!("claim-{}", index + 1)
}

fn claim_item(index: usize, judged_claim: &JudgedClaim<'_>) -> Html {
    let JudgedClaim { claim, judged } = judged_claim;
    let (word, class) = verdict_words(judged);
    let verdict = Html::with("span", &[("class", &format!("verdict {class}"))], word);
    let theirs = format!("{} ({}{})", claim.theirs, claim.source, claim.remarks());
    let is_ratio = judged_claim.is_of_ratios();
    let name = if is_ratio { "Ours, as a ratio" } else { "Ours" };
    let ours = row(name, judged.ours.as_str());
    let known = judged_claim.reason().map(|reason| row("Why", reason));
    let rows = [ours, row("Theirs", theirs), known.unwrap_or_default()];
    let says = [verdict, Html::text(" "), claim.says.as_str().into()];
    let item = [Html::element("p", says), Html::element("dl", rows)];
    Html::with("li", &[("id", &claim_id(index))], item)
}

fn row(name: &str, description: impl Into<Html>) -> Html {
    Html::from([Html::element("dt", name), Html::element("dd", description)])
}

/// The inputs of a study that are not in its file.
#[derive(Debug, Default)]
struct ExternalInputs {
    /// The digest of each specification, keyed by the drive and the values that the study sets.
    drives: BTreeMap<String, String>,
    traces: BTreeMap<String, String>,
    /// The seeds of all replications, in order.
    seeds: Vec<u64>,
    runs: usize,
}

impl ExternalInputs {
    fn new(study: &Study, results: &Results<'_>) -> Result<Self, StudyError> {
        let (mut inputs, mut shared) = (Self::default(), SharedInputs::default());
        let mut seen = BTreeSet::new();
        for (cell, outcome) in study.cells.iter().zip(&results.outcomes) {
            let own = &cell.inputs;
            let job = Job::new(own, &mut shared).map_err(cell_error(study.name.clone()))?;
            let set = own.spec.iter();
            let set = set.map(|(key, value)| format!(", {key} = {value}"));
            let drive = own.drive.clone() + &set.collect::<String>();
            let digest = || job.specification_digest();
            inputs.drives.entry(drive).or_insert_with(digest);
            let trace_digest = job.trace_digest().map(str::to_owned);
            if let (CellInput::Traced { trace, .. }, Some(digest)) = (&own.source, trace_digest) {
                inputs.traces.insert(trace.clone(), digest);
            }
            inputs.runs += outcome.seeds.len();
            let new = outcome.seeds.iter().filter(|seed| seen.insert(**seed));
            inputs.seeds.extend(new);
        }
        Ok(inputs)
    }

    /// Returns instructions to run the study again: its command, version, inputs and file.
    fn html(&self, study: &Study) -> Html {
        let code = |words: &str| Html::element("code", words);
        let digests = |digests: &BTreeMap<String, String>| {
            let each = digests.iter().map(|(name, digest)| {
                let digest = Html::with("code", &[("class", "digest")], digest.as_str());
                Html::element("li", [code(name), Html::text(" SHA-256 "), digest])
            });
            Html::element("ul", each.collect::<Html>())
        };
        let mut rows = vec![
            row("Command", code(&command(study))),
            row("Version", code(&format!("diskarm {VERSION_AND_BUILD}"))),
            row("Drive specifications", digests(&self.drives)),
        ];
        if !self.traces.is_empty() {
            rows.push(row("Traces", digests(&self.traces)));
        }
        if study.cells.iter().any(Cell::is_random) {
            let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
            rows.push(row("Seeds of the replications", code(&seeds.join(" "))));
        }
        Html::from([
            Html::element("dl", rows.into_iter().collect::<Html>()),
            Html::element("h3", format!("{}.toml", study.name)),
            Html::with("pre", &[("class", "file")], code(&study.text)),
        ])
    }
}

/// Returns the command line, without `--output` and `--jobs`.
fn command(study: &Study) -> String {
    let is_shipped = studies::find(&study.name).is_some_and(|entry| entry.text == study.text);
    let ending = if is_shipped { "" } else { ".toml" };
    let name = quote(&format!("{}{ending}", study.name));
    let mut command = format!("diskarm study run {name}");
    if study.options.quick {
        command += " --quick";
    }
    for trace in &study.options.traces {
        command += &format!(" --trace {}", quote(trace));
    }
    command
}

fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./+:@%,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quote("a/b-1.csv.gz"), "a/b-1.csv.gz");
        assert_eq!(quote("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quote(""), "''");
    }
}
