//! WSCAN(f): SCAN, one window at a time.
//!
//! # What it does
//! Serves all requests within a window of `f` times the length of the line, the nearest first in
//! either direction. When the window is empty, the arm continues in the direction of the sweep to
//! the next request, or reverses if no request is ahead. A new window opens there, in the direction
//! of the sweep. When ordering by cylinder, requests for the current cylinder are served first, as
//! under C-LOOK. The earlier of two equally near requests is served first.
//!
//! # Origin
//! liu05 section 3.1, in one sentence: it "maintains a current direction, but serves all requests
//! inside a window of f = 10% of disk cylinders"; the paper cited there (Geist and Ross 1997) was
//! not consulted. That sentence specifies the direction and the size, and that a window is emptied
//! before the arm moves on. Our choices: the window opens where the arm meets the next request,
//! stays until it is empty, is served nearest first, and the sweep reverses as LOOK does. WSCAN(0)
//! is LOOK with `from=first`. A request that found the drive idle opens a window, if it is outside
//! the previous one, and sets the direction.
//!
//! # Cost
//! One binary search per arrival and up to three per decision. Each arrival and each decision also
//! moves 16 bytes (24 when ordering by cylinder) for every request pending at a higher block.
//!
//! # When it is bad
//! Requests that keep arriving in the window keep the arm there and starve the others. A workload
//! that is spread over the disk does not have this effect, because only a fraction `f` of it is in
//! the window.

use super::line::{Direction, InCylinder, Line, LineQueue, Metric, Origin, Position};
use super::policy::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rule};
use crate::request::Request;
use crate::text::{Args, InputError};
use crate::units::{Instant, Lbn};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WScan {
    f: f64,
    metric: Metric,
}

impl Rule for WScan {
    const INFO: PolicyInfo = PolicyInfo {
        name: "wscan",
        summary: "up and down, one window at a time, nearest first within each",
        parameters: &[
            (
                "f=10%",
                "the size of the window, from 0 % to 100 % of the line",
            ),
            Line::PARAMETER,
            Origin::FIRST,
        ],
        knowledge: Knowledge::Blocks,
        origin: "liu05 section 3.1",
        example: "wscan(f=10%, by=map)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self {
            f: args.maybe_share("f")?.unwrap_or(0.1),
            metric: Metric::read(args, Origin::First)?,
        })
    }

    fn knowledge(&self) -> Knowledge {
        self.metric.knowledge()
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let metric = self.metric;
        // The window contains the coordinates nearer than the share, and always the first one.
        let share = metric.line.share(self.f, drive);
        let reach = (share.ceil() as u64).saturating_sub(1);
        match metric.line {
            Line::Lbn => Box::new(Windows::<Lbn>::new(reach, metric, drive)),
            Line::Fixed(_) | Line::Map => {
                Box::new(Windows::<InCylinder>::new(reach, metric, drive))
            }
        }
    }
}

#[derive(Debug)]
struct Windows<P> {
    queue: LineQueue<P>,
    /// Distance from a window's first coordinate to its last.
    reach: u64,
    sweep: Direction,
    /// The window's lowest and highest coordinate.
    window: (u64, u64),
}

impl<P: Position> Windows<P> {
    fn new<E: Estimate>(reach: u64, metric: Metric, drive: &E) -> Self {
        let queue = LineQueue::new(metric, drive);
        let arm = queue.arm();
        Self {
            queue,
            reach,
            sweep: Direction::Up,
            window: (arm, arm.saturating_add(reach)),
        }
    }

    fn is_inside(&self, coordinate: u64) -> bool {
        (self.window.0..=self.window.1).contains(&coordinate)
    }

    /// Opens a window at `coordinate` if it is outside the current window.
    fn move_to(&mut self, coordinate: u64) {
        if self.is_inside(coordinate) {
            return;
        }
        (self.sweep, self.window) = if coordinate > self.window.1 {
            let end = coordinate.saturating_add(self.reach);
            (Direction::Up, (coordinate, end))
        } else {
            let end = coordinate.saturating_sub(self.reach);
            (Direction::Down, (end, coordinate))
        };
    }

    fn choose(&self) -> Option<usize> {
        let queue = &self.queue;
        if let Some(index) = queue.here() {
            return Some(index);
        }
        let (above, below) = (queue.above(), queue.below());
        let inside = |index: &usize| self.is_inside(queue.coordinate(*index));
        match (above.filter(inside), below.filter(inside)) {
            (Some(above), Some(below)) => {
                let cost = |index| (queue.distance(index), index);
                match queue.cheaper(cost(above), cost(below)) {
                    Direction::Up => Some(above),
                    Direction::Down => Some(below),
                }
            }
            (None, None) => match self.sweep {
                Direction::Up => above.or(below),
                Direction::Down => below.or(above),
            },
            (above, below) => above.or(below),
        }
    }
}

impl<E: Estimate, P: Position> Policy<E> for Windows<P> {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.queue.add(pending, drive);
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        self.move_to(self.queue.start(request, drive).coordinate());
        self.queue.move_past(request, drive);
    }

    fn next(&mut self, _: Instant, drive: &E) -> Option<Pending> {
        let index = self.choose()?;
        self.move_to(self.queue.coordinate(index));
        Some(self.queue.serve(index, drive))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.queue.take(id)
    }
}
