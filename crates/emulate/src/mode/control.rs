//! Mode pages about errors and control: control, read-write error recovery, and informational
//! exceptions control.

use diskarm_wire::mode::{Control, ErrorRecovery, Exceptions};

use super::{PageEntry, View, accept, no_changes};

/// The format of sense data, and write protection.
pub(super) const CONTROL: PageEntry = PageEntry {
    code: Control::CODE,
    values: |_| Some(control(false, false, 1).emit().to_vec()),
    mask: |_: &View<'_>| control(true, true, 0).emit().to_vec(),
    check: accept,
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

/// Nothing may be changed: retries are the device's.
pub(super) const ERROR_RECOVERY: PageEntry = PageEntry {
    code: ErrorRecovery::CODE,
    values: |_| Some(vec![0; ErrorRecovery::LENGTH]),
    mask: no_changes::<{ ErrorRecovery::LENGTH }>,
    check: accept,
};

/// The model predicts no faults, so exceptions are disabled and nothing may be changed.
pub(super) const EXCEPTIONS: PageEntry = PageEntry {
    code: Exceptions::CODE,
    values: |_| Some(DISABLED.emit().to_vec()),
    mask: no_changes::<{ Exceptions::LENGTH }>,
    check: accept,
};

const DISABLED: Exceptions = Exceptions {
    performance: false,
    background: false,
    warnings: false,
    disabled: true,
    test: false,
    logged: false,
    method: 0,
    interval: 0,
    reports: 0,
};
