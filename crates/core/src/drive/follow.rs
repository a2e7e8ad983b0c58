//! A model that runs beside a real drive: served one command at a time, and set right by what
//! the real drive was seen to do.

use std::sync::Arc;

use super::Rehearsal;
use super::arm::Arm;
use super::core::{Command, Core};
use crate::device::{Completion, Outcome};
use crate::geometry::Layout;
use crate::mechanics::{Mechanism, Rotation};
use crate::request::{Op, Request};
use crate::spec::{Spec, WriteCache};
use crate::units::{Angle, Instant, Span};

impl Core {
    /// The drive of `spec` over its layout, its platter at angle zero at [`Instant::START`].
    pub fn with_layout(spec: &Spec, layout: Arc<Layout>) -> Self {
        Self::with_mechanism(spec, Mechanism::new(spec, layout, Angle::ZERO))
    }

    /// The drive of `spec` on a mechanism made before, of which copies share their tables.
    ///
    /// Nobody outside knows which data a write cache puts on the media, and when: of one that
    /// chooses it is assumed that it keeps the order of arrival.
    pub fn with_mechanism(spec: &Spec, mechanism: Mechanism) -> Self {
        let mut core = Self::new(spec, mechanism);
        if core.rules.write_cache == WriteCache::Deferred {
            core.rules.write_cache = WriteCache::Always;
        }
        core
    }

    /// Serves a command that reaches an idle drive at `arrived`, no earlier than the last
    /// completion.
    pub fn serve_alone(&mut self, request: Request, arrived: Instant) -> Completion {
        let command = Command {
            request,
            arrived,
            open: arrived,
        };
        self.serve(&command).completion
    }

    /// Serves a command that reaches the drive at `arrived` and cannot begin before `open`, when
    /// the drive is done with the one before. Returns its completion, and when the drive may begin
    /// with the next.
    pub fn serve_queued(
        &mut self,
        request: Request,
        arrived: Instant,
        open: Instant,
    ) -> (Completion, Instant) {
        let served = self.serve(&Command {
            request,
            arrived,
            open,
        });
        (served.completion, served.open)
    }

    /// A copy on which to try requests that come one at a time from outside; the drive may not
    /// begin with one before `open`.
    pub fn rehearse_outside(&self, open: Instant) -> Rehearsal {
        Rehearsal::outside(self, open)
    }

    /// When the media transfer of the command served last ends, if it has one.
    pub fn transferred(&self) -> Instant {
        match &self.arm {
            Arm::Free(position) => position.since,
            Arm::Reading(reading) => reading.when(&self.mechanism, reading.requested),
        }
    }

    /// Layout, rotation and arm.
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// How its platter turns.
    pub fn rotation(&self) -> &Rotation {
        &self.mechanism.rotation
    }

    /// Its platter is found to be `late` behind at `at`, and to turn with another period: what
    /// is under way over the media is late with it.
    pub fn correct_rotation(&mut self, at: Instant, late: Span, period_ns: f64) {
        self.mechanism.rotation = self.mechanism.rotation.corrected(at, late, period_ns);
        self.delay_media(late);
    }

    /// What is under way over the media happens `by` later.
    pub fn delay_media(&mut self, by: Span) {
        match &mut self.arm {
            Arm::Free(position) => position.since = position.since.shifted(by),
            Arm::Reading(reading) => reading.delay(by),
        }
    }

    /// The command served last completed at `at`: unless the write cache took it, all that it
    /// waited for is on the media by then.
    pub fn completed_at(&mut self, at: Instant, outcome: Outcome) {
        self.bus_free = at;
        if outcome != Outcome::Absorbed && self.dirty.on_media > at {
            self.dirty.on_media = at;
            self.dirty.runs.clear();
        }
    }

    /// The buffer is found at `at` to hold nothing of `request`.
    pub fn forget(&mut self, request: &Request, at: Instant) {
        self.arm = Arm::Free(self.call(at));
        self.buffer.forget(request);
    }

    /// The buffer is found at `at` to hold all of `request`.
    pub fn remember(&mut self, request: &Request, at: Instant) {
        self.arm = Arm::Free(self.call(at));
        let segment = self.buffer.claim_for_read(request.start);
        self.buffer.fill(segment, request.end());
    }

    /// Whether a completion's instant is tied to the platter's angle.
    pub fn reveals_angle(completion: &Completion) -> bool {
        completion.request.op != Op::Flush
            && matches!(completion.outcome, Outcome::Miss | Outcome::PartialHit)
    }
}
