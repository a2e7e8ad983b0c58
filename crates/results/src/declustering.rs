//! The comparison of layouts with two copies as a table, within 80 columns.

use diskarm_queueing::declustering::comparison::{
    Comparison, FailureCount, LayoutResult, Parameters,
};

use crate::prose;

/// The widths of the labels above the table, and of the labels and numbers in the table.
const PARAMETER_LABEL: usize = 11;
const LABEL: usize = 28;
const CELL: usize = 13;

/// The hours in a year of 365.25 days.
const YEAR_H: f64 = 8_766.0;

/// Returns the numbers of the failed disks, and the share of reads in percent, as text.
pub fn failed_and_reads(parameters: &Parameters) -> [String; 2] {
    let failed = parameters.failed.iter().map(|disk| disk.to_string());
    let reads = (1_000.0 * parameters.read_share).round() / 10.0;
    [failed.collect::<Vec<_>>().join(", "), reads.to_string()]
}

pub fn table(compared: &Comparison) -> String {
    let parameters = &compared.parameters;
    let [failed, reads] = failed_and_reads(parameters);
    let disks = format!(
        "{}, numbered from 0; clusters of {}; failed: {failed}",
        parameters.disks, parameters.cluster
    );
    let life = format!(
        "fails after {} h and is repaired in {} h, on average",
        parameters.mttf_h, parameters.mttr_h
    );
    let mut text = prose::labelled("disks", &disks, PARAMETER_LABEL)
        + &prose::labelled("requests", &format!("{reads} % reads"), PARAMETER_LABEL)
        + &prose::labelled("each disk", &life, PARAMETER_LABEL)
        + "\n";
    text += &row(compared, "", |layout| layout.layout.to_owned());
    text += "Load relative to the load without failures\n";
    text += &loads(compared);
    text += "\nSets of failed disks that lose no data, and their share\n";
    text += &failures(compared, |count| match count {
        Some(count) => format!("{}  {:.3}", count.survived_sets, count.survival),
        None => "0  0.000".to_owned(),
    });
    text += "\nGreatest load of any disk in any of these sets\n";
    text += &failures(compared, |count| {
        count.map_or("-".to_owned(), |count| {
            format!("{:.3}", count.greatest_over_normal)
        })
    });
    text += "\nMean time to data loss, years\n";
    let years = |hours: f64| years(hours / YEAR_H);
    text += &row(compared, "Markov chain", |layout| years(layout.mttdl_h));
    text += &row(compared, "MTTF^2 / N (G - 1) MTTR", |layout| {
        years(layout.mttdl_approximate_h)
    });
    text += &row(compared, "G - 1", |layout| layout.sharing_disks.to_string());
    text + "\n" + &prose::wrapped(&notes(compared), 0)
}

fn row(compared: &Comparison, label: &str, cell: impl Fn(&LayoutResult) -> String) -> String {
    let mut line = format!("{:<LABEL$}", format!("  {label}"));
    for layout in &compared.layouts {
        line += &format!("{:>CELL$}", cell(layout));
    }
    line.trim_end().to_owned() + "\n"
}

fn loads(compared: &Comparison) -> String {
    let of_disk = |disk: usize| {
        row(compared, &format!("disk {disk}"), |layout| {
            match layout.loads[disk].degraded_over_normal {
                _ if compared.parameters.failed.contains(disk) => "failed".to_owned(),
                Some(ratio) => format!("{ratio:.3}"),
                None => "-".to_owned(),
            }
        })
    };
    let text: String = (0..compared.parameters.disks).map(of_disk).collect();
    text + &row(compared, "equal on remaining disks", |layout| {
        match (layout.is_lost, layout.is_balanced) {
            (true, _) => "data lost",
            (_, true) => "yes",
            _ => "no",
        }
        .to_owned()
    })
}

/// Formats a line for each number of failures, with a cell for each layout.
fn failures(compared: &Comparison, cell: impl Fn(Option<&FailureCount>) -> String) -> String {
    let layouts = || compared.layouts.iter();
    let max = layouts().map(|layout| layout.failures.len()).max();
    let line = |at: usize| {
        let found = layouts().find_map(|layout| layout.failures.get(at));
        let label = found.map(|count| format!("{} failed: {} sets", count.failures, count.sets));
        row(compared, &label.unwrap_or_default(), |layout| {
            cell(layout.failures.get(at))
        })
    };
    (0..max.unwrap_or(0)).map(line).collect()
}

fn years(years: f64) -> String {
    match years {
        1e9.. => format!("{years:.2e}"),
        100.0.. => format!("{years:.0}"),
        1.0.. => format!("{years:.1}"),
        _ => format!("{years:.2e}"),
    }
}

fn notes(compared: &Comparison) -> String {
    let misprinted = |layout: &LayoutResult| -> Option<String> {
        let wrong = layout.failures.iter().filter(|count| count.is_misprinted());
        let wrong: Vec<&FailureCount> = wrong.collect();
        let printed = |count: &&FailureCount| {
            let printed = count.equation_survival.unwrap_or_default();
            format!("{printed:.3} for {} failures", count.failures)
        };
        let printed: Vec<String> = wrong.iter().map(printed).collect();
        Some(format!(
            "For {}, equation {} of liu05 gives different shares: {}.",
            layout.layout,
            wrong.first()?.equation.unwrap_or_default(),
            printed.join(", ")
        ))
    };
    let wrong: Vec<String> = compared.layouts.iter().filter_map(misprinted).collect();
    let verdict = if wrong.is_empty() {
        "Equations 9.11 to 9.17 of liu05 give the same shares.".to_owned()
    } else {
        wrong.join(" ") + " The counts are exact."
    };
    NOTES.to_owned() + &verdict
}

const NOTES: &str = "\
Reads are divided so that the greatest load is as small as possible. Without failures, all disks \
of all layouts have the same load. \"-\": data are lost.

The chain assumes that times to failure and repair are exponential and independent, and that each \
failed disk is repaired separately. The formula is its limit for short repairs; G - 1 disks \
have the other copies of a disk's data.

";
