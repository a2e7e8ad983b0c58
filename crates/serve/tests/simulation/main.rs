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
use world::World;

#[test]
fn what_nbd_clients_were_promised_is_there() {
    for seed in 0..20 {
        // Shown with the panic of a violation.
        println!("seed {seed}");
        let summary = World::new(Nbd::default(), seed).run(20_000);
        assert!(summary.answers > 500, "{summary:?}");
    }
}

#[test]
fn what_initiators_were_promised_is_there() {
    for seed in std::env::var("SEED").map_or(0, |s| s.parse().unwrap())..20 {
        println!("seed {seed}");
        let mut world = World::new(Iscsi::new(None), seed);
        if let Ok(w) = std::env::var("WATCH") {
            world.watch(w.parse().unwrap());
        }
        let summary = world.run(20_000);
        assert!(summary.answers > 500, "{summary:?}");
    }
}
