//! The host path: when the data of a read arrive at the host.

use crate::mechanics::Piece;
use crate::spec::Spec;
use crate::units::{Instant, Lbn, SectorCount, Span};

/// Bus rates, connections and what they cost.
#[derive(Clone, Debug)]
pub(super) struct HostPath {
    /// Time of a sector to the host.
    pub read_sector: Span,
    /// Time of a sector from the host.
    pub write_sector: Span,
    /// First and later reconnections, data preparation included.
    pub reselect: [Span; 2],
    /// After each bus acquisition, before data move.
    pub preparation: Span,
    /// A read that has begun to send keeps the bus.
    pub hold_read: bool,
    /// How long such a read pauses when the buffer has run empty.
    pub read_restart: Span,
}

/// Blocks of a read on their way: `first` to `end`, of which those before `pieces` begin are in
/// the buffer and the rest come with `pieces`.
pub(super) struct Arrivals<'a> {
    pub first: Lbn,
    pub end: Lbn,
    pub pieces: &'a [Piece],
}

impl Arrivals<'_> {
    /// When the first `sectors` of them, at least one, are in the buffer; `None` when they
    /// are there already.
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
        let reselect = |cost: Span| {
            let cost = if connected { Span::ZERO } else { cost };
            cost + o.data_preparation
        };
        let reselect = [reselect(o.first_reselect), reselect(o.other_reselect)];
        // To leave and come back for each sector at no cost is as good as to stay.
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

    /// When the host has all of `data`, the bus carrying them from `start` on; a sector moves
    /// when it is in the buffer and the one before has moved.
    ///
    /// Within a piece both the media and the bus are straight lines in time, so the bus is
    /// latest with respect to the media at the first or at the last sector of each piece.
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
            // The common case: all of it on one track.
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

    /// The same for a drive that leaves the bus when the buffer runs empty and comes back when
    /// `watermark` sectors (or all that is left) are in it again, having come back `connections`
    /// times already.
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

    /// When all of `data` is sent, sector by sector.
    fn sent(&self, data: &Arrivals<'_>, mut sending: Sending) -> Instant {
        while sending.sent < data.end - data.first {
            self.send_next(data, &mut sending);
        }
        sending.now
    }

    /// Sends the next sector.
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

/// How far the bus has come with a read.
pub(super) struct Sending {
    pub sent: SectorCount,
    pub now: Instant,
    /// It leaves when the buffer is empty and comes back when this much is there; `None`: it
    /// holds on.
    pub watermark: Option<SectorCount>,
    /// How often it has come back.
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
