//! Scheduling policies.

use diskarm_core::sched::INFOS;

use crate::{code, head, parameters, table};

const ABOUT: &str = "\
A policy is written as its name, with parameters in parentheses to change the defaults: `clook`,
`clook(by=map)`. Use it with `--policy` and `--policies`, in a study's `policy`, and in a drive's
specification as `queue.policy`. The column *knows* lists what it must know: nothing but arrival
times; block numbers (with `by=map` also cylinders); positioning times; or positioning times and the
buffer's contents.

The module documentation of each policy, in `crates/core/src/sched`, describes its cost and when it
is bad.";

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
