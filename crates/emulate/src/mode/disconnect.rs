//! Disconnect-reconnect: the buffer ratios are the watermarks of the model, in parts of 256.

use diskarm_core::spec::{Buffer, Spec};
use diskarm_wire::mode::Disconnect;

use super::{Row, View, any};

pub(super) const ROW: Row = Row {
    code: Disconnect::CODE,
    values: |view| Some(page(ratios(view)).emit().to_vec()),
    mask: |view| {
        page(view.drive.map_or([0; 2], |_| [u8::MAX; 2]))
            .emit()
            .to_vec()
    },
    check: any,
};

/// Full and empty ratio as given.
fn ratios(view: &View<'_>) -> [u8; 2] {
    let given = view.drive.map_or([0; 2], |(spec, _)| of(&spec.buffer));
    match view.realism.adaptive_ratios {
        true => [0, given[1]],
        false => given,
    }
}

fn of(buffer: &Buffer) -> [u8; 2] {
    [buffer.read_watermark, buffer.write_watermark]
        .map(|fraction| (fraction * 256.0).round().min(255.0) as u8)
}

fn page([full, empty]: [u8; 2]) -> Disconnect {
    Disconnect {
        buffer_full_ratio: full,
        buffer_empty_ratio: empty,
        bus_inactivity_limit: 0,
        disconnect_time_limit: 0,
        connect_time_limit: 0,
        maximum_burst: 0,
        data_transfer_disconnect: 0,
    }
}

/// Changes the watermarks. A ratio that is the given one to the last bit leaves the given fraction,
/// which may be finer.
pub(super) fn apply(page: &Disconnect, spec: &mut Spec) {
    let [full, empty] = of(&spec.buffer);
    if page.buffer_full_ratio != full {
        spec.buffer.read_watermark = f64::from(page.buffer_full_ratio) / 256.0;
    }
    if page.buffer_empty_ratio != empty {
        spec.buffer.write_watermark = f64::from(page.buffer_empty_ratio) / 256.0;
    }
}
