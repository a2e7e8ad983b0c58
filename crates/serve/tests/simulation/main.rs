//! Whole servers with simulated clients, network, storage and time.

mod channel;
mod expected;
mod iscsi;
mod nbd;
mod protocol;
mod store;
mod world;

use diskarm_serve::iscsi::Iscsi;
use diskarm_serve::nbd::Nbd;
use protocol::Protocol;
use world::{Summary, World};

/// Runs a server for each of some seeds.
fn run<P: Protocol>(protocol: impl Fn() -> P, seeds: std::ops::Range<u64>) -> Summary {
    let mut total = Summary::default();
    for seed in seeds {
        // Shown with the panic of a violation.
        println!("seed {seed}");
        total.add(&World::new(protocol(), seed, None).run(20_000));
    }
    println!("{total}");
    assert!(total.answers > total.steps / 50);
    assert!(total.errors > 0 && total.synchronisations > 0);
    assert!(total.power_cuts > 0 && total.crashes > 0 && total.closed > 0);
    total
}

#[test]
fn what_nbd_clients_were_promised_is_there() {
    run(Nbd::default, 0..20);
}

#[test]
fn what_initiators_were_promised_is_there() {
    run(|| Iscsi::new(None), 0..10);
}

/// Equal seeds give equal runs, so that a violation can be repeated.
#[test]
fn a_seed_determines_the_run() {
    let first = run(Nbd::default, 20..23);
    let second = run(Nbd::default, 20..23);
    assert_eq!(first.to_string(), second.to_string());
}
