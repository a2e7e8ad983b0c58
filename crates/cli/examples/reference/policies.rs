//! Scheduling policies.

use diskarm_core::sched::INFOS;

use crate::{code, head, parameters, table};

const ABOUT: &str = "\
A policy is written as its name, with parameters in parentheses where others than the defaults are
wanted: `clook`, `clook(by=map)`. It stands behind `--policy`, in `--policies`, in a study's
`policy`, and in a drive's specification as `queue.policy`. What it knows: nothing but when requests
came; their blocks, or with `by=map` their cylinders too; how long each would take to position for;
or that and what the buffer holds.

The module documentation of each in `crates/core/src/sched` says what it costs and when it is bad.";

/// The page.
pub fn page() -> String {
    let rows = INFOS.iter().map(|info| {
        vec![
            code(info.name),
            info.summary.to_owned(),
            parameters(info.parameters),
            info.knowledge.name().to_owned(),
            info.origin.to_owned(),
        ]
    });
    let columns = ["policy", "what it does", "parameters", "knows", "origin"];
    head("Policies", ABOUT) + &table(&columns, rows)
}
