//! Mode parameters (SPC-4, SBC-3 and SCSI-2 under "mode parameters"; worthington96 table 2).

use alloc::vec;
use alloc::vec::Vec;

use crate::layout::{FieldPosition, Short, number, put};

layout! {
    /// Header of MODE SENSE(6) and MODE SELECT(6).
    pub struct Header6: 4 {
        /// Number of bytes after this one; reserved in MODE SELECT.
        data_length: u8 = FieldPosition::bytes(0, 1);
        medium_type: u8 = FieldPosition::bytes(1, 1);
        write_protected: bool = FieldPosition::flag(2, 7);
        dpo_fua: bool = FieldPosition::flag(2, 4);
        descriptors_length: u8 = FieldPosition::bytes(3, 1);
    }

    /// Header of MODE SENSE(10) and MODE SELECT(10).
    pub struct Header10: 8 {
        /// Number of bytes after this field; reserved in MODE SELECT.
        data_length: u16 = FieldPosition::bytes(0, 2);
        medium_type: u8 = FieldPosition::bytes(2, 1);
        write_protected: bool = FieldPosition::flag(3, 7);
        dpo_fua: bool = FieldPosition::flag(3, 4);
        /// Block descriptors are [`LongDescriptor`]s.
        long_addresses: bool = FieldPosition::flag(4, 0);
        descriptors_length: u16 = FieldPosition::bytes(6, 2);
    }

    /// Short block descriptor (SBC-3).
    pub struct ShortDescriptor: 8 {
        /// Number of blocks; all ones if it does not fit.
        blocks: u32 = FieldPosition::bytes(0, 4);
        block_bytes: u32 = FieldPosition::bytes(5, 3);
    }

    /// Long block descriptor (SBC-3).
    pub struct LongDescriptor: 16 {
        blocks: u64 = FieldPosition::bytes(0, 8);
        block_bytes: u32 = FieldPosition::bytes(12, 4);
    }
}

/// A page in a list of mode parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<'a> {
    /// The page can be saved (MODE SENSE).
    pub saveable: bool,
    pub code: u8,
    /// The subpage code, if the page has the long header.
    pub subpage: Option<u8>,
    pub content: &'a [u8],
}

impl<'a> Page<'a> {
    /// Parses the page at the front of `data`; returns it with the rest of the data.
    /// Fails if the page is cut off.
    pub fn parse(data: &'a [u8]) -> Result<(Self, &'a [u8]), Short> {
        let first = *data.first().ok_or(Short { expected: 2 })?;
        let long = first & 0x40 != 0;
        let header = if long { 4 } else { 2 };
        let (front, rest) = data
            .split_at_checked(header)
            .ok_or(Short { expected: header })?;
        let length = number(&front[header / 2..]) as usize;
        let (content, rest) = rest.split_at_checked(length).ok_or(Short {
            expected: header + length,
        })?;
        let page = Self {
            saveable: first & 0x80 != 0,
            code: first & 0x3f,
            subpage: long.then(|| front[1]),
            content,
        };
        Ok((page, rest))
    }

    /// Encodes the page; panics if the content is too long for the header.
    pub fn emit(&self) -> Vec<u8> {
        assert!(self.code < 0x40, "a page code has six bits");
        let flags = u8::from(self.saveable) << 7 | u8::from(self.subpage.is_some()) << 6;
        let mut data = match self.subpage {
            None => vec![flags | self.code, 0],
            Some(subpage) => vec![flags | self.code, subpage, 0, 0],
        };
        let header = data.len();
        put(&mut data[header / 2..], self.content.len() as u64);
        data.extend(self.content);
        data
    }
}

/// Declares the content of mode pages. As in the standards, bytes are counted from the header.
macro_rules! pages {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident: $code:literal, $length:literal { $($fields:tt)+ }
    )+) => {$(
        layout! {
            $(#[$meta])*
            pub struct $name: $length { $($fields)+ }
        }

        impl $name {
            pub const CODE: u8 = $code;
        }
    )+};
}

/// Field positions in a page, counted from its header.
const fn flag(byte: usize, bit: u8) -> FieldPosition {
    FieldPosition::flag(byte - 2, bit)
}

const fn bits(byte: usize, high: u8, low: u8) -> FieldPosition {
    FieldPosition::bits(byte - 2, high, low)
}

const fn bytes(byte: usize, count: usize) -> FieldPosition {
    FieldPosition::bytes(byte - 2, count)
}

pages! {
    pub struct ErrorRecovery: 0x01, 10 {
        /// AWRE: reallocate blocks that cannot be written.
        reallocate_writes: bool = flag(2, 7);
        /// ARRE: reallocate blocks that were hard to read.
        reallocate_reads: bool = flag(2, 6);
        /// TB: transfer a block that cannot be read.
        transfer_block: bool = flag(2, 5);
        /// RC: no pauses for recovery.
        read_continuous: bool = flag(2, 4);
        /// EER: the quickest recovery first.
        early_recovery: bool = flag(2, 3);
        /// PER: report recovered errors.
        post_error: bool = flag(2, 2);
        /// DTE: stop at a recovered error.
        disable_transfer: bool = flag(2, 1);
        /// DCR: no correction codes.
        disable_correction: bool = flag(2, 0);
        read_retries: u8 = bytes(3, 1);
        write_retries: u8 = bytes(8, 1);
        /// In ms; 0 for the drive's default.
        recovery_time_limit_ms: u16 = bytes(10, 2);
    }

    pub struct Disconnect: 0x02, 14 {
        /// Fill level of the buffer at which a read reconnects, in units of 1/256.
        buffer_full_ratio: u8 = bytes(2, 1);
        /// Free part of the buffer at which a write reconnects, in units of 1/256.
        buffer_empty_ratio: u8 = bytes(3, 1);
        /// In units of 100 us.
        bus_inactivity_limit: u16 = bytes(4, 2);
        /// In units of 100 us.
        disconnect_time_limit: u16 = bytes(6, 2);
        /// In units of 100 us.
        connect_time_limit: u16 = bytes(8, 2);
        /// In units of 512 bytes.
        maximum_burst: u16 = bytes(10, 2);
        /// DTDC: no disconnection once the data transfer has started.
        data_transfer_disconnect: u8 = bits(12, 1, 0);
    }

    /// Format device. "Zone" here is a region of the sparing scheme.
    pub struct FormatDevice: 0x03, 22 {
        tracks_per_zone: u16 = bytes(2, 2);
        spare_sectors_per_zone: u16 = bytes(4, 2);
        spare_tracks_per_zone: u16 = bytes(6, 2);
        spare_tracks: u16 = bytes(8, 2);
        sectors_per_track: u16 = bytes(10, 2);
        sector_bytes: u16 = bytes(12, 2);
        /// Interleave; 1 for none.
        interleave: u16 = bytes(14, 2);
        /// Sectors from the end of a track to the start of the next.
        track_skew: u16 = bytes(16, 2);
        /// Sectors from the end of a cylinder to the start of the next.
        cylinder_skew: u16 = bytes(18, 2);
        soft_sectors: bool = flag(20, 7);
        hard_sectors: bool = flag(20, 6);
        /// RMB: the medium can be removed.
        removable: bool = flag(20, 5);
        /// SURF: blocks fill a surface before the next one.
        by_surface: bool = flag(20, 4);
    }

    pub struct Geometry: 0x04, 22 {
        cylinders: u32 = bytes(2, 3);
        heads: u8 = bytes(5, 1);
        landing_zone: u32 = bytes(14, 3);
        /// RPL: spindle synchronisation.
        position_locking: u8 = bits(17, 1, 0);
        /// In units of 1/256 of a revolution.
        rotational_offset: u8 = bytes(18, 1);
        rotation_rate: u16 = bytes(20, 2);
    }

    /// Flexible disk, which some programs also request from fixed disks.
    pub struct FlexibleDisk: 0x05, 30 {
        /// In kbit/s.
        transfer_rate: u16 = bytes(2, 2);
        heads: u8 = bytes(4, 1);
        sectors_per_track: u8 = bytes(5, 1);
        sector_bytes: u16 = bytes(6, 2);
        cylinders: u16 = bytes(8, 2);
        rotation_rate: u16 = bytes(28, 2);
    }

    /// Caching. On drives older than SBC, the page ends after byte 11.
    pub struct Caching: 0x08, 18 {
        /// IC: the drive uses the number or the size of segments given below.
        initiator_control: bool = flag(2, 7);
        /// ABPF: a new command ends prefetching.
        abort_prefetch: bool = flag(2, 6);
        /// CAP: the drive analyses its caching.
        analysis: bool = flag(2, 5);
        /// DISC: prefetching crosses cylinders.
        across_cylinders: bool = flag(2, 4);
        /// SIZE: the size of segments applies, rather than their number.
        by_segment_size: bool = flag(2, 3);
        /// WCE: writes complete before their data are on the media.
        write_cache: bool = flag(2, 2);
        /// MF: prefetch limits are multiplied by the length of the read.
        multiplied: bool = flag(2, 1);
        /// RCD: reads are not served from the buffer.
        read_cache_disabled: bool = flag(2, 0);
        /// Retention priority of data that were requested.
        read_retention: u8 = bits(3, 7, 4);
        /// Retention priority of data that were written.
        write_retention: u8 = bits(3, 3, 0);
        /// Maximum length of a read that is followed by prefetching, in blocks.
        prefetch_up_to: u16 = bytes(4, 2);
        minimum_prefetch: u16 = bytes(6, 2);
        maximum_prefetch: u16 = bytes(8, 2);
        /// Limit on the maximum prefetch after multiplication.
        prefetch_ceiling: u16 = bytes(10, 2);
        /// FSW: blocks are written in the order of their addresses.
        force_sequential: bool = flag(12, 7);
        /// LBCSS: segment sizes are in blocks.
        segment_in_blocks: bool = flag(12, 6);
        /// DRA: no read-ahead.
        no_read_ahead: bool = flag(12, 5);
        /// NV_DIS: the non-volatile cache is disabled.
        non_volatile_disabled: bool = flag(12, 0);
        segments: u8 = bytes(13, 1);
        /// Size of a segment, in bytes or blocks.
        segment_size: u16 = bytes(14, 2);
    }

    pub struct Control: 0x0a, 10 {
        /// TST: 0 if all initiators share one task set.
        task_sets: u8 = bits(2, 7, 5);
        /// D_SENSE: sense data have the descriptor format.
        descriptor_sense: bool = flag(2, 2);
        /// GLTSD: logs are not saved.
        logs_not_saved: bool = flag(2, 1);
        /// 1: commands may be reordered without restriction.
        queue_algorithm: u8 = bits(3, 7, 4);
        /// QERR: the effect of an error on other commands.
        queue_errors: u8 = bits(3, 2, 1);
        /// UA_INTLCK_CTRL: how unit attentions are cleared.
        attention_interlock: u8 = bits(4, 5, 4);
        /// SWP: writes are refused.
        write_protect: bool = flag(4, 3);
        /// TAS: commands aborted by other initiators end with TASK ABORTED.
        task_aborted_status: bool = flag(5, 6);
        /// In units of 100 ms.
        busy_timeout: u16 = bytes(8, 2);
        self_test_time_s: u16 = bytes(10, 2);
    }

    /// Notch and partition. A notch is a zone.
    pub struct Notch: 0x0c, 22 {
        /// ND: the drive has notches.
        notched: bool = flag(2, 7);
        /// LPN: boundaries are block addresses; otherwise cylinder (three bytes) and head.
        logical: bool = flag(2, 6);
        /// Maximum number of notches.
        maximum: u16 = bytes(4, 2);
        /// The notch to which other pages refer, from 1; 0 for the whole drive.
        active: u16 = bytes(6, 2);
        starting_boundary: u32 = bytes(8, 4);
        /// The end of the notch, inclusive.
        ending_boundary: u32 = bytes(12, 4);
        /// A bit for each page that differs from notch to notch.
        pages_notched: u64 = bytes(16, 8);
    }

    pub struct Exceptions: 0x1c, 10 {
        /// PERF: reports may not delay commands.
        performance: bool = flag(2, 7);
        /// EBF: background functions are enabled.
        background: bool = flag(2, 5);
        /// EWASC: warnings are enabled.
        warnings: bool = flag(2, 4);
        /// DEXCPT: exceptions are disabled.
        disabled: bool = flag(2, 3);
        /// TEST: simulates a failure.
        test: bool = flag(2, 2);
        /// LOGERR: exceptions are logged.
        logged: bool = flag(2, 0);
        /// MRIE: the method of reporting.
        method: u8 = bits(3, 3, 0);
        /// In units of 100 ms.
        interval: u32 = bytes(4, 4);
        /// Maximum number of reports; 0 means unlimited.
        reports: u32 = bytes(8, 4);
    }
}
