//! Where the second member holds what the first holds in order.

use crate::request::Request;
use crate::units::{Lbn, SectorCount};

/// Where a block is on each member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// The units of the second member, if their order is reversed there.
    transposed: Option<Units>,
}

#[derive(Clone, Copy, Debug)]
struct Units {
    size: u64,
    /// How many whole ones there are.
    count: u64,
}

impl Layout {
    /// Of members of `sectors` blocks; with `unit`, the second holds units of `unit` blocks in the
    /// opposite order.
    pub fn new(unit: Option<SectorCount>, sectors: SectorCount) -> Self {
        let transposed = unit.map(|SectorCount(size)| Units {
            size,
            count: sectors.0 / size,
        });
        Self { transposed }
    }

    /// The command number `index` that `request` makes at `member`, with the number of the
    /// request's blocks before it; `None` if there are fewer.
    pub fn piece(
        &self,
        request: &Request,
        member: usize,
        index: u32,
    ) -> Option<(SectorCount, Request)> {
        let Some(Units { size, count }) = self.transposed.filter(|_| member == 1) else {
            return (index == 0).then_some((SectorCount(0), *request));
        };
        if request.sectors.0 == 0 {
            return (index == 0).then_some((SectorCount(0), *request));
        }
        let unit = request.start.0 / size + u64::from(index);
        let start = request.start.0.max(unit * size);
        // What is behind the last whole unit is in its place.
        let end = match unit < count {
            true => request.end().0.min((unit + 1) * size),
            false => request.end().0,
        };
        if start >= end || unit > count {
            return None;
        }
        let shift = if unit < count { count - 1 - unit } else { unit };
        let piece = Request {
            start: Lbn(shift * size + start % size),
            sectors: SectorCount(end - start),
            ..*request
        };
        Some((SectorCount(start - request.start.0), piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Op;

    fn pieces(start: u64, sectors: u64) -> Vec<(u64, u64, u64)> {
        let layout = Layout::new(Some(SectorCount(10)), SectorCount(34));
        let request = Request::new(7, Op::Read, Lbn(start), SectorCount(sectors));
        let piece = |index| {
            let (before, piece) = layout.piece(&request, 1, index)?;
            Some((before.0, piece.start.0, piece.sectors.0))
        };
        (0..).map_while(piece).collect()
    }

    #[test]
    fn units_are_in_the_opposite_order_and_the_rest_stays() {
        assert_eq!(pieces(0, 10), [(0, 20, 10)]);
        assert_eq!(pieces(3, 2), [(0, 23, 2)]);
        assert_eq!(pieces(8, 14), [(0, 28, 2), (2, 10, 10), (12, 0, 2)]);
        assert_eq!(pieces(29, 3), [(0, 9, 1), (1, 30, 2)]);
        assert_eq!(pieces(30, 4), [(0, 30, 4)]);
        let flush = Request::flush(1);
        let layout = Layout::new(Some(SectorCount(10)), SectorCount(34));
        assert_eq!(layout.piece(&flush, 1, 0), Some((SectorCount(0), flush)));
        assert_eq!(layout.piece(&flush, 1, 1), None);
    }

    #[test]
    fn every_block_has_one_place() {
        for unit in 1..40 {
            let layout = Layout::new(Some(SectorCount(unit)), SectorCount(34));
            let place = |block| {
                let request = Request::new(0, Op::Read, Lbn(block), SectorCount(1));
                let piece = layout.piece(&request, 1, 0).expect("a place");
                piece.1.start.0
            };
            let mut places: Vec<u64> = (0..34).map(place).collect();
            places.sort_unstable();
            assert_eq!(places, (0..34).collect::<Vec<u64>>(), "units of {unit}");
        }
    }
}
