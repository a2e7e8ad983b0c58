//! The metrics of the parts of devices: one list for JSON, for the tables that people read, and for
//! the columns of studies.

use diskarm_core::device::{BufferWork, Work};

/// A kind of part, with its metrics.
#[derive(Debug)]
pub struct PartKind {
    /// Its name, as [`Work::kind`] returns it.
    pub name: &'static str,
    /// Its metrics, in the order of JSON.
    pub metrics: &'static [PartMetric],
}

/// A number that describes a part. In studies, and in JSON for several runs, it is a mean.
#[derive(Clone, Copy, Debug)]
pub struct PartMetric {
    /// Its key in JSON.
    pub key: &'static str,
    /// The head of its column in tables, and its format; `None` if tables lack it.
    pub cell: Option<(&'static str, CellFormat)>,
    /// The name of its column in studies, which ends in its unit, and its title in charts.
    pub column: Option<(&'static str, &'static str)>,
    /// Returns its value in the unit of its name; `None` if it does not exist.
    pub value: fn(&Work) -> Option<f64>,
}

/// The format of a number in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellFormat {
    /// A whole number.
    Count,
    /// A percentage of a share from 0 to 1.
    Percent,
    /// Three decimals.
    Decimals,
}

impl PartMetric {
    pub(crate) const fn new(key: &'static str, value: fn(&Work) -> Option<f64>) -> Self {
        let (cell, column) = (None, None);
        Self {
            key,
            cell,
            column,
            value,
        }
    }

    pub(crate) const fn cell(mut self, head: &'static str, format: CellFormat) -> Self {
        self.cell = Some((head, format));
        self
    }

    pub(crate) const fn column(mut self, name: &'static str, title: &'static str) -> Self {
        self.column = Some((name, title));
        self
    }
}

/// The buffer of a drive whose write cache chooses what it destages.
pub(crate) const BUFFER: PartKind = PartKind {
    name: "buffer",
    metrics: &[
        PartMetric::new("destaged_blocks", |w| Some(buffer(w)?.destaged.0 as f64))
            .cell("destaged", CellFormat::Count),
        PartMetric::new("destaged_in_gaps_blocks", |w| {
            Some(buffer(w)?.in_gaps.0 as f64)
        })
        .cell("in gaps", CellFormat::Count),
        PartMetric::new("writes_in_gaps", |w| Some(buffer(w)?.writes_in_gaps as f64))
            .cell("gap writes", CellFormat::Count),
    ],
};

fn buffer(work: &Work) -> Option<&BufferWork> {
    match work {
        Work::Buffer(work) => Some(work),
        _ => None,
    }
}
