//! Listening sockets and connections, over TCP and Unix sockets.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::nonblocking::is_retryable;
use crate::tls::{Tls, TlsSession};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// The addresses of `HOST:PORT`.
    Tcp(Vec<SocketAddr>),
    /// A socket file, `unix:PATH`.
    Unix(PathBuf),
}

impl Address {
    /// The "expected" part of the message about an invalid address.
    pub const EXPECTED: &str = "HOST:PORT, or unix:PATH";

    /// Returns `None` if the text is invalid or the host has no address.
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("unix:") {
            Some("") => None,
            Some(path) => Some(Self::Unix(path.into())),
            None => {
                let found: Vec<SocketAddr> = text.to_socket_addrs().ok()?.collect();
                (!found.is_empty()).then_some(Self::Tcp(found))
            }
        }
    }

    /// Returns true if other machines can reach the address.
    pub fn is_public(&self) -> bool {
        match self {
            Self::Tcp(found) => found.iter().any(|address| !address.ip().is_loopback()),
            Self::Unix(_) => false,
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(found) => {
                let addresses: Vec<String> = found.iter().map(ToString::to_string).collect();
                f.write_str(&addresses.join(", "))
            }
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A socket that accepts connections. The file of a Unix socket is removed on drop.
pub struct Listener {
    socket: ListeningSocket,
    path: Option<PathBuf>,
}

enum ListeningSocket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    pub fn bind(address: &Address) -> io::Result<Self> {
        let (socket, path) = match address {
            Address::Tcp(found) => (ListeningSocket::Tcp(TcpListener::bind(&found[..])?), None),
            Address::Unix(path) => (ListeningSocket::Unix(bind_unix(path)?), Some(path.clone())),
        };
        Self::new(socket, path)
    }

    /// Returns the sockets that systemd opened. Fails unless all of them are TCP or Unix sockets.
    pub fn activated() -> io::Result<Vec<Self>> {
        let mut given = listenfd::ListenFd::from_env();
        let mut all = Vec::new();
        for index in 0..given.len() {
            let socket = match given.take_tcp_listener(index) {
                Ok(Some(socket)) => ListeningSocket::Tcp(socket),
                Ok(None) => continue,
                Err(_) => match given.take_unix_listener(index)? {
                    Some(socket) => ListeningSocket::Unix(socket),
                    None => continue,
                },
            };
            all.push(Self::new(socket, None)?);
        }
        Ok(all)
    }

    fn new(socket: ListeningSocket, path: Option<PathBuf>) -> io::Result<Self> {
        match &socket {
            ListeningSocket::Tcp(socket) => socket.set_nonblocking(true)?,
            ListeningSocket::Unix(socket) => socket.set_nonblocking(true)?,
        }
        Ok(Self { socket, path })
    }

    /// Returns true if other machines can reach the socket.
    pub fn is_public(&self) -> bool {
        match &self.socket {
            ListeningSocket::Tcp(socket) => {
                let address = socket.local_addr();
                address.is_ok_and(|address| !address.ip().is_loopback())
            }
            ListeningSocket::Unix(_) => false,
        }
    }

    /// Returns the address of a TCP socket; `None` for a Unix socket.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        match &self.socket {
            ListeningSocket::Tcp(socket) => socket.local_addr().ok(),
            ListeningSocket::Unix(_) => None,
        }
    }

    /// Returns the NBD URI (doc/uri.md of the NBD project) of an export, with the TLS scheme if
    /// `secure`.
    pub fn uri(&self, name: &str, secure: bool) -> String {
        let name = percent_encode(name);
        let scheme = if secure { "nbds" } else { "nbd" };
        match &self.socket {
            ListeningSocket::Tcp(socket) => match socket.local_addr() {
                Ok(address) => format!("{scheme}://{address}/{name}"),
                Err(_) => format!("{scheme}:///{name}"),
            },
            ListeningSocket::Unix(socket) => {
                let address = socket.local_addr();
                let path = address.ok().and_then(|address| {
                    // Clients may have different working directories.
                    let path = std::path::absolute(address.as_pathname()?).ok()?;
                    Some(path.display().to_string())
                });
                let path = percent_encode(&path.unwrap_or_default());
                format!("{scheme}+unix:///{name}?socket={path}")
            }
        }
    }

    /// Waits for a connection to a Unix socket; returns it in blocking mode. Fails for a TCP
    /// socket.
    pub fn accept_unix(&self) -> io::Result<UnixStream> {
        let ListeningSocket::Unix(socket) = &self.socket else {
            return Err(io::Error::other("not a Unix socket"));
        };
        socket.set_nonblocking(false)?;
        socket.accept().map(|(stream, _)| stream)
    }

    pub fn accept(&self) -> io::Result<Option<Stream>> {
        let accepted = match &self.socket {
            ListeningSocket::Tcp(socket) => socket.accept().and_then(|(stream, _)| {
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                let local = stream.local_addr();
                let address = local.map_or_else(|_| String::new(), |address| address.to_string());
                Ok(Stream::new(Box::new(stream), address))
            }),
            ListeningSocket::Unix(socket) => socket.accept().and_then(|(stream, _)| {
                stream.set_nonblocking(true)?;
                Ok(Stream::new(Box::new(stream), String::new()))
            }),
        };
        match accepted {
            Ok(stream) => Ok(Some(stream)),
            Err(error) if is_retryable(&error) || error.kind() == ErrorKind::ConnectionAborted => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Binds a Unix socket, replacing the file of a socket that has no listener.
fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let reached = UnixStream::connect(path);
            match reached {
                Err(refused) if refused.kind() == ErrorKind::ConnectionRefused => {
                    std::fs::remove_file(path)?;
                    UnixListener::bind(path)
                }
                _ => Err(error),
            }
        }
        bound => bound,
    }
}

/// Percent-encodes text for a URI, except unreserved characters and slashes (RFC 3986).
fn percent_encode(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                escaped.push(char::from(byte));
            }
            _ => escaped += &format!("%{byte:02X}"),
        }
    }
    escaped
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // The file may already have been removed.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            ListeningSocket::Tcp(socket) => socket.as_fd(),
            ListeningSocket::Unix(socket) => socket.as_fd(),
        }
    }
}

pub(crate) trait Socket: Read + Write + AsFd + Send {}
impl<T: Read + Write + AsFd + Send> Socket for T {}

pub struct Stream {
    socket: Box<dyn Socket>,
    /// The local address as `HOST:PORT`; empty for a Unix socket.
    pub local_address: String,
    /// Present once the client has started TLS.
    tls: Option<Box<TlsSession>>,
}

impl Stream {
    fn new(socket: Box<dyn Socket>, local_address: String) -> Self {
        Self {
            socket,
            local_address,
            tls: None,
        }
    }

    /// Starts TLS: everything that follows, beginning with the handshake, is encrypted.
    pub fn secure(&mut self, tls: &Tls) -> io::Result<()> {
        self.tls = Some(Box::new(TlsSession::new(tls)?));
        Ok(())
    }

    /// Reads available input; returns `None` if there is none. Fails at the end of the connection.
    pub fn receive(&mut self, data: &mut [u8]) -> io::Result<Option<usize>> {
        if let Some(tls) = &mut self.tls {
            return tls.receive(&mut self.socket, data);
        }
        match self.socket.read(data) {
            Ok(0) if !data.is_empty() => Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => Ok(Some(count)),
            Err(error) if is_retryable(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends as much as the socket accepts; returns `None` if it accepts nothing.
    pub fn send(&mut self, data: &[u8]) -> io::Result<Option<usize>> {
        if let Some(tls) = &mut self.tls {
            return tls.send(&mut self.socket, data);
        }
        match self.socket.write(data) {
            Ok(count) => Ok(Some(count)),
            Err(error) if is_retryable(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends encrypted data for which the socket had no room.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => tls.flush(&mut self.socket).map(|_| ()),
        }
    }

    /// Returns true if decrypted input is waiting; poll(2) does not see it.
    pub fn has_input(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has_input())
    }

    /// Returns true if encrypted output is waiting for [`Self::flush`].
    pub fn has_output(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has_output())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.close(&mut self.socket);
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed() {
        for (text, is_public) in [
            ("[::]:10809", true),
            ("0.0.0.0:1", true),
            ("127.0.0.1:0", false),
            ("unix:/a b", false),
        ] {
            let address = Address::parse(text).expect(text);
            assert_eq!(address.is_public(), is_public, "{text}");
        }
        let unix = Address::Unix("/a b".into());
        assert_eq!(Address::parse("unix:/a b"), Some(unix));
        for wrong in ["", "unix:", "10809", "127.0.0.1"] {
            assert_eq!(Address::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_socket_without_a_listener_is_replaced() {
        let name = format!("diskarm-{} socket", std::process::id());
        let path = std::env::temp_dir().join(name);
        // The file remains after the socket is closed.
        drop(UnixListener::bind(&path).expect("a socket"));
        let address = Address::Unix(path.clone());
        let listener = Listener::bind(&address).expect("a socket");
        let uri = listener.uri("a/b c", false);
        assert!(uri.starts_with("nbd+unix:///a/b%20c?socket=/"));
        assert!(listener.uri("", true).starts_with("nbds+unix:///?socket="));
        assert!(listener.uri("", true).ends_with("%20socket"));
        assert!(Listener::bind(&address).is_err());
        drop(listener);
        assert!(!path.exists());
    }
}
