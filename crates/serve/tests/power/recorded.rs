//! Recordings of a disk whose power is cut.

use std::fs::File;
use std::path::{Path, PathBuf};

use diskarm_serve::{Recorder, Tap, Tappable as _};
use diskarm_simulate::{BlockConverter, System};
use diskarm_wire::nbd::Command;

use super::client::{Running, temporary_path};
use super::initiator as target;

const DRIVE: &str = "hp-c2247";

/// Starts recording to a file.
fn record(name: &str) -> (PathBuf, Recorder, Tap) {
    let path = temporary_path(name);
    let file = File::create(&path).expect("a file");
    let blocks =
        BlockConverter::new(System::parse(DRIVE).expect("a drive").disk(), DRIVE).expect("blocks");
    let name = path.to_str().expect("UTF-8");
    let (recorder, tap) = Recorder::start(file, name, "spc", blocks).expect("a format");
    (path, recorder, tap)
}

/// Returns the first sectors of the requests in a trace.
fn first_sectors(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("a trace");
    let sectors = text.lines().filter_map(|row| row.split(',').nth(1));
    sectors.map(str::to_owned).collect()
}

#[test]
fn a_recording_continues_after_a_power_cut() {
    let (path, recorder, tap) = record("recorded.spc");
    // At a hundredth of real speed, a request takes longer than cutting the power.
    let running = Running::start_with("recorded", DRIVE, Some(0.01), |mut export| {
        let restarted = tap.clone();
        export.power = export.power.map(|power| power.with_tap(restarted));
        let mut timing = export.timing.expect("a drive");
        timing.device = timing.device.with_tap(tap);
        export.timing = Some(timing);
        export
    });
    let mut client = running.client();
    client.write(0, &[1; 512], false).expect("a reply");
    client
        .send(Command::Read, false, (4096, 512))
        .expect("sent");
    while running.ask("figures(export=db)")["reads"] != 1 {}
    running.ask("power-cut(export=db)");
    running.ask("power-restore(export=db)");
    let mut client = running.client();
    assert_eq!(client.read(0, 512).expect("a reply")[0], 1);
    // The drive has served the request that fails with an injected error.
    running.ask("inject(export=db, first=16, sectors=1, affects=writes)");
    assert!(client.write(8192, &[1; 512], false).is_err());
    running.stop();
    let recorded = recorder.finish().expect("a trace");
    let counts = (recorded.requests, recorded.failed, recorded.power_cuts);
    assert_eq!(counts, (3, 1, 1));
    let notes = recorded.notes.iter();
    assert_eq!(notes.filter(|note| note.contains("power cuts")).count(), 1);
    assert_eq!(first_sectors(&path), ["0", "0", "16"]);
    std::fs::remove_file(path).expect("a file");
}

#[test]
fn a_command_with_an_injected_error_is_recorded() {
    let (path, recorder, tap) = record("recorded-target.spc");
    let running = target::Running::start_with("recorded", DRIVE, Some(1000.0), |mut export| {
        let mut timing = export.timing.expect("a drive");
        timing.device = timing.device.with_tap(tap);
        export.timing = Some(timing);
        export
    });
    let mut initiator = running.log_in();
    running.ask("inject(export=db, first=8, sectors=1)");
    assert!(initiator.read(8, 1).is_err());
    assert_eq!(initiator.bytes(&[16]), [0]);
    running.stop();
    let recorded = recorder.finish().expect("a trace");
    assert_eq!((recorded.requests, recorded.failed), (2, 0));
    assert_eq!(first_sectors(&path), ["8", "16"]);
    std::fs::remove_file(path).expect("a file");
}
