//! A limit on waits, for any other policy.
//!
//! # What it does
//! While no request has waited longer than the limit, the inner policy decides. Otherwise the
//! oldest request is served next, and the inner policy treats it as served out of turn.
//!
//! # Origin
//! Drive firmware, and the two modes of jacobson91 section 5.2, with FCFS as the second. A limit
//! that is never reached changes nothing.
//!
//! # Cost
//! The cost of the inner policy, including the removal of a request by id once the limit is
//! reached, and a scan of requests in order of arrival, up to the chosen one.
//!
//! # When it is bad
//! If most waits reach the limit, it behaves like FCFS and saturates as early. A request beyond the
//! limit is never overtaken; before that, any request may overtake it.

use std::collections::VecDeque;

use super::policy::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rule, take};
use crate::request::Request;
use crate::text::{Args, Call, InputError};
use crate::units::{Instant, Span};

/// A policy with a limit on waits. `C` is the configuration of the inner policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Limited<C> {
    wait: Span,
    policy: Box<C>,
}

/// A configuration of any policy. The policy table, which contains [`Limited`], implements it.
pub trait Config: Sized {
    fn parse(text: &str, field: &str) -> Result<Self, InputError>;

    fn knowledge(&self) -> Knowledge;

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>>;
}

const NAME: &str = "limited";

impl<C: Config> Rule for Limited<C> {
    const INFO: PolicyInfo = PolicyInfo {
        name: NAME,
        summary: "any other policy, except that a request that has waited too long is served next",
        parameters: &[
            ("wait=1 s", "the longest wait, from 0 to an hour"),
            ("policy=sptf", "the inner policy, with its parameters"),
        ],
        knowledge: Knowledge::Inner,
        origin: "drive firmware; jacobson91 section 5.2",
        example: "limited(wait=500 ms, policy=asptf(w=6))",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let wait = args.maybe_time("wait")?.unwrap_or(Span::from_s(1.0));
        let policy = match args.maybe_read("policy", parse_inner)? {
            Some(policy) => Box::new(policy),
            None => Box::new(parse_inner("sptf", "policy")?),
        };
        Ok(Self { wait, policy })
    }

    fn knowledge(&self) -> Knowledge {
        self.policy.knowledge()
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        Box::new(LimitedPolicy {
            wait: self.wait,
            inner: self.policy.policy(drive),
            order: VecDeque::new(),
        })
    }
}

/// Parses any policy except [`Limited`]: of two limits, only the smaller would matter.
fn parse_inner<C: Config>(text: &str, field: &str) -> Result<C, InputError> {
    // This is checked before the rest is parsed, so that nesting is bounded.
    if Call::name_of(text).eq_ignore_ascii_case(NAME) {
        return Err(InputError::new(field, text, "a policy without a limit"));
    }
    C::parse(text, field)
}

struct LimitedPolicy<E: Estimate> {
    wait: Span,
    inner: Box<dyn Policy<E>>,
    /// Pending requests, oldest first.
    order: VecDeque<Pending>,
}

impl<E: Estimate> Policy<E> for LimitedPolicy<E> {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.order.push_back(pending);
        self.inner.add(pending, drive);
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        self.inner.note_bypass(request, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let oldest = self.order.front()?;
        let chosen = if now.since_or_zero(oldest.arrived) > self.wait {
            let forced = self.inner.take(oldest.request.id)?;
            self.inner.note_bypass(&forced.request, drive);
            forced
        } else {
            self.inner.next(now, drive)?
        };
        take(&mut self.order, chosen.request.id);
        Some(chosen)
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        take(&mut self.order, id);
        self.inner.take(id)
    }
}
