//! The comparison of queueing theory and simulation as a table, within 80 columns.

use std::fmt::Write;

use diskarm_simulate::theory::{Comparison, Value};

use crate::prose;

const LABEL: usize = 12;

/// Returns the table with its notes; `size` is the size of requests as the user wrote it.
pub fn table(compared: &Comparison, size: &str) -> String {
    let drive = format!("{}, mechanism only", compared.drive);
    let reads = (1_000.0 * compared.read_share).round() / 10.0;
    let requests = format!("random addresses, {size} each, {reads} % reads");
    let simulation = format!(
        "{} runs of {} requests ({} of them warm-up) for each value; seed {}",
        compared.runs, compared.requests, compared.warmup, compared.seed
    );
    let mut text = prose::labelled("drive", &drive, LABEL)
        + &prose::labelled("requests", &requests, LABEL)
        + &prose::labelled("simulation", &simulation, LABEL)
        + "\n";
    let head = ["theory", "simulation", "± 95 %", "agree"];
    text += &line("", head.map(str::to_owned));
    for (number, group) in compared.groups.iter().enumerate() {
        let gap = if number > 0 { "\n" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{gap}{}", group.heading);
        text.extend(group.values.iter().map(cells));
    }
    text + "\n" + &footnotes(compared)
}

fn cells(value: &Value) -> String {
    let agrees = match value.is_within {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    };
    let number = |number: f64| format!("{number:.3}");
    let theory = value.theory.map_or("-".to_owned(), number);
    let [mean, ci95] =
        [value.simulated, value.ci95].map(|found| found.map_or(String::new(), number));
    let mark = if value.is_exact { "" } else { " *" };
    let label = format!("  {}{mark}", value.label);
    line(&label, [theory, mean, ci95, agrees.to_owned()])
}

fn line(label: &str, [theory, simulated, ci95, agrees]: [String; 4]) -> String {
    let line = format!("{label:<42}{theory:>9}{simulated:>12}{ci95:>9}  {agrees}");
    line.trim_end().to_owned() + "\n"
}

fn footnotes(compared: &Comparison) -> String {
    let values = compared.groups.iter().flat_map(|group| &group.values);
    let verdicts = values.filter(|value| value.is_exact);
    let verdicts: Vec<bool> = verdicts.filter_map(|value| value.is_within).collect();
    let agreeing = verdicts.iter().filter(|is_within| **is_within).count();
    let count = format!(
        "{agreeing} of the {} values with a simulation and without a star agree.",
        verdicts.len()
    );
    prose::wrapped(&(count + NOTES), 0)
}

const NOTES: &str =
    " \"Agree\" shows whether the theory is within the 95 % confidence interval of \
the simulation. One correct value in twenty is outside by chance, often several together, because \
all simulations use the same requests. \"-\": requests arrive faster than they are served.

* The theory is approximate because the drive does not meet its assumptions; `diskarm \
queueing --help` says why. Values without a simulation are from theory only.

Theory and simulation ignore overheads, bus, buffer, read-ahead and the drive's own queue; \
`diskarm simulate` includes them.";
