//! Generators of requests.

use diskarm_core::workload::{Arrivals, GeneratorInfo, Places, Sizes};

use crate::{code, head, parameters, table};

const ABOUT: &str = "\
A workload is written as words: when requests come, where they go, how large they are, and the share
of reads, such as `poisson(rate=60/s) uniform size=8KiB reads=67%`. Several ways to choose places
have shares: `sequential(share=30%) uniform`. A `+` parts streams that run side by side. Left out,
places are uniform, sizes 8 KiB and two thirds of the requests reads. Words stand behind
`--workload` and in a study's `workload`; in a TOML file, `arrivals`, `places`, `size` and `reads`
are keys, of the file or of each `[[stream]]`.";

/// The page.
pub fn page() -> String {
    let family = |title: &str, infos: &mut dyn Iterator<Item = &GeneratorInfo>| {
        let rows = infos.map(|info| {
            vec![
                code(info.name),
                info.summary.to_owned(),
                parameters(info.parameters),
                info.origin.to_owned(),
            ]
        });
        let columns = ["word", "what it draws", "parameters", "origin"];
        format!("## {title}\n\n{}", table(&columns, rows))
    };
    let families = [
        family("Arrivals", &mut Arrivals::infos()),
        family("Places", &mut Places::INFOS.iter()),
        family("Sizes", &mut Sizes::INFOS.iter()),
    ];
    head("Workloads", ABOUT) + &families.join("\n")
}
