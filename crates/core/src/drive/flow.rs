//! Data of a write on their way from the bus to the media.

use super::bus::HostPath;
use crate::geometry::Physical;
use crate::mechanics::Piece;
use crate::request::Request;
use crate::units::{Instant, Lbn, SectorCount};

/// Sectors of `piece` that the media write when they pass for the first time: those of physical
/// sectors that are in the buffer by then. `come` is when all before a block are there.
#[inline]
pub(super) fn in_time(
    piece: &Piece,
    physical: Physical,
    come: impl Fn(Lbn) -> Instant,
) -> SectorCount {
    let size = physical.blocks().0;
    let is_late = |k: u64| {
        let index = SectorCount(k * size);
        come(piece.first + index + physical.blocks()) > piece.after(index)
    };
    if is_late(0) {
        return SectorCount(0);
    }
    // If the bus is faster, none is later than the first, and if it is slower, than the last, or
    // the one before if only part of the last has to come.
    let (mut taken, mut late) = (0, piece.sectors.0 / size - 1);
    if !is_late(late) {
        if size == 1 || late < 2 || !is_late(late - 1) {
            return piece.sectors;
        }
        late -= 1;
    }
    while taken + 1 < late {
        let middle = taken.midpoint(late);
        *(if is_late(middle) {
            &mut late
        } else {
            &mut taken
        }) = middle;
    }
    SectorCount(late * size)
}

/// Data of a write on their way from the bus through a segment to the media.
pub(super) struct Flow<'a> {
    pub path: &'a HostPath,
    /// Room in the segment.
    pub capacity: usize,
    /// How many sectors may be left to write when the bus comes back; `None` if it continues as soon
    /// as there is room.
    pub resume_below: Option<usize>,
    /// When the newest sector came over the bus.
    pub received: Instant,
    /// When each sector was on the media.
    pub written: Vec<Instant>,
}

impl Flow<'_> {
    /// Writes the physical sectors of `piece` whose data come in time; how many sectors, and when
    /// the data of the first one that did not were there.
    pub fn write(
        &mut self,
        piece: &Piece,
        physical: Physical,
        request: &Request,
    ) -> (SectorCount, Option<Instant>) {
        let blocks = physical.blocks();
        let mut taken = SectorCount(0);
        while taken < piece.sectors {
            let before = (self.received, self.written.len());
            let (first, done) = (piece.first + taken, piece.after(taken + blocks));
            let of_host = first.max(request.start).0..(first + blocks).min(request.end()).0;
            for _ in of_host {
                self.received = self.receive();
                self.written.push(done);
            }
            let there = self.received;
            if there > piece.after(taken) && self.written.len() > before.1 {
                self.received = before.0;
                self.written.truncate(before.1);
                return (taken, Some(there));
            }
            taken = taken + blocks;
        }
        (piece.sectors, None)
    }

    /// When the next sector is in the buffer.
    fn receive(&self) -> Instant {
        let next = self.written.len();
        let sector = self.path.write_sector;
        let full = next
            .checked_sub(self.capacity)
            .map(|freed| (freed, self.written[freed]));
        match (full, self.resume_below) {
            (Some((_, room)), None) if room > self.received => room + sector,
            (Some((freed, room)), Some(left)) if room > self.received => {
                // Until only `left` of the sectors in the buffer are still to be written.
                let low = (next - left.min(self.capacity)).clamp(freed, next - 1);
                self.written[low] + self.path.reselect[1] + sector
            }
            _ => self.received + sector,
        }
    }
}
