//! Devices whose types are known only when the program runs.
//!
//! The type of a host queue in front of a drive is `Host<Drive>`, and the compiler builds each
//! policy for it. A tower of devices that somebody wrote in a study or on a command line has no
//! such type: it is a [`BoxedDevice`], which holds any [`Tier`], and policies for it reach
//! positions through [`Positions`]. Some devices know no positions. [`queue`] refuses a policy that
//! needs them.

use std::fmt;

use crate::device::{Completion, Device, Refused};
use crate::drive::Drive;
use crate::extent::Extent;
use crate::host::Host;
use crate::request::{Op, Request};
use crate::sched::{Estimate, Knowledge, Outlook, PolicyConfig, Rehearse, Shape};
use crate::units::{Angle, Bytes, Cylinder, Instant, SectorCount, Span};

/// A device that can be part of a tower.
pub trait Tier: Device {
    /// Answers what policies in front of it ask about positions; `None` where it knows block
    /// numbers alone. Whether it knows more never changes.
    fn positions(&self) -> Option<&dyn Positions>;
}

impl Tier for Drive {
    fn positions(&self) -> Option<&dyn Positions> {
        Some(self)
    }
}

/// A queue starts requests in an order of its own, so that the time of one from here says nothing
/// about when it would be served.
impl<D: Device + Estimate> Tier for Host<D> {
    fn positions(&self) -> Option<&dyn Positions> {
        None
    }
}

/// [`Estimate`] where the type is not known.
pub trait Positions {
    /// See [`Estimate::shape`].
    fn shape(&self) -> Shape;

    /// See [`Estimate::locate`].
    fn locate(&self, request: &Request) -> Extent;

    /// See [`Estimate::outlook`].
    fn outlook(&self, now: Instant) -> BoxedOutlook<'_>;

    /// See [`Estimate::rehearse`].
    fn rehearse(&self) -> BoxedRehearsal;
}

impl<E: Estimate> Positions for E {
    fn shape(&self) -> Shape {
        Estimate::shape(self)
    }

    fn locate(&self, request: &Request) -> Extent {
        Estimate::locate(self, request)
    }

    fn outlook(&self, now: Instant) -> BoxedOutlook<'_> {
        BoxedOutlook(Box::new(Estimate::outlook(self, now)))
    }

    fn rehearse(&self) -> BoxedRehearsal {
        BoxedRehearsal(Box::new(Estimate::rehearse(self)))
    }
}

/// Any device. In front of it stand policies that need no more than its
/// [`knowledge`](Self::knowledge).
pub struct BoxedDevice(Box<dyn Tier>);

impl BoxedDevice {
    /// Holds `device`.
    pub fn new(device: impl Tier + 'static) -> Self {
        Self(Box::new(device))
    }

    /// How much policies can learn from it.
    pub fn knowledge(&self) -> Knowledge {
        match self.0.positions() {
            Some(_) => Knowledge::TimesAndBuffer,
            None => Knowledge::Blocks,
        }
    }

    fn known(&self) -> &dyn Positions {
        let positions = self.0.positions();
        positions.unwrap_or_else(|| panic!("asked for positions, and knows block numbers alone"))
    }
}

impl Device for BoxedDevice {
    fn capacity(&self) -> SectorCount {
        self.0.capacity()
    }

    fn sector_size(&self) -> Bytes {
        self.0.sector_size()
    }

    fn check(&self, request: &Request) -> Result<(), Refused> {
        self.0.check(request)
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.0.has_room()
    }

    #[inline]
    fn accepts(&self, request: &Request) -> bool {
        self.0.accepts(request)
    }

    #[inline]
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
        self.0.submit(now, request)
    }

    #[inline]
    fn next_event(&self) -> Option<Instant> {
        self.0.next_event()
    }

    #[inline]
    fn advance(&mut self, now: Instant) -> Option<Completion> {
        self.0.advance(now)
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        self.0.abort(now, id)
    }
}

impl Tier for BoxedDevice {
    fn positions(&self) -> Option<&dyn Positions> {
        self.0.positions()
    }
}

/// Asks what it holds.
///
/// # Panics
/// For all but the number of blocks, where it knows no positions: policies that ask for more are
/// not put in front of it.
impl Estimate for BoxedDevice {
    type Outlook<'a> = BoxedOutlook<'a>;
    type Rehearsal = BoxedRehearsal;

    /// Of a device that knows no positions only the number of blocks is known, and the rest is
    /// zero.
    fn shape(&self) -> Shape {
        match self.0.positions() {
            Some(positions) => positions.shape(),
            None => Shape {
                sectors: self.0.capacity(),
                cylinders: 0,
                revolution: Span::ZERO,
            },
        }
    }

    fn locate(&self, request: &Request) -> Extent {
        self.known().locate(request)
    }

    #[inline]
    fn outlook(&self, now: Instant) -> BoxedOutlook<'_> {
        self.known().outlook(now)
    }

    fn rehearse(&self) -> BoxedRehearsal {
        self.known().rehearse()
    }
}

/// Any [`Outlook`].
pub struct BoxedOutlook<'a>(Box<dyn Outlook + 'a>);

impl Outlook for BoxedOutlook<'_> {
    #[inline]
    fn cylinder(&self) -> Cylinder {
        self.0.cylinder()
    }

    #[inline]
    fn angle(&self, op: Op) -> Angle {
        self.0.angle(op)
    }

    #[inline]
    fn positioning(&self, request: &Request, place: &Extent) -> Span {
        self.0.positioning(request, place)
    }

    #[inline]
    fn access(&self, request: &Request, place: &Extent) -> Span {
        self.0.access(request, place)
    }

    #[inline]
    fn seek(&self, request: &Request, place: &Extent) -> Span {
        self.0.seek(request, place)
    }

    #[inline]
    fn is_buffered(&self, request: &Request) -> bool {
        self.0.is_buffered(request)
    }

    #[inline]
    fn least(&self, distance: u32) -> Span {
        self.0.least(distance)
    }
}

/// Any [`Rehearse`].
pub struct BoxedRehearsal(Box<dyn Trial>);

/// [`Rehearse`] where the type is not known.
trait Trial: Positions + Send {
    fn serve(&mut self, now: Instant, request: &Request) -> Instant;

    fn over(&self) -> Instant;

    fn copy(&self) -> Box<dyn Trial>;
}

impl<R: Rehearse> Trial for R {
    fn serve(&mut self, now: Instant, request: &Request) -> Instant {
        Rehearse::serve(self, now, request)
    }

    fn over(&self) -> Instant {
        Rehearse::over(self)
    }

    fn copy(&self) -> Box<dyn Trial> {
        Box::new(self.clone())
    }
}

impl Clone for BoxedRehearsal {
    fn clone(&self) -> Self {
        Self((*self.0).copy())
    }
}

impl Estimate for BoxedRehearsal {
    type Outlook<'a> = BoxedOutlook<'a>;
    type Rehearsal = Self;

    fn shape(&self) -> Shape {
        (*self.0).shape()
    }

    fn locate(&self, request: &Request) -> Extent {
        (*self.0).locate(request)
    }

    fn outlook(&self, now: Instant) -> BoxedOutlook<'_> {
        (*self.0).outlook(now)
    }

    fn rehearse(&self) -> Self {
        self.clone()
    }
}

impl Rehearse for BoxedRehearsal {
    fn serve(&mut self, now: Instant, request: &Request) -> Instant {
        (*self.0).serve(now, request)
    }

    fn over(&self) -> Instant {
        (*self.0).over()
    }
}

/// A policy needs to know more than the device in front of which it would stand can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The policy, as written.
    pub policy: String,
    /// What it needs to know.
    pub needs: Knowledge,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, needs } = self;
        write!(f, "policy {policy} needs {}", needs.description())
    }
}

impl std::error::Error for Unknown {}

/// A host queue in front of `device`, in the order of `policy`.
///
/// # Errors
/// When the policy needs to know more than the device tells.
pub fn queue(device: BoxedDevice, policy: &PolicyConfig) -> Result<Host<BoxedDevice>, Unknown> {
    let needs = policy.knowledge();
    if needs > device.knowledge() {
        let policy = policy.to_string();
        return Err(Unknown { policy, needs });
    }
    let policy = policy.policy(&device);
    Ok(Host::new(device, policy))
}
