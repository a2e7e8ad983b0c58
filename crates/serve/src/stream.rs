//! Connections, over sockets of both kinds, in plain text or encrypted.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use crate::sockets::is_later;
use crate::tls::{Session, Tls};

/// A socket of a connection.
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A connection, which never blocks.
pub struct Stream {
    socket: Socket,
    /// What encrypts it, once its client has asked for that.
    tls: Option<Box<Session>>,
}

impl Stream {
    pub(crate) fn new(socket: Socket) -> Self {
        Self { socket, tls: None }
    }

    /// Encrypts what follows: the client begins a handshake.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn secure(&mut self, tls: &Tls) -> io::Result<()> {
        self.tls = Some(Box::new(Session::new(tls)?));
        Ok(())
    }

    /// Reads what is there; `None` if nothing is.
    ///
    /// # Errors
    /// Those of the operating system, the end of the connection, and whatever is not TLS where it
    /// should be.
    pub fn receive(&mut self, data: &mut [u8]) -> io::Result<Option<usize>> {
        if let Some(tls) = &mut self.tls {
            return tls.receive(&mut self.socket, data);
        }
        match self.socket.read(data) {
            Ok(0) if !data.is_empty() => Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => Ok(Some(count)),
            Err(error) if is_later(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends as much as there is room for; `None` if that is nothing.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn send(&mut self, data: &[u8]) -> io::Result<Option<usize>> {
        if let Some(tls) = &mut self.tls {
            return tls.send(&mut self.socket, data);
        }
        match self.socket.write(data) {
            Ok(count) => Ok(Some(count)),
            Err(error) if is_later(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends what waits for room in the socket since it was encrypted.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => tls.flush(&mut self.socket).map(|_| ()),
        }
    }

    /// Whether there is something to be read of which the socket says nothing.
    pub fn has_input(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has_input())
    }

    /// Whether there is something to be [`flushed`](Self::flush).
    pub fn has_output(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has_output())
    }

    /// The address at which it was accepted, as `HOST:PORT`; empty for a Unix socket.
    pub fn local_address(&self) -> String {
        match &self.socket {
            Socket::Tcp(stream) => {
                let address = stream.local_addr();
                address.map_or_else(|_| String::new(), |address| address.to_string())
            }
            Socket::Unix(_) => String::new(),
        }
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
        match &self.socket {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, data: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(data),
            Self::Unix(stream) => stream.read(data),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(data),
            Self::Unix(stream) => stream.write(data),
        }
    }

    fn write_vectored(&mut self, data: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write_vectored(data),
            Self::Unix(stream) => stream.write_vectored(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
