//! A copy of a drive on which a scheduler tries requests.

use super::core::{Command, Core, View};
use crate::extent::Extent;
use crate::request::Request;
use crate::sched::{Estimate, Rehearse, Shape};
use crate::units::Instant;

/// A drive's mechanism, buffer and host path, as they were when the copy was made.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    core: Core,
    /// Requests wait in the drive's own queue, where their commands are processed meanwhile;
    /// else they come one at a time from outside.
    is_inside: bool,
    /// When the next may begin.
    open: Instant,
    /// When the last completed.
    over: Instant,
}

impl Rehearsal {
    /// For a scheduler in the drive.
    pub(super) fn inside(core: &Core) -> Self {
        Self {
            core: core.without_fate(),
            is_inside: true,
            open: Instant::START,
            over: Instant::START,
        }
    }

    /// For a scheduler that hands over a request when the drive has completed the one before. The
    /// drive may not begin before `open`: a write that it completed early keeps it busy longer.
    pub(super) fn outside(core: &Core, open: Instant) -> Self {
        Self {
            core: core.without_fate(),
            is_inside: false,
            open,
            over: Instant::START,
        }
    }
}

impl Estimate for Rehearsal {
    type Outlook<'a> = View<'a>;
    type Rehearsal = Self;

    fn shape(&self) -> Shape {
        self.core.shape()
    }

    #[inline]
    fn locate(&self, request: &Request) -> Extent {
        self.core.locate(request)
    }

    #[inline]
    fn outlook(&self, now: Instant) -> View<'_> {
        let arrived = if self.is_inside { Instant::START } else { now };
        self.core.view(arrived, now)
    }

    fn rehearse(&self) -> Self {
        self.clone()
    }
}

impl Rehearse for Rehearsal {
    fn serve(&mut self, now: Instant, request: &Request) -> Instant {
        let arrived = if self.is_inside { Instant::START } else { now };
        let served = self.core.serve(&Command {
            request: *request,
            arrived,
            open: now.max(self.open),
        });
        self.open = served.open;
        self.over = served.completion.at;
        if self.is_inside { self.open } else { self.over }
    }

    fn completed_at(&self) -> Instant {
        self.over
    }
}
