//! Sessions with several connections over sockets.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use diskarm_serve::iscsi::Iscsi;
use diskarm_serve::{Address, Listener, Server};
use diskarm_wire::iscsi::{
    Command, Lengths, LoginRequest, LoginResponse, Lun, Message, Serial, Tag, attribute,
    login_status, stage,
};
use diskarm_wire::status;

use crate::bench::{PACE, bytes, export_spec, login_request, names, text};

/// Receives the next message; returns `None` at the end of the connection.
fn receive(stream: &mut TcpStream) -> Option<Message> {
    let mut header = [0; Message::LENGTH];
    stream.read_exact(&mut header).ok()?;
    let lengths = Lengths::parse(&header).expect("a header");
    let mut data = vec![0; lengths.padded()];
    stream.read_exact(&mut data).ok()?;
    Some(Message::parse(&header).expect("a message"))
}

fn enter(at: SocketAddr, tsih: u16, connection: u16) -> (TcpStream, LoginResponse) {
    let mut stream = TcpStream::connect(at).expect("a server");
    let request = LoginRequest {
        tsih,
        connection,
        ..login_request(stage::OPERATIONAL, Some(stage::FULL_FEATURE))
    };
    let names = names("a", "");
    let mut pairs: Vec<(&str, &str)> = names.iter().map(|(k, v)| (&**k, &**v)).collect();
    pairs.push(("MaxConnections", "4"));
    let sent = bytes(&Message::LoginRequest(request), &text(&pairs));
    stream.write_all(&sent).expect("a server");
    match receive(&mut stream) {
        Some(Message::LoginResponse(response)) => (stream, response),
        other => panic!("{other:?}"),
    }
}

/// Executes TEST UNIT READY; returns its status, or `None` if the connection has ended.
fn ready(stream: &mut TcpStream, command: u32) -> Option<u8> {
    let command = Command {
        immediate: false,
        is_final: true,
        reads: false,
        writes: false,
        attribute: attribute::SIMPLE,
        lun: Lun::new(0),
        tag: Tag(command),
        length: 0,
        command: Serial(command),
        expected_status: Serial(0),
        block: [0; 16],
    };
    let sent = bytes(&Message::Command(command), &[]);
    stream.write_all(&sent).ok()?;
    match receive(stream)? {
        Message::Response(response) => Some(response.scsi_status),
        other => panic!("{other:?}"),
    }
}

#[test]
fn connections_join_and_end_over_sockets() {
    let export = export_spec("").build_unit(PACE, 1).expect("an export");
    let address = Address::parse("127.0.0.1:0").expect("an address");
    let listener = Listener::bind(&address).expect("a port");
    let at = listener.tcp_address().expect("TCP");
    let target = Iscsi::new(None);
    let server = Server::start(target, vec![export], vec![listener], 3).expect("a server");
    let (mut first, login) = enter(at, 0, 0);
    let tsih = login.tsih;
    let (mut second, login) = enter(at, tsih, 1);
    assert_eq!((login.result, login.tsih), (login_status::SUCCESS, tsih));
    assert_eq!(ready(&mut first, 1), Some(status::CHECK_CONDITION));
    assert_eq!(ready(&mut second, 2), Some(status::GOOD));
    // A reconnection, and then the maximum number of connections.
    let (mut again, login) = enter(at, tsih, 1);
    assert_eq!(login.result, login_status::SUCCESS);
    assert_eq!(ready(&mut again, 3), Some(status::GOOD));
    assert_eq!(ready(&mut second, 4), None);
    let (mut third, login) = enter(at, tsih, 2);
    assert_eq!(login.result, login_status::SUCCESS);
    let full = enter(at, tsih, 3).1.result;
    assert_eq!(full, login_status::OUT_OF_RESOURCES);
    // A connection is lost without a logout.
    drop(again);
    assert_eq!(ready(&mut first, 4), Some(status::GOOD));
    assert_eq!(ready(&mut third, 5), Some(status::GOOD));
    drop(third);
    // A session that is reinstated.
    let mut login = enter(at, 0, 0);
    while login.1.result == login_status::OUT_OF_RESOURCES {
        // The server has not noticed the end of the connection.
        login = enter(at, 0, 0);
    }
    assert_ne!(login.1.tsih, tsih);
    assert_eq!(ready(&mut first, 6), None);
    let gone = enter(at, tsih, 0).1.result;
    assert_eq!(gone, login_status::NO_SESSION);
    server.stopper().expect("a stopper").stop();
    let statistics = server.wait();
    assert_eq!(statistics[0].counts.aborted, 0);
}
