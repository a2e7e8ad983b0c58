//! Control: the format of sense data, and write protection.

use diskarm_wire::mode::Control;

use super::{Row, View, any};

pub(super) const ROW: Row = Row {
    code: Control::CODE,
    values: |_| Some(control(false, false, 1).emit().to_vec()),
    mask: |_: &View<'_>| control(true, true, 0).emit().to_vec(),
    check: any,
};

fn control(descriptor_sense: bool, write_protect: bool, queue_algorithm: u8) -> Control {
    Control {
        task_sets: 0,
        descriptor_sense,
        logs_not_saved: false,
        queue_algorithm,
        queue_errors: 0,
        attention_interlock: 0,
        write_protect,
        task_aborted_status: false,
        busy_timeout: 0,
        self_test_time_s: 0,
    }
}
