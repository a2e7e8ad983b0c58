//! WSCAN(f): SCAN by windows.
//!
//! # What it does
//! Serves all requests within a window of `f` times the length of the line, the nearest first,
//! whatever its direction. When the window is empty, the arm continues in the direction of the
//! sweep to the next request, or reverses if there is none, and a new window opens from there in
//! the direction of the sweep. By cylinders, requests for the current cylinder go first, as under
//! C-LOOK. Of two equally near requests it serves the earlier arrival.
//!
//! # Origin
//! liu05 section 3.1, in one sentence: it "maintains a current direction, but serves all requests
//! inside a window of f = 10% of disk cylinders"; the paper cited there (Geist and Ross 1997) was
//! not read. From that sentence: direction, size, and that a window is emptied before the arm moves
//! on. Our choices: the window opens where the arm meets the next request, stays until it is empty,
//! is served nearest first, and the sweep reverses as LOOK does. WSCAN(0) is LOOK with
//! `from=first`. A request that found the drive idle opens a window, if it is outside the previous
//! one, and sets the direction.
//!
//! # Cost
//! A binary search per arrival, up to three per decision, and for each, 16 bytes (24 by cylinders)
//! moved for every request pending at a higher block.
//!
//! # When it is bad
//! Requests that keep arriving in the window hold the arm there and starve the others; a workload
//! spread over the disk sends only a share of `f` there, which does not.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! assert!(PolicyConfig::parse("wscan(f=10%, by=map)", "policy").is_ok());
//! ```

use super::along::{Along, InCylinder, Key, Way};
use super::line::{Line, Mark, Measure};
use super::two_way::cheaper;
use super::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rule};
use crate::request::Request;
use crate::text::{Args, InputError};
use crate::units::{Instant, Lbn};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WScan {
    /// The window, as a share of the line.
    f: f64,
    /// The line of the sweeps.
    pub measure: Measure,
}

impl Rule for WScan {
    const INFO: PolicyInfo = PolicyInfo {
        name: "wscan",
        summary: "up and down by windows, nearest first within each",
        parameters: &[
            (
                "f=10%",
                "the size of the window, from 0 % to 100 % of the line",
            ),
            Line::PARAMETER,
            Mark::FIRST,
        ],
        knowledge: Knowledge::Blocks,
        origin: "liu05 section 3.1",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self {
            f: args.maybe_share("f")?.unwrap_or(0.1),
            measure: Measure::read(args, Mark::First)?,
        })
    }

    fn knowledge(&self) -> Knowledge {
        self.measure.by.knowledge()
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let measure = self.measure;
        // Places nearer than the share are in the window, and always the first one.
        let share = measure.by.share(self.f, drive);
        let reach = (share.ceil() as u64).saturating_sub(1);
        match measure.by {
            Line::Lbn => Box::new(Windows::<Lbn>::new(reach, measure, drive)),
            Line::Fixed(_) | Line::Map => {
                Box::new(Windows::<InCylinder>::new(reach, measure, drive))
            }
        }
    }
}

/// Serves one window after another.
#[derive(Debug)]
struct Windows<K> {
    along: Along<K>,
    /// Distance from a window's first place to its last.
    reach: u64,
    /// Direction of the sweep.
    way: Way,
    /// The window's lowest and highest place.
    window: (u64, u64),
}

impl<K: Key> Windows<K> {
    fn new<E: Estimate>(reach: u64, measure: Measure, drive: &E) -> Self {
        let along = Along::new(measure, drive);
        let place = along.place();
        Self {
            along,
            reach,
            way: Way::Up,
            window: (place, place.saturating_add(reach)),
        }
    }

    fn is_inside(&self, place: u64) -> bool {
        (self.window.0..=self.window.1).contains(&place)
    }

    /// Opens a window at `place`, which the arm has reached outside the previous window.
    fn open(&mut self, place: u64) {
        let up = place > self.window.1;
        (self.way, self.window) = if up {
            (Way::Up, (place, place.saturating_add(self.reach)))
        } else {
            (Way::Down, (place.saturating_sub(self.reach), place))
        };
    }

    /// The index of the request to serve, if any.
    fn choose(&self) -> Option<usize> {
        let along = &self.along;
        if let Some(index) = along.here() {
            return Some(index);
        }
        let (above, below) = (along.above(), along.below());
        let inside = |index: &usize| self.is_inside(along.place_at(*index));
        match (above.filter(inside), below.filter(inside)) {
            (Some(above), Some(below)) => {
                let cost = |index| (along.distance(index), index);
                match cheaper(along, cost(above), cost(below)) {
                    Way::Up => Some(above),
                    Way::Down => Some(below),
                }
            }
            (None, None) => match self.way {
                Way::Up => above.or(below),
                Way::Down => below.or(above),
            },
            (above, below) => above.or(below),
        }
    }
}

impl<E: Estimate, K: Key> Policy<E> for Windows<K> {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.along.add(pending, drive);
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        let place = self.along.first(request, drive).place();
        if !self.is_inside(place) {
            self.open(place);
        }
        self.along.passed(request, drive);
    }

    fn next(&mut self, _: Instant, drive: &E) -> Option<Pending> {
        let index = self.choose()?;
        let place = self.along.place_at(index);
        if !self.is_inside(place) {
            self.open(place);
        }
        Some(self.along.serve(index, drive))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.along.take(id)
    }
}
