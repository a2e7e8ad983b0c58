//! What is random in a drive: the scatter of its arm and of reads that continue others without
//! finding their data in the buffer, and read-ahead that fails.

use rand_distr::{Distribution, StandardNormal};

use crate::mechanics::{Position, time_over};
use crate::random::{Chance, Generator, Purpose, generator};
use crate::request::Op;
use crate::spec::{SeekCurve, Spec};
use crate::units::{Cylinder, Span};

/// The random behaviour of one drive.
#[derive(Clone, Debug)]
pub(super) struct Fate {
    generator: Generator,
    failures: Option<Chance>,
    /// Standard deviation of a movement by distance, before a read and before a write.
    scatter: [Option<Box<[f64]>>; 2],
    /// Standard deviation of the overhead of a read miss in sequence.
    in_sequence: Span,
}

impl Fate {
    /// The random behaviour of a drive of `spec`, with seed 0; `None` if it has none.
    pub fn new(spec: &Spec) -> Option<Box<Self>> {
        let mechanics = &spec.mechanics;
        let cylinders = spec.geometry.cylinders;
        let tabulated = |curve: &SeekCurve| -> Box<[f64]> {
            let at = |d| time_over(curve, d, cylinders).as_ns() as f64;
            (0..cylinders).map(at).collect()
        };
        let reads = mechanics.seek_scatter.as_ref();
        let writes = mechanics.write_seek_scatter.as_ref().or(reads);
        let failures = spec.buffer.read_ahead_failures;
        spec.is_random().then(|| {
            Box::new(Self {
                generator: generator(0, 0, Purpose::Drive),
                failures: (failures > 0.0).then(|| Chance::new(failures)),
                scatter: [reads.map(tabulated), writes.map(tabulated)],
                in_sequence: spec.overheads.read_miss_in_sequence_scatter,
            })
        })
    }

    /// Begins anew with this seed.
    pub fn seed(&mut self, seed: u64) {
        self.generator = generator(seed, 0, Purpose::Drive);
    }

    /// Whether read-ahead failed to bring what a read wants.
    pub fn fails(&mut self) -> bool {
        let failures = self.failures;
        failures.is_some_and(|share| share.hits(&mut self.generator))
    }

    /// By how much a movement of the arm takes longer than its mean of `mean`, which is at most
    /// that much shorter.
    pub fn scatter(&mut self, op: Op, from: Position, to: Cylinder, mean: Span) -> Span {
        let distance = from.cylinder.distance(to) as usize;
        let Some(deviations) = &self.scatter[usize::from(!op.is_read())] else {
            return Span::ZERO;
        };
        let deviation_ns = deviations[distance];
        self.late(deviation_ns, mean)
    }

    /// By how much the overhead of a read miss in sequence is longer than its mean of `mean`, which
    /// is at most that much shorter.
    pub fn in_sequence(&mut self, mean: Span) -> Span {
        self.late(self.in_sequence.as_ns() as f64, mean)
    }

    /// A deviation from `mean`, of this standard deviation in nanoseconds.
    fn late(&mut self, deviation_ns: f64, mean: Span) -> Span {
        if deviation_ns == 0.0 {
            return Span::ZERO;
        }
        let z: f64 = StandardNormal.sample(&mut self.generator);
        Span::from_ns((z * deviation_ns).round() as i64).max(-mean)
    }
}
