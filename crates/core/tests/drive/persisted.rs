//! The instants at which the blocks of a write reach the media.

use std::collections::BTreeMap;

use diskarm_core::device::{Completion, Device, Outcome, Persisted};
use diskarm_core::drive::Drive;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::Spec;
use diskarm_core::units::{Angle, Instant, Span};
use proptest::prelude::*;

use super::random::{cases, chancy_drive, fitted, requests};
use super::tiny::{Arrival, W, request, tiny};

fn at(ms: f64) -> Instant {
    Instant::START + Span::from_ms(ms)
}

/// Returns the blocks newly on the media at each of `times` in ms.
fn persisted(spec: &Spec, (ms, op, start, sectors): Arrival, times: &[f64]) -> Vec<Vec<u64>> {
    let mut drive = Drive::new(spec, Angle::ZERO).expect("a valid layout");
    assert_eq!(drive.persisted(Instant::START), Some(vec![]));
    let request = request(0, op, start, sectors);
    assert_eq!(drive.submit(at(ms), request), Ok(()));
    let blocks = |run: &Persisted| run.first.0..run.first.0 + run.sectors.0;
    let mut persisted = |ms: &f64| {
        while drive.advance(at(*ms)).is_some() {}
        let persisted = drive.persisted(at(*ms)).expect("a drive reports");
        persisted.iter().flat_map(blocks).collect()
    };
    times.iter().map(&mut persisted).collect()
}

#[test]
fn an_absorbed_write_is_persisted_sector_by_sector_after_completion() {
    // Completed at 1.0; on the media from 9.0 until 13.0, head 0 of cylinder 1.
    let spec = tiny(
        "[bus]\nwrite_sector = \"0.25 ms\"\n\
         [buffer]\ncaching = true\nwrite_cache = \"always\"\n",
    );
    let found = persisted(&spec, (0.0, W, 23, 4), &[9.9, 10.1, 12.1, 20.0]);
    assert_eq!(found, [vec![], vec![23], vec![24, 25], vec![26]]);
}

#[test]
fn a_zero_latency_write_is_persisted_from_where_the_head_lands() {
    // In place in the middle of the seventh sector: the three after it from 3.0 on, the seven from
    // 6.0.
    let spec = tiny("[buffer]\nwrite_on_arrival = true\n[bus]\nwrite_sector = \"0.1 ms\"\n");
    let found = persisted(&spec, (0.5, W, 20, 10), &[3.9, 4.1, 6.9, 7.1, 13.1]);
    let rest = (21..27).collect();
    assert_eq!(found, [vec![], vec![27], vec![28, 29], vec![20], rest]);
}

/// A drive that counts how often each block is persisted.
struct CountingDrive {
    drive: Drive,
    counts: BTreeMap<u64, u64>,
    done: Vec<Completion>,
}

impl CountingDrive {
    fn advance(&mut self, now: Instant) {
        let seen = self.done.len();
        self.done
            .extend(std::iter::from_fn(|| self.drive.advance(now)));
        let persisted = self.drive.persisted(now).expect("a drive reports");
        for run in persisted {
            for block in run.first.0..run.first.0 + run.sectors.0 {
                *self.counts.entry(block).or_default() += 1;
            }
        }
        for completion in &self.done[seen..] {
            self.check(completion);
        }
    }

    /// Returns the number of completed writes that contain `block`.
    fn count_writes(&self, block: u64, of: impl Fn(&Completion) -> bool) -> u64 {
        let holds = |done: &&Completion| {
            let request = &done.request;
            request.op == Op::Write && (request.start.0..request.end().0).contains(&block)
        };
        let writes = self.done.iter().filter(|done| of(done));
        writes.filter(holds).count() as u64
    }

    /// The blocks that a completion guarantees to be on the media.
    fn check(&self, completion: &Completion) {
        let request = &completion.request;
        match (request.op, completion.outcome) {
            (Op::Write, Outcome::Miss) => {
                for block in request.start.0..request.end().0 {
                    assert!(self.counts.contains_key(&block), "{completion:?}");
                }
            }
            (Op::Flush, _) => {
                let before = |done: &Completion| done.at <= completion.arrived;
                for (block, count) in &self.counts {
                    assert!(
                        *count >= self.count_writes(*block, before),
                        "{completion:?}"
                    );
                }
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    /// The oracle is what a completion means: data of a write that was not absorbed are on the
    /// media, and after a flush so are the data of all writes that completed before it; finally
    /// every block has persisted as often as it was written.
    #[test]
    fn guaranteed_data_are_on_the_media(
        spec in chancy_drive(), raw in requests(20), flushes in any::<u32>(),
    ) {
        let mut spec = spec;
        spec.queue.depth = 40;
        let drive = Drive::new(&spec, Angle::from_fraction(1, 3)).expect("a valid layout");
        let mut watched = CountingDrive { drive, counts: BTreeMap::new(), done: Vec::new() };
        let mut now = Instant::START;
        watched.advance(now);
        let asked = fitted(&raw, spec.geometry.sectors.0).into_iter().enumerate();
        for (id, (pause, op, start, n)) in asked {
            now += pause;
            while let Some(event) = watched.drive.next_event().filter(|event| *event <= now) {
                watched.advance(event);
            }
            watched.advance(now);
            let asked = match flushes >> (id % 32) & 7 {
                0 => Request::flush(id as u64),
                1 => Request { force_unit_access: true, ..request(id as u64, op, start, n) },
                _ => request(id as u64, op, start, n),
            };
            prop_assert_eq!(watched.drive.submit(now, asked), Ok(()));
        }
        while let Some(event) = watched.drive.next_event() {
            watched.advance(event);
            now = event;
        }
        watched.advance(now + Span::from_s(100.0));
        let blocks: u64 = watched.done.iter().filter(|done| done.request.op == Op::Write)
            .map(|done| done.request.sectors.0).sum();
        prop_assert_eq!(watched.counts.values().sum::<u64>(), blocks);
        for (block, count) in &watched.counts {
            prop_assert_eq!(*count, watched.count_writes(*block, |_| true));
        }
    }
}
