//! Drawings and numbers for notebooks.

use diskarm_plot::{Figure, Point, Series};
use pyo3::prelude::*;

/// Formats a number with its confidence interval, to the digits that the interval leaves certain;
/// without an interval, to four digits.
#[pyfunction]
#[pyo3(signature = (mean, half_width=None))]
pub fn rounded(mean: f64, half_width: Option<f64>) -> String {
    diskarm_plot::rounded(mean, half_width)
}

/// Draws cumulative distributions of response times as SVG. Each curve has a label and the
/// quantiles 0, 0.001 and so on in milliseconds.
#[pyfunction]
pub fn distributions(title: &str, note: &str, curves: Vec<(String, Vec<f64>)>) -> String {
    let series = curves.into_iter().map(|(label, quantiles_ms)| {
        let fractions = (0..).map(|k| f64::from(k) / 1e3);
        let points = quantiles_ms.into_iter().zip(fractions);
        Series {
            label,
            points: points
                .map(|(ms, fraction)| Point::new(ms, fraction))
                .collect(),
            ..Series::default()
        }
    });
    Figure::of_responses(title, note, series.collect()).still_svg()
}
