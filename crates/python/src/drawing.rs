//! Drawings and numbers for notebooks.

use diskarm_plot::{Figure, Point, Series};
use pyo3::prelude::*;

/// A number with the digits that half the width of its interval leaves certain, and that interval;
/// without one, with four digits.
#[pyfunction]
#[pyo3(signature = (mean, half_width=None))]
pub fn rounded(mean: f64, half_width: Option<f64>) -> String {
    diskarm_plot::rounded(mean, half_width)
}

/// The cumulative distributions of response times as SVG: of each curve its label, and the
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
