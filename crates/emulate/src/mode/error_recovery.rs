//! Read-write error recovery. The device recovers as it does; nothing may be changed.

use diskarm_wire::mode::ErrorRecovery;

use super::{Row, any, nothing};

pub(super) const ROW: Row = Row {
    code: ErrorRecovery::CODE,
    values: |_| Some(vec![0; ErrorRecovery::LENGTH]),
    mask: nothing::<{ ErrorRecovery::LENGTH }>,
    check: any,
};
