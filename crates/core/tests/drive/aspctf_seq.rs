//! Sequential reads in ascending order: compared with ASPCTF, with a second implementation, and by
//! hand.

use diskarm_core::drive::Drive;
use diskarm_core::request::{Op, Request};
use diskarm_core::sched::{Estimate, Outlook, Pending, Policy};
use diskarm_core::units::{Instant, SectorCount};
use proptest::prelude::*;

use super::bounds::batch;
use super::policies::{policy_maker, through};
use super::random::{cases, drive, requests};
use super::tiny::{R, W, request, tiny};

/// The rule, evaluated request by request.
struct Brute {
    /// In order of arrival.
    pending: Vec<Pending>,
    gap: SectorCount,
    /// Nanoseconds of credit per second of waiting.
    credit_ns: i128,
}

impl Brute {
    /// Returns true if an older read that this one continues is pending.
    fn is_held_back(&self, index: usize) -> bool {
        let own = &self.pending[index].request;
        let is_continued = |older: &Pending| {
            let left_out = own.start.0 as i64 - older.request.end().0 as i64;
            older.request.op.is_read() && (0..=self.gap.0 as i64).contains(&left_out)
        };
        own.op.is_read() && self.pending[..index].iter().any(is_continued)
    }
}

impl Policy<Drive> for Brute {
    fn add(&mut self, pending: Pending, _: &Drive) {
        self.pending.push(pending);
    }

    fn next(&mut self, now: Instant, drive: &Drive) -> Option<Pending> {
        let outlook = drive.outlook(now);
        let cost = |index: usize| {
            let Pending { request, arrived } = &self.pending[index];
            let positioning = if outlook.is_buffered(request) {
                0
            } else {
                outlook.positioning(request, &drive.locate(request)).as_ns()
            };
            let waited = (now - *arrived).as_ns();
            i128::from(positioning) * 1_000_000_000 - self.credit_ns * i128::from(waited)
        };
        let free = (0..self.pending.len()).filter(|&i| !self.is_held_back(i));
        // The first of several minima: the earliest arrival.
        let best = free.min_by_key(|&index| cost(index))?;
        Some(self.pending.remove(best))
    }

    fn take(&mut self, _: u64) -> Option<Pending> {
        unreachable!("never called")
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn matches_the_rule_evaluated_request_by_request(
        spec in drive(), raw in requests(60), reads in any::<bool>(),
        gap in prop_oneof![Just(0), 0..40u64], w in prop_oneof![Just(0), 0..2000u64],
    ) {
        let mut raw = raw;
        if reads {
            raw.iter_mut().for_each(|raw| raw.op = Op::Read);
        }
        let expected = through(&spec, &raw, |_| Box::new(Brute {
            pending: Vec::new(),
            gap: SectorCount(gap),
            credit_ns: i128::from(w) * 1_000_000,
        }));
        let done = through(&spec, &raw, policy_maker(&format!("aspctf-seq(w={w}, gap={gap})")));
        prop_assert_eq!(&done, &expected);
        let mut served: Vec<u64> = done.iter().map(|c| c.request.id).collect();
        served.sort_unstable();
        prop_assert_eq!(served, (0..raw.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn without_sequential_reads_it_is_aspctf(
        spec in drive(), raw in requests(60), writes in any::<bool>(), w in 0..200u64,
    ) {
        let mut raw = raw;
        for raw in &mut raw {
            if writes {
                raw.op = Op::Write;
            } else {
                // They begin on even blocks and end on odd ones.
                raw.place = raw.place % (spec.geometry.sectors.0 / 2).max(1) * 2;
                (raw.sectors, raw.continues) = (1, false);
            }
        }
        let expected = through(&spec, &raw, policy_maker(&format!("aspctf(w={w})")));
        let found = through(&spec, &raw, policy_maker(&format!("aspctf-seq(w={w})")));
        prop_assert_eq!(found, expected);
    }
}

/// Cylinder 1 is reached at 2 ms. Block 27 passes at 3 ms and block 25 at 11, block 100 on
/// cylinder 5 at 10. So ASPCTF takes 27, then 100, then 25; one that must read 25 and 26 before 27
/// takes 100, then 25, and then 27, which follows at once.
#[test]
fn the_continued_read_goes_before_the_nearest() {
    let spec = tiny("");
    let order = |name: &str, asked: [Request; 3]| batch(&spec, &asked, policy_maker(name)).0;
    let asked = |op: Op, sectors: u64| {
        [
            request(25, op, 25, sectors),
            request(27, op, 27, 1),
            request(100, op, 100, 1),
        ]
    };
    assert_eq!(order("aspctf(w=0)", asked(R, 2)), [27, 100, 25]);
    assert_eq!(order("aspctf-seq(w=0)", asked(R, 2)), [100, 25, 27]);
    // Reads with a block between them, reads that overlap, and writes.
    assert_eq!(order("aspctf-seq(w=0)", asked(R, 1)), [27, 100, 25]);
    assert_eq!(order("aspctf-seq(w=0, gap=1)", asked(R, 1)), [100, 25, 27]);
    assert_eq!(order("aspctf-seq(w=0)", asked(R, 3)), [27, 100, 25]);
    assert_eq!(order("aspctf-seq(w=0)", asked(W, 2)), [27, 100, 25]);
}
