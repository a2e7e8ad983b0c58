//! Reads command blocks whose operation is known and whose reserved bits are zero.

use super::{
    AddressFormat, Blocks, Caching, Check, Command, LogValues, OperationQuery, ReserveIn,
    ReserveOut, Size, Values, group_byte,
};
use crate::layout::number;
use crate::operation::Invalid;

pub(super) fn any(block: &[u8]) -> Result<Command, Invalid> {
    let size = Size::from_block(block);
    Ok(match block[0] {
        0x00 => Command::TestUnitReady,
        0x03 => Command::RequestSense {
            descriptor: flag(block, 1, 0),
            length: block[4],
        },
        0x12 => Command::Inquiry {
            page: inquiry_page(block)?,
            length: number(&block[3..5]) as u16,
        },
        0x08 | 0x28 | 0xa8 | 0x88 => Command::Read {
            size,
            blocks: blocks(block),
            caching: caching(block),
        },
        0x0a | 0x2a | 0xaa | 0x8a => Command::Write {
            size,
            blocks: blocks(block),
            caching: caching(block),
        },
        0x2e | 0xae | 0x8e => Command::WriteAndVerify {
            size,
            blocks: blocks(block),
            disable_page_out: flag(block, 1, 4),
            check: check(block)?,
        },
        0x2f | 0xaf | 0x8f => Command::Verify {
            size,
            blocks: blocks(block),
            disable_page_out: flag(block, 1, 4),
            check: check(block)?,
        },
        0x0b | 0x2b => Command::Seek {
            size,
            at: address(block),
        },
        0x34 | 0x90 => Command::PreFetch {
            size,
            blocks: blocks(block),
            immediate: flag(block, 1, 1),
            group: block[group_byte(size)] & 0x1f,
        },
        0x35 | 0x91 => Command::SynchronizeCache {
            size,
            blocks: blocks(block),
            immediate: flag(block, 1, 1),
        },
        0x41 | 0x93 => Command::WriteSame {
            size,
            blocks: blocks(block),
            no_data: flag(block, 1, 0),
        },
        0x89 | 0x8b => combined(block),
        0x25 => Command::ReadCapacity10 {
            at: number(&block[2..6]) as u32,
            partial: flag(block, 8, 0),
        },
        0x9e => Command::ReadCapacity16 {
            at: address(block),
            partial: flag(block, 14, 0),
            length: number(&block[10..14]) as u32,
        },
        _ => return control(block),
    })
}

/// Commands that read blocks and write the same ones.
fn combined(block: &[u8]) -> Command {
    let caching = caching(block);
    match block[0] {
        0x89 => Command::CompareAndWrite {
            at: address(block),
            count: block[13],
            caching,
        },
        _ => Command::OrWrite {
            blocks: blocks(block),
            caching,
        },
    }
}

/// Commands that concern no blocks.
fn control(block: &[u8]) -> Result<Command, Invalid> {
    let size = Size::from_block(block);
    Ok(match block[0] {
        0x1a | 0x5a => Command::ModeSense {
            size,
            page: block[2] & 0x3f,
            subpage: block[3],
            values: values(block),
            no_block_descriptors: flag(block, 1, 3),
            long_addresses: flag(block, 1, 4),
            length: short_length(block),
        },
        0x15 | 0x55 => Command::ModeSelect {
            size,
            page_format: flag(block, 1, 4),
            save: flag(block, 1, 0),
            length: short_length(block),
        },
        0x16 | 0x56 => Command::Reserve { size },
        0x17 | 0x57 => Command::Release { size },
        0x5e => Command::PersistentReserveIn {
            action: reserve_in(block)?,
            length: number(&block[7..9]) as u16,
        },
        0x5f => Command::PersistentReserveOut {
            action: reserve_out(block)?,
            scope: block[2] >> 4,
            kind: block[2] & 0x0f,
            length: number(&block[5..9]) as u32,
        },
        0x1b => Command::StartStopUnit {
            immediate: flag(block, 1, 0),
            power_condition: block[4] >> 4,
            power_condition_modifier: block[3] & 0x0f,
            no_flush: flag(block, 4, 2),
            load_eject: flag(block, 4, 1),
            start: flag(block, 4, 0),
        },
        0xa0 => Command::ReportLuns {
            select: block[2],
            length: number(&block[6..10]) as u32,
        },
        0xa3 if block[1] & 0x1f == 0x0c => Command::ReportSupportedOperationCodes {
            timeouts: flag(block, 2, 7),
            query: operation_query(block)?,
            length: number(&block[6..10]) as u32,
        },
        0xa3 => Command::ReportSupportedTaskManagementFunctions {
            extended: flag(block, 2, 7),
            length: number(&block[6..10]) as u32,
        },
        0x4d => Command::LogSense {
            save: flag(block, 1, 0),
            values: log_values(block),
            page: block[2] & 0x3f,
            subpage: block[3],
            pointer: number(&block[5..7]) as u16,
            length: number(&block[7..9]) as u16,
        },
        _ => return maintenance(block),
    })
}

fn maintenance(block: &[u8]) -> Result<Command, Invalid> {
    let size = Size::from_block(block);
    Ok(match block[0] {
        0x04 => Command::FormatUnit {
            defects: format_defects(block)?,
            long_list: flag(block, 1, 5),
            complete: flag(block, 1, 3),
            interleave: number(&block[3..5]) as u16,
        },
        0x07 => Command::ReassignBlocks {
            long_addresses: flag(block, 1, 1),
            long_list: flag(block, 1, 0),
        },
        0x37 => Command::ReadDefectData {
            size,
            primary: flag(block, 2, 4),
            grown: flag(block, 2, 3),
            format: address_format(block, 2)?,
            index: 0,
            length: number(&block[7..9]) as u32,
        },
        0xb7 => Command::ReadDefectData {
            size,
            primary: flag(block, 1, 4),
            grown: flag(block, 1, 3),
            format: address_format(block, 1)?,
            index: number(&block[2..6]) as u32,
            length: number(&block[6..10]) as u32,
        },
        0x1d => Command::SendDiagnostic {
            self_test_code: block[1] >> 5,
            page_format: flag(block, 1, 4),
            self_test: flag(block, 1, 2),
            device_offline: flag(block, 1, 1),
            unit_offline: flag(block, 1, 0),
            length: number(&block[3..5]) as u16,
        },
        0x1c => Command::ReceiveDiagnosticResults {
            page: page(block)?,
            length: number(&block[3..5]) as u16,
        },
        code => unreachable!("operation {code:#04x} is in the table"),
    })
}

fn flag(block: &[u8], byte: usize, bit: u8) -> bool {
    block[byte] >> bit & 1 == 1
}

const fn field(byte: u16, bit: u8) -> Invalid {
    Invalid::Field {
        byte,
        bit: Some(bit),
    }
}

fn address(block: &[u8]) -> u64 {
    match Size::from_block(block) {
        Size::Six => number(&block[1..4]) & 0x1f_ffff,
        Size::Ten | Size::Twelve => number(&block[2..6]),
        Size::Sixteen => number(&block[2..10]),
    }
}

fn blocks(block: &[u8]) -> Blocks {
    let count = match Size::from_block(block) {
        // Zero means 256 (SBC-3).
        Size::Six => u64::from(block[4].wrapping_sub(1)) + 1,
        Size::Ten => number(&block[7..9]),
        Size::Twelve => number(&block[6..10]),
        Size::Sixteen => number(&block[10..14]),
    };
    Blocks {
        at: address(block),
        count: count as u32,
    }
}

/// In six bytes these bits belong to the address.
fn caching(block: &[u8]) -> Caching {
    match Size::from_block(block) {
        Size::Six => Caching::default(),
        _ => Caching {
            disable_page_out: flag(block, 1, 4),
            force_unit_access: flag(block, 1, 3),
        },
    }
}

fn check(block: &[u8]) -> Result<Check, Invalid> {
    match block[1] >> 1 & 0x03 {
        0 => Ok(Check::Readable),
        1 => Ok(Check::Data),
        3 => Ok(Check::OneBlock),
        _ => Err(field(1, 2)),
    }
}

fn inquiry_page(block: &[u8]) -> Result<Option<u8>, Invalid> {
    match (flag(block, 1, 0), block[2]) {
        (true, page) => Ok(Some(page)),
        (false, 0) => Ok(None),
        // SPC-4: a page code without EVPD.
        (false, _) => Err(Invalid::Field { byte: 2, bit: None }),
    }
}

/// The page of RECEIVE DIAGNOSTIC RESULTS; without PCV its code means nothing and is zero.
fn page(block: &[u8]) -> Result<Option<u8>, Invalid> {
    inquiry_page(block)
}

fn values(block: &[u8]) -> Values {
    match block[2] >> 6 {
        0 => Values::Current,
        1 => Values::Changeable,
        2 => Values::Default,
        _ => Values::Saved,
    }
}

fn log_values(block: &[u8]) -> LogValues {
    match block[2] >> 6 {
        0 => LogValues::Threshold,
        1 => LogValues::Cumulative,
        2 => LogValues::DefaultThreshold,
        _ => LogValues::DefaultCumulative,
    }
}

fn short_length(block: &[u8]) -> u16 {
    match Size::from_block(block) {
        Size::Six => u16::from(block[4]),
        _ => number(&block[7..9]) as u16,
    }
}

fn reserve_in(block: &[u8]) -> Result<ReserveIn, Invalid> {
    Ok(match block[1] & 0x1f {
        0 => ReserveIn::ReadKeys,
        1 => ReserveIn::ReadReservation,
        2 => ReserveIn::ReportCapabilities,
        3 => ReserveIn::ReadFullStatus,
        _ => return Err(field(1, 4)),
    })
}

fn reserve_out(block: &[u8]) -> Result<ReserveOut, Invalid> {
    Ok(match block[1] & 0x1f {
        0 => ReserveOut::Register,
        1 => ReserveOut::Reserve,
        2 => ReserveOut::Release,
        3 => ReserveOut::Clear,
        4 => ReserveOut::Preempt,
        5 => ReserveOut::PreemptAndAbort,
        6 => ReserveOut::RegisterAndIgnore,
        7 => ReserveOut::RegisterAndMove,
        _ => return Err(field(1, 4)),
    })
}

fn address_format(block: &[u8], byte: usize) -> Result<AddressFormat, Invalid> {
    Ok(match block[byte] & 0x07 {
        0 => AddressFormat::ShortBlock,
        1 => AddressFormat::ExtendedBytesFromIndex,
        2 => AddressFormat::ExtendedPhysicalSector,
        3 => AddressFormat::LongBlock,
        4 => AddressFormat::BytesFromIndex,
        5 => AddressFormat::PhysicalSector,
        6 => AddressFormat::VendorSpecific,
        _ => return Err(field(byte as u16, 2)),
    })
}

/// Without FMTDATA the format and the bits about the list are reserved (SBC-3).
fn format_defects(block: &[u8]) -> Result<Option<AddressFormat>, Invalid> {
    match (flag(block, 1, 4), block[1]) {
        (true, _) => address_format(block, 1).map(Some),
        (false, bits) if bits & 0x20 != 0 => Err(field(1, 5)),
        (false, bits) if bits & 0x08 != 0 => Err(field(1, 3)),
        (false, bits) if bits & 0x07 != 0 => Err(field(1, 2)),
        (false, _) => Ok(None),
    }
}

/// A field that the form does not use must be zero.
fn operation_query(block: &[u8]) -> Result<OperationQuery, Invalid> {
    let (code, action) = (block[3], number(&block[4..6]) as u16);
    match block[2] & 0x07 {
        0 if code != 0 => Err(Invalid::Field { byte: 3, bit: None }),
        0 | 1 if action != 0 => Err(Invalid::Field { byte: 4, bit: None }),
        0 => Ok(OperationQuery::All),
        1 => Ok(OperationQuery::Code(code)),
        2 => Ok(OperationQuery::Action(code, action)),
        3 => Ok(OperationQuery::CodeOrAction(code, action)),
        _ => Err(field(2, 2)),
    }
}
