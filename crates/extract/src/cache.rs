//! Measures the on-board buffer (worthington96 sections 5.7 and 5.8; tables 7, 11, 16 and 21).
//!
//! As in the paper, a test vector fills the buffer in some way, and then probes its content with a
//! read. Sizes and counts are first measured one by one ([`direct`]), which also shows whether the
//! write cache is of a kind that a model can predict. Everything else is inferred by comparing
//! hypotheses ([`inference`]): given the known layout and timing of the drive, a model computes how
//! the drive would execute a test vector if it had any given buffer. Vectors for which the
//! predictions differ are run, and the hypothesis that predicts the observed times is accepted. If
//! no vector determines a property, the reason is reported.

mod context;
mod direct;
mod facts;
mod hypotheses;
mod inference;
mod selection;
mod vector;

use diskarm_core::spec::{Spec, WriteCache};

use self::context::Context;
use self::facts::{BufferKey, DEFERRED_REASON, DISPUTED_REASON, FAILURES, KEYS, SEGMENTS_REASON};
use self::inference::Verdict;
use crate::hits::WriteHits;
use crate::{Disk, Effort, Error, Setup};

pub use self::facts::{Fact, Facts, Finding};

/// Measures the buffer using only reads, given the other `known` properties of the drive.
pub fn measure(disk: &mut Disk<'_>, setup: &Setup<'_>, known: &Spec) -> Result<Facts, Error> {
    measure_with(Context::new(disk, setup, known, false)?, setup.effort)
}

/// Measures the buffer using reads and writes, given `hits`. Destroys data in random blocks.
pub fn measure_writes(
    disk: &mut Disk<'_>,
    setup: &Setup<'_>,
    known: &Spec,
    hits: &WriteHits,
) -> Result<Facts, Error> {
    let mut context = Context::new(disk, setup, known, true)?;
    // The specification does not show absorption, because the overhead of hits may be zero.
    context.absorbs_writes = hits.after_read.is_some();
    measure_with(context, setup.effort)
}

fn measure_with(mut context: Context<'_, '_>, effort: Effort) -> Result<Facts, Error> {
    context.best.buffer.partial_hits_at_once = true;
    direct::measure_read_ahead(&mut context)?;
    direct::measure_segments(&mut context)?;
    if context.writes {
        direct::measure_hits_on_written(&mut context)?;
        let absorbs = context.best.buffer.write_cache == WriteCache::Always;
        context.is_deferred = absorbs && direct::has_deferred_cache(&mut context)?;
        // No model predicts the behaviour of such a drive after writes.
        context.writes = !context.is_deferred;
    }
    context.learn_hits();
    let mut verdicts = inference::infer(&mut context, effort)?;
    let failures = direct::measure_failures(&mut context, effort)?;
    for (key, verdict) in KEYS.iter().zip(&mut verdicts) {
        if key.path == FAILURES {
            *verdict = Verdict {
                agreed: failures.tried - failures.failed,
                trials: failures.tried,
                is_open: failures.tried == 0,
                is_disputed: false,
            };
        }
    }
    Ok(report(&context, &verdicts))
}

fn report(context: &Context<'_, '_>, verdicts: &[Verdict]) -> Facts {
    let fact = |(key, verdict): (&BufferKey, &Verdict)| {
        let value = key.key().get(&context.best);
        let irrelevant = (key.irrelevant)(&context.best.buffer);
        let is_disputed = key.path != FAILURES && verdict.is_disputed;
        let is_hidden = context.is_deferred && key.path == "buffer.segments";
        let undetermined = if key.needs_writes && !context.writes {
            if context.is_deferred {
                DEFERRED_REASON
            } else {
                "can be measured only with writes"
            }
        } else if is_hidden {
            SEGMENTS_REASON
        } else if is_disputed {
            DISPUTED_REASON
        } else {
            key.undetermined_reason
        };
        let is_found = irrelevant.is_none() && !verdict.is_open && !is_disputed && !is_hidden;
        let finding = match value {
            Some(value) if is_found => Finding::Found {
                value,
                agreed: verdict.agreed,
                trials: verdict.trials,
            },
            value => Finding::NotDeterminable {
                value,
                reason: irrelevant.unwrap_or(undetermined).to_owned(),
            },
        };
        Fact {
            key: key.path,
            finding,
        }
    };
    Facts {
        facts: KEYS.iter().zip(verdicts).map(fact).collect(),
    }
}
