//! Which request meets which errors and delays.

use super::plan::{FaultPlan, RandomErrors};
use crate::device::{Completion, Status};
use crate::random::{Chance, Generator, Purpose, below, generator};
use crate::request::{Op, Request};
use crate::units::Span;

/// Random numbers for one kind of fault: kinds do not disturb each other.
struct Random {
    generator: Generator,
    chance: Chance,
}

impl Random {
    fn new(seed: u64, kind: usize, share: f64) -> Self {
        Self {
            generator: generator(seed, kind, Purpose::Faults),
            chance: Chance::new(share),
        }
    }

    fn hits(&mut self) -> bool {
        self.chance.hits(&mut self.generator)
    }

    fn below(&mut self, bound: u64) -> u64 {
        below(&mut self.generator, bound)
    }
}

/// Decides for one request after another what goes wrong.
pub(super) struct Judge {
    plan: FaultPlan,
    medium: Random,
    recovered: Random,
    spikes: Random,
}

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub status: Status,
    pub retries: u16,
    pub delay: Span,
}

impl Judge {
    pub fn new(plan: &FaultPlan) -> Self {
        let share = |errors: Option<RandomErrors>| errors.map_or(0.0, |errors| errors.share);
        Self {
            medium: Random::new(plan.seed, 0, share(plan.random_medium_errors)),
            recovered: Random::new(plan.seed, 1, share(plan.random_recovered_errors)),
            spikes: Random::new(plan.seed, 2, plan.spikes.map_or(0.0, |spikes| spikes.share)),
            plan: plan.clone(),
        }
    }

    pub fn judge(&mut self, completion: &Completion) -> Verdict {
        let request = &completion.request;
        let (status, retries) = match request.op {
            Op::Read | Op::Write => self.errors(request, completion.status),
            Op::Flush => (completion.status, 0),
        };
        let delay = match self.plan.spikes {
            Some(spikes) if self.spikes.hits() => spikes.delay,
            _ => Span::ZERO,
        };
        Verdict {
            status,
            retries,
            delay,
        }
    }

    /// Of several errors the gravest, a listed one before a random one. Random numbers are taken in
    /// any case, so that they do not depend on what is listed.
    fn errors(&mut self, request: &Request, status: Status) -> (Status, u16) {
        let random_medium = self.random_medium(request);
        let random_recovered = self.random_recovered();
        let listed = self.plan.medium_errors.iter();
        let listed = listed.filter_map(|blocks| Some((blocks.met_by(request)?, blocks.retries)));
        let listed = listed.min().map(|(bad, retries)| {
            let offset = (bad - request.start).0 as u16;
            (Status::MediumError { offset }, retries)
        });
        let medium = listed.or(random_medium);
        medium.unwrap_or_else(|| {
            let listed = self.plan.recovered_errors.iter();
            let listed = listed.filter(|blocks| blocks.met_by(request).is_some());
            let retries = listed.map(|blocks| blocks.retries).max();
            match (retries.or(random_recovered), status) {
                (None, _) => (status, 0),
                (Some(more), Status::Recovered { retries }) => {
                    let retries = retries.saturating_add(more);
                    (Status::Recovered { retries }, more)
                }
                (Some(retries), _) => (Status::Recovered { retries }, retries),
            }
        })
    }

    fn random_medium(&mut self, request: &Request) -> Option<(Status, u16)> {
        let errors = self.plan.random_medium_errors?;
        let offset = self.medium.below(request.sectors.0) as u16;
        let status = Status::MediumError { offset };
        self.medium.hits().then_some((status, errors.retries))
    }

    fn random_recovered(&mut self) -> Option<u16> {
        let errors = self.plan.random_recovered_errors?;
        let retries = 1 + self.recovered.below(errors.retries.into()) as u16;
        self.recovered.hits().then_some(retries)
    }
}
