//! Several tasks at a time: their order, and aborts.

use diskarm_core::request::Op;
use diskarm_core::units::{Angle, Instant};
use diskarm_emulate::{Attribute, Backing as _, Response, Single, Status, Task, Unit};
use diskarm_wire::command::{ReserveOut, Size, Values};
use diskarm_wire::mode::Caching;
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use crate::bench::{Bench, catalogue_spec, transfer};

fn send(bench: &mut Bench, id: u64, initiator: u64, attribute: Attribute, command: &Command) {
    let mut block = [0; 16];
    let length = command.emit(&mut block);
    let task = Task {
        id,
        initiator,
        attribute,
        command: &block[..length],
        data_out: &[1; 4096],
    };
    bench.unit.submit(bench.now, task);
}

fn all(unit: &mut Unit<Single>) -> Vec<Response> {
    let mut responses = Vec::new();
    while let Some(next) = unit.next_event() {
        responses.extend(unit.advance(next));
    }
    assert!(responses.is_sorted_by_key(|response| response.at));
    responses
}

fn ids(responses: &[Response]) -> Vec<u64> {
    responses.iter().map(|response| response.id).collect()
}

fn bench() -> Bench {
    let mut bench = Bench::new(&catalogue_spec("hp-c2247"));
    for initiator in [1, 2] {
        bench.initiator = initiator;
        bench.run(&Command::TestUnitReady, &[]);
    }
    bench
}

#[test]
fn attributes_order_tasks() {
    let mut bench = bench();
    let read = |n: u64| transfer(Op::Read, n * 100_000, 8);
    let ready = Command::TestUnitReady;
    send(&mut bench, 1, 1, Attribute::Simple, &read(1));
    send(&mut bench, 2, 1, Attribute::Simple, &read(2));
    send(&mut bench, 3, 1, Attribute::Ordered, &ready);
    send(&mut bench, 4, 1, Attribute::Simple, &read(3));
    send(&mut bench, 5, 1, Attribute::HeadOfQueue, &ready);
    assert_eq!(ids(&all(&mut bench.unit)), [5, 1, 2, 3, 4]);
}

#[test]
fn aborted_tasks_get_no_response() {
    let mut bench = bench();
    let read = |n: u64| transfer(Op::Read, n * 100_000, 8);
    for id in 1..=6 {
        send(&mut bench, id, 1 + id % 2, Attribute::Simple, &read(id));
    }
    let now = bench.now;
    assert!(bench.unit.abort(now, 2, 3));
    assert!(!bench.unit.abort(now, 2, 3));
    assert_eq!(bench.unit.abort_task_set(now, 1), 3);
    assert_eq!(ids(&all(&mut bench.unit)), [1, 5]);
}

#[test]
fn a_power_cycle_drops_tasks_initiators_and_unsaved_modes() {
    let spec = catalogue_spec("hp-c2247");
    let mut bench = bench();
    let before = bench.data(&transfer(Op::Read, 0, 1), &[]);
    let page = bench.page(0x08, Values::Current);
    let mut caching = Caching::parse(&page).unwrap();
    caching.write_cache = true;
    assert_eq!(bench.select(0x08, &caching.emit()).status, Status::Good);
    let write = transfer(Op::Write, 0, 1);
    send(&mut bench, 1, 7, Attribute::Simple, &write);
    let single = Single::new(&spec, Angle::ZERO, 0).unwrap();
    let now = bench.now;
    bench.unit.power_cycle(now, single);
    assert_eq!(ids(&all(&mut bench.unit)), []);
    assert!(!bench.unit.knows(7));
    bench.initiator = 7;
    let response = bench.run(&Command::TestUnitReady, &[]);
    let attention = Sense::new(Key::UnitAttention, Code::POWER_ON_OR_RESET);
    assert_eq!(Sense::parse(&response.sense), Ok(attention));
    assert_eq!(bench.page(0x08, Values::Current), page);
    assert_eq!(bench.unit.device().spec(), Some(&spec));
    assert_eq!(bench.data(&transfer(Op::Read, 0, 1), &[]), before);
}

#[test]
fn a_reset_aborts_all_tasks_and_notifies_initiators() {
    let mut bench = bench();
    for id in 1..=6 {
        send(
            &mut bench,
            id,
            1 + id % 2,
            Attribute::Simple,
            &transfer(Op::Write, id, 8),
        );
    }
    let now = bench.now;
    bench.unit.reset(now);
    assert_eq!(ids(&all(&mut bench.unit)), []);
    bench.now = Instant::from_ns(bench.now.as_ns() + 1_000_000_000);
    for initiator in [1, 2] {
        bench.initiator = initiator;
        let response = bench.run(&Command::TestUnitReady, &[]);
        assert_eq!(
            Sense::parse(&response.sense).unwrap().code,
            Code::DEVICE_RESET
        );
        assert_eq!(bench.run(&Command::TestUnitReady, &[]).status, Status::Good);
    }
    // Aborted data were not written.
    assert!(
        bench
            .data(&transfer(Op::Read, 0, 20), &[])
            .iter()
            .all(|byte| *byte == 0)
    );
}

#[test]
fn reusing_an_outstanding_tag_aborts_all_tasks_of_the_initiator() {
    let mut bench = bench();
    send(
        &mut bench,
        1,
        1,
        Attribute::Simple,
        &transfer(Op::Read, 5, 8),
    );
    send(
        &mut bench,
        1,
        2,
        Attribute::Simple,
        &transfer(Op::Read, 500_000, 8),
    );
    send(
        &mut bench,
        1,
        1,
        Attribute::Simple,
        &transfer(Op::Read, 9, 8),
    );
    let responses = all(&mut bench.unit);
    let ended: Vec<_> = responses.iter().map(|r| (r.initiator, r.status)).collect();
    assert_eq!(ended, [(1, Status::CheckCondition), (2, Status::Good)]);
    let sense = Sense::parse(&responses[0].sense).unwrap();
    assert_eq!(sense.code, Code::OVERLAPPED_COMMANDS);
}

#[test]
fn too_many_tasks_are_refused() {
    let mut bench = bench();
    let max = Unit::<Single>::MAX_TASKS as u64;
    for id in 0..=max {
        send(
            &mut bench,
            id,
            1,
            Attribute::Simple,
            &transfer(Op::Read, id, 1),
        );
    }
    let responses = all(&mut bench.unit);
    assert_eq!(responses.len() as u64, max + 1);
    assert_eq!(
        (responses[0].id, responses[0].status),
        (max, Status::TaskSetFull)
    );
    assert!(
        responses[1..]
            .iter()
            .all(|response| response.status == Status::Good)
    );
}

/// SAM-5, CLEAR TASK SET: all tasks end, and the other initiators are notified.
#[test]
fn clearing_a_task_set_notifies_the_others() {
    let mut bench = bench();
    let read = |n: u64| transfer(Op::Read, n * 100_000, 8);
    send(&mut bench, 1, 1, Attribute::Simple, &read(1));
    send(&mut bench, 2, 2, Attribute::Simple, &read(2));
    assert!(bench.unit.is_outstanding(2, 2) && bench.unit.tasks() == 2);
    bench.unit.clear_task_set(bench.now, 1);
    assert!(!bench.unit.is_outstanding(2, 2));
    assert!(all(&mut bench.unit).is_empty() && bench.unit.tasks() == 0);
    bench.now = Instant::from_ns(1_000_000_000);
    let sense = |bench: &mut Bench, initiator: u64| {
        bench.initiator = initiator;
        let response = bench.run(&Command::TestUnitReady, &[]);
        Sense::parse(&response.sense).map(|sense| sense.code).ok()
    };
    assert_eq!(sense(&mut bench, 1), None);
    assert_eq!(sense(&mut bench, 2), Some(Code::COMMANDS_CLEARED));
}

/// A lost initiator is forgotten, with its tasks and SCSI-2 reservation; its registration stays.
#[test]
fn lost_initiators_are_forgotten_unless_registered() {
    let mut bench = bench();
    bench.initiator = 1;
    let reserve = Command::Reserve { size: Size::Six };
    assert_eq!(bench.run(&reserve, &[]).status, Status::Good);
    send(
        &mut bench,
        1,
        1,
        Attribute::Simple,
        &transfer(Op::Read, 0, 8),
    );
    bench.unit.disconnect(bench.now, 1);
    assert!(!bench.unit.knows(1) && bench.unit.knows(2));
    assert!(all(&mut bench.unit).is_empty());
    bench.initiator = 2;
    bench.now = Instant::from_ns(1_000_000_000);
    assert_eq!(bench.run(&Command::TestUnitReady, &[]).status, Status::Good);
    let register = Command::PersistentReserveOut {
        action: ReserveOut::Register,
        scope: 0,
        kind: 0,
        length: 24,
    };
    let mut list = [0; 24];
    list[15] = 7;
    assert_eq!(bench.run(&register, &list).status, Status::Good);
    bench.unit.disconnect(bench.now, 2);
    assert!(bench.unit.knows(2));
    // The slot of the first initiator is free again; that of the second is not.
    bench.initiator = 3;
    bench.run(&Command::TestUnitReady, &[]);
    bench.initiator = 2;
    let response = bench.run(&Command::TestUnitReady, &[]);
    let sense = Sense::parse(&response.sense).expect("valid sense data");
    assert_eq!(sense.code, Code::NEXUS_LOSS);
}
