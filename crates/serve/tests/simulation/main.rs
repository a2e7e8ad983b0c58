//! Whole servers with simulated clients, network, storage and time.

mod channel;
mod expected;
mod nbd;
mod protocol;
mod store;
mod world;

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
