//! The report of a study: one page that opens anywhere, and its figures as files.

mod charts;
mod claims;
mod reproduction;
mod tables;

use std::fs;

pub use charts::Drawing;

use crate::axis::{Point, describe};
use crate::error::StudyError;
use crate::file::Study;
use crate::output::{FIGURES, Folder};
use crate::results::Results;
use crate::verdicts::counted;
use charts::Names;
use claims::Claims;
use diskarm_results::html::{self, Html, Section, page};
use reproduction::Inputs;

/// A report: an HTML page that needs no other file and no network, and the drawings in it. The same
/// results give the same bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The page, which is well-formed XML too.
    pub html: String,
    /// The figures and maps, in the order of the page.
    pub drawings: Vec<Drawing>,
}

impl Report {
    /// The report of a study and its results.
    ///
    /// # Errors
    /// If a drive's specification or a trace, whose digests it shows, can no longer be read.
    pub fn of(study: &Study, results: &Results<'_>) -> Result<Self, StudyError> {
        let inputs = Inputs::of(study, results)?;
        let claims = Claims::of(study, results);
        let mut names = Names::default();
        let mut drawings = charts::figures(study, results, &mut names);
        drawings.extend(charts::densities(study, results, &mut names));
        drawings.extend(charts::maps(study, results, &mut names));
        let mut sections: Vec<Section> = Vec::new();
        if !drawings.is_empty() {
            let figures = drawings.iter().map(figure).collect();
            sections.push(("figures", "Figures", figures));
        }
        if !claims.is_empty() {
            sections.push(("claims", "Claims", claims.list()));
        }
        if !study.tables.is_empty() {
            sections.push(("tables", "Tables", tables::all(study, results)));
        }
        let saturated = saturated(results);
        if !saturated.is_empty() {
            sections.push(("saturated", "Saturated cells", listed(&saturated)));
        }
        sections.push(("again", "To run it again", inputs.html(study)));
        let head = head(study, results, &claims, inputs.runs());
        Ok(Self {
            html: page(&study.title, head, sections),
            drawings,
        })
    }

    /// Writes `report.html`, and `figures/*.svg` and `*.png`, into `folder`, each completely or
    /// not at all.
    ///
    /// # Errors
    /// If one cannot be written, or is an input of the study.
    pub fn write(&self, folder: &Folder) -> Result<(), StudyError> {
        if !self.drawings.is_empty() {
            let figures = folder.path().join(FIGURES);
            fs::create_dir_all(&figures).map_err(|e| StudyError::cannot_write(&figures, e))?;
            for drawing in &self.drawings {
                let name = |ending: &str| format!("{FIGURES}/{}.{ending}", drawing.name);
                folder.write(name("svg"), drawing.svg.as_bytes())?;
                let image = diskarm_plot::png(&drawing.svg).expect("a drawing of our own");
                folder.write(name("png"), &image)?;
            }
        }
        folder.write("report.html", self.html.as_bytes())
    }
}

/// The title, the source and a summary.
fn head(study: &Study, results: &Results<'_>, claims: &Claims<'_>, runs: usize) -> Html {
    let paragraph = |class: &str, words: String| Html::with("p", &[("class", class)], words);
    let outcomes = results.outcomes.iter();
    let saturated = outcomes.filter(|outcome| outcome.is_saturated).count();
    let (count, runs) = (counted(study.cells.len(), "cell"), counted(runs, "run"));
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
    let mut summary = vec![paragraph("count", claims.count())];
    let to_look_at = claims.to_look_at();
    summary.extend(to_look_at.map(|links| Html::with("p", &[("class", "links")], links)));
    summary.push(paragraph("cells", cells));
    let mut class = "summary";
    if study.options.quick {
        class = "summary warning";
        let differs = match &study.differs[..] {
            [] => "no different from the full study".to_owned(),
            differs => format!("{}; claims may come out otherwise", differs.join(", ")),
        };
        summary.push(paragraph(
            "short",
            format!("The short form of the study: {differs}."),
        ));
    }
    Html::element(
        "header",
        [
            Html::element("h1", study.title.as_str()),
            paragraph("source", study.source.clone()),
            paragraph("about", reflowed(&study.about)),
            Html::with(
                "div",
                &[("class", class)],
                summary.into_iter().collect::<Html>(),
            ),
        ],
    )
}

/// Text without the line ends within its paragraphs.
fn reflowed(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let lines: Vec<&str> = paragraph.lines().map(str::trim).collect();
        lines.join(" ")
    });
    paragraphs.collect::<Vec<String>>().join("\n\n")
}

fn figure(drawing: &Drawing) -> Html {
    let summary = format!("Numbers of figure {}", drawing.name);
    let numbers = Html::element(
        "details",
        [Html::element("summary", summary), drawing.numbers.clone()],
    );
    let id = format!("figure-{}", drawing.name);
    html::figure(&id, [&drawing.svg, &drawing.narrow_svg], numbers)
}

/// The saturated cells. Neighbours along the last axis share a line:
/// `policy = SSTF, rate = 80, 90, 100`.
fn saturated(results: &Results<'_>) -> Vec<String> {
    let cells = results.cells.iter().zip(&results.outcomes);
    let saturated = cells.filter(|(_, outcome)| outcome.is_saturated);
    let points: Vec<&Point> = saturated.map(|(cell, _)| &cell.point).collect();
    let shared = |point: &Point| point[..point.len().saturating_sub(1)].to_vec();
    let lines = points.chunk_by(|one, next| shared(one) == shared(next));
    let labels = lines.map(|line| {
        let others = line[1..].iter().filter_map(|point| {
            let (axis, place) = results.axes.iter().zip(point.iter()).next_back()?;
            Some(format!(", {}", axis.values[*place].label))
        });
        describe(results.axes, line[0]) + &others.collect::<String>()
    });
    labels.collect()
}

fn listed(cells: &[String]) -> Html {
    let items = cells.iter().map(|cell| Html::element("li", cell.as_str()));
    Html::from([
        Html::element(
            "p",
            "Requests arrived faster than they were served: these cells have no metrics.",
        ),
        Html::element("ul", items.collect::<Html>()),
    ])
}
