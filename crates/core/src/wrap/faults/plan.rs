//! The plan of faults, as plain data.

use crate::request::{Op, Request};
use crate::text::InputError;
use crate::units::{Instant, Lbn, Span};

/// The faults that [`Faults`](super::Faults) injects; none by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultPlan {
    /// Seed of all random faults.
    pub seed: u64,
    /// Blocks that fail after all retries.
    pub medium_errors: Vec<BadBlocks>,
    /// Blocks that succeed after their retries.
    pub recovered_errors: Vec<BadBlocks>,
    /// Transfers in which a random block fails after all retries.
    pub random_medium_errors: Option<RandomErrors>,
    /// Transfers that succeed after a random number of retries: from one to
    /// [`RandomErrors::retries`], all equally likely.
    pub random_recovered_errors: Option<RandomErrors>,
    /// Requests that take longer.
    pub spikes: Option<Spikes>,
    /// Recalibrations of the device.
    pub recalibration: Option<Recalibration>,
    /// Periods in which the device cannot be reached, in chronological order.
    pub outages: Vec<Outage>,
}

/// Consecutive blocks on which transfers fail at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadBlocks {
    /// First block of the range.
    pub first: Lbn,
    /// One past the last.
    pub end: Lbn,
    /// The transfers that fail.
    pub affected: AffectedOps,
    /// Attempts after the first, one revolution each.
    pub retries: u16,
}

/// The transfers that a bad block affects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AffectedOps {
    /// Writes succeed; only reads fail.
    Reads,
    /// Reads succeed; only writes fail.
    Writes,
    /// Both reads and writes fail.
    #[default]
    Both,
}

/// Errors that hit reads and writes at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomErrors {
    /// Fraction of the reads and writes that have an error, from 0 to 1.
    pub share: f64,
    /// Attempts after the first, one revolution each.
    pub retries: u16,
}

/// Delays that hit requests at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spikes {
    /// Fraction of the requests that are delayed, from 0 to 1.
    pub share: f64,
    /// Time added to a delayed request.
    pub delay: Span,
}

/// Thermal recalibration: due at every multiple of an interval since the start of the run. It
/// begins when the current request has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recalibration {
    /// Interval from one recalibration to the next.
    pub every: Span,
    /// Duration, during which nothing is served.
    pub lasts: Span,
}

/// A period in which the device cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Start of the outage.
    pub from: Instant,
    /// End of the outage.
    pub until: Instant,
}

impl BadBlocks {
    /// Returns the first bad block that a request touches.
    pub fn first_in(&self, request: &Request) -> Option<Lbn> {
        let is_affected = match request.op {
            Op::Read => self.affected != AffectedOps::Writes,
            Op::Write => self.affected != AffectedOps::Reads,
            Op::Flush => false,
        };
        let first = self.first.max(request.start);
        (is_affected && first < self.end.min(request.end())).then_some(first)
    }
}

impl FaultPlan {
    /// Checks that the plan is consistent.
    ///
    /// # Errors
    /// The first inconsistent value.
    pub fn check(&self) -> Result<(), InputError> {
        for (field, blocks) in [
            ("medium_errors", &self.medium_errors),
            ("recovered_errors", &self.recovered_errors),
        ] {
            if let Some(empty) = blocks.iter().find(|blocks| blocks.first >= blocks.end) {
                let found = format!("{}..{}", empty.first.0, empty.end.0);
                return Err(InputError::shown(field, found, "at least one block"));
            }
        }
        let errors = |errors: Option<RandomErrors>| errors.map(|errors| errors.share);
        for (field, share) in [
            ("random_medium_errors", errors(self.random_medium_errors)),
            (
                "random_recovered_errors",
                errors(self.random_recovered_errors),
            ),
            ("spikes", self.spikes.map(|spikes| spikes.share)),
        ] {
            if let Some(share) = share.filter(|share| !(0.0..=1.0).contains(share)) {
                return Err(InputError::shown(field, share, "a share from 0 to 1"));
            }
        }
        let recovered = self.recovered_errors.iter().map(|blocks| blocks.retries);
        let random = self.random_recovered_errors.map(|errors| errors.retries);
        if recovered.chain(random).any(|retries| retries == 0) {
            let expected = "at least one, as the first attempt failed";
            return Err(InputError::shown("retries", 0, expected));
        }
        self.check_times()
    }

    fn check_times(&self) -> Result<(), InputError> {
        if let Some(delay) = self.spikes.map(|spikes| spikes.delay)
            && delay <= Span::ZERO
        {
            return Err(InputError::shown("spikes", delay, "a time above 0"));
        }
        if let Some(Recalibration { every, lasts }) = self.recalibration
            && !(Span::ZERO < lasts && lasts < every)
        {
            let found = format!("{lasts} every {every}");
            let expected = "a duration above 0 and below the interval";
            return Err(InputError::shown("recalibration", found, expected));
        }
        let shown = |outage: &Outage| {
            let Outage { from, until } = outage;
            format!("{} s to {} s", from.as_s(), until.as_s())
        };
        let mut before: Option<&Outage> = None;
        for outage in &self.outages {
            let found = shown(outage);
            if outage.from < Instant::START || outage.until <= outage.from {
                let expected = "a start within the run, and a later end";
                return Err(InputError::shown("outages", found, expected));
            }
            if let Some(before) = before.filter(|before| outage.from < before.until) {
                let expected = format!("an outage after {}", shown(before));
                return Err(InputError::shown("outages", found, expected));
            }
            before = Some(outage);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(first: u64, end: u64) -> Vec<BadBlocks> {
        vec![BadBlocks {
            first: Lbn(first),
            end: Lbn(end),
            affected: AffectedOps::Reads,
            retries: 0,
        }]
    }

    fn outage(from_s: f64, until_s: f64) -> Outage {
        Outage {
            from: Instant::START + Span::from_s(from_s),
            until: Instant::START + Span::from_s(until_s),
        }
    }

    #[test]
    fn each_contradiction_is_named() {
        let errors = |share, retries| Some(RandomErrors { share, retries });
        let check = |wrong: Option<&str>, change: &dyn Fn(&mut FaultPlan)| {
            let mut plan = FaultPlan::default();
            change(&mut plan);
            let field = plan.check().err().map(|error| error.field);
            assert_eq!(field.as_deref(), wrong, "{plan:?}");
        };
        let assert_refused = |field, change: &dyn Fn(&mut FaultPlan)| check(Some(field), change);
        assert_refused("medium_errors", &|plan| plan.medium_errors = blocks(5, 5));
        assert_refused("retries", &|plan| plan.recovered_errors = blocks(5, 6));
        assert_refused("retries", &|plan| {
            plan.random_recovered_errors = errors(0.5, 0)
        });
        assert_refused("random_medium_errors", &|plan| {
            plan.random_medium_errors = errors(1.5, 0)
        });
        let (share, delay) = (0.1, Span::ZERO);
        assert_refused("spikes", &|plan| {
            plan.spikes = Some(Spikes { share, delay })
        });
        let (every, lasts) = (Span::from_s(1.0), Span::from_s(1.0));
        let often = Some(Recalibration { every, lasts });
        assert_refused("recalibration", &|plan| plan.recalibration = often);
        for wrong in [
            vec![outage(1.0, 1.0)],
            vec![outage(1.0, 3.0), outage(2.0, 4.0)],
        ] {
            assert_refused("outages", &|plan| plan.outages = wrong.clone());
        }
        let outages = vec![outage(1.0, 3.0), outage(2.0, 4.0)];
        let plan = FaultPlan {
            outages,
            ..FaultPlan::default()
        };
        let error = plan.check().expect_err("they overlap").to_string();
        assert!(
            error.contains("expected an outage after 1 s to 3 s"),
            "{error}"
        );
        check(None, &|plan| {
            plan.outages = vec![outage(1.0, 2.0), outage(2.0, 4.0)];
            plan.random_medium_errors = errors(1.0, 0);
            plan.medium_errors = blocks(0, 1);
        });
    }

    #[test]
    fn a_bad_block_affects_requests_that_contain_it() {
        let [bad] = blocks(10, 12)[..] else {
            panic!("one range");
        };
        let first_bad = |op, start, sectors| {
            let sectors = crate::units::SectorCount(sectors);
            bad.first_in(&Request::new(0, op, Lbn(start), sectors))
        };
        assert_eq!(first_bad(Op::Read, 8, 2), None);
        assert_eq!(first_bad(Op::Read, 8, 3), Some(Lbn(10)));
        assert_eq!(first_bad(Op::Read, 11, 9), Some(Lbn(11)));
        assert_eq!(first_bad(Op::Read, 12, 1), None);
        assert_eq!(first_bad(Op::Write, 10, 1), None);
        assert_eq!(bad.first_in(&Request::flush(0)), None);
    }
}
