//! Command blocks and their meaning.

mod emit;
mod parse;

use crate::operation::{Invalid, Operation};

/// The length of a command block. The longer variants of an operation have wider fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 6 bytes: addresses of 21 bits, up to 256 blocks.
    Six,
    /// 10 bytes: addresses of 32 bits, up to 65,535 blocks.
    Ten,
    /// 12 bytes: addresses and counts of 32 bits.
    Twelve,
    /// 16 bytes: addresses of 64 bits, counts of 32.
    Sixteen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    pub at: u64,
    /// Number of blocks. Zero usually means none; for SYNCHRONIZE CACHE,
    /// PRE-FETCH and WRITE SAME, all to the end of the disk.
    pub count: u32,
}

/// Use of the buffer in a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caching {
    /// DPO: the blocks need not be kept in the buffer.
    pub disable_page_out: bool,
    /// FUA: the media are accessed before the command ends.
    pub force_unit_access: bool,
}

/// The data with which a verification compares the blocks (BYTCHK).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// None: only checks that the blocks are readable.
    Readable = 0,
    /// The data that the host sends.
    Data = 1,
    /// One block that the host sends, for each block.
    OneBlock = 3,
}

/// The set of mode parameter values (MODE SENSE of SPC-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// The current values.
    Current = 0,
    /// A mask of the bits that may be changed.
    Changeable = 1,
    /// The default values.
    Default = 2,
    /// The values that survive a power cycle.
    Saved = 3,
}

/// The set of log parameter values (LOG SENSE of SPC-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogValues {
    /// The current thresholds.
    Threshold = 0,
    /// The counted values.
    Cumulative = 1,
    /// The default thresholds.
    DefaultThreshold = 2,
    /// The default counts.
    DefaultCumulative = 3,
}

/// Service actions of PERSISTENT RESERVE IN (SPC-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveIn {
    /// All registered keys.
    ReadKeys = 0,
    ReadReservation = 1,
    /// The capabilities of the unit.
    ReportCapabilities = 2,
    /// All registrations with their initiators.
    ReadFullStatus = 3,
}

/// Service actions of PERSISTENT RESERVE OUT (SPC-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveOut {
    /// Registers or changes a key.
    Register = 0,
    Reserve = 1,
    /// Releases it.
    Release = 2,
    /// Removes the reservation and all keys.
    Clear = 3,
    /// Removes the keys of others, and takes over their reservation.
    Preempt = 4,
    /// Like [`Self::Preempt`], but also aborts their commands.
    PreemptAndAbort = 5,
    /// Registers, regardless of the previous key.
    RegisterAndIgnore = 6,
    /// Registers another initiator and gives it the reservation.
    RegisterAndMove = 7,
}

/// The format of defect addresses in READ DEFECT DATA and FORMAT UNIT (SBC-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressFormat {
    /// 32-bit block addresses.
    ShortBlock = 0,
    /// Bytes from the index mark, with a multi-address bit.
    ExtendedBytesFromIndex = 1,
    /// Physical sectors, with a multi-address bit.
    ExtendedPhysicalSector = 2,
    /// 64-bit block addresses.
    LongBlock = 3,
    /// Cylinder, head and bytes from the index mark.
    BytesFromIndex = 4,
    /// Cylinder, head and sector.
    PhysicalSector = 5,
    /// Vendor-specific.
    VendorSpecific = 6,
}

/// The operations that REPORT SUPPORTED OPERATION CODES describes (SPC-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationQuery {
    All,
    /// An operation without service actions.
    Code(u8),
    /// An operation with a service action.
    Action(u8, u16),
    /// An operation with or without service actions; the action is ignored if it has none.
    CodeOrAction(u8, u16),
}

/// A command to a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Checks that the unit is ready (SPC-4).
    TestUnitReady,
    /// Returns its sense data (SPC-4), in descriptor format if `descriptor`.
    RequestSense { descriptor: bool, length: u8 },
    /// Identifies the unit (SPC-4): standard data, or a page of vital product data.
    Inquiry { page: Option<u8>, length: u16 },
    Read {
        size: Size,
        blocks: Blocks,
        caching: Caching,
    },
    Write {
        size: Size,
        blocks: Blocks,
        caching: Caching,
    },
    /// Writes blocks and reads them back (SBC-3). [`Size::Six`] does not exist.
    WriteAndVerify {
        size: Size,
        blocks: Blocks,
        disable_page_out: bool,
        check: Check,
    },
    /// Reads blocks on the media (SBC-3). [`Size::Six`] does not exist.
    Verify {
        size: Size,
        blocks: Blocks,
        disable_page_out: bool,
        check: Check,
    },
    /// Moves the arm (SCSI-2). [`Size::Six`] or [`Size::Ten`].
    Seek { size: Size, at: u64 },
    /// Reads blocks into the buffer (SBC-3). [`Size::Ten`] or [`Size::Sixteen`], as
    /// with the next two.
    PreFetch {
        size: Size,
        blocks: Blocks,
        immediate: bool,
        /// The group for its statistics, 0 to 31; 0 means none.
        group: u8,
    },
    /// Writes what the buffer holds (SBC-3).
    SynchronizeCache {
        size: Size,
        blocks: Blocks,
        immediate: bool,
    },
    /// Writes the data of one block to many (SBC-3). Without data, which only [`Size::Sixteen`]
    /// allows, it writes zeros.
    WriteSame {
        size: Size,
        blocks: Blocks,
        no_data: bool,
    },
    /// Writes blocks if they are as expected (SBC-3).
    CompareAndWrite {
        at: u64,
        count: u8,
        caching: Caching,
    },
    /// Sets the bits of blocks that are one in the data (SBC-3).
    OrWrite { blocks: Blocks, caching: Caching },
    /// The last block and the block size (SBC-3). With `partial` (PMI,
    /// SCSI-2): the last block after `at` before a substantial delay, such as another cylinder.
    ReadCapacity10 { at: u32, partial: bool },
    /// READ CAPACITY with 64-bit addresses and more parameters (SBC-3).
    ReadCapacity16 { at: u64, partial: bool, length: u32 },
    /// Mode parameters (SPC-4). [`Size::Six`] or [`Size::Ten`].
    ModeSense {
        size: Size,
        page: u8,
        subpage: u8,
        values: Values,
        no_block_descriptors: bool,
        long_addresses: bool,
        length: u16,
    },
    /// Changes mode parameters (SPC-4). [`Size::Six`] or [`Size::Ten`].
    ModeSelect {
        size: Size,
        page_format: bool,
        save: bool,
        length: u16,
    },
    /// Reserves the unit (SCSI-2). [`Size::Six`] or [`Size::Ten`].
    Reserve { size: Size },
    /// Releases it (SCSI-2). [`Size::Six`] or [`Size::Ten`].
    Release { size: Size },
    /// The registrations and the reservation (SPC-4).
    PersistentReserveIn { action: ReserveIn, length: u16 },
    /// Registers and reserves (SPC-4).
    PersistentReserveOut {
        action: ReserveOut,
        scope: u8,
        kind: u8,
        length: u32,
    },
    /// Spins it up or down (SBC-3).
    StartStopUnit {
        immediate: bool,
        power_condition: u8,
        power_condition_modifier: u8,
        no_flush: bool,
        load_eject: bool,
        start: bool,
    },
    /// Formats it (SBC-3). `defects` is the format of the list that the host sends, if
    /// it sends one; `complete` means that the list replaces the grown one.
    FormatUnit {
        defects: Option<AddressFormat>,
        long_list: bool,
        complete: bool,
        interleave: u16,
    },
    /// Reassigns blocks (SBC-3).
    ReassignBlocks {
        long_addresses: bool,
        long_list: bool,
    },
    /// Lists of defects (SBC-3). [`Size::Ten`], without an index, or
    /// [`Size::Twelve`].
    ReadDefectData {
        size: Size,
        primary: bool,
        grown: bool,
        format: AddressFormat,
        index: u32,
        length: u32,
    },
    /// Runs a self-test, or sends a diagnostic page (SPC-4).
    SendDiagnostic {
        self_test_code: u8,
        page_format: bool,
        self_test: bool,
        device_offline: bool,
        unit_offline: bool,
        length: u16,
    },
    /// Returns a diagnostic page (SPC-4): the requested one, or the answer to the last SEND
    /// DIAGNOSTIC.
    ReceiveDiagnosticResults { page: Option<u8>, length: u16 },
    /// Lists the logical units (SPC-4).
    ReportLuns { select: u8, length: u32 },
    /// Lists the supported operations (SPC-4).
    ReportSupportedOperationCodes {
        timeouts: bool,
        query: OperationQuery,
        length: u32,
    },
    /// Lists the supported task management functions (SPC-4).
    ReportSupportedTaskManagementFunctions { extended: bool, length: u32 },
    LogSense {
        save: bool,
        values: LogValues,
        page: u8,
        subpage: u8,
        pointer: u16,
        length: u16,
    },
}

impl Command {
    /// Parses a command block.
    ///
    /// # Errors
    /// If the operation is unknown, or a field has a value that the standard reserves.
    pub fn parse(block: &[u8]) -> Result<Self, Invalid> {
        Operation::find(block)?;
        parse::any(block)
    }

    /// Writes the command block at the front of `block`, and returns its length.
    ///
    /// # Panics
    /// If a value does not fit its field, or the operation does not exist in that size.
    pub fn emit(&self, block: &mut [u8; 16]) -> usize {
        block.fill(0);
        emit::any(self, block)
    }

    /// Returns the operation.
    ///
    /// # Panics
    /// Like [`Command::emit`].
    pub fn operation(&self) -> &'static Operation {
        let mut block = [0; 16];
        let length = self.emit(&mut block);
        Operation::find(&block[..length]).expect("what is emitted is valid")
    }
}

impl Size {
    /// Returns the length in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Six => 6,
            Self::Ten => 10,
            Self::Twelve => 12,
            Self::Sixteen => 16,
        }
    }

    /// Derives the size from the group code, the upper three bits of the operation code (SPC-4).
    fn from_block(block: &[u8]) -> Self {
        match block.len() {
            6 => Self::Six,
            10 => Self::Ten,
            12 => Self::Twelve,
            _ => Self::Sixteen,
        }
    }

    /// Selects the operation code for this size.
    fn code(self, codes: [u8; 4]) -> u8 {
        let code = codes[match self {
            Self::Six => 0,
            Self::Ten => 1,
            Self::Twelve => 2,
            Self::Sixteen => 3,
        }];
        assert!(code != NO_SUCH_SIZE, "the operation has no such size");
        code
    }
}

/// Returns the position of the group number in a command block (SBC-3).
fn group_byte(size: Size) -> usize {
    match size {
        Size::Six | Size::Ten => 6,
        Size::Twelve => 10,
        Size::Sixteen => 14,
    }
}

/// Marks a size that does not exist in a list of codes. No operation has this code.
const NO_SUCH_SIZE: u8 = 0xff;

const READ: [u8; 4] = [0x08, 0x28, 0xa8, 0x88];
const WRITE: [u8; 4] = [0x0a, 0x2a, 0xaa, 0x8a];
const WRITE_AND_VERIFY: [u8; 4] = [NO_SUCH_SIZE, 0x2e, 0xae, 0x8e];
const VERIFY: [u8; 4] = [NO_SUCH_SIZE, 0x2f, 0xaf, 0x8f];
const SEEK: [u8; 4] = [0x0b, 0x2b, NO_SUCH_SIZE, NO_SUCH_SIZE];
const PRE_FETCH: [u8; 4] = [NO_SUCH_SIZE, 0x34, NO_SUCH_SIZE, 0x90];
const SYNCHRONIZE_CACHE: [u8; 4] = [NO_SUCH_SIZE, 0x35, NO_SUCH_SIZE, 0x91];
const WRITE_SAME: [u8; 4] = [NO_SUCH_SIZE, 0x41, NO_SUCH_SIZE, 0x93];
const MODE_SENSE: [u8; 4] = [0x1a, 0x5a, NO_SUCH_SIZE, NO_SUCH_SIZE];
const MODE_SELECT: [u8; 4] = [0x15, 0x55, NO_SUCH_SIZE, NO_SUCH_SIZE];
const RESERVE: [u8; 4] = [0x16, 0x56, NO_SUCH_SIZE, NO_SUCH_SIZE];
const RELEASE: [u8; 4] = [0x17, 0x57, NO_SUCH_SIZE, NO_SUCH_SIZE];
const READ_DEFECT_DATA: [u8; 4] = [NO_SUCH_SIZE, 0x37, 0xb7, NO_SUCH_SIZE];
