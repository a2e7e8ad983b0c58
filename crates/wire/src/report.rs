//! Lists and records that a unit returns: its operations (SPC-4, REPORT SUPPORTED OPERATION CODES),
//! units (REPORT LUNS), logs (SPC-4, LOG SENSE), capacity (SBC-3, READ CAPACITY), and identity
//! (SPC-4, INQUIRY: standard data, with the bits of SCSI-2 in byte 7, and vital product data).

use alloc::vec;
use alloc::vec::Vec;

use crate::iscsi::Lun;
use crate::layout::{FieldPosition, Short, number};
use crate::operation::Operation;

/// A command timeouts descriptor in which all times are "not specified".
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

pub fn emit_operations<'a>(
    operations: impl Iterator<Item = &'a Operation>,
    timeouts: bool,
) -> Vec<u8> {
    let mut list = Vec::new();
    for operation in operations {
        let listed = ListedOperation {
            code: operation.code,
            service_action: operation.service_action.unwrap_or(0).into(),
            timeouts,
            has_service_action: operation.service_action.is_some(),
            length: operation.usage.len() as u16,
        };
        list.extend(listed.emit());
        if timeouts {
            list.extend(TIMEOUTS);
        }
    }
    let length = list.len() as u32;
    [&length.to_be_bytes()[..], &list].concat()
}

/// Returns the operations in the data of REPORT SUPPORTED OPERATION CODES, up to the first that is
/// cut off.
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

/// Encodes the description of an operation; `None` is encoded as "not supported".
pub fn emit_operation(operation: Option<&Operation>, timeouts: bool) -> Vec<u8> {
    let Some(operation) = operation else {
        // Not supported.
        return vec![0, 1, 0, 0];
    };
    // Supported as in the standard.
    let support = u8::from(timeouts) << 7 | 3;
    let mut data = vec![0, support, 0, operation.usage.len() as u8];
    data.extend(operation.usage);
    if timeouts {
        data.extend(TIMEOUTS);
    }
    data
}

/// Returns the usage data of one operation; `None` if the unit does not support it.
/// Fails if the data are cut off.
pub fn operation(data: &[u8]) -> Result<Option<&[u8]>, Short> {
    let header = data.get(..4).ok_or(Short { expected: 4 })?;
    if !matches!(header[1] & 0x07, 3 | 5) {
        return Ok(None);
    }
    let end = 4 + number(&header[2..]) as usize;
    let usage = data.get(4..end).ok_or(Short { expected: end })?;
    Ok(Some(usage))
}

/// Encodes a list of unit numbers below 16,384 (SAM-5); panics if a number is larger.
pub fn emit_units(units: &[u16]) -> Vec<u8> {
    let length = 8 * units.len() as u32;
    let mut data = [length.to_be_bytes(), [0; 4]].concat();
    data.extend(
        units
            .iter()
            .flat_map(|unit| Lun::new(*unit).0.to_be_bytes()),
    );
    data
}

/// Returns the unit numbers in the data of REPORT LUNS, up to the first that is cut off or has
/// another addressing method.
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
    /// Data of REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS. Timeouts may follow.
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
        /// DS: the parameters are not saved.
        not_saved: bool = FieldPosition::flag(0, 7);
        /// SPF: the page has a subpage code.
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
    /// Encodes the parameter; panics if the value has more than 255 bytes.
    pub fn emit(&self) -> Vec<u8> {
        let [high, low] = self.code.to_be_bytes();
        let length = u8::try_from(self.value.len()).expect("a value has at most 255 bytes");
        [&[high, low, self.control, length], self.value].concat()
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

/// Parameter codes of the error counter pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCounter {
    /// Errors corrected without substantial delay.
    CorrectedWithoutDelay = 0,
    /// Errors corrected with possible delays.
    CorrectedWithDelay = 1,
    Repeated = 2,
    /// Total number of corrected errors.
    Corrected = 3,
    /// Number of uses of the correction algorithm.
    Algorithm = 4,
    /// Bytes read or written.
    Bytes = 5,
    /// Errors that were not corrected.
    Uncorrected = 6,
}

layout! {
    /// Parameter 0 of the informational exceptions page.
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
        /// Type of protection information minus one.
        protection_type: u8 = FieldPosition::bits(12, 3, 1);
        /// Formatted with protection information.
        protected: bool = FieldPosition::flag(12, 0);
        /// Binary logarithm of the number of blocks in a physical block.
        physical_block_exponent: u8 = FieldPosition::bits(13, 3, 0);
        /// Blocks may be unmapped.
        thin: bool = FieldPosition::flag(14, 7);
        /// Unmapped blocks read as zeros.
        unmapped_are_zero: bool = FieldPosition::flag(14, 6);
    }
}

layout! {
    /// Standard INQUIRY data, without version descriptors.
    pub struct Inquiry: 36 {
        /// 0: a unit is present; 3: no unit can exist at this number.
        qualifier: u8 = FieldPosition::bits(0, 7, 5);
        /// 0 for a disk, 0x1f for none.
        device_type: u8 = FieldPosition::bits(0, 4, 0);
        /// The medium can be removed.
        removable: bool = FieldPosition::flag(1, 7);
        /// The standard: 2 is SCSI-2, 6 is SPC-4.
        version: u8 = FieldPosition::bytes(2, 1);
        /// Supports NACA in the control byte.
        normal_aca: bool = FieldPosition::flag(3, 5);
        /// Numbers its units hierarchically.
        hierarchical: bool = FieldPosition::flag(3, 4);
        /// 2 for this layout.
        response_format: u8 = FieldPosition::bits(3, 3, 0);
        /// Number of bytes that follow this one.
        additional_length: u8 = FieldPosition::bytes(4, 1);
        protect: bool = FieldPosition::flag(5, 0);
        multiple_ports: bool = FieldPosition::flag(6, 4);
        /// Supports 32-bit wide transfers (SCSI-2).
        wide_32: bool = FieldPosition::flag(7, 6);
        /// Supports 16-bit wide transfers (SCSI-2).
        wide_16: bool = FieldPosition::flag(7, 5);
        /// Supports synchronous transfers (SCSI-2).
        synchronous: bool = FieldPosition::flag(7, 4);
        /// Supports linked commands (SCSI-2).
        linked: bool = FieldPosition::flag(7, 3);
        command_queueing: bool = FieldPosition::flag(7, 1);
        /// The vendor, in ASCII, padded with spaces.
        vendor: [u8; 8] = FieldPosition::bytes(8, 8);
        product: [u8; 16] = FieldPosition::bytes(16, 16);
        revision: [u8; 4] = FieldPosition::bytes(32, 4);
    }
}

/// Offset of the version descriptors in data longer than [`Inquiry`], and their maximum number.
pub const VERSIONS: (usize, usize) = (58, 8);

/// Version descriptors (SPC-4) that name a standard but no particular draft of it.
pub mod version {
    pub const SAM_5: u16 = 0x00a0;
    pub const SPC_4: u16 = 0x0460;
    pub const SBC_3: u16 = 0x04c0;
}

/// Pads `text` with spaces. Cuts off characters that do not fit, and replaces those that are not
/// graphic ASCII, because the standard does not allow them.
pub fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    for (byte, character) in field.iter_mut().zip(text.chars()) {
        *byte = match character {
            ' '..='~' => character as u8,
            _ => b'?',
        };
    }
    field
}

/// Vital product data page codes.
pub mod page_code {
    pub const SUPPORTED_PAGES: u8 = 0x00;
    pub const SERIAL_NUMBER: u8 = 0x80;
    pub const IDENTIFICATION: u8 = 0x83;
    pub const BLOCK_LIMITS: u8 = 0xb0;
    pub const CHARACTERISTICS: u8 = 0xb1;
}

/// A vital product data page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VitalPage<'a> {
    /// As in standard INQUIRY data.
    pub qualifier: u8,
    /// As in standard INQUIRY data.
    pub device_type: u8,
    pub code: u8,
    /// Page codes, an ASCII serial number, [`designators`], [`BlockLimits`] or [`Characteristics`].
    pub content: &'a [u8],
}

const HEADER: usize = 4;

impl<'a> VitalPage<'a> {
    /// Parses a page. Its end may be cut off by the allocation length. Fails if the header is
    /// incomplete.
    pub fn parse(data: &'a [u8]) -> Result<Self, Short> {
        let Some((header, rest)) = data.split_at_checked(HEADER) else {
            return Err(Short { expected: HEADER });
        };
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        Ok(Self {
            qualifier: header[0] >> 5,
            device_type: header[0] & 0x1f,
            code: header[1],
            content: &rest[..length.min(rest.len())],
        })
    }

    /// Encodes the page; panics if a number does not fit its field.
    pub fn emit(&self) -> Vec<u8> {
        assert!(self.qualifier < 8 && self.device_type < 32);
        let length = u16::try_from(self.content.len()).expect("a page has at most 65,535 bytes");
        let [high, low] = length.to_be_bytes();
        let first = self.qualifier << 5 | self.device_type;
        [&[first, self.code, high, low], self.content].concat()
    }
}

/// A name of the unit (SPC-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Designator<'a> {
    /// 1: binary, 2: ASCII, 3: UTF-8.
    pub code_set: u8,
    /// 0: the unit, 1: its port, 2: its target.
    pub association: u8,
    /// 1: T10 vendor identification, 2: EUI-64, 3: NAA, 8: SCSI name.
    pub kind: u8,
    pub name: &'a [u8],
}

/// Returns the designators in a device identification page, up to the first that is cut off.
pub fn designators(mut content: &[u8]) -> impl Iterator<Item = Designator<'_>> {
    core::iter::from_fn(move || {
        let (header, rest) = content.split_at_checked(HEADER)?;
        let (name, rest) = rest.split_at_checked(usize::from(header[3]))?;
        content = rest;
        Some(Designator {
            code_set: header[0] & 0x0f,
            association: header[1] >> 4 & 0x03,
            kind: header[1] & 0x0f,
            name,
        })
    })
}

impl Designator<'_> {
    /// Encodes the designator; panics if a number does not fit its field.
    pub fn emit(&self) -> Vec<u8> {
        assert!(self.code_set < 16 && self.association < 4 && self.kind < 16);
        let length = u8::try_from(self.name.len()).expect("a name has at most 255 bytes");
        let second = self.association << 4 | self.kind;
        [&[self.code_set, second, 0, length], self.name].concat()
    }
}

layout! {
    /// Content of the block limits page (SBC-3). Zero means no limit, or unknown.
    pub struct BlockLimits: 60 {
        /// WRITE SAME of zero blocks is refused.
        write_same_nonzero: bool = FieldPosition::flag(0, 0);
        compare_and_write: u8 = FieldPosition::bytes(1, 1);
        /// Optimal transfer granularity, in blocks.
        granularity: u16 = FieldPosition::bytes(2, 2);
        /// Maximum number of blocks in a transfer.
        transfer: u32 = FieldPosition::bytes(4, 4);
        /// Optimal maximum transfer length, in blocks.
        optimal_transfer: u32 = FieldPosition::bytes(8, 4);
        /// Maximum number of blocks in a PRE-FETCH.
        prefetch: u32 = FieldPosition::bytes(12, 4);
        write_same: u64 = FieldPosition::bytes(32, 8);
    }

    /// Content of the block device characteristics page (SBC-3).
    pub struct Characteristics: 60 {
        /// Revolutions per minute; 0 if not reported, 1 if the medium does not rotate.
        rotation_rate: u16 = FieldPosition::bytes(0, 2);
        /// In inches, 1: 5.25, 2: 3.5, 3: 2.5, 4: 1.8.
        form_factor: u8 = FieldPosition::bits(3, 3, 0);
    }
}
