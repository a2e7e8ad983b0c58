//! The tables of policies and of devices in front of drives, as JSON: one object per entry, in the
//! order of the table.

use diskarm_core::sched::INFOS;
use diskarm_simulate::devices::infos;
use serde_json::{Value, json};

/// The scheduling policies.
pub fn policies() -> Value {
    let rows = INFOS.iter().map(|info| {
        json!({
            "name": info.name,
            "summary": info.summary,
            "parameters": parameters(info.parameters),
            "knowledge": info.knowledge.name(),
            "origin": info.origin,
        })
    });
    rows.collect()
}

/// The devices that can stand in front of a drive.
pub fn devices() -> Value {
    let rows = infos().map(|info| {
        json!({
            "name": info.name,
            "summary": info.summary,
            "parameters": parameters(info.parameters),
            "needs": info.needs.name(),
            "provides": info.provided(),
            "example": info.example,
        })
    });
    rows.collect()
}

fn parameters(all: &[(&str, &str)]) -> Value {
    let all = all.iter();
    all.map(|(written, meaning)| json!({ "written": written, "meaning": meaning }))
        .collect()
}
