//! Formats replies.

use std::io;

use diskarm_wire::nbd::message::{Chunk, Extent, Failure, LongExtent, Simple, kind};
use diskarm_wire::nbd::{Error, ExtentFlags, Headers};

use super::job::{ALLOCATION, Job, JobKind, Refusal, store_error};
use crate::nonblocking::ByteQueue;
use crate::service::ConnectionError;
use crate::store::Store;

/// Longest data of a chunk, in bytes.
const MAX_CHUNK: u64 = 128 << 10;
/// Maximum number of extents of a block status reply.
const MAX_EXTENTS: usize = 1 << 10;
/// Maximum number of extents read from the store for such a reply.
const MAX_LOOKUPS: usize = 1 << 14;

/// A reply, which may be partly sent.
pub(super) struct Reply {
    pub job: Job,
    pub error: Option<Refusal>,
    /// Number of data bytes written to the output.
    pub done: u64,
}

pub(super) struct ReplyWriter<'a> {
    pub headers: Headers,
    pub output: &'a mut ByteQueue,
    pub store: &'a mut dyn Store,
}

impl ReplyWriter<'_> {
    /// Writes the reply to the output; returns false if there is no room for all of it.
    pub fn write(&mut self, reply: &mut Reply) -> Result<bool, ConnectionError> {
        // Enough for any message without data, with the longest error.
        if self.output.room_len() < 256 {
            return Ok(false);
        }
        if let Some((error, message)) = reply.error {
            self.error(&reply.job, error, message);
            return Ok(true);
        }
        match (reply.job.kind, self.headers) {
            (JobKind::Read, Headers::Simple) => self.simple_read(reply),
            (JobKind::Read, _) => Ok(self.chunked_read(reply)),
            (JobKind::Status, _) => Ok(self.status(&reply.job)),
            _ => {
                self.success(&reply.job);
                Ok(true)
            }
        }
    }

    fn success(&mut self, job: &Job) {
        match self.headers {
            Headers::Extended => self.chunk(job, true, kind::NONE, 0),
            _ => self.simple(job, 0),
        }
    }

    fn error(&mut self, job: &Job, error: Error, message: &'static str) {
        if self.headers == Headers::Simple {
            return self.simple(job, error.code());
        }
        let mut data = [0; 128];
        let length = Failure { error, message }.emit(&mut data);
        self.chunk(job, true, kind::ERROR, length as u64);
        self.put(&data[..length]);
    }

    fn simple(&mut self, job: &Job, error: u32) {
        let reply = Simple {
            magic: Simple::MAGIC,
            error,
            cookie: job.cookie,
        };
        self.put(&reply.emit());
    }

    fn chunk(&mut self, job: &Job, is_last: bool, kind: u16, length: u64) {
        let chunk = Chunk {
            is_last,
            kind,
            cookie: job.cookie,
            offset: job.offset,
            length,
        };
        let length = chunk.emit(self.headers, self.output.room());
        self.output.added(length);
    }

    fn put(&mut self, data: &[u8]) {
        self.output.room()[..data.len()].copy_from_slice(data);
        self.output.added(data.len());
    }

    fn simple_read(&mut self, reply: &mut Reply) -> Result<bool, ConnectionError> {
        let job = reply.job;
        // Errors can be reported until the header has been sent.
        let room = self.output.room_len() - Simple::LENGTH;
        let count = (job.length - reply.done).min(room as u64) as usize;
        let begins = if reply.done == 0 { Simple::LENGTH } else { 0 };
        let data = &mut self.output.room()[begins..begins + count];
        match self.store.read(job.offset + reply.done, data) {
            Ok(()) if begins > 0 => {
                let header = Simple {
                    magic: Simple::MAGIC,
                    error: 0,
                    cookie: job.cookie,
                };
                self.output.room()[..begins].copy_from_slice(&header.emit());
            }
            Ok(()) => {}
            Err(error) if begins > 0 => {
                let (error, message) = store_error(&error);
                self.error(&job, error, message);
                return Ok(true);
            }
            Err(_) => return Err(ConnectionError),
        }
        self.output.added(begins + count);
        reply.done += count as u64;
        Ok(reply.done == job.length)
    }

    fn chunked_read(&mut self, reply: &mut Reply) -> bool {
        const OFFSET: usize = 8;
        let job = reply.job;
        if job.is_undivided && job.length > MAX_CHUNK {
            self.error(&job, Error::Overflow, "too long for one chunk");
            return true;
        }
        let header = Chunk::header_length(self.headers) + OFFSET;
        while reply.done < job.length {
            let count = (job.length - reply.done).min(MAX_CHUNK);
            if self.output.room_len() < header + count as usize {
                return false;
            }
            let at = job.offset + reply.done;
            let data = &mut self.output.room()[header..][..count as usize];
            if let Err(error) = self.store.read(at, data) {
                let (error, message) = store_error(&error);
                self.error(&job, error, message);
                return true;
            }
            reply.done += count;
            let is_last = reply.done == job.length;
            self.chunk(&job, is_last, kind::DATA, OFFSET as u64 + count);
            self.put(&at.to_be_bytes());
            self.output.added(count as usize);
        }
        true
    }

    fn status(&mut self, job: &Job) -> bool {
        let is_long = self.headers == Headers::Extended;
        let size = if is_long {
            LongExtent::LENGTH
        } else {
            Extent::LENGTH
        };
        let header = Chunk::header_length(self.headers) + 8;
        if self.output.room_len() < header + MAX_EXTENTS * size {
            return false;
        }
        let extents = match extents(self.store, job, is_long) {
            Ok(extents) => extents,
            Err(error) => {
                let (error, message) = store_error(&error);
                self.error(job, error, message);
                return true;
            }
        };
        let length = extents.len() * size;
        if is_long {
            self.chunk(job, true, kind::STATUS_EXTENDED, 8 + length as u64);
            self.put(&ALLOCATION.to_be_bytes());
            self.put(&(extents.len() as u32).to_be_bytes());
        } else {
            self.chunk(job, true, kind::STATUS, 4 + length as u64);
            self.put(&ALLOCATION.to_be_bytes());
        }
        for (length, is_hole) in extents {
            let flags = ExtentFlags {
                hole: is_hole,
                zero: is_hole,
            };
            let flags = u32::from_be_bytes(flags.emit());
            if is_long {
                let flags = u64::from(flags);
                self.put(&LongExtent { length, flags }.emit());
            } else {
                let length = length as u32;
                self.put(&Extent { length, flags }.emit());
            }
        }
        true
    }
}

/// The extents of the blocks of `job`: the length of each, and whether it is a hole.
fn extents(store: &mut dyn Store, job: &Job, is_long: bool) -> io::Result<Vec<(u64, bool)>> {
    // The longest whole number of sectors in 32 bits.
    let max = if is_long {
        u64::MAX
    } else {
        u64::from(u32::MAX) & !0xffff
    };
    let limit = if job.is_undivided { 1 } else { MAX_EXTENTS };
    let mut extents: Vec<(u64, bool)> = Vec::new();
    let (mut at, end) = (job.offset, job.offset + job.length.min(max));
    for _ in 0..MAX_LOOKUPS {
        if at == end {
            break;
        }
        let found = store.extent(at, end - at)?;
        let is_full = extents.len() == limit;
        match extents.last_mut() {
            Some((length, is_hole)) if *is_hole == found.is_hole => *length += found.length,
            _ if is_full => break,
            _ => extents.push((found.length, found.is_hole)),
        }
        at += found.length;
    }
    Ok(extents)
}
