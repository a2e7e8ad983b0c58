//! Generators of requests.

use diskarm_core::workload::{Arrivals, GeneratorInfo, Places, Sizes};

use crate::{code, head, parameters, table};

const ABOUT: &str = "\
A workload expression gives the arrivals, placement, sizes and share of reads of a stream of
requests, such as `poisson(rate=60/s) uniform size=8KiB reads=67%`. Several placement rules have
shares: `sequential(share=30%) uniform`. A `+` separates concurrent streams. By default, placement
is uniform, sizes are 8 KiB and two thirds of the requests are reads. Use expressions with
`--workload` and in a study's `workload`; in a TOML file, `arrivals`, `places`, `size` and `reads`
are keys, of the file or of each `[[stream]]`.";

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
        let columns = ["name", "what it generates", "parameters", "origin"];
        format!("## {title}\n\n{}", table(&columns, rows))
    };
    let families = [
        family("Arrivals", &mut Arrivals::infos()),
        family("Places", &mut Places::INFOS.iter()),
        family("Sizes", &mut Sizes::INFOS.iter()),
    ];
    head("Workloads", ABOUT) + &families.join("\n")
}
