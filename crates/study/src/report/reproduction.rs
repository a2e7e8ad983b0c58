//! Instructions to reproduce a study: its command, version, inputs and file.

use std::collections::{BTreeMap, BTreeSet};

use diskarm_results::html::Html;

use crate::cell::{Cell, CellInput};
use crate::error::StudyError;
use crate::file::Study;
use crate::job::{Job, Shared, cell_error};
use crate::results::Results;
use crate::studies;

/// The inputs of a study that are not in its file, by name.
#[derive(Debug, Default)]
pub struct Inputs {
    /// The digest of each drive's specification, by the drive and the values that the study sets.
    drives: BTreeMap<String, String>,
    traces: BTreeMap<String, String>,
    /// The seeds of all replications, in their order.
    seeds: Vec<u64>,
    runs: usize,
}

impl Inputs {
    /// # Errors
    /// If a drive or a trace can no longer be read.
    pub fn of(study: &Study, results: &Results<'_>) -> Result<Self, StudyError> {
        let (mut inputs, mut shared) = (Self::default(), Shared::default());
        let mut seen = BTreeSet::new();
        for (cell, outcome) in study.cells.iter().zip(&results.outcomes) {
            let own = &cell.inputs;
            let job = Job::new(own, &mut shared).map_err(cell_error(study.name.clone()))?;
            let set = own
                .spec
                .iter()
                .map(|(key, value)| format!(", {key} = {value}"));
            let drive = format!("{}{}", own.drive, set.collect::<String>());
            let digest = || job.specification_digest();
            inputs.drives.entry(drive).or_insert_with(digest);
            if let (CellInput::Traced { trace, .. }, Some(digest)) =
                (&own.source, job.trace_digest())
            {
                inputs.traces.insert(trace.clone(), digest.to_owned());
            }
            inputs.runs += outcome.seeds.len();
            let new = outcome.seeds.iter().filter(|seed| seen.insert(**seed));
            inputs.seeds.extend(new);
        }
        Ok(inputs)
    }

    /// The number of runs in the results.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// All inputs, and the study's file.
    pub fn html(&self, study: &Study) -> Html {
        let row = |name: &str, inside: Html| {
            Html::from([Html::element("dt", name), Html::element("dd", inside)])
        };
        let code = |words: &str| Html::element("code", words);
        let digests = |digests: &BTreeMap<String, String>| {
            let each = digests.iter().map(|(name, digest)| {
                let digest = Html::with("code", &[("class", "digest")], digest.as_str());
                Html::element("li", [code(name), Html::text(" SHA-256 "), digest])
            });
            Html::element("ul", each.collect::<Html>())
        };
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        let mut rows = vec![
            row("Command", code(&command(study))),
            row(
                "Version",
                code(&format!("diskarm {}", crate::error::VERSION_AND_BUILD)),
            ),
            row("Drives' specifications", digests(&self.drives)),
        ];
        if !self.traces.is_empty() {
            rows.push(row("Traces", digests(&self.traces)));
        }
        if study.cells.iter().any(Cell::is_random) {
            rows.push(row("Seeds of the replications", code(&seeds.join(" "))));
        }
        Html::from([
            Html::element("dl", rows.into_iter().collect::<Html>()),
            Html::element("h3", format!("{}.toml", study.name)),
            Html::with(
                "pre",
                &[("class", "file")],
                Html::element("code", study.text.as_str()),
            ),
        ])
    }
}

/// The command line, without `--output` and `--jobs`.
fn command(study: &Study) -> String {
    let is_shipped = studies::find(&study.name).is_some_and(|entry| entry.text == study.text);
    let name = match is_shipped {
        true => study.name.clone(),
        false => format!("{}.toml", study.name),
    };
    let mut command = format!("diskarm study run {}", quoted(&name));
    if study.options.quick {
        command += " --quick";
    }
    for trace in &study.options.traces {
        command += &format!(" --trace {}", quoted(trace));
    }
    command
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./+:@%,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("a/b-1.csv.gz"), "a/b-1.csv.gz");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
