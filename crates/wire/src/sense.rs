//! Sense data: the reason for a failed command (SPC-4).

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::layout::{number, put};
use crate::operation::Invalid;

macro_rules! keys {
    ($($(#[$about:meta])* $name:ident = $code:literal, $text:literal;)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Key { $($(#[$about])* $name = $code,)+ }

        impl Key {
            /// Returns the key with this code; `None` for reserved codes and codes above 15.
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)+
                    _ => None,
                }
            }

            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

keys! {
    NoSense = 0x0, "NO SENSE";
    /// The command succeeded after retries.
    RecoveredError = 0x1, "RECOVERED ERROR";
    NotReady = 0x2, "NOT READY";
    /// A flaw in the medium or an error in the data.
    MediumError = 0x3, "MEDIUM ERROR";
    HardwareError = 0x4, "HARDWARE ERROR";
    /// A parameter of the command block or of its data is not allowed.
    IllegalRequest = 0x5, "ILLEGAL REQUEST";
    /// Something happened to the unit, such as a reset, since the last command.
    UnitAttention = 0x6, "UNIT ATTENTION";
    /// A protected area was accessed.
    DataProtect = 0x7, "DATA PROTECT";
    /// The medium is blank where data were expected, or the reverse.
    BlankCheck = 0x8, "BLANK CHECK";
    VendorSpecific = 0x9, "VENDOR SPECIFIC";
    CopyAborted = 0xa, "COPY ABORTED";
    AbortedCommand = 0xb, "ABORTED COMMAND";
    /// Buffered data may remain because the medium has ended.
    VolumeOverflow = 0xd, "VOLUME OVERFLOW";
    Miscompare = 0xe, "MISCOMPARE";
    /// The command succeeded, with additional information.
    Completed = 0xf, "COMPLETED";
}

/// An additional sense code and its qualifier (SPC-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub u8, pub u8);

macro_rules! codes {
    ($($name:ident = $code:literal, $qualifier:literal, $text:literal;)+) => {
        impl Code {
            $(
                #[doc = concat!($text, ".")]
                pub const $name: Self = Self($code, $qualifier);
            )+

            /// Returns the name in the standard; `None` if the code is not in this table.
            pub fn name(self) -> Option<&'static str> {
                match (self.0, self.1) {
                    $(($code, $qualifier) => Some($text),)+
                    _ => None,
                }
            }
        }
    };
}

codes! {
    NONE = 0x00, 0x00, "NO ADDITIONAL SENSE INFORMATION";
    BECOMING_READY = 0x04, 0x01, "LOGICAL UNIT IS IN PROCESS OF BECOMING READY";
    START_REQUIRED = 0x04, 0x02, "LOGICAL UNIT NOT READY, INITIALIZING COMMAND REQUIRED";
    FORMAT_IN_PROGRESS = 0x04, 0x04, "LOGICAL UNIT NOT READY, FORMAT IN PROGRESS";
    NO_SEEK_COMPLETE = 0x02, 0x00, "NO SEEK COMPLETE";
    WRITE_ERROR = 0x0c, 0x00, "WRITE ERROR";
    UNRECOVERED_READ_ERROR = 0x11, 0x00, "UNRECOVERED READ ERROR";
    RECOVERED_WITH_RETRIES = 0x17, 0x01, "RECOVERED DATA WITH RETRIES";
    DEFECT_LIST_NOT_FOUND = 0x1c, 0x00, "DEFECT LIST NOT FOUND";
    MISCOMPARE = 0x1d, 0x00, "MISCOMPARE DURING VERIFY OPERATION";
    PARAMETER_LIST_LENGTH = 0x1a, 0x00, "PARAMETER LIST LENGTH ERROR";
    INVALID_OPERATION = 0x20, 0x00, "INVALID COMMAND OPERATION CODE";
    OUT_OF_RANGE = 0x21, 0x00, "LOGICAL BLOCK ADDRESS OUT OF RANGE";
    INVALID_FIELD = 0x24, 0x00, "INVALID FIELD IN CDB";
    NO_SUCH_UNIT = 0x25, 0x00, "LOGICAL UNIT NOT SUPPORTED";
    INVALID_PARAMETER = 0x26, 0x00, "INVALID FIELD IN PARAMETER LIST";
    INVALID_RELEASE = 0x26, 0x04, "INVALID RELEASE OF PERSISTENT RESERVATION";
    WRITE_PROTECTED = 0x27, 0x00, "WRITE PROTECTED";
    POWER_ON_OR_RESET = 0x29, 0x00, "POWER ON, RESET, OR BUS DEVICE RESET OCCURRED";
    POWER_ON = 0x29, 0x01, "POWER ON OCCURRED";
    DEVICE_RESET = 0x29, 0x03, "BUS DEVICE RESET FUNCTION OCCURRED";
    NEXUS_LOSS = 0x29, 0x07, "I_T NEXUS LOSS OCCURRED";
    MODE_PARAMETERS_CHANGED = 0x2a, 0x01, "MODE PARAMETERS CHANGED";
    RESERVATIONS_PREEMPTED = 0x2a, 0x03, "RESERVATIONS PREEMPTED";
    RESERVATIONS_RELEASED = 0x2a, 0x04, "RESERVATIONS RELEASED";
    REGISTRATIONS_PREEMPTED = 0x2a, 0x05, "REGISTRATIONS PREEMPTED";
    CAPACITY_CHANGED = 0x2a, 0x09, "CAPACITY DATA HAS CHANGED";
    COMMAND_SEQUENCE = 0x2c, 0x00, "COMMAND SEQUENCE ERROR";
    COMMANDS_CLEARED = 0x2f, 0x00, "COMMANDS CLEARED BY ANOTHER INITIATOR";
    NO_SPARE = 0x32, 0x00, "NO DEFECT SPARE LOCATION AVAILABLE";
    SAVING_NOT_SUPPORTED = 0x39, 0x00, "SAVING PARAMETERS NOT SUPPORTED";
    INTERNAL_FAILURE = 0x44, 0x00, "INTERNAL TARGET FAILURE";
    DATA_PHASE = 0x4b, 0x00, "DATA PHASE ERROR";
    OVERLAPPED_COMMANDS = 0x4e, 0x00, "OVERLAPPED COMMANDS ATTEMPTED";
    REGISTRATION_RESOURCES = 0x55, 0x04, "INSUFFICIENT REGISTRATION RESOURCES";
}

/// The invalid field of a command block or parameter list (SPC-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// True if the field is in the command block, false if it is in the parameter list.
    pub in_command: bool,
    /// Byte where the field begins.
    pub byte: u16,
    /// The field's most significant bit in that byte, 0 to 7.
    pub bit: Option<u8>,
}

/// The meaning of the sense-key specific bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specific {
    /// With ILLEGAL REQUEST: the invalid field.
    Field(Pointer),
    /// With NO SENSE and NOT READY: the progress of an operation, in units of 1/65,536.
    Progress(u16),
    /// With RECOVERED ERROR, MEDIUM ERROR and HARDWARE ERROR: the number of retries.
    Retries(u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sense {
    /// True if the sense data concern an earlier command (response codes 0x71 and 0x73).
    pub deferred: bool,
    pub key: Key,
    pub code: Code,
    /// On disks, the first bad block; with [`Key::Miscompare`], the first differing byte.
    pub information: Option<u64>,
    pub specific: Option<Specific>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Response codes 0x70 and 0x71: 18 bytes.
    Fixed,
    /// Response codes 0x72 and 0x73: a header of eight bytes, then descriptors.
    Descriptor,
}

/// An error in sense data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    Short,
    /// The response code is not one of 0x70 to 0x73.
    ResponseCode(u8),
    /// The sense key is reserved.
    Key(u8),
}

mod field {
    use core::ops::Range;

    pub const FIXED_INFORMATION: Range<usize> = 3..7;
    pub const FIXED_ADDITIONAL_LENGTH: usize = 7;
    pub const FIXED_CODE: usize = 12;
    pub const FIXED_SPECIFIC: Range<usize> = 15..18;
    pub const FIXED_LENGTH: usize = 18;
    pub const HEADER: usize = 8;
    pub const INFORMATION: u8 = 0x00;
    pub const INFORMATION_LENGTH: usize = 12;
    pub const SPECIFIC: u8 = 0x02;
    pub const SPECIFIC_LENGTH: usize = 8;
}

impl Sense {
    /// Creates sense data about the current command, with only a key and a code.
    pub const fn new(key: Key, code: Code) -> Self {
        Self {
            deferred: false,
            key,
            code,
            information: None,
            specific: None,
        }
    }

    /// Creates the sense data for an invalid command block.
    pub fn of_command(invalid: Invalid) -> Self {
        match invalid {
            Invalid::Operation => Self::new(Key::IllegalRequest, Code::INVALID_OPERATION),
            Invalid::Length { .. } => Self::new(Key::IllegalRequest, Code::INVALID_FIELD),
            Invalid::Field { byte, bit } => {
                let pointer = Pointer {
                    in_command: true,
                    byte,
                    bit,
                };
                Self {
                    specific: Some(Specific::Field(pointer)),
                    ..Self::new(Key::IllegalRequest, Code::INVALID_FIELD)
                }
            }
        }
    }

    /// Encodes the sense data. The fixed format omits information of more than 32 bits, as the
    /// standard requires.
    pub fn emit(&self, format: Format) -> Vec<u8> {
        match format {
            Format::Fixed => self.emit_fixed(),
            Format::Descriptor => self.emit_descriptors(),
        }
    }

    fn emit_fixed(&self) -> Vec<u8> {
        let mut bytes = vec![0; field::FIXED_LENGTH];
        bytes[0] = 0x70 | u8::from(self.deferred);
        bytes[2] = self.key as u8;
        if let Some(information) = self.information.filter(|at| u32::try_from(*at).is_ok()) {
            bytes[0] |= 0x80;
            put(&mut bytes[field::FIXED_INFORMATION], information);
        }
        let additional = field::FIXED_LENGTH - field::FIXED_ADDITIONAL_LENGTH - 1;
        bytes[field::FIXED_ADDITIONAL_LENGTH] = additional as u8;
        bytes[field::FIXED_CODE] = self.code.0;
        bytes[field::FIXED_CODE + 1] = self.code.1;
        if let Some(specific) = self.specific {
            bytes[field::FIXED_SPECIFIC].copy_from_slice(&specific.bytes());
        }
        bytes
    }

    fn emit_descriptors(&self) -> Vec<u8> {
        let response = 0x72 | u8::from(self.deferred);
        let mut bytes = vec![0; field::HEADER];
        bytes[..4].copy_from_slice(&[response, self.key as u8, self.code.0, self.code.1]);
        if let Some(information) = self.information {
            bytes.extend([field::INFORMATION, 0x0a, 0x80, 0]);
            bytes.extend(information.to_be_bytes());
        }
        if let Some(specific) = self.specific {
            let [first, second, third] = specific.bytes();
            bytes.extend([field::SPECIFIC, 0x06, 0, 0, first, second, third, 0]);
        }
        bytes[7] = (bytes.len() - field::HEADER) as u8;
        bytes
    }

    /// Parses sense data of either format. Descriptors without a field in [`Sense`] are skipped.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let response = bytes.first().ok_or(Malformed::Short)? & 0x7f;
        match response {
            0x70 | 0x71 => Self::parse_fixed(bytes, response == 0x71),
            0x72 | 0x73 => Self::parse_descriptors(bytes, response == 0x73),
            other => Err(Malformed::ResponseCode(other)),
        }
    }

    /// Parses the fixed format. Drives built to the first SCSI standards cut it off after eight
    /// bytes.
    fn parse_fixed(bytes: &[u8], deferred: bool) -> Result<Self, Malformed> {
        if bytes.len() < field::HEADER {
            return Err(Malformed::Short);
        }
        let end = field::FIXED_ADDITIONAL_LENGTH + 1;
        let end = end + usize::from(bytes[field::FIXED_ADDITIONAL_LENGTH]);
        let bytes = &bytes[..end.min(bytes.len())];
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let key = Key::from_code(bytes[2] & 0x0f).ok_or(Malformed::Key(bytes[2] & 0x0f))?;
        Ok(Self {
            deferred,
            key,
            code: Code(byte(field::FIXED_CODE), byte(field::FIXED_CODE + 1)),
            information: (bytes[0] & 0x80 != 0).then(|| number(&bytes[field::FIXED_INFORMATION])),
            specific: bytes
                .get(field::FIXED_SPECIFIC)
                .and_then(|specific| Specific::from_bytes(key, specific)),
        })
    }

    fn parse_descriptors(bytes: &[u8], deferred: bool) -> Result<Self, Malformed> {
        if bytes.len() < field::HEADER {
            return Err(Malformed::Short);
        }
        let key = Key::from_code(bytes[1] & 0x0f).ok_or(Malformed::Key(bytes[1] & 0x0f))?;
        let mut sense = Self {
            deferred,
            ..Self::new(key, Code(bytes[2], bytes[3]))
        };
        let end = (field::HEADER + usize::from(bytes[7])).min(bytes.len());
        let mut rest = &bytes[field::HEADER..end];
        while let [kind, length, ..] = *rest {
            let length = 2 + usize::from(length);
            let Some((descriptor, others)) = rest.split_at_checked(length) else {
                break;
            };
            rest = others;
            match kind {
                field::INFORMATION if length == field::INFORMATION_LENGTH => {
                    let valid = descriptor[2] & 0x80 != 0;
                    sense.information = valid.then(|| number(&descriptor[4..]));
                }
                field::SPECIFIC if length == field::SPECIFIC_LENGTH => {
                    sense.specific = Specific::from_bytes(key, &descriptor[4..7]);
                }
                _ => {}
            }
        }
        Ok(sense)
    }
}

/// Formats sense data in the terms of SPC-4: `MEDIUM ERROR, UNRECOVERED READ ERROR, block 70`.
impl fmt::Display for Sense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, Code(code, qualifier)) = (self.key.name(), self.code);
        match self.code.name() {
            Some(name) => write!(f, "{key}, {name}")?,
            None => write!(f, "{key}, {code:02x}h/{qualifier:02x}h")?,
        }
        match (self.key, self.information) {
            (Key::Miscompare, Some(offset)) => write!(f, ", at byte {offset}")?,
            (_, Some(block)) => write!(f, ", block {block}")?,
            (_, None) => {}
        }
        if self.deferred {
            f.write_str(" (from an earlier command)")?;
        }
        Ok(())
    }
}

impl Specific {
    fn bytes(self) -> [u8; 3] {
        match self {
            Self::Field(pointer) => {
                let bit = pointer.bit.map_or(0, |bit| 0x08 | bit & 0x07);
                let [high, low] = pointer.byte.to_be_bytes();
                [0x80 | u8::from(pointer.in_command) << 6 | bit, high, low]
            }
            Self::Progress(number) | Self::Retries(number) => {
                let [high, low] = number.to_be_bytes();
                [0x80, high, low]
            }
        }
    }

    /// Parses the three bytes for a sense key; `None` if they are invalid or meaningless.
    fn from_bytes(key: Key, bytes: &[u8]) -> Option<Self> {
        let number = number(&bytes[1..3]) as u16;
        if bytes[0] & 0x80 == 0 {
            return None;
        }
        match key {
            Key::IllegalRequest => Some(Self::Field(Pointer {
                in_command: bytes[0] & 0x40 != 0,
                byte: number,
                bit: (bytes[0] & 0x08 != 0).then_some(bytes[0] & 0x07),
            })),
            Key::NoSense | Key::NotReady => Some(Self::Progress(number)),
            Key::RecoveredError | Key::MediumError | Key::HardwareError => {
                Some(Self::Retries(number))
            }
            _ => None,
        }
    }
}
