//! Validation: a model's response times beside those measured on the real drive.
//!
//! A measured trace is replayed closed-loop (the next request comes the measured pause after
//! the model's own completion) and judged by the distance between the two response-time
//! distributions, the *demerit* of worthington94 section 4.1. Where the platter stood when the
//! measurement began is not known, so the replay is repeated from evenly spaced angles.

use std::sync::Arc;

use crate::drive::{Completion, Drive};
use crate::engine::{self, Observer, Rejected, Replay, Step};
use crate::geometry::Layout;
use crate::spec::Spec;
use crate::units::{Angle, Instant};

/// How many evenly spaced initial angles a validation replays.
pub const ANGLES: u64 = 16;

/// Replays `steps` on the drive of `spec`, the platter at angle `origin` at first; the
/// completions in the order of the trace.
///
/// # Errors
/// When the drive refuses a request.
pub fn replay(
    spec: &Spec,
    layout: &Arc<Layout>,
    steps: &[Step],
    origin: Angle,
) -> Result<Vec<Completion>, Rejected> {
    let mut drive = Drive::with_layout(spec, Arc::clone(layout), origin);
    let mut load = Replay::new(steps.iter().copied(), Instant::START);
    let mut seen = Collected(Vec::with_capacity(steps.len()));
    engine::run(&mut drive, &mut load, &mut seen)?;
    Ok(seen.0)
}

/// Keeps all completions.
struct Collected(Vec<Completion>);

impl Observer for Collected {
    fn arrived(&mut self, _: Instant) {}

    fn completed(&mut self, completion: &Completion) {
        self.0.push(*completion);
    }
}
