//! What a write cache that holds many ranges asks of the bus and the arm: it takes data, gives them
//! back, and puts them on the media.

use super::arm::Arm;
use super::core::{Command, Core, Served};
use super::overwrites::Writes;
use super::write::{Setup, Transfer};
use crate::device::{Breakdown, Outcome};
use crate::mechanics::Approach;
use crate::request::{Op, Ordering, Request, Stroke};
use crate::spec::WriteCache;
use crate::units::Instant;

impl Core {
    /// Whether a write goes to a cache that chooses when it gets to the media.
    #[inline]
    pub(super) fn defers(&self, request: &Request) -> bool {
        self.rules.write_cache == WriteCache::Deferred
            && request.op == Op::Write
            && self.absorbs(request, Instant::START)
    }

    /// Serves a write that the cache takes: the arm has nothing to do with it, and ends reading
    /// ahead, whose blocks it may make stale.
    #[cold]
    pub(super) fn absorb(&mut self, command: &Command, setup: &Setup) -> Served {
        let position = match self.arm {
            Arm::Free(position) => position,
            Arm::Reading(_) => self.call(command.begin()),
        };
        self.arm = Arm::Free(position);
        self.keep_written(&command.request);
        let received = setup.data + self.path.write_sector * command.request.sectors.0;
        let transfer = Transfer {
            approach: Approach::default(),
            end: position,
            received,
        };
        self.complete_write(command, setup, position, &transfer)
    }

    /// Serves a request whose data the cache holds: a read, or the destaging of a range on a copy
    /// on which a policy tries it.
    #[cold]
    #[inline(never)]
    pub(super) fn serve_from_cache(&mut self, command: &Command) -> Served {
        let request = &command.request;
        if request.op == Op::Write {
            let end = self.destage(request, command.begin(), &Writes::default());
            let completion = command.completed(end, Breakdown::default(), Outcome::Miss);
            return Served {
                completion,
                open: end,
            };
        }
        let times = self.hit_times(command);
        self.complete_hit(command, &times)
    }

    /// Puts a range on the media, with the arm called at `at`; when it is there. `writes` says
    /// how often its blocks were written.
    ///
    /// The data wait in the cache: neither bus nor processing take time. A range that continues the
    /// one put there before, with the head still in place, continues without another settle.
    pub(super) fn destage(&mut self, request: &Request, at: Instant, writes: &Writes) -> Instant {
        if let Ordering::Simple(stroke) = request.ordering
            && stroke != Stroke::Direct
        {
            self.go_by(stroke, at);
        }
        let mut goes_on = self.dirty.destaged == request.start;
        let from = self.call(at);
        let mut media = self.media_of(request, from);
        if !goes_on {
            let late = self.scatter(Op::Write, from, request.start);
            media.from.since = from.since.shifted(late);
        }
        let physical = self.mechanism.layout.physical();
        let period = self.mechanism.rotation.period();
        let (mut first, end) = (physical.first(media.first), physical.end(media.end));
        let mut position = media.from;
        while first < end {
            let (approach, mut piece) = self.mechanism.any_piece(
                goes_on,
                position,
                Op::Write,
                (first, end),
                Instant::START,
            );
            if media.reads(&piece) {
                piece = piece.next_time(period);
            } else if self.rules.write_on_arrival {
                piece = piece.on_arrival(approach.wait, piece.sectors, period);
            }
            if let Some(landings) = &mut self.landings {
                landings.add_all(piece, writes, period);
            }
            (first, position, goes_on) = (piece.end_lbn(), piece.position_after(), true);
        }
        self.arm = Arm::Free(position);
        self.dirty.destaged = request.end();
        position.since
    }
}

#[cfg(all(test, feature = "toml"))]
mod tests {
    use super::*;
    use crate::drive::Drive;
    use crate::sched::{Estimate, Outlook};
    use crate::spec::parse;
    use crate::units::{Angle, Lbn, SectorCount, Span};

    const TINY: &str = include_str!("../../tests/drive/tiny.toml");

    /// The drive, its arm after a range at block `at`, and when that is on the media.
    fn after(at: u64) -> (Core, Instant) {
        let text = format!(
            "{}[buffer]\ncaching = true\ndirty_max = \"9 sectors\"\n\
             write_cache = \"deferred\"\n[overheads]\nwrite_miss_after_read = \"0.4 ms\"\n\
             write_minimum_delay = \"0.9 ms\"\n[bus]\nwrite_sector = \"0.1 ms\"\n",
            TINY.replace("head_switch", "write_settle = \"0.7 ms\"\nhead_switch"),
        );
        let spec = parse(&text, "tiny.toml").expect("a sound specification");
        let mut core = Drive::new(&spec, Angle::ZERO).expect("a layout").core;
        core.from_cache = true;
        let range = Request::new(0, Op::Write, Lbn(at), SectorCount(1));
        let end = core.destage(
            &range,
            Instant::START + Span::from_ms(0.3),
            &Writes::default(),
        );
        (core, end)
    }

    #[test]
    fn a_policy_sees_the_time_that_a_range_takes() {
        for (at, start, sectors) in (0..200).flat_map(|n| [(7, n, 1), (n, 90, 12), (n, 23, 4)]) {
            let (mut core, now) = after(at);
            if at + 1 == start {
                // It continues without another settle, which policies do not know.
                continue;
            }
            let range = Request::new(1, Op::Write, Lbn(start), SectorCount(sectors));
            let place = core.locate(&range);
            let estimate = now + core.outlook(now).access(&range, &place);
            let tried = core.clone().serve_from_cache(&Command {
                request: range,
                arrived: Instant::START,
                open: now,
            });
            let end = core.destage(&range, now, &Writes::default());
            assert_eq!((estimate, tried.open), (end, end), "{at} {start}");
        }
    }

    #[test]
    fn a_range_that_continues_another_goes_on_at_once() {
        // The next sector of the track, and the first of the next track: skewed by two.
        for (at, ms) in [(23, 1.0), (29, 3.0)] {
            let (mut core, now) = after(at);
            let range = Request::new(1, Op::Write, Lbn(at + 1), SectorCount(1));
            let taken = core.destage(&range, now, &Writes::default()) - now;
            assert!(
                (taken - Span::from_ms(ms)).as_ns().abs() < 10,
                "{at} {taken}"
            );
        }
    }
}
