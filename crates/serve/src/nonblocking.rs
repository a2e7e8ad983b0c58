//! Helpers for threads that serve non-blocking sockets: waiting, waking, and byte queues.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};

/// Returns true for the error of a call that would have blocked or should be repeated.
pub(crate) fn is_retryable(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Wakes a thread that waits in [`wait`].
pub struct Waker(UnixStream);

impl Waker {
    pub fn new() -> io::Result<(Self, WakeReceiver)> {
        let (waker, receiver) = UnixStream::pair()?;
        waker.set_nonblocking(true)?;
        receiver.set_nonblocking(true)?;
        Ok((Self(waker), WakeReceiver(receiver)))
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Wakes the thread. If the socket is full, the thread is already awake or has ended.
    pub fn wake(&self) {
        let _ = (&self.0).write(&[1]);
    }
}

/// The end of a [`Waker`] that belongs to the waiting thread.
pub struct WakeReceiver(UnixStream);

impl WakeReceiver {
    pub fn clear(&mut self) {
        while matches!(self.0.read(&mut [0; 64]), Ok(64)) {}
    }
}

impl AsFd for WakeReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits until one of `sockets` is ready or `deadline` has passed. Panics if the operating system
/// is out of memory.
pub fn wait(sockets: &mut [PollFd<'_>], deadline: Option<Instant>) {
    let timeout = deadline.map(|deadline| {
        let remaining = deadline.saturating_duration_since(Instant::now());
        // This is far below the largest timeout that a `Timespec` can hold.
        let left = remaining.min(Duration::from_secs(3600));
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

/// A first-in, first-out queue of bytes with a fixed capacity.
pub struct ByteQueue {
    data: Box<[u8]>,
    start: usize,
    end: usize,
}

impl ByteQueue {
    pub fn new(size: usize) -> Self {
        Self {
            data: vec![0; size].into_boxed_slice(),
            start: 0,
            end: 0,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.data[self.start..self.end]
    }

    /// Removes the first `count` bytes and returns them.
    pub fn take(&mut self, count: usize) -> &[u8] {
        let start = self.start;
        self.consume(count);
        &self.data[start..start + count]
    }

    pub fn consume(&mut self, count: usize) {
        self.start += count;
        assert!(self.start <= self.end, "only queued bytes can be removed");
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Returns the free space. The caller passes the number of bytes that it has filled to
    /// [`Self::added`].
    pub fn room(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.data.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        &mut self.data[self.end..]
    }

    pub fn room_len(&self) -> usize {
        self.data.len() - (self.end - self.start)
    }

    /// Appends the first `count` bytes of the free space.
    pub fn added(&mut self, count: usize) {
        self.end += count;
        assert!(
            self.end <= self.data.len(),
            "the bytes must fit in the queue"
        );
    }

    /// Appends `data`. Panics if they do not fit.
    pub fn push(&mut self, data: &[u8]) {
        self.room()[..data.len()].copy_from_slice(data);
        self.added(data.len());
    }
}
