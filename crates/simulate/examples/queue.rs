//! Serves random requests through a queue by shortest positioning time, in front of a plain or a
//! boxed drive; `cargo xtask counts` compares the two.
//!
//! `queue plain|boxed COUNT` prints the mean response time.

use std::process::ExitCode;

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, Streams};
use diskarm_core::host::Host;
use diskarm_core::report::Report;
use diskarm_core::sched::PolicyConfig;
use diskarm_core::spec;
use diskarm_core::stack::BoxedDevice;
use diskarm_core::units::Angle;
use diskarm_core::workload::{Disk, Workload};

const SPEC: &str = include_str!("../../drives/data/hp-c2247.toml");

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (kind, count) = (
        words.next(),
        words.next().and_then(|word| word.parse().ok()),
    );
    let spec = spec::parse(SPEC, "hp-c2247.toml").expect("a drive in the catalogue");
    let drive = Drive::new(&spec, Angle::ZERO).expect("a sound layout");
    let policy: PolicyConfig = "sptf".parse().expect("a policy");
    let report = match (kind.as_deref(), count) {
        (Some("plain"), Some(count)) => {
            let policy = policy.policy(&drive);
            serve_all(&mut Host::new(drive, policy), count)
        }
        (Some("boxed"), Some(count)) => {
            let drive = BoxedDevice::new(drive);
            let policy = policy.policy(&drive);
            serve_all(&mut Host::new(drive, policy), count)
        }
        _ => {
            eprintln!("usage: queue plain|boxed COUNT");
            return ExitCode::from(2);
        }
    };
    println!("{:?}", report.all().responses().moments().mean());
    ExitCode::SUCCESS
}

/// Serves `count` requests from 64 clients.
fn serve_all(device: &mut impl Device, count: u64) -> Report {
    let disk = Disk {
        sectors: device.capacity(),
        sector: device.sector_size(),
    };
    let workload = Workload::parse("closed(clients=64) uniform size=8KiB reads=67%", disk)
        .expect("a sound workload");
    let mut report = Report::new(0);
    let mut load = Streams::new(&workload, disk, 1, count);
    engine::run(device, &mut load, &mut report).expect("valid requests");
    report
}
