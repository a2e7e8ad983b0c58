//! `cargo xtask docs papers`: writes a page for each paper, with every claim of its studies and the
//! verdict on it, and the index `docs/papers.md`.
//!
//! Runs all studies in full with the built `diskarm`. The runs are stored in `results/` below the
//! target folder, so that only what changed is simulated again.

mod figure;
mod page;
mod study;

use std::fs;
use std::path::Path;

use crate::{file_error, program};
use figure::Comparison;
use page::{Section, StudyFigure};
use study::{PAPERS, Paper, Study, StudyEntry};

/// The index, relative to the root of the workspace.
const PAGE: &str = "docs/papers.md";

/// The folder of the studies' figures, relative to `docs`.
const FIGURES: &str = "figures";

/// The traces for studies that need one, relative to the root of the workspace.
const TRACES: [&str; 2] = [
    "../shared/traces/hplajw-1992-05-30-week.srt",
    "../shared/traces/websearch-60s.mqsim",
];

/// Writes the pages, unless the traces are absent.
///
/// # Errors
/// If no reason is given for a claim that does not hold. The pages are written nevertheless.
pub fn write(root: &Path) -> Result<(), String> {
    if TRACES.iter().any(|trace| !root.join(trace).is_file()) {
        println!("docs: the traces of ../shared are absent: {PAGE} is unchanged");
        return Ok(());
    }
    let unexplained = write_pages(root)?;
    println!("docs: wrote {PAGE}");
    if unexplained.is_empty() {
        return Ok(());
    }
    let claims = unexplained.join("\n  ");
    Err(format!(
        "give a reason (`known`) for these claims, which do not hold:\n  {claims}"
    ))
}

/// Writes the pages; returns what [`unexplained_claims`] finds.
fn write_pages(root: &Path) -> Result<Vec<String>, String> {
    let studies: Vec<StudyEntry> = program::json(root, &["study", "list"])?;
    let results = program::build()?.with_file_name("results");
    let results = results.to_string_lossy();
    let arguments = ["study", "check", "--all", "--output", &results];
    let mut checked: Vec<Study> = program::json(root, &arguments)?;
    let mut arguments = vec!["study", "check", "--output", &results];
    for trace in TRACES {
        arguments.extend(["--trace", trace]);
    }
    let with_traces = studies.iter().filter(|study| study.takes_traces);
    arguments.extend(with_traces.map(|study| study.name.as_str()));
    checked.extend(program::json::<Vec<Study>>(root, &arguments)?);
    checked.sort_by(|a, b| a.study.cmp(&b.study));
    let unexplained = unexplained_claims(&checked);
    let papers: Vec<(&Paper, Vec<Section<'_>>)> = PAPERS
        .iter()
        .map(|paper| (paper, sections(&paper.name, &studies, &checked)))
        .collect();
    write_file(root, PAGE, &page::index(&papers))?;
    for (paper, sections) in &papers {
        let claims = sections.iter().flat_map(|(_, study)| &study.claims);
        let compared = Comparison::all(claims);
        let figures = match &paper.illustrated {
            Some(_) => copy_figures(root, &results, sections)?,
            None => Vec::new(),
        };
        let file = format!("docs/{}", paper.page());
        let page = page::page(paper, sections, &compared, &figures);
        write_file(root, &format!("{file}.md"), &page)?;
        if !compared.is_empty() {
            let figure = figure::draw(&paper.name, &compared);
            write_file(root, &format!("{file}.svg"), &figure)?;
        }
    }
    Ok(unexplained)
}

/// Copies the figures of the studies that were run to `docs`.
fn copy_figures(
    root: &Path,
    results: &str,
    sections: &[Section<'_>],
) -> Result<Vec<StudyFigure>, String> {
    let mut figures = Vec::new();
    for (listed, _) in sections {
        let study = &listed.name;
        program::output(root, &["study", "report", "--output", results, study])?;
        let folder = Path::new(results).join(study).join("figures");
        // The folder is absent if the study draws nothing.
        if !folder.is_dir() {
            continue;
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).map_err(|error| file_error(&folder, error))? {
            let entry = entry.map_err(|error| file_error(&folder, error))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.retain(|name| name.ends_with(".svg"));
        names.sort();
        for name in names {
            let text = fs::read_to_string(folder.join(&name))
                .map_err(|error| file_error(&folder, error))?;
            let path = format!("{FIGURES}/{study}-{name}");
            write_file(root, &format!("docs/{path}"), &text)?;
            let study = study.clone();
            figures.push(StudyFigure { study, path });
        }
    }
    Ok(figures)
}

fn sections<'a>(name: &str, studies: &'a [StudyEntry], checked: &'a [Study]) -> Vec<Section<'a>> {
    let sections = checked.iter().filter_map(|study| {
        let listed = studies.iter().find(|listed| listed.name == study.study)?;
        listed.is_of(name).then_some((listed, study))
    });
    sections.collect()
}

fn write_file(root: &Path, name: &str, text: &str) -> Result<(), String> {
    let path = root.join(name);
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder
        .and_then(|()| fs::write(&path, text))
        .map_err(|error| file_error(name, error))
}

/// Returns the claims that fail or are not measured, and for which no reason is given.
fn unexplained_claims(checked: &[Study]) -> Vec<String> {
    let claims = checked
        .iter()
        .flat_map(|study| study.claims.iter().map(|claim| (&study.study, claim)));
    let failing = claims.filter(|(_, claim)| {
        !claim.explained && ["fails", "not_measured"].contains(&claim.verdict.as_str())
    });
    failing
        .map(|(study, claim)| format!("{study}: {}: {}", claim.verdict, claim.says))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;
    use page::of_conclusion;
    use study::{Claim, Number};

    fn parse<T: DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    fn claim(verdict: &str, known: Option<&str>) -> Claim {
        let known = known.map(|why| {
            json!({
                "why": why, "cause": "our reading", "evidence": "tested", "command": "diskarm",
            })
        });
        parse(json!({
            "says": "a | b", "source": "s", "theirs": "1", "ours": "2", "verdict": verdict,
            "explained": known.is_some(), "known": known, "bounds": "source",
            "model_check": false, "numbers": [],
        }))
    }

    fn study_entry() -> StudyEntry {
        let source = "paper, section 1";
        parse(json!({
            "name": "one", "title": "One", "source": source, "cells": 3, "takes_traces": false,
        }))
    }

    fn paper() -> Paper {
        let claims = [["one", "b"]];
        let conclusion = json!({ "says": "So it is.", "place": "abstract", "claims": claims });
        parse(json!({ "name": "paper", "title": "A Paper", "conclusions": [conclusion] }))
    }

    #[test]
    fn the_page_counts_verdicts_and_lists_reasons() {
        let claims = vec![
            claim("holds", None),
            Claim {
                bounds: "ours".to_owned(),
                ..claim("fails", None)
            },
            claim("fails", Some("for\na reason")),
            claim("unsure", Some("for\na reason")),
            claim("not_measured", None),
            Claim {
                model_check: true,
                ..claim("holds", None)
            },
            Claim {
                source: "beyond paper".to_owned(),
                says: "further".to_owned(),
                ..claim("holds", None)
            },
        ];
        let checked = [Study {
            study: "one".to_owned(),
            claims,
        }];
        let studies = [study_entry()];
        let paper = paper();
        assert!(sections("other", &studies, &checked).is_empty());
        let sections = sections("paper", &studies, &checked);
        let page = page::page(&paper, &sections, &[], &[]);
        for expected in [
            "6 claims, 5 of them with bounds that the paper gives and 1 with bounds of our own,",
            "- 1 hold\n",
            "\nThe tables have 1 more, which go beyond the paper.\n",
            "- 2 fail, 1 of them for a reason",
            "- 1 not measured, 0 of them",
            "- 1 only repeat an input of the model",
            "| So it is. | abstract | **holds in 2 of 6; unsure in 1; not measured in 1; \
             fails in 2** (our reading) | 6 |",
            "### one: One",
            "| a \\| b | s | 1 | 2 | holds |",
            "| a \\| b | s | 1 | 2 | holds, a model check |",
            "| further | beyond paper | 1 | 2 | holds |",
            "**fails** [1]",
            "**unsure** [1]",
            "\n[1] (our reading; tested by `diskarm`) for a reason\n",
            "**not measured**",
        ] {
            assert!(page.contains(expected), "{expected}\n{page}");
        }
        let expected = ["one: fails: a | b", "one: not_measured: a | b"];
        assert_eq!(unexplained_claims(&checked), expected);
        let index = page::index(&[(&paper, sections)]);
        let row = "| [paper](papers/paper.md) | 6 | 1 | 1 | 2 | 1 |";
        for expected in ["6 claims:", row, "| our reading | 1 | 0 |"] {
            assert!(index.contains(expected), "{expected}\n{index}");
        }
    }

    /// Relative to its middle, the printed range is 11/12 to 13/12, and ours is 0.5 to 1.5.
    #[test]
    fn numbers_are_relative_to_the_middle_of_the_printed_range() {
        let printed = |bounds: &str, theirs: &str, low: Option<f64>| Claim {
            at_least: Some(1.1),
            at_most: Some(1.3),
            bounds: bounds.to_owned(),
            theirs: theirs.to_owned(),
            numbers: vec![
                Number { low, high: low },
                Number {
                    low: Some(1.0),
                    high: Some(1.8),
                },
            ],
            ..claim("holds", None)
        };
        let claims = [
            printed("source", "20 %", Some(0.6)),
            printed("ours", "20 %", Some(0.6)),
            printed("source", "more", Some(0.6)),
            printed("source", "20 %", None),
        ];
        let compared = Comparison::all(claims.iter());
        let [known, saturated] = &compared[..] else {
            panic!("two claims have a printed number");
        };
        let near = |ends: [f64; 2], expected: [f64; 2]| {
            let mut pairs = ends.iter().zip(expected);
            pairs.all(|(end, expected)| (end - expected).abs() < 1e-12)
        };
        assert!(near(known.theirs, [11.0 / 12.0, 13.0 / 12.0]));
        assert!(near(known.ours.unwrap(), [0.5, 1.5]));
        assert!(saturated.ours.is_none());
        assert!(figure::draw("paper", &compared).starts_with("<svg"));
    }

    /// Every conclusion is checked by a claim of an existing study.
    #[test]
    fn every_conclusion_has_claims() {
        let folder = crate::root().join("crates/study/studies");
        let conclusions = PAPERS.iter().flat_map(|paper| &paper.conclusions);
        for (name, words) in conclusions.flat_map(|conclusion| &conclusion.claims) {
            let text = fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
            let study: toml::Table = toml::from_str(&text).unwrap();
            let claims = study["claim"].as_array().unwrap().iter();
            let claims = claims.map(|table| Claim {
                says: table["says"].as_str().unwrap().to_owned(),
                ..claim("holds", None)
            });
            let checked = Study {
                study: name.clone(),
                claims: claims.collect(),
            };
            let listed = study_entry();
            let sections = [(&listed, &checked)];
            let found = of_conclusion(&[(name.clone(), words.clone())], &sections);
            assert!(!found.is_empty(), "{name}: {words}");
        }
    }
}
