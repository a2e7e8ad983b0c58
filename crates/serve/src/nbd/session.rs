//! A connection after the handshake: parses requests and formats replies, but executes nothing.

use std::collections::VecDeque;
use std::io;

use diskarm_wire::nbd::message::{Chunk, Extent, Failure, LongExtent, Simple, kind};
use diskarm_wire::nbd::{Command, CommandFlags, Error, ExtentFlags, Headers, Request};

use super::job::{ALLOCATION, Job, JobKind, Refusal, store_error};
use crate::engine::{self, ConnectionError};
use crate::export::Facts;
use crate::nonblocking::ByteQueue;
use crate::power::WriteId;
use crate::store::Store;

/// Maximum number of unanswered requests of a connection; further ones wait in its socket.
pub const MAX_OUTSTANDING: usize = 256;

/// Size of the input and output buffers, in bytes.
const BUFFER: usize = 256 << 10;

/// The export that a client has chosen, and the negotiated options.
#[derive(Debug, PartialEq, Eq)]
pub struct NegotiatedExport {
    pub export: usize,
    pub headers: Headers,
    /// True if the client may request block status.
    pub has_status: bool,
    /// Input that followed the handshake.
    pub rest: Vec<u8>,
}

/// A connection that serves requests.
///
/// Write data are passed on as they arrive, and read data are fetched as they are sent, so a
/// session uses the same amount of memory for requests of any length.
pub struct NbdSession {
    facts: Facts,
    headers: Headers,
    has_status: bool,
    input: ByteQueue,
    output: ByteQueue,
    pub(super) receiving: Option<ReceivingJob>,
    /// Replies that can be sent. A part of the first may already have been sent.
    replies: VecDeque<Reply>,
    /// Number of requests whose replies have not been sent.
    outstanding: usize,
    is_ending: bool,
}

pub(super) struct ReceivingJob {
    job: Job,
    /// Offset in the export of the next data to arrive.
    offset: u64,
    left: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Input<'a> {
    /// A request that has arrived with all its data.
    Request(Job),
    /// A valid write; its data follow. The caller must call [`NbdSession::identify_write`].
    WriteStart { offset: u64, length: u64 },
    /// Whole sectors of a write. The caller must store them or call [`NbdSession::refuse_write`].
    WriteData {
        write: WriteId,
        offset: u64,
        data: &'a [u8],
    },
    /// Nothing can be done until more input arrives or replies have been sent.
    Wait,
    /// The input is not NBD; the connection must be closed.
    Invalid,
}

impl NbdSession {
    /// Creates a session after the handshake; `output` is the handshake's unsent output.
    pub fn new(facts: Facts, negotiated: &NegotiatedExport, output: &[u8]) -> Self {
        let mut session = Self {
            facts,
            headers: negotiated.headers,
            has_status: negotiated.has_status,
            input: ByteQueue::new(BUFFER),
            output: ByteQueue::new(BUFFER),
            receiving: None,
            replies: VecDeque::new(),
            outstanding: 0,
            is_ending: false,
        };
        session.input.push(&negotiated.rest);
        session.output.push(output);
        session
    }

    /// Returns the number of bytes that the next request changes, if it is a request that changes
    /// any and has arrived.
    pub fn next_change(&self) -> Option<u64> {
        let header = self
            .input
            .bytes()
            .get(..Request::header_length(self.headers));
        let request = Request::parse(self.headers, header?).ok()?;
        let changes = matches!(
            request.command,
            Command::Write | Command::Trim | Command::WriteZeroes
        );
        (changes && self.receiving.is_none()).then_some(request.length)
    }

    /// Returns true if all requests have been answered.
    pub fn has_answered_all(&self) -> bool {
        self.outstanding == 0
    }

    pub fn next_input(&mut self) -> Input<'_> {
        if self.is_ending {
            return Input::Wait;
        }
        match &self.receiving {
            None if self.outstanding == MAX_OUTSTANDING => Input::Wait,
            None => self.next_request(),
            Some(_) => self.next_data(),
        }
    }

    fn next_request(&mut self) -> Input<'_> {
        let length = Request::header_length(self.headers);
        let Some(header) = self.input.bytes().get(..length) else {
            return Input::Wait;
        };
        let Ok(request) = Request::parse(self.headers, header) else {
            return Input::Invalid;
        };
        self.input.consume(length);
        if request.command == Command::Disconnect {
            self.is_ending = true;
            return Input::Wait;
        }
        let is_extended = self.headers == Headers::Extended;
        let job = Job::new(&request, &self.facts, self.has_status, is_extended);
        self.outstanding += 1;
        let has_data = request.command == Command::Write || is_extended && has_payload(&request);
        if !has_data || request.length == 0 {
            return Input::Request(job);
        }
        self.receiving = Some(ReceivingJob {
            job,
            offset: job.offset,
            left: job.length,
        });
        if job.kind == JobKind::Write {
            return Input::WriteStart {
                offset: job.offset,
                length: job.length,
            };
        }
        self.next_data()
    }

    fn next_data(&mut self) -> Input<'_> {
        let Some(receiving) = &mut self.receiving else {
            return Input::Wait;
        };
        let available = self.input.bytes().len() as u64;
        let mut count = receiving.left.min(available) as usize;
        let is_write = receiving.job.kind == JobKind::Write;
        if is_write {
            // The buffer has room for at least one whole sector.
            count -= count % self.facts.sector.0 as usize;
        }
        let offset = receiving.offset;
        receiving.offset = offset.wrapping_add(count as u64);
        receiving.left -= count as u64;
        let job = receiving.job;
        if is_write && count > 0 {
            return Input::WriteData {
                write: job.write,
                offset,
                data: self.input.take(count),
            };
        }
        // Data of a refused request are skipped.
        self.input.consume(count);
        if receiving.left > 0 {
            return Input::Wait;
        }
        self.receiving = None;
        Input::Request(job)
    }

    /// Sets the id of the write that has just started, and its [limit](Job::is_limited).
    pub fn identify_write(&mut self, write: WriteId, is_limited: bool) {
        if let Some(receiving) = &mut self.receiving {
            receiving.job.write = write;
            receiving.job.is_limited = is_limited;
        }
    }

    /// Returns the length of the data that are arriving if the write [is limited](Job::is_limited).
    pub(super) fn limited_length(&self) -> u64 {
        let receiving = self.receiving.as_ref();
        let limited = receiving.filter(|receiving| receiving.job.is_limited);
        limited.map_or(0, |receiving| receiving.job.length)
    }

    /// Refuses the write whose data are arriving, and skips the rest of the data.
    pub fn refuse_write(&mut self, (error, message): Refusal) {
        if let Some(receiving) = &mut self.receiving {
            receiving.job.kind = JobKind::Refused(error, message);
        }
    }

    /// Removes and returns the write whose data are arriving, shortened to the data received so
    /// far. The write may have been refused since it started.
    pub(super) fn take_partial_write(&mut self) -> Option<Job> {
        let ReceivingJob { job, offset, .. } = self.receiving.take()?;
        (job.write != WriteId::NONE || job.kind == JobKind::Write).then(|| Job {
            length: offset - job.offset,
            ..job
        })
    }

    pub fn reply(&mut self, job: Job, error: Option<Refusal>) {
        let done = 0;
        self.replies.push_back(Reply { job, error, done });
    }

    /// Moves replies to the output while there is room, with data read from `store`. Ends after a
    /// block status, whose computation may take long. Fails if the store fails in the middle of a
    /// reply, when it is too late to report an error.
    pub fn fill(&mut self, store: &mut dyn Store) -> Result<(), ConnectionError> {
        while let Some(reply) = self.replies.front_mut() {
            let mut writer = ReplyWriter {
                headers: self.headers,
                output: &mut self.output,
                store,
            };
            if !writer.write(reply)? {
                break;
            }
            let was_status = reply.job.kind == JobKind::Status;
            self.replies.pop_front();
            self.outstanding -= 1;
            if was_status {
                break;
            }
        }
        Ok(())
    }

    /// Returns true if every complete request has been answered.
    pub fn is_idle(&self) -> bool {
        let receiving = usize::from(self.receiving.is_some());
        self.outstanding == receiving && self.output.bytes().is_empty()
    }
}

impl engine::Session for NbdSession {
    fn room(&mut self) -> &mut [u8] {
        self.input.room()
    }

    fn filled(&mut self, count: usize) {
        self.input.added(count);
    }

    fn wants_input(&self) -> bool {
        !self.is_ending && self.outstanding < MAX_OUTSTANDING && self.input.room_len() > 0
    }

    fn has_ended(&self) -> bool {
        self.is_ending && self.is_idle()
    }

    fn is_receiving(&self) -> bool {
        let unread = self.input.bytes().len();
        let is_partial = (1..Request::header_length(self.headers)).contains(&unread);
        !self.is_ending && (self.receiving.is_some() || is_partial)
    }

    fn output(&self) -> &[u8] {
        self.output.bytes()
    }

    fn sent(&mut self, count: usize) {
        self.output.consume(count);
    }
}

/// Returns true if an extended request has a payload; `length` is then the payload's length.
fn has_payload(request: &Request) -> bool {
    let flags = CommandFlags::parse(&request.flags.to_be_bytes());
    flags.is_ok_and(|flags| flags.payload)
}

const MAX_CHUNK: u64 = 128 << 10;
/// Maximum number of extents in a block status reply.
const MAX_EXTENTS: usize = 1 << 8;
/// Maximum number of extents read from the store for a block status reply; each takes about a
/// microsecond.
const MAX_LOOKUPS: usize = 1 << 8;

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
    /// Writes the reply to the output; returns false if only a part of it fits.
    pub fn write(&mut self, reply: &mut Reply) -> Result<bool, ConnectionError> {
        // This is enough for any message without data, even with the longest error.
        if self.output.room_len() < 256 {
            return Ok(false);
        }
        if let Some((error, message)) = reply.error {
            self.write_error(&reply.job, error, message);
            return Ok(true);
        }
        match (reply.job.kind, self.headers) {
            (JobKind::Read, Headers::Simple) => self.write_simple_read(reply),
            (JobKind::Read, _) => Ok(self.write_chunked_read(reply)),
            (JobKind::Status, _) => Ok(self.write_status(&reply.job)),
            _ => {
                self.write_success(&reply.job);
                Ok(true)
            }
        }
    }

    fn write_success(&mut self, job: &Job) {
        match self.headers {
            Headers::Extended => self.write_chunk(job, true, kind::NONE, 0),
            _ => self.write_simple(job, 0),
        }
    }

    fn write_error(&mut self, job: &Job, error: Error, message: &'static str) {
        if self.headers == Headers::Simple {
            return self.write_simple(job, error.code());
        }
        let data = Failure { error, message }.emit();
        self.write_chunk(job, true, kind::ERROR, data.len() as u64);
        self.put(&data);
    }

    fn write_simple(&mut self, job: &Job, error: u32) {
        let reply = Simple {
            magic: Simple::MAGIC,
            error,
            cookie: job.cookie,
        };
        self.put(&reply.emit());
    }

    fn write_chunk(&mut self, job: &Job, is_last: bool, kind: u16, length: u64) {
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

    fn write_simple_read(&mut self, reply: &mut Reply) -> Result<bool, ConnectionError> {
        let job = reply.job;
        // Errors can be reported until the header has been sent.
        let room = self.output.room_len() - Simple::LENGTH;
        let count = (job.length - reply.done).min(room as u64) as usize;
        let data_start = if reply.done == 0 { Simple::LENGTH } else { 0 };
        let data = &mut self.output.room()[data_start..data_start + count];
        match self.store.read(job.offset + reply.done, data) {
            Ok(()) if data_start > 0 => {
                let header = Simple {
                    magic: Simple::MAGIC,
                    error: 0,
                    cookie: job.cookie,
                };
                self.output.room()[..data_start].copy_from_slice(&header.emit());
            }
            Ok(()) => {}
            Err(error) if data_start > 0 => {
                let (error, message) = store_error(&error);
                self.write_error(&job, error, message);
                return Ok(true);
            }
            Err(_) => return Err(ConnectionError),
        }
        self.output.added(data_start + count);
        reply.done += count as u64;
        Ok(reply.done == job.length)
    }

    fn write_chunked_read(&mut self, reply: &mut Reply) -> bool {
        const OFFSET: usize = 8;
        let job = reply.job;
        if job.is_undivided && job.length > MAX_CHUNK {
            self.write_error(&job, Error::Overflow, "the data are too long for one chunk");
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
                self.write_error(&job, error, message);
                return true;
            }
            reply.done += count;
            let is_last = reply.done == job.length;
            self.write_chunk(&job, is_last, kind::DATA, OFFSET as u64 + count);
            self.put(&at.to_be_bytes());
            self.output.added(count as usize);
        }
        true
    }

    fn write_status(&mut self, job: &Job) -> bool {
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
                self.write_error(job, error, message);
                return true;
            }
        };
        let length = extents.len() * size;
        if is_long {
            self.write_chunk(job, true, kind::STATUS_EXTENDED, 8 + length as u64);
            self.put(&ALLOCATION.to_be_bytes());
            self.put(&(extents.len() as u32).to_be_bytes());
        } else {
            self.write_chunk(job, true, kind::STATUS, 4 + length as u64);
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

/// Returns the length of each extent in the blocks of `job`, and whether it is a hole.
fn extents(store: &mut dyn Store, job: &Job, is_long: bool) -> io::Result<Vec<(u64, bool)>> {
    // The largest length in whole sectors that fits in 32 bits.
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
