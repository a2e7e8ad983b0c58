//! TLS on a connection, with `rustls`.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, ServerConnection};

use crate::nonblocking::is_retryable;

/// Maximum number of reads from a socket, of up to 4 KiB each, before the next socket's turn.
const MAX_READS: usize = 128;

/// The TLS configuration of a server: TLS 1.2 or 1.3, with a certificate.
#[derive(Clone, Debug)]
pub struct Tls {
    config: Arc<ServerConfig>,
    /// True if clients that do not encrypt are refused.
    pub is_required: bool,
    /// The key's file, if other users of this machine can read or replace the key.
    pub exposed_key: Option<PathBuf>,
}

#[derive(Debug)]
pub enum TlsError {
    Unreadable {
        path: PathBuf,
        source: io::Error,
    },
    Invalid {
        path: PathBuf,
        found: String,
        expected: &'static str,
    },
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Invalid {
                path,
                found,
                expected,
            } => write!(f, "{}: found {found}, expected {expected}", path.display()),
        }
    }
}

impl std::error::Error for TlsError {}

impl Tls {
    /// The server's certificate with its chain.
    pub const CERTIFICATE: &str = "server-cert.pem";
    pub const KEY: &str = "server-key.pem";
    /// The certificates of the authorities that sign client certificates.
    pub const AUTHORITY: &str = "ca-cert.pem";

    /// Reads the files in `folder`; nbdkit and QEMU use the same file names. Clients must encrypt.
    /// If `verifies_clients` is true, they must also have a certificate signed by an authority.
    pub fn load(folder: &Path, verifies_clients: bool) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let certificates = certificates(folder.join(Self::CERTIFICATE))?;
        let path = folder.join(Self::KEY);
        let parsed = PrivateKeyDer::from_pem_slice(&read(&path)?);
        let is_exposed = fs::metadata(&path).is_ok_and(|found| found.mode() & 0o066 != 0);
        let key = parsed.map_err(|error| invalid_file(&path, error, "a private key in PEM"))?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let versioned = builder.with_safe_default_protocol_versions();
        let base =
            versioned.unwrap_or_else(|error| panic!("ring supports the default versions: {error}"));
        let authenticated = if verifies_clients {
            base.with_client_cert_verifier(verifier(folder, provider)?)
        } else {
            base.with_no_client_auth()
        };
        let config = authenticated.with_single_cert(certificates, key);
        let expected = "the key of the certificate in server-cert.pem";
        let mut config = config.map_err(|error| invalid_file(&path, error, expected))?;
        // Connections are too rare for resumed sessions to be worth their memory.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self {
            config: Arc::new(config),
            is_required: true,
            exposed_key: is_exposed.then_some(path),
        })
    }
}

fn verifier(
    folder: &Path,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, TlsError> {
    let path = folder.join(Tls::AUTHORITY);
    let expected = "certificates of authorities";
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path.clone())? {
        let added = roots.add(certificate);
        added.map_err(|error| invalid_file(&path, error, expected))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let verifier = builder.build();
    verifier.map_err(|error| invalid_file(&path, error, expected))
}

/// Reads the certificates in a file, which must contain at least one.
fn certificates(path: PathBuf) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let data = read(&path)?;
    let found: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&data).collect();
    let expected = "certificates in PEM";
    match found {
        Ok(found) if found.is_empty() => Err(invalid_file(&path, "none", expected)),
        Ok(found) => Ok(found),
        Err(error) => Err(invalid_file(&path, error, expected)),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Unreadable {
        path: path.to_owned(),
        source,
    })
}

fn invalid_file(path: &Path, found: impl ToString, expected: &'static str) -> TlsError {
    TlsError::Invalid {
        path: path.to_owned(),
        found: found.to_string(),
        expected,
    }
}

/// The server's side of TLS on a non-blocking socket.
pub struct TlsSession {
    connection: ServerConnection,
    /// Number of decrypted bytes that have not been read.
    unread: usize,
}

impl TlsSession {
    pub fn new(tls: &Tls) -> io::Result<Self> {
        let connection = ServerConnection::new(Arc::clone(&tls.config));
        Ok(Self {
            connection: connection.map_err(io::Error::other)?,
            unread: 0,
        })
    }

    /// Continues the handshake, and reads and decrypts available input; returns `None` if there is
    /// no input. Also fails at the end of the connection.
    pub fn receive(
        &mut self,
        socket: &mut (impl Read + Write),
        data: &mut [u8],
    ) -> io::Result<Option<usize>> {
        let mut count = 0;
        for _ in 0..MAX_READS {
            if count == data.len() {
                break;
            }
            match self.connection.reader().read(&mut data[count..]) {
                Ok(0) => return end_of_input(count),
                Ok(read) => {
                    count += read;
                    self.unread -= read;
                    continue;
                }
                Err(error) if is_retryable(&error) => {}
                Err(error) => return Err(error),
            }
            match self.connection.read_tls(socket) {
                Ok(0) => return end_of_input(count),
                Ok(_) => {}
                Err(error) if is_retryable(&error) => break,
                Err(error) => return Err(error),
            }
            let state = self.connection.process_new_packets();
            // An alert must reach the client even after an error.
            self.flush(socket)?;
            self.unread = state.map_err(io::Error::other)?.plaintext_bytes_to_read();
        }
        Ok((count > 0).then_some(count))
    }

    /// Encrypts and sends as much data as fits; returns `None` if nothing fits.
    pub fn send(&mut self, socket: &mut impl Write, data: &[u8]) -> io::Result<Option<usize>> {
        if !self.flush(socket)? {
            return Ok(None);
        }
        let count = self.connection.writer().write(data)?;
        self.flush(socket)?;
        Ok(Some(count))
    }

    /// Sends encrypted output; returns true if none is left.
    pub fn flush(&mut self, socket: &mut impl Write) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(socket) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if is_retryable(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    pub fn has_input(&self) -> bool {
        self.unread > 0
    }

    pub fn has_output(&self) -> bool {
        self.connection.wants_write()
    }

    /// Announces the end of the connection to the client, if the socket has room.
    pub fn close(&mut self, socket: &mut impl Write) {
        self.connection.send_close_notify();
        let _ = self.flush(socket);
    }
}

/// Returns the result of a read at the end of the connection.
fn end_of_input(count: usize) -> io::Result<Option<usize>> {
    match count {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(Some(count)),
    }
}
