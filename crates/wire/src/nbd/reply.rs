//! Replies (sections "Simple reply message" and "Structured reply chunk message"), and their errors
//! (section "Error values").

use core::fmt;

use super::field::{Headers, MAX_STRING, first_text, first_u16, first_u32, put_all};
use super::request::BadMagic;
use crate::layout::FieldPosition;

macro_rules! errors {
    ($($(#[$about:meta])+ $name:ident = $code:literal, $text:literal;)+) => {
        /// The reason for a failed request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Error { $($(#[$about])+ $name,)+ }

        impl Error {
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Returns its number in replies.
            pub const fn code(self) -> u32 {
                match self { $(Self::$name => $code,)+ }
            }

            /// Returns the error with this number; unexpected ones are [`Self::Invalid`], as the
            /// document requires of clients. `None` for zero, which is success.
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
    /// `NBD_ENOMEM`.
    NoMemory = 12, "out of memory";
    /// `NBD_EINVAL`: an unknown command or flag, or a range that is not aligned or ends beyond the
    /// export.
    Invalid = 22, "invalid request";
    /// `NBD_ENOSPC`: a write beyond the end of the export, or no room in the store.
    NoSpace = 28, "no space left";
    /// `NBD_EOVERFLOW`: the reply does not fit a chunk.
    Overflow = 75, "reply too long";
    /// `NBD_ENOTSUP`: zeroes cannot be written faster than data.
    NotSupported = 95, "not supported";
    /// `NBD_ESHUTDOWN`: the server is ending.
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
}

layout! {
    /// A simple reply; the data of a read that succeeds follow it.
    pub struct Simple: 16 {
        /// [`Self::MAGIC`].
        magic: u32 = FieldPosition::bytes(0, 4);
        /// The number of an [`Error`], or zero.
        error: u32 = FieldPosition::bytes(4, 4);
        /// The value in the request.
        cookie: u64 = FieldPosition::bytes(8, 8);
    }
}

impl Simple {
    /// `NBD_SIMPLE_REPLY_MAGIC`.
    pub const MAGIC: u32 = 0x6744_6698;
}

layout! {
    /// The header of a chunk before extended headers.
    pub struct Structured: 20 {
        /// [`Chunk::MAGIC`].
        magic: u32 = FieldPosition::bytes(0, 4);
        /// `NBD_REPLY_FLAG_DONE`: the last chunk of the reply.
        is_last: bool = FieldPosition::flag(5, 0);
        /// A number of [`kind`].
        kind: u16 = FieldPosition::bytes(6, 2);
        /// The value in the request.
        cookie: u64 = FieldPosition::bytes(8, 8);
        /// Number of bytes that follow.
        length: u32 = FieldPosition::bytes(16, 4);
    }
}

layout! {
    /// The header of a chunk with extended headers.
    pub struct Extended: 32 {
        /// [`Chunk::EXTENDED_MAGIC`].
        magic: u32 = FieldPosition::bytes(0, 4);
        /// `NBD_REPLY_FLAG_DONE`: the last chunk of the reply.
        is_last: bool = FieldPosition::flag(5, 0);
        /// A number of [`kind`].
        kind: u16 = FieldPosition::bytes(6, 2);
        /// The value in the request.
        cookie: u64 = FieldPosition::bytes(8, 8);
        /// The value in the request.
        offset: u64 = FieldPosition::bytes(16, 8);
        /// Number of bytes that follow.
        length: u64 = FieldPosition::bytes(24, 8);
    }
}

/// Numbers of the contents of chunks (section "Structured reply types").
pub mod kind {
    /// `NBD_REPLY_TYPE_NONE`: nothing.
    pub const NONE: u16 = 0;
    /// `NBD_REPLY_TYPE_OFFSET_DATA`: the offset in eight bytes, and data.
    pub const DATA: u16 = 1;
    /// `NBD_REPLY_TYPE_OFFSET_HOLE`: [`super::Hole`].
    pub const HOLE: u16 = 2;
    /// `NBD_REPLY_TYPE_BLOCK_STATUS`: a context in four bytes, and each [`super::Extent`].
    pub const STATUS: u16 = 5;
    /// `NBD_REPLY_TYPE_BLOCK_STATUS_EXT`: a context and the number of extents in four bytes each,
    /// and each [`super::LongExtent`].
    pub const STATUS_EXTENDED: u16 = 6;
    /// `NBD_REPLY_TYPE_ERROR`: [`super::Failure`].
    pub const ERROR: u16 = 0x8001;
    /// `NBD_REPLY_TYPE_ERROR_OFFSET`: the same, and the offset of the error in eight bytes.
    pub const ERROR_OFFSET: u16 = 0x8002;
    /// Set in the numbers of all errors.
    pub const IS_ERROR: u16 = 0x8000;
}

/// The header of a chunk; its data follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// True for the last chunk of the reply.
    pub is_last: bool,
    /// A number of [`kind`].
    pub kind: u16,
    /// The value in the request.
    pub cookie: u64,
    /// The value in the request; zero without extended headers, which do not have it.
    pub offset: u64,
    /// Number of bytes that follow; at most 32 bits without extended headers.
    pub length: u64,
}

impl Chunk {
    /// `NBD_STRUCTURED_REPLY_MAGIC`.
    pub const MAGIC: u32 = 0x668e_33ef;
    /// `NBD_EXTENDED_REPLY_MAGIC`.
    pub const EXTENDED_MAGIC: u32 = 0x6e8a_278c;

    /// Returns the length of a header, in bytes.
    pub const fn header_length(headers: Headers) -> usize {
        match headers {
            Headers::Simple | Headers::Structured => Structured::LENGTH,
            Headers::Extended => Extended::LENGTH,
        }
    }

    /// Parses a header.
    ///
    /// # Errors
    /// If its magic number is wrong or it is too short.
    pub fn parse(headers: Headers, data: &[u8]) -> Result<Self, BadMagic> {
        if headers < Headers::Extended {
            let raw = Structured::parse(data).map_err(|_| BadMagic)?;
            let chunk = Self {
                is_last: raw.is_last,
                kind: raw.kind,
                cookie: raw.cookie,
                offset: 0,
                length: u64::from(raw.length),
            };
            return (raw.magic == Self::MAGIC).then_some(chunk).ok_or(BadMagic);
        }
        let raw = Extended::parse(data).map_err(|_| BadMagic)?;
        let chunk = Self {
            is_last: raw.is_last,
            kind: raw.kind,
            cookie: raw.cookie,
            offset: raw.offset,
            length: raw.length,
        };
        let is_sound = raw.magic == Self::EXTENDED_MAGIC;
        is_sound.then_some(chunk).ok_or(BadMagic)
    }

    /// Writes it to the beginning of `data`; returns its length.
    ///
    /// # Panics
    /// If its length has more than 32 bits without extended headers, or there is too little room.
    pub fn emit(&self, headers: Headers, data: &mut [u8]) -> usize {
        let length = Self::header_length(headers);
        let data = &mut data[..length];
        if headers < Headers::Extended {
            assert!(self.length <= u64::from(u32::MAX), "{self:?}");
            let raw = Structured {
                magic: Self::MAGIC,
                is_last: self.is_last,
                kind: self.kind,
                cookie: self.cookie,
                length: self.length as u32,
            };
            data.copy_from_slice(&raw.emit());
        } else {
            let raw = Extended {
                magic: Self::EXTENDED_MAGIC,
                is_last: self.is_last,
                kind: self.kind,
                cookie: self.cookie,
                offset: self.offset,
                length: self.length,
            };
            data.copy_from_slice(&raw.emit());
        }
        length
    }
}

layout! {
    /// Blocks that read as zeroes.
    pub struct Hole: 12 {
        /// First byte.
        offset: u64 = FieldPosition::bytes(0, 8);
        /// Length, in bytes.
        size: u32 = FieldPosition::bytes(8, 4);
    }
}

layout! {
    /// The state of consecutive blocks.
    pub struct Extent: 8 {
        /// Length, in bytes.
        length: u32 = FieldPosition::bytes(0, 4);
        /// In the context `base:allocation`, [`ExtentFlags`].
        flags: u32 = FieldPosition::bytes(4, 4);
    }
}

layout! {
    /// The state of consecutive blocks, with extended headers.
    pub struct LongExtent: 16 {
        /// Length, in bytes.
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
    /// Parses it, and returns the rest of the data; `None` if it is not valid.
    pub fn parse(data: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (code, rest) = first_u32(data)?;
        let (length, rest) = first_u16(rest)?;
        let (message, rest) = first_text(rest, u32::from(length))?;
        let error = Error::from_code(code)?;
        Some((Self { error, message }, rest))
    }

    /// Writes it to the beginning of `data`; returns its length.
    ///
    /// # Panics
    /// If the message is too long, or there is too little room.
    pub fn emit(&self, data: &mut [u8]) -> usize {
        let length = self.message.len();
        assert!(length <= MAX_STRING, "a message of {length} bytes");
        let code = self.error.code().to_be_bytes();
        let length = (length as u16).to_be_bytes();
        put_all(data, &[&code, &length, self.message.as_bytes()])
    }
}
