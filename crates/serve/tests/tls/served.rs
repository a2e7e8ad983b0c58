//! Clients that use TLS, over Unix sockets.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use diskarm_core::units::Span;
use diskarm_serve::nbd::Nbd;
use diskarm_serve::store::StoreSpec;
use diskarm_serve::{Address, DEFAULT_POLICY, ExportSpec, Listener, Pace, Server, Statistics, Tls};
use diskarm_wire::nbd::message::Simple;
use diskarm_wire::nbd::option::{AnswerHeader, answer, code};
use diskarm_wire::nbd::{Command, Greeting, Headers, Request};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};

use crate::certificates::{Authority, IssuedCertificate};
use crate::options::{choice, option};

const SIZE: u64 = 1 << 20;

/// A server, its socket, and the issuer of its certificate.
pub struct Running {
    server: Server,
    path: PathBuf,
    pub authority: Authority,
}

/// An encrypted connection.
pub type Encrypted = StreamOwned<ClientConnection, UnixStream>;

impl Running {
    /// Serves a megabyte, untimed, to clients that use TLS.
    pub fn start(verifies_clients: bool) -> Self {
        let authority = Authority::new();
        let folder = authority.folder(&["server"]);
        let tls = Tls::load(folder.path(), verifies_clients).expect("certificates");
        let path = folder.path().with_extension("socket");
        let spec = ExportSpec {
            name: String::new(),
            drive: "hp-c2247".to_owned(),
            changes: Vec::new(),
            policy: DEFAULT_POLICY.to_owned(),
            size: Some("1 MiB".to_owned()),
            store: StoreSpec::Memory,
            is_read_only: false,
            record: None,
            bound: None,
        };
        let pace = Pace {
            speed: None,
            spins: false,
            bound: Span::from_us(100.0),
        };
        let export = spec.build(pace, 1).expect("an export");
        let listener = Listener::bind(&Address::Unix(path.clone())).expect("a socket");
        let nbd = Nbd { tls: Some(tls) };
        let server = Server::start(nbd, vec![export], vec![listener], 4).expect("a server");
        Self {
            server,
            path,
            authority,
        }
    }

    pub fn stop(self) -> Statistics {
        self.server.stopper().expect("a stopper").stop();
        self.server.wait().remove(0)
    }

    /// Connects and sends the client flags.
    pub fn connect(&self) -> UnixStream {
        let mut stream = UnixStream::connect(&self.path).expect("a listening server");
        // A server that hangs must not hang the test.
        let max = Some(Duration::from_secs(60));
        stream.set_read_timeout(max).expect("a timeout");
        exact(&mut stream, Greeting::LENGTH);
        stream.write_all(&[0, 0, 0, 3]).expect("sent");
        stream
    }

    /// Connects and negotiates TLS, but does not start its handshake.
    pub fn start_tls(&self) -> UnixStream {
        let mut stream = self.connect();
        let answer = ask(&mut stream, code::START_TLS, b"");
        assert_eq!(answer, answer::ACK);
        stream
    }

    /// Connects with TLS, without a certificate, and chooses the export.
    pub fn client(&self) -> Encrypted {
        self.client_with(&[&TLS13], None)
    }

    fn client_with(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        issued: Option<IssuedCertificate>,
    ) -> Encrypted {
        let mut stream = encrypt(self.start_tls(), &self.authority, versions, issued);
        assert_eq!(ask(&mut stream, code::GO, &choice()), answer::ACK);
        stream
    }
}

/// Starts TLS as a client that trusts `authority`.
pub fn encrypt(
    stream: UnixStream,
    authority: &Authority,
    versions: &[&'static SupportedProtocolVersion],
    issued: Option<IssuedCertificate>,
) -> Encrypted {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    let pem = authority.certificate();
    let root = CertificateDer::from_pem_slice(pem.as_bytes()).expect("PEM");
    roots.add(root).expect("an authority");
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("versions")
        .with_root_certificates(roots);
    let config = match issued {
        None => config.with_no_client_auth(),
        Some(issued) => {
            let chain = CertificateDer::from_pem_slice(issued.certificate.as_bytes());
            let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).expect("PEM");
            config
                .with_client_auth_cert(vec![chain.expect("PEM")], key)
                .expect("a key of this certificate")
        }
    };
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a client");
    StreamOwned::new(connection, stream)
}

pub fn exact(stream: &mut impl Read, count: usize) -> Vec<u8> {
    let mut data = vec![0; count];
    stream.read_exact(&mut data).expect("data from the server");
    data
}

/// Sends an option; returns the last answer.
pub fn ask(stream: &mut (impl Read + Write), number: u32, data: &[u8]) -> u32 {
    stream.write_all(&option(number, data)).expect("sent");
    stream.flush().expect("sent");
    loop {
        let header = exact(stream, AnswerHeader::LENGTH);
        let header = AnswerHeader::parse(&header).expect("an answer");
        exact(stream, header.length as usize);
        if header.answer != answer::INFO {
            return header.answer;
        }
    }
}

fn request(command: Command, cookie: u64, range: (u64, u64)) -> Vec<u8> {
    let request = Request {
        flags: 0,
        command,
        cookie,
        offset: range.0,
        length: range.1,
    };
    let mut data = [0; Request::MAX_LENGTH];
    let length = request.emit(Headers::Simple, &mut data);
    data[..length].to_vec()
}

/// Reads the reply to the request `cookie`; returns its data.
fn reply(stream: &mut impl Read, cookie: u64, count: usize) -> Vec<u8> {
    let header = exact(stream, Simple::LENGTH);
    let header = Simple::parse(&header).expect("a reply");
    assert_eq!((header.cookie, header.error), (cookie, 0));
    exact(stream, count)
}

/// Writes a block and reads it back.
pub fn check_connection(stream: &mut (impl Read + Write)) {
    let write = [request(Command::Write, 1, (512, 512)), vec![7; 512]].concat();
    stream.write_all(&write).expect("sent");
    reply(stream, 1, 0);
    let read = request(Command::Read, 2, (512, 512));
    stream.write_all(&read).expect("sent");
    assert_eq!(reply(stream, 2, 512), [7; 512]);
}

#[test]
fn data_are_transferred_with_each_version() {
    let running = Running::start(false);
    let data: Vec<u8> = (0..SIZE).map(|at| (at * at / 99) as u8).collect();
    for version in [&TLS12, &TLS13] {
        let mut stream = running.client_with(&[version], None);
        assert_eq!(
            stream.conn.protocol_version(),
            Some(version.version),
            "{version:?}"
        );
        let write = [request(Command::Write, 1, (0, SIZE)), data.clone()].concat();
        stream.write_all(&write).expect("sent");
        reply(&mut stream, 1, 0);
        // More replies than fit in the output buffer.
        let reads: Vec<u8> = (0..200)
            .flat_map(|cookie| request(Command::Read, cookie, (0, SIZE)))
            .collect();
        stream.write_all(&reads).expect("sent");
        for cookie in 0..200 {
            assert!(reply(&mut stream, cookie, SIZE as usize) == data);
        }
        let end = request(Command::Disconnect, 0, (0, 0));
        stream.write_all(&end).expect("sent");
        // The server announces the end; otherwise the library would return an error.
        assert_eq!(stream.read(&mut [0; 1]).expect("an end"), 0);
    }
    let counts = running.stop().counts;
    assert_eq!((counts.reads, counts.writes, counts.failed), (400, 2, 0));
}

#[test]
fn many_requests_in_one_record_are_all_answered() {
    let running = Running::start(false);
    let mut stream = running.client();
    // A record of 16 KiB contains more requests than the limit of unanswered ones.
    let reads: Vec<u8> = (0..2000)
        .flat_map(|cookie| request(Command::Read, cookie, (0, 512)))
        .collect();
    stream.write_all(&reads).expect("sent");
    for cookie in 0..2000 {
        reply(&mut stream, cookie, 512);
    }
    assert_eq!(running.stop().counts.reads, 2000);
}

#[test]
fn a_client_that_reads_late_receives_everything() {
    let running = Running::start(false);
    let mut late = running.client();
    let mut other = running.client();
    // At some sizes, the remaining data are encrypted before they wait for the socket.
    for length in (64..=512).map(|kib| kib << 10).step_by(8) {
        let read = request(Command::Read, 1, (0, length));
        late.write_all(&read).expect("sent");
        // When the server answers this client, it has sent all that it can to the first.
        check_connection(&mut other);
        reply(&mut late, 1, length as usize);
    }
    running.stop();
}

#[test]
fn options_in_one_record_are_all_answered() {
    let running = Running::start(false);
    let mut stream = encrypt(running.start_tls(), &running.authority, &[&TLS13], None);
    // More than the server reads at a time during a handshake.
    let info = option(code::INFO, &choice());
    stream.write_all(&info.repeat(600)).expect("sent");
    for _ in 0..600 {
        loop {
            let header = exact(&mut stream, AnswerHeader::LENGTH);
            let header = AnswerHeader::parse(&header).expect("an answer");
            exact(&mut stream, header.length as usize);
            if header.answer == answer::ACK {
                break;
            }
        }
    }
    assert_eq!(ask(&mut stream, code::GO, &choice()), answer::ACK);
    check_connection(&mut stream);
    running.stop();
}

#[test]
fn a_client_with_a_certificate_is_accepted() {
    let running = Running::start(true);
    for version in [&TLS12, &TLS13] {
        let issued = running.authority.issue("client");
        check_connection(&mut running.client_with(&[version], Some(issued)));
    }
    assert_eq!(running.stop().connections, 2);
}
