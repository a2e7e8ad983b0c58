//! `diskarm compare`: compares drives and policies on one workload.

use diskarm_core::sched::PolicyConfig;
use diskarm_core::text;
use diskarm_plot::rounded;
use diskarm_results::prose;
use diskarm_results::simulated::SimulationMetrics;
use diskarm_simulate::{ChoiceCounter, Run, System, combined_doubts, doubts, speedup};
use serde::Serialize;

use crate::error::Error;
use crate::output::{self, Results};
use crate::simulate::{AFTER_DRIVE, AFTER_PLOT, Queue, Settings};
use crate::simulate::{Cell, PlacedPolicy, Simulated, merge, notes, simulate};
use crate::{plot, progress};

/// Compare policies, or drives, on one workload
///
/// Every policy gets the same requests, on each drive. Prints a line for each combination, and how
/// much faster the fastest is than the first (or, if the first is the fastest, than the second
/// fastest). `diskarm policies` lists policies. If no policy ever has several requests to choose
/// from, a note says so: see --queue.
#[derive(clap::Args)]
#[command(override_usage = USAGE)]
#[command(mut_arg("drive", |arg| arg.value_name("NAME|FILE,...").help(DRIVES)))]
pub struct Args {
    /// Policies, separated by commas: 'fcfs,sptf,vscan(r=0.2)'
    #[arg(long, value_name = "POLICY,...", display_order = AFTER_DRIVE)]
    policies: String,

    /// Print comma-separated values on standard output, with a row for each drive and policy
    #[arg(long, display_order = AFTER_PLOT)]
    csv: bool,

    #[command(flatten)]
    settings: Settings,
}

const DRIVES: &str = "Drives, separated by commas: names from the catalogue, or .toml files";

const USAGE: &str = "diskarm compare [OPTIONS] --drive <NAME|FILE,...> --policies <POLICY,...>\n\
                     \x20      <--trace <FILE>...|--random|--workload <TEXT|FILE>>";

pub fn run(args: Args) -> Result<(), Error> {
    let settings = &args.settings;
    let drives = text::list(&settings.drive).into_iter().map(System::parse);
    let drives = drives.collect::<Result<Vec<_>, _>>()?;
    let mut files = settings.files(&drives);
    let policies = text::list(&args.policies).into_iter();
    let policies = policies.map(|policy| diskarm_simulate::policy("--policies", policy));
    let policies: Vec<PolicyConfig> = policies.collect::<Result<_, _>>()?;
    if settings.trace.iter().any(|file| file == "-") {
        let message = "`--trace -` cannot be compared: each policy reads the trace again, so give \
                       a file";
        return Err(Error::Failed(message.to_owned()));
    }
    let mut results = Results::default();
    let drawing = results.output_file(&mut files, "--plot", settings.plot.as_deref())?;
    let contenders = contenders(settings, drives, &policies)?;
    let run = |number: usize| contenders[number].simulate(settings);
    let outcomes = match settings.replications {
        None => progress::parallel_map(contenders.len(), run),
        // Each contender already uses all processors.
        Some(_) => (0..contenders.len()).map(run).collect(),
    };
    let outcomes: Vec<Outcome> = outcomes.into_iter().collect::<Result<_, Error>>()?;
    let first_drive = &contenders[0].drive;
    let is_multi = contenders.iter().any(|one| one.drive != *first_drive);
    let labels: Vec<String> = contenders.iter().map(|one| one.label(is_multi)).collect();
    let named = outcomes.iter().zip(&contenders).map(|(outcome, one)| {
        let policy = &one.policy;
        let name = if is_multi {
            format!("drive {}, policy {policy}", one.drive)
        } else {
            format!("policy {policy}")
        };
        (name, doubts(&outcome.simulated.runs))
    });
    output::print_warnings(&combined_doubts(&named.collect::<Vec<_>>()));
    if let Some(target) = drawing {
        let drive = (!is_multi).then_some(&*contenders[0].drive);
        target.write(&draw(drive, &labels, &outcomes))?;
    }
    let conclusion = conclusion(&labels, &outcomes);
    let rows = outcomes
        .into_iter()
        .zip(&contenders)
        .map(|(outcome, contender)| {
            Ok(ComparedRun {
                is_saturated: outcome.simulated.is_saturated(),
                choices: outcome.choices,
                metrics: outcome.simulated.metrics(contender.cell(settings)?),
            })
        });
    let rows: Vec<ComparedRun> = rows.collect::<Result<_, Error>>()?;
    if settings.json {
        return results.print_json(&rows);
    }
    let mut remarks: Vec<String> = rows[0].metrics.remarks.clone();
    if remarks.is_empty() {
        let drives = contenders
            .chunks(policies.len())
            .zip(rows.chunks(policies.len()));
        remarks.extend(drives.filter_map(|(drive, rows)| drive[0].no_choice_note(rows, is_multi)));
    }
    if args.csv {
        results.print(&csv(&rows))?;
        output::print_warnings(&remarks);
        return Ok(());
    }
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let drives: Vec<&str> = contenders.iter().map(|one| one.drive.as_str()).collect();
    let text = table(&rows, &labels, &drives) + &conclusion + &notes(&remarks);
    results.print(&text)
}

fn contenders(
    settings: &Settings,
    drives: Vec<System>,
    policies: &[PolicyConfig],
) -> Result<Vec<Contender>, Error> {
    let mut contenders = Vec::new();
    for drive in drives {
        let drive = settings.changes.apply_to_system(drive)?;
        for policy in policies {
            contenders.push(Contender {
                drive: drive.name.clone(),
                policy: policy.clone(),
                placed: PlacedPolicy::new(settings.queue, &drive, policy)?,
            });
        }
    }
    Ok(contenders)
}

/// Draws the distributions of all contenders; `drive` is the name if only one drive is compared.
fn draw(drive: Option<&str>, labels: &[String], outcomes: &[Outcome]) -> String {
    let runs = outcomes.iter().map(|outcome| &outcome.simulated.runs[..]);
    let curves = labels.iter().cloned().zip(runs.map(plot::pool));
    let title = match drive {
        Some(drive) => format!("Response times of {drive}"),
        None => "Response times".to_owned(),
    };
    let note = &outcomes[0].simulated.workload.sentence;
    plot::responses(&title, note, &curves.collect::<Vec<_>>())
}

struct Contender {
    drive: String,
    policy: PolicyConfig,
    placed: PlacedPolicy,
}

impl Contender {
    /// Returns the contender's name, with its drive if several drives are compared.
    fn label(&self, is_multi: bool) -> String {
        if is_multi {
            format!("{}, {}", self.drive, self.policy)
        } else {
            self.policy.to_string()
        }
    }

    fn cell<'a>(&'a self, settings: &'a Settings) -> Result<Cell<'a>, Error> {
        Ok(Cell {
            settings,
            name: &self.drive,
            model: &self.placed.model,
            policy: &self.policy,
            host: &self.placed.host,
            merge: merge(settings, &self.placed.model)?,
            rows: None,
            shows_progress: false,
        })
    }

    fn simulate(&self, settings: &Settings) -> Result<Outcome, Error> {
        let choices = ChoiceCounter::new(&self.placed.host);
        let simulated = simulate(Cell {
            host: &choices,
            ..self.cell(settings)?
        })?;
        let is_host = settings.queue == Queue::Host;
        let choices = is_host.then(|| choices.count());
        Ok(Outcome { simulated, choices })
    }

    /// Returns a note if no policy ever had a choice in `rows`, the results on this drive.
    fn no_choice_note(&self, rows: &[ComparedRun], is_multi: bool) -> Option<String> {
        if rows.iter().any(ComparedRun::had_choice) {
            return None;
        }
        let has_queue = rows.iter().any(|row| row.metrics.waiting_max() > 1);
        let reason = match self.placed.model.drive.spec.queue.depth {
            _ if !has_queue => "two requests never waited at the same time".to_owned(),
            1 => "it takes requests as they arrive, and orders them itself".to_owned(),
            depth => format!(
                "it takes up to {depth} commands into its own queue and orders them itself. \
                 --queue drive compares policies in that queue; --set queue.depth=1 leaves the \
                 choice to the host",
            ),
        };
        let prefix = if is_multi || has_queue {
            format!("on {}, ", self.drive)
        } else {
            String::new()
        };
        let statement = if rows.len() == 1 {
            "the policy never had more than one request to choose from, so other policies would \
             make no"
        } else {
            "no policy ever had more than one request to choose from, so they make no"
        };
        Some(format!("{prefix}{statement} difference: {reason}"))
    }
}

struct Outcome {
    simulated: Simulated,
    /// The number of choices among several requests; `None` with `--queue drive`.
    choices: Option<u64>,
}

#[derive(Serialize)]
struct ComparedRun {
    #[serde(flatten)]
    metrics: SimulationMetrics,
    choices: Option<u64>,
    is_saturated: bool,
}

impl ComparedRun {
    fn had_choice(&self) -> bool {
        match self.choices {
            Some(count) => count > 0,
            None => self.metrics.waiting_max() > 1,
        }
    }
}

/// Returns a sentence that compares the fastest contender with the first, or with the second
/// fastest if the first is the fastest. It is empty if a run is saturated or all means are equal.
fn conclusion(labels: &[String], outcomes: &[Outcome]) -> String {
    let runs: Vec<&[Run]> = outcomes.iter().map(|one| &one.simulated.runs[..]).collect();
    let mean = |number: usize| plot::pool(runs[number]).moments().mean();
    let numbers = 0..runs.len();
    let mut order: Vec<usize> = numbers.filter(|number| mean(*number).is_some()).collect();
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
    let Some(speedup) = speedup(runs[best], runs[other]) else {
        return String::new();
    };
    let (one, other) = (&labels[best], &labels[other]);
    let times = rounded(speedup.times, speedup.half_width);
    let doubt = match (speedup.half_width, speedup.is_inconclusive()) {
        (None, _) => "; this run is too short to rule out chance",
        (Some(_), true) => ": this run shows no difference",
        (Some(_), false) => "",
    };
    let sentence = format!("{one}: {times} times as fast as {other}, by mean response{doubt}");
    format!("\n{}", prose::wrapped(&sentence, 0))
}

/// Returns a line for each contender, below the inputs that all contenders share. If the numbers of
/// counted requests differ, or if requests failed, the lines include these numbers.
fn table(rows: &[ComparedRun], labels: &[&str], drives: &[&str]) -> String {
    let count = |row: &ComparedRun| row.metrics.requests;
    let is_same_count = rows.iter().all(|row| count(row) == count(&rows[0]));
    let has_failures = rows.iter().any(|row| row.metrics.failed() > 0);
    let counts = |requests: &str, failed: &str| {
        let shown = [(!is_same_count, requests), (has_failures, failed)].into_iter();
        let shown = shown.filter(|(is_shown, _)| *is_shown);
        shown.map(|(_, text)| format!("{text:>10}")).collect()
    };
    let mut drives = drives.to_vec();
    drives.dedup();
    let head = ["mean, ms", "±", "cv2", "95 %, ms", "max, ms", "req/s"].map(str::to_owned);
    let name = if drives.len() > 1 {
        "drive, policy"
    } else {
        "policy"
    };
    let head = (name.to_owned(), head, counts("requests", "failed"));
    let lines = rows.iter().zip(labels).map(|(row, &label)| {
        let mark = if row.is_saturated { " *" } else { "" };
        let failed = row.metrics.failed().to_string();
        let end: String = counts(&count(row).to_string(), &failed);
        let end = end + mark;
        (label.to_owned(), row.metrics.cells(), end)
    });
    let lines: Vec<_> = std::iter::once(head).chain(lines).collect();
    let width = |text: &String| text.chars().count();
    let widths: [usize; 6] = std::array::from_fn(|column| {
        let cells = lines.iter().map(|(_, cells, _)| width(&cells[column]));
        cells.max().unwrap_or(0) + 2
    });
    let end = lines.iter().map(|(.., end)| width(end)).max();
    let max = WIDTH - widths.iter().sum::<usize>().min(WIDTH - 20) - end.unwrap_or(0).min(20);
    let labels = lines.iter().map(|(label, ..)| width(label));
    let label = labels.filter(|&width| width <= max).max().unwrap_or(max);
    let heading = |row: &ComparedRun| row.metrics.heading(&drives.join(", "), is_same_count);
    let mut text = rows.first().map(heading).unwrap_or_default();
    for (name, cells, end) in &lines {
        // A name that is too long gets a line of its own.
        let name = if width(name) > label {
            format!("{name}\n{:label$}", "")
        } else {
            format!("{name:<label$}")
        };
        text += &name;
        for (cell, width) in cells.iter().zip(widths) {
            text += &format!("{cell:>width$}");
        }
        text += &format!("{end}\n");
    }
    if rows.iter().any(|row| row.is_saturated) {
        text += &prose::wrapped(SATURATED, 0);
    }
    text
}

/// The width of a line, unless numbers are unusually long.
const WIDTH: usize = 80;

const SATURATED: &str = "* requests arrive faster than they are served: the results grow with the \
                         length of the run";

/// Returns the results as comma-separated values, with empty cells for missing values.
fn csv(rows: &[ComparedRun]) -> String {
    let mut text = String::from(
        "drive,policy,requests,failed,response_ms_mean,response_ms_ci95,response_cv2,\
         response_ms_p95,response_ms_max,throughput_per_s,choices,is_saturated\n",
    );
    for row in rows {
        let metrics = &row.metrics;
        let names = [&metrics.drive, &metrics.policy].map(|name| quote(name));
        let counts = [metrics.requests, metrics.failed()].map(|count| count.to_string());
        let empty = |cell: String| if cell == "-" { String::new() } else { cell };
        let choices = row.choices.map(|count| count.to_string());
        let end = [choices.unwrap_or_default(), row.is_saturated.to_string()];
        let cells = names.into_iter().chain(counts);
        let cells = cells.chain(metrics.cells().map(empty)).chain(end);
        text += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    text
}

fn quote(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
