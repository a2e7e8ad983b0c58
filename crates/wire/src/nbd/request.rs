//! Requests (sections "Request message" and "Request types").

use super::field::Headers;
use crate::layout::FieldPosition;

layout! {
    /// The options of a request (section "Command flags").
    pub struct CommandFlags: 2 {
        /// `NBD_CMD_FLAG_FUA`: written data are on the medium before the reply.
        force_unit_access: bool = FieldPosition::flag(1, 0);
        /// `NBD_CMD_FLAG_NO_HOLE`: zeroes take up their space.
        no_hole: bool = FieldPosition::flag(1, 1);
        /// `NBD_CMD_FLAG_DF`: the data come in one chunk.
        dont_fragment: bool = FieldPosition::flag(1, 2);
        /// `NBD_CMD_FLAG_REQ_ONE`: one extent in the reply.
        one_extent: bool = FieldPosition::flag(1, 3);
        /// `NBD_CMD_FLAG_FAST_ZERO`: fails if it is not faster than writing data.
        fast_zero: bool = FieldPosition::flag(1, 4);
        /// `NBD_CMD_FLAG_PAYLOAD_LEN`: the length is the length of data which follow the header.
        payload: bool = FieldPosition::flag(1, 5);
    }
}

layout! {
    /// A request, as it is before extended headers.
    pub struct Compact: 28 {
        /// [`Request::MAGIC`].
        magic: u32 = FieldPosition::bytes(0, 4);
        flags: u16 = FieldPosition::bytes(4, 2);
        /// Number of the command.
        command: u16 = FieldPosition::bytes(6, 2);
        /// Chosen by the client; its replies have it too.
        cookie: u64 = FieldPosition::bytes(8, 8);
        /// First byte.
        offset: u64 = FieldPosition::bytes(16, 8);
        /// Length, in bytes.
        length: u32 = FieldPosition::bytes(24, 4);
    }
}

layout! {
    /// A request with extended headers.
    pub struct Extended: 32 {
        /// [`Request::EXTENDED_MAGIC`].
        magic: u32 = FieldPosition::bytes(0, 4);
        flags: u16 = FieldPosition::bytes(4, 2);
        /// Number of the command.
        command: u16 = FieldPosition::bytes(6, 2);
        /// Chosen by the client; its replies have it too.
        cookie: u64 = FieldPosition::bytes(8, 8);
        /// First byte.
        offset: u64 = FieldPosition::bytes(16, 8);
        /// Length, in bytes.
        length: u64 = FieldPosition::bytes(24, 8);
    }
}

/// The type of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// `NBD_CMD_READ`.
    Read,
    /// `NBD_CMD_WRITE`; the data follow the header.
    Write,
    /// `NBD_CMD_DISC`: end the connection, without a reply.
    Disconnect,
    /// `NBD_CMD_FLUSH`.
    Flush,
    /// `NBD_CMD_TRIM`: the data are no longer needed.
    Trim,
    /// `NBD_CMD_CACHE`: the data will be read.
    Cache,
    /// `NBD_CMD_WRITE_ZEROES`.
    WriteZeroes,
    /// `NBD_CMD_BLOCK_STATUS`.
    BlockStatus,
    /// A number that the document does not have.
    Other(u16),
}

impl Command {
    /// The named commands, indexed by their numbers.
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::Write,
        Self::Disconnect,
        Self::Flush,
        Self::Trim,
        Self::Cache,
        Self::WriteZeroes,
        Self::BlockStatus,
    ];

    /// Returns the command with this number.
    pub fn from_number(number: u16) -> Self {
        let named = Self::ALL.get(usize::from(number));
        named.copied().unwrap_or(Self::Other(number))
    }

    pub fn number(self) -> u16 {
        match self {
            Self::Read => 0,
            Self::Write => 1,
            Self::Disconnect => 2,
            Self::Flush => 3,
            Self::Trim => 4,
            Self::Cache => 5,
            Self::WriteZeroes => 6,
            Self::BlockStatus => 7,
            Self::Other(number) => number,
        }
    }
}

/// A request; the data of a write follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// [`super::CommandFlags`], with unknown bits.
    pub flags: u16,
    pub command: Command,
    /// Chosen by the client; its replies have it too.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Length in bytes; at most 32 bits without extended headers.
    pub length: u64,
}

/// An error for a message with a wrong magic number, or that is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadMagic;

impl Request {
    /// `NBD_REQUEST_MAGIC`.
    pub const MAGIC: u32 = 0x2560_9513;
    /// `NBD_EXTENDED_REQUEST_MAGIC`.
    pub const EXTENDED_MAGIC: u32 = 0x21e4_1c71;
    /// The length of the longest.
    pub const MAX_LENGTH: usize = Extended::LENGTH;

    /// Returns the length of a request header, in bytes.
    pub const fn header_length(headers: Headers) -> usize {
        match headers {
            Headers::Simple | Headers::Structured => Compact::LENGTH,
            Headers::Extended => Extended::LENGTH,
        }
    }

    /// Parses a request.
    ///
    /// # Errors
    /// If its magic number is wrong or it is too short.
    pub fn parse(headers: Headers, data: &[u8]) -> Result<Self, BadMagic> {
        if headers < Headers::Extended {
            let raw = Compact::parse(data).map_err(|_| BadMagic)?;
            let request = Self {
                flags: raw.flags,
                command: Command::from_number(raw.command),
                cookie: raw.cookie,
                offset: raw.offset,
                length: u64::from(raw.length),
            };
            return (raw.magic == Self::MAGIC)
                .then_some(request)
                .ok_or(BadMagic);
        }
        let raw = Extended::parse(data).map_err(|_| BadMagic)?;
        let request = Self {
            flags: raw.flags,
            command: Command::from_number(raw.command),
            cookie: raw.cookie,
            offset: raw.offset,
            length: raw.length,
        };
        let is_sound = raw.magic == Self::EXTENDED_MAGIC;
        is_sound.then_some(request).ok_or(BadMagic)
    }

    /// Writes it to the beginning of `data`; returns its length.
    ///
    /// # Panics
    /// If the length of the request has more than 32 bits without extended headers, or there is
    /// too little room.
    pub fn emit(&self, headers: Headers, data: &mut [u8]) -> usize {
        let length = Self::header_length(headers);
        let data = &mut data[..length];
        if headers < Headers::Extended {
            assert!(self.length <= u64::from(u32::MAX), "{self:?}");
            let raw = Compact {
                magic: Self::MAGIC,
                flags: self.flags,
                command: self.command.number(),
                cookie: self.cookie,
                offset: self.offset,
                length: self.length as u32,
            };
            data.copy_from_slice(&raw.emit());
        } else {
            let raw = Extended {
                magic: Self::EXTENDED_MAGIC,
                flags: self.flags,
                command: self.command.number(),
                cookie: self.cookie,
                offset: self.offset,
                length: self.length,
            };
            data.copy_from_slice(&raw.emit());
        }
        length
    }
}
