//! The results of the reference simulator on the random workload, from `../shared/reference`.

use std::path::Path;

use super::{REFERENCE, read};

/// One run of DiskSim 4.0.
pub struct Run {
    /// Poisson arrivals or a fixed number outstanding.
    pub load: Load,
    /// The same, as in the data.
    pub load_name: String,
    /// As in the data.
    pub policy: String,
    /// Mean response, service, seek and rotational wait.
    pub means_ms: [f64; 4],
    /// Half width of the 95 % confidence interval of the mean response, if known.
    pub ci95_ms: Option<f64>,
}

/// The load on the drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// Poisson arrivals with this mean distance in milliseconds (as text).
    Open(String),
    /// This number of requests outstanding (as text).
    Closed(String),
}

/// Columns of [`Run::means_ms`].
const MEANS: [&str; 4] = [
    "mean_response_ms",
    "mean_service_ms",
    "mean_seek_ms",
    "mean_rotational_wait_ms",
];

/// Runs of `policies`, in the order of the data: those without an estimate of positioning times and
/// those with the corrected estimate.
pub fn runs(root: &Path, policies: &[&str]) -> Result<Vec<Run>, String> {
    let file = "disksim-random-hp-c2247.csv";
    let ci_file = "disksim-random-hp-c2247-ci.csv";
    let table = Table::parse(file, &read(root, REFERENCE, file)?)?;
    let widths = Table::parse(ci_file, &read(root, REFERENCE, ci_file)?)?;
    let mut runs = Vec::new();
    for row in 0..table.rows.len() {
        let policy = table.cell(row, "policy")?;
        if !policies.contains(&policy) || table.cell(row, "estimate")? == "as shipped" {
            continue;
        }
        let load_name = table.cell(row, "load")?;
        let mut means_ms = [0.0; 4];
        for (mean, column) in means_ms.iter_mut().zip(MEANS) {
            *mean = table.number(row, column)?;
        }
        runs.push(Run {
            load: load(table.cell(row, "workload")?, load_name)?,
            load_name: load_name.to_owned(),
            policy: policy.to_owned(),
            means_ms,
            ci95_ms: half_width(&widths, load_name, policy)?,
        });
    }
    Ok(runs)
}

fn load(workload: &str, load: &str) -> Result<Load, String> {
    let open = load
        .strip_prefix("exponential, mean ")
        .and_then(|rest| rest.strip_suffix(" ms"));
    match (workload, open, load.strip_suffix(" outstanding")) {
        ("open", Some(ms), _) => Ok(Load::Open(ms.to_owned())),
        ("closed", _, Some(count)) => Ok(Load::Closed(count.to_owned())),
        _ => Err(format!(
            "reference data: unknown load {workload:?}, {load:?}"
        )),
    }
}

/// The demerit on the second half of a measured drive's trace; `None` if it could not be run.
pub fn second_half_ms(root: &Path, drive: &str) -> Result<Option<f64>, String> {
    let file = "disksim-demerit.csv";
    let table = Table::parse(file, &read(root, REFERENCE, file)?)?;
    for row in 0..table.rows.len() {
        if table.cell(row, "drive")? == drive && table.cell(row, "rows")? == "second half" {
            return table.number(row, "demerit_ms").map(Some);
        }
    }
    Ok(None)
}

fn half_width(widths: &Table, load: &str, policy: &str) -> Result<Option<f64>, String> {
    for row in 0..widths.rows.len() {
        if widths.cell(row, "load")? == load && widths.cell(row, "policy")? == policy {
            return widths.number(row, "ci95_half_width_ms").map(Some);
        }
    }
    Ok(None)
}

/// Comma-separated values with quotes.
struct Table {
    file: &'static str,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn parse(file: &'static str, text: &str) -> Result<Self, String> {
        let mut rows = text.lines().map(fields);
        let columns = rows.next().ok_or(format!("{file}: no header"))?;
        let rows: Vec<Vec<String>> = rows.collect();
        if let Some(row) = rows.iter().position(|row| row.len() != columns.len()) {
            return Err(format!("{file}:{}: not {} fields", row + 2, columns.len()));
        }
        Ok(Self {
            file,
            columns,
            rows,
        })
    }

    fn cell(&self, row: usize, column: &str) -> Result<&str, String> {
        let index = self.columns.iter().position(|name| name == column);
        let index = index.ok_or(format!("{}: no column {column}", self.file))?;
        Ok(&self.rows[row][index])
    }

    fn number(&self, row: usize, column: &str) -> Result<f64, String> {
        let cell = self.cell(row, column)?;
        let line = row + 2;
        cell.parse()
            .map_err(|_| format!("{}:{line}: {column}: {cell:?} is not a number", self.file))
    }
}

fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => fields
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|field| field.push(c)),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_quotes_do_not_separate() {
        assert_eq!(fields("a,\"b, c\",,d"), ["a", "b, c", "", "d"]);
    }

    #[test]
    fn unknown_loads_are_refused() {
        let open = load("open", "exponential, mean 31.2 ms");
        assert_eq!(open, Ok(Load::Open("31.2".to_owned())));
        let closed = load("closed", "64 outstanding");
        assert_eq!(closed, Ok(Load::Closed("64".to_owned())));
        assert!(load("closed", "exponential, mean 31.2 ms").is_err());
    }

    #[test]
    fn errors_in_tables_name_the_line() {
        let short = Table::parse("x.csv", "a,b\n1,2\n3\n").map(|_| ());
        assert_eq!(short, Err("x.csv:3: not 2 fields".to_owned()));
        let table = Table::parse("x.csv", "a,b\n1,x\n").unwrap();
        assert_eq!(table.number(0, "a"), Ok(1.0));
        assert_eq!(
            table.number(0, "b"),
            Err("x.csv:2: b: \"x\" is not a number".to_owned())
        );
        assert_eq!(table.cell(0, "c"), Err("x.csv: no column c".to_owned()));
    }
}
