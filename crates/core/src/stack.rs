//! Devices whose types are known only at run time.
//!
//! The type of a host queue above a drive is `Host<Drive>`, and the compiler specialises policies
//! for it. A stack of devices from a study or a command line has no such static type. It is a
//! [`BoxedDevice`], and policies above it query positions through a trait object. For devices that
//! do not know positions, [`policy`] rejects the policies that need them.

use std::fmt;

use crate::device::Device;
use crate::drive::View;
use crate::extent::Extent;
use crate::request::Request;
use crate::sched::{Estimate, Knowledge, Policy, PolicyConfig, Rehearse, Shape};
use crate::units::{Instant, Span};

/// Any device. Policies above it may use only its [`knowledge`](Self::knowledge).
pub struct BoxedDevice(Inner);

enum Inner {
    Positioned(Box<dyn Positioned>),
    Opaque(Box<dyn Device>),
}

/// A device that knows positions: a drive, or a wrapper that forwards queries to its drive.
pub trait Positioned: Device + Positions {
    /// Boxed version of [`Estimate::rehearse`].
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

/// An object-safe [`Estimate`] without rehearsals.
pub trait Positions: Send + 'static {
    /// Object-safe version of [`Estimate::shape`].
    fn shape(&self) -> Shape;

    /// Object-safe version of [`Estimate::locate`].
    fn locate(&self, request: &Request) -> Extent;

    /// Object-safe version of [`Estimate::outlook`].
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
    /// Boxes `device`, which knows positions.
    pub fn new(device: impl Positioned) -> Self {
        Self(Inner::Positioned(Box::new(device)))
    }

    /// Boxes `device`, which knows only block numbers. A host queue is such a device: it has its
    /// own order, so the service time of a request does not determine when the request is served.
    pub fn opaque(device: impl Device + 'static) -> Self {
        Self(Inner::Opaque(Box::new(device)))
    }

    /// Wraps the device. The result has the same knowledge.
    pub fn wrap<W: Positioned>(self, wrap: impl FnOnce(Self) -> W) -> Self {
        match self.0 {
            Inner::Positioned(_) => Self::new(wrap(self)),
            Inner::Opaque(_) => Self::opaque(wrap(self)),
        }
    }

    /// Returns the knowledge that policies can obtain from the device.
    pub fn knowledge(&self) -> Knowledge {
        match self.0 {
            Inner::Positioned(_) => Knowledge::TimesAndBuffer,
            Inner::Opaque(_) => Knowledge::Blocks,
        }
    }

    /// Checks that the device has the knowledge that `policy` needs.
    ///
    /// # Errors
    /// If it does not.
    pub fn check_knowledge(
        &self,
        policy: impl fmt::Display,
        needs: Knowledge,
    ) -> Result<(), InsufficientKnowledge> {
        if needs <= self.knowledge() {
            return Ok(());
        }
        Err(InsufficientKnowledge {
            policy: policy.to_string(),
            needs,
        })
    }

    #[inline]
    fn device(&self) -> &dyn Device {
        match &self.0 {
            Inner::Positioned(device) => &**device,
            Inner::Opaque(device) => &**device,
        }
    }

    #[inline]
    fn device_mut(&mut self) -> &mut dyn Device {
        match &mut self.0 {
            Inner::Positioned(device) => &mut **device,
            Inner::Opaque(device) => &mut **device,
        }
    }

    #[inline]
    fn positions(&self) -> &dyn Positioned {
        match &self.0 {
            Inner::Positioned(device) => &**device,
            Inner::Opaque(_) => panic!("a policy asks for positions that the device does not know"),
        }
    }
}

impl Device for BoxedDevice {
    crate::forward!(
        self, self.device(), self.device_mut(); capacity sector_size check has_room accepts submit
        next_event advance abort components persisted
    );
}

/// Forwards to the boxed device.
///
/// # Panics
/// If the device knows no positions, except in `shape`: [`policy`] rejects policies that need them.
impl Estimate for BoxedDevice {
    type Outlook<'a> = View<'a>;
    type Rehearsal = BoxedRehearsal;

    /// Returns the shape. For a device without positions, all fields but the blocks are zero.
    fn shape(&self) -> Shape {
        match &self.0 {
            Inner::Positioned(device) => device.shape(),
            Inner::Opaque(device) => Shape {
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

/// A boxed [`Rehearse`] of any type.
pub struct BoxedRehearsal(Box<dyn Trial>);

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

/// The error for a policy that needs more knowledge than the device has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsufficientKnowledge {
    /// The policy, as written.
    pub policy: String,
    /// The knowledge that the policy needs.
    pub needs: Knowledge,
}

impl fmt::Display for InsufficientKnowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, needs } = self;
        write!(f, "policy {policy} needs {}", needs.description())
    }
}

impl std::error::Error for InsufficientKnowledge {}

/// Creates a policy for `device`, with nothing pending.
///
/// # Errors
/// If the policy needs more knowledge than the device has.
pub fn policy(
    config: &PolicyConfig,
    device: &BoxedDevice,
) -> Result<Box<dyn Policy<BoxedDevice>>, InsufficientKnowledge> {
    device.check_knowledge(config, config.knowledge())?;
    Ok(config.policy(device))
}
