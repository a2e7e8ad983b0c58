//! Scheduling policies: which pending request is served next.
//!
//! A [`Policy`] owns its pending structure, so that each is as fast as it can be. What it knows
//! of the drive it learns through [`Estimate`], which answers "how long would this request take
//! from here?"; inside a drive the answer is exact. Policies stand below the drive, because a
//! drive's on-board queue holds one.

mod clook;
mod fcfs;
mod sorted;
mod sptf;

pub use clook::CLook;
pub use fcfs::Fcfs;
pub use sptf::Sptf;

use crate::geometry::Extent;
use crate::request::Request;
use crate::units::{Cylinder, Instant, Span};

/// A request that waits to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// What is asked.
    pub request: Request,
    /// When it entered the queue.
    pub arrived: Instant,
}

/// What a drive tells a scheduler about the time a request would take.
pub trait Estimate {
    /// The drive's state at the moment of a decision.
    type Outlook<'a>: Outlook
    where
        Self: 'a;

    /// Where a request's first block lies. A policy that wants to know asks once, on arrival.
    fn locate(&self, request: &Request) -> Extent;

    /// The state that a request chosen at `now` would meet.
    fn outlook(&self, now: Instant) -> Self::Outlook<'_>;
}

/// Positioning times from one state of a drive.
pub trait Outlook {
    /// The cylinder under the heads.
    fn cylinder(&self) -> Cylinder;

    /// Time until the media transfer of a request at `place` would begin, counted from the
    /// instant at which the arm is free for it.
    fn positioning(&self, request: &Request, place: &Extent) -> Span;

    /// No request `distance` cylinders away or more takes less to position for.
    fn least(&self, distance: u32) -> Span;
}

/// An order of service.
pub trait Policy<E: Estimate + ?Sized> {
    /// Takes a request in.
    fn add(&mut self, pending: Pending, drive: &E);

    /// Hears of a request that found the drive free and nothing pending, and did not wait here.
    fn passed(&mut self, _: &Request) {}

    /// Takes out the request to serve next, if any waits. Among equals the one that came first.
    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending>;
}

/// What one entry of [`policies`] says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// What specifications and command lines call it.
    pub name: &'static str,
    /// One line for a list.
    pub summary: &'static str,
    /// Where it was published.
    pub origin: &'static str,
}

/// An entry of the table: a policy's description and its constructor.
pub struct Entry<E: Estimate + ?Sized> {
    /// What it says about itself.
    pub info: Info,
    /// Makes one with nothing pending.
    pub make: fn() -> Box<dyn Policy<E>>,
}

/// The table of policies: a new one is its file, its `mod` line and its line here.
pub fn policies<E: Estimate + ?Sized>() -> [Entry<E>; 3] {
    [
        Entry {
            info: fcfs::INFO,
            make: || Box::new(Fcfs::default()),
        },
        Entry {
            info: clook::INFO,
            make: || Box::new(CLook::default()),
        },
        Entry {
            info: sptf::INFO,
            make: || Box::new(Sptf::default()),
        },
    ]
}

/// The policy called `name`, or `None`.
pub fn policy<E: Estimate + ?Sized>(name: &str) -> Option<Box<dyn Policy<E>>> {
    policies()
        .into_iter()
        .find(|e| e.info.name == name)
        .map(|e| (e.make)())
}
