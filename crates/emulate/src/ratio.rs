//! Adaptive buffer ratios: a read is sent when it can continue to its end without a pause.

use diskarm_core::spec::{Spec, WatermarkOf};
use diskarm_core::units::{Instant, Lbn};

use crate::backing::Backing;
use crate::state::State;

/// Sets the watermark of a read that begins at `at`, if the drive may choose it. With several
/// requests in the device it holds for those that begin next.
pub(crate) fn adapt(state: &State, device: &mut dyn Backing, now: Instant, at: Lbn) {
    if state.modes.buffer_full_ratio() != Some(0) && state.modes.buffer_full_ratio().is_some() {
        return;
    }
    let (Some(spec), Some(layout)) = (device.spec(), device.layout()) else {
        return;
    };
    let Some(sectors) = layout.track_sectors(layout.pba(at).cylinder) else {
        return;
    };
    let fraction = fraction(spec, sectors);
    let rules = &spec.buffer;
    if rules.read_watermark == fraction && rules.watermark_of == WatermarkOf::Request {
        return;
    }
    let mut spec = spec.clone();
    spec.buffer.read_watermark = fraction;
    spec.buffer.watermark_of = WatermarkOf::Request;
    device.set_buffer(now, &spec);
}

/// The part of a read that must be in the buffer so that the bus, if faster than the media,
/// finishes with them.
fn fraction(spec: &Spec, track_sectors: u64) -> f64 {
    let media_ns = spec.mechanics.period_ns / track_sectors as f64;
    let bus_ns = spec.bus.read_sector.as_ns() as f64;
    (1.0 - bus_ns / media_ns).clamp(0.0, 1.0)
}
