//! Mechanics and overheads measured on simulated drives match their specifications.

mod mtbrc;
mod random;
mod rotation;
mod seek;
mod sequential;
mod settle;
mod timing;
mod variants;
mod waits;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{self, Spec};
use diskarm_core::units::Span;
use diskarm_extract::{Disk, Effort, HostDelay, Setup};

/// The drives of 1992 to 1999.
const DRIVES: [&str; 18] = [
    "dec-rz26",
    "dec-rz26-calibrated",
    "hp-c2247",
    "hp-c2247-calibrated",
    "hp-c2490a",
    "hp-c3323a",
    "ibm-18es",
    "ibm-dnes-309170w",
    "quantum-atlas-10k",
    "quantum-atlas-10k-calibrated",
    "quantum-atlas-iii",
    "seagate-barracuda-st32171w",
    "seagate-barracuda-st32171w-calibrated",
    "seagate-cheetah-st34501n",
    "seagate-cheetah-st34501n-calibrated",
    "seagate-cheetah-st39102lw",
    "seagate-st41601n",
    "seagate-st41601n-calibrated",
];

const HOST: HostDelay = HostDelay {
    min: Span::from_ns(50_000),
    max: Span::from_ns(150_000),
};

fn catalogued(name: &str) -> Spec {
    spec::parse(diskarm_drives::find(name).unwrap().text, name).unwrap()
}

/// Measures the prerequisites of seeks and overheads.
fn set_up<'a>(disk: &mut Disk<'_>, layout: &'a Layout, seed: u64) -> Setup<'a> {
    Setup::measure(disk, layout, Effort::Normal, seed).unwrap()
}
