//! Requests (sections "Request message" and "Request types"), and replies (sections "Simple reply
//! message", "Structured reply chunk message" and "Error values").

use alloc::vec::Vec;
use core::fmt;

use crate::layout::{FieldPosition, number, put};

/// The layout of request and reply headers. The options of a connection determine it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Headers {
    /// Simple replies only.
    #[default]
    Simple,
    /// Replies in chunks, after `NBD_OPT_STRUCTURED_REPLY`.
    Structured,
    /// Requests and chunks with lengths of 64 bits, after `NBD_OPT_EXTENDED_HEADERS`.
    Extended,
}

impl Headers {
    const fn is_extended(self) -> bool {
        matches!(self, Self::Extended)
    }
}

/// The longest string, in bytes (section "Conventions").
pub const MAX_STRING: usize = 4096;

/// Returns `text`, shortened to whole characters in at most [`MAX_STRING`] bytes.
pub fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_STRING)]
}

/// Splits off the first 32 bits of `data`.
pub(super) fn first_u32(data: &[u8]) -> Option<(u32, &[u8])> {
    let (first, rest) = data.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*first), rest))
}

/// Splits off the first 16 bits of `data`.
pub(super) fn first_u16(data: &[u8]) -> Option<(u16, &[u8])> {
    let (first, rest) = data.split_first_chunk::<2>()?;
    Some((u16::from_be_bytes(*first), rest))
}

/// Splits off a string that follows its 32-bit length; `None` if it is not valid.
pub(super) fn first_string(data: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = first_u32(data)?;
    let (bytes, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((valid_string(bytes)?, rest))
}

/// Returns `bytes` as a string; `None` if there are too many, they are not UTF-8, or they contain a
/// NUL.
pub(super) fn valid_string(bytes: &[u8]) -> Option<&str> {
    let text = core::str::from_utf8(bytes).ok()?;
    (text.len() <= MAX_STRING && !text.contains('\0')).then_some(text)
}

/// Encodes a string after its length; panics if it is longer than [`MAX_STRING`].
pub(super) fn string(text: &str) -> Vec<u8> {
    let length = text.len() as u32;
    [&length.to_be_bytes(), string_bytes(text)].concat()
}

/// Returns the bytes of a string; panics if it is longer than [`MAX_STRING`].
pub(super) fn string_bytes(text: &str) -> &[u8] {
    assert!(
        text.len() <= MAX_STRING,
        "a string of {} bytes is too long",
        text.len()
    );
    text.as_bytes()
}

layout! {
    /// The options of a request (section "Command flags").
    pub struct CommandFlags: 2 {
        /// `NBD_CMD_FLAG_FUA`: written data are on the medium before the reply.
        force_unit_access: bool = FieldPosition::flag(1, 0);
        /// `NBD_CMD_FLAG_NO_HOLE`: space is allocated for zeroes.
        no_hole: bool = FieldPosition::flag(1, 1);
        /// `NBD_CMD_FLAG_DF`: the data come in one chunk.
        dont_fragment: bool = FieldPosition::flag(1, 2);
        /// `NBD_CMD_FLAG_REQ_ONE`: the reply has one extent.
        one_extent: bool = FieldPosition::flag(1, 3);
        /// `NBD_CMD_FLAG_FAST_ZERO`: the request fails unless it is faster than writing data.
        fast_zero: bool = FieldPosition::flag(1, 4);
        /// `NBD_CMD_FLAG_PAYLOAD_LEN`: the length is that of the data after the header.
        payload: bool = FieldPosition::flag(1, 5);
    }
}

macro_rules! commands {
    ($($(#[$about:meta])* $name:ident = $number:literal,)+) => {
        /// The type of a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Command {
            $($(#[$about])* $name,)+
            /// A number that the document does not define.
            Other(u16),
        }

        impl Command {
            /// The named commands, indexed by their numbers.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            pub fn from_number(number: u16) -> Self {
                match number {
                    $($number => Self::$name,)+
                    other => Self::Other(other),
                }
            }

            pub fn number(self) -> u16 {
                match self {
                    $(Self::$name => $number,)+
                    Self::Other(number) => number,
                }
            }
        }
    };
}

commands! {
    Read = 0,
    /// The data follow the header.
    Write = 1,
    /// Ends the connection, without a reply.
    Disconnect = 2,
    Flush = 3,
    /// The data are no longer needed.
    Trim = 4,
    /// The data will be read.
    Cache = 5,
    WriteZeroes = 6,
    BlockStatus = 7,
}

/// A request; the data of a write follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// [`CommandFlags`], including unknown bits.
    pub flags: u16,
    pub command: Command,
    pub cookie: u64,
    pub offset: u64,
    /// Length in bytes; at most 32 bits without extended headers.
    pub length: u64,
}

/// The error for a message that is too short or has a wrong magic number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadMagic;

/// Returns the header at the front of `data` if it begins with `magic`.
fn header(data: &[u8], length: usize, magic: u32) -> Result<&[u8], BadMagic> {
    let header = data.get(..length).ok_or(BadMagic)?;
    let found = number(&header[..4]);
    (found == u64::from(magic))
        .then_some(header)
        .ok_or(BadMagic)
}

impl Request {
    pub const MAGIC: u32 = 0x2560_9513;
    pub const EXTENDED_MAGIC: u32 = 0x21e4_1c71;
    /// The length of the longest header, in bytes.
    pub const MAX_LENGTH: usize = 32;

    pub const fn header_length(headers: Headers) -> usize {
        if headers.is_extended() { 32 } else { 28 }
    }

    const fn magic(headers: Headers) -> u32 {
        match headers {
            Headers::Extended => Self::EXTENDED_MAGIC,
            _ => Self::MAGIC,
        }
    }

    /// Parses a request; fails if its magic number is wrong or it is too short.
    pub fn parse(headers: Headers, data: &[u8]) -> Result<Self, BadMagic> {
        let header = header(data, Self::header_length(headers), Self::magic(headers))?;
        Ok(Self {
            flags: number(&header[4..6]) as u16,
            command: Command::from_number(number(&header[6..8]) as u16),
            cookie: number(&header[8..16]),
            offset: number(&header[16..24]),
            length: number(&header[24..]),
        })
    }

    /// Writes the header to the beginning of `data`; returns its length.
    /// Panics if the length has more than 32 bits without extended headers.
    pub fn emit(&self, headers: Headers, data: &mut [u8]) -> usize {
        let end = Self::header_length(headers);
        put(&mut data[..4], Self::magic(headers).into());
        put(&mut data[4..6], self.flags.into());
        put(&mut data[6..8], self.command.number().into());
        put(&mut data[8..16], self.cookie);
        put(&mut data[16..24], self.offset);
        put(&mut data[24..end], self.length);
        end
    }
}

macro_rules! errors {
    ($($(#[$about:meta])+ $name:ident = $code:literal, $text:literal;)+) => {
        /// The reason for a failed request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Error { $($(#[$about])+ $name,)+ }

        impl Error {
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Returns the number of the error in replies.
            pub const fn code(self) -> u32 {
                match self { $(Self::$name => $code,)+ }
            }

            /// Returns the error with this number; `None` for zero, which is success. Unknown
            /// numbers are [`Self::Invalid`], as the document requires of clients.
            pub const fn from_code(code: u32) -> Option<Self> {
                match code {
                    0 => None,
                    $($code => Some(Self::$name),)+
                    _ => Some(Self::Invalid),
                }
            }
        }

        impl fmt::Display for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $text,)+ })
            }
        }
    };
}

errors! {
    /// `NBD_EPERM`: a write to a read-only export.
    NotPermitted = 1, "not permitted";
    /// `NBD_EIO`: the device failed.
    Io = 5, "input or output error";
    /// `NBD_ENOMEM`: the server does not have enough memory.
    NoMemory = 12, "out of memory";
    /// `NBD_EINVAL`: an unknown command or flag, or a range that is unaligned or beyond the end.
    Invalid = 22, "invalid request";
    /// `NBD_ENOSPC`: a write beyond the end of the export, or no room in the store.
    NoSpace = 28, "no space left";
    /// `NBD_EOVERFLOW`: the reply does not fit in a chunk.
    Overflow = 75, "reply too long";
    /// `NBD_ENOTSUP`: zeroes cannot be written faster than data.
    NotSupported = 95, "not supported";
    /// `NBD_ESHUTDOWN`: the server is shutting down.
    Shutdown = 108, "server is shutting down";
}

layout! {
    /// The state of an extent in the context `base:allocation`.
    pub struct ExtentFlags: 4 {
        /// `NBD_STATE_HOLE`: takes up no space.
        hole: bool = FieldPosition::flag(3, 0);
        /// `NBD_STATE_ZERO`: reads as zeroes.
        zero: bool = FieldPosition::flag(3, 1);
    }

    /// A simple reply; the data of a read that succeeds follow it.
    pub struct Simple: 16 {
        magic: u32 = FieldPosition::bytes(0, 4);
        /// The number of an [`Error`], or zero.
        error: u32 = FieldPosition::bytes(4, 4);
        cookie: u64 = FieldPosition::bytes(8, 8);
    }
}

impl Simple {
    pub const MAGIC: u32 = 0x6744_6698;
}

/// Chunk types (section "Structured reply types").
pub mod kind {
    /// `NBD_REPLY_TYPE_NONE`: nothing.
    pub const NONE: u16 = 0;
    /// `NBD_REPLY_TYPE_OFFSET_DATA`: the offset in eight bytes, and data.
    pub const DATA: u16 = 1;
    /// `NBD_REPLY_TYPE_BLOCK_STATUS`: a context in four bytes, then [`super::Extent`]s.
    pub const STATUS: u16 = 5;
    /// `NBD_REPLY_TYPE_BLOCK_STATUS_EXT`: context and count (4 bytes each), [`super::LongExtent`]s.
    pub const STATUS_EXTENDED: u16 = 6;
    /// `NBD_REPLY_TYPE_ERROR`: [`super::Failure`].
    pub const ERROR: u16 = 0x8001;
}

/// The header of a chunk; its data follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// `NBD_REPLY_FLAG_DONE`: the last chunk of the reply.
    pub is_last: bool,
    pub kind: u16,
    pub cookie: u64,
    /// The offset of the request; zero without extended headers.
    pub offset: u64,
    /// Number of bytes that follow; at most 32 bits without extended headers.
    pub length: u64,
}

impl Chunk {
    pub const MAGIC: u32 = 0x668e_33ef;
    pub const EXTENDED_MAGIC: u32 = 0x6e8a_278c;

    pub const fn header_length(headers: Headers) -> usize {
        if headers.is_extended() { 32 } else { 20 }
    }

    const fn magic(headers: Headers) -> u32 {
        match headers {
            Headers::Extended => Self::EXTENDED_MAGIC,
            _ => Self::MAGIC,
        }
    }

    /// Parses a header; fails if its magic number is wrong or it is too short.
    pub fn parse(headers: Headers, data: &[u8]) -> Result<Self, BadMagic> {
        let header = header(data, Self::header_length(headers), Self::magic(headers))?;
        // Extended headers have the offset before the length.
        let split = if headers.is_extended() { 8 } else { 0 };
        let (offset, length) = header[16..].split_at(split);
        Ok(Self {
            is_last: header[5] & 0x01 != 0,
            kind: number(&header[6..8]) as u16,
            cookie: number(&header[8..16]),
            offset: number(offset),
            length: number(length),
        })
    }

    /// Writes the header to the beginning of `data`; returns its length.
    /// Panics if the length has more than 32 bits without extended headers.
    pub fn emit(&self, headers: Headers, data: &mut [u8]) -> usize {
        let end = Self::header_length(headers);
        put(&mut data[..4], Self::magic(headers).into());
        put(&mut data[4..6], self.is_last.into());
        put(&mut data[6..8], self.kind.into());
        put(&mut data[8..16], self.cookie);
        if headers < Headers::Extended {
            put(&mut data[16..end], self.length);
        } else {
            put(&mut data[16..24], self.offset);
            put(&mut data[24..end], self.length);
        }
        end
    }
}

layout! {
    /// The state of consecutive blocks.
    pub struct Extent: 8 {
        length: u32 = FieldPosition::bytes(0, 4);
        /// In the context `base:allocation`, [`ExtentFlags`].
        flags: u32 = FieldPosition::bytes(4, 4);
    }

    /// The state of consecutive blocks, with extended headers.
    pub struct LongExtent: 16 {
        length: u64 = FieldPosition::bytes(0, 8);
        /// In the context `base:allocation`, [`ExtentFlags`].
        flags: u64 = FieldPosition::bytes(8, 8);
    }
}

/// The reason for a failed request, with a human-readable message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure<'a> {
    pub error: Error,
    pub message: &'a str,
}

impl<'a> Failure<'a> {
    /// Parses a failure, and returns it with the rest of the data; `None` if it is not valid.
    pub fn parse(data: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (code, rest) = first_u32(data)?;
        let (length, rest) = first_u16(rest)?;
        let (message, rest) = rest.split_at_checked(length.into())?;
        let (error, message) = (Error::from_code(code)?, valid_string(message)?);
        Some((Self { error, message }, rest))
    }

    /// Encodes the failure; panics if the message is too long.
    pub fn emit(&self) -> Vec<u8> {
        let message = string_bytes(self.message);
        let length = message.len() as u16;
        let code = self.error.code();
        [&code.to_be_bytes()[..], &length.to_be_bytes(), message].concat()
    }
}
