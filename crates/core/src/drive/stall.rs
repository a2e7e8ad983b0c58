//! A read larger than its segment: the media run ahead of the bus by no more than the segment.

use super::arm::Arm;
use super::bus::{Arrivals, Sending};
use super::core::Core;
use super::reading::Reading;
use crate::mechanics::Position;
use crate::request::{Op, Request};
use crate::units::{Instant, Lbn, SectorCount};

impl Core {
    /// Lets the pass wait where the segment is full: a sector that would begin before the bus
    /// has emptied a place for it is read when it comes round again. Returns when the last
    /// block has passed.
    #[cold]
    pub(super) fn stall(&mut self, request: &Request, mut sending: Sending) -> Option<Instant> {
        let physical = self.mechanism.layout.physical();
        let mut last = 0;
        let mut block = physical.first(request.start) + self.rules.segment;
        while block < request.end() {
            let data = Arrivals {
                first: request.start,
                end: request.end(),
                pieces: &self.pieces,
            };
            // The place of a physical sector is free when the last block in it is sent.
            let freed = Lbn(block.0 - self.rules.segment.0) + physical.blocks() - request.start;
            while sending.sent < freed {
                self.path.send_next(&data, &mut sending);
            }
            while self.pieces.get(last)?.end_lbn() <= block {
                last += 1;
            }
            let piece = self.pieces[last];
            // Blocks before the first piece are in the buffer already.
            if piece.first <= block && piece.after(block - piece.first) < sending.now {
                self.wait_for_room(request, (last, block), sending.now);
            }
            block = block + physical.blocks();
        }
        let piece = self.pieces.last()?;
        Some(piece.after(request.end() - piece.first))
    }

    /// Ends the piece of this number before `block` and reads on from there, not before `room`.
    fn wait_for_room(&mut self, request: &Request, (number, block): (usize, Lbn), room: Instant) {
        let Arm::Reading(reading) = self.arm else {
            return;
        };
        let piece = self.pieces[number];
        self.pieces.truncate(number);
        let read = block - piece.first;
        let mut from = if read.0 > 0 {
            let read = piece.before(read);
            self.pieces.push(read);
            read.position_after()
        } else {
            Position {
                since: piece.begin,
                ..piece.position_after()
            }
        };
        let ends = (request.end(), self.read_ahead_end(request));
        let (mut at, mut ready) = (block, room);
        let newest = loop {
            let blocks = (at, ends.1);
            let (approach, piece) = self.mechanism.next_piece(from, Op::Read, blocks, ready);
            self.pieces.push(piece);
            if piece.end_lbn() >= request.end() {
                break (piece, piece.begin - approach.wait);
            }
            (at, from, ready) = (piece.end_lbn(), piece.position_after(), Instant::START);
        };
        let scheme = (self.rules.read_ahead, self.follows_buffered_track(request));
        let reading = Reading::new(reading.segment, ends, newest, scheme);
        self.arm = Arm::Reading(reading);
    }

    /// Whether a request does not fit in a segment.
    #[inline]
    pub(super) fn outgrows(&self, sectors: SectorCount) -> bool {
        sectors > self.rules.segment
    }
}
