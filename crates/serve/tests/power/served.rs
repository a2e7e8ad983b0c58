//! Power cuts of a served disk, through its control socket.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;

use diskarm_wire::nbd::Command;
use serde_json::json;

use super::client::{Client, Running, SIZE, cut_with_two_writes_pending};

const DRIVE: &str = "sata-4tb-7200";

/// Returns the first bytes of some sectors.
fn bytes(client: &mut Client, offsets: &[u64]) -> Vec<u8> {
    let read = |offset: &u64| client.read(*offset, 512).expect("a reply")[0];
    offsets.iter().map(read).collect()
}

#[test]
fn a_cut_loses_only_unflushed_writes() {
    let running = Running::start("plain", DRIVE, None);
    let mut client = running.client();
    client.write(0, &[1; 4096], false).expect("a reply");
    client.flush().expect("a reply");
    client.write(0, &[2; 512], false).expect("a reply");
    client.write(4096, &[3; 512], true).expect("a reply");
    client.write(8192, &[4; 1024], false).expect("a reply");
    let lost = cut_with_two_writes_pending(|line| running.ask(line));
    // Without power the server does not answer.
    assert!(client.flush().is_err());
    let off = Client::connect(&running.socket);
    assert!(off.and_then(|mut off| off.read(0, 512)).is_err());
    assert_eq!(
        running.ask("power-cut(export=db)"),
        json!({"error": "the power is off"})
    );
    assert_eq!(running.ask("pending(export=db)")["last_cut"], lost);
    assert_eq!(running.ask("power-restore(export=db)"), json!({}));
    let mut client = running.client();
    assert_eq!(bytes(&mut client, &[0, 512, 4096, 8192]), [1, 1, 3, 0]);
    running.stop();
}

/// The drive acknowledges a write of many tracks before the data are on the media.
#[test]
fn a_timed_drive_loses_the_writes_in_its_cache() {
    let running = Running::start("timed", DRIVE, Some(0.01));
    let mut client = running.client();
    client.write(0, &[1; 65_536], true).expect("a reply");
    client.write(0, &[2; 65_536], false).expect("a reply");
    let lost = running.ask("power-cut(export=db)");
    assert_eq!(lost["lost_writes"], 1, "{lost}");
    assert_eq!(lost["reverted_sectors"], 128);
    running.ask("power-restore(export=db)");
    let mut client = running.client();
    assert_eq!(bytes(&mut client, &[0, 65_024]), [1, 1]);
    running.stop();
}

#[test]
fn the_received_part_of_an_interrupted_write_is_written() {
    let running = Running::start("short", DRIVE, None);
    let mut client = running.client();
    client.send(Command::Write, false, (0, 4096)).expect("sent");
    client.data(&[7; 1300]).expect("sent");
    drop(client);
    let mut client = running.client();
    let is_closed = (0..10_000).any(|_| {
        client.read(0, 512).expect("a reply");
        running.ask("pending(export=db)")["pending"][0]["is_acknowledged"] == json!(true)
    });
    assert!(is_closed);
    let pending = &running.ask("pending(export=db)")["pending"][0];
    assert_eq!(pending["sectors"], 2, "{pending}");
    assert_eq!(bytes(&mut client, &[0, 512, 1024]), [7, 7, 0]);
    running.ask("power-cut(export=db)");
    running.ask("power-restore(export=db)");
    assert_eq!(bytes(&mut running.client(), &[0, 512, 1024]), [0, 0, 0]);
    running.stop();
}

#[test]
fn idle_clients_of_the_control_socket_make_room_for_others() {
    let running = Running::start("idle", DRIVE, None);
    let connect = |_| UnixStream::connect(&running.control).expect("a listening server");
    let idle: Vec<UnixStream> = (0..40).map(connect).collect();
    assert_eq!(running.ask("errors(export=db)"), json!({ "errors": [] }));
    drop(idle);
    running.stop();
}

#[test]
fn triggers_fire_before_or_after_a_request() {
    for speed in [None, Some(1000.0)] {
        let running = Running::start("trigger", DRIVE, speed);
        let mut client = running.client();
        client.write(0, &[1; 512], true).expect("a reply");
        running.ask("trigger(export=db, before=flush, nth=2)");
        client.flush().expect("a reply");
        client.write(0, &[2; 512], true).expect("a reply");
        assert!(client.flush().is_err());
        running.ask("power-restore(export=db)");
        let mut client = running.client();
        assert_eq!(bytes(&mut client, &[0]), [2]);
        // The second write has been answered but not flushed.
        running.ask("trigger(export=db, after=write, nth=2)");
        client.write(512, &[3; 512], true).expect("a reply");
        client.write(1024, &[4; 512], true).expect("a reply");
        assert!(client.read(0, 512).is_err());
        running.ask("power-restore(export=db)");
        let mut client = running.client();
        assert_eq!(bytes(&mut client, &[512, 1024]), [3, 4]);
        // The data never reach the drive.
        running.ask("trigger(export=db, before=write)");
        assert!(client.write(0, &[5; 512], true).is_err());
        running.ask("power-restore(export=db)");
        assert_eq!(bytes(&mut running.client(), &[0]), [2]);
        running.stop();
    }
}

#[test]
fn a_time_trigger_fires_without_requests() {
    for speed in [None, Some(1000.0)] {
        let running = Running::start("time", DRIVE, speed);
        let mut client = running.client();
        client.write(0, &[1; 512], true).expect("a reply");
        client.write(0, &[2; 512], false).expect("a reply");
        running.ask("trigger(export=db, after=1ms)");
        // The power cut closes the connection.
        let end = client.reply(0).expect_err("the end of the connection");
        assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
        let off = running.ask("pending(export=db)");
        assert_eq!(off["is_powered"], false, "{off}");
        running.ask("power-restore(export=db)");
        assert!(running.client().read(0, 512).is_ok());
        running.stop();
    }
}

#[test]
fn blocks_fail_until_they_are_healed() {
    for speed in [None, Some(1000.0)] {
        let running = Running::start("bad", DRIVE, speed);
        let mut client = running.client();
        running.ask("inject(export=db, first=8, sectors=8)");
        client.write(4096, &[1; 512], false).expect("a reply");
        assert!(client.read(7 * 512, 512).is_ok());
        assert!(client.read(7 * 512, 1024).is_err());
        running.ask("inject(export=db, first=100, sectors=1, affects=writes)");
        assert!(client.write(100 * 512, &[1; 512], false).is_err());
        running.ask("heal(export=db, first=8, sectors=4)");
        assert!(client.read(11 * 512, 512).is_ok());
        assert!(client.read(12 * 512, 512).is_err());
        running.ask("heal(export=db)");
        assert!(client.read(0, SIZE / 2).is_ok());
        assert!(client.write(100 * 512, &[1; 512], false).is_ok());
        let statistics = running.ask("figures(export=db)");
        assert_eq!(statistics["failed"], 3, "{statistics}");
        running.stop();
    }
}

#[test]
fn errors_end_after_the_given_number_of_requests() {
    for speed in [None, Some(1000.0)] {
        let running = Running::start("times", DRIVE, speed);
        let mut client = running.client();
        running.ask("inject(export=db, first=8, sectors=2, affects=both, times=3)");
        assert!(client.read(9 * 512, 512).is_err());
        assert!(client.read(10 * 512, 512).is_ok());
        assert!(client.write(7 * 512, &[1; 1024], false).is_err());
        let left = json!({"first_sector": 8, "sectors": 2, "affects": "both", "times": 1});
        assert_eq!(running.ask("errors(export=db)"), json!({"errors": [left]}));
        assert!(client.read(0, 8192).is_err());
        assert!(client.read(0, 8192).is_ok());
        assert_eq!(running.ask("errors(export=db)"), json!({"errors": []}));
        running.stop();
    }
}

#[test]
fn invalid_commands_are_reported() {
    let running = Running::start("mistakes", "raid5(disks=4, drive=hp-c2247)", Some(1.0));
    let unknown = running.ask("figures(export=other)");
    assert_eq!(unknown, json!({"error": "there is no export \"other\""}));
    let array = running.ask("power-cut(export=db)");
    let error = array["error"].as_str().expect("an error");
    let expected = "raid5(disks=4, drive=hp-c2247) does not report when data reach the media, ";
    assert!(error.starts_with(expected), "{error}");
    running.stop();
}
