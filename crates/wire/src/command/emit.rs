//! Writes command blocks into zeros.

use super::{
    Blocks, Caching, Command, MODE_SELECT, MODE_SENSE, OperationQuery, PRE_FETCH, READ,
    READ_DEFECT_DATA, RELEASE, RESERVE, SEEK, SYNCHRONIZE_CACHE, Size, VERIFY, WRITE,
    WRITE_AND_VERIFY, WRITE_SAME, group_byte,
};
use crate::layout::put;

pub(super) fn any(command: &Command, block: &mut [u8; 16]) -> usize {
    match *command {
        Command::Read {
            size,
            blocks,
            caching,
        } => {
            transfer(block, size, READ, blocks);
            caching_bits(block, size, caching);
            size.bytes()
        }
        Command::Write {
            size,
            blocks,
            caching,
        } => {
            transfer(block, size, WRITE, blocks);
            caching_bits(block, size, caching);
            size.bytes()
        }
        Command::WriteAndVerify {
            size,
            blocks,
            disable_page_out,
            check,
        } => {
            transfer(block, size, WRITE_AND_VERIFY, blocks);
            block[1] = u8::from(disable_page_out) << 4 | (check as u8) << 1;
            size.bytes()
        }
        Command::Verify {
            size,
            blocks,
            disable_page_out,
            check,
        } => {
            transfer(block, size, VERIFY, blocks);
            block[1] = u8::from(disable_page_out) << 4 | (check as u8) << 1;
            size.bytes()
        }
        Command::Seek { size, at } => {
            block[0] = size.code(SEEK);
            address(block, size, at);
            size.bytes()
        }
        _ => buffered(command, block),
    }
}

/// Commands that concern blocks and transfer none of them to the host.
fn buffered(command: &Command, block: &mut [u8; 16]) -> usize {
    match *command {
        Command::PreFetch {
            size,
            blocks,
            immediate,
            group,
        } => {
            transfer(block, size, PRE_FETCH, blocks);
            block[1] = u8::from(immediate) << 1;
            block[group_byte(size)] = group & 0x1f;
            size.bytes()
        }
        Command::SynchronizeCache {
            size,
            blocks,
            immediate,
        } => {
            transfer(block, size, SYNCHRONIZE_CACHE, blocks);
            block[1] = u8::from(immediate) << 1;
            size.bytes()
        }
        Command::WriteSame {
            size,
            blocks,
            no_data,
        } => {
            transfer(block, size, WRITE_SAME, blocks);
            assert!(!no_data || size == Size::Sixteen, "ten bytes need data");
            block[1] = u8::from(no_data);
            size.bytes()
        }
        Command::CompareAndWrite { at, count, caching } => {
            block[0] = 0x89;
            address(block, Size::Sixteen, at);
            block[13] = count;
            caching_bits(block, Size::Sixteen, caching);
            16
        }
        Command::OrWrite { blocks, caching } => {
            block[0] = 0x8b;
            address(block, Size::Sixteen, blocks.at);
            put(&mut block[10..14], u64::from(blocks.count));
            caching_bits(block, Size::Sixteen, caching);
            16
        }
        Command::ReadCapacity10 { at, partial } => {
            block[0] = 0x25;
            address(block, Size::Ten, u64::from(at));
            block[8] = u8::from(partial);
            10
        }
        Command::ReadCapacity16 {
            at,
            partial,
            length,
        } => {
            (block[0], block[1]) = (0x9e, 0x10);
            address(block, Size::Sixteen, at);
            put(&mut block[10..14], u64::from(length));
            block[14] = u8::from(partial);
            16
        }
        _ => control(command, block),
    }
}

/// Commands that concern no blocks.
fn control(command: &Command, block: &mut [u8; 16]) -> usize {
    match *command {
        Command::TestUnitReady => 6,
        Command::RequestSense { descriptor, length } => {
            (block[0], block[1], block[4]) = (0x03, u8::from(descriptor), length);
            6
        }
        Command::Inquiry { page, length } => with_page(block, 0x12, page, length),
        Command::ModeSense {
            size,
            page,
            subpage,
            values,
            no_block_descriptors,
            long_addresses,
            length,
        } => {
            block[0] = size.code(MODE_SENSE);
            let long = u8::from(long_addresses) << 4;
            assert!(
                long == 0 || size == Size::Ten,
                "six bytes have short addresses"
            );
            block[1] = long | u8::from(no_block_descriptors) << 3;
            block[2] = (values as u8) << 6 | code(page);
            block[3] = subpage;
            short_length(block, size, length)
        }
        Command::ModeSelect {
            size,
            page_format,
            save,
            length,
        } => {
            block[0] = size.code(MODE_SELECT);
            block[1] = u8::from(page_format) << 4 | u8::from(save);
            short_length(block, size, length)
        }
        Command::Reserve { size } => {
            block[0] = size.code(RESERVE);
            size.bytes()
        }
        Command::Release { size } => {
            block[0] = size.code(RELEASE);
            size.bytes()
        }
        Command::PersistentReserveIn { action, length } => {
            (block[0], block[1]) = (0x5e, action as u8);
            put(&mut block[7..9], u64::from(length));
            10
        }
        Command::PersistentReserveOut {
            action,
            scope,
            kind,
            length,
        } => {
            assert!(scope < 16 && kind < 16, "four bits each");
            (block[0], block[1], block[2]) = (0x5f, action as u8, scope << 4 | kind);
            put(&mut block[5..9], u64::from(length));
            10
        }
        _ => reports(command, block),
    }
}

/// The description and state of the unit.
fn reports(command: &Command, block: &mut [u8; 16]) -> usize {
    match *command {
        Command::StartStopUnit {
            immediate,
            power_condition,
            power_condition_modifier,
            no_flush,
            load_eject,
            start,
        } => {
            assert!(power_condition < 16 && power_condition_modifier < 16);
            (block[0], block[1]) = (0x1b, u8::from(immediate));
            block[3] = power_condition_modifier;
            let flags = u8::from(no_flush) << 2 | u8::from(load_eject) << 1;
            block[4] = power_condition << 4 | flags | u8::from(start);
            6
        }
        Command::ReportLuns { select, length } => {
            (block[0], block[2]) = (0xa0, select);
            long_length(block, length)
        }
        Command::ReportSupportedOperationCodes {
            timeouts,
            query,
            length,
        } => {
            let (form, code, action) = match query {
                OperationQuery::All => (0, 0, 0),
                OperationQuery::Code(code) => (1, code, 0),
                OperationQuery::Action(code, action) => (2, code, action),
                OperationQuery::CodeOrAction(code, action) => (3, code, action),
            };
            (block[0], block[1]) = (0xa3, 0x0c);
            (block[2], block[3]) = (u8::from(timeouts) << 7 | form, code);
            put(&mut block[4..6], u64::from(action));
            long_length(block, length)
        }
        Command::ReportSupportedTaskManagementFunctions { extended, length } => {
            (block[0], block[1]) = (0xa3, 0x0d);
            block[2] = u8::from(extended) << 7;
            long_length(block, length)
        }
        Command::LogSense {
            save,
            values,
            page,
            subpage,
            pointer,
            length,
        } => {
            (block[0], block[1]) = (0x4d, u8::from(save));
            (block[2], block[3]) = ((values as u8) << 6 | code(page), subpage);
            put(&mut block[5..7], u64::from(pointer));
            put(&mut block[7..9], u64::from(length));
            10
        }
        _ => maintenance(command, block),
    }
}

fn maintenance(command: &Command, block: &mut [u8; 16]) -> usize {
    match *command {
        Command::FormatUnit {
            defects,
            long_list,
            complete,
            interleave,
        } => {
            let list = defects.map_or(0, |format| 0x10 | format as u8);
            assert!(list != 0 || !(long_list || complete), "about no list");
            block[0] = 0x04;
            block[1] = u8::from(long_list) << 5 | u8::from(complete) << 3 | list;
            put(&mut block[3..5], u64::from(interleave));
            6
        }
        Command::ReassignBlocks {
            long_addresses,
            long_list,
        } => {
            block[0] = 0x07;
            block[1] = u8::from(long_addresses) << 1 | u8::from(long_list);
            6
        }
        Command::ReadDefectData {
            size,
            primary,
            grown,
            format,
            index,
            length,
        } => {
            block[0] = size.code(READ_DEFECT_DATA);
            let lists = u8::from(primary) << 4 | u8::from(grown) << 3 | format as u8;
            if size == Size::Ten {
                assert!(index == 0, "ten bytes have no index");
                block[2] = lists;
                put(&mut block[7..9], u64::from(length));
                10
            } else {
                block[1] = lists;
                put(&mut block[2..6], u64::from(index));
                long_length(block, length)
            }
        }
        Command::SendDiagnostic {
            self_test_code,
            page_format,
            self_test,
            device_offline,
            unit_offline,
            length,
        } => {
            assert!(self_test_code < 8, "three bits");
            let flags = u8::from(page_format) << 4 | u8::from(self_test) << 2;
            let flags = flags | u8::from(device_offline) << 1 | u8::from(unit_offline);
            (block[0], block[1]) = (0x1d, self_test_code << 5 | flags);
            put(&mut block[3..5], u64::from(length));
            6
        }
        Command::ReceiveDiagnosticResults { page, length } => with_page(block, 0x1c, page, length),
        _ => unreachable!("all others are written above"),
    }
}

fn transfer(block: &mut [u8; 16], size: Size, codes: [u8; 4], blocks: Blocks) {
    block[0] = size.code(codes);
    address(block, size, blocks.at);
    let count = u64::from(blocks.count);
    match size {
        Size::Six => {
            assert!((1..=256).contains(&count), "six bytes count 1 to 256");
            block[4] = count as u8;
        }
        Size::Ten => put(&mut block[7..9], count),
        Size::Twelve => put(&mut block[6..10], count),
        Size::Sixteen => put(&mut block[10..14], count),
    }
}

fn address(block: &mut [u8; 16], size: Size, at: u64) {
    match size {
        Size::Six => {
            assert!(at < 1 << 21, "six bytes have addresses of 21 bits");
            put(&mut block[1..4], at);
        }
        Size::Ten | Size::Twelve => put(&mut block[2..6], at),
        Size::Sixteen => put(&mut block[2..10], at),
    }
}

fn caching_bits(block: &mut [u8; 16], size: Size, caching: Caching) {
    let page_out = u8::from(caching.disable_page_out) << 4;
    let flags = page_out | u8::from(caching.force_unit_access) << 3;
    assert!(
        flags == 0 || size != Size::Six,
        "six bytes have no such flags"
    );
    block[1] |= flags;
}

fn code(page: u8) -> u8 {
    assert!(page < 0x40, "six bits");
    page
}

fn with_page(block: &mut [u8; 16], code: u8, page: Option<u8>, length: u16) -> usize {
    (block[0], block[1]) = (code, u8::from(page.is_some()));
    block[2] = page.unwrap_or(0);
    put(&mut block[3..5], u64::from(length));
    6
}

fn short_length(block: &mut [u8; 16], size: Size, length: u16) -> usize {
    match size {
        Size::Six => put(&mut block[4..5], u64::from(length)),
        _ => put(&mut block[7..9], u64::from(length)),
    }
    size.bytes()
}

fn long_length(block: &mut [u8; 16], length: u32) -> usize {
    put(&mut block[6..10], u64::from(length));
    12
}
