//! The table of devices that can stand in front of a drive, as JSON.

use diskarm_simulate::devices::{DeviceInfo, infos};
use serde::Serialize;

#[derive(Serialize)]
struct Row {
    name: &'static str,
    summary: &'static str,
    parameters: Vec<Parameter>,
    needs: &'static str,
    provides: &'static str,
    example: &'static str,
}

#[derive(Serialize)]
struct Parameter {
    written: &'static str,
    meaning: &'static str,
}

impl Row {
    fn of(info: &DeviceInfo) -> Self {
        let parameters = info.parameters.iter();
        Self {
            name: info.name,
            summary: info.summary,
            parameters: parameters
                .map(|&(written, meaning)| Parameter { written, meaning })
                .collect(),
            needs: info.needs.name(),
            provides: info.provided(),
            example: info.example,
        }
    }
}

/// One object per device, in the order of the table.
pub fn rows() -> impl Serialize {
    infos().map(Row::of).collect::<Vec<Row>>()
}
