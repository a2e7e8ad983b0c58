//! Fields of flags.

use crate::layout::FieldPosition;

layout! {
    /// The capabilities of an export (section "Transmission flags").
    pub struct TransmissionFlags: 2 {
        /// `NBD_FLAG_HAS_FLAGS`: always set.
        has_flags: bool = FieldPosition::flag(1, 0);
        /// `NBD_FLAG_READ_ONLY`.
        read_only: bool = FieldPosition::flag(1, 1);
        /// `NBD_FLAG_SEND_FLUSH`: takes flushes.
        flush: bool = FieldPosition::flag(1, 2);
        /// `NBD_FLAG_SEND_FUA`: takes writes that complete on the medium.
        force_unit_access: bool = FieldPosition::flag(1, 3);
        /// `NBD_FLAG_ROTATIONAL`: has a rotating medium.
        rotational: bool = FieldPosition::flag(1, 4);
        /// `NBD_FLAG_SEND_TRIM`: takes trims.
        trim: bool = FieldPosition::flag(1, 5);
        /// `NBD_FLAG_SEND_WRITE_ZEROES`: takes writes of zeroes.
        write_zeroes: bool = FieldPosition::flag(1, 6);
        /// `NBD_FLAG_SEND_DF`: can answer reads in one chunk.
        dont_fragment: bool = FieldPosition::flag(1, 7);
        /// `NBD_FLAG_CAN_MULTI_CONN`: a flush holds for all connections.
        multi_conn: bool = FieldPosition::flag(0, 0);
        /// `NBD_FLAG_SEND_RESIZE`.
        resize: bool = FieldPosition::flag(0, 1);
        /// `NBD_FLAG_SEND_CACHE`: takes requests to read ahead.
        cache: bool = FieldPosition::flag(0, 2);
        /// `NBD_FLAG_SEND_FAST_ZERO`: refuses to write zeroes where that is not faster than data.
        fast_zero: bool = FieldPosition::flag(0, 3);
        /// `NBD_FLAG_BLOCK_STATUS_PAYLOAD`: requests for block status may name contexts.
        status_payload: bool = FieldPosition::flag(0, 4);
    }
}

layout! {
    /// The options of a request (section "Command flags").
    pub struct CommandFlags: 2 {
        /// `NBD_CMD_FLAG_FUA`: what it writes is on the medium before the reply.
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
    /// The state of an extent in the context `base:allocation`.
    pub struct ExtentFlags: 4 {
        /// `NBD_STATE_HOLE`: takes up no space.
        hole: bool = FieldPosition::flag(3, 0);
        /// `NBD_STATE_ZERO`: reads as zeroes.
        zero: bool = FieldPosition::flag(3, 1);
    }
}
