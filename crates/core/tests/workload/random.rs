//! Random workloads on random disks, and random text: no request leaves the disk, nothing panics.

use diskarm_core::units::{Bytes, SectorCount};
use diskarm_core::workload::{Disk, Workload};
use proptest::prelude::*;
use proptest::sample::select;

const PLACES: &[&str] = &[
    "uniform",
    "sequential",
    "sequential(runs=3)",
    "local(deviation=1sector)",
    "local(deviation=700sectors)",
    "hot(at=0%, at=99%)",
    "hot(at=33.3%, width=66.7%)",
    "zipf(exponent=0)",
    "zipf(exponent=1.1, extent=40sectors)",
    "sequential(share=30%) local(share=30%, deviation=40sectors) uniform",
    "hot(share=80%, at=20%, width=20%) zipf(share=10%, exponent=10) sequential",
];

const SIZES: &[&str] = &[
    "1sector",
    "8KiB",
    "exponential(mean=3sectors)",
    "exponential(mean=40sectors, unit=7sectors)",
    "mixed(4KiB=96%, 24KiB=4%)",
    "mixed(3sectors=50%, 5sectors=50%)",
];

proptest! {
    /// A workload that claims to fit stays within the disk.
    #[test]
    fn requests_lie_on_the_disk(
        sectors in 1u64..3_000, places in select(PLACES), size in select(SIZES), seed: u64,
    ) {
        let disk = Disk { sectors: SectorCount(sectors), sector: Bytes(512) };
        let text = format!("closed(clients=2) {places} size={size}");
        // A disk that is too small is rejected.
        let Ok(workload) = Workload::parse(&text, disk) else {
            return Ok(());
        };
        for request in workload.streams[0].requests(disk, seed).take(300) {
            prop_assert!(request.sectors.0 > 0 && request.end().0 <= sectors, "{:?}", request);
        }
    }

    /// Meaningless text is an error, however it is composed.
    #[test]
    fn words_never_panic(parts in prop::collection::vec(select(PARTS), 0..12), rest in ".{0,9}") {
        let disk = Disk { sectors: SectorCount(9_999), sector: Bytes(512) };
        let text = parts.concat() + &rest;
        if let Ok(workload) = Workload::parse(&text, disk) {
            for (_, requests) in workload.requests(disk, 1) {
                prop_assert!(requests.take(9).all(|request| request.end().0 <= 9_999));
            }
        }
        let _ = Workload::parse_toml(&text, "x.toml", disk);
        let text = format!("arrivals = \"poisson(rate=1/s)\"\n{text}");
        let _ = Workload::parse_toml(&text, "x.toml", disk);
    }
}

/// Pieces of workload expressions, valid and invalid.
const PARTS: &[&str] = &[
    "poisson(",
    "rate=60/s",
    "closed(clients=2",
    ")",
    ") ",
    "(",
    ", ",
    "=",
    " + ",
    " size=",
    "8KiB",
    "uniform ",
    "uniform(to=3ms) ",
    "hot(at=1%",
    "zipf(exponent=",
    "1",
    "nan",
    "reads=",
    "50%",
    "mixed(",
    "4KiB=100%",
    "exponential(mean=",
    "[[stream]]\n",
    "places = \"",
    "\"\n",
    "é",
    "%",
    "think=erlang(k=2, mean=5 ms)",
    "bursts(on=1s, off=1s, ",
    "local(share=30%, deviation=",
];
