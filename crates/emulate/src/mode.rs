//! The table of mode pages: their default content, changeable bits, and effects.
//!
//! To read the geometry (worthington96 section 4.1.3), an initiator selects a notch (a zone) in the
//! notch page. The format page and the boundaries in the notch page then describe that notch. The
//! buffer ratios in the disconnect-reconnect page set the watermarks of the model.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{Buffer, ReadAhead, Sparing, Spec, WriteCache};
use diskarm_core::units::{Lbn, SectorCount, Span};
use diskarm_wire::Sense;
use diskarm_wire::command::Values;
use diskarm_wire::mode::{
    Caching, Control, Disconnect, ErrorRecovery, Exceptions, FlexibleDisk, FormatDevice, Geometry,
    Notch, Page,
};

use crate::realism::{Places, Realism};
use crate::state::{Context, invalid_parameter};

/// The state that a page describes.
struct View<'a> {
    /// The original specification and the current layout of the drive, if known.
    drive: Option<(&'a Spec, &'a Layout)>,
    /// The active notch, from 1; 0 for the whole drive.
    notch: u16,
    /// True if notch boundaries are block addresses.
    logical: bool,
    realism: Realism,
}

impl<'a> View<'a> {
    fn new(context: &'a Context<'_>, values: Values) -> Self {
        let page = changed_content(context, values, Notch::CODE);
        let parsed = page.and_then(|page| Notch::parse(page).ok());
        let notch = parsed.unwrap_or_default();
        Self {
            drive: context
                .state
                .original_spec
                .as_ref()
                .zip(context.device.layout()),
            notch: notch.active,
            logical: notch.logical,
            realism: context.state.realism,
        }
    }

    /// Returns the indices of the zones that contain blocks. These are the notches of the drive.
    fn notches(&self) -> Vec<usize> {
        let Some((spec, layout)) = self.drive else {
            return Vec::new();
        };
        let holds_blocks = |zone: &usize| {
            let (first, end) = layout.zone_blocks(*zone);
            first < end
        };
        let zones = 0..spec.geometry.zones.len();
        zones.filter(holds_blocks).collect()
    }
}

struct PageEntry {
    code: u8,
    /// The default content; `None` if the unit does not have the page.
    values: fn(&View<'_>) -> Option<Vec<u8>>,
    /// A mask of the changeable bits; `None` if there are none.
    mask: Option<fn(&View<'_>) -> Vec<u8>>,
    /// Checks content that differs only in changeable bits; returns the offset of an invalid value.
    check: fn(&View<'_>, &[u8]) -> Option<usize>,
}

const fn fixed_page(code: u8, values: fn(&View<'_>) -> Option<Vec<u8>>) -> PageEntry {
    PageEntry {
        code,
        values,
        mask: None,
        check: |_, _| None,
    }
}

/// All pages, in the order of their codes.
static PAGES: &[PageEntry] = &[
    // Retries are up to the device.
    fixed_page(ErrorRecovery::CODE, |_| {
        Some(vec![0; ErrorRecovery::LENGTH])
    }),
    // Buffer ratios, in units of 1/256.
    PageEntry {
        mask: Some(|view| {
            let mask = view.drive.map_or([0; 2], |_| [u8::MAX; 2]);
            disconnect(mask).emit().to_vec()
        }),
        ..fixed_page(Disconnect::CODE, |view| {
            Some(disconnect(ratios(view)).emit().to_vec())
        })
    },
    fixed_page(FormatDevice::CODE, |view| {
        Some(format_device(view)?.emit().to_vec())
    }),
    fixed_page(Geometry::CODE, |view| Some(geometry(view)?.emit().to_vec())),
    // Some programs request this page from fixed disks, too.
    fixed_page(FlexibleDisk::CODE, |view| {
        Some(flexible_disk(view)?.emit().to_vec())
    }),
    PageEntry {
        mask: Some(|view| caching_mask(view).emit().to_vec()),
        check: check_caching,
        ..fixed_page(Caching::CODE, |view| Some(caching(view).emit().to_vec()))
    },
    // The format of sense data, and write protection.
    PageEntry {
        mask: Some(|_| {
            let mask = Control {
                descriptor_sense: true,
                write_protect: true,
                ..Control::default()
            };
            mask.emit().to_vec()
        }),
        ..fixed_page(Control::CODE, |_| {
            let control = Control {
                queue_algorithm: 1,
                ..Control::default()
            };
            Some(control.emit().to_vec())
        })
    },
    PageEntry {
        mask: Some(|_| {
            let mask = Notch {
                logical: true,
                active: u16::MAX,
                ..Notch::default()
            };
            mask.emit().to_vec()
        }),
        check: |view, page| {
            let notch = Notch::parse(page).ok()?;
            // Byte 6 of the page, counting the two bytes of its header.
            (usize::from(notch.active) > view.notches().len()).then_some(4)
        },
        ..fixed_page(Notch::CODE, |view| Some(notch(view)?.emit().to_vec()))
    },
    // The model predicts no faults.
    fixed_page(Exceptions::CODE, |_| {
        let exceptions = Exceptions {
            disabled: true,
            ..Exceptions::default()
        };
        Some(exceptions.emit().to_vec())
    }),
];

/// Returns the content of a page if it was changed.
fn changed_content<'a>(context: &'a Context<'_>, values: Values, code: u8) -> Option<&'a Vec<u8>> {
    match values {
        Values::Current => context.state.modes.current.get(&code),
        Values::Saved => context.state.modes.saved.get(&code),
        Values::Default | Values::Changeable => None,
    }
}

impl PageEntry {
    fn mask(&self, view: &View<'_>, length: usize) -> Vec<u8> {
        self.mask.map_or_else(|| vec![0; length], |mask| mask(view))
    }

    fn content(&self, context: &Context<'_>, values: Values) -> Option<Vec<u8>> {
        let view = View::new(context, values);
        let default = (self.values)(&view)?;
        let mask = self.mask(&view, default.len());
        if values == Values::Changeable {
            return Some(mask);
        }
        let Some(changed) = changed_content(context, values, self.code) else {
            return Some(default);
        };
        let bits = default.iter().zip(changed).zip(&mask);
        let merge =
            |((default, changed), mask): ((&u8, &u8), &u8)| default & !mask | changed & mask;
        Some(bits.map(merge).collect())
    }
}

/// Returns one page or all pages for MODE SENSE; `None` if the page does not exist.
pub(crate) fn pages(context: &Context<'_>, which: Option<u8>, values: Values) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    for entry in PAGES {
        if which.is_some_and(|code| code != entry.code) {
            continue;
        }
        let Some(content) = entry.content(context, values) else {
            continue;
        };
        let page = Page {
            saveable: true,
            code: entry.code,
            subpage: None,
            content: &content,
        };
        data.extend(page.emit());
    }
    (which.is_none() || !data.is_empty()).then_some(data)
}

/// Checks a page that an initiator has sent at offset `at` of its list: only changeable bits may
/// differ, and the values must be acceptable.
pub(crate) fn check(context: &Context<'_>, at: usize, page: &Page<'_>) -> Result<(), Sense> {
    let is_match = |entry: &&PageEntry| entry.code == page.code && page.subpage.is_none();
    let entry = PAGES.iter().find(is_match);
    let current = entry.and_then(|entry| Some((entry, entry.content(context, Values::Current)?)));
    let (entry, current) = current.ok_or(invalid_parameter(at, Some(5)))?;
    if page.content.len() != current.len() {
        return Err(invalid_parameter(at + 1, None));
    }
    let view = View::new(context, Values::Current);
    let mask = entry.mask(&view, current.len());
    // The content begins after the page code and the length.
    let begin = at + 2;
    for (byte, ((new, current), mask)) in page.content.iter().zip(&current).zip(&mask).enumerate() {
        let wrong = (new ^ current) & !mask;
        if wrong != 0 {
            let bit = 7 - wrong.leading_zeros() as u8;
            return Err(invalid_parameter(begin + byte, Some(bit)));
        }
    }
    match (entry.check)(&view, page.content) {
        Some(byte) => Err(invalid_parameter(begin + byte, None)),
        None => Ok(()),
    }
}

/// Stores the content of checked pages; returns true if any value has changed.
pub(crate) fn change(context: &mut Context<'_>, changes: Vec<(u8, Vec<u8>)>, save: bool) -> bool {
    let mut differs = false;
    for (code, new) in changes {
        let entry = PAGES.iter().find(|entry| entry.code == code);
        let current = entry.and_then(|entry| entry.content(context, Values::Current));
        differs |= current.as_ref() != Some(&new);
        if save {
            context.state.modes.saved.insert(code, new.clone());
        }
        context.state.modes.current.insert(code, new);
    }
    if differs {
        apply(context);
    }
    differs
}

pub(crate) fn apply(context: &mut Context<'_>) {
    let Some(original_spec) = context.state.original_spec.as_ref() else {
        return;
    };
    let mut spec = original_spec.clone();
    if let Some(spec_now) = context.device.spec() {
        spec.geometry = spec_now.geometry.clone();
    }
    let modes = &context.state.modes;
    let caching = modes.page(Caching::CODE, Caching::parse);
    if let Some(page) = caching.filter(|_| spec.buffer.caching) {
        apply_write_cache(page.write_cache, &mut spec);
        apply_read_ahead(&page, &mut spec.buffer);
    }
    if let Some(page) = modes.page(Disconnect::CODE, Disconnect::parse) {
        apply_ratios(&page, &mut spec.buffer);
    }
    context.state.read_cache_disabled = caching.is_some_and(|page| page.read_cache_disabled);
    if context.device.spec() != Some(&spec) {
        context.device.set_buffer(context.now, &spec);
    }
}

/// Returns the revolutions per minute, rounded.
pub(crate) fn rotation_rate(spec: &Spec) -> u16 {
    (60e9 / spec.mechanics.period_ns).round().min(65_534.0) as u16
}

fn geometry(view: &View<'_>) -> Option<Geometry> {
    let (spec, layout) = view.drive?;
    Some(Geometry {
        cylinders: layout.cylinders(),
        heads: layout.surfaces() as u8,
        rotation_rate: if view.realism.nominal {
            // To the nearest ten: 5411 revolutions per minute are advertised as 5410.
            (rotation_rate(spec) + 5) / 10 * 10
        } else {
            rotation_rate(spec)
        },
        ..Geometry::default()
    })
}

/// Describes the drive as if all its tracks were equal; values that do not fit are zero.
fn flexible_disk(view: &View<'_>) -> Option<FlexibleDisk> {
    let (spec, layout) = view.drive?;
    let geometry = &spec.geometry;
    let tracks = u64::from(geometry.surfaces) * u64::from(geometry.cylinders);
    let sectors = geometry.sectors.0 / tracks;
    let rotation_rate = rotation_rate(spec);
    let bits = sectors * u64::from(geometry.sector_bytes) * 8 * u64::from(rotation_rate) / 60;
    Some(FlexibleDisk {
        transfer_rate: u16_or_zero(bits / 1000),
        heads: layout.surfaces() as u8,
        sectors_per_track: u8::try_from(sectors).unwrap_or(0),
        sector_bytes: u16_or_zero(geometry.sector_bytes.into()),
        cylinders: u16_or_zero(geometry.cylinders.into()),
        rotation_rate,
    })
}

/// Returns zero ("undefined" in SCSI-2) for a value that does not fit its field.
fn u16_or_zero(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(0)
}

/// Describes the tracks of the active notch, or of the first notch if none is active. Nominal
/// values describe the mean track.
fn format_device(view: &View<'_>) -> Option<FormatDevice> {
    let (spec, _) = view.drive?;
    let index = *view.notches().get(usize::from(view.notch.max(1)) - 1)?;
    let (geometry, zone) = (&spec.geometry, &spec.geometry.zones[index]);
    let surfaces = u64::from(geometry.surfaces);
    let page = FormatDevice {
        sector_bytes: u16_or_zero(geometry.sector_bytes.into()),
        interleave: 1,
        hard_sectors: true,
        ..FormatDevice::default()
    };
    if view.realism.nominal {
        let tracks = surfaces * u64::from(geometry.cylinders);
        return Some(FormatDevice {
            sectors_per_track: u16_or_zero(geometry.sectors.0 / tracks),
            ..page
        });
    }
    let tracks = surfaces * u64::from(zone.end_cylinder - zone.first_cylinder);
    let region = match geometry.sparing {
        Sparing::None | Sparing::SectorsPerDisk => 0,
        Sparing::SectorsPerTrack => 1,
        Sparing::SectorsPerCylinder | Sparing::SectorsPerCylinderFront => surfaces,
        Sparing::SectorsPerRange => surfaces * u64::from(geometry.sparing_range),
        Sparing::SectorsPerZone | Sparing::TracksPerZone => tracks,
    };
    let (spare_sectors, spare_tracks) = match geometry.sparing {
        Sparing::None | Sparing::SectorsPerDisk => (0, 0),
        Sparing::TracksPerZone => (0, zone.spares),
        _ => (zone.spares * geometry.physical_sector.0, 0),
    };
    let skew = |sectors: f64| sectors.round().clamp(0.0, 65_535.0) as u16;
    Some(FormatDevice {
        tracks_per_zone: u16_or_zero(region),
        spare_sectors_per_zone: u16_or_zero(spare_sectors),
        spare_tracks_per_zone: u16_or_zero(spare_tracks),
        sectors_per_track: u16_or_zero(zone.sectors_per_track.into()),
        track_skew: skew(zone.track_skew_sectors),
        cylinder_skew: skew(zone.cylinder_skew_sectors),
        ..page
    })
}

fn notch(view: &View<'_>) -> Option<Notch> {
    let (spec, layout) = view.drive?;
    if view.realism.places == Places::Hidden {
        return None;
    }
    let notches = view.notches();
    let (first, last) = match view.notch.checked_sub(1) {
        None => (0, notches.len() - 1),
        Some(index) => (usize::from(index), usize::from(index)),
    };
    let (first, last) = (*notches.get(first)?, *notches.get(last)?);
    let (starting_boundary, ending_boundary) = if view.logical {
        let short = |Lbn(block): Lbn| u32::try_from(block).unwrap_or(u32::MAX);
        let end = layout.zone_blocks(last).1;
        (short(layout.zone_blocks(first).0), short(Lbn(end.0 - 1)))
    } else {
        // Three bytes for the cylinder, one for the head.
        let zones = &spec.geometry.zones;
        let begin = zones[first].first_cylinder << 8;
        let end = zones[last].end_cylinder - 1;
        (begin, end << 8 | (layout.surfaces() - 1))
    };
    Some(Notch {
        notched: notches.len() > 1,
        logical: view.logical,
        maximum: notches.len() as u16,
        active: view.notch,
        starting_boundary,
        ending_boundary,
        pages_notched: 1 << FormatDevice::CODE | 1 << Notch::CODE,
    })
}

fn blocks(sectors: SectorCount) -> u16 {
    sectors.0.min(u16::MAX.into()) as u16
}

/// Returns the caching page. A device that reports nothing about itself may have a write cache.
fn caching(view: &View<'_>) -> Caching {
    let Some((spec, _)) = view.drive else {
        return Caching {
            write_cache: true,
            ..Caching::default()
        };
    };
    let rules = &spec.buffer;
    let reads_ahead = rules.read_ahead != ReadAhead::None;
    let ahead = |sectors| if reads_ahead { blocks(sectors) } else { 0 };
    Caching {
        abort_prefetch: rules.read_ahead_stops_mid_sector,
        across_cylinders: matches!(rules.read_ahead, ReadAhead::UntilFull | ReadAhead::OneTrack),
        write_cache: rules.write_cache != WriteCache::Off,
        read_cache_disabled: !rules.caching,
        prefetch_up_to: if reads_ahead { u16::MAX } else { 0 },
        minimum_prefetch: ahead(rules.read_ahead_min),
        maximum_prefetch: ahead(rules.read_ahead_max),
        prefetch_ceiling: ahead(rules.read_ahead_max),
        segment_in_blocks: true,
        no_read_ahead: !reads_ahead,
        segments: rules.segments.min(u8::MAX.into()) as u8,
        segment_size: blocks(rules.segment),
        ..Caching::default()
    }
}

/// Returns the bits that affect the model; a drive without a cache has none.
fn caching_mask(view: &View<'_>) -> Caching {
    let Some((spec, _)) = view.drive.filter(|(spec, _)| spec.buffer.caching) else {
        return Caching::default();
    };
    let scheme = spec.buffer.read_ahead;
    let reads_ahead = scheme != ReadAhead::None;
    let field_mask = if reads_ahead { u16::MAX } else { 0 };
    Caching {
        across_cylinders: matches!(scheme, ReadAhead::UntilFull | ReadAhead::CylinderEnd),
        write_cache: true,
        read_cache_disabled: true,
        minimum_prefetch: field_mask,
        maximum_prefetch: field_mask,
        prefetch_ceiling: field_mask,
        no_read_ahead: reads_ahead,
        ..Caching::default()
    }
}

/// Checks that the read-ahead minimum is at most the maximum, and the maximum at most a segment.
fn check_caching(view: &View<'_>, page: &[u8]) -> Option<usize> {
    let page = Caching::parse(page).ok()?;
    let segment = view.drive.map(|(spec, _)| blocks(spec.buffer.segment));
    // Bytes 6 and 8 of the page, counting the two bytes of its header.
    if page.maximum_prefetch > segment.unwrap_or(0) {
        return Some(6);
    }
    (page.minimum_prefetch > page.maximum_prefetch.min(page.prefetch_ceiling)).then_some(4)
}

/// Changes the read-ahead. A field that was not changed leaves the current value as it is, since
/// that value may not fit the field.
fn apply_read_ahead(page: &Caching, rules: &mut Buffer) {
    let max = page.maximum_prefetch.min(page.prefetch_ceiling);
    if max != blocks(rules.read_ahead_max) {
        rules.read_ahead_max = SectorCount(max.into());
    }
    if page.minimum_prefetch != blocks(rules.read_ahead_min) {
        rules.read_ahead_min = SectorCount(page.minimum_prefetch.into());
    }
    rules.read_ahead = match (rules.read_ahead, page.across_cylinders) {
        _ if page.no_read_ahead || page.read_cache_disabled => ReadAhead::None,
        (ReadAhead::UntilFull | ReadAhead::CylinderEnd, true) => ReadAhead::UntilFull,
        (ReadAhead::UntilFull | ReadAhead::CylinderEnd, false) => ReadAhead::CylinderEnd,
        (other, _) => other,
    };
    if rules.read_ahead == ReadAhead::None {
        rules.read_ahead_min = SectorCount(0);
        rules.read_ahead_failures = 0.0;
    }
}

/// Switches the write cache on or off. A drive with room for dirty data defers destaging. If the
/// drive was measured without a write cache, absorbed writes have the overheads of media writes.
fn apply_write_cache(on: bool, spec: &mut Spec) {
    let (rules, overheads) = (&mut spec.buffer, &mut spec.overheads);
    if !on {
        rules.write_cache = WriteCache::Off;
    } else if rules.write_cache == WriteCache::Off {
        rules.write_cache = match rules.dirty_max {
            SectorCount(0) => WriteCache::Always,
            _ => WriteCache::Deferred,
        };
        let hits = [
            overheads.write_hit_after_read,
            overheads.write_hit_after_write,
        ];
        if hits == [Span::ZERO; 2] {
            overheads.write_hit_after_read = overheads.write_miss_after_read;
            overheads.write_hit_after_write = overheads.write_miss_after_write;
        }
    }
}

/// Returns the default buffer full and buffer empty ratios.
fn ratios(view: &View<'_>) -> [u8; 2] {
    let specified = view.drive.map(|(spec, _)| buffer_ratios(&spec.buffer));
    let [full, empty] = specified.unwrap_or_default();
    let full = if view.realism.adaptive_ratios {
        0
    } else {
        full
    };
    [full, empty]
}

fn buffer_ratios(buffer: &Buffer) -> [u8; 2] {
    [buffer.read_watermark, buffer.write_watermark]
        .map(|fraction| (fraction * 256.0).round().min(255.0) as u8)
}

fn disconnect([buffer_full_ratio, buffer_empty_ratio]: [u8; 2]) -> Disconnect {
    Disconnect {
        buffer_full_ratio,
        buffer_empty_ratio,
        ..Disconnect::default()
    }
}

/// Changes the watermarks. A ratio equal to the rounded watermark leaves the exact watermark
/// unchanged.
fn apply_ratios(page: &Disconnect, buffer: &mut Buffer) {
    let [full, empty] = buffer_ratios(buffer);
    if page.buffer_full_ratio != full {
        buffer.read_watermark = f64::from(page.buffer_full_ratio) / 256.0;
    }
    if page.buffer_empty_ratio != empty {
        buffer.write_watermark = f64::from(page.buffer_empty_ratio) / 256.0;
    }
}
