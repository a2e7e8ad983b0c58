//! Tracks that hold blocks.

use diskarm_core::geometry::{Extent, Layout, Pba};
use diskarm_core::units::{Cylinder, Head, Lbn, SectorCount};

/// A track that holds blocks.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    /// Its gap-free runs: first block and extent.
    pub runs: Vec<(Lbn, Extent)>,
}

impl Track {
    /// The track, if it holds blocks.
    pub fn find(layout: &Layout, cylinder: u32, head: u32) -> Option<Self> {
        let (cylinder, head) = (Cylinder(cylinder), Head(head));
        let pba = |sector| Pba {
            cylinder,
            head,
            sector,
        };
        let is_here = |extent: &Extent| extent.cylinder == cylinder && extent.head == head;
        let mut found = (0..64).find_map(|sector| layout.lbn(pba(sector)))?;
        if is_here(&layout.extent(found)) {
            found = layout.track_first(found);
        }
        Self::from(layout, found, is_here)
    }

    /// The track of which block `first` is the first.
    pub fn starting_at(layout: &Layout, first: Lbn) -> Self {
        let at = layout.extent(first);
        let is_here = |extent: &Extent| (extent.cylinder, extent.head) == (at.cylinder, at.head);
        Self::from(layout, first, is_here).expect("a block of its own")
    }

    /// The track whose blocks begin with `found`, of extents that are on it.
    fn from(layout: &Layout, mut found: Lbn, is_here: impl Fn(&Extent) -> bool) -> Option<Self> {
        let mut runs = Vec::new();
        // Reallocated blocks in between are elsewhere; few tracks have more than one.
        let mut strangers = 0;
        while found < Lbn(layout.sectors().0) && strangers < 4 {
            let extent = layout.extent(found);
            if is_here(&extent) {
                runs.push((found, extent));
            } else {
                strangers += 1;
            }
            found = found + extent.sectors;
        }
        (!runs.is_empty()).then_some(Self { runs })
    }

    /// The blocks around its end, as one run of `sectors` of which `before` are on this track and
    /// the others on the next one; `None` if they do not follow each other so.
    pub fn across_end(&self, layout: &Layout, before: u64, sectors: u64) -> Option<Self> {
        let (first, extent) = *self.runs.last()?;
        let next = first + extent.sectors;
        if extent.sectors.0 < before || next >= Lbn(layout.sectors().0) {
            return None;
        }
        let there = layout.extent(next);
        let is_other = (there.cylinder.0, there.head.0) != (self.cylinder(), self.head());
        let at = Lbn(next.0 - before);
        let sectors = SectorCount(sectors);
        let run = Extent {
            sectors,
            ..layout.extent(at)
        };
        (is_other && there.sectors.0 >= sectors.0 - before).then(|| Self {
            runs: vec![(at, run)],
        })
    }

    pub fn first(&self) -> Lbn {
        self.runs[0].0
    }

    pub fn cylinder(&self) -> u32 {
        self.runs[0].1.cylinder.0
    }

    pub fn head(&self) -> u32 {
        self.runs[0].1.head.0
    }

    /// Whether its blocks follow each other without a gap, as far as there are any.
    pub fn is_whole(&self) -> bool {
        self.runs.len() == 1
    }

    /// Sectors of a whole revolution.
    pub fn sectors(&self) -> u64 {
        (1.0 / self.runs[0].1.sector_angle.as_revolutions()).round() as u64
    }
}
