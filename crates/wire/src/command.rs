//! Command blocks and their meaning, declared by a table of operation codes and fields.

use crate::layout::{Field, FieldPosition};
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

impl Size {
    /// Derives the size from the group code, the upper three bits of the operation code (SPC-4).
    pub(crate) const fn from_code(code: u8) -> Self {
        match code >> 5 {
            0 => Self::Six,
            1 | 2 => Self::Ten,
            5 => Self::Twelve,
            _ => Self::Sixteen,
        }
    }

    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Six => 6,
            Self::Ten => 10,
            Self::Twelve => 12,
            Self::Sixteen => 16,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    pub at: u64,
    /// Number of blocks. Zero usually means none, but for SYNCHRONIZE CACHE, PRE-FETCH and WRITE
    /// SAME it means all blocks to the end of the disk.
    pub count: u32,
}

/// The use of the buffer by a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caching {
    /// DPO: the blocks need not be kept in the buffer.
    pub disable_page_out: bool,
    /// FUA: the media are accessed before the command ends.
    pub force_unit_access: bool,
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

/// The position of a field in command blocks of each [`Size`].
type Positions = [FieldPosition; 4];

const fn flag(byte: usize, bit: u8) -> Positions {
    [FieldPosition::flag(byte, bit); 4]
}

const fn bits(byte: usize, high: u8, low: u8) -> Positions {
    [FieldPosition::bits(byte, high, low); 4]
}

const fn bytes(byte: usize, bytes: usize) -> Positions {
    [FieldPosition::bytes(byte, bytes); 4]
}

/// No position: the field is zero.
const NONE: FieldPosition = FieldPosition::bytes(0, 0);
const CODE: Positions = bytes(0, 1);
const ADDRESS: Positions = [
    FieldPosition::bytes(1, 3),
    FieldPosition::bytes(2, 4),
    FieldPosition::bytes(2, 4),
    FieldPosition::bytes(2, 8),
];
const COUNT: Positions = [
    FieldPosition::bytes(4, 1),
    FieldPosition::bytes(7, 2),
    FieldPosition::bytes(6, 4),
    FieldPosition::bytes(10, 4),
];
/// The group number (0 to 31) selects statistics (SBC-3).
const GROUP: Positions = [
    NONE,
    FieldPosition::bits(6, 4, 0),
    NONE,
    FieldPosition::bits(14, 4, 0),
];

/// Returns the positions of bits in byte 2 of 10-byte commands and byte 1 of 12-byte commands.
const fn defect_bits(high: u8, low: u8) -> Positions {
    let (ten, twelve) = (
        FieldPosition::bits(2, high, low),
        FieldPosition::bits(1, high, low),
    );
    [NONE, ten, twelve, NONE]
}

trait CommandField: Sized {
    fn read(block: &[u8], positions: Positions) -> Result<Self, Invalid>;
    fn write(self, block: &mut [u8], positions: Positions);

    /// Returns the size of the command block, if the field determines it.
    fn block_size(&self) -> Option<Size> {
        None
    }
}

impl<T: Field> CommandField for T {
    fn read(block: &[u8], positions: Positions) -> Result<Self, Invalid> {
        Ok(Field::read(
            block,
            positions[Size::from_code(block[0]) as usize],
        ))
    }

    fn write(self, block: &mut [u8], positions: Positions) {
        Field::write(&self, block, positions[Size::from_code(block[0]) as usize]);
    }
}

/// The operation code is already in the block and determines the size.
impl CommandField for Size {
    fn read(block: &[u8], _: Positions) -> Result<Self, Invalid> {
        Ok(Self::from_code(block[0]))
    }

    fn write(self, _: &mut [u8], _: Positions) {}

    fn block_size(&self) -> Option<Size> {
        Some(*self)
    }
}

impl CommandField for Blocks {
    fn read(block: &[u8], positions: Positions) -> Result<Self, Invalid> {
        let count = <u32 as CommandField>::read(block, COUNT)?;
        Ok(Self {
            at: CommandField::read(block, positions)?,
            count: match Size::from_code(block[0]) {
                // Zero means 256 (SBC-3).
                Size::Six if count == 0 => 256,
                _ => count,
            },
        })
    }

    fn write(self, block: &mut [u8], positions: Positions) {
        CommandField::write(self.at, block, positions);
        let count = match Size::from_code(block[0]) {
            Size::Six => self.count & 0xff,
            _ => self.count,
        };
        CommandField::write(count, block, COUNT);
    }
}

/// In 6-byte commands, these bits belong to the address.
impl CommandField for Caching {
    fn read(block: &[u8], _: Positions) -> Result<Self, Invalid> {
        if Size::from_code(block[0]) == Size::Six {
            return Ok(Self::default());
        }
        Ok(Self {
            disable_page_out: CommandField::read(block, flag(1, 4))?,
            force_unit_access: CommandField::read(block, flag(1, 3))?,
        })
    }

    fn write(self, block: &mut [u8], _: Positions) {
        if Size::from_code(block[0]) != Size::Six {
            CommandField::write(self.disable_page_out, block, flag(1, 4));
            CommandField::write(self.force_unit_access, block, flag(1, 3));
        }
    }
}

/// A page code in byte 2. It is zero unless the flag EVPD (INQUIRY) or PCV (RECEIVE DIAGNOSTIC
/// RESULTS) is set.
impl CommandField for Option<u8> {
    fn read(block: &[u8], positions: Positions) -> Result<Self, Invalid> {
        match (CommandField::read(block, positions)?, block[2]) {
            (true, page) => Ok(Some(page)),
            (false, 0) => Ok(None),
            (false, _) => Err(Invalid::Field { byte: 2, bit: None }),
        }
    }

    fn write(self, block: &mut [u8], positions: Positions) {
        CommandField::write(self.is_some(), block, positions);
        block[2] = self.unwrap_or(0);
    }
}

/// The address format in FORMAT UNIT. Without FMTDATA, it and the list bits are reserved (SBC-3).
impl CommandField for Option<AddressFormat> {
    fn read(block: &[u8], positions: Positions) -> Result<Self, Invalid> {
        if block[1] & 0x10 != 0 {
            return AddressFormat::read(block, positions).map(Some);
        }
        let reserved = [(0x20, 5), (0x08, 3), (0x07, 2)];
        match reserved.iter().find(|(bits, _)| block[1] & bits != 0) {
            Some((_, bit)) => Err(Invalid::Field {
                byte: 1,
                bit: Some(*bit),
            }),
            None => Ok(None),
        }
    }

    fn write(self, block: &mut [u8], positions: Positions) {
        if let Some(format) = self {
            CommandField::write(true, block, flag(1, 4));
            format.write(block, positions);
        }
    }
}

/// Fields that the form of the query does not use must be zero.
impl CommandField for OperationQuery {
    fn read(block: &[u8], positions: Positions) -> Result<Self, Invalid> {
        let (code, action) = (block[3], CommandField::read(block, bytes(4, 2))?);
        match <u8 as CommandField>::read(block, positions)? {
            0 if code != 0 => Err(Invalid::Field { byte: 3, bit: None }),
            0 | 1 if action != 0 => Err(Invalid::Field { byte: 4, bit: None }),
            0 => Ok(Self::All),
            1 => Ok(Self::Code(code)),
            2 => Ok(Self::Action(code, action)),
            3 => Ok(Self::CodeOrAction(code, action)),
            _ => Err(Invalid::Field {
                byte: 2,
                bit: Some(2),
            }),
        }
    }

    fn write(self, block: &mut [u8], positions: Positions) {
        let (form, code, action) = match self {
            Self::All => (0_u8, 0, 0),
            Self::Code(code) => (1, code, 0),
            Self::Action(code, action) => (2, code, action),
            Self::CodeOrAction(code, action) => (3, code, action),
        };
        CommandField::write(form, block, positions);
        block[3] = code;
        CommandField::write(action, block, bytes(4, 2));
    }
}

/// Declares fields whose values have names.
macro_rules! named_numbers {
    ($(
        $(#[$about:meta])*
        $name:ident { $($(#[$doc:meta])* $variant:ident = $number:literal,)+ }
    )+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant = $number,)+ }

        impl $name {
            pub(crate) const fn from_number(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl CommandField for $name {
            fn read(block: &[u8], positions: Positions) -> Result<Self, Invalid> {
                let number = CommandField::read(block, positions)?;
                let (byte, bit) = positions[Size::from_code(block[0]) as usize].highest_bit();
                Self::from_number(number).ok_or(Invalid::Field { byte, bit: Some(bit) })
            }

            fn write(self, block: &mut [u8], positions: Positions) {
                CommandField::write(self as u8, block, positions);
            }
        }
    )+};
}

named_numbers! {
    /// The data with which a verification compares the blocks (BYTCHK).
    Check {
        /// None: only checks that the blocks are readable.
        Readable = 0,
        /// The data that the host sends.
        Data = 1,
        /// One block that the host sends, compared with each block.
        OneBlock = 3,
    }

    /// The set of mode parameter values (MODE SENSE of SPC-4).
    Values {
        Current = 0,
        /// A mask of the bits that may be changed.
        Changeable = 1,
        Default = 2,
        /// The values that survive a power cycle.
        Saved = 3,
    }

    /// The set of log parameter values (LOG SENSE of SPC-4).
    LogValues {
        Threshold = 0,
        Cumulative = 1,
        DefaultThreshold = 2,
        DefaultCumulative = 3,
    }

    /// Service actions of PERSISTENT RESERVE IN (SPC-4).
    ReserveIn {
        ReadKeys = 0,
        ReadReservation = 1,
        ReportCapabilities = 2,
        /// Returns all registrations with their initiators.
        ReadFullStatus = 3,
    }

    /// Service actions of PERSISTENT RESERVE OUT (SPC-4).
    ReserveOut {
        /// Registers or changes a key.
        Register = 0,
        Reserve = 1,
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

    /// The format of defect addresses in READ DEFECT DATA and FORMAT UNIT (SBC-3). Extended formats
    /// have a multi-address bit.
    AddressFormat {
        ShortBlock = 0,
        ExtendedBytesFromIndex = 1,
        ExtendedPhysicalSector = 2,
        LongBlock = 3,
        /// Cylinder, head and bytes from the index mark.
        BytesFromIndex = 4,
        /// Cylinder, head and sector.
        PhysicalSector = 5,
        VendorSpecific = 6,
    }
}

/// Declares commands by operation codes, service action and fields; derives `parse` and `emit`.
macro_rules! commands {
    ($(
        $(#[$about:meta])*
        $name:ident: [$first:literal $(| $code:literal)* $(/ $action:literal)?]
        $({ $($field:ident: $type:ty = $positions:expr;)+ })?
    )+) => {
        /// A command to a disk.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Command { $($(#[$about])* $name $({ $($field: $type,)+ })?,)+ }

        /// Parses a block whose operation is known and whose reserved bits are zero.
        fn parse(block: &[u8]) -> Result<Command, Invalid> {
            Ok(match block[0] {
                $($first $(| $code)* $(if block[1] & 0x1f == $action)? => {
                    Command::$name $({ $($field: CommandField::read(block, $positions)?,)+ })?
                })+
                code => unreachable!("operation {code:#04x} has no command"),
            })
        }

        /// Writes a command; returns its length.
        fn emit(command: &Command, buffer: &mut [u8; 16]) -> usize {
            match *command {
                $(Command::$name $({ $($field),+ })? => {
                    let size = None;
                    $($(let size = size.or(CommandField::block_size(&$field));)+)?
                    let block = begin(buffer, &[$first $(, $code)*], size);
                    $(block[1] = $action;)?
                    $($(CommandField::write($field, block, $positions);)+)?
                    block.len()
                })+
            }
        }
    };
}

/// Writes the operation code for the size; returns the part of `buffer` for the command block.
fn begin<'a>(buffer: &'a mut [u8; 16], codes: &[u8], size: Option<Size>) -> &'a mut [u8] {
    let fits = |code: &&u8| size.is_none_or(|size| Size::from_code(**code) == size);
    let code = *codes
        .iter()
        .find(fits)
        .expect("the operation exists in this size");
    buffer.fill(0);
    buffer[0] = code;
    &mut buffer[..Size::from_code(code).bytes()]
}

commands! {
    /// Checks that the unit is ready (SPC-4).
    TestUnitReady: [0x00]

    /// Returns the unit's sense data (SPC-4), in descriptor format if `descriptor`.
    RequestSense: [0x03] {
        descriptor: bool = flag(1, 0);
        length: u8 = bytes(4, 1);
    }

    /// Identifies the unit (SPC-4): standard data, or a page of vital product data.
    Inquiry: [0x12] {
        page: Option<u8> = flag(1, 0);
        length: u16 = bytes(3, 2);
    }

    Read: [0x08 | 0x28 | 0xa8 | 0x88] {
        size: Size = CODE;
        blocks: Blocks = ADDRESS;
        caching: Caching = bits(1, 4, 3);
    }

    Write: [0x0a | 0x2a | 0xaa | 0x8a] {
        size: Size = CODE;
        blocks: Blocks = ADDRESS;
        caching: Caching = bits(1, 4, 3);
    }

    /// Writes blocks and reads them back (SBC-3).
    WriteAndVerify: [0x2e | 0xae | 0x8e] {
        size: Size = CODE;
        blocks: Blocks = ADDRESS;
        disable_page_out: bool = flag(1, 4);
        check: Check = bits(1, 2, 1);
    }

    /// Checks blocks on the media (SBC-3).
    Verify: [0x2f | 0xaf | 0x8f] {
        size: Size = CODE;
        blocks: Blocks = ADDRESS;
        disable_page_out: bool = flag(1, 4);
        check: Check = bits(1, 2, 1);
    }

    /// Moves the arm (SCSI-2).
    Seek: [0x0b | 0x2b] {
        size: Size = CODE;
        at: u64 = ADDRESS;
    }

    /// Reads blocks into the buffer (SBC-3).
    PreFetch: [0x34 | 0x90] {
        size: Size = CODE;
        blocks: Blocks = ADDRESS;
        immediate: bool = flag(1, 1);
        group: u8 = GROUP;
    }

    /// Writes buffered data to the media (SBC-3).
    SynchronizeCache: [0x35 | 0x91] {
        size: Size = CODE;
        blocks: Blocks = ADDRESS;
        immediate: bool = flag(1, 1);
    }

    /// Writes the same data to many blocks (SBC-3), or zeros if `no_data` ([`Size::Sixteen`] only).
    WriteSame: [0x41 | 0x93] {
        size: Size = CODE;
        blocks: Blocks = ADDRESS;
        no_data: bool = flag(1, 0);
    }

    /// Writes blocks if they contain the expected data (SBC-3).
    CompareAndWrite: [0x89] {
        at: u64 = ADDRESS;
        count: u8 = bytes(13, 1);
        caching: Caching = bits(1, 4, 3);
    }

    /// ORs the data into the blocks (SBC-3).
    OrWrite: [0x8b] {
        blocks: Blocks = ADDRESS;
        caching: Caching = bits(1, 4, 3);
    }

    /// Returns the last block and the block size (SBC-3). With `partial` (PMI, SCSI-2), returns the
    /// last block that can be reached from `at` without a substantial delay, such as a seek.
    ReadCapacity10: [0x25] {
        at: u32 = ADDRESS;
        partial: bool = flag(8, 0);
    }

    /// READ CAPACITY with 64-bit addresses and more parameters (SBC-3).
    ReadCapacity16: [0x9e / 0x10] {
        at: u64 = ADDRESS;
        partial: bool = flag(14, 0);
        length: u32 = bytes(10, 4);
    }

    /// Returns mode parameters (SPC-4).
    ModeSense: [0x1a | 0x5a] {
        size: Size = CODE;
        page: u8 = bits(2, 5, 0);
        subpage: u8 = bytes(3, 1);
        values: Values = bits(2, 7, 6);
        no_block_descriptors: bool = flag(1, 3);
        long_addresses: bool = flag(1, 4);
        length: u16 = COUNT;
    }

    /// Changes mode parameters (SPC-4).
    ModeSelect: [0x15 | 0x55] {
        size: Size = CODE;
        page_format: bool = flag(1, 4);
        save: bool = flag(1, 0);
        length: u16 = COUNT;
    }

    /// Reserves the unit (SCSI-2).
    Reserve: [0x16 | 0x56] { size: Size = CODE; }

    /// Releases the unit (SCSI-2).
    Release: [0x17 | 0x57] { size: Size = CODE; }

    /// Returns the registrations and the reservation (SPC-4).
    PersistentReserveIn: [0x5e] {
        action: ReserveIn = bits(1, 4, 0);
        length: u16 = bytes(7, 2);
    }

    /// Changes registrations and the reservation (SPC-4).
    PersistentReserveOut: [0x5f] {
        action: ReserveOut = bits(1, 4, 0);
        scope: u8 = bits(2, 7, 4);
        kind: u8 = bits(2, 3, 0);
        length: u32 = bytes(5, 4);
    }

    /// Spins the disk up or down (SBC-3).
    StartStopUnit: [0x1b] {
        immediate: bool = flag(1, 0);
        power_condition: u8 = bits(4, 7, 4);
        power_condition_modifier: u8 = bits(3, 3, 0);
        no_flush: bool = flag(4, 2);
        load_eject: bool = flag(4, 1);
        start: bool = flag(4, 0);
    }

    /// Formats the disk (SBC-3). `defects` is the format of the list that the host sends, if it
    /// sends one; `complete` means that the list replaces the grown list.
    FormatUnit: [0x04] {
        defects: Option<AddressFormat> = bits(1, 2, 0);
        long_list: bool = flag(1, 5);
        complete: bool = flag(1, 3);
        interleave: u16 = bytes(3, 2);
    }

    /// Replaces defective blocks with spares (SBC-3).
    ReassignBlocks: [0x07] {
        long_addresses: bool = flag(1, 1);
        long_list: bool = flag(1, 0);
    }

    /// Returns lists of defects (SBC-3). Only [`Size::Twelve`] has an index.
    ReadDefectData: [0x37 | 0xb7] {
        size: Size = CODE;
        primary: bool = defect_bits(4, 4);
        grown: bool = defect_bits(3, 3);
        format: AddressFormat = defect_bits(2, 0);
        index: u32 = [NONE, NONE, FieldPosition::bytes(2, 4), NONE];
        length: u32 = COUNT;
    }

    /// Runs a self-test, or sends a diagnostic page (SPC-4).
    SendDiagnostic: [0x1d] {
        self_test_code: u8 = bits(1, 7, 5);
        page_format: bool = flag(1, 4);
        self_test: bool = flag(1, 2);
        device_offline: bool = flag(1, 1);
        unit_offline: bool = flag(1, 0);
        length: u16 = bytes(3, 2);
    }

    /// Returns the requested diagnostic page, or the answer to the last SEND DIAGNOSTIC (SPC-4).
    ReceiveDiagnosticResults: [0x1c] {
        page: Option<u8> = flag(1, 0);
        length: u16 = bytes(3, 2);
    }

    /// Lists the logical units (SPC-4).
    ReportLuns: [0xa0] {
        select: u8 = bytes(2, 1);
        length: u32 = COUNT;
    }

    /// Lists the supported operations (SPC-4).
    ReportSupportedOperationCodes: [0xa3 / 0x0c] {
        timeouts: bool = flag(2, 7);
        query: OperationQuery = bits(2, 2, 0);
        length: u32 = COUNT;
    }

    /// Lists the supported task management functions (SPC-4).
    ReportSupportedTaskManagementFunctions: [0xa3 / 0x0d] {
        extended: bool = flag(2, 7);
        length: u32 = COUNT;
    }

    LogSense: [0x4d] {
        save: bool = flag(1, 0);
        values: LogValues = bits(2, 7, 6);
        page: u8 = bits(2, 5, 0);
        subpage: u8 = bytes(3, 1);
        pointer: u16 = bytes(5, 2);
        length: u16 = COUNT;
    }
}

impl Command {
    /// Parses a command block. Fails if the operation is unknown or a field has a value that the
    /// standard reserves.
    pub fn parse(block: &[u8]) -> Result<Self, Invalid> {
        Operation::find(block)?;
        parse(block)
    }

    /// Writes the command block at the front of `block`, and returns its length. Panics if a value
    /// does not fit its field or the operation does not exist in this size.
    pub fn emit(&self, block: &mut [u8; 16]) -> usize {
        let length = emit(self, block);
        let parsed = Self::parse(&block[..length]);
        assert_eq!(parsed, Ok(*self), "all values fit their fields");
        length
    }

    /// Returns the entry in the table of operations; panics like [`Command::emit`].
    pub fn operation(&self) -> &'static Operation {
        let mut block = [0; 16];
        let length = self.emit(&mut block);
        Operation::find(&block[..length]).expect("emitted commands are valid")
    }
}
