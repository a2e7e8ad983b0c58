//! A measured trace, and a model that follows it row by row.

use std::sync::Arc;

use diskarm_core::drive::Completion;
use diskarm_core::geometry::Layout;
use diskarm_core::predict::{Continuity, Observed, Predictor};
use diskarm_core::spec::Spec;
use diskarm_core::units::{Instant, Lbn, Span};
use diskarm_core::validate::Measured;

/// When the first request is issued: late enough that nothing set right by an observation falls
/// before the start of time.
pub const FIRST: Instant = Instant::from_ns(1_000_000_000);

/// Rows of a measured trace.
#[derive(Clone)]
pub struct Trace {
    /// The rows.
    pub rows: Vec<Measured>,
    /// Of each row, its direction and how far the arm goes for it: rows that are alike.
    kinds: Vec<usize>,
}

/// How many kinds of rows there are.
pub const KINDS: usize = 2 * 33;

/// What following a row gave.
#[derive(Clone, Copy, Debug)]
pub struct Followed {
    /// Whether the platter's angle was known.
    pub locked: bool,
    /// What was expected, before the row's response was seen.
    pub predicted: Completion,
    /// What its response told.
    pub observed: Observed,
    /// Measured response.
    pub response: Span,
}

impl Trace {
    /// `rows`, on a drive whose blocks lie as `layout` says.
    pub fn new(rows: Vec<Measured>, layout: &Layout) -> Self {
        let mut arm = 0;
        let kinds = rows.iter().map(|row| {
            let request = &row.step.request;
            let start = layout.extent(request.start).cylinder.0;
            let distance = start.abs_diff(arm);
            arm = layout.extent(Lbn(request.end().0 - 1)).cylinder.0;
            let octave = distance
                .checked_ilog2()
                .map_or(0, |octave| 1 + octave as usize);
            2 * octave + usize::from(!request.op.is_read())
        });
        let kinds = kinds.collect();
        Self { rows, kinds }
    }

    /// The kind of each row, less than [`KINDS`].
    pub fn kinds(&self) -> &[usize] {
        &self.kinds
    }

    /// Follows all rows with a drive of `spec` over `layout`; hands each row's outcome to `each`.
    /// Returns the period that the clock came to, in nanoseconds.
    pub fn follow(
        &self,
        spec: &Spec,
        layout: &Arc<Layout>,
        continuity: Continuity,
        mut each: impl FnMut(&Measured, &Followed),
    ) -> Predictor {
        let mut predictor = Predictor::new(spec, Arc::clone(layout), continuity);
        let mut at = FIRST;
        for row in &self.rows {
            let locked = predictor.clock().is_locked();
            let predicted = predictor.predict(at, row.step.request);
            let end = at + row.response;
            let observed = predictor.observe(end);
            let response = row.response;
            each(
                row,
                &Followed {
                    locked,
                    predicted,
                    observed,
                    response,
                },
            );
            at = end + row.step.think;
        }
        predictor
    }
}
