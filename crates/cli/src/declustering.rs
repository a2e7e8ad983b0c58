//! `diskarm declustering`: compares layouts of two copies on an array of disks.

use diskarm_core::text::quantity;
use diskarm_queueing::declustering::comparison::{self, Parameters};
use diskarm_queueing::declustering::{DiskSet, MAX_DISKS};
use diskarm_results::declustering;
use diskarm_results::output_file::Files;
use diskarm_results::prose;

use crate::args::{integer, share};
use crate::error::Error;
use crate::output::{self, Results};
use crate::plot;

/// Compare layouts of mirrored disks: loads and data loss
///
/// Prints the loads after failures, the failures that lose data, and the mean time to data loss,
/// for basic mirroring and for interleaved, chained and group rotate declustering. Nothing is
/// simulated.
#[derive(clap::Args)]
#[command(after_long_help = prose::wrapped(LAYOUTS, 0))]
pub struct Args {
    /// Number of disks
    #[arg(
        long,
        value_name = "N",
        default_value_t = 8,
        allow_negative_numbers = true
    )]
    #[arg(value_parser = integer::<usize>(2..=MAX_DISKS as u64))]
    disks: usize,

    /// Number of disks in a cluster, a divisor of --disks [default: half of --disks, or all if
    /// --disks is odd]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = integer::<usize>(2..=MAX_DISKS as u64))]
    cluster: Option<usize>,

    /// Numbers of the failed disks, from 0
    #[arg(
        long,
        value_name = "DISK,...",
        value_delimiter = ',',
        default_value = "0"
    )]
    #[arg(allow_negative_numbers = true)]
    #[arg(value_parser = integer::<usize>(0..=MAX_DISKS as u64 - 1))]
    failed: Vec<usize>,

    /// Percentage of reads, from "0 %" to "100 %" [default: two thirds]
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = share)]
    reads: Option<f64>,

    /// Mean time to failure of a disk, in s, min or h
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    #[arg(default_value = "1000000 h", value_parser = hours)]
    mttf: f64,

    /// Mean time to repair a failed disk, in s, min or h
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    #[arg(default_value = "24 h", value_parser = hours)]
    mttr: f64,

    /// Draw the load of each disk, with and without these failures, as an SVG file
    #[arg(long, value_name = "FILE.svg", value_parser = plot::svg_name)]
    plot: Option<String>,

    /// Print JSON: one object; loads are multiples of the request rate for the data of one disk,
    /// and names of times end in the unit
    #[arg(long)]
    json: bool,
}

const LAYOUTS: &str = "\
Layouts (liu05, section 9.1.2). All keep two copies of each block on different disks, and stripe \
blocks over all disks:

- basic: disks 0 and 1 have the same data, as do disks 2 and 3, and so on.

- interleaved: second copies of a disk's data are striped over the other disks of its cluster.

- chained: second copies of a disk's data are on the next disk, those of the last disk on the first.

- group rotate: second copies of a cluster's data are striped over another cluster. Clusters 0 and \
1 have copies of each other's data, as do clusters 2 and 3, and so on.

Reads are divided between both copies so that the greatest load is as small as possible. \
Writes go to all remaining copies. Loads, and the failures that lose data, follow from the \
placement by enumeration; probabilities assume that all sets of disks fail with equal \
probability.

The mean time to data loss is that of a Markov chain. Times to failure and to repair are \
exponential and independent, and failed disks are repaired independently.";

fn hours(text: &str) -> Result<f64, &'static str> {
    let hours = quantity::time_s(text).map(|seconds| seconds / 3_600.0);
    // The product of two such times cannot overflow.
    let hours = hours.filter(|hours| (1e-9..=1e12).contains(hours));
    hours.ok_or("expected a time above 0 with its unit, such as \"24 h\"")
}

pub fn run(args: &Args) -> Result<(), Error> {
    let parameters = parameters(args)?;
    let mut results = Results::default();
    let plot = results.output_file(&mut Files::default(), "--plot", args.plot.as_deref())?;
    // Invalid numbers of disks have already been refused.
    let compared = comparison::compare(&parameters);
    let compared = compared.map_err(|error| {
        Error::option(
            "--cluster",
            parameters.cluster.to_string(),
            error.to_string(),
        )
    })?;
    output::print_notes(&compared.notes);
    if let Some(target) = plot {
        target.write(&plot::loads(&compared))?;
    }
    results.print_as(args.json, &compared, || declustering::table(&compared))
}

fn parameters(args: &Args) -> Result<Parameters, Error> {
    let disks = args.disks;
    let half = (disks / 2).max(2);
    let default = if disks.is_multiple_of(2) { half } else { disks };
    let cluster = args.cluster.unwrap_or(default);
    if !disks.is_multiple_of(cluster) {
        let divisors = (2..=disks).filter(|cluster| disks.is_multiple_of(*cluster));
        let divisors: Vec<String> = divisors.map(|cluster| cluster.to_string()).collect();
        let expected = format!("a divisor of {disks} disks: {}", divisors.join(", "));
        return Err(Error::option("--cluster", cluster.to_string(), expected));
    }
    if let Some(beyond) = args.failed.iter().find(|disk| **disk >= disks) {
        let expected = format!("disks from 0 to {}", disks - 1);
        return Err(Error::option("--failed", beyond.to_string(), expected));
    }
    Ok(Parameters {
        disks,
        cluster,
        failed: args.failed.iter().copied().collect::<DiskSet>(),
        read_share: args.reads.unwrap_or(2.0 / 3.0),
        mttf_h: args.mttf,
        mttr_h: args.mttr,
    })
}
