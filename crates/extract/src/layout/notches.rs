//! The layout by mode pages and READ CAPACITY: the way of drives that do not translate addresses
//! (worthington96 section 4.1.3).
//!
//! # Hypothesis
//! The drive tells its zones in the notch page, and with PMI the last block of each cylinder.
//! Inside cylinders blocks follow one another as in [`super::timing`].
//!
//! # Test vector
//! MODE SELECT of each active notch; its boundaries as cylinders and as blocks, and its tracks in
//! the format device page. READ CAPACITY with PMI for each cylinder. What these do not tell (the
//! angle at which each zone begins, skews in fractions of sectors, where in a cylinder blocks are
//! missing) is concluded from the ends of reads. Listed defects (READ DEFECT DATA) tell in which
//! order heads follow one another, where the index mark is, and which blocks may be reallocated
//! (`reallocated`).
//!
//! # Decision
//! What the drive tells is held against itself and against reads. Boundaries of zones must be
//! boundaries of cylinders, and all blocks of a zone must lie on tracks as its first ones;
//! otherwise the layout is not concluded from them. Sectors per track, heads and skews are
//! measured: pages that tell other ones are nominal, which is noted.
//!
//! # Confidence
//! Every block is on the cylinder that READ CAPACITY tells, and at the angle that reads tell.
//! Without defects the order of heads and the index mark are open, as in [`super::timing`]; so is
//! the order if defects fit several.
//!
//! # Cost
//! Four commands a notch and one a cylinder without media access; reads as in [`super::timing`],
//! but fewer, as fewer explanations are possible.

use super::chart::{Gap, Tracks, ZoneChart};
use super::levers::Sectors;
use super::pattern::{IN_LINE, Pattern};
use super::timing::Timed;
use super::told::{Span, cylinder_ends, heads, nominal, notches, spans};
use super::walk::{Looks, Walk};
use super::{MeasuredLayout, assemble, orient};
use crate::{Disk, Error, PhysicalAddress};

/// Finds the layout of a drive that answers the notch page and READ CAPACITY with PMI. `defects`
/// are defective places that it has listed, if any.
///
/// # Errors
/// A command failed; the drive does not tell its cylinders; or what it tells is contradicted by
/// reads.
pub fn measure(
    disk: &mut Disk<'_>,
    period_ns: f64,
    defects: &[PhysicalAddress],
    seed: u64,
) -> Result<MeasuredLayout, Error> {
    let notches = notches(disk)?;
    let heads = heads(disk);
    let ends = cylinder_ends(disk)?;
    let spans = spans(&notches, &ends)?;
    let capacity = disk.sectors().0;
    let sector_bytes = disk.sector_size();
    let mut looks = Notched {
        timed: Timed::new(disk, period_ns, seed)?,
        ends: Vec::new(),
    };
    let (mut sectors, mut doubts) = (Vec::new(), Vec::new());
    let mut surfaces = 1;
    for span in &spans {
        let found = match looks.timed.sectors(span.first)? {
            Sectors::Exactly(found) => found,
            Sectors::About { step, .. } => {
                return Err(looks.timed.scatters_too_much((1.0 / step) as u64));
            }
        };
        if found != u64::from(span.told.sectors) {
            doubts.push(format!(
                "The format device page tells {} sectors a track from block {} on, reads show \
                 {found}.",
                span.told.sectors, span.first
            ));
        }
        let largest = span.sizes().max().expect("a notch has cylinders");
        surfaces = surfaces.max(largest.div_ceil(found) as u32);
        sectors.push(found);
    }
    let mut charts = Vec::new();
    let mut doubtful = Vec::new();
    for (n, (span, sectors)) in spans.iter().zip(sectors).enumerate() {
        let mut chart = looks.zone(span, sectors, surfaces)?;
        let is_last = n + 1 == spans.len() && n > 0;
        let (front, is_sure) = empty_in_front(span, &chart, (defects, is_last));
        if !is_sure {
            doubtful.push(span.told.cylinders);
        }
        chart.push_in(front);
        charts.push(chart);
    }
    let mut found = assemble::geometry(&charts, capacity, sector_bytes)?;
    if let Some(told) = heads.filter(|heads| *heads != surfaces) {
        doubts.push(format!(
            "The geometry page tells {told} heads; cylinders hold {surfaces} tracks."
        ));
    }
    found.assumed.append(&mut doubts);
    for (first, last) in doubtful {
        found.assumed.push(format!(
            "Of cylinders {first} to {last} some hold no blocks; which is not told."
        ));
    }
    orient::by_defects(&mut found, &mut looks.timed.phases, defects)?;
    Ok(found)
}

/// How many cylinders without blocks are in front of a zone's first block, and whether that is
/// sure: with that many most slips are on cylinders for which defects are listed; or, if none tell,
/// all that are no spare tracks, but none in the last zone.
fn empty_in_front(
    span: &Span<'_>,
    chart: &ZoneChart,
    (defects, is_last): (&[PhysicalAddress], bool),
) -> (u32, bool) {
    let empty = span.empty();
    if empty == 0 {
        return (0, true);
    }
    let tracks = &chart.tracks;
    let few = |gap: &&Gap| gap.place > 0 && gap.places < tracks.sectors;
    let slips = chart.gaps.iter().filter(few);
    let on = |gap: &Gap| tracks.first_cylinder + (gap.place / tracks.cylinder()) as u32;
    let listed = |cylinder: u32| defects.iter().any(|defect| defect.cylinder == cylinder);
    let slips: Vec<u32> = slips.map(on).collect();
    let hits = |front: u32| slips.iter().filter(|at| listed(*at + front)).count();
    let max = (0..=empty).map(hits).max().unwrap_or(0);
    let mut best = (0..=empty).filter(|front| hits(*front) == max);
    if let (1.., Some(front), None) = (max, best.next(), best.next()) {
        return (front, true);
    }
    let whole = |gap: &&Gap| gap.place > 0 && gap.places.is_multiple_of(tracks.sectors);
    let slipped: u64 = chart.gaps.iter().filter(whole).map(|gap| gap.places).sum();
    let spares = span
        .told
        .spare_tracks
        .saturating_sub(slipped / tracks.sectors);
    let behind = (spares / u64::from(tracks.surfaces)) as u32;
    let front = if is_last {
        0
    } else {
        empty.saturating_sub(behind)
    };
    (front, false)
}

/// A drive whose reads are timed and whose cylinders are known.
struct Notched<'d, 't> {
    timed: Timed<'d, 't>,
    /// One past the last block of each cylinder of the zone, from its first cylinder on.
    ends: Vec<u64>,
}

impl Notched<'_, '_> {
    /// The cylinder of the zone that holds a block.
    fn cylinder(&self, at: u64) -> u64 {
        self.ends.partition_point(|end| *end <= at) as u64
    }

    fn zone(&mut self, span: &Span<'_>, sectors: u64, surfaces: u32) -> Result<ZoneChart, Error> {
        let (first, end) = (span.first, span.end());
        self.ends = span.ends.to_vec();
        let tracks = self.tracks(span, sectors, surfaces)?;
        let room = tracks.cylinder().saturating_sub(self.ends[0] - first);
        let mut places = self.places(&tracks, first, 0)?;
        places.retain(|place| *place <= room);
        // Likely all that its cylinder lacks is in front of it, or it begins a track.
        let whole = |place: &&u64| place.is_multiple_of(sectors);
        let place = places.iter().find(|place| **place == room);
        let place = place.or_else(|| places.iter().find(whole));
        let place = place
            .or(places.first())
            .copied()
            .ok_or_else(|| nominal(format!("block {first} is not on the tracks of its notch")))?;
        let chart = Walk::zone(self, tracks, (first, place), end)?;
        if chart.first + chart.blocks < end {
            return Err(nominal(format!(
                "block {} is not on the tracks of its notch",
                chart.first + chart.blocks
            )));
        }
        Ok(chart)
    }
}

impl Notched<'_, '_> {
    /// The tracks of a zone, from a cylinder on that holds as many blocks as most do.
    fn tracks(&mut self, span: &Span<'_>, sectors: u64, surfaces: u32) -> Result<Tracks, Error> {
        let sizes: Vec<u64> = span.sizes().collect();
        let mut sorted = sizes.clone();
        sorted.sort_unstable();
        let max = sorted.chunk_by(|a, b| a == b).max_by_key(|same| same.len());
        let usual = max.map_or(0, |same| same[0]);
        let pair = sizes.windows(2).position(|pair| pair == [usual; 2]);
        let usual = pair.or_else(|| sizes.iter().position(|size| *size == usual));
        let usual = usual.unwrap_or(0);
        let first = if usual == 0 {
            span.first
        } else {
            span.ends[usual - 1]
        };
        let mut runs = Vec::new();
        let mut at = first;
        while at < span.end() && runs.len() < 3 * surfaces as usize + 1 {
            let end = self.ends[self.cylinder(at) as usize];
            let run = self.timed.track((at, end), sectors, runs.last())?;
            at += run.blocks;
            runs.push(run);
        }
        // The run with which the cylinder ends is on its last track with blocks.
        let mut sum = first;
        let last = runs.iter().position(|run| {
            sum += run.blocks;
            sum >= span.ends[usual]
        });
        let last = last.unwrap_or(runs.len() - 1).min(surfaces as usize - 1);
        let pattern = Pattern::new(&runs, (sectors, surfaces, span.told.cylinders.0), last);
        let mut tracks = pattern.tracks;
        tracks.push_in(usual as u32);
        Ok(tracks)
    }
}

impl Looks for Notched<'_, '_> {
    const MAY_COINCIDE: bool = true;
    const KNOWS_END: bool = true;

    fn is_at(&mut self, tracks: &Tracks, at: u64, place: u64) -> Result<bool, Error> {
        if place / tracks.cylinder() != self.cylinder(at) {
            return Ok(false);
        }
        self.timed.is_at(tracks, at, place)
    }

    fn places(&mut self, tracks: &Tracks, at: u64, min: u64) -> Result<Vec<u64>, Error> {
        let angle = self.timed.start(at, tracks.sectors)?;
        let surfaces = u64::from(tracks.surfaces);
        let first = self.cylinder(at) * surfaces;
        let on_track = |track: u64| {
            let within = (angle - tracks.track_angle(track)).rem_euclid(tracks.sectors as f64);
            let whole = within.round();
            let place = track * tracks.sectors + whole as u64 % tracks.sectors;
            ((within - whole).abs() < IN_LINE && place >= min).then_some(place)
        };
        Ok((first..first + surfaces).filter_map(on_track).collect())
    }
}
