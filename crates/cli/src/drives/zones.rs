//! The zones of a drive as a table.

use std::fmt::Write;

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

/// For people, indented by two.
pub fn table(zones: &[Zone]) -> String {
    let mut text = format!(
        "  {:>4} {:>15} {:>8} {:>7} {:>8} {:>7} {:>8} {:>9} {:>7} {:>6} {:>7}\n",
        "", "", "sectors/", "media", "first", "track", "cylinder", "", "", "", ""
    );
    text += &format!(
        "  {:>4} {:>15} {:>8} {:>7} {:>8} {:>7} {:>8} {:>9} {:>7} {:>6} {:>7}\n",
        "zone",
        "cylinders",
        "track",
        "MB/s",
        "offset",
        "skew",
        "skew",
        "reserved",
        "spares",
        "slips",
        "defects"
    );
    for (number, zone) in zones.iter().enumerate() {
        let cylinders = format!("[{}, {})", zone.first_cylinder, zone.end_cylinder);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {number:>4} {cylinders:>15} {:>8} {:>7.2} {:>8.1} {:>7.1} {:>8.1} {:>9} {:>7} \
             {:>6} {:>7}",
            zone.sectors_per_track,
            zone.media_rate_bytes_per_s / 1e6,
            zone.first_offset_sectors,
            zone.track_skew_sectors,
            zone.cylinder_skew_sectors,
            zone.reserved_sectors,
            zone.spares,
            zone.slips,
            zone.defects
        );
    }
    text.lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}
