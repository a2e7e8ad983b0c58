//! Silent initiators, without sockets and in virtual time.

use std::time::Duration;

use diskarm_serve::iscsi::{Iscsi, IscsiTarget};
use diskarm_serve::{MAX_SILENCE, Waker};
use diskarm_wire::iscsi::{Message, NopOut, Serial, Tag, stage};

use crate::bench::{PACE, PendingLogin, bytes, export_spec, login_request, messages, names};
use crate::channel::{Bench, Wire};

const MOMENT: Duration = Duration::from_millis(1);

fn connect(pairs: &[(&str, &str)]) -> (Bench<IscsiTarget>, Wire) {
    let (waker, _) = Waker::new().expect("a socket");
    let export = export_spec("").build_unit(PACE, 1).expect("an export");
    let service = IscsiTarget::new(export, waker).expect("a service");
    let mut pending = PendingLogin::with_target(&Iscsi::new(None));
    let names = names("a", "");
    let names = names.iter().map(|(key, name)| (&**key, &**name));
    let pairs: Vec<(&str, &str)> = names.chain(pairs.iter().copied()).collect();
    let request = login_request(stage::OPERATIONAL, Some(stage::FULL_FEATURE));
    pending.ask(request, &pairs);
    let session = pending.session.expect("a session");
    let mut bench = Bench::new(service);
    let wire = bench.connect(*session);
    (bench, wire)
}

#[test]
fn an_initiator_that_does_not_answer_a_ping_is_disconnected() {
    let (mut bench, wire) = connect(&[]);
    for _ in 0..3 {
        bench.pass(MAX_SILENCE - MOMENT);
        assert!(wire.take().is_empty());
        bench.pass(MOMENT);
        let received = messages(&wire.take());
        let [(Message::NopIn(ping), _)] = &received[..] else {
            panic!("{received:?}");
        };
        assert_eq!(ping.tag, Tag::NONE);
        let answer = NopOut {
            immediate: true,
            lun: ping.lun,
            tag: Tag::NONE,
            transfer: ping.transfer,
            command: Serial(1),
            expected_status: ping.status,
        };
        wire.send(&bytes(&Message::NopOut(answer), &[]));
        bench.pass(Duration::ZERO);
    }
    bench.pass(2 * MAX_SILENCE - MOMENT);
    assert!(!wire.is_closed());
    assert_eq!(messages(&wire.take()).len(), 1);
    bench.pass(MOMENT);
    assert!(wire.is_closed());
    assert_eq!(bench.open_count(), 0);
}

#[test]
fn an_initiator_that_stops_in_the_middle_of_a_message_is_disconnected() {
    let (mut bench, wire) = connect(&[]);
    let ping = NopOut {
        immediate: true,
        tag: Tag(1),
        transfer: Tag::NONE,
        command: Serial(1),
        ..NopOut::default()
    };
    let message = bytes(&Message::NopOut(ping), b"ping");
    wire.send(&message[..message.len() - 1]);
    bench.pass(MAX_SILENCE - MOMENT);
    assert!(!wire.is_closed());
    bench.pass(MOMENT);
    assert!(wire.is_closed());
}

#[test]
fn an_initiator_that_does_not_read_is_disconnected() {
    let (mut bench, wire) = connect(&[]);
    wire.keep_output();
    bench.pass(MAX_SILENCE - MOMENT);
    assert!(!wire.is_closed());
    bench.pass(MOMENT);
    assert!(wire.is_closed());
}

/// The answers that the target keeps for an initiator that does not read are bounded.
#[test]
fn pings_whose_answers_have_no_room_are_not_read() {
    let (mut bench, wire) = connect(&[("MaxRecvDataSegmentLength", "131072")]);
    wire.block();
    let ping = NopOut {
        immediate: true,
        tag: Tag(1),
        transfer: Tag::NONE,
        command: Serial(1),
        ..NopOut::default()
    };
    let message = bytes(&Message::NopOut(ping), &vec![1; 128 << 10]);
    wire.send(&message.repeat(32));
    for _ in 0..100 {
        bench.turn();
    }
    // One in the input, two in the output and one between them.
    let read = 32 * message.len() - wire.unread();
    assert!((3..6).contains(&(read / message.len())), "{read}");
}
