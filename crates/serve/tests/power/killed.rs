//! After a server is killed, data acknowledged after a flush or with FUA are in its file.

use std::env;
use std::process::{Command, Stdio};

use super::client::{Client, serve, temporary_path};

const SOCKET: &str = "DISKARM_TEST_SOCKET";

/// Serves if started by another test process; otherwise does nothing.
#[test]
fn serves_for_another_process() {
    let Ok(name) = env::var(SOCKET) else { return };
    let at = |end: &str| format!("{name}{end}").into();
    let (socket, control): (std::path::PathBuf, std::path::PathBuf) = (at(""), at("-control"));
    let text = format!("db(drive=sata-4tb-7200, size=1 MiB, store=file:{name}-file)");
    serve(&text, None, &socket, &control).wait();
}

#[test]
fn flushed_data_survive_kill_9() {
    let name = temporary_path("killed");
    let path = |end: &str| format!("{}{end}", name.display());
    let file = path("-file");
    for round in 1..=3_u8 {
        let mut server = Command::new(env::current_exe().expect("this test"))
            .args(["killed::serves_for_another_process", "--exact"])
            .env(SOCKET, &name)
            .stdout(Stdio::null())
            .spawn()
            .expect("a server process");
        let mut client = loop {
            match Client::connect(&name) {
                Ok(client) => break client,
                Err(_) => assert!(server.try_wait().expect("a child").is_none()),
            }
        };
        let at = u64::from(round) * 8192;
        client.write(at, &[round; 4096], false).expect("a reply");
        client.flush().expect("a reply");
        client
            .write(at + 4096, &[round; 512], true)
            .expect("a reply");
        server.kill().expect("a running server");
        server.wait().expect("a killed server");
        let data = std::fs::read(&file).expect("a file");
        for round in 1..=round {
            let at = usize::from(round) * 8192;
            assert!(
                data[at..at + 4608].iter().all(|byte| *byte == round),
                "{round}"
            );
        }
    }
    for end in ["", "-control", "-file"] {
        std::fs::remove_file(path(end)).expect("a file");
    }
}
