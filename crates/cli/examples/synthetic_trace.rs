//! Makes the synthetic trace that ships with the project, in the format of a measured one:
//!
//! ```sh
//! cargo run --release --example synthetic_trace > examples/synthetic-hp-c2247.csv
//! ```
//!
//! Nothing in it was measured. The response times are those of the project's own model of the
//! hp-c2247, which here turns a little slower than the catalogue says, as a real drive does. So
//! `diskarm validate --drive hp-c2247` has something small to find: the rotation.

use std::fmt::Write;
use std::sync::Arc;

use diskarm_core::engine::Step;
use diskarm_core::geometry::Layout;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec;
use diskarm_core::units::{Angle, Lbn, SectorCount, Span};
use diskarm_validate::{Measured, Validation, Variant};
use rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_pcg::Pcg64Mcg;

const DRIVE: &str = "hp-c2247";
const ROTATION_RPM: f64 = 5398.2;
const SEED: u64 = 1;
const ROWS: u64 = 3000;

/// The validation workload of worthington94 figure 2: half reads; 30 % sequential, 30 % local,
/// the rest random.
const READS: f64 = 0.5;
const SEQUENTIAL: f64 = 0.3;
const LOCAL: f64 = 0.3;
/// Root of the variance of 10,000 around the start of the request before.
const LOCAL_SD_SECTORS: f64 = 100.0;
/// 8 KB; exponential.
const MEAN_SECTORS: f64 = 16.0;
/// Uniform from zero.
const LONGEST_PAUSE_US: f64 = 22_000.0;

fn main() {
    print!("{}", trace());
}

/// The whole file.
fn trace() -> String {
    let entry = diskarm_drives::find(DRIVE).expect("a drive of the catalogue");
    let mut spec = spec::parse(entry.text, entry.name).expect("a valid specification");
    spec.mechanics.period_ns = 60e9 / ROTATION_RPM;
    let layout = Arc::new(Layout::new(&spec.geometry).expect("a consistent layout"));
    let rows = Workload::new(layout.sectors()).take(ROWS as usize);
    let unanswered = rows.map(|step| Measured {
        step,
        response: Span::ZERO,
    });
    let model = Validation::new(&spec, layout, unanswered.collect());
    let replayed = model.replay(Variant::From(Angle::of(1, 3)));
    let responses = replayed.expect("requests within the disk").responses;

    let mut text = "op,lbn,sectors,response_us,think_us\n".to_owned();
    for (Measured { step, .. }, response) in model.rows().iter().zip(responses) {
        let Step { request, think } = step;
        let op = if request.op.is_read() { "R" } else { "W" };
        let (start, sectors) = (request.start.0, request.sectors.0);
        let (response_us, think_us) = (whole_us(response), whole_us(*think));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{op},{start},{sectors},{response_us},{think_us}");
    }
    text
}

fn whole_us(span: Span) -> i64 {
    (span.as_ns() + 500) / 1000
}

/// Requests and pauses, without end.
struct Workload {
    generator: Pcg64Mcg,
    disk: SectorCount,
    /// The request before.
    last: Request,
}

impl Workload {
    fn new(disk: SectorCount) -> Self {
        let last = Request::new(0, Op::Read, Lbn(disk.0 / 2), SectorCount(1));
        Self {
            generator: Pcg64Mcg::seed_from_u64(SEED),
            disk,
            last,
        }
    }

    /// Uniform in `[0, 1)`.
    fn fraction(&mut self) -> f64 {
        (self.generator.next_u64() >> 11) as f64 / 2f64.powi(53)
    }

    /// Where the next request begins; it may end beyond the disk.
    fn start(&mut self) -> u64 {
        let kind = self.fraction();
        if kind < SEQUENTIAL {
            return self.last.end().0;
        }
        if kind < SEQUENTIAL + LOCAL {
            let deviation: f64 = StandardNormal.sample(&mut self.generator);
            let offset = (deviation * LOCAL_SD_SECTORS).round() as i64;
            return self.last.start.0.saturating_add_signed(offset);
        }
        (self.fraction() * self.disk.0 as f64) as u64
    }
}

impl Iterator for Workload {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let op = if self.fraction() < READS {
            Op::Read
        } else {
            Op::Write
        };
        let size: f64 = Exp1.sample(&mut self.generator);
        let sectors = ((size * MEAN_SECTORS).round() as u64).max(1);
        let start = self.start().min(self.disk.0 - sectors);
        self.last = Request::new(self.last.id + 1, op, Lbn(start), SectorCount(sectors));
        let pause_us = (self.fraction() * LONGEST_PAUSE_US).round();
        Some(Step {
            request: self.last,
            think: Span::from_us(pause_us),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file is made by this program and by no hand; and where the model has moved, the file
    /// is to be made again.
    #[test]
    fn the_file_that_ships_is_what_this_program_makes() {
        let shipped = include_str!("../../../examples/synthetic-hp-c2247.csv");
        let made = trace();
        let mut lines = shipped.lines().zip(made.lines()).enumerate();
        if let Some((index, (there, here))) = lines.find(|(_, (there, here))| there != here) {
            panic!("line {}: {there:?} ships, {here:?} is made", index + 1);
        }
        assert!(shipped == made, "one has more lines than the other");
    }

    /// The shares of worthington94 figure 2, within four standard deviations of a count or mean.
    #[test]
    fn the_workload_has_the_published_shares() {
        let n = ROWS as f64;
        let disk = SectorCount(2_054_864);
        let steps: Vec<Step> = Workload::new(disk).take(ROWS as usize).collect();
        let share = |count: usize, of: f64| {
            let sd = (of * (1.0 - of) / n).sqrt();
            let found = count as f64 / n;
            assert!((found - of).abs() < 4.0 * sd, "{found}, not {of}");
        };
        share(steps.iter().filter(|s| s.request.op.is_read()).count(), 0.5);
        let pairs = || steps.windows(2).map(|w| (w[0].request, w[1].request));
        share(pairs().filter(|(a, b)| a.end() == b.start).count(), 0.3);
        // Six standard deviations of the local requests; of the others, hardly any is that close.
        let near = pairs().filter(|(a, b)| a.start.0.abs_diff(b.start.0) < 600);
        share(near.count(), 0.6);
        let sectors: u64 = steps.iter().map(|s| s.request.sectors.0).sum();
        assert!((sectors as f64 / n - 16.0).abs() < 4.0 * 16.0 / n.sqrt());
        let pauses: Span = steps.iter().map(|s| s.think).sum();
        assert!((pauses.as_ms() / n - 11.0).abs() < 4.0 * 22.0 / (12.0 * n).sqrt());
        assert!(steps.iter().all(|s| s.request.end().0 <= disk.0));
    }
}
