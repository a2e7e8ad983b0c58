//! The memory for the data of all sessions has a limit, which hostile ones cannot exceed.

use std::time::Instant;

use diskarm_serve::iscsi::{MAX_COST, SESSION_MEMORY, SHARED_MEMORY, SharedMemory};
use diskarm_serve::{Service as _, Session as _};
use diskarm_wire::iscsi::{Message, NopOut, Serial, Tag};
use diskarm_wire::status;

use crate::bench::{Initiator, Target, WRITE, bytes, transfer};
use crate::session::{data_out, response};

const SESSIONS: usize = 64;
/// Data of the commands in these tests, in bytes.
const LENGTH: usize = 1 << 20;

/// Starts as many writes as a session may have under way; returns the number of accepted ones.
fn start_writes(target: &mut Target, initiator: &mut Initiator) -> usize {
    let mut accepted = 0;
    for _ in 0..SESSIONS {
        let write = initiator.command(&transfer(WRITE, 0, 2048), LENGTH as u32, true);
        let received = target.send(initiator.number, &bytes(&Message::Command(write), &[]));
        match &received[..] {
            [(Message::ReadyToTransfer(_), _)] => accepted += 1,
            [(Message::Response(response), _)] => {
                assert_eq!(response.scsi_status, status::TASK_SET_FULL);
            }
            other => panic!("{other:?}"),
        }
    }
    accepted
}

/// Two targets of a server share the memory. Each session has a part that no other can take.
#[test]
fn hostile_sessions_leave_memory_for_others() {
    let memory = SharedMemory::default();
    let mut targets = [(); 2].map(|()| Target::new("").with_memory(&memory));
    let mut accepted = Vec::new();
    for number in 0..SESSIONS {
        let target = &mut targets[number % 2];
        let mut initiator = target.log_in(&format!("hostile-{number}"), &[]);
        accepted.push(start_writes(target, &mut initiator));
    }
    let own = SESSION_MEMORY / LENGTH;
    assert_eq!(accepted[0], MAX_COST / LENGTH);
    assert_eq!(accepted[SESSIONS - 1], own);
    let all: usize = accepted.iter().sum();
    assert_eq!(all * LENGTH, SHARED_MEMORY + SESSIONS * SESSION_MEMORY);
    assert_eq!(memory.used(), SHARED_MEMORY);
    let mut victim = targets[0].log_in("victim", &[]);
    assert_eq!(start_writes(&mut targets[0], &mut victim), own);
    for target in &mut targets {
        for number in 0..SESSIONS / 2 {
            target.close(number);
        }
    }
    assert_eq!(memory.used(), 0);
}

/// Messages before their turn and the answers to pings count.
#[test]
fn early_messages_and_queued_answers_take_memory() {
    let memory = SharedMemory::default();
    let mut target = Target::new("").with_memory(&memory);
    let pairs = [
        ("MaxConnections", "2"),
        ("MaxRecvDataSegmentLength", "131072"),
    ];
    let initiator = target.log_in("a", &pairs);
    let ping = |command: u32| NopOut {
        immediate: false,
        tag: Tag(1000 + command),
        transfer: Tag::NONE,
        command: Serial(command),
        ..NopOut::default()
    };
    let data = vec![1; 128 << 10];
    let first = initiator.command.0;
    // All but the first come early.
    for number in 1..64 {
        let message = bytes(&Message::NopOut(ping(first + number)), &data);
        assert!(target.send(initiator.number, &message).is_empty());
    }
    let kept = 63 * (data.len() + 256);
    assert_eq!(memory.used(), kept - SESSION_MEMORY);
    let received = target.send(initiator.number, &bytes(&Message::NopOut(ping(first)), &[]));
    assert_eq!(received.len(), 64);
    assert_eq!(memory.used(), 0);
}

/// The unit has the data of a started command, so its memory must be counted until it ends.
#[test]
fn data_for_a_started_command_do_not_end_it() {
    let mut target = Target::new("");
    let mut initiator = target.log_in("a", &[]);
    let write = initiator.command(&transfer(WRITE, 0, 1), 512, true);
    let more = data_out(write.tag, Tag::NONE, 1, 512, true);
    let sent = [
        bytes(&Message::Command(write), &[1; 512]),
        bytes(&Message::DataOut(more), &[2; 512]),
    ]
    .concat();
    let session = target.session(initiator.number);
    session.room()[..sent.len()].copy_from_slice(&sent);
    session.filled(sent.len());
    for _ in 0..2 {
        let (service, sessions) = (&mut target.service, &mut target.sessions);
        let handled = service.handle_next(initiator.number, sessions, Instant::now());
        assert!(handled.is_ok_and(|has_message| has_message));
    }
    let received = target.send(initiator.number, &[]);
    assert_eq!(response(&received).0.scsi_status, status::GOOD);
}

/// Returns the peak of the memory of this process, in bytes.
#[cfg(target_os = "linux")]
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process");
    let mut lines = status.lines();
    let line = lines
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("a peak");
    let kib: u64 = line
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("a number");
    kib << 10
}

/// 64 sessions send all but the end of as much as they may: less than 1 GB.
#[test]
#[cfg(target_os = "linux")]
#[ignore = "it takes a gigabyte of memory, which other tests in the same process would share"]
fn hostile_sessions_take_less_than_a_gigabyte() {
    let memory = SharedMemory::default();
    let mut target = Target::new("").with_memory(&memory);
    let half = vec![1; LENGTH / 8];
    let pairs = [
        ("InitialR2T", "No"),
        ("FirstBurstLength", "262144"),
        ("MaxBurstLength", "262144"),
    ];
    for number in 0..SESSIONS {
        let mut initiator = target.log_in(&format!("hostile-{number}"), &pairs);
        for _ in 0..64 {
            let mut write =
                initiator.command(&transfer(WRITE, 0, 512), 2 * half.len() as u32, true);
            write.is_final = false;
            let received = target.send(initiator.number, &bytes(&Message::Command(write), &half));
            if received.is_empty() {
                let rest = data_out(write.tag, Tag::NONE, 0, half.len(), false);
                let sent = bytes(&Message::DataOut(rest), &half[512..]);
                assert!(target.send(initiator.number, &sent).is_empty());
            }
        }
    }
    assert_eq!(memory.used(), SHARED_MEMORY);
    let peak = peak_memory();
    assert!(
        (SHARED_MEMORY as u64..1_000_000_000).contains(&peak),
        "{peak}"
    );
}
