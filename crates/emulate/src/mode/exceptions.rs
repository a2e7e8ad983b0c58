//! Informational exceptions control. The model predicts no faults: exceptions are disabled, and
//! nothing may be changed.

use diskarm_wire::mode::Exceptions;

use super::{Row, any, nothing};

pub(super) const ROW: Row = Row {
    code: Exceptions::CODE,
    values: |_| Some(DISABLED.emit().to_vec()),
    mask: nothing::<{ Exceptions::LENGTH }>,
    check: any,
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
