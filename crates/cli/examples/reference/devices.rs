//! Devices that can stand in front of a drive.

use diskarm_simulate::devices::infos;

use crate::{code, head, parameters, table};

const ABOUT: &str = "\
A device is written as its name with parameters in parentheses. Its parameter `drive` is what stands
behind it: a drive, or another device. `--drive`, a study's `drive` and Python accept such a tower
where they accept a drive: `throttle(rate=100/s, drive=hp-c2247)`. Quotes around a value can be left
out.

The column *needs* lists what a device must know about the one behind it; a queue needs what its
policy needs. *Provides* lists what policies in front of it can learn. A policy that needs more is
an error.";

/// The page.
pub fn page() -> String {
    let rows = infos().map(|info| {
        vec![
            code(info.name),
            info.summary.to_owned(),
            parameters(info.parameters),
            info.needs.name().to_owned(),
            info.provided().to_owned(),
            code(info.example),
        ]
    });
    let columns = [
        "device",
        "what it does",
        "parameters",
        "needs",
        "provides",
        "example",
    ];
    head("Devices", ABOUT) + &table(&columns, rows)
}
