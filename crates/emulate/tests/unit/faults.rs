//! Units over devices that only serve requests, and over failing devices.

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::sched::Estimate;
use diskarm_core::units::{Angle, Instant, Lbn, Span};
use diskarm_core::wrap::{AffectedOps, BadBlocks, FaultPlan, Faults, Outage};
use diskarm_emulate::{Attribute, Response, Status, Task, Unit};
use diskarm_wire::command::{Blocks, Caching, Size, Values};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use crate::bench::catalogue_spec;

fn unit() -> Unit<Box<dyn Device>> {
    let drive = Drive::new(&catalogue_spec("hp-c2247"), Angle::ZERO).unwrap();
    let bad = |first, affected| BadBlocks {
        first: Lbn(first),
        end: Lbn(first + 1),
        affected,
        retries: 3,
    };
    let plan = FaultPlan {
        medium_errors: vec![
            bad(1005, AffectedOps::Reads),
            bad(2007, AffectedOps::Writes),
        ],
        outages: vec![Outage {
            from: Instant::START + Span::from_s(100.0),
            until: Instant::START + Span::from_s(200.0),
        }],
        ..FaultPlan::default()
    };
    let revolution = drive.shape().revolution;
    Unit::new(Box::new(Faults::new(drive, &plan, revolution)))
}

fn run(unit: &mut Unit<Box<dyn Device>>, at: Instant, command: &Command) -> Response {
    let mut block = [0; 16];
    let length = command.emit(&mut block);
    let task = Task {
        id: at.as_ns(),
        initiator: 1,
        attribute: Attribute::Simple,
        command: &block[..length],
        data_out: &[7; 8 * 512],
    };
    unit.submit(at, task);
    loop {
        let next = unit.next_event().expect("a task is outstanding");
        if let Some(response) = unit.advance(next) {
            return response;
        }
    }
}

fn transfer(reads: bool, at: u64) -> Command {
    let (size, caching) = (Size::Ten, Caching::default());
    let blocks = Blocks { at, count: 8 };
    if reads {
        Command::Read {
            size,
            blocks,
            caching,
        }
    } else {
        Command::Write {
            size,
            blocks,
            caching,
        }
    }
}

#[test]
fn faults_of_the_device_become_sense_data() {
    let mut unit = unit();
    let at = |seconds: f64| Instant::START + Span::from_s(seconds);
    run(&mut unit, at(0.0), &Command::TestUnitReady);
    for (second, reads, first, key, code, block) in [
        (
            1.0,
            true,
            1000,
            Key::MediumError,
            Code::UNRECOVERED_READ_ERROR,
            Some(1005),
        ),
        (
            2.0,
            false,
            2000,
            Key::MediumError,
            Code::WRITE_ERROR,
            Some(2007),
        ),
        (150.0, true, 5000, Key::NotReady, Code::BECOMING_READY, None),
    ] {
        let response = run(&mut unit, at(second), &transfer(reads, first));
        let sense = Sense::parse(&response.sense).unwrap();
        assert_eq!((sense.key, sense.code), (key, code));
        assert_eq!(sense.information, block);
        assert!(response.data_in.is_empty());
    }
    let after = run(&mut unit, at(250.0), &transfer(true, 1010));
    assert_eq!(after.status, Status::Good);
}

/// Only the pages and commands that describe a single drive are missing.
#[test]
fn a_device_without_a_layout_reports_no_locations() {
    let mut unit = unit();
    let mut at = Instant::START;
    let mut status = |command: &Command| {
        at += Span::from_s(1.0);
        run(&mut unit, at, command).status
    };
    status(&Command::TestUnitReady);
    let page = |page| Command::ModeSense {
        size: Size::Ten,
        page,
        subpage: 0,
        values: Values::Current,
        no_block_descriptors: false,
        long_addresses: false,
        length: 1000,
    };
    for (code, is_supported) in [
        (0x03, false),
        (0x04, false),
        (0x0c, false),
        (0x08, true),
        (0x3f, true),
    ] {
        assert_eq!(
            status(&page(code)) == Status::Good,
            is_supported,
            "{code:#x}"
        );
    }
    let defects = Command::ReadDefectData {
        size: Size::Ten,
        primary: true,
        grown: true,
        format: diskarm_wire::command::AddressFormat::PhysicalSector,
        index: 0,
        length: 100,
    };
    assert_eq!(status(&defects), Status::CheckCondition);
    let seek = Command::Seek {
        size: Size::Ten,
        at: 5,
    };
    assert_eq!(status(&seek), Status::Good);
    assert_eq!(status(&transfer(false, 0)), Status::Good);
}
