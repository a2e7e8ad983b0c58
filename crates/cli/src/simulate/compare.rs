//! `diskarm compare`: one drive and one workload under several host policies.

use diskarm_core::sched::PolicyConfig;
use diskarm_core::text;
use diskarm_results::simulated::Figures;
use diskarm_simulate::{Model, doubts, most_doubts};
use serde::Serialize;

use super::args::Setting;
use super::{Cell, Simulated, merge, simulate};
use crate::error::Error;
use crate::output;
use crate::parallel;
use diskarm_results::prose;

/// Compare host policies on one drive and one workload
///
/// Every policy gets the same requests. Prints one line per policy; `diskarm policies` lists them.
#[derive(clap::Args)]
#[command(override_usage = USAGE)]
pub struct Args {
    /// Policies, separated by commas: 'fcfs,sptf,vscan(r=0.2)'
    #[arg(long, value_name = "POLICY,...")]
    policies: String,

    #[command(flatten)]
    setting: Setting,
}

const USAGE: &str = "diskarm compare [OPTIONS] --drive <NAME|FILE> --policies <POLICY,...>\n       \
                     <--trace <FILE>...|--random|--workload <TEXT|FILE>>";

/// Runs the workload under each policy and prints their figures side by side.
pub fn run(args: Args) -> Result<(), Error> {
    let setting = &args.setting;
    let model = Model::assemble(&setting.drive)?;
    let policies = text::list(&args.policies);
    let policies = policies.into_iter();
    let policies = policies.map(|policy| diskarm_simulate::policy("--policies", policy));
    let policies: Vec<PolicyConfig> = policies.collect::<Result<_, _>>()?;
    if setting.trace.iter().any(|file| file == "-") {
        let expected = "a file, as every policy reads it anew";
        return Err(Error::flag("--trace", "-", expected));
    }
    let merge = merge(setting, &model)?;
    let cell = |policy| Cell {
        setting,
        model: &model,
        policy,
        merge,
        rows: None,
        shows_progress: false,
    };
    let compared = |number: usize| simulate(cell(&policies[number]));
    let outcomes = match setting.replications {
        None => parallel::map(policies.len(), compared),
        // Each policy uses all processors itself.
        Some(_) => (0..policies.len()).map(compared).collect(),
    };
    let simulated: Vec<Simulated> = outcomes.into_iter().collect::<Result<_, Error>>()?;
    let named = simulated.iter().zip(&policies).map(|(simulated, policy)| {
        let name = format!("policy {policy}");
        (name, doubts(&simulated.runs))
    });
    output::doubt(&most_doubts(&named.collect::<Vec<_>>()));
    let rows = simulated
        .into_iter()
        .zip(&policies)
        .map(|(simulated, policy)| Row {
            is_saturated: simulated.is_saturated(),
            figures: simulated.figures(cell(policy)),
        });
    let rows: Vec<Row> = rows.collect();
    if setting.json {
        return output::print_json(&rows);
    }
    output::print(&table(&rows))
}

/// The results of one policy.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    figures: Figures,
    /// Requests arrived faster than they were served.
    is_saturated: bool,
}

/// One line per policy, below the inputs that are the same for all. Lines include the number of
/// requests counted if it differs, and of those that failed if any did.
fn table(rows: &[Row]) -> String {
    let count = |row: &Row| row.figures.requests();
    let same_requests = rows.iter().all(|row| count(row) == count(&rows[0]));
    let some_failed = rows.iter().any(|row| row.figures.failed() > 0);
    let counts = |requests: &str, failed: &str| {
        let shown = [(!same_requests, requests), (some_failed, failed)].into_iter();
        let shown = shown.filter(|(is_shown, _)| *is_shown);
        shown.map(|(_, text)| format!("{text:>10}")).collect()
    };
    let head = ["mean, ms", "±", "cv2", "95 %, ms", "max, ms", "req/s"].map(str::to_owned);
    let head = ("policy".to_owned(), head, counts("requests", "failed"));
    let lines = rows.iter().map(|row| {
        let mark = if row.is_saturated { " *" } else { "" };
        let failed = row.figures.failed().to_string();
        let end: String = counts(&count(row).to_string(), &failed);
        let end = end + mark;
        (row.figures.policy().to_owned(), row.figures.cells(), end)
    });
    let lines: Vec<_> = std::iter::once(head).chain(lines).collect();
    let labels = lines.iter().map(|(label, ..)| label.chars().count());
    let label = labels.filter(|&wide| wide <= MAX_LABEL).max();
    let label = label.unwrap_or(MAX_LABEL);
    let widths: [usize; 6] = std::array::from_fn(|column| {
        let cells = lines
            .iter()
            .map(|(_, cells, _)| cells[column].chars().count());
        cells.max().unwrap_or(0) + 2
    });
    let heading = rows.first().map(|row| row.figures.heading(same_requests));
    let mut text = heading.unwrap_or_default();
    for (name, cells, end) in &lines {
        // A long name gets its own line.
        let name = match name.chars().count() > label {
            true => format!("{name}\n{:label$}", ""),
            false => format!("{name:<label$}"),
        };
        let cells = cells.iter().zip(widths);
        let cells: String = cells
            .map(|(cell, width)| format!("{cell:>width$}"))
            .collect();
        text += &format!("{name}{cells}{end}\n");
    }
    if rows.iter().any(|row| row.is_saturated) {
        text += &prose::wrapped(SATURATED, 0);
    }
    text
}

/// The length of the longest policy name that shares a line with its figures.
const MAX_LABEL: usize = 20;

const SATURATED: &str = "* requests arrive faster than they are served: the figures grow with the \
                         length of the run";
