//! Commands and their data, task management, and how sessions end.

use diskarm_serve::control::PowerControl as _;
use diskarm_serve::{Service, Session as _};
use diskarm_wire::iscsi::{
    DataOut, Lengths, LogoutRequest, Lun, Message, NopIn, NopOut, Response, Serial, Tag,
    TaskRequest, TextRequest, attribute, function, logout_reason, reject_reason, segment,
    task_response,
};
use diskarm_wire::reservation::{self, TransportId};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Sense, status};

use crate::bench::{READ, Received, Target, WRITE, bytes, transfer};

/// Returns data in which each byte depends on its position.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 7) as u8).collect()
}

/// Returns the only message, a response, with its sense data.
pub fn response(received: &[Received]) -> (Response, Option<Sense>) {
    let [(Message::Response(response), data)] = received else {
        panic!("{received:?}");
    };
    let (sense, _) = segment::sense(data).expect("sense data");
    (
        *response,
        (!sense.is_empty()).then(|| Sense::parse(sense).expect("sense data")),
    )
}

/// Returns the data of messages, which are in order; the last one has the status.
fn read(received: &[Received], max: usize) -> Vec<u8> {
    let mut all = Vec::new();
    for (number, (message, data)) in received.iter().enumerate() {
        let Message::DataIn(message) = message else {
            panic!("{message:?}");
        };
        assert_eq!(message.offset as usize, all.len());
        assert_eq!(message.data, Serial(number as u32));
        assert_eq!(message.has_status, number + 1 == received.len());
        assert!(data.len() <= max);
        all.extend_from_slice(data);
    }
    all
}

pub fn data_out(tag: Tag, transfer: Tag, number: u32, offset: usize, is_final: bool) -> DataOut {
    DataOut {
        is_final,
        lun: Lun::new(0),
        tag,
        transfer,
        expected_status: Serial(0),
        data: Serial(number),
        offset: offset as u32,
    }
}

/// 1024 bytes are sent with the command, another 1024 unsolicited, and the rest in solicited bursts
/// of 2048; they are read back in messages of 512.
#[test]
fn data_are_transferred_in_every_way() {
    let mut target = Target::new("");
    let keys = [
        ("InitialR2T", "No"),
        ("FirstBurstLength", "2048"),
        ("MaxBurstLength", "2048"),
        ("MaxRecvDataSegmentLength", "512"),
    ];
    let mut initiator = target.log_in("a", &keys);
    let data = pattern(5120);
    let mut command = initiator.command(&transfer(WRITE, 3, 10), 5120, true);
    command.is_final = false;
    let tag = command.tag;
    let number = initiator.number;
    let received = target.send(number, &bytes(&Message::Command(command), &data[..1024]));
    assert!(received.is_empty());
    let part = Message::DataOut(data_out(tag, Tag::NONE, 0, 1024, true));
    let mut received = target.send(number, &bytes(&part, &data[1024..2048]));
    for (round, (from, to)) in [(2048, 4096), (4096, 5120)].into_iter().enumerate() {
        let [(Message::ReadyToTransfer(ready), _)] = received[..] else {
            panic!("{received:?}");
        };
        let expected = (from as u32, (to - from) as u32, Serial(round as u32), tag);
        assert_eq!(
            (ready.offset, ready.length, ready.number, ready.tag),
            expected
        );
        let middle = from + 512;
        let first = Message::DataOut(data_out(tag, ready.transfer, 0, from, false));
        let second = Message::DataOut(data_out(tag, ready.transfer, 1, middle, true));
        let first = bytes(&first, &data[from..middle]);
        let second = bytes(&second, &data[middle..to]);
        received = target.send(number, &[first, second].concat());
    }
    let (response, sense) = response(&received);
    assert_eq!(
        (response.scsi_status, sense, response.residual),
        (0, None, 0)
    );
    assert_eq!(response.expected_data, Serial(2));
    let received = target.run(&mut initiator, &transfer(READ, 3, 10), 5120);
    assert_eq!(read(&received, 512), data);
    let last = received.iter().filter_map(|(message, _)| match message {
        Message::DataIn(message) => Some(message.is_final),
        _ => None,
    });
    // A sequence ends after every burst of 2048.
    let expected = [
        false, false, false, true, false, false, false, true, false, true,
    ];
    assert_eq!(last.collect::<Vec<_>>(), expected);
}

/// RFC 7143, "Residual Count".
#[test]
fn residual_counts_report_missing_and_excess_data() {
    let mut target = Target::new("");
    let mut initiator = target.log_in("a", &[]);
    let number = initiator.number;
    let fill = initiator.command(&transfer(WRITE, 0, 2), 1024, true);
    target.send(number, &bytes(&Message::Command(fill), &[1; 1024]));
    // Reads: the initiator expects more data than there are, and less.
    for (length, sent, overflow, residual) in [(2048, 1024, false, 1024), (512, 512, true, 512)] {
        let received = target.run(&mut initiator, &transfer(READ, 0, 2), length);
        assert_eq!(read(&received, 8192), vec![1; sent]);
        let Some((Message::DataIn(last), _)) = received.last() else {
            panic!("{received:?}");
        };
        assert_eq!(
            (last.overflow, last.underflow, last.residual),
            (overflow, !overflow, residual)
        );
    }
    // Writes: only complete blocks are written.
    for (length, overflow, residual) in [(1536, false, 512), (512, true, 512), (0, true, 1024)] {
        let command = initiator.command(&transfer(WRITE, 0, 2), length, true);
        let data = vec![length as u8 + 2; length as usize];
        let received = target.send(number, &bytes(&Message::Command(command), &data));
        let (response, sense) = response(&received);
        assert_eq!((response.scsi_status, sense), (0, None));
        let found = (response.overflow, response.underflow, response.residual);
        assert_eq!(found, (overflow, !overflow, residual), "{length}");
    }
    // A six-byte command shortened to zero blocks, which would mean 256, writes nothing.
    let six = initiator.command(&[0x0a, 0, 0, 0, 2, 0], 0, true);
    let received = target.send(number, &bytes(&Message::Command(six), &[]));
    let (response, sense) = response(&received);
    assert_eq!((response.scsi_status, sense), (0, None));
    let found = (response.overflow, response.underflow, response.residual);
    assert_eq!(found, (true, false, 1024));
    let received = target.run(&mut initiator, &transfer(READ, 0, 2), 1024);
    assert_eq!(read(&received, 8192), vec![2; 1024]);
}

#[test]
fn unexpected_data_end_the_command() {
    let mut target = Target::new("");
    let keys = [("ImmediateData", "No"), ("FirstBurstLength", "512")];
    let mut initiator = target.log_in("a", &keys);
    let number = initiator.number;
    let command = initiator.command(&transfer(WRITE, 0, 2), 1024, true);
    let received = target.send(number, &bytes(&Message::Command(command), &[1; 512]));
    let unexpected = Sense::new(Key::AbortedCommand, Code(0x0c, 0x0c));
    assert_eq!(response(&received).1, Some(unexpected));
    // Out of order, at the wrong offset, and too short.
    for (count, offset, length, code) in [
        (1, 0, 1024, Code(0x47, 0x05)),
        (0, 512, 512, Code(0x47, 0x05)),
        (0, 0, 512, Code(0x0c, 0x0d)),
    ] {
        let command = initiator.command(&transfer(WRITE, 0, 2), 1024, true);
        let received = target.send(number, &bytes(&Message::Command(command), &[]));
        let [(Message::ReadyToTransfer(ready), _)] = received[..] else {
            panic!("{received:?}");
        };
        let part = Message::DataOut(data_out(command.tag, ready.transfer, count, offset, true));
        let received = target.send(number, &bytes(&part, &vec![1; length]));
        assert_eq!(
            response(&received).1,
            Some(Sense::new(Key::AbortedCommand, code))
        );
    }
    let received = target.run(&mut initiator, &transfer(READ, 0, 2), 1024);
    assert_eq!(read(&received, 8192), vec![0; 1024]);
}

/// RFC 7143, "Command Numbering and Acknowledging".
#[test]
fn commands_outside_the_window_are_ignored_and_gaps_end_the_connection() {
    let mut target = Target::new("");
    let mut initiator = target.log_in("a", &[]);
    let number = initiator.number;
    for far in [initiator.command.plus(64), initiator.command.previous()] {
        let mut command = initiator.command(&[0; 6], 0, false);
        initiator.command = initiator.command.previous();
        command.command = far;
        assert!(
            target
                .send(number, &bytes(&Message::Command(command), &[]))
                .is_empty()
        );
    }
    assert_eq!(
        response(&target.run(&mut initiator, &[0; 6], 0))
            .0
            .scsi_status,
        0
    );
    initiator.command = initiator.command.next();
    let command = initiator.command(&[0; 6], 0, false);
    assert_eq!(
        target.exchange(number, &bytes(&Message::Command(command), &[])),
        None
    );
}

/// Pings the target; its answer contains the next expected command number.
fn ping(target: &mut Target, number: usize) -> NopIn {
    let ping = NopOut {
        immediate: true,
        lun: Lun(0),
        tag: Tag(3),
        transfer: Tag::NONE,
        command: Serial(0),
        expected_status: Serial(0),
    };
    match target.send(number, &bytes(&Message::NopOut(ping), &[]))[..] {
        [(Message::NopIn(answer), _)] => answer,
        ref other => panic!("{other:?}"),
    }
}

/// RFC 7143, "Command Numbering and Acknowledging": commands beyond the last MaxCmdSN sent by the
/// target are ignored, even if they arrive in order.
#[test]
fn commands_without_room_in_the_window_are_ignored() {
    let mut target = Target::new("");
    let mut initiator = target.log_in("a", &[("InitialR2T", "No")]);
    let number = initiator.number;
    let before = ping(&mut target, number);
    for _ in 0..200 {
        // The data of the command never arrive.
        let mut command = initiator.command(&[0; 6], 512, true);
        command.is_final = false;
        let received = target.send(number, &bytes(&Message::Command(command), &[]));
        assert!(received.is_empty());
    }
    let answer = ping(&mut target, number);
    assert_eq!(answer.expected_command.since(before.expected_command), 64);
    assert_eq!(answer.max_command, before.max_command);
    assert_eq!(answer.expected_command, answer.max_command.next());
}

/// A command takes no more server memory than the unit would accept.
#[test]
fn a_transfer_that_is_too_long_is_refused_before_its_data_arrive() {
    let mut target = Target::new("");
    let mut initiator = target.log_in("a", &[]);
    let mut block = [0; 16];
    block[0] = 0x8a;
    block[10..14].copy_from_slice(&0x0001_0001_u32.to_be_bytes());
    let command = initiator.command(&block, 0x0001_0001 * 512, true);
    let received = target.send(
        initiator.number,
        &bytes(&Message::Command(command), &[1; 512]),
    );
    let (response, sense) = response(&received);
    let sense = sense.expect("sense data");
    assert_eq!(
        (sense.key, sense.code),
        (Key::IllegalRequest, Code::INVALID_FIELD)
    );
    assert_eq!(
        (response.underflow, response.residual),
        (true, command.length)
    );
}

/// At most 64 writes of 1 MiB may be transferred at a time.
#[test]
fn the_memory_for_the_commands_of_an_initiator_is_limited() {
    let mut target = Target::new("");
    let mut initiator = target.log_in("a", &[("ImmediateData", "No")]);
    let number = initiator.number;
    let mut write = |target: &mut Target, immediate| {
        let mut command = initiator.command(&transfer(WRITE, 0, 2048), 1 << 20, true);
        command.immediate = immediate;
        target.send(number, &bytes(&Message::Command(command), &[]))
    };
    for _ in 0..64 {
        let received = write(&mut target, false);
        assert!(matches!(received[..], [(Message::ReadyToTransfer(_), _)]));
    }
    let (refused, _) = response(&write(&mut target, true));
    assert_eq!(refused.scsi_status, status::TASK_SET_FULL);
    let abort = bytes(&task_request(function::ABORT_TASK_SET, Tag::NONE), &[]);
    assert_eq!(
        task_result(&target.send(number, &abort)),
        task_response::COMPLETE
    );
    let received = write(&mut target, true);
    assert!(matches!(received[..], [(Message::ReadyToTransfer(_), _)]));
}

/// An initiator allows more data in a message than the target sends.
#[test]
fn text_with_an_answer_that_is_too_long_is_rejected() {
    let mut target = Target::new("");
    let initiator = target.log_in("a", &[("MaxRecvDataSegmentLength", "16777215")]);
    let number = initiator.number;
    let request = TextRequest {
        immediate: true,
        is_final: true,
        continues: false,
        lun: Lun(0),
        tag: Tag(5),
        transfer: Tag::NONE,
        command: initiator.command,
        expected_status: Serial(0),
    };
    let text = b"a=\0".repeat(40_000);
    let received = target.send(number, &bytes(&Message::TextRequest(request), &text));
    let [(Message::Reject(reject), _)] = &received[..] else {
        panic!("{} messages", received.len());
    };
    assert_eq!(reject.reason, reject_reason::PROTOCOL_ERROR);
    ping(&mut target, number);
}

/// An ordered command waits for the data of an older one; a simple one after it also waits,
/// but a head-of-queue command does not.
#[test]
fn task_attributes_apply_while_data_arrive() {
    let mut target = Target::new("");
    let mut initiator = target.log_in("a", &[("ImmediateData", "No")]);
    let number = initiator.number;
    let write = initiator.command(&transfer(WRITE, 0, 1), 512, true);
    let received = target.send(number, &bytes(&Message::Command(write), &[]));
    let [(Message::ReadyToTransfer(ready), _)] = received[..] else {
        panic!("{received:?}");
    };
    let simple = target.run(&mut initiator, &transfer(READ, 0, 1), 512);
    assert_eq!(read(&simple, 8192), vec![0; 512]);
    let mut ordered = initiator.command(&transfer(READ, 0, 1), 512, false);
    ordered.attribute = attribute::ORDERED;
    assert!(
        target
            .send(number, &bytes(&Message::Command(ordered), &[]))
            .is_empty()
    );
    assert!(target.run(&mut initiator, &[0; 6], 0).is_empty());
    let mut first = initiator.command(&[0; 6], 0, false);
    first.attribute = attribute::HEAD_OF_QUEUE;
    response(&target.send(number, &bytes(&Message::Command(first), &[])));
    let part = Message::DataOut(data_out(write.tag, ready.transfer, 0, 0, true));
    let received = target.send(number, &bytes(&part, &[5; 512]));
    let data: Vec<_> = received
        .iter()
        .filter(|(m, _)| matches!(m, Message::DataIn(_)))
        .collect();
    assert_eq!((received.len(), &data[0].1), (3, &vec![5; 512]));
}

pub fn task_request(function: u8, task: Tag) -> Message {
    Message::TaskRequest(TaskRequest {
        immediate: true,
        function,
        lun: Lun::new(0),
        tag: Tag(7),
        task,
        command: Serial(0),
        expected_status: Serial(0),
        task_command: Serial(0),
        expected_data: Serial(0),
    })
}

pub fn task_result(received: &[Received]) -> u8 {
    match received {
        [(Message::TaskResponse(response), _)] => response.response,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tasks_are_aborted_and_units_reset() {
    let mut target = Target::new("");
    let mut initiator = target.log_in("a", &[("ImmediateData", "No")]);
    let mut other = target.log_in("b", &[("ImmediateData", "No")]);
    let number = initiator.number;
    let wait = |target: &mut Target, from: &mut crate::bench::Initiator| {
        let write = from.command(&transfer(WRITE, 0, 1), 512, true);
        let received = target.send(from.number, &bytes(&Message::Command(write), &[]));
        assert!(matches!(received[0].0, Message::ReadyToTransfer(_)));
        write.tag
    };
    let tag = wait(&mut target, &mut initiator);
    let abort = bytes(&task_request(function::ABORT_TASK, tag), &[]);
    assert_eq!(
        task_result(&target.send(number, &abort)),
        task_response::COMPLETE
    );
    assert_eq!(
        task_result(&target.send(number, &abort)),
        task_response::NO_TASK
    );
    let unknown = bytes(&task_request(99, tag), &[]);
    assert_eq!(
        task_result(&target.send(number, &unknown)),
        task_response::NOT_SUPPORTED
    );
    // A reset drops all initiators' tasks and notifies them; the window is open again.
    let tag = wait(&mut target, &mut other);
    let reset = bytes(&task_request(function::UNIT_RESET, Tag::NONE), &[]);
    assert_eq!(
        task_result(&target.send(number, &reset)),
        task_response::COMPLETE
    );
    let late = Message::DataOut(data_out(tag, Tag(1), 0, 0, true));
    assert!(
        target
            .send(other.number, &bytes(&late, &[1; 512]))
            .is_empty()
    );
    let attention = Sense::new(Key::UnitAttention, Code::DEVICE_RESET);
    for from in [&mut initiator, &mut other] {
        let (response, sense) = response(&target.run(from, &[0; 6], 0));
        assert_eq!(sense, Some(attention));
        assert_eq!(response.max_command.since(response.expected_command), 63);
    }
}

#[test]
fn pings_logouts_and_unsupported_messages_are_answered() {
    let mut target = Target::new("");
    let mut initiator = target.log_in("a", &[]);
    let number = initiator.number;
    let ping = NopOut {
        immediate: true,
        lun: Lun(0),
        tag: Tag(3),
        transfer: Tag::NONE,
        command: initiator.command,
        expected_status: Serial(0),
    };
    let received = target.send(number, &bytes(&Message::NopOut(ping), b"hello"));
    let [(Message::NopIn(answer), data)] = &received[..] else {
        panic!("{received:?}");
    };
    assert_eq!((answer.tag, &data[..]), (Tag(3), &b"hello"[..]));
    // The target's own ping has the number of the next response but does not consume it.
    assert!(target.session(number).ping());
    let received = target.send(number, &[]);
    let [(Message::NopIn(ping), _)] = received[..] else {
        panic!("{received:?}");
    };
    assert_eq!((ping.tag, ping.status), (Tag::NONE, answer.status.next()));
    let mut unknown = [0; 48];
    unknown[0] = 0x1f;
    let received = target.send(number, &unknown);
    let (Message::Reject(reject), data) = &received[0] else {
        panic!("{received:?}");
    };
    assert_eq!(
        (reject.reason, &data[..]),
        (reject_reason::NOT_SUPPORTED, &unknown[..])
    );
    // A missing unit.
    let mut other_unit = initiator.command(&[0; 6], 0, false);
    other_unit.lun = Lun::new(1);
    let received = target.send(number, &bytes(&Message::Command(other_unit), &[]));
    let no_unit = Sense::new(Key::IllegalRequest, Code::NO_SUCH_UNIT);
    assert_eq!(response(&received).1, Some(no_unit));
    let logout = LogoutRequest {
        immediate: false,
        reason: logout_reason::CLOSE_SESSION,
        tag: Tag(4),
        connection: 0,
        command: initiator.command,
        expected_status: Serial(0),
    };
    let received = target.send(number, &bytes(&Message::LogoutRequest(logout), &[]));
    assert!(matches!(received[..], [(Message::LogoutResponse(_), _)]));
    assert!(target.session(number).has_ended());
}

/// A second login replaces the session; persistent reservations survive.
#[test]
fn a_second_login_replaces_the_session() {
    let mut target = Target::new("");
    let mut initiator = target.log_in("a", &[]);
    let register = [0x5f, 0, 0, 0, 0, 0, 0, 0, 24, 0];
    let command = initiator.command(&register, 24, true);
    let mut key = [0; 24];
    key[15] = 7;
    let received = target.send(initiator.number, &bytes(&Message::Command(command), &key));
    assert_eq!(response(&received).0.scsi_status, 0);
    let mut second = target.log_in("a", &[]);
    assert_ne!(second.number, initiator.number);
    assert!(diskarm_serve::Clients::get_mut(&mut target.sessions, initiator.number).is_none());
    let received = target.run(&mut second, &[0x5e, 0, 0, 0, 0, 0, 0, 0, 255, 0], 255);
    assert_eq!(
        read(&received, 8192),
        [0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7]
    );
    // READ FULL STATUS names the registrant by its iSCSI initiator port.
    let received = target.run(&mut second, &[0x5e, 3, 0, 0, 0, 0, 0, 0, 255, 0], 255);
    let data = read(&received, 8192);
    let (_, content) = reservation::content(&data).expect("registrations");
    let all: Vec<_> = reservation::full_status(content).collect();
    let name = "iqn.2026-01.test:a";
    let [(status, Some(TransportId::IscsiSession(initiator, session)))] = all[..] else {
        panic!("{all:?}");
    };
    assert_eq!((status.key, initiator), (7, name));
    assert_eq!(session, "800000000001");
}

/// A write beyond the end and one with faulty data write nothing.
#[test]
fn refused_writes_do_not_count_as_written() {
    let mut target = Target::new("");
    let mut initiator = target.log_in("a", &[]);
    let mut write = |at: u32| {
        let mut block = [WRITE, 0, 0, 0, 0, 0, 0, 0, 1, 0];
        block[2..6].copy_from_slice(&at.to_be_bytes());
        let command = initiator.command(&block, 512, true);
        let message = bytes(&Message::Command(command), &[7; 512]);
        let received = target.send(initiator.number, &message);
        let counts = target.service.statistics().counts;
        (
            response(&received).0.scsi_status,
            counts.writes,
            counts.written_bytes,
        )
    };
    assert_eq!(write(u32::MAX), (2, 1, 0));
    assert_eq!(write(9), (0, 2, 512));
    assert_eq!(write(u32::MAX), (2, 3, 512));
}

#[test]
fn digests_guard_headers_and_data() {
    let mut target = Target::new("");
    let keys = [("HeaderDigest", "CRC32C"), ("DataDigest", "CRC32C")];
    let ping = |wrong: Option<usize>| {
        let ping = NopOut {
            immediate: true,
            lun: Lun(0),
            tag: Tag(3),
            transfer: Tag::NONE,
            command: Serial(1),
            expected_status: Serial(0),
        };
        let header = Message::NopOut(ping).emit(Lengths::of_data(4));
        let digest = |data: &[u8]| diskarm_wire::iscsi::Digest::new(data).bytes();
        let mut all = [&header[..], &digest(&header), b"ping", &digest(b"ping")].concat();
        if let Some(at) = wrong {
            all[at] ^= 1;
        }
        all
    };
    let log_in = |target: &mut Target| {
        // `Target::log_in` sends a command without digests, so log in without it.
        let mut pending = crate::bench::PendingLogin::new(None);
        let names = crate::bench::names("d", "");
        let mut all: Vec<(&str, &str)> = names.iter().map(|(k, v)| (&**k, &**v)).collect();
        all.extend(keys);
        pending.ask(crate::bench::login_request(1, Some(3)), &all);
        target.open(pending.session.expect("a session"))
    };
    let number = log_in(&mut target);
    let output = target.exchange(number, &ping(None)).expect("an answer");
    assert_eq!(output.len(), 48 + 4 + 4 + 4);
    assert_eq!(&output[52..56], b"ping");
    // A corrupt header cannot be trusted; corrupt data are rejected before the end.
    assert_eq!(target.exchange(number, &ping(Some(17))), None);
    let number = log_in(&mut target);
    let output = target.exchange(number, &ping(Some(53))).expect("an answer");
    assert_eq!((output[0], output[2]), (0x3f, reject_reason::DATA_DIGEST));
    assert!(target.session(number).has_ended());
}

#[test]
fn input_stops_if_replies_are_not_read() {
    let mut target = Target::new("");
    let initiator = target.log_in("a", &[]);
    let number = initiator.number;
    let mut sent = 0;
    // The output of the session is never read.
    for _ in 0..200 {
        let session = target.session(number);
        if !session.wants_input() {
            break;
        }
        let ping = NopOut {
            immediate: true,
            lun: Lun(0),
            tag: Tag(3),
            transfer: Tag::NONE,
            command: initiator.command,
            expected_status: Serial(0),
        };
        let message = bytes(&Message::NopOut(ping), &[1; 8192]);
        let room = session.room();
        let count = message.len().min(room.len());
        room[..count].copy_from_slice(&message[..count]);
        session.filled(count);
        sent += 1;
        while target
            .service
            .handle_next(number, &mut target.sessions, std::time::Instant::now())
            .expect("a valid session")
        {
            let session = diskarm_serve::Clients::get_mut(&mut target.sessions, number);
            target
                .service
                .fill(session.expect("a session"))
                .expect("a valid session");
        }
    }
    assert!(sent < 200, "all input was accepted");
}
