//! The table of scheduling policies, as JSON.

use diskarm_core::sched::{INFOS, PolicyInfo};
use serde::Serialize;

#[derive(Serialize)]
struct Row {
    name: &'static str,
    summary: &'static str,
    parameters: Vec<Parameter>,
    knowledge: &'static str,
    origin: &'static str,
}

#[derive(Serialize)]
struct Parameter {
    written: &'static str,
    meaning: &'static str,
}

impl Row {
    fn of(info: &PolicyInfo) -> Self {
        let parameters = info.parameters.iter();
        Self {
            name: info.name,
            summary: info.summary,
            parameters: parameters
                .map(|&(written, meaning)| Parameter { written, meaning })
                .collect(),
            knowledge: info.knowledge.name(),
            origin: info.origin,
        }
    }
}

/// One object per policy, in the order of the table.
pub fn rows() -> impl Serialize {
    INFOS.iter().map(Row::of).collect::<Vec<Row>>()
}
