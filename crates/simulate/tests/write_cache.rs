//! A write cache that holds many ranges does for one write at a time what a queue does for many.

use diskarm_core::device::{BufferWork, Work};
use diskarm_core::request::Op;
use diskarm_core::sched::PolicyConfig;
use diskarm_core::spec::WriteCache;
use diskarm_core::units::SectorCount;
use diskarm_drives::text::Edit;
use diskarm_simulate::{GeneratedRequests, Input, Simulation, System, never_stop};

const REQUESTS: u64 = 6_000;

/// Requests per second of this many clients that write 4 KiB at random, to a drive whose queue is
/// that deep and whose cache has room for `room` such writes, if any.
fn throughput(policy: &str, clients: u32, room: u64) -> f64 {
    let mut system = System::parse("sata-4tb-7200").expect("a drive in the catalogue");
    system.drive.spec.queue.depth = clients;
    system.drive.spec.queue.policy = policy.parse().expect("a policy");
    let buffer = &mut system.drive.spec.buffer;
    buffer.write_cache = match room {
        0 => WriteCache::Off,
        _ => WriteCache::Deferred,
    };
    buffer.dirty_max = SectorCount(room * 8);
    let workload = format!("closed(clients={clients}) uniform size=4KiB reads=0%");
    let workload = system.workload(&workload).expect("a sound workload");
    let input = Input::Generated(GeneratedRequests {
        requests: Some(REQUESTS),
        ..GeneratedRequests::new(workload)
    });
    let fcfs: PolicyConfig = "fcfs".parse().expect("a policy");
    let simulation = Simulation::new(&system, &fcfs, &input);
    let run = simulation.run(&never_stop, None).expect("a sound run");
    run.report.throughput_per_s().expect("a throughput")
}

/// The oracle is the queue: what the cache holds is to the policy what waits in the queue. While
/// the cache is full, the policy chooses among all that it holds but the write under way.
#[test]
fn random_writes_are_as_fast_as_from_a_queue_of_the_same_length() {
    for policy in ["fcfs", "clook", "sptf"] {
        for room in [8, 32] {
            let cached = throughput(policy, 1, room);
            let queued = throughput(policy, room as u32, 0);
            // The first writes fill the cache and wait for nothing.
            let filling = REQUESTS as f64 / (REQUESTS - room) as f64;
            let ratio = cached / queued / filling;
            assert!(
                (ratio - 1.0).abs() < 0.005,
                "{policy} {room}: {cached} {queued} {ratio}"
            );
        }
    }
}

/// The mean response times in ms of reads and of writes, by a foreground as in lumb01, on the Atlas
/// 10K, whose cache defers 1 MiB of writes and perhaps destages in gaps.
fn responses_ms(in_gaps: bool, seed: u64) -> [f64; 2] {
    let mut system = System::parse("quantum-atlas-10k").expect("a drive in the catalogue");
    system.drive.spec.queue.depth = 10;
    system.drive.spec.queue.policy = "sptf-sw(n=40%)".parse().expect("a policy");
    let buffer = &mut system.drive.spec.buffer;
    buffer.write_cache = WriteCache::Deferred;
    buffer.dirty_max = SectorCount(2_048);
    buffer.destage_in_gaps = in_gaps;
    let workload = "closed(clients=10) uniform size=exponential(mean=8KiB, unit=4KiB) reads=66.7%";
    let workload = system.workload(workload).expect("a sound workload");
    let input = Input::Generated(GeneratedRequests {
        requests: Some(REQUESTS),
        seed,
        ..GeneratedRequests::new(workload)
    });
    let fcfs: PolicyConfig = "fcfs".parse().expect("a policy");
    let simulation = Simulation::new(&system, &fcfs, &input);
    let run = simulation.run(&never_stop, None).expect("a sound run");
    let mean = |op| run.report.of(op).responses().moments().mean();
    [Op::Read, Op::Write].map(|op| mean(op).expect("both").as_ms())
}

/// With each of ten seeds. The same seed brings the same requests with and without.
#[test]
fn reads_and_writes_are_served_faster_where_dirty_data_are_destaged_in_gaps() {
    for seed in 1..=10 {
        let [with, without] = [true, false].map(|in_gaps| responses_ms(in_gaps, seed));
        assert!(with[0] < 0.97 * without[0], "{seed}: {with:?} {without:?}");
        assert!(with[1] < 0.8 * without[1], "{seed}: {with:?} {without:?}");
    }
}

/// What a cache took is on the media once, except for what it still holds, also of each disk of
/// several; and only what was written in gaps counts as that.
#[test]
fn buffers_report_their_destages() {
    let tower = "raid0(disks=2, stripe=64KiB, drive=sata-4tb-7200)";
    for (name, disks) in [("sata-4tb-7200", 1), (tower, 2)] {
        for in_gaps in [true, false] {
            let edits = [
                "buffer.write_cache=deferred".to_owned(),
                "buffer.dirty_max=128KiB".to_owned(),
                "queue.depth=8".to_owned(),
                format!("buffer.destage_in_gaps={in_gaps}"),
            ];
            let edits = edits.map(|text| Edit::parse(&text, "set").expect("an edit"));
            let system = System::parse(name).expect("sound drives");
            let system = system.with_edits(&edits, "set").expect("sound values");
            let workload = "closed(clients=8) uniform size=4KiB reads=67%";
            let input = Input::Generated(GeneratedRequests {
                requests: Some(1_200),
                ..GeneratedRequests::new(system.workload(workload).expect("a sound workload"))
            });
            let fcfs: PolicyConfig = "fcfs".parse().expect("a policy");
            let run = Simulation::new(&system, &fcfs, &input).run(&never_stop, None);
            let run = run.expect("a sound run");
            let buffers = run.parts.iter().filter_map(|part| match part.work {
                Work::Buffer(work) => Some((part.name.as_str(), work)),
                _ => None,
            });
            let buffers: Vec<(&str, BufferWork)> = buffers.collect();
            let names: Vec<&str> = buffers.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [&[""][..], &["0", "1"]][disks - 1]);
            // 4 KiB each, of which hardly any two are in the same place of 4 TB.
            let writes = run.report.of(Op::Write).requests_count();
            let destaged: u64 = buffers.iter().map(|(_, work)| work.destaged.0).sum();
            let left = 8 * writes - destaged;
            assert!(left <= 256 * disks as u64, "{name} {in_gaps} {left}");
            for (_, work) in buffers {
                assert_eq!(work.writes_in_gaps > 20, in_gaps, "{work:?}");
                assert_eq!(work.in_gaps.0 > 8 * 20, in_gaps, "{work:?}");
                assert!(work.in_gaps <= work.destaged, "{work:?}");
            }
        }
    }
}
