//! Logins and discovery.

use diskarm_serve::iscsi::{Account, Accounts, target_name};
use diskarm_wire::iscsi::text::{Hexadecimal, binary};
use diskarm_wire::iscsi::{LoginRequest, Message, Serial, Tag, TextRequest, login_status, stage};

use crate::bench::{PendingLogin, bytes, login_request, names, text, value};

const TO_END: Option<u8> = Some(stage::FULL_FEATURE);

#[test]
fn both_sides_negotiate() {
    let mut pending = PendingLogin::new(None);
    let names = names("a", "fixed");
    let mut pairs: Vec<(&str, &str)> = names.iter().map(|(k, v)| (&**k, &**v)).collect();
    pairs.extend([("AuthMethod", "CHAP,None"), ("SessionType", "Normal")]);
    let request = login_request(stage::SECURITY, Some(stage::OPERATIONAL));
    let (response, data) = pending.ask(request, &pairs);
    assert_eq!(
        (response.result, response.transit, response.next),
        (0, true, 1)
    );
    assert_eq!(value(&data, "AuthMethod"), Some("None"));
    assert_eq!(value(&data, "TargetPortalGroupTag"), Some("1"));
    let request = login_request(stage::OPERATIONAL, TO_END);
    let keys = [
        ("HeaderDigest", "CRC32C,None"),
        ("MaxConnections", "4"),
        ("X-what", "1"),
    ];
    let (response, data) = pending.ask(request, &keys);
    assert_eq!(
        (response.result, response.transit, response.next),
        (0, true, 3)
    );
    assert_ne!(response.tsih, 0);
    assert_eq!(
        (response.status, response.expected_command),
        (Serial(2), Serial(1))
    );
    assert_eq!(response.max_command, Serial(64));
    assert_eq!(value(&data, "HeaderDigest"), Some("CRC32C"));
    assert_eq!(value(&data, "MaxConnections"), Some("4"));
    assert_eq!(value(&data, "X-what"), Some("NotUnderstood"));
    assert_eq!(value(&data, "MaxRecvDataSegmentLength"), Some("131072"));
    assert!(pending.session.is_some());
}

/// A text may be split at any byte.
#[test]
fn a_text_may_span_several_requests() {
    let mut pending = PendingLogin::new(None);
    let names = names("a", "");
    let pairs: Vec<(&str, &str)> = names.iter().map(|(k, v)| (&**k, &**v)).collect();
    let all = text(&pairs);
    let (first, second) = all.split_at(20);
    let part = LoginRequest {
        continues: true,
        ..login_request(stage::OPERATIONAL, None)
    };
    let received = pending.send(&bytes(&Message::LoginRequest(part), first), false);
    let (Message::LoginResponse(response), data) = &received[0] else {
        panic!("{received:?}");
    };
    assert_eq!(
        (response.result, response.transit, data.len()),
        (0, false, 0)
    );
    let last = login_request(stage::OPERATIONAL, TO_END);
    pending.send(&bytes(&Message::LoginRequest(last), second), false);
    assert!(pending.session.is_some());
}

/// Keys with their values.
type Pairs<'a> = &'a [(&'a str, &'a str)];

#[test]
fn failed_logins_return_the_reason() {
    let initiator = ("InitiatorName", "iqn.2026-01.test:a");
    let target = target_name("");
    let known = ("TargetName", &*target);
    let begin = login_request(stage::OPERATIONAL, TO_END);
    let later = LoginRequest {
        version_min: 1,
        ..begin
    };
    let joining = LoginRequest { tsih: 7, ..begin };
    let backwards = login_request(stage::OPERATIONAL, Some(stage::SECURITY));
    let odd = login_request(2, TO_END);
    let long = "i".repeat(224);
    let cases: [(LoginRequest, Pairs<'_>, u16); 10] = [
        (begin, &[known], login_status::MISSING_PARAMETER),
        (begin, &[initiator], login_status::MISSING_PARAMETER),
        (
            begin,
            &[initiator, ("TargetName", "iqn.none")],
            login_status::NOT_FOUND,
        ),
        (
            begin,
            &[initiator, initiator, known],
            login_status::INITIATOR_ERROR,
        ),
        (
            begin,
            &[("InitiatorName", &long), known],
            login_status::INITIATOR_ERROR,
        ),
        (
            later,
            &[initiator, known],
            login_status::UNSUPPORTED_VERSION,
        ),
        (joining, &[initiator, known], login_status::NO_SESSION),
        (
            backwards,
            &[initiator, known],
            login_status::INITIATOR_ERROR,
        ),
        (odd, &[initiator, known], login_status::INVALID_REQUEST),
        (
            login_request(stage::SECURITY, TO_END),
            &[initiator, known, ("AuthMethod", "KRB5")],
            login_status::AUTHENTICATION_FAILURE,
        ),
    ];
    for (request, pairs, expected) in cases {
        let mut pending = PendingLogin::new(None);
        let (response, _) = pending.ask(request, pairs);
        assert_eq!(response.result, expected, "{pairs:?}");
        assert!(!response.transit && pending.is_closed && pending.session.is_none());
    }
    // The server already has its maximum number of connections.
    let mut pending = PendingLogin::new(None);
    let sent = bytes(&Message::LoginRequest(begin), &text(&[initiator, known]));
    let received = pending.send(&sent, true);
    let Message::LoginResponse(response) = received[0].0 else {
        panic!("{received:?}");
    };
    assert_eq!(response.result, login_status::OUT_OF_RESOURCES);
    // A message that is not a login, and one that is too long.
    for wrong in [
        &[0x01; 48],
        &[0x43, 0x87, 0, 0, 0, 0xff, 0xff, 0xff].repeat(6)[..],
    ] {
        let mut pending = PendingLogin::new(None);
        assert!(pending.send(wrong, false).is_empty() && pending.is_closed);
    }
}

#[test]
fn discovery_lists_all_targets() {
    let mut pending = PendingLogin::new(None);
    let pairs = [
        ("InitiatorName", "iqn.2026-01.test:a"),
        ("SessionType", "Discovery"),
    ];
    let (response, _) = pending.ask(login_request(stage::OPERATIONAL, TO_END), &pairs);
    assert_eq!(response.result, 0);
    let request = TextRequest {
        immediate: false,
        is_final: true,
        continues: false,
        lun: diskarm_wire::iscsi::Lun(0),
        tag: Tag(2),
        transfer: Tag::NONE,
        command: Serial(1),
        expected_status: Serial(2),
    };
    // A second list would be the same.
    let data = text(&[("SendTargets", "All"), ("SendTargets", "All")]);
    let ask = bytes(&Message::TextRequest(request), &data);
    let received = pending.send(&ask, false);
    let (Message::TextResponse(response), data) = &received[0] else {
        panic!("{received:?}");
    };
    assert!(response.is_final && response.transfer == Tag::NONE);
    let expected = text(&[
        ("TargetName", &target_name("")),
        ("TargetAddress", "127.0.0.1:3260,1"),
        ("TargetName", &target_name("fixed")),
        ("TargetAddress", "127.0.0.1:3260,1"),
    ]);
    assert_eq!(data, &expected);
    // SCSI commands are not allowed in a discovery session.
    pending.send(&[0x01; 48], false);
    assert!(pending.is_closed);
}

const SECRETS: &str = "initiator alice secret-of-alice\ntarget disk secret-of-disk";

/// Logs in with CHAP. The initiator proves that it knows `secret`, and sends the target
/// `challenge`, by default the target's own. Returns the status and the target's response.
fn with_chap(secret: &str, challenge: Option<&[u8]>) -> (u16, Option<Vec<u8>>) {
    let mut pending = PendingLogin::new(Accounts::parse(SECRETS).ok());
    let names = names("a", "");
    let mut pairs: Vec<(&str, &str)> = names.iter().map(|(k, v)| (&**k, &**v)).collect();
    pairs.push(("AuthMethod", "CHAP,None"));
    let (response, data) = pending.ask(login_request(stage::SECURITY, None), &pairs);
    assert_eq!(
        (response.result, value(&data, "AuthMethod")),
        (0, Some("CHAP"))
    );
    let (_, data) = pending.ask(login_request(stage::SECURITY, None), &[("CHAP_A", "7,5")]);
    assert_eq!(value(&data, "CHAP_A"), Some("5"));
    let id: u8 = value(&data, "CHAP_I")
        .expect("an id")
        .parse()
        .expect("a number");
    let mut theirs = [0; 64];
    let length = binary(value(&data, "CHAP_C").expect("a challenge"), &mut theirs);
    let theirs = &theirs[..length.expect("bytes")];
    let alice = Account::new("alice", secret).expect("an account");
    let response = Hexadecimal(&alice.respond(id, theirs)).to_string();
    let own = Hexadecimal(challenge.unwrap_or(theirs)).to_string();
    let pairs = [
        ("CHAP_N", "alice"),
        ("CHAP_R", &response),
        ("CHAP_I", "9"),
        ("CHAP_C", &own),
    ];
    let request = login_request(stage::SECURITY, TO_END);
    let (response, data) = pending.ask(request, &pairs);
    let mut proof = [0; 16];
    let proven = value(&data, "CHAP_R").and_then(|text| binary(text, &mut proof));
    assert_eq!(pending.session.is_some(), response.result == 0);
    (
        response.result,
        proven.map(|length| proof[..length].to_vec()),
    )
}

#[test]
fn both_sides_prove_that_they_know_secrets() {
    let disk = Account::new("disk", "secret-of-disk").expect("an account");
    let expected = disk.respond(9, b"challenge").to_vec();
    assert_eq!(
        with_chap("secret-of-alice", Some(b"challenge")),
        (0, Some(expected))
    );
    let failed = (login_status::AUTHENTICATION_FAILURE, None);
    assert_eq!(with_chap("secret-of-mallory", Some(b"challenge")), failed);
    // The target does not answer its own challenge.
    assert_eq!(with_chap("secret-of-alice", None), failed);
}

#[test]
fn chap_cannot_be_bypassed() {
    let names = names("a", "");
    let names: Vec<(&str, &str)> = names.iter().map(|(k, v)| (&**k, &**v)).collect();
    let with = |more: &[(&'static str, &'static str)]| [&names[..], more].concat();
    let security = login_request(stage::SECURITY, TO_END);
    let cases = [
        (login_request(stage::OPERATIONAL, TO_END), with(&[])),
        (security, with(&[])),
        (security, with(&[("AuthMethod", "None")])),
        (security, with(&[("CHAP_N", "alice"), ("CHAP_R", "0x00")])),
        (security, with(&[("SessionType", "Discovery")])),
    ];
    for (request, pairs) in cases {
        let mut pending = PendingLogin::new(Accounts::parse(SECRETS).ok());
        let (response, _) = pending.ask(request, &pairs);
        assert_eq!(
            response.result,
            login_status::AUTHENTICATION_FAILURE,
            "{pairs:?}"
        );
        assert!(pending.is_closed);
    }
}
