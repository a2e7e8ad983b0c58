//! A measured trace, and a model that follows it row by row.

use std::sync::Arc;

use diskarm_core::geometry::Layout;
use diskarm_core::predict::{Continuity, Observation, Predictor};
use diskarm_core::spec::Spec;
use diskarm_core::units::Lbn;
use diskarm_validate::Measured;

/// Rows of a measured trace.
#[derive(Clone)]
pub struct Trace {
    /// The rows.
    pub rows: Vec<Measured>,
    /// The kind of each row: its direction and the range of its seek distance.
    kinds: Vec<usize>,
}

/// The number of kinds of rows.
pub const KINDS: usize = 2 * 33;

impl Trace {
    /// `rows`, on a drive whose blocks are arranged as in `layout`.
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

    /// Follows all rows with a drive of `spec` over `layout`; passes each observation, and whether
    /// the platter's angle was known before, to `each`.
    pub fn follow(
        &self,
        spec: &Spec,
        layout: &Arc<Layout>,
        continuity: Continuity,
        each: impl FnMut(bool, &Observation),
    ) -> Predictor {
        diskarm_validate::follow(spec, Arc::clone(layout), &self.rows, continuity, each)
    }
}
