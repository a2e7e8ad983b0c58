//! The negotiation at the start of a connection (section "Newstyle negotiation"): greetings, and
//! the options by which a client chooses an export and features (section "Option types").

use alloc::vec::Vec;

use super::message::{first_string, first_u16, first_u32, string, string_bytes, valid_string};
use crate::layout::FieldPosition;

layout! {
    /// The first message of the server.
    pub struct Greeting: 18 {
        password: u64 = FieldPosition::bytes(0, 8);
        magic: u64 = FieldPosition::bytes(8, 8);
        /// `NBD_FLAG_FIXED_NEWSTYLE`: the server answers every option.
        fixed_newstyle: bool = FieldPosition::flag(17, 0);
        /// `NBD_FLAG_NO_ZEROES`: the server can leave out the zeroes after [`ExportReply`].
        no_zeroes: bool = FieldPosition::flag(17, 1);
    }
}

impl Greeting {
    /// `INIT_PASSWD`, the characters "NBDMAGIC".
    pub const PASSWORD: u64 = 0x4e42_444d_4147_4943;
    /// The characters "IHAVEOPT", with which each option also begins.
    pub const MAGIC: u64 = 0x4948_4156_454f_5054;
}

layout! {
    /// The client's answer to the greeting.
    pub struct ClientFlags: 4 {
        /// `NBD_FLAG_C_FIXED_NEWSTYLE`: the client expects an answer to every option.
        fixed_newstyle: bool = FieldPosition::flag(3, 0);
        /// `NBD_FLAG_C_NO_ZEROES`: the client expects no zeroes after [`ExportReply`].
        no_zeroes: bool = FieldPosition::flag(3, 1);
    }

    /// The answer to `NBD_OPT_EXPORT_NAME`. Zeroes follow unless both sides omit them.
    pub struct ExportReply: 10 {
        size: u64 = FieldPosition::bytes(0, 8);
        flags: u16 = FieldPosition::bytes(8, 2);
    }
}

impl ExportReply {
    /// Number of zeroes that follow this reply.
    pub const ZEROES: usize = 124;
}

layout! {
    /// The capabilities of an export (section "Transmission flags").
    pub struct TransmissionFlags: 2 {
        /// `NBD_FLAG_HAS_FLAGS`: always set.
        has_flags: bool = FieldPosition::flag(1, 0);
        read_only: bool = FieldPosition::flag(1, 1);
        /// `NBD_FLAG_SEND_FLUSH`: supports flushes.
        flush: bool = FieldPosition::flag(1, 2);
        /// `NBD_FLAG_SEND_FUA`: supports writes that complete on the medium.
        force_unit_access: bool = FieldPosition::flag(1, 3);
        /// `NBD_FLAG_ROTATIONAL`: has a rotating medium.
        rotational: bool = FieldPosition::flag(1, 4);
        /// `NBD_FLAG_SEND_TRIM`: supports trims.
        trim: bool = FieldPosition::flag(1, 5);
        /// `NBD_FLAG_SEND_WRITE_ZEROES`: supports writes of zeroes.
        write_zeroes: bool = FieldPosition::flag(1, 6);
        /// `NBD_FLAG_SEND_DF`: can answer reads in one chunk.
        dont_fragment: bool = FieldPosition::flag(1, 7);
        /// `NBD_FLAG_CAN_MULTI_CONN`: a flush applies to all connections.
        multi_conn: bool = FieldPosition::flag(0, 0);
        resize: bool = FieldPosition::flag(0, 1);
        /// `NBD_FLAG_SEND_CACHE`: supports requests to read ahead.
        cache: bool = FieldPosition::flag(0, 2);
        /// `NBD_FLAG_SEND_FAST_ZERO`: can refuse to write zeroes unless that is faster than data.
        fast_zero: bool = FieldPosition::flag(0, 3);
        /// `NBD_FLAG_BLOCK_STATUS_PAYLOAD`: requests for block status may name contexts.
        status_payload: bool = FieldPosition::flag(0, 4);
    }
}

pub mod code {
    /// `NBD_OPT_EXPORT_NAME`: choose an export; not answered if it does not exist.
    pub const EXPORT_NAME: u32 = 1;
    /// `NBD_OPT_ABORT`: end the connection.
    pub const ABORT: u32 = 2;
    /// `NBD_OPT_LIST`: list the exports.
    pub const LIST: u32 = 3;
    /// `NBD_OPT_STARTTLS`: encrypt what follows.
    pub const START_TLS: u32 = 5;
    /// `NBD_OPT_INFO`: request the properties of an export.
    pub const INFO: u32 = 6;
    /// `NBD_OPT_GO`: request the properties of an export and choose it.
    pub const GO: u32 = 7;
    /// `NBD_OPT_STRUCTURED_REPLY`: reply in chunks.
    pub const STRUCTURED_REPLY: u32 = 8;
    /// `NBD_OPT_LIST_META_CONTEXT`: list the kinds of block status.
    pub const LIST_CONTEXTS: u32 = 9;
    /// `NBD_OPT_SET_META_CONTEXT`: choose some kinds of block status.
    pub const SET_CONTEXTS: u32 = 10;
    /// `NBD_OPT_EXTENDED_HEADERS`: lengths have 64 bits.
    pub const EXTENDED_HEADERS: u32 = 11;
}

pub mod answer {
    /// `NBD_REP_ACK`: done; the last reply to an option that succeeds.
    pub const ACK: u32 = 1;
    /// `NBD_REP_SERVER`: an export of the list, [`super::ListedExport`].
    pub const SERVER: u32 = 2;
    /// `NBD_REP_INFO`: a property of an export, after a 16-bit constant from [`super::info`].
    pub const INFO: u32 = 3;
    /// `NBD_REP_META_CONTEXT`: a context, [`super::Context`].
    pub const CONTEXT: u32 = 4;
    /// `NBD_REP_ERR_UNSUP`: the server does not know the option.
    pub const UNSUPPORTED: u32 = 0x8000_0001;
    /// `NBD_REP_ERR_POLICY`: the server does not allow the option.
    pub const POLICY: u32 = 0x8000_0002;
    /// `NBD_REP_ERR_INVALID`: the data are invalid, or the option comes at the wrong time.
    pub const INVALID: u32 = 0x8000_0003;
    /// `NBD_REP_ERR_TLS_REQD`: the option requires an encrypted connection.
    pub const TLS_REQUIRED: u32 = 0x8000_0005;
    /// `NBD_REP_ERR_UNKNOWN`: the export does not exist.
    pub const UNKNOWN: u32 = 0x8000_0006;
    /// `NBD_REP_ERR_TOO_BIG`: the option data are too long.
    pub const TOO_BIG: u32 = 0x8000_0009;
    /// `NBD_REP_ERR_EXT_HEADER_REQD`: the option requires or excludes extended headers.
    pub const EXTENDED_HEADERS: u32 = 0x8000_000a;
    /// Set in the numbers of all errors.
    pub const ERROR: u32 = 0x8000_0000;
}

pub mod info {
    /// `NBD_INFO_EXPORT`: [`super::ExportInfo`].
    pub const EXPORT: u16 = 0;
    /// `NBD_INFO_NAME`: the name of the export.
    pub const NAME: u16 = 1;
    /// `NBD_INFO_DESCRIPTION`: the description of the export.
    pub const DESCRIPTION: u16 = 2;
    /// `NBD_INFO_BLOCK_SIZE`: [`super::BlockSizes`].
    pub const BLOCK_SIZE: u16 = 3;
}

layout! {
    /// The header of an option; `length` bytes of data follow.
    pub struct OptionHeader: 16 {
        magic: u64 = FieldPosition::bytes(0, 8);
        /// A constant from [`code`].
        option: u32 = FieldPosition::bytes(8, 4);
        length: u32 = FieldPosition::bytes(12, 4);
    }

    /// The header of a reply to an option; `length` bytes of data follow.
    pub struct AnswerHeader: 20 {
        magic: u64 = FieldPosition::bytes(0, 8);
        option: u32 = FieldPosition::bytes(8, 4);
        /// A constant from [`answer`].
        answer: u32 = FieldPosition::bytes(12, 4);
        length: u32 = FieldPosition::bytes(16, 4);
    }
}

impl AnswerHeader {
    /// The magic number at the start of each reply.
    pub const MAGIC: u64 = 0x0003_e889_0455_65a9;
}

layout! {
    /// Size and capabilities of an export.
    pub struct ExportInfo: 12 {
        info: u16 = FieldPosition::bytes(0, 2);
        size: u64 = FieldPosition::bytes(2, 8);
        flags: u16 = FieldPosition::bytes(10, 2);
    }

    /// The sizes of requests that an export accepts (section "Size constraints").
    pub struct BlockSizes: 14 {
        info: u16 = FieldPosition::bytes(0, 2);
        /// Offsets and lengths are multiples of this, in bytes.
        minimum: u32 = FieldPosition::bytes(2, 4);
        /// The minimum size that is efficient.
        preferred: u32 = FieldPosition::bytes(6, 4);
        /// Maximum length of the data of a request or reply.
        maximum: u32 = FieldPosition::bytes(10, 4);
    }
}

/// The data of `NBD_OPT_INFO` and `NBD_OPT_GO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice<'a> {
    pub name: &'a str,
    /// Constants from [`info`], of two bytes each.
    wanted: &'a [u8],
}

impl<'a> Choice<'a> {
    pub fn parse(data: &'a [u8]) -> Option<Self> {
        let (name, rest) = first_string(data)?;
        let (count, wanted) = first_u16(rest)?;
        (wanted.len() == 2 * usize::from(count)).then_some(Self { name, wanted })
    }

    /// Returns the numbers of the requested properties.
    pub fn wanted(&self) -> impl Iterator<Item = u16> + use<'a> {
        let pairs = self.wanted.chunks_exact(2);
        pairs.map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
    }

    /// Encodes the data that choose `name` and request the properties `wanted`.
    /// Panics if the name is too long.
    pub fn emit(name: &str, wanted: &[u16]) -> Vec<u8> {
        let mut data = string(name);
        data.extend((wanted.len() as u16).to_be_bytes());
        data.extend(wanted.iter().flat_map(|info| info.to_be_bytes()));
        data
    }
}

/// The data of `NBD_OPT_LIST_META_CONTEXT` and `NBD_OPT_SET_META_CONTEXT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queries<'a> {
    pub name: &'a str,
    pub count: u32,
    queries: &'a [u8],
}

impl<'a> Queries<'a> {
    pub fn parse(data: &'a [u8]) -> Option<Self> {
        let (name, rest) = first_string(data)?;
        let (count, queries) = first_u32(rest)?;
        let mut left = queries;
        for _ in 0..count {
            left = first_string(left)?.1;
        }
        left.is_empty().then_some(Self {
            name,
            count,
            queries,
        })
    }

    /// Returns the queries, such as `base:allocation`.
    pub fn queries(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let mut left = self.queries;
        core::iter::from_fn(move || {
            let (query, rest) = first_string(left)?;
            left = rest;
            Some(query)
        })
    }

    /// Encodes the data that request `queries` of the export `name`; panics if one is too long.
    pub fn emit(name: &str, queries: &[&str]) -> Vec<u8> {
        let mut data = string(name);
        data.extend((queries.len() as u32).to_be_bytes());
        data.extend(queries.iter().flat_map(|query| string(query)));
        data
    }
}

/// The data of `NBD_REP_SERVER`: an export of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedExport<'a> {
    pub name: &'a str,
    pub description: &'a str,
}

impl<'a> ListedExport<'a> {
    pub fn parse(data: &'a [u8]) -> Option<Self> {
        let (name, rest) = first_string(data)?;
        let description = valid_string(rest)?;
        Some(Self { name, description })
    }

    /// Encodes the export; panics if a string is too long.
    pub fn emit(&self) -> Vec<u8> {
        [&string(self.name), string_bytes(self.description)].concat()
    }
}

/// The data of `NBD_REP_META_CONTEXT`: a kind of block status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context<'a> {
    /// The number of the context in replies.
    pub id: u32,
    pub name: &'a str,
}

impl<'a> Context<'a> {
    /// The name of the context that reports holes and zeroes, [`super::ExtentFlags`].
    pub const ALLOCATION: &'static str = "base:allocation";

    pub fn parse(data: &'a [u8]) -> Option<Self> {
        let (id, rest) = first_u32(data)?;
        let name = valid_string(rest)?;
        Some(Self { id, name })
    }

    /// Encodes the context; panics if the name is too long.
    pub fn emit(&self) -> Vec<u8> {
        [&self.id.to_be_bytes(), string_bytes(self.name)].concat()
    }
}
