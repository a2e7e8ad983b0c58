//! The table of the page.

use std::fs;
use std::path::Path;

use super::cells::Load;
use super::measure::Cell;
use super::{POLICIES, Panel, STUDIED};
use crate::docs::table;
use crate::estimate::Estimate;

/// What is generated stands between these lines.
const BEGIN: &str = "<!-- made by cargo xtask aspctf-seq -->\n";
const END: &str = "<!-- end -->\n";

/// Puts the table of all panels into the page.
pub fn renew(file: &Path, panels: &[Panel]) -> Result<(), String> {
    let at = |error| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(at)?;
    let marks = text.split_once(BEGIN);
    let parts = marks.and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    let (head, tail) = parts.ok_or_else(|| format!("{}: its marks are gone", file.display()))?;
    let own = rows(panels);
    fs::write(file, format!("{head}{BEGIN}{own}{END}{tail}")).map_err(at)
}

fn rows(panels: &[Panel]) -> String {
    let mut rows = Vec::new();
    for Panel { setting, cells } in panels {
        let shown = cells
            .iter()
            .filter(|cell| setting.shown.contains(&cell.load));
        for (place, cell) in shown.enumerate() {
            let name = match place {
                0 => format!("{}, {}", setting.title, setting.drive),
                _ => String::new(),
            };
            let load = match setting.load {
                Load::Workload(_) => format!("{}/s", cell.load),
                Load::Trace { .. } => format!("× {}", cell.load),
            };
            let mut row = vec![name, load];
            row.extend(cell.response_ms[..STUDIED].iter().map(|e| rounded(e.mean)));
            let own = cell.response_ms[STUDIED];
            row.push(format!("{} ± {}", rounded(own.mean), rounded(own.ci95)));
            let others = &cell.response_ms[STUDIED + 1..];
            row.extend(others.iter().map(|e| rounded(e.mean)));
            row.extend((0..STUDIED).map(|policy| change(cell, policy)));
            row.push(hits(cell));
            rows.push(row);
        }
    }
    let named = |policy: &str| format!("{policy}, ms");
    let against = |policy: &str| format!("to {policy}, %");
    let mut head = vec!["workload, drive".to_owned(), "load".to_owned()];
    head.extend(POLICIES.map(named));
    head.extend(POLICIES[..STUDIED].iter().map(|policy| against(policy)));
    head.push("hits, %".to_owned());
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    table(2, &head, &rows)
}

/// The studied policy's difference to another, in percent of the other; bold where it is slower,
/// in brackets where zero lies within the interval.
fn change(cell: &Cell, policy: usize) -> String {
    let Estimate { mean, ci95 } = cell.differences_ms[policy];
    let percent = 100.0 / cell.response_ms[policy].mean;
    let text = format!("{:+.1} ± {:.1}", percent * mean, percent * ci95);
    let text = text.replace("-0.0 ", "+0.0 ");
    if mean.abs() <= ci95 {
        format!("({text})")
    } else if mean > 0.0 {
        format!("**{text}**")
    } else {
        text
    }
}

/// Hit rates, in the order of the policies.
fn hits(cell: &Cell) -> String {
    let rates = cell
        .hit_rates
        .iter()
        .map(|rate| format!("{:.1}", 100.0 * rate));
    rates.collect::<Vec<_>>().join(" ")
}

/// Three digits, or all before the point.
fn rounded(ms: f64) -> String {
    let decimals = match ms {
        ms if ms >= 99.95 => 0,
        ms if ms >= 9.995 => 1,
        _ => 2,
    };
    format!("{ms:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        let all = [123.4, 12.34, 1.234, 0.0].map(rounded);
        assert_eq!(all, ["123", "12.3", "1.23", "0.00"]);
    }

    #[test]
    fn what_is_slower_is_bold_and_what_is_not_told_apart_in_brackets() {
        let of = |mean: f64| Cell {
            load: 1.0,
            response_ms: vec![
                Estimate {
                    mean: 50.0,
                    ci95: 9.0
                };
                4
            ],
            hit_rates: vec![0.5; 4],
            differences_ms: vec![Estimate { mean, ci95: 1.0 }; 4],
        };
        assert_eq!(change(&of(2.0), 0), "**+4.0 ± 2.0**");
        assert_eq!(change(&of(-2.0), 0), "-4.0 ± 2.0");
        assert_eq!(change(&of(0.5), 0), "(+1.0 ± 2.0)");
    }
}
