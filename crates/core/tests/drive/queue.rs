//! The on-board queue, and when the arm may move on.

use diskarm_core::device::{Device, Outcome, SubmitError};
use diskarm_core::drive::Drive;
use diskarm_core::spec::Spec;
use diskarm_core::units::{Angle, Instant};

use super::tiny::{R, W, check, check_at, request, serve_all, tiny};

fn queueing_spec(preseek: &str, more: &str) -> Spec {
    tiny(&format!(
        r#"
[overheads]
read_miss_after_read = "0.5 ms"
read_completion = "0.4 ms"
[bus]
read_sector = "0.5 ms"
hold_read = true
[queue]
depth = 2
preseek = "{preseek}"
{more}"#
    ))
}

#[test]
fn the_pre_seek_level_decides_when_the_arm_moves() {
    // Block 23: 0.5, seek until 2.5, 9.0 until 10.0, bus until 10.5, completion 10.9. Block 60's
    // command was processed meanwhile; the seek of 3 begins when the arm may go; tenth 8 at 18.
    let asked = [(0.0, R, 23, 1), (0.0, R, 60, 1)];
    for (preseek, open) in [
        ("acknowledged", 10.9),
        ("completion-ready", 10.5),
        ("media-done", 10.0),
    ] {
        let done = serve_all(&queueing_spec(preseek, ""), &asked);
        check(&done[0], 10.9, [0.0, 0.9, 2.0, 0.0, 6.5, 1.0, 0.5]);
        let (queue, rotation) = (open - 0.5, 18.0 - open - 3.0);
        check(&done[1], 19.9, [queue, 0.9, 3.0, 0.0, rotation, 1.0, 0.5]);
    }
}

#[test]
fn the_arm_that_moves_on_ends_read_ahead_at_the_last_sector() {
    // Called at 10.0, when block 23 is in: not a sector later.
    let buffer = "[buffer]\ncaching = true\nread_ahead = \"until-full\"\n";
    let done = serve_all(
        &queueing_spec("media-done", buffer),
        &[(0.0, R, 23, 1), (0.0, R, 60, 1)],
    );
    check(&done[1], 19.9, [9.5, 0.9, 3.0, 0.0, 5.0, 1.0, 0.5]);
}

#[test]
fn the_bus_carries_one_command_after_another() {
    // Both hit. The second's data follow the first's completion: 50.5 + 0.4 + 0.5 + 0.4.
    let buffer = "[buffer]\ncaching = true\n";
    let spec = queueing_spec("media-done", buffer);
    let asked = [(0.0, R, 23, 2), (50.0, R, 23, 1), (50.0, R, 24, 1)];
    let done = serve_all(&spec, &asked);
    check_at(&done[1], 50.9, Outcome::Hit);
    check_at(&done[2], 51.8, Outcome::Hit);
}

#[test]
fn the_policy_orders_waiting_commands() {
    // While block 23 is read, 160 came before 63 and 22.
    let asked = [
        (0.0, R, 23, 1),
        (1.0, R, 160, 1),
        (1.1, R, 63, 1),
        (1.2, R, 22, 1),
    ];
    let order = |policy: &str| {
        let spec = queueing_spec("acknowledged", "").queue;
        let mut tiny = queueing_spec("acknowledged", "");
        tiny.queue = diskarm_core::spec::Queue {
            depth: 4,
            policy: policy.parse().expect("a policy"),
            ..spec
        };
        let done = serve_all(&tiny, &asked);
        done.iter().map(|c| c.request.start.0).collect::<Vec<_>>()
    };
    assert_eq!(order("fcfs"), [23, 160, 63, 22]);
    assert_eq!(order("clook"), [23, 63, 160, 22]);
    // At 10.9 with 0 of overhead left: block 63 (tenth 1) is in reach at 21, block 22 (tenth 8)
    // at 18; then, at 19.9, block 63 at 31 and block 160 (tenth 8, 8 ms away) at 28.
    assert_eq!(order("sptf"), [23, 22, 160, 63]);
}

#[test]
fn a_full_queue_refuses() {
    let mut drive = Drive::new(&queueing_spec("acknowledged", ""), Angle::ZERO).unwrap();
    let at = Instant::START;
    assert_eq!(drive.submit(at, request(0, R, 0, 1)), Ok(()));
    assert_eq!(drive.submit(at, request(1, W, 0, 1)), Ok(()));
    assert!(!drive.has_room());
    assert_eq!(
        drive.submit(at, request(2, R, 0, 1)),
        Err(SubmitError::Full)
    );
    assert_eq!(
        drive.submit(at, request(2, R, 0, 0)),
        Err(SubmitError::Empty)
    );
    let refused = drive.submit(at, request(2, R, 199, 2));
    assert!(matches!(refused, Err(SubmitError::BeyondEnd { .. })));
    let overflow = drive.submit(at, request(2, R, u64::MAX, 2));
    assert!(matches!(overflow, Err(SubmitError::BeyondEnd { .. })));
}
