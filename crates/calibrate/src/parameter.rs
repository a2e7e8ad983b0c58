//! The quantities of a specification that a trace can tell.

use diskarm_core::spec::{Overheads, Spec};
use diskarm_core::units::Span;

/// One quantity.
pub struct Parameter {
    /// Its key in a specification.
    pub key: &'static str,
    /// Where it stands.
    place: fn(&mut Spec) -> Option<&mut Span>,
    /// How far it may be off what is given, in milliseconds: a standard deviation.
    pub prior_ms: f64,
    /// Whether it may be negative.
    signed: bool,
}

impl Parameter {
    /// Its value in milliseconds; `None` where the specification has no such thing.
    pub fn get(&self, spec: &Spec) -> Option<f64> {
        let mut spec = spec.clone();
        (self.place)(&mut spec).map(|span| span.as_ms())
    }

    /// Sets it, as far as it may go.
    pub fn set(&self, spec: &mut Spec, ms: f64) {
        let ms = if self.signed { ms } else { ms.max(0.0) };
        if let Some(span) = (self.place)(spec) {
            *span = Span::from_ms(ms);
        }
    }
}

/// A quantity that every specification has and that is not negative.
const fn time(
    key: &'static str,
    prior_ms: f64,
    place: fn(&mut Spec) -> Option<&mut Span>,
) -> Parameter {
    Parameter {
        key,
        place,
        prior_ms,
        signed: false,
    }
}

macro_rules! overhead {
    ($name:ident, $prior_ms:expr) => {
        time(concat!("overheads.", stringify!($name)), $prior_ms, |s| {
            let Overheads { $name: span, .. } = &mut s.overheads;
            Some(span)
        })
    };
}

/// All of them, in the order in which they are fitted.
///
/// What several of them add up to shows only as a sum, so reconnections, disconnections and data
/// preparation are left as given: the overheads and completions beside them take up what they
/// are off.
pub static PARAMETERS: &[Parameter] = &[
    overhead!(read_hit_after_read, 0.5),
    overhead!(read_hit_after_write, 0.5),
    overhead!(read_completion, 0.3),
    overhead!(write_completion, 0.3),
    time("bus.read_sector", 0.05, |s| Some(&mut s.bus.read_sector)),
    time("bus.write_sector", 0.05, |s| Some(&mut s.bus.write_sector)),
    time("bus.read_restart", 0.3, |s| Some(&mut s.bus.read_restart)),
    overhead!(write_hit_after_read, 0.5),
    overhead!(write_hit_after_write, 0.5),
    overhead!(read_miss_after_read, 0.5),
    overhead!(read_miss_after_write, 0.5),
    overhead!(write_miss_after_read, 0.5),
    overhead!(write_miss_after_write, 0.5),
    time("overheads.extra_write_disconnect.command", 0.5, |s| {
        s.overheads
            .extra_write_disconnect
            .as_mut()
            .map(|extra| &mut extra.command)
    }),
    overhead!(write_minimum_delay, 0.3),
    time("mechanics.head_switch", 0.3, |s| {
        Some(&mut s.mechanics.head_switch)
    }),
    Parameter {
        key: "mechanics.write_settle",
        place: |s| Some(&mut s.mechanics.write_settle),
        prior_ms: 0.5,
        signed: true,
    },
    Parameter {
        key: "mechanics.inward_seek",
        place: |s| Some(&mut s.mechanics.inward_seek),
        prior_ms: 0.3,
        signed: true,
    },
];
