//! `diskarm compare`: drives and policies on one workload.

mod table;

use diskarm_core::sched::PolicyConfig;
use diskarm_core::text;
use diskarm_results::simulated::{Figures, faster};
use diskarm_simulate::{ChoiceCounter, Run, System, combined_doubts, doubts};
use serde::Serialize;

use super::args::{BEHIND_DRIVE, BESIDE_JSON, Queue, Setting};
use super::{Cell, Placed, Simulated, merge, simulate};
use crate::error::Error;
use crate::output::{self, Results};
use crate::parallel;
use crate::plot;

/// Compare policies, or drives, on one workload
///
/// Every policy gets the same requests, on each drive. Prints a line for each, and by how much the
/// fastest is faster than the first, or than the next fastest if it is the first; `diskarm
/// policies` lists policies. A policy that never has several requests to choose from makes no
/// difference, which a note says: see --queue.
#[derive(clap::Args)]
#[command(override_usage = USAGE)]
#[command(mut_arg("drive", |arg| arg.value_name("NAME|FILE,...").help(DRIVES)))]
pub struct Args {
    /// Policies, separated by commas: 'fcfs,sptf,vscan(r=0.2)'
    #[arg(long, value_name = "POLICY,...", display_order = BEHIND_DRIVE)]
    policies: String,

    /// Print comma-separated values on standard output, a row for each drive and policy
    #[arg(long, conflicts_with = "json", display_order = BESIDE_JSON)]
    csv: bool,

    #[command(flatten)]
    setting: Setting,
}

const DRIVES: &str = "Drives, separated by commas: names from the catalogue, or .toml files";

const USAGE: &str = "diskarm compare [OPTIONS] --drive <NAME|FILE,...> --policies <POLICY,...>\n\
                     \x20      <--trace <FILE>...|--random|--workload <TEXT|FILE>>";

/// Runs the workload on each drive under each policy, and prints their figures side by side.
pub fn run(args: Args) -> Result<(), Error> {
    let setting = &args.setting;
    let drives = text::list(&setting.drive).into_iter().map(System::parse);
    let drives = drives.collect::<Result<Vec<_>, _>>()?;
    let mut files = setting.files(&drives);
    let policies = text::list(&args.policies).into_iter();
    let policies = policies.map(|policy| diskarm_simulate::policy("--policies", policy));
    let policies: Vec<PolicyConfig> = policies.collect::<Result<_, _>>()?;
    if setting.trace.iter().any(|file| file == "-") {
        let expected = "a file, as every policy reads it anew";
        return Err(Error::flag("--trace", "-", expected));
    }
    let mut results = Results::default();
    let drawing = results.beside(&mut files, "--plot", setting.plot.as_deref())?;
    let contenders = contenders(setting, drives, &policies)?;
    let compared = |number: usize| contenders[number].simulate(setting);
    let outcomes = match setting.replications {
        None => parallel::map(contenders.len(), compared),
        // Each contender uses all processors itself.
        Some(_) => (0..contenders.len()).map(compared).collect(),
    };
    let outcomes: Vec<Outcome> = outcomes.into_iter().collect::<Result<_, Error>>()?;
    let several = contenders
        .iter()
        .any(|one| one.drive != contenders[0].drive);
    let labels = contenders.iter().map(|one| one.label(several));
    let labels: Vec<String> = labels.collect();
    let named = outcomes.iter().zip(&contenders).map(|(outcome, one)| {
        let of_drive = if several {
            format!("drive {}, ", one.drive)
        } else {
            String::new()
        };
        let name = format!("{of_drive}policy {}", one.policy);
        (name, doubts(&outcome.simulated.runs))
    });
    output::doubt(&combined_doubts(&named.collect::<Vec<_>>()));
    if let Some(target) = drawing {
        let drive = (!several).then_some(&*contenders[0].drive);
        target.write(&drawn(drive, &labels, &outcomes))?;
    }
    let conclusion = conclusion(&labels, &outcomes);
    let mut rows = Vec::new();
    for (outcome, contender) in outcomes.into_iter().zip(&contenders) {
        rows.push(Row {
            is_saturated: outcome.simulated.is_saturated(),
            choices: outcome.choices,
            figures: outcome.simulated.figures(contender.cell(setting)?),
        });
    }
    if setting.json {
        return results.print_json(&rows);
    }
    let mut notes: Vec<String> = rows[0].figures.remarks().to_vec();
    if notes.is_empty() {
        let drives = contenders
            .chunks(policies.len())
            .zip(rows.chunks(policies.len()));
        notes.extend(drives.filter_map(|(of_drive, rows)| of_drive[0].no_choice(rows, several)));
    }
    if args.csv {
        results.print(&table::csv(&rows))?;
        output::doubt(&notes);
        return Ok(());
    }
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let drives: Vec<&str> = contenders.iter().map(|one| one.drive.as_str()).collect();
    let text = table::table(&rows, &labels, &drives) + &conclusion + &super::notes(&notes);
    results.print(&text)
}

/// Each of these drives, as `setting` changes it, with each policy.
fn contenders(
    setting: &Setting,
    drives: Vec<System>,
    policies: &[PolicyConfig],
) -> Result<Vec<Contender>, Error> {
    let mut contenders = Vec::new();
    for drive in drives {
        let drive = setting.changes.of_system(drive)?;
        for policy in policies {
            contenders.push(Contender {
                drive: drive.name.clone(),
                policy: policy.clone(),
                placed: Placed::new(setting.queue, &drive, policy)?,
            });
        }
    }
    Ok(contenders)
}

/// The distributions of all contenders, which are policies of one drive or of several.
fn drawn(drive: Option<&str>, labels: &[String], outcomes: &[Outcome]) -> String {
    let runs = outcomes.iter().map(|outcome| &outcome.simulated.runs[..]);
    let curves = labels.iter().cloned().zip(runs.map(plot::together));
    let title = match drive {
        Some(drive) => format!("Response times of {drive}"),
        None => "Response times".to_owned(),
    };
    let note = outcomes[0].simulated.workload.sentence();
    plot::responses(&title, &note, &curves.collect::<Vec<_>>())
}

/// A drive with a policy.
struct Contender {
    /// The drive's name in results.
    drive: String,
    policy: PolicyConfig,
    placed: Placed,
}

impl Contender {
    /// Its name beside others, which may have other drives.
    fn label(&self, several: bool) -> String {
        match several {
            true => format!("{}, {}", self.drive, self.policy),
            false => self.policy.to_string(),
        }
    }

    fn cell<'a>(&'a self, setting: &'a Setting) -> Result<Cell<'a>, Error> {
        Ok(Cell {
            setting,
            name: &self.drive,
            system: &self.placed.system,
            policy: &self.policy,
            host: &self.placed.host,
            merge: merge(setting, &self.placed.system)?,
            rows: None,
            shows_progress: false,
        })
    }

    fn simulate(&self, setting: &Setting) -> Result<Outcome, Error> {
        let choices = ChoiceCounter::new(&self.placed.host);
        let cell = Cell {
            host: &choices,
            ..self.cell(setting)?
        };
        let simulated = simulate(cell)?;
        let is_host = setting.queue == Queue::Host;
        Ok(Outcome {
            simulated,
            choices: is_host.then(|| choices.count()),
        })
    }

    /// The note that no policy ever had a choice, if none had in `rows`, those of this drive, which
    /// may be one of several.
    fn no_choice(&self, rows: &[Row], several: bool) -> Option<String> {
        if rows.iter().any(Row::had_choice) {
            return None;
        }
        let waited = rows.iter().any(|row| row.figures.waiting_max() > 1);
        let why = match self.placed.system.drive.spec.queue.depth {
            _ if !waited => "two requests never waited at the same time".to_owned(),
            1 => "it takes requests as they arrive, and orders them itself".to_owned(),
            depth => format!(
                "it takes up to {depth} commands into its own queue and orders them itself. \
                 --queue drive compares policies in that queue; --set queue.depth=1 leaves all to \
                 the host's",
            ),
        };
        let on = match several || waited {
            true => format!("on {}, ", self.drive),
            false => String::new(),
        };
        let none = match rows {
            [_] => {
                "the policy never had more than one request to choose from, so that others would \
                 make no"
            }
            _ => "no policy ever had more than one request to choose from, so they make no",
        };
        Some(format!("{on}{none} difference: {why}"))
    }
}

/// What a contender did.
struct Outcome {
    simulated: Simulated,
    /// How often its policy chose among several requests, if that is in the host's queue.
    choices: Option<u64>,
}

/// The results of one contender.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    figures: Figures,
    /// How often the policy chose among several requests, in all runs; `null` with `--queue drive`.
    choices: Option<u64>,
    /// Requests arrived faster than they were served.
    is_saturated: bool,
}

impl Row {
    /// Whether the policy ever had several requests to choose from.
    fn had_choice(&self) -> bool {
        match self.choices {
            Some(count) => count > 0,
            None => self.figures.waiting_max() > 1,
        }
    }
}

/// A sentence about the fastest contender and the first; if that is the fastest, the next fastest.
/// Nothing if a mean says how long the run was, or if all are alike.
fn conclusion(labels: &[String], outcomes: &[Outcome]) -> String {
    let runs: Vec<&[Run]> = outcomes.iter().map(|one| &one.simulated.runs[..]).collect();
    let mean = |number: usize| plot::together(runs[number]).moments().mean();
    let mut order: Vec<usize> = (0..runs.len())
        .filter(|number| mean(*number).is_some())
        .collect();
    order.sort_by_key(|number| mean(*number));
    let Some(&best) = order.first() else {
        return String::new();
    };
    let mut others = order.into_iter().filter(|other| mean(*other) != mean(best));
    let Some(next) = others.next() else {
        return String::new();
    };
    let other = if best == 0 { next } else { 0 };
    let is_saturated = |number: usize| outcomes[number].simulated.is_saturated();
    if mean(best) == mean(other) || is_saturated(best) || is_saturated(other) {
        return String::new();
    }
    let Some(faster) = faster(runs[best], runs[other]) else {
        return String::new();
    };
    let (one, other, times) = (&labels[best], &labels[other], faster.digits());
    let open = match (faster.half_width, faster.is_open()) {
        (None, _) => "; this run is too short to tell whether that is chance",
        (Some(_), true) => ": no difference that this run shows",
        (Some(_), false) => "",
    };
    let sentence = format!("{one}: {times} times as fast as {other}, by mean response{open}");
    format!("\n{}", diskarm_results::prose::wrapped(&sentence, 0))
}
