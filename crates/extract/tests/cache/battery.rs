//! Requests that show how a buffer behaves, answered by two drives.

use std::sync::Arc;

use diskarm_core::device::Outcome;
use diskarm_core::drive::Core;
use diskarm_core::geometry::Layout;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::Spec;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

pub struct Random(pub Pcg64Mcg);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(end)) >> 64) as u64
    }
}

/// A request: the time since the previous one, operation, first block, and number of blocks.
type Step = (Span, Op, Lbn, u64);

/// Returns a random sequence of requests around one location.
pub fn sequence(random: &mut Random, layout: &Layout, spec: &Spec, writes: bool) -> Vec<Step> {
    let blocks = layout.sectors().0;
    let base = blocks / 8 + random.below(blocks * 3 / 4);
    let track = layout.extent(Lbn(base)).sectors.0.max(8);
    let base = layout.track_first(Lbn(base)).0 + 4 * track;
    let buffer = &spec.buffer;
    let mut points = vec![base, base - track, base + track];
    let mut last = base;
    let mut steps = Vec::new();
    for _ in 0..3 + random.below(9) {
        let pause = match random.below(4) {
            0 => 0,
            1 => random.below(2_000_000),
            2 => random.below(20_000_000),
            _ => random.below(300_000_000),
        };
        let op = match random.below(5) {
            0 | 1 if writes => Op::Write,
            _ => Op::Read,
        };
        let at = match random.below(8) {
            0 | 1 => last,
            2 => blocks / 10 + random.below(blocks * 4 / 5),
            _ => {
                let point = points[random.below(points.len() as u64) as usize];
                point + random.below(4) - random.below(4)
            }
        };
        let sectors = match random.below(8) {
            0 => 1 + random.below(buffer.segment.0.min(1000) + 8),
            1 => 1 + random.below(40),
            2 => track,
            3 => 2 + random.below(7),
            _ => 1,
        };
        last = at + sectors;
        points.extend([at, last, last + buffer.read_ahead_max.0]);
        steps.push((Span::from_ns(pause as i64), op, Lbn(at), sectors));
    }
    steps
}

/// Compares two drives: each request must be a hit or a miss on both, at the same time. Returns the
/// number of the first difference.
pub fn first_difference(steps: &[Step], drives: [&Core; 2]) -> Option<usize> {
    let mut drives = drives.map(Core::clone);
    let mut now = Instant::from_ns(1_000_000_000);
    for (k, (pause, op, at, sectors)) in steps.iter().enumerate() {
        let request = Request::new(0, *op, *at, SectorCount(*sectors));
        now += *pause + Span::from_us(100.0);
        let [a, b] = drives
            .each_mut()
            .map(|drive| drive.serve_alone(request, now));
        let served = |outcome| matches!(outcome, Outcome::Hit | Outcome::Absorbed);
        if served(a.outcome) != served(b.outcome) || (a.at.after(b.at)).as_ms().abs() > 0.5 {
            return Some(k);
        }
        now = a.at.max(b.at);
    }
    None
}

/// Returns the number of sequences, of `count`, on which two drives differ.
pub fn count_differing(given: &Spec, found: &Spec, writes: bool, (count, seed): (u32, u64)) -> u32 {
    let layout = Arc::new(Layout::new(&given.geometry).unwrap());
    let drives = [given, found].map(|spec| Core::with_layout(spec, layout.clone()));
    let mut random = Random::new(seed);
    (0..count)
        .filter(|_| {
            let steps = sequence(&mut random, &layout, given, writes);
            first_difference(&steps, [&drives[0], &drives[1]]).is_some()
        })
        .count() as u32
}
