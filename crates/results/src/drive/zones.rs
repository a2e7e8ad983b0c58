//! The zones of a drive as a table.

use diskarm_core::spec::Spec;
use serde::Serialize;

/// A zone as it is printed.
#[derive(Serialize)]
pub struct Zone {
    first_cylinder: u32,
    end_cylinder: u32,
    sectors_per_track: u32,
    media_rate_bytes_per_s: f64,
    first_offset_sectors: f64,
    track_skew_sectors: f64,
    cylinder_skew_sectors: f64,
    reserved_sectors: u64,
    spares: u64,
    slips: usize,
    defects: usize,
}

/// The zones of `spec`, outermost first.
pub fn of(spec: &Spec) -> Vec<Zone> {
    let revolutions_per_s = 1e9 / spec.mechanics.period_ns;
    let zones = spec.geometry.zones.iter().map(|zone| {
        let track_bytes = u64::from(zone.sectors_per_track) * u64::from(spec.geometry.sector_bytes);
        Zone {
            first_cylinder: zone.first_cylinder,
            end_cylinder: zone.end_cylinder,
            sectors_per_track: zone.sectors_per_track,
            media_rate_bytes_per_s: track_bytes as f64 * revolutions_per_s,
            first_offset_sectors: zone.first_offset_sectors,
            track_skew_sectors: zone.track_skew_sectors,
            cylinder_skew_sectors: zone.cylinder_skew_sectors,
            reserved_sectors: zone.reserved_sectors.0,
            spares: zone.spares,
            slips: zone.slips.len(),
            defects: zone.defects.len(),
        }
    });
    zones.collect()
}

/// A column of the table: two lines of heading, and a function that gives a zone's cell.
struct Column {
    heading: [&'static str; 2],
    cell: fn(&Zone) -> String,
}

/// Optional columns: those that are zero in every zone are omitted.
const COLUMNS: [Column; 9] = [
    column(["sectors/", "track"], |z| z.sectors_per_track.to_string()),
    column(["media", "MB/s"], |z| {
        format!("{:.2}", z.media_rate_bytes_per_s / 1e6)
    }),
    column(["first", "offset"], |z| tenths(z.first_offset_sectors)),
    column(["track", "skew"], |z| tenths(z.track_skew_sectors)),
    column(["cyl.", "skew"], |z| tenths(z.cylinder_skew_sectors)),
    column(["", "reserved"], |z| z.reserved_sectors.to_string()),
    column(["", "spares"], |z| z.spares.to_string()),
    column(["", "slips"], |z| z.slips.to_string()),
    column(["", "defects"], |z| z.defects.to_string()),
];

const fn column(heading: [&'static str; 2], cell: fn(&Zone) -> String) -> Column {
    Column { heading, cell }
}

fn tenths(sectors: f64) -> String {
    format!("{sectors:.1}")
}

/// The table as text, indented by two, at most 80 columns wide.
pub fn table(zones: &[Zone]) -> String {
    let numbers: Vec<String> = (0..zones.len()).map(|number| number.to_string()).collect();
    let cylinders = |zone: &Zone| format!("[{}, {})", zone.first_cylinder, zone.end_cylinder);
    let mut lines = vec![String::new(); zones.len() + 2];
    append(&mut lines, ["", "zone"], numbers);
    append(
        &mut lines,
        ["", "cylinders"],
        zones.iter().map(cylinders).collect(),
    );
    for Column { heading, cell } in &COLUMNS {
        let cells: Vec<String> = zones.iter().map(cell).collect();
        let is_zero = |cell: &String| cell.bytes().all(|byte| b"0.".contains(&byte));
        if !cells.iter().all(is_zero) {
            append(&mut lines, *heading, cells);
        }
    }
    lines
        .iter()
        .map(|line| format!(" {}\n", line.trim_end()))
        .collect()
}

/// Appends a column to `lines`, as wide as its widest text.
fn append(lines: &mut [String], heading: [&str; 2], cells: Vec<String>) {
    let texts: Vec<&str> = heading
        .into_iter()
        .chain(cells.iter().map(String::as_str))
        .collect();
    let width = texts.iter().map(|text| text.len()).max().unwrap_or(0);
    for (line, text) in lines.iter_mut().zip(texts) {
        *line += &format!(" {text:>width$}");
    }
}
