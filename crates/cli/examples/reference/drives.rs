//! The catalogue.

use diskarm_core::spec;
use diskarm_drives::CATALOGUE;

use crate::{code, head, table};

const ABOUT: &str = "\
What `--drive` and a study's `drive` may name, beside the path of a
[specification](../specification.md) of one's own. Those named `-calibrated` were fitted to the
first half of a measured trace ([how far that gets](../validation.md)). `diskarm drives show NAME`
prints zones, seek curve, buffer, overheads and where the figures are from.";

/// The page.
pub fn page() -> String {
    let rows = CATALOGUE.iter().map(|entry| {
        let spec = spec::parse(entry.text, entry.name).expect("a drive of the catalogue");
        let geometry = &spec.geometry;
        let bytes = geometry.sectors.0 * u64::from(geometry.sector_bytes);
        vec![
            code(entry.name),
            spec.summary.clone(),
            format!("{:.3}", bytes as f64 / 1e9),
            format!("{:.1}", 60e9 / spec.mechanics.period_ns),
            geometry.surfaces.to_string(),
            geometry.cylinders.to_string(),
            geometry.zones.len().to_string(),
        ]
    });
    let columns = [
        "drive",
        "what it is",
        "GB",
        "rpm",
        "surfaces",
        "cylinders",
        "zones",
    ];
    head("Drives", ABOUT) + &table(&columns, rows)
}
