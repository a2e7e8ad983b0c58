//! Sockets of both kinds that listen, and waiting for sockets.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};

use crate::stream::{Socket, Stream};

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Addresses of a host and port.
    Tcp(Vec<SocketAddr>),
    /// `unix:PATH`.
    Unix(PathBuf),
}

impl Address {
    /// What is expected of the text.
    pub const EXPECTED: &str = "HOST:PORT, or unix:PATH";

    /// Parses it; `None` if it is none, or the host has no address.
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

    /// Whether other machines can reach it.
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
                let found: Vec<String> = found.iter().map(ToString::to_string).collect();
                f.write_str(&found.join(", "))
            }
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A socket that accepts connections. A Unix socket's file is removed with it.
pub struct Listener {
    socket: Listening,
    /// The file to remove.
    path: Option<PathBuf>,
}

enum Listening {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Listens at `address`.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn bind(address: &Address) -> io::Result<Self> {
        let (socket, path) = match address {
            Address::Tcp(found) => (Listening::Tcp(TcpListener::bind(&found[..])?), None),
            Address::Unix(path) => (Listening::Unix(bind_unix(path)?), Some(path.clone())),
        };
        Self::of(socket, path)
    }

    /// The sockets that systemd has opened for this process, if any.
    ///
    /// # Errors
    /// If one of them is neither of both kinds.
    pub fn activated() -> io::Result<Vec<Self>> {
        let mut given = listenfd::ListenFd::from_env();
        let mut all = Vec::new();
        for index in 0..given.len() {
            let socket = match given.take_tcp_listener(index) {
                Ok(Some(socket)) => Listening::Tcp(socket),
                Ok(None) => continue,
                Err(_) => match given.take_unix_listener(index)? {
                    Some(socket) => Listening::Unix(socket),
                    None => continue,
                },
            };
            all.push(Self::of(socket, None)?);
        }
        Ok(all)
    }

    fn of(socket: Listening, path: Option<PathBuf>) -> io::Result<Self> {
        match &socket {
            Listening::Tcp(socket) => socket.set_nonblocking(true)?,
            Listening::Unix(socket) => socket.set_nonblocking(true)?,
        }
        Ok(Self { socket, path })
    }

    /// Whether other machines can reach it.
    pub fn is_public(&self) -> bool {
        match &self.socket {
            Listening::Tcp(socket) => {
                let address = socket.local_addr();
                address.is_ok_and(|address| !address.ip().is_loopback())
            }
            Listening::Unix(_) => false,
        }
    }

    /// Its address, unless it is a Unix socket.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        match &self.socket {
            Listening::Tcp(socket) => socket.local_addr().ok(),
            Listening::Unix(_) => None,
        }
    }

    /// Its address as a URI of NBD (doc/uri.md of the NBD project), for the export `name`, whose
    /// clients have to encrypt if it is `secure`.
    pub fn uri(&self, name: &str, secure: bool) -> String {
        let name = escaped(name);
        let scheme = if secure { "nbds" } else { "nbd" };
        match &self.socket {
            Listening::Tcp(socket) => match socket.local_addr() {
                Ok(address) => format!("{scheme}://{address}/{name}"),
                Err(_) => format!("{scheme}:///{name}"),
            },
            Listening::Unix(socket) => {
                let address = socket.local_addr();
                let path = address.ok().and_then(|address| {
                    // Clients run elsewhere.
                    let path = std::path::absolute(address.as_pathname()?).ok()?;
                    Some(path.display().to_string())
                });
                let path = escaped(&path.unwrap_or_default());
                format!("{scheme}+unix:///{name}?socket={path}")
            }
        }
    }

    /// Waits for a connection to a Unix socket, whose calls then wait, too.
    ///
    /// # Errors
    /// Those of the operating system, or if it is another kind of socket.
    pub fn accept_unix(&self) -> io::Result<UnixStream> {
        let Listening::Unix(socket) = &self.socket else {
            return Err(io::Error::other("not a Unix socket"));
        };
        socket.set_nonblocking(false)?;
        socket.accept().map(|(stream, _)| stream)
    }

    /// The next connection, if one waits.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        let accepted = match &self.socket {
            Listening::Tcp(socket) => socket.accept().and_then(|(stream, _)| {
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Ok(Socket::Tcp(stream))
            }),
            Listening::Unix(socket) => socket.accept().and_then(|(stream, _)| {
                stream.set_nonblocking(true)?;
                Ok(Socket::Unix(stream))
            }),
        };
        match accepted {
            Ok(socket) => Ok(Some(Stream::new(socket))),
            Err(error) if is_later(&error) || error.kind() == ErrorKind::ConnectionAborted => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Binds a Unix socket; the file of one on which nobody listens any more is replaced.
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

/// A text in a URI: unreserved characters and slashes stay (RFC 3986).
fn escaped(text: &str) -> String {
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
            // Nothing can be done about one that somebody else has removed.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Listening::Tcp(socket) => socket.as_fd(),
            Listening::Unix(socket) => socket.as_fd(),
        }
    }
}

/// Whether a call would have had to wait, or should be repeated.
pub(crate) fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Wakes a thread that waits in [`wait`].
pub struct Waker(UnixStream);

impl Waker {
    /// A waker, and what the thread waits for.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn new() -> io::Result<(Self, WakeReceiver)> {
        let (waker, woken) = UnixStream::pair()?;
        waker.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        Ok((Self(waker), WakeReceiver(woken)))
    }

    /// The same waker for somebody else.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn another(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Wakes the thread. If the socket is full it is awake already, or gone.
    pub fn wake(&self) {
        let _ = (&self.0).write(&[1]);
    }
}

/// The thread's side of a [`Waker`].
pub struct WakeReceiver(UnixStream);

impl WakeReceiver {
    /// Takes all that woke it.
    pub fn clear(&mut self) {
        while matches!(self.0.read(&mut [0; 64]), Ok(64)) {}
    }
}

impl AsFd for WakeReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits until one of `sockets` is ready, or it is `until`.
///
/// # Panics
/// If the operating system has no memory for it.
pub fn wait(sockets: &mut [PollFd<'_>], until: Option<Instant>) {
    let timeout = until.map(|until| {
        let left = until.saturating_duration_since(Instant::now());
        // The longest that a timeout can hold is far longer than this.
        let left = left.min(Duration::from_secs(3600));
        Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        }
    });
    match poll(sockets, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => panic!("poll: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed() {
        let local = Address::parse("127.0.0.1:0").expect("an address");
        assert!(!local.is_public());
        assert!(
            Address::parse("[::]:10809")
                .expect("an address")
                .is_public()
        );
        assert!(Address::parse("0.0.0.0:1").expect("an address").is_public());
        let unix = Address::parse("unix:/a b").expect("an address");
        assert_eq!(unix, Address::Unix("/a b".into()));
        assert!(!unix.is_public());
        for wrong in ["", "unix:", "10809", "127.0.0.1"] {
            assert_eq!(Address::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_socket_that_nobody_listens_to_is_replaced() {
        let name = format!("diskarm-{} socket", std::process::id());
        let path = std::env::temp_dir().join(name);
        // Its file stays when it is dropped.
        drop(UnixListener::bind(&path).expect("a socket"));
        let address = Address::Unix(path.clone());
        let listener = Listener::bind(&address).expect("a socket");
        assert!(
            listener
                .uri("a/b c", false)
                .starts_with("nbd+unix:///a/b%20c?socket=/")
        );
        assert!(listener.uri("", true).starts_with("nbds+unix:///?socket="));
        assert!(listener.uri("", true).ends_with("%20socket"));
        assert!(Listener::bind(&address).is_err());
        drop(listener);
        assert!(!path.exists());
    }
}
