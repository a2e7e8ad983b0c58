//! A write cache that holds many ranges does for one write at a time what a queue does for many.

use diskarm_core::sched::PolicyConfig;
use diskarm_core::spec::WriteCache;
use diskarm_core::units::SectorCount;
use diskarm_simulate::{Generated, Input, Model, Simulation, keep_on};

const REQUESTS: u64 = 6_000;

/// Requests per second of this many clients that write 4 KiB at random, to a drive whose queue is
/// that deep and whose cache has room for `room` such writes, if there is any.
fn throughput(policy: &str, clients: u32, room: u64) -> f64 {
    let mut model = Model::find("sata-4tb-7200").expect("a drive in the catalogue");
    model.spec.queue.depth = clients;
    model.spec.queue.policy = policy.parse().expect("a policy");
    let buffer = &mut model.spec.buffer;
    buffer.write_cache = match room {
        0 => WriteCache::Off,
        _ => WriteCache::Deferred,
    };
    buffer.dirty_max = SectorCount(room * 8);
    let workload = format!("closed(clients={clients}) uniform size=4KiB reads=0%");
    let workload = model.workload(&workload).expect("a sound workload");
    let input = Input::Generated(Generated {
        requests: Some(REQUESTS),
        ..Generated::new(workload)
    });
    let fcfs: PolicyConfig = "fcfs".parse().expect("a policy");
    let simulation = Simulation::new(&model, &fcfs, &input);
    let run = simulation.run(&keep_on, None).expect("a sound run");
    run.report.throughput_per_s().expect("a throughput")
}

/// The oracle is the queue: what the cache holds is to the policy what waits in the queue. While
/// the cache is full, the policy chooses among all that it holds but the write under way.
#[test]
fn random_writes_are_served_as_fast_as_from_a_queue_of_as_many() {
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
