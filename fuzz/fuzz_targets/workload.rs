//! Any text is a workload, as an expression or as a file, or an error of one line; its requests fit
//! on the disk and are the same each time.

#![no_main]

use diskarm_core::text::InputError;
use diskarm_core::units::{Bytes, SectorCount};
use diskarm_core::workload::{Disk, Workload};
use libfuzzer_sys::fuzz_target;

const DISK: Disk = Disk {
    sectors: SectorCount(2_054_864),
    sector: Bytes(512),
};

fuzz_target!(|text: &str| {
    check(Workload::parse(text, DISK));
    check(Workload::parse_toml(text, "fuzz.toml", DISK));
});

fn check(read: Result<Workload, InputError>) {
    let workload = match read {
        Ok(workload) => workload,
        Err(error) => {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
            return;
        }
    };
    assert!(!workload.streams.is_empty());
    for (_, requests) in workload.requests(DISK, 1) {
        let requests: Vec<_> = requests.take(20).collect();
        for request in &requests {
            assert!(
                request.sectors.0 > 0 && request.end().0 <= DISK.sectors.0,
                "{request:?}"
            );
        }
    }
    let ids = |seed| {
        let streams = workload.requests(DISK, seed);
        let requests = streams.flat_map(|(_, requests)| requests.take(20));
        requests
            .map(|r| (r.id, r.start, r.sectors))
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(1), ids(1));
}
