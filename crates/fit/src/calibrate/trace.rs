//! A measured trace, and a model that follows it row by row.

use std::sync::Arc;

use crate::validate::{Measured, Relation};
use diskarm_core::geometry::Layout;
use diskarm_core::predict::{Continuity, Observation, Predictor};
use diskarm_core::spec::Spec;
use diskarm_core::units::Lbn;

/// Rows of a measured trace.
#[derive(Clone)]
pub struct Trace {
    pub rows: Vec<Measured>,
    /// The kind of each row: its direction and the range of its seek distance.
    kinds: Vec<usize>,
    /// The relation of each row to the previous one.
    relations: Vec<Relation>,
}

/// The number of kinds of rows.
pub const KINDS: usize = 2 * 33;

/// The octave of a distance in cylinders: 0 for none, then 1 for one, 2 for two and three, ...
fn octave(distance: u32) -> usize {
    distance
        .checked_ilog2()
        .map_or(0, |octave| 1 + octave as usize)
}

/// The shortest and the longest distance of a kind of row; `None` if it has no movement.
pub fn distances(kind: usize) -> Option<(u32, u32)> {
    let octave = (kind / 2).checked_sub(1)?;
    let first = 1u32.checked_shl(octave as u32)?;
    Some((first, first.saturating_mul(2) - 1))
}

impl Trace {
    /// `rows`, on a drive whose blocks are arranged as in `layout`.
    pub fn new(rows: Vec<Measured>, layout: &Layout) -> Self {
        let mut arm = 0;
        let kinds = rows.iter().map(|row| {
            let request = &row.step.request;
            let start = layout.extent(request.start).cylinder.0;
            let distance = start.abs_diff(arm);
            arm = layout.extent(Lbn(request.end().0 - 1)).cylinder.0;
            2 * octave(distance) + usize::from(!request.op.is_read())
        });
        let kinds = kinds.collect();
        let relations = Relation::of_rows(&rows, layout).collect();
        Self {
            rows,
            kinds,
            relations,
        }
    }

    /// The kind of each row, less than [`KINDS`].
    pub fn kinds(&self) -> &[usize] {
        &self.kinds
    }

    /// The relation of each row to the previous one.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
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
        crate::validate::follow(spec, Arc::clone(layout), &self.rows, continuity, each)
    }
}
