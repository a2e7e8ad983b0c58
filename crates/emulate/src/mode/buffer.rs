//! Mode pages about the buffer: caching, and disconnect-reconnect, whose buffer ratios are the
//! watermarks of the model.

use diskarm_core::spec::{Buffer, ReadAhead, Spec, WriteCache};
use diskarm_core::units::{SectorCount, Span};
use diskarm_wire::mode::{Caching, Disconnect};

use super::{PageEntry, PageError, View, accept};

/// The contents of the buffer, its read-ahead, and whether writes end before they are on the media.
pub(super) const CACHING: PageEntry = PageEntry {
    code: Caching::CODE,
    values: |view| Some(default_caching(view).emit().to_vec()),
    mask: |view| caching_mask(view).emit().to_vec(),
    check: check_caching,
};

const EMPTY: Caching = Caching {
    initiator_control: false,
    abort_prefetch: false,
    analysis: false,
    across_cylinders: false,
    by_segment_size: false,
    write_cache: false,
    multiplied: false,
    read_cache_disabled: false,
    read_retention: 0,
    write_retention: 0,
    prefetch_up_to: 0,
    minimum_prefetch: 0,
    maximum_prefetch: 0,
    prefetch_ceiling: 0,
    force_sequential: false,
    segment_in_blocks: false,
    no_read_ahead: false,
    non_volatile_disabled: false,
    segments: 0,
    segment_size: 0,
};

fn blocks(sectors: SectorCount) -> u16 {
    sectors.0.min(u16::MAX.into()) as u16
}

fn default_caching(view: &View<'_>) -> Caching {
    let Some((spec, _)) = view.drive else {
        return EMPTY;
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
        ..EMPTY
    }
}

/// Returns the bits that change the model; a drive without a cache has none.
fn caching_mask(view: &View<'_>) -> Caching {
    let Some((spec, _)) = view.drive.filter(|(spec, _)| spec.buffer.caching) else {
        return EMPTY;
    };
    let scheme = spec.buffer.read_ahead;
    let reads_ahead = scheme != ReadAhead::None;
    let field = if reads_ahead { u16::MAX } else { 0 };
    Caching {
        across_cylinders: matches!(scheme, ReadAhead::UntilFull | ReadAhead::CylinderEnd),
        write_cache: true,
        read_cache_disabled: true,
        minimum_prefetch: field,
        maximum_prefetch: field,
        prefetch_ceiling: field,
        no_read_ahead: reads_ahead,
        ..EMPTY
    }
}

/// Checks that the minimum read-ahead does not exceed the maximum.
fn check_caching(view: &View<'_>, page: &[u8]) -> Result<(), PageError> {
    let invalid = |byte| Err(PageError::Field { byte, bit: None });
    let Ok(page) = Caching::parse(page) else {
        return Err(PageError::Length);
    };
    let max = view
        .drive
        .map_or(0, |(spec, _)| blocks(spec.buffer.segment));
    // Bytes 6, 8 and 10 of the page, whose header has two.
    if page.maximum_prefetch > max {
        return invalid(6);
    }
    if page.minimum_prefetch > page.maximum_prefetch.min(page.prefetch_ceiling) {
        return invalid(4);
    }
    Ok(())
}

/// Changes the rules of the buffer. Fields with the current value leave it unchanged, since it may
/// be finer.
pub(super) fn apply_caching(page: &Caching, spec: &mut Spec) {
    let rules = &mut spec.buffer;
    if !rules.caching {
        return;
    }
    write_cache(page.write_cache, spec);
    let rules = &mut spec.buffer;
    read_ahead(page, rules);
}

fn read_ahead(page: &Caching, rules: &mut Buffer) {
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

/// A drive that has room for dirty data chooses when to destage them. If the drive was measured
/// without write cache, the overheads of absorbed writes are unknown; those of media writes are
/// assumed.
fn write_cache(on: bool, spec: &mut Spec) {
    let (rules, overheads) = (&mut spec.buffer, &mut spec.overheads);
    match (on, rules.write_cache) {
        (false, _) => rules.write_cache = WriteCache::Off,
        (true, WriteCache::Off) => {
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
        (true, _) => {}
    }
}

/// Buffer ratios, in parts of 256.
pub(super) const DISCONNECT: PageEntry = PageEntry {
    code: Disconnect::CODE,
    values: |view| Some(disconnect_page(ratios(view)).emit().to_vec()),
    mask: |view| {
        disconnect_page(view.drive.map_or([0; 2], |_| [u8::MAX; 2]))
            .emit()
            .to_vec()
    },
    check: accept,
};

/// Returns the default full and empty ratios.
fn ratios(view: &View<'_>) -> [u8; 2] {
    let given = view
        .drive
        .map_or([0; 2], |(spec, _)| buffer_ratios(&spec.buffer));
    if view.realism.adaptive_ratios {
        [0, given[1]]
    } else {
        given
    }
}

fn buffer_ratios(buffer: &Buffer) -> [u8; 2] {
    [buffer.read_watermark, buffer.write_watermark]
        .map(|fraction| (fraction * 256.0).round().min(255.0) as u8)
}

fn disconnect_page([full, empty]: [u8; 2]) -> Disconnect {
    Disconnect {
        buffer_full_ratio: full,
        buffer_empty_ratio: empty,
        bus_inactivity_limit: 0,
        disconnect_time_limit: 0,
        connect_time_limit: 0,
        maximum_burst: 0,
        data_transfer_disconnect: 0,
    }
}

/// Changes the watermarks. A ratio equal to the rounded fraction leaves the fraction unchanged,
/// since it may be finer.
pub(super) fn apply_ratios(page: &Disconnect, spec: &mut Spec) {
    let [full, empty] = buffer_ratios(&spec.buffer);
    if page.buffer_full_ratio != full {
        spec.buffer.read_watermark = f64::from(page.buffer_full_ratio) / 256.0;
    }
    if page.buffer_empty_ratio != empty {
        spec.buffer.write_watermark = f64::from(page.buffer_empty_ratio) / 256.0;
    }
}
