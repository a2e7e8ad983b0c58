//! `diskarm scan`: a whole drive read, in the gaps of its foreground if it has one.

mod args;
mod device;
mod predictions;
mod recorder;
mod scsi;
mod simulated;
mod target;

pub use args::Args;

use crate::error::Error;
use target::Target;

pub fn run(args: &Args) -> Result<(), Error> {
    match Target::parse(&args.url, args.chap.as_deref())? {
        Target::Simulated(name) => simulated::run_scan(args, &name),
        Target::Real(real) => device::run_scan(args, real),
    }
}
