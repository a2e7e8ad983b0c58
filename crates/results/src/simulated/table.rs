//! Figures in columns.

use std::fmt::Write;

use crate::prose;

/// Width of a label in columns.
const LABEL: usize = 16;

/// A number for a cell, or a dash.
pub fn decimals(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.3}"))
}

/// A unit, and the confidence interval of the number before it.
pub fn known(unit: &str, ci95: Option<f64>) -> String {
    match ci95 {
        Some(ci95) => format!("{unit}  ± {ci95:.3} (95 % confidence)"),
        None => unit.to_owned(),
    }
}

/// Lines of a label, a number in a column, and its unit.
#[derive(Default)]
pub struct Table {
    pub lines: String,
}

impl Table {
    /// A label and the text after it. A long label takes the place of spaces before the text.
    pub fn line(&mut self, label: &str, rest: &str) {
        let spaces = rest.len() - rest.trim_start().len();
        let excess = label.chars().count().saturating_sub(LABEL);
        let rest = &rest[excess.min(spaces.saturating_sub(1))..];
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.lines,
            "{}",
            format!("{label:<LABEL$}{rest}").trim_end()
        );
    }

    pub fn gap(&mut self) {
        self.lines.push('\n');
    }

    /// Text, on as many lines as it needs.
    pub fn text(&mut self, label: &str, text: &str) {
        self.lines += &prose::labelled(label, text, LABEL);
    }

    /// Cells in columns, right-aligned.
    pub fn cells(&mut self, label: &str, cells: impl IntoIterator<Item: AsRef<str>>) {
        let cells = cells.into_iter();
        let cells: String = cells.map(|cell| format!("{:>12}", cell.as_ref())).collect();
        self.line(label, &cells);
    }

    /// The same of a count of requests and numbers with three decimals.
    pub fn numbers(&mut self, label: &str, requests: u64, numbers: [Option<f64>; 4]) {
        let [a, b, c, d] = numbers.map(decimals);
        self.cells(label, [&requests.to_string(), &a, &b, &c, &d]);
    }

    pub fn count(&mut self, label: &str, count: u64, unit: &str) {
        // Aligned with the integer parts of numbers that have three decimals.
        self.line(label, &format!("{count:>12}     {unit}"));
    }

    /// A number, aligned at the decimal point; a dash if there is none.
    pub fn row(&mut self, label: &str, value: Option<f64>, decimals: usize, unit: &str) {
        let Some(value) = value else {
            return self.line(label, &format!("{:>12}", "-"));
        };
        let width = 12 + if decimals > 0 { decimals + 1 } else { 0 };
        let number = format!("{value:>width$.decimals$}");
        self.line(label, &format!("{number:<16} {unit}"));
    }
}
