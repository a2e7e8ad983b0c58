//! Recordings as traces.

use std::io::Cursor;

use diskarm_core::device::{Completion, Device, Status};
use diskarm_core::engine::{self, Observer, OpenLoop};
use diskarm_core::host::Host;
use diskarm_core::request::{Op, Request};
use diskarm_core::sched::{Estimate, PolicyConfig};
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};
use diskarm_core::wrap::{AffectedOps, BadBlocks, FaultPlan, Faults, Recorder, Recording};
use diskarm_simulate::{System, records};
use diskarm_trace::Writer;

/// An observer that does nothing.
struct Nobody;

impl Observer for Nobody {
    fn arrived(&mut self, _: Instant, _: &Request) {}

    fn completed(&mut self, _: &Completion) {}
}

/// A recording of `requests`, one every 30 ms, to the drive of `system`, on which block 900 is bad.
fn recorded(system: &System, requests: &[Request]) -> Recording {
    let drive = system.drive.drive();
    let plan = FaultPlan {
        medium_errors: vec![BadBlocks {
            first: Lbn(900),
            end: Lbn(901),
            affected: AffectedOps::Reads,
            retries: 0,
        }],
        ..FaultPlan::default()
    };
    let revolution = drive.shape().revolution;
    let faults = Faults::new(drive, &plan, revolution);
    let policy = PolicyConfig::default().policy(&faults);
    let mut device = Recorder::new(Host::new(faults, policy), Recording::default());
    let times = (0..).map(|number| Instant::START + Span::from_ms(30.0) * number);
    let mut load = OpenLoop::new(times.zip(requests.iter().copied()));
    engine::run(&mut device, &mut load, &mut Nobody).expect("sound requests");
    assert_eq!(device.next_event(), None);
    device.into_observer()
}

#[test]
fn a_recording_is_written_and_read_as_a_trace() {
    let system = System::parse("hp-c2247").expect("a drive in the catalogue");
    let requests = [
        Request::new(0, Op::Read, Lbn(1_000), SectorCount(16)),
        Request::flush(1),
        Request::new(2, Op::Read, Lbn(890), SectorCount(16)),
        Request::new(3, Op::Write, Lbn(890), SectorCount(16)),
    ];
    let recording = recorded(&system, &requests);
    let failed = recording.requests()[2].completion.expect("it ended");
    assert_eq!(failed.status, Status::MediumError { offset: 10 });
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, "memory", "msr").expect("a writable format");
    for record in records(&recording, &system).expect("sectors of 512 bytes") {
        writer.write(&record).expect("a complete record");
    }
    writer.finish().expect("memory");
    let trace = diskarm_trace::read(Cursor::new(bytes), "memory", Some("msr")).expect("a trace");
    let rows: Vec<_> = trace.map(|row| row.expect("a sound row")).collect();
    // The trace has neither the flush nor the failed read. The format's unit is 100 ns.
    for (row, number) in rows.iter().zip([0, 3]) {
        let passed = recording.requests()[number];
        let request = passed.request;
        assert_eq!(
            (row.op, row.start, row.sectors),
            (request.op, request.start, request.sectors)
        );
        let expected = passed.completion.expect("it ended").response();
        let found = row.response.expect("the format has it");
        assert!(
            (found - expected).as_ns().abs() <= 50,
            "{found} for {expected}"
        );
    }
    let arrivals = rows
        .iter()
        .map(|row| row.arrival.expect("the format has it"));
    let arrivals: Vec<Instant> = arrivals.collect();
    assert_eq!(arrivals.len(), 2);
    assert_eq!(arrivals[1] - arrivals[0], Span::from_ms(90.0));
}
