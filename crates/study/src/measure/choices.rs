//! The choices of a policy: whether the chosen request has the shortest seek of all waiting
//! requests, the shortest rotational wait, both or neither (liu05, section 5.3.3, figure 5.4).
//!
//! A request that arrives when no other is waiting counts as having both. Requests that tie, such
//! as those on one cylinder, all count as the shortest.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diskarm_core::drive::Drive;
use diskarm_core::extent::Extent;
use diskarm_core::request::Request;
use diskarm_core::sched::{Estimate, Knowledge, Outlook, Pending, Policy};
use diskarm_core::stack::{BoxedDevice, InsufficientKnowledge};
use diskarm_core::units::{Instant, Span};
use diskarm_simulate::{MakePolicy, Simulation};

use super::responses::run_once;
use crate::metric::{Column, MeasureInfo, RunOutcome, Stop};

pub(super) const INFO: MeasureInfo = MeasureInfo {
    name: "choices",
    summary: "whether the chosen request has the shortest seek, the shortest rotational wait, \
              or neither",
    columns: || {
        Column::all(&[
            (
                "least_seek_share",
                "Share of choices with the shortest seek",
            ),
            (
                "least_rotation_share",
                "Share of choices with the shortest rotational wait",
            ),
            ("both_share", "Share of choices with both"),
            ("neither_share", "Share of choices with neither"),
            ("waiting_mean", "Requests to choose from"),
            ("response_ms_mean", "Mean response time, ms"),
        ])
    },
};

pub(super) fn run(simulation: &Simulation<'_>, stop: Stop<'_>) -> Result<RunOutcome, String> {
    let counter = DecisionCounter {
        policy: simulation.policy,
        warm_up: simulation.warm_up,
        counts: Arc::default(),
    };
    let simulation = Simulation {
        policy: &counter,
        ..*simulation
    };
    run_once(&simulation, stop, |run| {
        let counts = lock_counts(&counter.counts);
        let all = counts.seek + counts.rotation + counts.neither - counts.both;
        let share = |count: u64| Some(count as f64 / all as f64).filter(|_| all > 0);
        let responses = run.report.all().responses().stats();
        vec![
            share(counts.seek),
            share(counts.rotation),
            share(counts.both),
            share(counts.neither),
            share(counts.waiting),
            responses.map(|responses| responses.mean_ms),
        ]
    })
}

#[derive(Default)]
struct DecisionCounts {
    /// All decisions, including the warm-up.
    decisions: u64,
    seek: u64,
    rotation: u64,
    both: u64,
    neither: u64,
    /// The number of waiting requests, summed over decisions.
    waiting: u64,
}

impl DecisionCounts {
    fn count(&mut self, warm_up: u64, waiting: usize, has: [bool; 2]) {
        self.decisions += 1;
        if self.decisions <= warm_up {
            return;
        }
        let [seek, rotation] = has;
        self.seek += u64::from(seek);
        self.rotation += u64::from(rotation);
        self.both += u64::from(seek && rotation);
        self.neither += u64::from(!seek && !rotation);
        self.waiting += waiting as u64;
    }
}

/// Returns the counts, even if a thread panicked while it held the lock.
fn lock_counts(counts: &Mutex<DecisionCounts>) -> MutexGuard<'_, DecisionCounts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

struct DecisionCounter<'a> {
    policy: &'a dyn MakePolicy,
    warm_up: u64,
    counts: Arc<Mutex<DecisionCounts>>,
}

impl MakePolicy for DecisionCounter<'_> {
    fn policy(&self, drive: &Drive) -> Box<dyn Policy<Drive>> {
        Box::new(self.counted(self.policy.policy(drive)))
    }

    fn boxed(
        &self,
        device: &BoxedDevice,
    ) -> Result<Box<dyn Policy<BoxedDevice>>, InsufficientKnowledge> {
        let policy = self.policy.boxed(device)?;
        device.check_knowledge("with cell.measure = \"choices\"", Knowledge::Times)?;
        Ok(Box::new(self.counted(policy)))
    }
}

impl DecisionCounter<'_> {
    fn counted<E: Estimate>(&self, policy: Box<dyn Policy<E>>) -> CountedPolicy<E> {
        CountedPolicy {
            policy,
            waiting: Vec::new(),
            warm_up: self.warm_up,
            counts: self.counts.clone(),
        }
    }
}

/// Compares each decision of `policy` with all waiting requests.
struct CountedPolicy<E: Estimate> {
    policy: Box<dyn Policy<E>>,
    waiting: Vec<(Request, Extent)>,
    warm_up: u64,
    counts: Arc<Mutex<DecisionCounts>>,
}

impl<E: Estimate> CountedPolicy<E> {
    fn forget(&mut self, id: u64) {
        self.waiting.retain(|(request, _)| request.id != id);
    }
}

impl<E: Estimate> Policy<E> for CountedPolicy<E> {
    fn add(&mut self, pending: Pending, drive: &E) {
        let extent = drive.locate(&pending.request);
        self.waiting.push((pending.request, extent));
        self.policy.add(pending, drive);
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        lock_counts(&self.counts).count(self.warm_up, 1, [true, true]);
        self.policy.note_bypass(request, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let outlook = drive.outlook(now);
        let parts = self.waiting.iter().map(|(request, extent)| {
            let seek = outlook.seek(request, extent);
            let rotation = outlook.positioning(request, extent) - seek;
            (request.id, [seek, rotation])
        });
        let parts: Vec<(u64, [Span; 2])> = parts.collect();
        let chosen = self.policy.next(now, drive)?;
        let id = chosen.request.id;
        if let Some((_, own)) = parts.iter().find(|(other, _)| *other == id) {
            let has = [0, 1].map(|part| parts.iter().all(|(_, its)| own[part] <= its[part]));
            lock_counts(&self.counts).count(self.warm_up, parts.len(), has);
        }
        self.forget(id);
        Some(chosen)
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.forget(id);
        self.policy.take(id)
    }
}
