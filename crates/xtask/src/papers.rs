//! `cargo xtask papers`: every claim of the papers' studies with its verdict, on `docs/papers.md`.
//!
//! Runs all studies in full with the built command line. The runs are stored in `results/` below
//! the target folder, so that only what changed is simulated again.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use serde::Deserialize;

use crate::binary;

/// From the root of the workspace.
const PAGE: &str = "docs/papers.md";

/// The traces for studies that need one, from the root of the workspace.
const TRACES: [&str; 2] = [
    "../shared/traces/hplajw-1992-05-30-week.srt",
    "../shared/traces/websearch-60s.mqsim",
];

/// The used part of `diskarm study list --json`.
#[derive(Deserialize)]
struct Listed {
    name: String,
    title: String,
    source: String,
    cells: usize,
    takes_traces: bool,
}

impl Listed {
    /// Whether it is the study called `name`, and repeats a paper: the source of a study of our own
    /// is a page of the documentation.
    fn is_of_paper(&self, name: &str) -> bool {
        self.name == name && !self.source.starts_with("docs/")
    }
}

/// A study in `diskarm study check --json`.
#[derive(Deserialize)]
struct Checked {
    study: String,
    claims: Vec<Claim>,
}

#[derive(Deserialize)]
struct Claim {
    says: String,
    source: String,
    theirs: String,
    ours: String,
    known: Option<Known>,
    verdict: String,
    explained: bool,
}

/// Why a claim fails, as its study has it.
#[derive(Deserialize)]
struct Known {
    why: String,
    cause: String,
    evidence: String,
    command: Option<String>,
}

impl Known {
    /// The cause, its evidence and the reason.
    fn note(&self) -> String {
        let Self {
            cause,
            evidence,
            why,
            ..
        } = self;
        let command = self.command.as_ref();
        let shown = command.map_or_else(String::new, |command| format!(" by `{command}`"));
        format!("({cause}; {evidence}{shown}) {why}")
    }
}

/// Writes the page, unless the traces are absent. Fails if a claim that does not hold has no
/// reason.
pub fn run(arguments: &[String]) -> ExitCode {
    if !arguments.is_empty() {
        eprintln!("usage: cargo xtask papers");
        return ExitCode::from(crate::USAGE);
    }
    let root = crate::root();
    if TRACES.iter().any(|trace| !root.join(trace).is_file()) {
        println!("papers: the traces of ../shared are absent: {PAGE} stays as it is");
        return ExitCode::SUCCESS;
    }
    match write(&root) {
        Ok(unexplained) if unexplained.is_empty() => {
            println!("papers: wrote {PAGE}");
            ExitCode::SUCCESS
        }
        Ok(unexplained) => {
            eprintln!("papers: wrote {PAGE}; these give no reason (`known`):");
            unexplained.iter().for_each(|claim| eprintln!("  {claim}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("papers: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the page; returns what [`unexplained`] finds.
fn write(root: &Path) -> Result<Vec<String>, String> {
    let binary = binary::build()?;
    let studies: Vec<Listed> = output_of(root, &binary, &["study", "list", "--json"])?;
    let results = binary.with_file_name("results");
    let results = results.to_string_lossy();
    let arguments = ["study", "check", "--all", "--json", "--output", &results];
    let mut checked: Vec<Checked> = output_of(root, &binary, &arguments)?;
    let mut arguments = vec!["study", "check", "--json", "--output", &results];
    for trace in TRACES {
        arguments.extend(["--trace", trace]);
    }
    let with_traces = studies.iter().filter(|study| study.takes_traces);
    arguments.extend(with_traces.map(|study| study.name.as_str()));
    checked.extend(output_of::<Vec<Checked>>(root, &binary, &arguments)?);
    checked.sort_by(|a, b| a.study.cmp(&b.study));
    let unexplained = unexplained(&checked);
    checked.retain(|study| {
        studies
            .iter()
            .any(|listed| listed.is_of_paper(&study.study))
    });
    let page = page(&studies, &checked);
    fs::write(root.join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))?;
    Ok(unexplained)
}

/// The claims of all studies that fail or are not measured without a given reason.
fn unexplained(checked: &[Checked]) -> Vec<String> {
    let claims = checked
        .iter()
        .flat_map(|study| study.claims.iter().map(|claim| (&study.study, claim)));
    let left = claims.filter(|(_, claim)| {
        !claim.explained && ["fails", "not_measured"].contains(&claim.verdict.as_str())
    });
    left.map(|(study, claim)| format!("{study}: {}: {}", claim.verdict, claim.says))
        .collect()
}

/// The JSON that the command line prints. Failing claims are not an error here: the page shows
/// them.
fn output_of<T: serde::de::DeserializeOwned>(
    root: &Path,
    binary: &Path,
    arguments: &[&str],
) -> Result<T, String> {
    let output = Command::new(binary)
        .args(arguments)
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("{}: {error}", binary.display()))?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(format!(
            "diskarm {}: {}",
            arguments.join(" "),
            output.status
        ));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

/// Verdicts in the order of the page, with their descriptions.
const VERDICTS: [(&str, &str); 4] = [
    ("holds", "hold"),
    ("unsure", "unsure: a 95 % interval contains a bound"),
    ("fails", "fail"),
    ("not_measured", "not measured"),
];

fn page(studies: &[Listed], checked: &[Checked]) -> String {
    let claims = || checked.iter().flat_map(|study| &study.claims);
    let mut page = format!(
        "# What the papers claim\n\nGenerated by `cargo xtask papers`; the studies are in \
         `crates/study/studies`, and\n`diskarm study run NAME` runs one. {} claims:\n\n",
        claims().count()
    );
    for (verdict, description) in VERDICTS {
        let count = claims().filter(|claim| claim.verdict == verdict).count();
        let known = claims().filter(|claim| claim.verdict == verdict && claim.explained);
        let _ = match (count, known.count()) {
            (0, _) => Ok(()),
            (count, known) if verdict == "fails" => {
                writeln!(
                    page,
                    "- {count} {description}, {known} of them for a reason that is given"
                )
            }
            (count, _) => writeln!(page, "- {count} {description}"),
        };
    }
    for study in checked {
        let Some(listed) = studies.iter().find(|listed| listed.name == study.study) else {
            continue;
        };
        page += &section(listed, study);
    }
    page
}

fn section(listed: &Listed, study: &Checked) -> String {
    let mut text = format!("\n## {}: {}\n\n", listed.name, listed.title);
    let traces = match listed.takes_traces {
        true => " a trace, on hplajw and websearch",
        false => "",
    };
    let (source, cells) = (&listed.source, listed.cells);
    let place = filled(&format!("{source}; {cells} cells{traces}."));
    let _ = writeln!(text, "{place}\n");
    text += "| claim | where | theirs | ours | verdict |\n|---|---|---|---|---|\n";
    let mut notes = Vec::new();
    for claim in &study.claims {
        let verdict = match (&claim.known, claim.verdict.as_str()) {
            (Some(known), "fails" | "unsure" | "not_measured") => {
                let note = known.note();
                let place = notes.iter().position(|other| *other == note);
                let place = place.unwrap_or_else(|| {
                    notes.push(note);
                    notes.len() - 1
                });
                format!("**{}** [{}]", claim.verdict.replace('_', " "), place + 1)
            }
            (_, "holds") => "holds".to_owned(),
            (_, other) => format!("**{}**", other.replace('_', " ")),
        };
        let cells = [
            &claim.says,
            &claim.source,
            &claim.theirs,
            &claim.ours,
            &verdict,
        ];
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    for (number, note) in notes.iter().enumerate() {
        let _ = write!(text, "\n{}\n", filled(&format!("[{}] {note}", number + 1)));
    }
    text
}

/// The longest line of prose.
const MAX_COLUMNS: usize = 100;

/// Wraps `text`.
fn filled(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= MAX_COLUMNS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped() {
        let ab = ["ab"; 33].join(" ");
        assert_eq!(filled(&format!("{ab}\nc d")), format!("{ab} c\nd"));
        assert_eq!(filled("a\n b"), "a b");
    }

    #[test]
    fn the_page_counts_verdicts_and_lists_reasons() {
        let claim = |verdict: &str, known: Option<&str>| Claim {
            says: "a | b".to_owned(),
            source: "s".to_owned(),
            theirs: "1".to_owned(),
            ours: "2".to_owned(),
            known: known.map(|why| Known {
                why: why.to_owned(),
                cause: "our reading".to_owned(),
                evidence: "tested".to_owned(),
                command: Some("diskarm".to_owned()),
            }),
            verdict: verdict.to_owned(),
            explained: known.is_some(),
        };
        let claims = vec![
            claim("holds", None),
            claim("fails", None),
            claim("fails", Some("for\na reason")),
            claim("unsure", Some("for\na reason")),
            claim("not_measured", None),
        ];
        let checked = [Checked {
            study: "one".to_owned(),
            claims,
        }];
        let listed = [Listed {
            name: "one".to_owned(),
            title: "One".to_owned(),
            source: "Paper".to_owned(),
            cells: 3,
            takes_traces: false,
        }];
        let page = page(&listed, &checked);
        for expected in [
            "5 claims:",
            "- 1 hold\n",
            "- 2 fail, 1 of them for a reason",
            "- 1 not measured",
            "## one: One",
            "| a \\| b | s | 1 | 2 | holds |",
            "**fails** [1]",
            "**unsure** [1]",
            "\n[1] (our reading; tested by `diskarm`) for a reason\n",
            "**not measured**",
        ] {
            assert!(page.contains(expected), "{expected}\n{page}");
        }
        let left = ["one: fails: a | b", "one: not_measured: a | b"];
        assert_eq!(unexplained(&checked), left);
    }
}
