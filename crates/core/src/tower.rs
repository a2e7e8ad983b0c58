//! Devices whose types are known only when the program runs.
//!
//! The type of a host queue in front of a drive is `Host<Drive>`, and the compiler builds each
//! policy for it. A tower of devices that somebody wrote in a study or on a command line has no
//! such type: it is a [`BoxedDevice`], in front of which policies reach positions through an
//! object. Some devices know no positions. [`policy`] refuses one that needs them.

use std::fmt;

use crate::device::{Completion, Device, Landed, Part, Refused};
use crate::drive::View;
use crate::extent::Extent;
use crate::request::Request;
use crate::sched::{Estimate, Knowledge, Policy, PolicyConfig, Rehearse, Shape};
use crate::units::{Bytes, Instant, SectorCount, Span};

/// Any device. In front of it stand policies that need no more than its
/// [`knowledge`](Self::knowledge).
pub struct BoxedDevice(Kind);

enum Kind {
    Positioned(Box<dyn Positioned>),
    /// It knows block numbers alone.
    Opaque(Box<dyn Device>),
}

/// A device that knows positions: a drive, or a wrapper that passes on what the drive in it knows.
pub trait Positioned: Device + Positions {
    /// As [`Estimate::rehearse`].
    fn rehearse(&self) -> BoxedRehearsal;
}

impl<D> Positioned for D
where
    D: Device + for<'a> Estimate<Outlook<'a> = View<'a>>,
    D::Rehearsal: for<'a> Estimate<Outlook<'a> = View<'a>>,
{
    fn rehearse(&self) -> BoxedRehearsal {
        BoxedRehearsal(Box::new(Estimate::rehearse(self)))
    }
}

/// [`Estimate`] where the type is not known, except for rehearsals.
pub trait Positions: Send + 'static {
    /// As [`Estimate::shape`].
    fn shape(&self) -> Shape;

    /// As [`Estimate::locate`].
    fn locate(&self, request: &Request) -> Extent;

    /// As [`Estimate::outlook`].
    fn outlook(&self, now: Instant) -> View<'_>;
}

impl<E: for<'a> Estimate<Outlook<'a> = View<'a>>> Positions for E {
    fn shape(&self) -> Shape {
        Estimate::shape(self)
    }

    fn locate(&self, request: &Request) -> Extent {
        Estimate::locate(self, request)
    }

    fn outlook(&self, now: Instant) -> View<'_> {
        Estimate::outlook(self, now)
    }
}

impl BoxedDevice {
    /// Holds `device`, which knows positions.
    pub fn new(device: impl Positioned) -> Self {
        Self(Kind::Positioned(Box::new(device)))
    }

    /// Holds `device`, which knows block numbers alone. A host queue is one: it has an order of its
    /// own, so the time that a request would take from here does not tell when it is served.
    pub fn opaque(device: impl Device + 'static) -> Self {
        Self(Kind::Opaque(Box::new(device)))
    }

    /// Holds what `wrap` makes of it, which knows what it knows.
    pub fn wrapped<W: Positioned>(self, wrap: impl FnOnce(Self) -> W) -> Self {
        match self.0 {
            Kind::Positioned(_) => Self::new(wrap(self)),
            Kind::Opaque(_) => Self::opaque(wrap(self)),
        }
    }

    /// How much policies can learn from it.
    pub fn knowledge(&self) -> Knowledge {
        match self.0 {
            Kind::Positioned(_) => Knowledge::TimesAndBuffer,
            Kind::Opaque(_) => Knowledge::Blocks,
        }
    }

    /// Whether it knows what `policy` needs to know.
    ///
    /// # Errors
    /// When it does not.
    pub fn check_knowledge(
        &self,
        policy: impl fmt::Display,
        needs: Knowledge,
    ) -> Result<(), Unknown> {
        if needs <= self.knowledge() {
            return Ok(());
        }
        let policy = policy.to_string();
        Err(Unknown { policy, needs })
    }

    #[inline]
    fn device(&self) -> &dyn Device {
        match &self.0 {
            Kind::Positioned(device) => &**device,
            Kind::Opaque(device) => &**device,
        }
    }

    #[inline]
    fn device_mut(&mut self) -> &mut dyn Device {
        match &mut self.0 {
            Kind::Positioned(device) => &mut **device,
            Kind::Opaque(device) => &mut **device,
        }
    }

    #[inline]
    fn positions(&self) -> &dyn Positioned {
        match &self.0 {
            Kind::Positioned(device) => &**device,
            Kind::Opaque(_) => panic!("a policy asks for positions that the device does not know"),
        }
    }
}

impl Device for BoxedDevice {
    fn capacity(&self) -> SectorCount {
        self.device().capacity()
    }

    fn sector_size(&self) -> Bytes {
        self.device().sector_size()
    }

    #[inline]
    fn check(&self, request: &Request) -> Result<(), Refused> {
        self.device().check(request)
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.device().has_room()
    }

    #[inline]
    fn accepts(&self, request: &Request) -> bool {
        self.device().accepts(request)
    }

    #[inline]
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
        self.device_mut().submit(now, request)
    }

    #[inline]
    fn next_event(&self) -> Option<Instant> {
        self.device().next_event()
    }

    #[inline]
    fn advance(&mut self, now: Instant) -> Option<Completion> {
        self.device_mut().advance(now)
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        self.device_mut().abort(now, id)
    }

    fn parts(&self, now: Instant) -> Vec<Part> {
        self.device().parts(now)
    }

    fn landed(&mut self, now: Instant) -> Option<Vec<Landed>> {
        self.device_mut().landed(now)
    }
}

/// Asks what it holds.
///
/// # Panics
/// For all but the number of blocks, where it knows no positions: policies that ask for more are
/// not put in front of it.
impl Estimate for BoxedDevice {
    type Outlook<'a> = View<'a>;
    type Rehearsal = BoxedRehearsal;

    /// Of a device that knows no positions only the number of blocks is known, and the rest is
    /// zero.
    fn shape(&self) -> Shape {
        match &self.0 {
            Kind::Positioned(device) => device.shape(),
            Kind::Opaque(device) => Shape {
                sectors: device.capacity(),
                cylinders: 0,
                revolution: Span::ZERO,
            },
        }
    }

    fn locate(&self, request: &Request) -> Extent {
        self.positions().locate(request)
    }

    #[inline]
    fn outlook(&self, now: Instant) -> View<'_> {
        self.positions().outlook(now)
    }

    fn rehearse(&self) -> BoxedRehearsal {
        self.positions().rehearse()
    }
}

/// Any [`Rehearse`].
pub struct BoxedRehearsal(Box<dyn Trial>);

/// [`Rehearse`] where the type is not known.
trait Trial: Positions {
    fn serve(&mut self, now: Instant, request: &Request) -> Instant;

    fn completed_at(&self) -> Instant;

    fn copy(&self) -> Box<dyn Trial>;
}

impl<R: Rehearse + Positions> Trial for R {
    fn serve(&mut self, now: Instant, request: &Request) -> Instant {
        Rehearse::serve(self, now, request)
    }

    fn completed_at(&self) -> Instant {
        Rehearse::completed_at(self)
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
    type Outlook<'a> = View<'a>;
    type Rehearsal = Self;

    fn shape(&self) -> Shape {
        (*self.0).shape()
    }

    fn locate(&self, request: &Request) -> Extent {
        (*self.0).locate(request)
    }

    fn outlook(&self, now: Instant) -> View<'_> {
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

    fn completed_at(&self) -> Instant {
        (*self.0).completed_at()
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

/// The policy for `device`, with nothing pending.
///
/// # Errors
/// When it needs to know more than the device does.
pub fn policy(
    config: &PolicyConfig,
    device: &BoxedDevice,
) -> Result<Box<dyn Policy<BoxedDevice>>, Unknown> {
    device.check_knowledge(config, config.knowledge())?;
    Ok(config.policy(device))
}
