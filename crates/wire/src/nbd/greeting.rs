//! The first messages of a connection (section "Newstyle negotiation").

use crate::layout::FieldPosition;

layout! {
    /// The first message of the server.
    pub struct Greeting: 18 {
        /// [`Self::PASSWORD`].
        password: u64 = FieldPosition::bytes(0, 8);
        /// [`Self::MAGIC`].
        magic: u64 = FieldPosition::bytes(8, 8);
        /// `NBD_FLAG_FIXED_NEWSTYLE`: the server answers every option.
        fixed_newstyle: bool = FieldPosition::flag(17, 0);
        /// `NBD_FLAG_NO_ZEROES`: the server can leave out the zeroes of [`ExportReply`].
        no_zeroes: bool = FieldPosition::flag(17, 1);
    }
}

impl Greeting {
    /// `INIT_PASSWD`, the characters "NBDMAGIC".
    pub const PASSWORD: u64 = 0x4e42_444d_4147_4943;
    /// The characters "IHAVEOPT", with which each option begins too.
    pub const MAGIC: u64 = 0x4948_4156_454f_5054;
}

layout! {
    /// The client's answer.
    pub struct ClientFlags: 4 {
        /// `NBD_FLAG_C_FIXED_NEWSTYLE`: the client expects an answer to every option.
        fixed_newstyle: bool = FieldPosition::flag(3, 0);
        /// `NBD_FLAG_C_NO_ZEROES`: the client expects no zeroes after [`ExportReply`].
        no_zeroes: bool = FieldPosition::flag(3, 1);
    }
}

layout! {
    /// The answer to `NBD_OPT_EXPORT_NAME`; [`Self::ZEROES`] follow, unless both sides left them
    /// out.
    pub struct ExportReply: 10 {
        /// Size of the export, in bytes.
        size: u64 = FieldPosition::bytes(0, 8);
        flags: u16 = FieldPosition::bytes(8, 2);
    }
}

impl ExportReply {
    /// Number of zeroes that follow it.
    pub const ZEROES: usize = 124;
}
