//! The path between host and buffer, and the times at which data reach the host or the media.

use crate::geometry::Physical;
use crate::mechanics::Piece;
use crate::request::Request;
use crate::spec::Spec;
use crate::units::{Instant, Lbn, SectorCount, Span};

#[derive(Clone, Debug)]
pub(super) struct HostPath {
    pub read_sector: Span,
    pub write_sector: Span,
    /// Times of the first and of later reconnections, including data preparation.
    pub reselect: [Span; 2],
    /// Time from each acquisition of the bus to the start of the data transfer.
    pub preparation: Span,
    /// True if a read keeps the bus once it has started sending.
    pub hold_read: bool,
    /// Pause of a read that keeps the bus when the buffer runs empty.
    pub read_restart: Span,
}

/// The arrival of the blocks `first..end` of a read. Blocks before `pieces` are already in the
/// buffer; the rest arrive with `pieces`.
pub(super) struct Arrivals<'a> {
    pub first: Lbn,
    pub end: Lbn,
    pub pieces: &'a [Piece],
}

impl Arrivals<'_> {
    /// Returns the arrival time of the first `sectors` blocks (at least 1); `None` if buffered.
    #[inline]
    pub fn after(&self, sectors: SectorCount) -> Option<Instant> {
        let last = Lbn(self.first.0 + sectors.0 - 1);
        let behind = match self.pieces {
            [piece] => usize::from(piece.first <= last),
            pieces => pieces.partition_point(|p| p.first <= last),
        };
        let piece = &self.pieces[behind.checked_sub(1)?];
        Some(piece.after(last - piece.first + SectorCount(1)))
    }
}

impl HostPath {
    pub fn new(spec: &Spec) -> Self {
        let o = &spec.overheads;
        let connected = spec.bus.never_disconnect;
        let reselect = [o.first_reselect, o.other_reselect].map(|cost| {
            let cost = if connected { Span::ZERO } else { cost };
            cost + o.data_preparation
        });
        // Disconnecting for each sector at no cost is equivalent to staying connected.
        let free = reselect == [Span::ZERO; 2] && spec.buffer.read_watermark == 0.0;
        Self {
            read_sector: spec.bus.read_sector,
            write_sector: spec.bus.write_sector,
            reselect,
            preparation: o.data_preparation,
            hold_read: spec.bus.hold_read || connected || free,
            read_restart: spec.bus.read_restart,
        }
    }

    /// Returns the time at which the host has received all of `data` if the bus transfer starts at
    /// `start`. A sector is sent once it is in the buffer and the previous one has been sent.
    ///
    /// Both the media and the bus have constant rates within a piece, so the bus waits longest for
    /// the first or for the last sector of each piece.
    #[inline]
    pub fn delivered(&self, data: &Arrivals<'_>, start: Instant) -> Instant {
        if self.read_restart > Span::ZERO {
            return self.sent(data, Sending::from(start));
        }
        let rate = self.read_sector;
        let mut done = start + rate * (data.end - data.first).0;
        if let [piece] = data.pieces
            && piece.first == data.first
        {
            // In the common case, all data are on one track.
            let sectors = data.end - data.first;
            let tail = piece.last_to_pass(sectors);
            let behind_first = piece.after(SectorCount(1)) + rate * sectors.0;
            let behind_last = piece.after(tail) + rate * (sectors.0 - tail.0 + 1);
            return done.max(behind_first).max(behind_last);
        }
        for piece in data.pieces {
            let from = data.first.max(piece.first);
            let until = data.end.min(piece.end_lbn());
            if from >= until {
                continue;
            }
            let head = (from - piece.first) + SectorCount(1);
            let tail = piece.last_to_pass(until - piece.first).max(head);
            for sector in [head, tail] {
                let left = (data.end - piece.first).0 - sector.0 + 1;
                done = done.max(piece.after(sector) + rate * left);
            }
        }
        done
    }

    /// Like [`Self::delivered`], but for a drive that disconnects when the buffer runs empty, and
    /// reconnects when it holds `watermark` or all remaining sectors. It has already connected
    /// `connections` times.
    pub fn delivered_in_turns(
        &self,
        data: &Arrivals<'_>,
        start: Instant,
        watermark: SectorCount,
        connections: usize,
    ) -> Instant {
        let sending = Sending {
            watermark: Some(watermark),
            connections,
            ..Sending::from(start)
        };
        self.sent(data, sending)
    }

    fn sent(&self, data: &Arrivals<'_>, mut sending: Sending) -> Instant {
        while sending.sent < data.end - data.first {
            self.send_next(data, &mut sending);
        }
        sending.now
    }

    pub fn send_next(&self, data: &Arrivals<'_>, sending: &mut Sending) {
        let next = sending.sent + SectorCount(1);
        if let Some(there) = data.after(next).filter(|&there| there > sending.now) {
            sending.now = match sending.watermark {
                None => there + self.read_restart,
                Some(watermark) => {
                    let want = (sending.sent + watermark).min(data.end - data.first);
                    let back = self.reselect[sending.connections.min(1)];
                    sending.connections += 1;
                    data.after(want).map_or(there, |all| all.max(there)) + back
                }
            };
        }
        sending.now += self.read_sector;
        sending.sent = next;
    }
}

pub(super) struct Sending {
    pub sent: SectorCount,
    pub now: Instant,
    /// Number of buffered sectors at which the drive reconnects; `None` if it never disconnects.
    pub watermark: Option<SectorCount>,
    pub connections: usize,
}

impl From<Instant> for Sending {
    fn from(start: Instant) -> Self {
        Self {
            sent: SectorCount(0),
            now: start,
            watermark: None,
            connections: 0,
        }
    }
}

/// Returns the number of sectors of `piece` that arrive in the buffer in time to be written in the
/// first pass. `come` returns the time by which all blocks before its argument have arrived.
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
    // If the bus is faster than the media, the first sector is the critical one. If it is slower,
    // the last is, or the one before it if only part of the last has to arrive.
    let (mut taken, mut late) = (0, piece.sectors.0 / size - 1);
    if !is_late(late) {
        if size == 1 || late < 2 || !is_late(late - 1) {
            return piece.sectors;
        }
        late -= 1;
    }
    while taken + 1 < late {
        let middle = taken.midpoint(late);
        let end = if is_late(middle) {
            &mut late
        } else {
            &mut taken
        };
        *end = middle;
    }
    SectorCount(late * size)
}

/// The flow of a write's data from the bus through a segment to the media.
pub(super) struct Flow<'a> {
    pub path: &'a HostPath,
    pub capacity: usize,
    /// The bus reconnects at this number of unwritten sectors; `None` if any room suffices.
    pub resume_below: Option<usize>,
    /// The time at which the latest sector arrived over the bus.
    pub received: Instant,
    pub written: Vec<Instant>,
}

impl Flow<'_> {
    /// Writes the physical sectors of `piece` whose data arrive in time. Returns the number of
    /// sectors written, and the time at which the data of the first late physical sector arrived.
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

    fn receive(&self) -> Instant {
        let next = self.written.len();
        let sector = self.path.write_sector;
        let Some(freed) = next.checked_sub(self.capacity) else {
            return self.received + sector;
        };
        match (self.written[freed], self.resume_below) {
            (room, _) if room <= self.received => self.received + sector,
            (room, None) => room + sector,
            (_, Some(left)) => {
                // The bus waits until only `left` sectors in the buffer are unwritten.
                let low = (next - left.min(self.capacity)).clamp(freed, next - 1);
                self.written[low] + self.path.reselect[1] + sector
            }
        }
    }
}
