//! Reservations: the commands that they admit from each initiator (SPC-4 and SBC-3, tables of
//! commands allowed in the presence of reservations), and their release and preemption.

use diskarm_core::request::Op;
use diskarm_emulate::{Response, Status};
use diskarm_wire::command::{Blocks, Check, ReserveIn, ReserveOut, Size, Values};
use diskarm_wire::reservation::{self, Parameters, TransportId};
use diskarm_wire::sense::Code;
use diskarm_wire::{Command, Sense};

use crate::bench::{Bench, catalogue_spec, transfer};

const CONFLICT: Status = Status::ReservationConflict;

/// Returns a bench on which initiators 0 to 3 have received the unit attention for the power-on.
fn bench() -> Bench {
    let mut bench = Bench::new(&catalogue_spec("hp-c2247"));
    for initiator in 0..4 {
        bench.initiator = initiator;
        bench.run(&Command::TestUnitReady, &[]);
    }
    bench
}

fn out(
    bench: &mut Bench,
    initiator: u64,
    action: ReserveOut,
    kind: u8,
    keys: (u64, u64),
) -> Response {
    bench.initiator = initiator;
    let parameters = Parameters {
        key: keys.0,
        action_key: keys.1,
        others: false,
        all_ports: false,
        through_power_loss: false,
    };
    let command = Command::PersistentReserveOut {
        action,
        scope: 0,
        kind,
        length: Parameters::LENGTH as u32,
    };
    bench.run(&command, &parameters.emit())
}

fn done(bench: &mut Bench, initiator: u64, action: ReserveOut, kind: u8, keys: (u64, u64)) {
    let response = out(bench, initiator, action, kind, keys);
    assert_eq!(response.status, Status::Good, "{action:?}");
}

/// Returns the pending unit attention of an initiator.
fn attention(bench: &mut Bench, initiator: u64) -> Option<Code> {
    bench.initiator = initiator;
    let response = bench.run(&Command::TestUnitReady, &[]);
    Sense::parse(&response.sense).ok().map(|sense| sense.code)
}

const BLOCKS: Blocks = Blocks { at: 9, count: 1 };
const SIZE: Size = Size::Ten;

const fn start_stop(start: bool) -> Command {
    Command::StartStopUnit {
        immediate: false,
        power_condition: 0,
        power_condition_modifier: 0,
        no_flush: true,
        load_eject: false,
        start,
    }
}

/// Returns commands that only report.
fn reporting_commands() -> Vec<Command> {
    let keys = Command::PersistentReserveIn {
        action: ReserveIn::ReadKeys,
        length: 100,
    };
    let capacity = Command::ReadCapacity10 {
        at: 0,
        partial: false,
    };
    let units = Command::ReportLuns {
        select: 0,
        length: 16,
    };
    let inquiry = Command::Inquiry {
        page: None,
        length: 36,
    };
    vec![
        start_stop(true),
        Command::TestUnitReady,
        inquiry,
        units,
        capacity,
        keys,
    ]
}

fn reading_commands() -> Vec<Command> {
    let verify = Command::Verify {
        size: SIZE,
        blocks: BLOCKS,
        disable_page_out: false,
        check: Check::Readable,
    };
    let prefetch = Command::PreFetch {
        size: SIZE,
        blocks: BLOCKS,
        immediate: false,
        group: 0,
    };
    let seek = Command::Seek { size: SIZE, at: 5 };
    vec![transfer(Op::Read, 9, 1), verify, prefetch, seek]
}

fn writing_commands() -> Vec<Command> {
    let sense = Command::ModeSense {
        size: SIZE,
        page: 8,
        subpage: 0,
        values: Values::Current,
        no_block_descriptors: true,
        long_addresses: false,
        length: 100,
    };
    let same = Command::WriteSame {
        size: SIZE,
        blocks: BLOCKS,
        no_data: false,
    };
    let synchronize = Command::SynchronizeCache {
        size: SIZE,
        blocks: BLOCKS,
        immediate: false,
    };
    let write = transfer(Op::Write, 9, 1);
    vec![write, same, synchronize, sense, start_stop(false)]
}

/// Returns commands, and whether they are admitted with write exclusive and with exclusive access.
fn commands() -> Vec<(Command, [bool; 2])> {
    let row = |passes| move |command| (command, passes);
    let all = reporting_commands().into_iter().map(row([true, true]));
    let all = all.chain(reading_commands().into_iter().map(row([true, false])));
    all.chain(writing_commands().into_iter().map(row([false, false])))
        .collect()
}

/// Initiator 0 holds the reservation, 1 is registered, 2 is not.
#[test]
fn reservations_admit_the_commands_in_the_tables() {
    for kind in [1, 3, 5, 6, 7, 8] {
        let mut bench = bench();
        done(&mut bench, 0, ReserveOut::Register, 0, (0, 0xa));
        done(&mut bench, 1, ReserveOut::Register, 0, (0, 0xb));
        done(&mut bench, 0, ReserveOut::Reserve, kind, (0xa, 0));
        let exclusive = matches!(kind, 3 | 6 | 8);
        for (command, passes) in commands() {
            for initiator in [2, 1, 0] {
                bench.initiator = initiator;
                let response = bench.run(&command, &[1; 1024]);
                let own = initiator == 0 || initiator == 1 && kind >= 5;
                let passes = own || passes[usize::from(exclusive)];
                let case = format!("{command:?} from {initiator} with type {kind}");
                assert_eq!(response.status != CONFLICT, passes, "{case}");
                // Restart a stopped unit.
                bench.initiator = 0;
                bench.run(&start_stop(true), &[]);
            }
        }
    }
}

#[test]
fn scsi_2_reservations_exclude_other_initiators() {
    let mut bench = bench();
    bench.initiator = 0;
    bench.data(&Command::Reserve { size: Size::Six }, &[]);
    bench.initiator = 1;
    for (command, _) in commands() {
        let always = matches!(
            command,
            Command::Inquiry { .. } | Command::ReportLuns { .. }
        );
        let status = bench.run(&command, &[0; 1024]).status;
        assert_eq!(status != CONFLICT, always, "{command:?}");
    }
    assert_eq!(
        out(&mut bench, 1, ReserveOut::Register, 0, (0, 1)).status,
        CONFLICT
    );
    // Another initiator's RELEASE changes nothing.
    bench.data(&Command::Release { size: Size::Ten }, &[]);
    assert_eq!(bench.run(&transfer(Op::Read, 9, 1), &[]).status, CONFLICT);
    bench.initiator = 0;
    bench.data(&Command::Release { size: Size::Six }, &[]);
    bench.initiator = 1;
    bench.data(&transfer(Op::Read, 9, 1), &[]);
}

fn status(bench: &mut Bench) -> Vec<(u64, u64, bool)> {
    bench.initiator = 3;
    let read = Command::PersistentReserveIn {
        action: ReserveIn::ReadFullStatus,
        length: 1000,
    };
    let data = bench.data(&read, &[]);
    let (_, content) = reservation::content(&data).unwrap();
    let rows = reservation::full_status(content).map(|(status, id)| match id {
        Some(TransportId::Sas(initiator)) => (initiator, status.key, status.holder),
        other => panic!("{other:?}"),
    });
    rows.collect()
}

#[test]
fn keys_must_match_the_registered_keys() {
    let mut bench = bench();
    let conflict = |bench: &mut Bench, action, keys| {
        assert_eq!(
            out(bench, 0, action, 1, keys).status,
            CONFLICT,
            "{action:?}"
        );
    };
    conflict(&mut bench, ReserveOut::Register, (5, 6));
    conflict(&mut bench, ReserveOut::Reserve, (0, 0));
    done(&mut bench, 0, ReserveOut::Register, 0, (0, 6));
    conflict(&mut bench, ReserveOut::Reserve, (5, 0));
    conflict(&mut bench, ReserveOut::Register, (0, 7));
    done(&mut bench, 0, ReserveOut::RegisterAndIgnore, 0, (99, 8));
    done(&mut bench, 0, ReserveOut::Reserve, 1, (8, 0));
    assert_eq!(status(&mut bench), [(0, 8, true)]);
    done(&mut bench, 0, ReserveOut::Register, 0, (8, 0));
    assert_eq!(status(&mut bench), []);
}

#[test]
fn reservations_are_preempted_released_and_cleared() {
    let mut bench = bench();
    for initiator in 0..3 {
        done(
            &mut bench,
            initiator,
            ReserveOut::Register,
            0,
            (0, 10 + initiator),
        );
    }
    done(&mut bench, 0, ReserveOut::Reserve, 5, (10, 0));
    // An unregistered key, and a release with another type.
    assert_eq!(
        out(&mut bench, 1, ReserveOut::Preempt, 5, (11, 99)).status,
        CONFLICT
    );
    let wrong = out(&mut bench, 0, ReserveOut::Release, 6, (10, 0));
    assert_eq!(
        Sense::parse(&wrong.sense).unwrap().code,
        Code::INVALID_RELEASE
    );
    done(&mut bench, 1, ReserveOut::Preempt, 3, (11, 10));
    assert_eq!(status(&mut bench), [(1, 11, true), (2, 12, false)]);
    assert_eq!(
        attention(&mut bench, 0),
        Some(Code::REGISTRATIONS_PREEMPTED)
    );
    // The type has changed.
    assert_eq!(attention(&mut bench, 2), Some(Code::RESERVATIONS_RELEASED));
    done(&mut bench, 1, ReserveOut::Release, 3, (11, 0));
    done(&mut bench, 1, ReserveOut::Reserve, 8, (11, 0));
    assert_eq!(status(&mut bench), [(1, 11, true), (2, 12, true)]);
    done(&mut bench, 2, ReserveOut::Preempt, 1, (12, 0));
    assert_eq!(status(&mut bench), [(2, 12, true)]);
    assert_eq!(
        attention(&mut bench, 1),
        Some(Code::REGISTRATIONS_PREEMPTED)
    );
    done(&mut bench, 1, ReserveOut::Register, 0, (0, 21));
    done(&mut bench, 2, ReserveOut::Clear, 0, (12, 0));
    assert_eq!(status(&mut bench), []);
    assert_eq!(attention(&mut bench, 1), Some(Code::RESERVATIONS_PREEMPTED));
}
