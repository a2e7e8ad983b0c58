//! Lists and records that a unit returns: its operations (SPC-4, REPORT SUPPORTED OPERATION CODES),
//! its units (REPORT LUNS), its logs (SPC-4, LOG SENSE) and its capacity (SBC-3, READ CAPACITY).

use crate::layout::{FieldPosition, Short, number, put};
use crate::operation::Operation;

/// Length of a command timeouts descriptor, whose times are all "not specified" here.
const TIMEOUTS: [u8; 12] = [0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

layout! {
    pub struct ListedOperation: 8 {
        code: u8 = FieldPosition::bytes(0, 1);
        service_action: u16 = FieldPosition::bytes(2, 2);
        /// A timeouts descriptor follows.
        timeouts: bool = FieldPosition::flag(5, 1);
        has_service_action: bool = FieldPosition::flag(5, 0);
        /// Length of its command block.
        length: u16 = FieldPosition::bytes(6, 2);
    }
}

/// Returns the length of the list of `operations`, in bytes.
pub fn operations_length(operations: usize, timeouts: bool) -> usize {
    let timeouts = if timeouts { TIMEOUTS.len() } else { 0 };
    4 + operations * (ListedOperation::LENGTH + timeouts)
}

/// Writes the list of `operations` at the front of `data`; returns its length.
pub fn emit_operations<'a>(
    operations: impl Iterator<Item = &'a Operation>,
    timeouts: bool,
    data: &mut [u8],
) -> usize {
    let mut end = 4;
    for operation in operations {
        let listed = ListedOperation {
            code: operation.code,
            service_action: operation.service_action.unwrap_or(0).into(),
            timeouts,
            has_service_action: operation.service_action.is_some(),
            length: operation.usage.len() as u16,
        };
        data[end..end + ListedOperation::LENGTH].copy_from_slice(&listed.emit());
        end += ListedOperation::LENGTH;
        if timeouts {
            data[end..end + TIMEOUTS.len()].copy_from_slice(&TIMEOUTS);
            end += TIMEOUTS.len();
        }
    }
    put(&mut data[..4], (end - 4) as u64);
    end
}

/// Returns the operations in such a list, up to the first that is cut off.
pub fn operations(data: &[u8]) -> impl Iterator<Item = ListedOperation> {
    let end = data
        .get(..4)
        .map_or(0, |length| 4 + number(length) as usize);
    let mut rest = data.get(4..end.min(data.len())).unwrap_or(&[]);
    core::iter::from_fn(move || {
        let listed = ListedOperation::parse(rest).ok()?;
        let timeouts = if listed.timeouts { TIMEOUTS.len() } else { 0 };
        rest = rest.get(ListedOperation::LENGTH + timeouts..)?;
        Some(listed)
    })
}

/// Maximum length of the output of [`emit_operation`].
pub const OPERATION_MAX_LENGTH: usize = 4 + 16 + TIMEOUTS.len();

/// Writes the description of an operation, or that it is not supported; returns the length.
/// Panics if there are fewer than [`OPERATION_MAX_LENGTH`] bytes.
pub fn emit_operation(operation: Option<&Operation>, timeouts: bool, data: &mut [u8]) -> usize {
    let data = &mut data[..OPERATION_MAX_LENGTH];
    data.fill(0);
    let Some(operation) = operation else {
        // Not supported.
        data[1] = 1;
        return 4;
    };
    // Supported as in the standard.
    data[1] = u8::from(timeouts) << 7 | 3;
    let end = 4 + operation.usage.len();
    put(&mut data[2..4], operation.usage.len() as u64);
    data[4..end].copy_from_slice(operation.usage);
    if timeouts {
        data[end..end + TIMEOUTS.len()].copy_from_slice(&TIMEOUTS);
        return end + TIMEOUTS.len();
    }
    end
}

/// Returns the usage data of one operation; `None` if the unit does not support it.
///
/// # Errors
/// The data are cut off.
pub fn operation(data: &[u8]) -> Result<Option<&[u8]>, Short> {
    let header = data.get(..4).ok_or(Short { expected: 4 })?;
    if !matches!(header[1] & 0x07, 3 | 5) {
        return Ok(None);
    }
    let end = 4 + number(&header[2..]) as usize;
    let usage = data.get(4..end).ok_or(Short { expected: end })?;
    Ok(Some(usage))
}

/// Writes a list of unit numbers below 16,384 (SAM-5); returns its length.
/// Panics if there is too little room, or a number is larger.
pub fn emit_units(units: &[u16], data: &mut [u8]) -> usize {
    let end = 8 + 8 * units.len();
    data[..end].fill(0);
    put(&mut data[..4], (end - 8) as u64);
    for (entry, unit) in data[8..end].chunks_exact_mut(8).zip(units) {
        assert!(*unit < 1 << 14, "{unit} needs another addressing method");
        // Up to 255 the peripheral method, then the flat space.
        let flat = if *unit < 256 { 0 } else { 0x4000 };
        put(&mut entry[..2], u64::from(flat | unit));
    }
    end
}

/// Returns the unit numbers of such a list, up to the first that is cut off or has another method.
pub fn units(data: &[u8]) -> impl Iterator<Item = u16> {
    let end = data
        .get(..4)
        .map_or(0, |length| 8 + number(length) as usize);
    let list = data.get(8..end.min(data.len())).unwrap_or(&[]);
    list.chunks_exact(8)
        .map_while(|entry| match (entry[0] >> 6, entry[0] & 0x3f) {
            (0, 0) => Some(u16::from(entry[1])),
            (1, high) => Some(u16::from(high) << 8 | u16::from(entry[1])),
            _ => None,
        })
}

layout! {
    /// Data of REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS. Bytes about timeouts follow.
    pub struct TaskManagement: 4 {
        abort_task: bool = FieldPosition::flag(0, 7);
        abort_task_set: bool = FieldPosition::flag(0, 6);
        clear_aca: bool = FieldPosition::flag(0, 5);
        clear_task_set: bool = FieldPosition::flag(0, 4);
        unit_reset: bool = FieldPosition::flag(0, 3);
        query_task: bool = FieldPosition::flag(0, 2);
        /// 12 if timeouts are requested.
        additional_length: u8 = FieldPosition::bytes(3, 1);
    }

    /// Header of a log page. Parameters follow.
    pub struct LogHeader: 4 {
        /// DS: not saved.
        not_saved: bool = FieldPosition::flag(0, 7);
        /// SPF: it has a subpage code.
        has_subpage: bool = FieldPosition::flag(0, 6);
        page: u8 = FieldPosition::bits(0, 5, 0);
        subpage: u8 = FieldPosition::bytes(1, 1);
        length: u16 = FieldPosition::bytes(2, 2);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogParameter<'a> {
    pub code: u16,
    pub control: u8,
    pub value: &'a [u8],
}

impl LogParameter<'_> {
    /// Writes it at the front of `data`; returns its length.
    pub fn emit(&self, data: &mut [u8]) -> usize {
        let end = 4 + self.value.len();
        put(&mut data[..2], u64::from(self.code));
        data[2] = self.control;
        put(&mut data[3..4], self.value.len() as u64);
        data[4..end].copy_from_slice(self.value);
        end
    }
}

/// Returns the parameters of a log page, up to the first that is cut off.
pub fn log_parameters(mut content: &[u8]) -> impl Iterator<Item = LogParameter<'_>> {
    core::iter::from_fn(move || {
        let (header, rest) = content.split_at_checked(4)?;
        let (value, rest) = rest.split_at_checked(usize::from(header[3]))?;
        content = rest;
        Some(LogParameter {
            code: number(&header[..2]) as u16,
            control: header[2],
            value,
        })
    })
}

pub mod log_page {
    /// The list of supported pages: their codes.
    pub const SUPPORTED: u8 = 0x00;
    /// Write error counters: parameters of [`super::ErrorCounter`].
    pub const WRITE_ERRORS: u8 = 0x02;
    pub const READ_ERRORS: u8 = 0x03;
    /// Informational exceptions: [`super::Exceptions`] as parameter 0.
    pub const EXCEPTIONS: u8 = 0x2f;
}

/// Parameters of the pages of error counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCounter {
    /// Errors corrected without substantial delay.
    CorrectedAtOnce = 0,
    /// Errors corrected with possible delays.
    CorrectedWithDelay = 1,
    Repeated = 2,
    /// Errors corrected in all.
    Corrected = 3,
    /// Number of uses of the correction algorithm.
    Algorithm = 4,
    /// Bytes read or written.
    Bytes = 5,
    /// Errors that were not corrected.
    Uncorrected = 6,
}

layout! {
    /// Parameter 0 of the page of informational exceptions.
    pub struct Exceptions: 3 {
        /// Additional sense code; 0 means no exception.
        code: u8 = FieldPosition::bytes(0, 1);
        qualifier: u8 = FieldPosition::bytes(1, 1);
        /// In degrees Celsius; 0xff if not known.
        temperature: u8 = FieldPosition::bytes(2, 1);
    }

    /// Data of READ CAPACITY(10).
    pub struct Capacity10: 8 {
        /// The last block; all ones if it does not fit.
        last: u32 = FieldPosition::bytes(0, 4);
        block_bytes: u32 = FieldPosition::bytes(4, 4);
    }

    /// Data of READ CAPACITY(16).
    pub struct Capacity16: 32 {
        last: u64 = FieldPosition::bytes(0, 8);
        block_bytes: u32 = FieldPosition::bytes(8, 4);
        /// Type of protection information less one.
        protection_type: u8 = FieldPosition::bits(12, 3, 1);
        /// Formatted with protection information.
        protected: bool = FieldPosition::flag(12, 0);
        /// Binary logarithm of the blocks in a physical block.
        physical_block_exponent: u8 = FieldPosition::bits(13, 3, 0);
        /// Blocks may be unmapped.
        thin: bool = FieldPosition::flag(14, 7);
        /// Unmapped blocks read as zeros.
        unmapped_are_zero: bool = FieldPosition::flag(14, 6);
    }
}
