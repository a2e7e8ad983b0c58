//! Single commands whose data need more memory than a session may use.

use diskarm_serve::iscsi::{Iscsi, MAX_COST, target_name};
use diskarm_serve::{Address, ExportSpec, Listener, Server};
use diskarm_transport::iscsi::{Address as TargetAddress, Session};
use diskarm_transport::{Data, Transport as _};
use diskarm_wire::Sense;
use diskarm_wire::command::{Blocks, Caching, Command, Size};
use diskarm_wire::sense::{Code, Key};

use crate::bench::{PACE, export_spec};

/// Unusually large: with 512-byte blocks, no command can exceed the memory of a session.
const SECTOR: usize = 4096;

/// Executes READ(16) or WRITE(16) from block 0; returns the sense data, or `None` on success.
fn run(session: &mut Session, is_write: bool, data: &mut [u8]) -> Option<Sense> {
    let blocks = Blocks {
        at: 0,
        count: (data.len() / SECTOR) as u32,
    };
    let (size, caching) = (Size::Sixteen, Caching::default());
    let (command, data) = if is_write {
        let write = Command::Write {
            size,
            blocks,
            caching,
        };
        (write, Data::Out(data))
    } else {
        let read = Command::Read {
            size,
            blocks,
            caching,
        };
        (read, Data::In(data))
    };
    let mut block = [0; 16];
    let length = command.emit(&mut block);
    let reply = session.execute(&block[..length], data).expect("a reply");
    (reply.status != 0).then(|| Sense::parse(&reply.sense).expect("sense data"))
}

#[test]
fn a_command_that_needs_too_much_memory_is_refused() {
    let drive = diskarm_drives::find("hp-c2247").expect("a drive");
    let text = drive
        .text
        .replace("sector_bytes = 512", &format!("sector_bytes = {SECTOR}"));
    let name = format!("diskarm-{}-iscsi-long.toml", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, text).expect("a file");
    let spec = ExportSpec {
        drive: path.to_str().expect("UTF-8").to_owned(),
        size: Some("128 MiB".to_owned()),
        ..export_spec("")
    };
    let export = spec.build_unit(PACE, 1).expect("an export");
    std::fs::remove_file(path).expect("a file");
    assert_eq!(export.facts.sector.0, SECTOR as u64);
    let address = Address::parse("127.0.0.1:0").expect("an address");
    let listener = Listener::bind(&address).expect("a port");
    let port = listener.tcp_address().expect("TCP").port();
    let server = Server::start(Iscsi::new(None), vec![export], vec![listener], 1);
    let server = server.expect("a server");
    let url = format!("//127.0.0.1:{port}/{}/0", target_name(""));
    let address = TargetAddress::parse(&url).expect("an address");
    let mut session = Session::open(&address, None).expect("a target");
    session.allow_writes(true).expect("writes are allowed");
    // The first command reports the power-on.
    let attention = run(&mut session, false, &mut []);
    assert_eq!(attention.map(|sense| sense.key), Some(Key::UnitAttention));
    let refusal = Some(Sense::new(Key::IllegalRequest, Code::INVALID_FIELD));
    let mut data = vec![5; MAX_COST + SECTOR];
    for is_write in [true, false] {
        assert_eq!(run(&mut session, is_write, &mut data), refusal);
    }
    // Nothing was written, and the session's memory has been released.
    let max = &mut data[..MAX_COST];
    assert_eq!(run(&mut session, false, max), None);
    assert!(max.iter().all(|byte| *byte == 0));
    max.fill(6);
    assert_eq!(run(&mut session, true, max), None);
    max.fill(0);
    assert_eq!(run(&mut session, false, max), None);
    assert!(max.iter().all(|byte| *byte == 6));
    drop(session);
    server.stopper().expect("a stopper").stop();
    server.wait();
}
