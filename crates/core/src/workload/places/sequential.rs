//! Placement where another request ended.

use super::{
    Args, Generator, GeneratorInfo, InputError, PlacedRequest, Placement, PlacementSpace, Sample,
    UnplacedRequest, below, start_within,
};

/// Each request begins where another one ended, and has the same direction. It continues either the
/// last request of the stream, whichever rule placed it, or one of several runs chosen at random.
/// The first request of a run, and one that would pass the end of the disk, are placed at random.
///
/// The traces of worthington94 and worthington96 show that the direction is kept (all 3,013
/// sequential requests on the HP C2247, all 2,494 on the Seagate ST41601N). So a stream of
/// sequential requests, or a run, keeps the direction of its first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequential {
    /// Number of separate runs; `None` to continue the stream's last request.
    pub runs: Option<usize>,
}

const MAX_RUNS: u64 = 1_000_000;

impl Placement for Sequential {
    const INFO: GeneratorInfo = GeneratorInfo {
        name: "sequential",
        summary: "where the last request ended, with the same direction, regardless of reads=",
        parameters: &[(
            "runs=4",
            "number of runs; each request continues a random one; by default, it continues the \
             last request of the stream",
        )],
        origin: "worthington94 figure 2 and worthington96 section 6 (30 % sequential)",
    };

    type Sampler = SequentialSampler;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let runs = args.maybe_count("runs", 1..=MAX_RUNS)?;
        Ok(Self {
            runs: runs.map(|runs| runs as usize),
        })
    }

    fn sampler(&self, space: PlacementSpace) -> SequentialSampler {
        SequentialSampler {
            units: space.units,
            runs: vec![None; self.runs.unwrap_or(0)],
        }
    }
}

#[derive(Clone, Debug)]
pub(in crate::workload) struct SequentialSampler {
    units: u64,
    /// The last request of each run; empty to continue the stream.
    runs: Vec<Option<PlacedRequest>>,
}

impl Sample for SequentialSampler {
    #[inline]
    fn next(&mut self, generator: &mut Generator, request: &mut UnplacedRequest) -> u64 {
        if self.runs.is_empty() {
            return after(request.last, self.units, generator, request);
        }
        let run = below(generator, self.runs.len() as u64) as usize;
        let start = after(self.runs[run], self.units, generator, request);
        let (end, op) = (start + request.size, request.op);
        self.runs[run] = Some(PlacedRequest { start, end, op });
        start
    }
}

/// Returns the end of `before` if the request fits there, otherwise a random place.
#[inline]
fn after(
    before: Option<PlacedRequest>,
    units: u64,
    generator: &mut Generator,
    request: &mut UnplacedRequest,
) -> u64 {
    match before {
        Some(PlacedRequest { end, op, .. }) if end + request.size <= units => {
            request.op = op;
            end
        }
        _ => start_within(generator, 0, units, request.size),
    }
}
