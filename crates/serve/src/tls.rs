//! TLS on a connection, with `rustls`: no more than turning bytes into bytes.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, ServerConnection};

use crate::sockets::is_later;

/// How often a socket is read at most before others have their turn; each time yields up to 4 KiB.
const READS: usize = 128;

/// How connections are encrypted: TLS 1.2 or 1.3, with the certificate of a server.
#[derive(Clone, Debug)]
pub struct Tls {
    config: Arc<ServerConfig>,
    /// Whether clients that do not encrypt are refused.
    pub is_required: bool,
}

/// Why certificates cannot be used.
#[derive(Debug)]
pub enum TlsError {
    /// A file cannot be read.
    Unread {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file has not what it should have.
    Unsound {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Unsound {
                path,
                found,
                expected,
            } => write!(f, "{}: found {found}, expected {expected}", path.display()),
        }
    }
}

impl std::error::Error for TlsError {}

impl Tls {
    /// The server's certificate with those that lead to its issuer.
    pub const CERTIFICATE: &str = "server-cert.pem";
    /// The key of that certificate.
    pub const KEY: &str = "server-key.pem";
    /// The certificates of those who may issue certificates of clients.
    pub const AUTHORITY: &str = "ca-cert.pem";

    /// Reads the files of a `folder`, which are called as nbdkit and QEMU call them. With
    /// `verifies_clients` only clients connect that have a certificate of the authority; otherwise
    /// they are asked for none. Clients that do not encrypt are refused.
    ///
    /// # Errors
    /// If a file cannot be read, or does not have what it should.
    pub fn load(folder: &Path, verifies_clients: bool) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let certificates = certificates(folder.join(Self::CERTIFICATE))?;
        let path = folder.join(Self::KEY);
        let key = PrivateKeyDer::from_pem_slice(&read(&path)?);
        let key = key.map_err(|error| unsound(&path, error, "a private key in PEM"))?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions();
        let builder = builder.unwrap_or_else(|error| panic!("ring has these versions: {error}"));
        let builder = match verifies_clients {
            true => builder.with_client_cert_verifier(verifier(folder, provider)?),
            false => builder.with_no_client_auth(),
        };
        let config = builder.with_single_cert(certificates, key);
        let expected = "the key of the certificate next to it";
        let mut config = config.map_err(|error| unsound(&path, error, expected))?;
        // Disks are not connected to so often that resumed sessions would be worth their memory.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self {
            config: Arc::new(config),
            is_required: true,
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
        added.map_err(|error| unsound(&path, error, expected))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let verifier = verifier.build();
    verifier.map_err(|error| unsound(&path, error, expected))
}

/// The certificates in a file, at least one.
fn certificates(path: PathBuf) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let data = read(&path)?;
    let found: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&data).collect();
    let expected = "certificates in PEM";
    match found {
        Ok(found) if found.is_empty() => Err(unsound(&path, "none", expected)),
        Ok(found) => Ok(found),
        Err(error) => Err(unsound(&path, error, expected)),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Unread {
        path: path.to_owned(),
        source,
    })
}

fn unsound(path: &Path, found: impl ToString, expected: &'static str) -> TlsError {
    TlsError::Unsound {
        path: path.to_owned(),
        found: found.to_string(),
        expected,
    }
}

/// The server's side of TLS on a socket that never blocks.
pub struct Session {
    connection: ServerConnection,
    /// How many decrypted bytes nobody has taken yet.
    unread: usize,
}

impl Session {
    /// Begins a handshake.
    ///
    /// # Errors
    /// If there is no random number to be had.
    pub fn new(tls: &Tls) -> io::Result<Self> {
        let connection = ServerConnection::new(Arc::clone(&tls.config));
        Ok(Self {
            connection: connection.map_err(io::Error::other)?,
            unread: 0,
        })
    }

    /// Reads and decrypts what is there; `None` if nothing is. Continues with the handshake.
    ///
    /// # Errors
    /// Those of the socket, the end of the connection, and whatever is not TLS.
    pub fn receive(
        &mut self,
        socket: &mut (impl Read + Write),
        data: &mut [u8],
    ) -> io::Result<Option<usize>> {
        let mut count = 0;
        for _ in 0..READS {
            if count == data.len() {
                break;
            }
            match self.connection.reader().read(&mut data[count..]) {
                Ok(0) => return end(count),
                Ok(read) => {
                    count += read;
                    self.unread -= read;
                    continue;
                }
                Err(error) if is_later(&error) => {}
                Err(error) => return Err(error),
            }
            match self.connection.read_tls(socket) {
                Ok(0) => return end(count),
                Ok(_) => {}
                Err(error) if is_later(&error) => break,
                Err(error) => return Err(error),
            }
            let state = self.connection.process_new_packets();
            // Of an error, too, the client is told.
            self.flush(socket)?;
            self.unread = state.map_err(io::Error::other)?.plaintext_bytes_to_read();
        }
        Ok((count > 0).then_some(count))
    }

    /// Encrypts as much as there is room for; `None` if that is nothing.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn send(&mut self, socket: &mut impl Write, data: &[u8]) -> io::Result<Option<usize>> {
        if !self.flush(socket)? {
            return Ok(None);
        }
        let count = self.connection.writer().write(data)?;
        self.flush(socket)?;
        Ok(Some(count))
    }

    /// Sends what has been encrypted; returns whether nothing is left.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn flush(&mut self, socket: &mut impl Write) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(socket) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if is_later(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Whether decrypted bytes wait to be read, of which the socket says nothing.
    pub fn has_input(&self) -> bool {
        self.unread > 0
    }

    /// Whether encrypted bytes wait for room in the socket.
    pub fn has_output(&self) -> bool {
        self.connection.wants_write()
    }

    /// Tells the client that nothing more comes, if the socket has room for it.
    pub fn close(&mut self, socket: &mut impl Write) {
        self.connection.send_close_notify();
        let _ = self.flush(socket);
    }
}

/// What was read before the connection ended.
fn end(count: usize) -> io::Result<Option<usize>> {
    match count {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(Some(count)),
    }
}
