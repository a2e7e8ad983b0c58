//! Sessions of several connections (RFC 7143): joining, routing of answers, and lost connections.

use diskarm_serve::control::PowerControl as _;
use diskarm_wire::iscsi::{
    Command, LoginRequest, LogoutRequest, Message, Serial, Tag, TaskRequest, function,
    login_status, logout_reason, logout_response, stage, task_response,
};
use diskarm_wire::status;

use crate::bench::{Initiator, READ, Received, Target, WRITE, bytes, login_request, transfer};
use crate::session::{data_out, response, task_request, task_result};

/// Returns a login that joins a session with the connection id `name`.
fn join_request(tsih: u16, name: u16) -> LoginRequest {
    LoginRequest {
        tsih,
        connection: name,
        ..login_request(stage::OPERATIONAL, Some(stage::FULL_FEATURE))
    }
}

/// Starts a session of two connections. Returns its initiator, which uses the first one, and the
/// number of the second one (CID 1).
fn two_connections(target: &mut Target, pairs: &[(&str, &str)]) -> (Initiator, usize) {
    let pairs = [pairs, &[("MaxConnections", "8")]].concat();
    let initiator = target.log_in("a", &pairs);
    let second = target.enter(join_request(initiator.tsih, 1), "a", &[]);
    let (tsih, number) = second.expect("a connection");
    assert_eq!(tsih, initiator.tsih);
    (initiator, number)
}

fn ready(command: Command) -> Vec<u8> {
    bytes(&Message::Command(command), &[])
}

/// Returns the tag and the status of the only response.
fn response_status(received: &[Received]) -> (Tag, u8) {
    let response = response(received).0;
    (response.tag, response.scsi_status)
}

#[test]
fn connections_join_up_to_the_negotiated_limit() {
    let mut target = Target::new("");
    let plain = target.log_in("a", &[]);
    let full = Err(login_status::TOO_MANY_CONNECTIONS);
    assert_eq!(target.enter(join_request(plain.tsih, 1), "a", &[]), full);
    let first = target.log_in("a", &[("MaxConnections", "3")]);
    // The second session has replaced the first; other initiators cannot join it.
    let none = Err(login_status::NO_SESSION);
    assert_eq!(target.enter(join_request(plain.tsih, 1), "a", &[]), none);
    assert_eq!(target.enter(join_request(first.tsih, 1), "b", &[]), none);
    let other = LoginRequest {
        isid: [0x80, 0, 0, 0, 0, 2],
        ..join_request(first.tsih, 1)
    };
    assert_eq!(target.enter(other, "a", &[]), none);
    for name in 1..3 {
        let joined = target.enter(join_request(first.tsih, name), "a", &[]);
        assert!(joined.is_ok_and(|(tsih, _)| tsih == first.tsih));
    }
    assert_eq!(target.enter(join_request(first.tsih, 3), "a", &[]), full);
}

/// The session's parameters apply to all its connections, except for the maximum data in a message,
/// which each connection negotiates.
#[test]
fn a_joining_connection_has_the_parameters_of_the_session() {
    let mut target = Target::new("");
    let keys = [("ImmediateData", "No"), ("MaxConnections", "2")];
    let mut initiator = target.log_in("a", &keys);
    let pairs = [
        ("ImmediateData", "Yes"),
        ("MaxRecvDataSegmentLength", "512"),
    ];
    let joined = target.enter(join_request(initiator.tsih, 1), "a", &pairs);
    let (_, second) = joined.expect("a connection");
    let write = initiator.command(&transfer(WRITE, 0, 1), 512, true);
    let received = target.send(second, &bytes(&Message::Command(write), &[1; 512]));
    assert_eq!(
        response_status(&received),
        (write.tag, status::CHECK_CONDITION)
    );
    let read = initiator.command(&transfer(READ, 0, 2), 1024, false);
    let received = target.send(second, &ready(read));
    let lengths: Vec<usize> = received.iter().map(|(_, data)| data.len()).collect();
    assert_eq!(lengths, [512, 512]);
}

/// Commands are executed in the order of their numbers, even if one connection is faster. Each is
/// answered on its own connection, and all share one window.
#[test]
fn commands_on_all_connections_are_executed_in_order() {
    let mut target = Target::new("");
    let (mut initiator, second) = two_connections(&mut target, &[]);
    let first = initiator.number;
    let write = |initiator: &mut Initiator, fill: u8| {
        let command = initiator.command(&transfer(WRITE, 5, 1), 512, true);
        (command.tag, bytes(&Message::Command(command), &[fill; 512]))
    };
    let (one, one_sent) = write(&mut initiator, 1);
    let (two, two_sent) = write(&mut initiator, 2);
    let (three, three_sent) = write(&mut initiator, 3);
    assert!(target.send(second, &three_sent).is_empty());
    // A duplicate is ignored, as it would be later.
    assert!(target.send(second, &three_sent).is_empty());
    assert!(target.send(first, &two_sent).is_empty());
    let received = target.send(first, &one_sent);
    let [(Message::Response(a), _), (Message::Response(b), _)] = received[..] else {
        panic!("{received:?}");
    };
    assert_eq!((a.tag, b.tag), (one, two));
    let received = target.unprompted(second);
    assert_eq!(response_status(&received), (three, status::GOOD));
    let (last, _) = response(&received);
    assert_eq!(last.expected_command, initiator.command);
    assert_eq!(last.max_command.since(last.expected_command), 63);
    let read = initiator.command(&transfer(READ, 5, 1), 512, false);
    assert_eq!(target.send(first, &ready(read))[0].1, [3; 512]);
}

/// The unsolicited data of an early command are kept until its turn.
#[test]
fn data_of_an_early_command_are_kept() {
    let mut target = Target::new("");
    let (mut initiator, second) = two_connections(&mut target, &[("InitialR2T", "No")]);
    let before = initiator.command(&[0; 6], 0, false);
    let mut write = initiator.command(&transfer(WRITE, 9, 2), 1024, true);
    write.is_final = false;
    assert!(
        target
            .send(second, &bytes(&Message::Command(write), &[4; 512]))
            .is_empty()
    );
    let part = Message::DataOut(data_out(write.tag, Tag::NONE, 0, 512, true));
    assert!(target.send(second, &bytes(&part, &[5; 512])).is_empty());
    target.send(initiator.number, &ready(before));
    assert_eq!(
        response_status(&target.unprompted(second)),
        (write.tag, status::GOOD)
    );
    let read = initiator.command(&transfer(READ, 9, 2), 1024, false);
    let received = target.send(second, &ready(read));
    assert_eq!(received[0].1, [[4; 512], [5; 512]].concat());
}

/// Early messages are limited to the data of a full window.
#[test]
fn early_data_are_bounded() {
    let mut target = Target::new("");
    let (mut initiator, second) = two_connections(&mut target, &[("InitialR2T", "No")]);
    initiator.command = initiator.command.next();
    let mut write = initiator.command(&transfer(WRITE, 9, 2), 1024, true);
    write.is_final = false;
    assert!(target.send(second, &ready(write)).is_empty());
    let part = Message::DataOut(data_out(write.tag, Tag::NONE, 0, 0, false));
    let part = bytes(&part, &vec![5; 128 << 10]);
    let sent = (0..1000).take_while(|_| target.exchange(second, &part).is_some());
    assert_eq!(sent.count(), 127);
    target.close(second);
    // The number may be used again, on another connection.
    let command = initiator.command(&[0; 6], 0, false);
    let late = Command {
        command: command.command.previous(),
        ..command
    };
    assert!(target.send(initiator.number, &ready(late)).is_empty());
}

/// A command and its data use the same connection; data on another one are ignored.
#[test]
fn data_on_another_connection_are_ignored() {
    let mut target = Target::new("");
    let (mut initiator, second) = two_connections(&mut target, &[("ImmediateData", "No")]);
    let write = initiator.command(&transfer(WRITE, 0, 1), 512, true);
    let received = target.send(second, &ready(write));
    let [(Message::ReadyToTransfer(wanted), _)] = received[..] else {
        panic!("{received:?}");
    };
    let part = Message::DataOut(data_out(write.tag, wanted.transfer, 0, 0, true));
    let other = bytes(&part, &[9; 512]);
    assert!(target.send(initiator.number, &other).is_empty());
    let received = target.send(second, &bytes(&part, &[7; 512]));
    assert_eq!(response_status(&received), (write.tag, status::GOOD));
    let read = initiator.command(&transfer(READ, 0, 1), 512, false);
    assert_eq!(target.send(second, &ready(read))[0].1, [7; 512]);
}

/// An ordered command on one connection waits for the data of an older one on the other.
#[test]
fn task_attributes_apply_across_connections() {
    let mut target = Target::new("");
    let (mut initiator, second) = two_connections(&mut target, &[("ImmediateData", "No")]);
    let write = initiator.command(&transfer(WRITE, 0, 1), 512, true);
    let received = target.send(initiator.number, &ready(write));
    let [(Message::ReadyToTransfer(wanted), _)] = received[..] else {
        panic!("{received:?}");
    };
    let mut ordered = initiator.command(&transfer(READ, 0, 1), 512, false);
    ordered.attribute = diskarm_wire::iscsi::attribute::ORDERED;
    assert!(target.send(second, &ready(ordered)).is_empty());
    let part = Message::DataOut(data_out(write.tag, wanted.transfer, 0, 0, true));
    target.send(initiator.number, &bytes(&part, &[7; 512]));
    assert_eq!(target.unprompted(second)[0].1, [7; 512]);
}

/// The same limit as on one connection applies to two.
#[test]
fn connections_share_the_memory_of_a_session() {
    let mut target = Target::new("");
    let (mut initiator, second) = two_connections(&mut target, &[("ImmediateData", "No")]);
    let mut write = |target: &mut Target, number, immediate| {
        let mut command = initiator.command(&transfer(WRITE, 0, 2048), 1 << 20, true);
        command.immediate = immediate;
        target.send(number, &ready(command))
    };
    for n in 0..64 {
        let number = if n % 2 == 0 { second } else { 0 };
        let received = write(&mut target, number, false);
        assert!(matches!(received[..], [(Message::ReadyToTransfer(_), _)]));
    }
    let received = write(&mut target, second, true);
    assert_eq!(response_status(&received).1, status::TASK_SET_FULL);
    // The loss of a connection frees the memory of its commands.
    target.close(second);
    let received = write(&mut target, 0, true);
    assert!(matches!(received[..], [(Message::ReadyToTransfer(_), _)]));
}

#[test]
fn other_connections_survive_the_loss_of_one() {
    let mut target = Target::new("");
    let (mut initiator, second) = two_connections(&mut target, &[("ImmediateData", "No")]);
    let lost = initiator.command(&transfer(WRITE, 0, 1), 512, true);
    assert_eq!(target.send(second, &ready(lost)).len(), 1);
    let mut ordered = initiator.command(&transfer(READ, 0, 1), 512, false);
    ordered.attribute = diskarm_wire::iscsi::attribute::ORDERED;
    assert!(target.send(initiator.number, &ready(ordered)).is_empty());
    // Commands that waited for data of the lost connection continue.
    target.close(second);
    let received = target.send(initiator.number, &[]);
    let [(Message::DataIn(read), _)] = received[..] else {
        panic!("{received:?}");
    };
    assert_eq!(read.tag, ordered.tag);
    assert_eq!(read.max_command.since(read.expected_command), 63);
    assert_eq!(target.service.statistics().counts.writes, 1);
    assert_eq!(target.service.statistics().counts.written_bytes, 0);
    // Another connection may replace it; the end of the last one ends the session.
    let joined = target.enter(join_request(initiator.tsih, 1), "a", &[]);
    let (_, third) = joined.expect("a connection");
    target.close(initiator.number);
    let received = target.send(third, &ready(initiator.command(&[0; 6], 0, false)));
    assert_eq!(response_status(&received).1, status::GOOD);
    target.close(third);
    let gone = target.enter(join_request(initiator.tsih, 1), "a", &[]);
    assert_eq!(gone, Err(login_status::NO_SESSION));
}

/// A login with the id of a connection replaces it.
#[test]
fn a_reconnection_replaces_the_old_connection() {
    let mut target = Target::new("");
    let (mut initiator, second) = two_connections(&mut target, &[("ImmediateData", "No")]);
    let lost = initiator.command(&transfer(WRITE, 0, 1), 512, true);
    assert_eq!(target.send(second, &ready(lost)).len(), 1);
    let joined = target.enter(join_request(initiator.tsih, 1), "a", &[]);
    let (_, again) = joined.expect("a connection");
    assert!(!target.is_open(second) && target.is_open(again));
    // Its commands are dropped, and their tags are free.
    let mut command = initiator.command(&[0; 6], 0, false);
    command.tag = lost.tag;
    let received = target.send(again, &ready(command));
    assert_eq!(response_status(&received), (lost.tag, status::GOOD));
    assert!(target.is_open(initiator.number));
}

#[test]
fn a_reinstated_session_ends_all_old_connections() {
    let mut target = Target::new("");
    let (initiator, second) = two_connections(&mut target, &[]);
    let mut again = target.log_in("a", &[]);
    assert_ne!(again.tsih, initiator.tsih);
    assert!(!target.is_open(initiator.number) && !target.is_open(second));
    let gone = target.enter(join_request(initiator.tsih, 2), "a", &[]);
    assert_eq!(gone, Err(login_status::NO_SESSION));
    let received = target.run(&mut again, &[0; 6], 0);
    assert_eq!(response_status(&received).1, status::GOOD);
}

fn log_out(target: &mut Target, number: usize, reason: u8, connection: u16) -> u8 {
    let logout = LogoutRequest {
        immediate: true,
        reason,
        tag: Tag(4),
        connection,
        command: Serial(0),
        expected_status: Serial(0),
    };
    match target.send(number, &bytes(&Message::LogoutRequest(logout), &[]))[..] {
        [(Message::LogoutResponse(response), _)] => response.response,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn logouts_close_a_connection_or_the_session() {
    let mut target = Target::new("");
    let (initiator, second) = two_connections(&mut target, &[]);
    let first = initiator.number;
    let joined = target.enter(join_request(initiator.tsih, 2), "a", &[]);
    let (_, third) = joined.expect("a connection");
    let connection = logout_reason::CLOSE_CONNECTION;
    let unknown = log_out(&mut target, first, connection, 9);
    assert_eq!(unknown, logout_response::NO_CONNECTION);
    let recovery = log_out(&mut target, first, logout_reason::RECOVER_CONNECTION, 1);
    assert_eq!(recovery, logout_response::NO_RECOVERY);
    // Another connection, and the one that logs out.
    let closed = logout_response::CLOSED;
    assert_eq!(log_out(&mut target, first, connection, 1), closed);
    let open = [first, second, third].map(|number| target.is_open(number));
    assert_eq!(open, [true, false, true]);
    assert_eq!(log_out(&mut target, third, connection, 2), closed);
    assert!(!target.is_open(third) && target.is_open(first));
    target.close(third);
    let joined = target.enter(join_request(initiator.tsih, 2), "a", &[]);
    let (_, fourth) = joined.expect("a connection");
    let session = logout_reason::CLOSE_SESSION;
    assert_eq!(log_out(&mut target, fourth, session, 0), closed);
    assert!(!target.is_open(first) && !target.is_open(fourth));
}

/// Any connection can abort tasks, including those that have not arrived.
#[test]
fn commands_can_be_aborted_before_they_arrive() {
    let mut target = Target::new("");
    let (mut initiator, second) = two_connections(&mut target, &[("ImmediateData", "No")]);
    let write = initiator.command(&transfer(WRITE, 0, 1), 512, true);
    assert_eq!(target.send(second, &ready(write)).len(), 1);
    let abort = |task: &Command| {
        let Message::TaskRequest(request) = task_request(function::ABORT_TASK, task.tag) else {
            panic!("not a task request");
        };
        let request = TaskRequest {
            task_command: task.command,
            ..request
        };
        bytes(&Message::TaskRequest(request), &[])
    };
    let received = target.send(initiator.number, &abort(&write));
    assert_eq!(task_result(&received), task_response::COMPLETE);
    let late = initiator.command(&[0; 6], 0, false);
    let received = target.send(initiator.number, &abort(&late));
    assert_eq!(task_result(&received), task_response::COMPLETE);
    // It is ignored when it arrives, and the next one is executed.
    assert!(target.send(second, &ready(late)).is_empty());
    let next = initiator.command(&[0; 6], 0, false);
    let received = target.send(second, &ready(next));
    assert_eq!(response_status(&received), (next.tag, status::GOOD));
    let received = target.send(initiator.number, &abort(&late));
    assert_eq!(task_result(&received), task_response::NO_TASK);
}
