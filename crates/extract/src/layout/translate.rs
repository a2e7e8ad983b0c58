//! Derives the layout by asking the drive for the locations of a few blocks.
//!
//! # Hypothesis
//! Consecutive blocks are on consecutive sectors of tracks of equal size, and each track is rotated
//! by a skew relative to the previous one. Exceptions are spare, reserved and slipped sectors, zone
//! boundaries, and reallocated blocks.
//!
//! # Test vector
//! TRANSLATE ADDRESS (worthington96 section 4.1.2) for the first and last blocks of the first
//! tracks of each zone; then for the last blocks of tracks farther and farther ahead or, once
//! spares recur in regions, of each region. A binary search follows wherever a block is not where
//! it is expected.
//!
//! # Decision
//! The answers of the drive are assumed to be correct. If blocks are in line at both ends of a
//! stretch without spares, so are all blocks in between.
//!
//! # Confidence
//! Exact, except that blocks reallocated in the middle of a stretch go unnoticed unless their
//! defects are known, for example from READ DEFECT DATA.
//!
//! # Cost
//! Two commands per check. A few dozen checks per zone, one per region of the sparing scheme, and
//! about 20 for each slip.

use std::collections::BTreeMap;

use diskarm_core::units::Lbn;

use super::assemble::{self, MeasuredLayout};
use super::walk::{BlockLocator, Walk, ZONES_MAX};
use super::zone_map::{Tracks, ZoneMap};
use crate::defects::WHOLE_TRACK;
use crate::{Disk, Error, PhysicalAddress};

/// Finds the layout of a drive that answers TRANSLATE ADDRESS with sectors counted from the index
/// mark. `defects` are the defects that the drive has reported.
pub fn measure(disk: &mut Disk, defects: &[PhysicalAddress]) -> Result<MeasuredLayout, Error> {
    let capacity = disk.sectors().0;
    let sector_bytes = disk.sector_size();
    let mut locator = TranslationLocator {
        disk,
        known: BTreeMap::new(),
    };
    let mut zones: Vec<ZoneMap> = Vec::new();
    let mut next = 0;
    while next < capacity {
        let unclear = || {
            Error::Undecided(format!(
                "no pattern of tracks explains where block {next} is"
            ))
        };
        let before = zones.last().map(|zone| &zone.tracks);
        let tracks = pattern(&locator.runs(next, capacity, before)?, before);
        let position = locator.position(&tracks, next)?.ok_or_else(unclear)?;
        let mut zone = Walk::zone(&mut locator, tracks, (next, position), capacity)?;
        locator.end_with_cylinder(&mut zone, capacity)?;
        if zone.blocks == 0 || zones.len() >= ZONES_MAX {
            return Err(unclear());
        }
        next += zone.blocks;
        zones.push(zone);
    }
    locator.reallocated(&mut zones, defects)?;
    assemble::geometry(&zones, capacity, sector_bytes)
}

/// A track as reported by the drive, with the sectors of its first and last blocks.
#[derive(Clone, Copy, Debug)]
struct Run {
    cylinder: u32,
    head: u32,
    sector: u64,
    last: u64,
    blocks: u64,
}

/// Asks the drive for the locations of blocks, and caches the answers.
struct TranslationLocator<'d, 't> {
    disk: &'d mut Disk<'t>,
    known: BTreeMap<u64, PhysicalAddress>,
}

impl BlockLocator for TranslationLocator<'_, '_> {
    const MAY_COINCIDE: bool = false;
    const KNOWS_END: bool = false;

    fn is_at(&mut self, tracks: &Tracks, at: u64, position: u64) -> Result<bool, Error> {
        Ok(self.position(tracks, at)? == Some(position))
    }

    fn positions(&mut self, tracks: &Tracks, at: u64, min: u64) -> Result<Vec<u64>, Error> {
        let position = self.position(tracks, at)?.into_iter();
        Ok(position.filter(|&position| position >= min).collect())
    }
}

impl TranslationLocator<'_, '_> {
    /// Maximum number of tracks for the pattern of a zone: three cylinders of most drives.
    const SEED_TRACKS_MAX: usize = 200;

    fn location(&mut self, at: u64) -> Result<PhysicalAddress, Error> {
        if let Some(place) = self.known.get(&at) {
            return Ok(*place);
        }
        let place = self.disk.physical_address(Lbn(at))?;
        if self.known.len() > 100_000 {
            self.known.clear();
        }
        self.known.insert(at, place);
        Ok(place)
    }

    fn position(&mut self, tracks: &Tracks, at: u64) -> Result<Option<u64>, Error> {
        Ok(position(tracks, self.location(at)?))
    }

    fn runs(
        &mut self,
        first: u64,
        capacity: u64,
        before: Option<&Tracks>,
    ) -> Result<Vec<Run>, Error> {
        let mut runs: Vec<Run> = Vec::new();
        let mut at = first;
        let mut guess = before.map_or(64, |tracks| tracks.sectors);
        while at < capacity && runs.len() < Self::SEED_TRACKS_MAX {
            let place = self.location(at)?;
            let end = self.track_end(at, guess, capacity)?;
            let last = self.location(end - 1)?;
            runs.push(Run {
                cylinder: place.cylinder,
                head: u32::from(place.head),
                sector: u64::from(place.sector),
                last: u64::from(last.sector),
                blocks: end - at,
            });
            guess = end - at;
            at = end;
            if runs.chunk_by(|a, b| a.cylinder == b.cylinder).count() > 3 {
                break;
            }
        }
        Ok(runs)
    }

    /// Returns one past the last block of the track of `at`, which probably holds `guess` blocks.
    fn track_end(&mut self, at: u64, guess: u64, capacity: u64) -> Result<u64, Error> {
        let track = self.location(at)?;
        let track = (track.cylinder, track.head);
        let mut good = at;
        let mut bad = capacity;
        let mut probe = (at + guess - 1).min(capacity - 1);
        let mut step = 1;
        while good + 1 < bad {
            let place = self.location(probe)?;
            if (place.cylinder, place.head) == track {
                good = probe;
                probe = (probe + step).min(bad - 1);
                step *= 2;
            } else {
                bad = probe;
                step = 1;
                probe = good + (bad - good) / 2;
                if bad - good > 2 && good == at && bad == at + guess - 1 {
                    probe = bad - 1;
                }
            }
            if bad < capacity && probe >= bad {
                probe = good + (bad - good) / 2;
            }
            probe = probe.clamp(good + 1, bad.max(good + 2) - 1);
        }
        Ok(bad)
    }

    /// Removes blocks on the next zone's first cylinder, because zones end with a whole cylinder.
    fn end_with_cylinder(&mut self, zone: &mut ZoneMap, capacity: u64) -> Result<(), Error> {
        self.end_in_line(zone)?;
        let next = zone.next();
        if next < capacity && zone.blocks > 0 {
            let next = self.location(next)?.cylinder;
            let tracks = &zone.tracks;
            let last = tracks.first_cylinder + ((zone.end() - 1) / tracks.cylinder()) as u32;
            if next <= last && next > tracks.first_cylinder {
                zone.truncate(u64::from(next - tracks.first_cylinder) * tracks.cylinder());
                self.end_in_line(zone)?;
            }
        }
        Ok(())
    }

    /// Removes blocks at the end that appeared to be in line only by coincidence.
    fn end_in_line(&mut self, zone: &mut ZoneMap) -> Result<(), Error> {
        let missing = zone.missing();
        let (mut in_line, mut beyond) = (zone.gaps.last().map_or(0, |gap| gap.end), zone.end());
        let mut next = beyond.saturating_sub(1);
        while in_line < beyond {
            let block = zone.first + next - missing;
            let is_elsewhere =
                zone.moved.iter().any(|(from, _)| *from == next) || zone.lost.contains(&block);
            if is_elsewhere || self.position(&zone.tracks, block)? == Some(next) {
                in_line = next + 1;
            } else {
                beyond = next;
            }
            next = in_line.midpoint(beyond);
        }
        zone.blocks = beyond - missing;
        Ok(())
    }

    /// Adds reallocated blocks whose defects are known.
    fn reallocated(
        &mut self,
        zones: &mut [ZoneMap],
        defects: &[PhysicalAddress],
    ) -> Result<(), Error> {
        for defect in defects {
            let begins = |zone: &&mut ZoneMap| zone.tracks.first_cylinder <= defect.cylinder;
            let Some(zone) = zones.iter_mut().rev().find(begins) else {
                continue;
            };
            let tracks = &zone.tracks;
            let (first, length) = if defect.sector == WHOLE_TRACK {
                let track = tracks.track(defect.cylinder, defect.head.into());
                (track.map(|track| track * tracks.sectors), tracks.sectors)
            } else {
                (position(tracks, *defect), 1)
            };
            let Some((first, at)) = first.and_then(|first| Some((first, zone.block(first)?)))
            else {
                continue;
            };
            if zone.moved.iter().any(|(from, _)| *from == first) {
                continue;
            }
            if let Some(actual) = self.position(tracks, at)?.filter(|&actual| actual != first) {
                let in_line =
                    (first..first + length).take_while(|&from| zone.block(from).is_some());
                let moved: Vec<_> = in_line.map(|from| (from, from - first + actual)).collect();
                zone.moved.extend(moved);
            }
        }
        Ok(())
    }
}

fn position(tracks: &Tracks, at: PhysicalAddress) -> Option<u64> {
    let track = tracks.track(at.cylinder, u32::from(at.head))?;
    let sector = u64::from(at.sector);
    if sector >= tracks.sectors {
        return None;
    }
    let begin = tracks.track_angle(track) as u64 % tracks.sectors;
    let offset = (sector + tracks.sectors - begin) % tracks.sectors;
    Some(track * tracks.sectors + offset)
}

/// Returns the first of the most frequent values.
fn mode<T: Copy + PartialEq>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: Vec<(T, usize)> = Vec::new();
    for value in values {
        match counts.iter_mut().find(|(known, _)| *known == value) {
            Some((_, count)) => *count += 1,
            None => counts.push((value, 1)),
        }
    }
    // If several values are equally frequent, `max_by_key` returns the last.
    let most = counts.iter().rev().max_by_key(|(_, count)| *count)?;
    Some(most.0)
}

fn pattern(runs: &[Run], before: Option<&Tracks>) -> Tracks {
    let wrapped = runs.iter().filter(|run| run.last < run.sector);
    let sectors = mode(wrapped.map(|run| run.sector + run.blocks - 1 - run.last))
        .or_else(|| runs.iter().map(|run| run.last.max(run.sector) + 1).max())
        .unwrap_or(1);
    let first = runs[0];
    let heads = runs.iter().map(|run| run.head + 1).max().unwrap_or(1);
    let surfaces = heads.max(before.map_or(0, |tracks| tracks.surfaces));
    let ascends = |cylinder: u32| {
        let mut runs = runs.iter().filter(|run| run.cylinder == cylinder);
        Some(runs.next()?.head < runs.next()?.head)
    };
    let directions = (ascends(first.cylinder), ascends(first.cylinder + 1));
    let alternates = match directions {
        (Some(one), Some(other)) => one != other,
        _ => before.is_some_and(|tracks| tracks.alternates),
    };
    let begins_down = match directions {
        (Some(up), _) => !up,
        (None, Some(up)) => up == alternates,
        _ => false,
    };
    let front = spares_in_front(runs, sectors);
    // Returns the start of a track, including positions without blocks.
    let begin = |run: &Run| {
        let is_other = alternates && run.cylinder.abs_diff(first.cylinder) % 2 == 1;
        let head = if begins_down != is_other {
            surfaces - 1
        } else {
            0
        };
        let front = if run.head == head { front } else { 0 };
        (run.sector + sectors - front) % sectors
    };
    let jump = |pair: &[Run]| (begin(&pair[1]) + sectors - begin(&pair[0])) % sectors;
    let inside = runs.windows(2).filter(|pair| !changes_cylinder(pair));
    let track_skew = mode(inside.map(jump)).unwrap_or(0);
    let across = runs.windows(2).filter(changes_cylinder);
    let cylinder_skew = mode(across.map(jump)).unwrap_or(track_skew);
    let mut tracks = Tracks {
        first_cylinder: first.cylinder,
        surfaces,
        sectors,
        track_skew: track_skew as f64,
        cylinder_skew: cylinder_skew as f64,
        begins_down,
        alternates,
        ..Tracks::default()
    };
    // The first track may begin after reserved sectors.
    let offsets = runs.iter().map_while(|run| {
        let track = tracks.track(run.cylinder, run.head)?;
        let angle = tracks.track_angle(track) as u64;
        Some((begin(run) + sectors - angle % sectors) % sectors)
    });
    tracks.offset = mode(offsets).unwrap_or(0) as f64;
    tracks
}

fn changes_cylinder(pair: &&[Run]) -> bool {
    pair[0].cylinder != pair[1].cylinder
}

/// Returns the number of positions without blocks at the front of each cylinder: the shortfall of
/// its first track, if its last track is full.
fn spares_in_front(runs: &[Run], sectors: u64) -> u64 {
    let shortfalls = |side: usize| {
        let across = runs.windows(2).filter(changes_cylinder);
        across.map(move |pair| sectors.saturating_sub(pair[side].blocks))
    };
    match (mode(shortfalls(1)), mode(shortfalls(0))) {
        (Some(spares), Some(0)) if shortfalls(1).all(|short| short > 0) => spares,
        _ => 0,
    }
}
