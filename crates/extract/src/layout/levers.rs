//! How many sectors a track has, where the ends of single reads scatter by more than a sector.
//!
//! The angle between two blocks of a track, divided by the number of blocks between them, is the
//! angle of a sector: the more exact the farther they are apart. So the second block goes ever
//! farther from the first, as long as the angle grows with it.

use super::phases::{Phases, apart};
use crate::Error;

/// Reads of a block that tell whether it is on the track.
const ROUGHLY: u32 = 36;
/// Tracks that are tried: one may have slipped sectors, or end soon.
const TRACKS: u32 = 6;
/// Standard deviation of the number of sectors.
const UNCERTAIN: f64 = 0.11;

/// How many sectors a track has.
pub(super) enum Sectors {
    /// The number of sectors.
    Exactly(u64),
    /// About `1 / step`: `step` is the angle of a sector, in revolutions, measured over `over`
    /// sectors. Reads scatter too much for the exact number.
    About { step: f64, over: u64 },
}

/// Sectors of the track that holds block `first`, or of one soon behind it.
///
/// # Errors
/// A read failed, or no track is long enough.
pub(super) fn sectors(phases: &mut Phases<'_, '_>, first: u64) -> Result<Sectors, Error> {
    let mut from = first;
    for _ in 0..TRACKS {
        if from >= phases.capacity() {
            break;
        }
        let line = Line::from(phases, from)?;
        match line.sectors(phases)? {
            Some(sectors) => return Ok(sectors),
            None => from += line.beyond,
        }
    }
    Err(Error::Undecided(format!(
        "the ends of reads scatter by {:.3} ms, and no track from block {first} on has a clear \
         number of sectors",
        phases.noise_ms()
    )))
}

/// Blocks that seem to be in line.
struct Line {
    from: u64,
    /// How many blocks further the last one is that seems to be in line.
    length: u64,
    /// From block to block, in revolutions.
    step: f64,
    /// How many blocks further the next try may begin.
    beyond: u64,
}

impl Line {
    fn from(phases: &mut Phases<'_, '_>, from: u64) -> Result<Self, Error> {
        let start = phases.mean(from, ROUGHLY)?;
        let room = phases.capacity() - 1 - from;
        let mut line = Self {
            from,
            length: 0,
            step: 0.0,
            beyond: 4,
        };
        // A skew is longer than angles of ends are uncertain when they are extrapolated twice.
        let off_most = 5.0 * phases.within(ROUGHLY);
        for length in (2..40).flat_map(|power| [1u64 << power, 3u64 << (power - 1)]) {
            line.beyond = length;
            if length > room || line.step * length as f64 > 0.98 {
                break;
            }
            let end = phases.mean(from + length, ROUGHLY)?;
            let expected = line.step * length as f64;
            let off = apart(start + expected, end);
            if line.length > 0 && off.abs() > off_most {
                break;
            }
            let turned = if line.length == 0 {
                (end - start).rem_euclid(1.0)
            } else {
                expected + off
            };
            line.length = length;
            line.step = turned / length as f64;
        }
        Ok(line)
    }

    /// The number of sectors, unless the track ends soon or sectors are slipped.
    fn sectors(&self, phases: &mut Phases<'_, '_>) -> Result<Option<Sectors>, Error> {
        let length = self.length as f64;
        if self.step * length < 0.3 {
            return Ok(None);
        }
        let about = (1.0 / self.step).round() as u64;
        if !phases.tells_sectors(about) {
            return Ok(Some(Sectors::About {
                step: self.step,
                over: self.length,
            }));
        }
        let noise = phases.noise();
        let deviation = noise * std::f64::consts::SQRT_2 / (self.step.powi(2) * length);
        let reads = (deviation / UNCERTAIN).powi(2).max(4.0);
        let middle = self.length / 2;
        let mut angles = [0.0; 3];
        for (angle, at) in angles.iter_mut().zip([0, middle, self.length]) {
            *angle = phases.mean(self.from + at, reads.ceil() as u32)?;
        }
        let turned = self.step * length;
        let turned = turned + apart(angles[0] + turned, angles[2]);
        let step = turned / length;
        let bent = apart(angles[0] + step * middle as f64, angles[1]);
        let sectors = (1.0 / step).round();
        let is_straight = bent.abs() < 0.3 * step;
        Ok(is_straight.then_some(Sectors::Exactly(sectors as u64)))
    }
}
