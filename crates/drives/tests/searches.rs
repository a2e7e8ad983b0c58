//! Policies with a search choose exactly as an exhaustive comparison would, on drives of
//! the catalogue and with long queues.

use diskarm_core::device::Completion;
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, ClosedLoop, Observer};
use diskarm_core::host::Host;
use diskarm_core::request::Request;
use diskarm_core::sched::PolicyConfig;
use diskarm_core::spec;
use diskarm_core::units::{Angle, Bytes, Instant, SectorCount, Span};
use diskarm_core::workload::{Disk, Workload};
use diskarm_drives::find;

#[derive(Default)]
struct CompletionLog(Vec<Completion>);

impl Observer for CompletionLog {
    fn arrived(&mut self, _: Instant, _: &Request) {}

    fn completed(&mut self, completion: &Completion) {
        self.0.push(*completion);
    }
}

/// `count` requests of several sizes, two thirds reads, `outstanding` of them at a time, on a drive
/// of the catalogue with an empty buffer.
fn serve_all(drive: &str, policy: &str, outstanding: usize, count: usize) -> Vec<Completion> {
    let entry = find(drive).unwrap_or_else(|| panic!("{drive} is not in the catalogue"));
    let mut spec = spec::parse(entry.text, drive).unwrap_or_else(|error| panic!("{error}"));
    spec.buffer.caching = false;
    let drive = Drive::new(&spec, Angle::ZERO).unwrap_or_else(|error| panic!("{error:?}"));
    let disk = Disk {
        sectors: SectorCount(spec.geometry.sectors.0),
        sector: Bytes(512),
    };
    let text = "closed(clients=1) size=exponential(mean=8KiB) reads=67%";
    let workload = Workload::parse(text, disk).unwrap_or_else(|error| panic!("{error}"));
    let requests = workload.streams[0].requests(disk, 11).take(count);
    let choice: PolicyConfig = policy.parse().unwrap_or_else(|error| panic!("{error}"));
    let policy = choice.policy(&drive);
    let mut seen = CompletionLog::default();
    let mut load = ClosedLoop::new(requests, outstanding, Span::ZERO);
    engine::run(&mut Host::new(drive, policy), &mut load, &mut seen).expect("sound requests");
    seen.0
}

#[test]
fn a_search_finds_the_same_as_an_exhaustive_comparison() {
    for (search, look) in [
        ("sptf", "sw-sptf(n=1000000)"),
        ("satf", "satf-la(i=1)"),
        ("asptf(w=6)", "aspctf(w=6)"),
        ("asptf(w=100)", "aspctf(w=100)"),
    ] {
        for drive in ["hp-c2247", "quantum-atlas-10k", "dec-rz26"] {
            for (outstanding, count) in [(9, 300), (300, 900)] {
                let [found, expected] =
                    [search, look].map(|policy| serve_all(drive, policy, outstanding, count));
                assert_eq!(found.len(), count);
                let apart = found.iter().zip(&expected).position(|(a, b)| a != b);
                assert_eq!(
                    apart, None,
                    "{search} on {drive}, {outstanding} outstanding"
                );
            }
        }
    }
}
