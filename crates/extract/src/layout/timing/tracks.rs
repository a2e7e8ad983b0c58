//! Single tracks: where they begin, how many sectors they have, and how many blocks they hold.

use super::Timed;
use crate::Error;
use crate::layout::levers::{self, Sectors};
use crate::layout::pattern::{IN_LINE, Run};
use crate::layout::search::first_off;

impl Timed<'_, '_> {
    /// The angle at which the track begins whose first block is `at`, in sectors, and by how much
    /// it was found to be larger. Where reads scatter, all skews of a zone are taken for whole
    /// sectors.
    fn beginning(
        &mut self,
        at: u64,
        sectors: u64,
        before: Option<&Run>,
    ) -> Result<(f64, f64), Error> {
        let uncertain = self.uncertain(sectors);
        match before {
            _ if uncertain == 0.0 => Ok((self.start(at, sectors)?, 0.0)),
            None => {
                let exact = uncertain / sectors as f64;
                let angle = self.phases.angle(at, exact)?;
                Ok((
                    (angle * sectors as f64 - 1.0).rem_euclid(sectors as f64),
                    0.0,
                ))
            }
            Some(before) => {
                let off = self.start(at, sectors)? - before.start;
                Ok((before.start + off.round(), off - off.round()))
            }
        }
    }

    /// The angle at which a block begins, in sectors.
    pub fn start(&mut self, at: u64, sectors: u64) -> Result<f64, Error> {
        let tolerance = match self.uncertain(sectors) {
            0.0 => IN_LINE,
            uncertain => 3.0 * uncertain,
        };
        let angle = self.phases.angle(at, tolerance / sectors as f64)?;
        Ok((angle * sectors as f64 - 1.0).rem_euclid(sectors as f64))
    }

    /// Standard deviation of [`Self::start`], in sectors; none to speak of if one read tells.
    pub(super) fn uncertain(&self, sectors: u64) -> f64 {
        let tells = self.phases.tells(IN_LINE / sectors as f64);
        if tells { 0.0 } else { 0.1 }
    }

    /// How far off a whole sector an angle may be that is one, in sectors.
    pub(super) fn near(&self, sectors: u64) -> f64 {
        IN_LINE.max(4.5 * self.uncertain(sectors))
    }

    /// Sectors of the track that holds block `first`, or of the next one.
    pub fn sectors(&mut self, first: u64) -> Result<Sectors, Error> {
        if !self.phases.tells(1e-4) {
            return levers::sectors(&mut self.phases, first);
        }
        let few = 12.min(self.phases.capacity() - first);
        let tolerance = 1e-4;
        let mut steps = Vec::new();
        let mut last = self.phases.angle(first, tolerance)?;
        for at in first + 1..first + few {
            let angle = self.phases.angle(at, tolerance)?;
            steps.push((angle - last).rem_euclid(1.0));
            last = angle;
        }
        steps.sort_by(f64::total_cmp);
        let step = steps.get(steps.len() / 2).copied().unwrap_or(1.0);
        if step <= 0.0 {
            return Err(Error::Undecided(format!(
                "blocks from {first} on are at one angle"
            )));
        }
        let sectors = (1.0 / step).round();
        Ok(Sectors::Exactly(sectors as u64))
    }

    /// The track that begins with block `at`, slipped sectors included; `end` is no more on it.
    pub fn track(
        &mut self,
        (at, end): (u64, u64),
        sectors: u64,
        before: Option<&Run>,
    ) -> Result<Run, Error> {
        let (start, off) = self.beginning(at, sectors, before)?;
        let mut blocks = 0;
        let mut slipped = 0;
        loop {
            let begin = start + (blocks + slipped) as f64;
            let max = (sectors - blocks - slipped).min(end - at - blocks);
            let guess = before.map_or(max, |run| run.blocks.saturating_sub(blocks).min(max));
            blocks += self.in_line(at + blocks, begin, sectors, guess.max(1), max)?;
            let left = sectors - blocks - slipped;
            if left == 0 || at + blocks >= end {
                break;
            }
            let next = self.start(at + blocks, sectors)?;
            let off = (next - start - (blocks + slipped) as f64).rem_euclid(sectors as f64);
            let whole = off.round();
            let skips = (off - whole).abs() < self.near(sectors) && (whole as u64) < left.min(4);
            if !skips || whole < 0.5 {
                break;
            }
            // Blocks after slipped sectors continue in line, except for spare ones at the end; those of
            // the next track as well.
            let rest = left - whole as u64;
            let ahead = (at + blocks + rest - rest / 8).min(end) - 1;
            let angle = begin_of(start + (ahead - at + slipped) as f64 + whole, sectors);
            if !self.phases.is_at(ahead, angle, (IN_LINE, sectors))? {
                break;
            }
            slipped += whole as u64;
        }
        Ok(Run { start, blocks, off })
    }

    /// The number of blocks from `at` on that follow one another, the first at `begin` sectors;
    /// at most `most`, likely `guess`.
    fn in_line(
        &mut self,
        at: u64,
        begin: f64,
        sectors: u64,
        guess: u64,
        max: u64,
    ) -> Result<u64, Error> {
        blocks_in_line(guess, max, |n| {
            let angle = begin_of(begin + n as f64, sectors);
            self.phases.is_at(at + n, angle, (IN_LINE, sectors))
        })
    }
}

/// The number of blocks that follow one another, of which the first does; at most `most`, likely
/// `guess`.
pub(super) fn blocks_in_line(
    guess: u64,
    max: u64,
    mut is_in_line: impl FnMut(u64) -> Result<bool, Error>,
) -> Result<u64, Error> {
    let (mut good, mut bad) = (1, max);
    let guess = guess.min(max);
    if is_in_line(guess - 1)? {
        good = guess;
        if guess < max && !is_in_line(guess)? {
            return Ok(guess);
        }
    } else {
        bad = guess - 1;
    }
    first_off(good, bad, is_in_line)
}

/// The angle at which a block ends that begins at `sector`, in revolutions.
fn begin_of(sector: f64, sectors: u64) -> f64 {
    ((sector + 1.0) / sectors as f64).rem_euclid(1.0)
}
