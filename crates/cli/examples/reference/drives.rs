//! The catalogue.

use diskarm_core::spec;
use diskarm_drives::CATALOGUE;

use crate::{code, head, table};

const ABOUT: &str = "\
The names that `--drive` and the key `drive` of a study accept. They also accept the path of your
own [specification](../specification.md). Drives named `-calibrated` were fitted to the first half
of a measured trace ([results](../validation.md)). `diskarm drives show NAME` prints zones, seek
curve, buffer, overheads and the sources of the figures.";

pub fn page() -> String {
    let rows = CATALOGUE.iter().map(|entry| {
        let spec = spec::parse(entry.text, entry.name).expect("a drive in the catalogue");
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
