//! `diskarm queueing`: compares the queueing theory of a drive with its simulation.

use diskarm_core::units::Span;
use diskarm_results::prose;
use diskarm_results::queueing;
use diskarm_simulate::Model;
use diskarm_simulate::theory::{self, Parameters};

use crate::args::{self, Changes, integer, rate, share};
use crate::error::Error;
use crate::output;
use crate::progress::Progress;
use crate::simulate::{SIZE, size_of};

/// Compare a drive's times in queueing theory and in simulation
///
/// Prints seek distance, service time, response time under three policies, and the gain from
/// keeping the same data on two disks. Ignores overheads, bus, buffer and the drive's queue.
#[derive(clap::Args)]
#[command(after_long_help = prose::wrapped(LIMITS, 0))]
pub struct Args {
    /// Drive: a name from the catalogue, or a .toml file
    #[arg(long, value_name = "NAME|FILE", long_help = args::drive_help())]
    drive: String,

    #[command(flatten)]
    changes: Changes,

    /// Request size, in sectors, B, KiB, MiB or GiB [default: "8 KiB"]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    size: Option<String>,

    /// Percentage of reads, from "0 %" to "100 %" [default: two thirds]
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = share)]
    reads: Option<f64>,

    /// Mean rates of Poisson arrivals, such as 20/s,40/s [default: 30, 60 and 90 % of the rate that
    /// the drive can serve in order of arrival]
    #[arg(long, value_name = "RATE,...", value_parser = rate, value_delimiter = ',')]
    #[arg(allow_hyphen_values = true)]
    rate: Vec<Span>,

    /// Number of requests in each simulation; the first tenth is warm-up
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    #[arg(allow_negative_numbers = true, value_parser = integer::<u64>(10..=u64::MAX))]
    requests: u64,

    /// Seed of the simulations
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(allow_negative_numbers = true, value_parser = integer::<u64>(0..=u64::MAX))]
    seed: u64,

    /// Print JSON: one object; key names end in the unit; null where a value cannot be computed
    #[arg(long)]
    json: bool,
}

const LIMITS: &str = "\
Formulas: seek distances by zones and moments of the service time (liu05, section 4.1), M/G/1 and \
head-of-line priority (appendix B), the birth-death model of shortest access first (section \
5.3.3), and two disks (sections 3.2, 7.2.1, 7.3 and 8.2.1). The simulations are of the same drive \
without what the formulas leave out: overheads, bus, buffer, read-ahead and a queue of its own.

Approximations are marked * in the table, and \"is_exact\": false in JSON:

- The standard deviation of the service time, on a drive with zones. The formula assumes that seek \
and transfer are independent, but the inner tracks take longer to reach and to transfer. The \
longer the transfer, the more this matters. M/G/1 and head-of-line priority use this deviation \
too, but waits grow with 1 + (standard deviation / mean)^2, which the error hardly changes.

- Shortest access first. The model assumes exponential service times, whose standard deviation \
equals their mean, and a mean proportional to a power of the number of requests to choose from, \
fitted to simulations with 2 to 128 requests waiting.

- Two disks. Distances are for cylinders of equal size and independent arms; the wait for the \
first of two copies assumes that both heads reach their tracks at the same time. M/M/1, E2/M/1 and \
M/M/2 assume exponential service times, which make requests wait longer than on a drive. Three \
values are exact: the largest rate (compared with a pair with a shared queue and 128 requests at \
all times), the wait for the last of two copies (writes only, which keep both arms together) \
and M/G/1 (reads that go to either disk at random).

Near the largest rate, means depend on a few long waits and need more requests than the default of \
--requests.";

pub fn run(args: Args) -> Result<(), Error> {
    let model = args.changes.apply(Model::find(&args.drive)?)?;
    let size = args.size.as_deref().unwrap_or(SIZE);
    let parameters = Parameters {
        sectors: size_of(args.size.as_deref(), model.disk())?,
        read_share: args.reads.unwrap_or(2.0 / 3.0),
        pauses: args.rate,
        requests: args.requests,
        seed: args.seed,
    };
    let progress = Progress::counting("simulations");
    let compared = theory::compare(&model, &parameters, &|done| progress.set(done))?;
    drop(progress);
    output::print_warnings(&compared.notes);
    output::print_as(args.json, &compared, || queueing::table(&compared, size))
}
