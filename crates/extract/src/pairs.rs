//! Pairs of commands, the second of which may just catch its sector.
//!
//! The first command moves the head to a track. The second is sent a given time, its *lead*, before
//! its first sector passes, according to the [`Clock`]. It catches that pass if the lead is long
//! enough.
//!
//! Any sector of a track may be the target, so the host never has to pause for longer than a
//! sector. The host delay shifts the lead at random, but the time of sending is recorded, so the
//! actual lead is known, and many pairs together measure a threshold to less than a sector.

use diskarm_core::geometry::{Extent, Layout};
use diskarm_core::random::below;
use diskarm_core::units::{Lbn, SectorCount, Span};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::clock::{Access, Clock};
use crate::rotation::{Rotation, warm_up};
use crate::threshold::{Threshold, ThresholdEstimate, span};
use crate::track::{EquivalentCylinders, ReadAheadEnd, Track};
use crate::{CommandTimes, Disk, Error};

/// Long enough for a drive to end read-ahead, fill a segment, and flush its write cache.
pub(crate) const LONG: Span = Span::from_ns(250_000_000);
/// The deviation, in nanoseconds, above which completion times are considered noisy.
const MIN_NOISE_NS: f64 = 1e3;
/// Number of failures above which the drive is considered broken.
const MAX_UNREADABLE: u32 = 100;

/// The result of a pair. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    /// The largest lead known to be too short, and the smallest known to be enough.
    pub bounds: (f64, f64),
    /// Host delay from the end of the first command until the second is sent, excluding pauses.
    pub host: f64,
    /// Time from the end of the first command to the end of the second, had it caught its sector.
    pub between: f64,
    /// Time from the pass of the first command's first sector to the pass of the second's.
    pub distance: f64,
    pub lead: f64,
    /// Deviation of the completion time from the nearest possible pass.
    pub deviation: f64,
}

pub(crate) struct Pairs<'a, 'd> {
    pub disk: &'a mut Disk<'d>,
    pub layout: &'a Layout,
    pub clock: Clock,
    pub generator: Pcg64Mcg,
    /// Pause after a read until read-ahead has ended.
    pub idle: Span,
    /// Place where read-ahead leaves the head, unless that is on the track of the read.
    pub read_ahead_end: Option<ReadAheadEnd>,
    /// Cylinders for commands that must not hit data that earlier ones left in the buffer.
    pub equivalent: EquivalentCylinders,
    /// True if completion times of reads are noisy.
    pub is_noisy: bool,
    /// Moving average of the host delay, and of its deviation.
    delay: f64,
    jitter: f64,
    /// Number of commands that failed because of a bad block.
    unreadable: u32,
    last: LastCommand,
}

#[derive(Clone, Copy, Debug)]
struct LastCommand {
    access: Access,
    at: Lbn,
    sectors: u16,
    /// The end of the command and the total of the pauses since then, in nanoseconds.
    ended: f64,
    paused: f64,
}

impl<'a, 'd> Pairs<'a, 'd> {
    /// Warms up the drive and determines its current angle.
    pub fn new(
        disk: &'a mut Disk<'d>,
        layout: &'a Layout,
        rotation: &Rotation,
        seed: u64,
    ) -> Result<Self, Error> {
        let mut generator = Pcg64Mcg::seed_from_u64(seed);
        warm_up(disk, &mut generator)?;
        let mut pairs = Self {
            disk,
            layout,
            clock: Clock::new(rotation),
            generator,
            idle: Span::ZERO,
            read_ahead_end: None,
            equivalent: EquivalentCylinders::default(),
            is_noisy: rotation.scatter_ns > MIN_NOISE_NS,
            delay: 0.0,
            jitter: 0.0,
            unreadable: 0,
            last: LastCommand {
                access: Access::Read,
                at: Lbn(0),
                sectors: 1,
                ended: 0.0,
                paused: 0.0,
            },
        };
        for _ in 0..if pairs.is_noisy { 100 } else { 8 } {
            let at = Lbn(pairs.below(layout.sectors().0));
            let sent = pairs.send(Access::Read, at, 1);
            pairs.is_unreadable(&sent)?;
        }
        Ok(pairs)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        below(&mut self.generator, end)
    }

    /// Returns a random number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.generator.next_u64() >> 11) as f64 / 2f64.powi(53)
    }

    pub fn sleep(&mut self, span: Span) {
        self.disk.sleep(span);
        self.last.paused += span.as_ns() as f64;
    }

    /// Reads from or writes to the media, bypassing the buffer.
    pub fn send(&mut self, access: Access, at: Lbn, sectors: u16) -> Result<CommandTimes, Error> {
        let timed = match access {
            Access::Read => self.disk.read_media(at, sectors)?,
            Access::Write => self.disk.write_media(at, sectors)?,
        };
        let before = self.last.access;
        self.record(access, at, sectors, &timed);
        if sectors == 1 {
            let extent = self.layout.extent(at);
            self.clock.record(access, before, timed.ended, &extent);
        }
        Ok(timed)
    }

    /// Reads or writes. The buffer may serve the command.
    pub fn send_buffered(
        &mut self,
        access: Access,
        at: Lbn,
        sectors: u16,
    ) -> Result<CommandTimes, Error> {
        let timed = match access {
            Access::Read => self.disk.read(at, sectors)?,
            Access::Write => self.disk.write(at, sectors)?,
        };
        self.record(access, at, sectors, &timed);
        Ok(timed)
    }

    fn record(&mut self, access: Access, at: Lbn, sectors: u16, timed: &CommandTimes) {
        let host = timed.sent.as_ns() as f64 - self.last.ended - self.last.paused;
        // The first command has no predecessor.
        let is_first = self.last.ended == 0.0;
        self.delay = if is_first {
            0.0
        } else if self.delay == 0.0 {
            host
        } else {
            self.delay + 0.05 * (host - self.delay)
        };
        // Delays are considered uneven at first, unless that would widen intervals.
        if !(is_first && self.is_noisy) {
            self.jitter += 0.05 * ((host - self.delay).abs() - self.jitter);
        }
        self.last = LastCommand {
            access,
            at,
            sectors,
            ended: timed.ended.as_ns() as f64,
            paused: 0.0,
        };
    }

    /// Moves the head to `track` with a write to any block or a read of one of the first ones, so
    /// that read-ahead stays on the track until the next command has been processed (worthington96
    /// section 5.2).
    pub fn move_head(&mut self, access: Access, track: &Track, sectors: u16) -> Result<(), Error> {
        let (first, extent) = track.runs[0];
        let min = u64::from(sectors);
        let among = match access {
            // Read-ahead must end at a known position.
            Access::Read if self.idle > Span::ZERO => 1,
            Access::Read => (extent.sectors.0 / 8).max(1),
            Access::Write => (extent.sectors.0 + 1).saturating_sub(min).max(1),
        };
        let at = Lbn(first.0 + self.below(among));
        self.send(access, at, sectors)?;
        if access == Access::Read {
            self.sleep(self.idle);
        }
        Ok(())
    }

    /// Returns the track under the head when the second command of a pair arrives, if known.
    pub fn head_track(&self, access: Access, from: &Track) -> Option<Track> {
        match (access, self.read_ahead_end) {
            (Access::Read, Some(end)) => end.track(self.layout, from),
            _ => Some(from.clone()),
        }
    }

    /// Returns true if the last command was a write of `sectors` on `track`.
    pub fn follows_write(&self, track: &Track, sectors: u16) -> bool {
        let extent = self.layout.extent(self.last.at);
        let here = (extent.cylinder.0, extent.head.0) == (track.cylinder(), track.head());
        here && self.last.access == Access::Write && self.last.sectors == sectors
    }

    /// Sends the second command of a pair. Returns `None` if the buffer served it.
    pub fn catch(
        &mut self,
        access: Access,
        track: &Track,
        sectors: u16,
        lead: f64,
    ) -> Result<Option<Trial>, Error> {
        let wanted = self.soonest(lead);
        let Some((at, passes)) = self.next_pass(track, sectors, wanted) else {
            let (cylinder, head) = (track.cylinder(), track.head());
            return Err(Error::Undecided(format!(
                "the track at cylinder {cylinder} and head {head} has no run of {sectors} sectors"
            )));
        };
        self.catch_at(access, at, sectors, passes, lead)
    }

    /// Like [`Self::catch`], but for the blocks after those of the first command.
    pub fn catch_next(
        &mut self,
        access: Access,
        sectors: u16,
        lead: f64,
    ) -> Result<Option<Trial>, Error> {
        let at = Lbn(self.last.at.0 + u64::from(self.last.sectors));
        let turns = self.layout.extent(at).start.as_revolutions();
        let passes = self.clock.pass(turns, self.soonest(lead));
        self.catch_at(access, at, sectors, passes, lead)
    }

    /// Returns true if a command failed because of a bad block. Fails if many have done so.
    pub fn is_unreadable<T>(&mut self, result: &Result<T, Error>) -> Result<bool, Error> {
        match result {
            Err(error) if error.is_medium_error() && self.unreadable < MAX_UNREADABLE => {
                self.unreadable += 1;
                Ok(true)
            }
            Err(error) => Err(error.clone()),
            Ok(_) => Ok(false),
        }
    }

    /// Returns the earliest time at which a sector can pass if a command has this lead.
    pub fn soonest(&self, lead: f64) -> f64 {
        self.last.ended + self.last.paused + self.delay + lead
    }

    /// Pauses until a run on `track` is about `lead` ahead. Returns its first block and when it
    /// passes.
    pub fn wait_for(&mut self, track: &Track, sectors: u16, lead: f64) -> Option<(Lbn, f64)> {
        let wanted = self.soonest(lead);
        let (at, passes) = self.next_pass(track, sectors, wanted)?;
        self.sleep(span((passes - wanted).max(0.0)));
        Some((at, passes))
    }

    /// Sends a command `lead` before the time `passes` at which its run of blocks passes.
    fn catch_at(
        &mut self,
        access: Access,
        at: Lbn,
        sectors: u16,
        passes: f64,
        lead: f64,
    ) -> Result<Option<Trial>, Error> {
        let first = self.last;
        let period = self.clock.period();
        let wanted = self.soonest(lead);
        self.sleep(span((passes - wanted).max(0.0)));
        let paused = self.last.paused;
        let timed = self.send(access, at, sectors)?;
        let (sent, ended) = (timed.sent.as_ns() as f64, timed.ended.as_ns() as f64);
        let later = match access {
            Access::Read => 0.0,
            Access::Write => self.clock.write_delay(first.access).unwrap_or(0.0),
        };
        let late = ended - passes - self.passing(at, sectors) - later;
        let turns = (late / period).round();
        let deviation = late - turns * period;
        // The completion overhead of a write may depend on the movement of the arm.
        let is_certain = sectors == 1 && access == Access::Read;
        if is_certain && deviation.abs() > self.clock.tolerance() {
            return Ok(None);
        }
        let lead = passes - sent;
        Ok(Some(Trial {
            bounds: (lead + (turns - 1.0) * period, lead + turns * period),
            host: sent - first.ended - paused,
            between: ended - turns * period - first.ended - paused,
            distance: passes - self.first_pass(&first) - paused,
            lead,
            deviation,
        }))
    }

    /// Returns the time in which a run of blocks passes if the head is on each track in time.
    pub fn passing(&self, at: Lbn, sectors: u16) -> f64 {
        let (mut at, end) = (at, at + SectorCount(u64::from(sectors)));
        let mut turns = 0.0;
        let mut last_end = None;
        while at < end {
            let extent = self.layout.extent(at);
            let start = extent.start.as_revolutions();
            let count = extent.sectors.min(end - at);
            let angle = count.0 as f64 * extent.sector_angle.as_revolutions();
            let gap = (start - last_end.unwrap_or(start)).rem_euclid(1.0);
            // Contiguous extents may be off by a rounding error.
            let pause = if gap > 1.0 - 1e-6 { 0.0 } else { gap };
            turns += pause + angle;
            last_end = Some(start + angle);
            at = at + count;
        }
        turns * self.clock.period()
    }

    /// Returns the time at which the first sector of a command passed.
    fn first_pass(&self, command: &LastCommand) -> f64 {
        let extent = self.layout.extent(command.at);
        let sector = extent.sector_angle.as_revolutions() * self.clock.period();
        let end = command.ended - (f64::from(command.sectors) - 1.0) * sector;
        end - sector - self.clock.lateness(end, &extent)
    }

    /// Returns the first block and the time of the next pass of `sectors` on `track` after `from`.
    fn next_pass(&self, track: &Track, sectors: u16, from: f64) -> Option<(Lbn, f64)> {
        let period = self.clock.period();
        let of_run = |(first, extent): &(Lbn, Extent)| {
            let room = extent.sectors.0.checked_sub(u64::from(sectors))?;
            let sector = extent.sector_angle.as_revolutions() * period;
            let pass = self.clock.pass(extent.start.as_revolutions(), from);
            let passed = ((from - (pass - period)) / sector).ceil().max(0.0);
            if passed <= room as f64 {
                let at = Lbn(first.0 + passed as u64);
                return Some((at, pass - period + passed * sector));
            }
            Some((*first, pass))
        };
        let runs = track.runs.iter().filter_map(of_run);
        runs.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Sends pairs of commands with these accesses and sectors until the threshold of their leads
    /// is known. `goal` is the target half-width of the interval in nanoseconds, and the maximum
    /// number of pairs. If uneven host delays make leads random, the maximum may be five times
    /// larger or, if completions scatter, the interval may be wider. `pair` returns the tracks of
    /// both commands, and a shift that is added to the lead but not to the threshold.
    pub fn search(
        &mut self,
        accesses: (Access, Access),
        sectors: (u16, u16),
        mut threshold: Threshold,
        goal: (f64, u32),
        mut pair: impl FnMut(&mut Self, u32) -> Result<(Track, Track, f64), Error>,
    ) -> Result<Search, Error> {
        let mut trials = Vec::new();
        let uneven = 5.0 * self.jitter;
        let (half, count) = goal;
        let (wanted, max) = if self.is_noisy {
            (half.max(uneven / f64::from(count)), count)
        } else {
            (half, count.max((5 * count).min((uneven / half) as u32)))
        };
        for k in 0..max {
            let (from, to, shift) = pair(self, k)?;
            if accesses.0 == Access::Read || !self.follows_write(&from, sectors.0) {
                let moved = self.move_head(accesses.0, &from, sectors.0);
                if self.is_unreadable(&moved)? {
                    continue;
                }
            }
            let uniform = self.uniform();
            let lead = (threshold.aim(wanted, uniform) + shift).max(1e3);
            let caught = self.catch(accesses.1, &to, sectors.1, lead);
            if self.is_unreadable(&caught)? {
                continue;
            }
            if let Some(trial) = caught? {
                let (missed, caught) = trial.bounds;
                threshold.add(missed - shift, caught - shift);
                trials.push(trial);
            }
            if threshold.is_done(wanted) {
                break;
            }
        }
        if trials.len() < 3 {
            let count = trials.len();
            let reason = format!("only {count} of {max} pairs were served from the media");
            return Err(Error::Undecided(reason));
        }
        Ok(Search {
            found: threshold.found(),
            trials,
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub found: ThresholdEstimate,
    pub trials: Vec<Trial>,
}
