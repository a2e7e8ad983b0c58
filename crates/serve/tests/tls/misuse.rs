//! Clients that misuse TLS.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use diskarm_serve::{Tls, TlsError};
use diskarm_wire::nbd::option::{answer, code};
use rustls::version::{TLS12, TLS13};

use crate::certificates::Authority;
use crate::options::{choice, option};
use crate::served::{Running, ask, check_connection, encrypt};

/// Returns true if the server closes the connection, possibly after other output.
fn is_closed(stream: &mut UnixStream) -> bool {
    let mut data = Vec::new();
    match stream.read_to_end(&mut data) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn an_unencrypted_client_is_refused() {
    let running = Running::start(false);
    let mut stream = running.connect();
    for number in [code::LIST, code::GO] {
        let refused = ask(&mut stream, number, &choice());
        assert_eq!(refused, answer::TLS_REQUIRED);
    }
    let name = option(code::EXPORT_NAME, b"");
    stream.write_all(&name).expect("sent");
    assert!(is_closed(&mut stream));
    check_connection(&mut running.client());
    assert_eq!(running.stop().connections, 1);
}

#[test]
fn tls_cannot_be_started_twice() {
    let running = Running::start(false);
    let mut stream = encrypt(running.start_tls(), &running.authority, &[&TLS13], None);
    assert_eq!(ask(&mut stream, code::START_TLS, b""), answer::INVALID);
    assert_eq!(ask(&mut stream, code::GO, &choice()), answer::ACK);
    check_connection(&mut stream);
    running.stop();
}

#[test]
fn an_invalid_handshake_ends_the_connection() {
    let running = Running::start(false);
    // Random bytes; unencrypted NBD; a fatal alert; a record length that is not allowed.
    let alert = [21, 3, 3, 0, 2, 2, 40];
    let long = [22, 3, 3, 0xff, 0xff, 0];
    let list = option(code::LIST, b"");
    for garbage in [&[0xaa; 5000][..], &list.repeat(4), &alert, &long] {
        let mut stream = running.start_tls();
        stream.write_all(garbage).expect("sent");
        assert!(is_closed(&mut stream));
    }
    // Plain text directly after the option.
    let mut stream = running.connect();
    let sent = [option(code::START_TLS, b""), list].concat();
    stream.write_all(&sent).expect("sent");
    assert!(is_closed(&mut stream));
    check_connection(&mut running.client());
    assert_eq!(running.stop().connections, 1);
}

#[test]
fn garbage_among_requests_ends_the_connection() {
    let running = Running::start(false);
    let mut stream = running.client();
    check_connection(&mut stream);
    stream.sock.write_all(&[23, 3, 3, 0, 40]).expect("sent");
    stream.sock.write_all(&[0x55; 40]).expect("sent");
    assert!(is_closed(&mut stream.sock));
    check_connection(&mut running.client());
    assert_eq!(running.stop().connections, 2);
}

#[test]
fn stalled_handshakes_do_not_delay_others() {
    let running = Running::start(false);
    let mut open = Vec::new();
    // More handshakes than the limit.
    for count in 0..70 {
        let mut stream = running.start_tls();
        if count % 2 == 0 {
            // A record of 200 bytes, of which one is sent.
            stream.write_all(&[22, 3, 1, 0, 200, 1]).expect("sent");
        }
        open.push(stream);
    }
    check_connection(&mut running.client());
    // The oldest was evicted.
    assert!(is_closed(&mut open[0]));
    drop(open);
    check_connection(&mut running.client());
    assert_eq!(running.stop().connections, 2);
}

#[test]
fn a_client_may_disconnect_after_any_byte() {
    let running = Running::start(false);
    let mut client = encrypt(running.start_tls(), &running.authority, &[&TLS13], None);
    let mut hello = Vec::new();
    client
        .conn
        .write_tls(&mut hello)
        .expect("its first message");
    for count in (0..=hello.len()).step_by(7) {
        let mut stream = running.start_tls();
        stream.write_all(&hello[..count]).expect("sent");
        stream
            .shutdown(Shutdown::Write)
            .expect("an open connection");
        assert!(is_closed(&mut stream));
    }
    check_connection(&mut running.client());
    assert_eq!(running.stop().connections, 1);
}

#[test]
fn certificates_of_other_authorities_are_refused() {
    let running = Running::start(true);
    let other = Authority::new();
    for version in [&TLS12, &TLS13] {
        for issued in [None, Some(other.issue("client"))] {
            let mut stream = encrypt(running.start_tls(), &running.authority, &[version], issued);
            // With TLS 1.3, the client only notices the refusal when it reads.
            let sent = stream.write_all(&option(code::GO, &choice()));
            assert!(sent.is_err() || stream.read(&mut [0; 1]).is_err());
        }
        // A client that does not trust the server sends an alert and disconnects.
        let issued = running.authority.issue("client");
        let mut stream = encrypt(running.start_tls(), &other, &[version], Some(issued));
        assert!(stream.write_all(&option(code::GO, &choice())).is_err());
        assert!(is_closed(&mut stream.sock));
    }
    assert_eq!(running.stop().connections, 0);
}

#[test]
fn errors_name_the_invalid_file() {
    let authority = Authority::new();
    let folder = authority.folder(&["server"]);
    let error = || match Tls::load(folder.path(), true) {
        Ok(_) => panic!("an invalid file was loaded"),
        Err(error @ TlsError::Unreadable { .. }) => error.to_string(),
        Err(TlsError::Invalid { path, expected, .. }) => {
            let name = path.file_name().expect("a name").display().to_string();
            format!("{name}: {expected}")
        }
    };
    assert!(Tls::load(folder.path(), true).is_ok());
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    put("ca-cert.pem", "nothing");
    assert_eq!(error(), "ca-cert.pem: certificates in PEM");
    put("server-key.pem", &authority.issue("other").key);
    put("ca-cert.pem", &authority.certificate());
    assert_eq!(
        error(),
        "server-key.pem: the key of the certificate in server-cert.pem"
    );
    put("server-key.pem", "nothing");
    assert_eq!(error(), "server-key.pem: a private key in PEM");
    fs::remove_file(folder.path().join("server-cert.pem")).expect("a file");
    assert!(error().contains("server-cert.pem: "), "{}", error());
}
