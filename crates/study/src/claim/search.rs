//! A search for a load along an axis, on one side or on two.

use diskarm_core::text::InputError;

use super::Found;
use super::bounds::Bounds;
use super::keys::Keys;
use super::line::{Line, lines};
use super::load::Load;
use super::tally::Tally;
use crate::results::Results;
use crate::select::Selection;

#[derive(Debug)]
pub(super) struct Search {
    along: usize,
    of: Selection,
    /// If present, the ratio of the two loads is checked, otherwise the load itself.
    to: Option<Selection>,
    cells: Selection,
    bounds: Bounds,
}

impl Search {
    pub(super) fn read(keys: &mut Keys<'_>) -> Result<Self, InputError> {
        Ok(Self {
            along: keys.along("along")?,
            of: keys.side("of")?,
            to: keys.side_if_any("to")?,
            cells: keys.selection("where")?,
            bounds: keys.bounds()?,
        })
    }

    /// Whether the load itself is checked, not a ratio of two.
    pub(super) fn is_alone(&self) -> bool {
        self.to.is_none()
    }

    /// Checks what `find` finds along each line against the bounds.
    pub(super) fn judge(
        &self,
        results: &Results<'_>,
        find: impl Fn(&Line) -> Option<Load>,
    ) -> Found {
        let axes = results.axes;
        let mut tally = Tally::new(&self.bounds);
        for line in lines(axes, self.along, &[&self.of, &self.cells]) {
            let load = find(&line);
            let found = match &self.to {
                None => load,
                Some(to) => {
                    let base = line.moved(to).and_then(|line| find(&line));
                    load.zip(base).map(|(top, base)| top.over(&base))
                }
            };
            tally.hold_load(found, line.place(axes, self.along));
        }
        tally.judged()
    }
}
