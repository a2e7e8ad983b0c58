//! What a drive tells of its zones and cylinders: notch, format device and geometry pages, and READ
//! CAPACITY with PMI (worthington96 section 4.1.3). It is held against itself here.

use diskarm_core::units::Lbn;
use diskarm_wire::mode::{FormatDevice, Geometry, Notch};

use crate::{Disk, Error};

pub(super) fn nominal(reason: String) -> Error {
    Error::Undecided(format!("the drive's mode pages are not true: {reason}"))
}

/// A zone as the notch page tells it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// First and last block, unless they are too large for their fields.
    pub blocks: Option<(u64, u64)>,
    /// First and last cylinder.
    pub cylinders: (u32, u32),
    /// Sectors of a track.
    pub sectors: u16,
    pub spare_tracks: u64,
}

/// More notches than any drive has.
const NOTCHES_MAX: u16 = 5_000;

/// All notches, in the order of their blocks.
pub(super) fn notches(disk: &mut Disk<'_>) -> Result<Vec<Told>, Error> {
    let before = notch(disk)?;
    let count = before.maximum;
    if count == 0 || count > NOTCHES_MAX {
        return Err(nominal(format!("the notch page tells of {count} notches")));
    }
    let told = (1..=count).map(|active| told(disk, active));
    let told = told.collect::<Result<Vec<Told>, Error>>();
    // As it was, whether or not the notches could be read.
    activate(disk, before.active, before.logical)?;
    let mut told = told?;
    told.sort_by_key(|notch| notch.cylinders);
    Ok(told)
}

fn notch(disk: &mut Disk<'_>) -> Result<Notch, Error> {
    let page = disk.mode_page(Notch::CODE)?;
    Notch::parse(&page).map_err(|_| short("notch"))
}

fn short(page: &str) -> Error {
    nominal(format!("the {page} page is cut off"))
}

/// Makes a notch active; returns the page then. Only what differs may be sent (SPC-4).
fn activate(disk: &mut Disk<'_>, active: u16, logical: bool) -> Result<Notch, Error> {
    let page = notch(disk)?;
    let wanted = Notch {
        active,
        logical,
        ..page
    };
    disk.select_mode_page(Notch::CODE, &wanted.emit())?;
    let page = notch(disk)?;
    if (page.active, page.logical) != (active, logical) {
        return Err(nominal(format!("notch {active} cannot be made active")));
    }
    Ok(page)
}

fn told(disk: &mut Disk<'_>, active: u16) -> Result<Told, Error> {
    let mut boundaries = [(0, 0); 2];
    for (logical, boundaries) in [true, false].into_iter().zip(&mut boundaries) {
        let page = activate(disk, active, logical)?;
        *boundaries = (page.starting_boundary, page.ending_boundary);
    }
    let [(first, last), (begin, end)] = boundaries;
    let format = disk.mode_page(FormatDevice::CODE)?;
    let format = FormatDevice::parse(&format).map_err(|_| short("format device"))?;
    let all_ones = first == u32::MAX || last == u32::MAX;
    Ok(Told {
        blocks: (!all_ones).then_some((first.into(), last.into())),
        // Three bytes of cylinder and one of head.
        cylinders: (begin >> 8, end >> 8),
        sectors: format.sectors_per_track,
        spare_tracks: format.spare_tracks_per_zone.into(),
    })
}

/// The heads that the geometry page tells of, if any.
pub(super) fn heads(disk: &mut Disk<'_>) -> Option<u32> {
    let page = disk.mode_page(Geometry::CODE).ok()?;
    let page = Geometry::parse(&page).ok()?;
    Some(page.heads.into())
}

/// One past the last block of each cylinder with blocks.
pub(super) fn cylinder_ends(disk: &mut Disk<'_>) -> Result<Vec<u64>, Error> {
    let capacity = disk.sectors().0;
    let mut ends = Vec::new();
    let mut at = 0;
    while at < capacity {
        let (last, _) = disk.capacity(Some(Lbn(at)))?;
        if last < at || last >= capacity {
            return Err(nominal(format!(
                "the cylinder of block {at} ends with block {last}"
            )));
        }
        at = last + 1;
        ends.push(at);
    }
    if ends.len() < 2 {
        let reason = "READ CAPACITY with PMI tells no cylinders".to_owned();
        return Err(Error::Undecided(reason));
    }
    Ok(ends)
}

/// A zone, and the ends of its cylinders.
#[derive(Debug)]
pub(super) struct Span<'a> {
    pub told: Told,
    pub first: u64,
    pub ends: &'a [u64],
}

impl Span<'_> {
    /// Blocks of each cylinder.
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        let begins = std::iter::once(&self.first).chain(self.ends);
        self.ends.iter().zip(begins).map(|(end, begin)| end - begin)
    }

    pub fn end(&self) -> u64 {
        self.ends[self.ends.len() - 1]
    }

    /// Cylinders of the zone that hold no blocks.
    pub fn empty(&self) -> u32 {
        let (first, last) = self.told.cylinders;
        last - first + 1 - self.ends.len() as u32
    }
}

/// The cylinders of each notch.
pub(super) fn spans<'a>(notches: &[Told], ends: &'a [u64]) -> Result<Vec<Span<'a>>, Error> {
    let mut spans: Vec<Span<'a>> = Vec::new();
    let (mut next, mut cylinder, mut rest) = (0, 0, ends);
    for told in notches {
        let (first, last) = told.cylinders;
        if first < cylinder || last < first {
            return Err(nominal(format!(
                "a notch has cylinders {first} to {last}, behind {cylinder} cylinders"
            )));
        }
        let all = (last - first) as usize + 1;
        let count = match told.blocks {
            Some((_, last)) => rest.partition_point(|end| *end <= last + 1),
            None => all.min(rest.len()),
        };
        let (own, others) = rest.split_at(count);
        let blocks = own.last().map(|end| (next, end - 1));
        let shown = |blocks: Option<(u64, u64)>| match blocks {
            Some((first, last)) => format!("blocks {first} to {last}"),
            None => "no blocks".to_owned(),
        };
        if blocks.is_none() || told.blocks.is_some() && told.blocks != blocks || count > all {
            return Err(nominal(format!(
                "a notch has {} and cylinders {first} to {last}, READ CAPACITY has {} on {count} \
                 cylinders",
                told.blocks
                    .map_or("unknown blocks".to_owned(), |told| shown(Some(told))),
                shown(blocks)
            )));
        }
        spans.push(Span {
            told: *told,
            first: next,
            ends: own,
        });
        (next, cylinder, rest) = (own[count - 1], last + 1, others);
    }
    if !rest.is_empty() {
        return Err(nominal(format!("no notch holds block {next}")));
    }
    Ok(spans)
}
