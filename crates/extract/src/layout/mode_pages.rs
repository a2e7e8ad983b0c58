//! The zones and cylinders that the drive reports: notch, format device and geometry pages, and
//! READ CAPACITY with PMI (worthington96 section 4.1.3), checked against one another.

use diskarm_core::units::Lbn;
use diskarm_wire::mode::{FormatDevice, Geometry, Notch};

use crate::{Disk, Error};

pub(super) fn nominal(reason: String) -> Error {
    Error::Undecided(format!("the drive's mode pages are wrong: {reason}"))
}

/// A zone as reported by the notch page.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportedZone {
    /// First and last block; `None` if they exceed their fields.
    pub blocks: Option<(u64, u64)>,
    /// First and last cylinder.
    pub cylinders: (u32, u32),
    /// Sectors per track.
    pub sectors: u16,
    pub spare_tracks: u64,
}

/// Above any drive's number of notches.
const NOTCHES_MAX: u16 = 5_000;

/// Returns all notches in the order of their blocks.
pub(super) fn notches(disk: &mut Disk<'_>) -> Result<Vec<ReportedZone>, Error> {
    let before = notch(disk)?;
    let count = before.maximum;
    if count == 0 || count > NOTCHES_MAX {
        return Err(nominal(format!("the notch page reports {count} notches")));
    }
    let result: Result<Vec<ReportedZone>, Error> =
        (1..=count).map(|active| read_notch(disk, active)).collect();
    // Restore the active notch even if reading failed.
    activate(disk, before.active, before.logical)?;
    let mut zones = result?;
    zones.sort_by_key(|zone| zone.cylinders);
    Ok(zones)
}

fn notch(disk: &mut Disk<'_>) -> Result<Notch, Error> {
    let page = disk.mode_page(Notch::CODE)?;
    Notch::parse(&page).map_err(|_| short("notch"))
}

fn short(page: &str) -> Error {
    nominal(format!("the {page} page is truncated"))
}

/// Makes a notch active and returns its page. Only changed fields may be sent (SPC-4).
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

fn read_notch(disk: &mut Disk<'_>, active: u16) -> Result<ReportedZone, Error> {
    let mut boundaries = [(0, 0); 2];
    for (logical, boundaries) in [true, false].into_iter().zip(&mut boundaries) {
        let page = activate(disk, active, logical)?;
        *boundaries = (page.starting_boundary, page.ending_boundary);
    }
    let [(first, last), (begin, end)] = boundaries;
    let format = disk.mode_page(FormatDevice::CODE)?;
    let format = FormatDevice::parse(&format).map_err(|_| short("format device"))?;
    let all_ones = first == u32::MAX || last == u32::MAX;
    Ok(ReportedZone {
        blocks: (!all_ones).then_some((first.into(), last.into())),
        // Three bytes of cylinder and one of head.
        cylinders: (begin >> 8, end >> 8),
        sectors: format.sectors_per_track,
        spare_tracks: format.spare_tracks_per_zone.into(),
    })
}

/// Returns the number of heads in the geometry page.
pub(super) fn heads(disk: &mut Disk<'_>) -> Option<u32> {
    let page = disk.mode_page(Geometry::CODE).ok()?;
    let page = Geometry::parse(&page).ok()?;
    Some(page.heads.into())
}

/// Returns one past the last block of each cylinder with blocks.
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
        let reason = "READ CAPACITY with PMI reports no cylinders".to_owned();
        return Err(Error::Undecided(reason));
    }
    Ok(ends)
}

/// A reported zone and the ends of its cylinders.
#[derive(Debug)]
pub(super) struct NotchZone<'a> {
    pub reported: ReportedZone,
    pub first: u64,
    pub ends: &'a [u64],
}

impl NotchZone<'_> {
    /// The number of blocks of each cylinder.
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        let begins = std::iter::once(&self.first).chain(self.ends);
        self.ends.iter().zip(begins).map(|(end, begin)| end - begin)
    }

    pub fn end(&self) -> u64 {
        self.ends[self.ends.len() - 1]
    }

    /// The number of cylinders that hold no blocks.
    pub fn empty(&self) -> u32 {
        let (first, last) = self.reported.cylinders;
        last - first + 1 - self.ends.len() as u32
    }
}

/// Assigns the cylinders to the notches.
pub(super) fn notch_zones<'a>(
    notches: &[ReportedZone],
    ends: &'a [u64],
) -> Result<Vec<NotchZone<'a>>, Error> {
    let mut zones: Vec<NotchZone<'a>> = Vec::new();
    let (mut next, mut cylinder, mut rest) = (0, 0, ends);
    for reported in notches {
        let (first, last) = reported.cylinders;
        if first < cylinder || last < first {
            return Err(nominal(format!(
                "a notch has cylinders {first} to {last}, after {cylinder} cylinders"
            )));
        }
        let all = (last - first) as usize + 1;
        let count = match reported.blocks {
            Some((_, last)) => rest.partition_point(|end| *end <= last + 1),
            None => all.min(rest.len()),
        };
        let (own, others) = rest.split_at(count);
        let blocks = own.last().map(|end| (next, end - 1));
        let shown = |blocks: Option<(u64, u64)>| match blocks {
            Some((first, last)) => format!("blocks {first} to {last}"),
            None => "no blocks".to_owned(),
        };
        if blocks.is_none() || reported.blocks.is_some() && reported.blocks != blocks || count > all
        {
            return Err(nominal(format!(
                "a notch has {} and cylinders {first} to {last}, READ CAPACITY has {} on {count} \
                 cylinders",
                reported
                    .blocks
                    .map_or("unknown blocks".to_owned(), |reported| shown(Some(
                        reported
                    ))),
                shown(blocks)
            )));
        }
        zones.push(NotchZone {
            reported: *reported,
            first: next,
            ends: own,
        });
        (next, cylinder, rest) = (own[count - 1], last + 1, others);
    }
    if !rest.is_empty() {
        return Err(nominal(format!("no notch holds block {next}")));
    }
    Ok(zones)
}
