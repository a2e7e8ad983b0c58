//! What most checks are about: a metric in some cells, and its bounds.

use diskarm_core::text::InputError;

use super::bounds::Bounds;
use super::keys::Keys;
use crate::axis::{Axis, Point, points};
use crate::metric::Metric;
use crate::select::Selection;

/// A key of a check, as it is written with its default, and its meaning.
pub(super) type Key = (&'static str, &'static str);

pub(super) const METRIC: Key = ("metric", "the metric to check");
pub(super) const ALONG: Key = ("along", "an axis of numbers");
pub(super) const WHERE: Key = ("where = {}", "the cells to check; all if omitted");
pub(super) const AT_LEAST: Key = ("at_least", "the lower bound; it, at_most or both");
pub(super) const AT_MOST: Key = ("at_most", "the upper bound");
pub(super) const TIE: Key = (
    "tie = \"0 %\"",
    "an interval that contains a bound holds if it reaches at most this share beyond it",
);

/// The keys [`METRIC`], [`WHERE`], [`AT_MIN`] and [`AT_MAX`].
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) metric: Metric,
    pub(super) cells: Selection,
    pub(super) bounds: Bounds,
}

impl Subject {
    pub(super) fn read(keys: &mut Keys<'_>) -> Result<Self, InputError> {
        Ok(Self {
            metric: keys.metric()?,
            cells: keys.selection("where")?,
            bounds: keys.bounds()?,
        })
    }

    /// The points of its cells.
    pub(super) fn points(&self, axes: &[Axis]) -> Vec<Point> {
        let mut points = points(axes);
        points.retain(|point| self.cells.has(point));
        points
    }
}
