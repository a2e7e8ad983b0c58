//! The rows of a comparison, for people and for programs.

use diskarm_results::prose;

use super::Row;

/// One line per contender, below the inputs that are the same for all. Lines include the number of
/// requests counted if it differs, and of those that failed if any did.
pub fn table(rows: &[Row], labels: &[&str], drives: &[&str]) -> String {
    let count = |row: &Row| row.figures.requests();
    let same_requests = rows.iter().all(|row| count(row) == count(&rows[0]));
    let some_failed = rows.iter().any(|row| row.figures.failed() > 0);
    let counts = |requests: &str, failed: &str| {
        let shown = [(!same_requests, requests), (some_failed, failed)].into_iter();
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
        let failed = row.figures.failed().to_string();
        let end: String = counts(&count(row).to_string(), &failed);
        let end = end + mark;
        (label.to_owned(), row.figures.cells(), end)
    });
    let lines: Vec<_> = std::iter::once(head).chain(lines).collect();
    let widths: [usize; 6] = std::array::from_fn(|column| {
        let cells = lines
            .iter()
            .map(|(_, cells, _)| cells[column].chars().count());
        cells.max().unwrap_or(0) + 2
    });
    let end = lines.iter().map(|(.., end)| end.chars().count()).max();
    let max = WIDTH - widths.iter().sum::<usize>().min(WIDTH - 20) - end.unwrap_or(0).min(20);
    let labels = lines.iter().map(|(label, ..)| label.chars().count());
    let label = labels.filter(|&wide| wide <= max).max().unwrap_or(max);
    let heading = rows.first();
    let heading = heading.map(|row| row.figures.heading(&drives.join(", "), same_requests));
    let mut text = heading.unwrap_or_default();
    for (name, cells, end) in &lines {
        // A name too long for the line gets its own.
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

/// The width of a line, if numbers are of usual length.
const WIDTH: usize = 80;

const SATURATED: &str = "* requests arrive faster than they are served: the figures grow with the \
                         length of the run";

/// The same figures as comma-separated values. A cell is empty where there is no value.
pub fn csv(rows: &[Row]) -> String {
    let mut text = String::from(
        "drive,policy,requests,failed,response_ms_mean,response_ms_ci95,response_cv2,\
         response_ms_p95,response_ms_max,throughput_per_s,choices,is_saturated\n",
    );
    for row in rows {
        let figures = &row.figures;
        let names = [figures.drive(), figures.policy()].map(quoted);
        let counts = [figures.requests(), figures.failed()].map(|count| count.to_string());
        let empty = |cell: String| if cell == "-" { String::new() } else { cell };
        let choices = row.choices.map(|count| count.to_string());
        let end = [choices.unwrap_or_default(), row.is_saturated.to_string()];
        let cells = names.into_iter().chain(counts);
        let cells = cells.chain(figures.cells().map(empty)).chain(end);
        text += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    text
}

/// A text as a cell, in quotes where it needs them.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
