//! Requests and replies, after the handshake.

use std::collections::VecDeque;
use std::io;

use diskarm_wire::nbd::reply::{Chunk, Extent, Failure, LongExtent, Simple, kind};
use diskarm_wire::nbd::{Command, Error, ExtentFlags, Headers, Request};

use super::buffer::Buffer;
use super::handshake::Agreed;
use super::job::{Job, Kind};
use crate::export::Facts;
use crate::store::Store;

/// The longest data of a request or reply, in bytes: the longest command that the model takes, of
/// sectors of 512 bytes, and what clients may expect of any server (section "Size constraints").
pub const MAX_PAYLOAD: u64 = 32 << 20;

/// How many requests of a connection may be unanswered; further ones wait in its socket.
pub const MAX_OUTSTANDING: usize = 256;

/// The number of the context `base:allocation`.
pub(super) const ALLOCATION: u32 = 1;

/// Room for what arrives, and for what is to be sent.
const BUFFER: usize = 256 << 10;
/// The longest data of a chunk.
const PIECE: u64 = 128 << 10;
/// The most extents of a reply to block status.
const MAX_EXTENTS: usize = 1 << 10;
/// The most that the store is asked for one such reply.
const MAX_LOOKS: usize = 1 << 14;

/// A connection that serves requests.
///
/// Data of writes go to the store as they arrive, and those of reads are taken from it as they
/// leave, so a session takes the same memory for requests of any length.
pub struct Session {
    facts: Facts,
    headers: Headers,
    has_status: bool,
    input: Buffer,
    output: Buffer,
    /// A request whose data are arriving.
    arriving: Option<Arriving>,
    /// Replies that can be sent, the first of them perhaps in part.
    replies: VecDeque<Reply>,
    /// Requests whose replies have not left yet.
    outstanding: usize,
    is_ending: bool,
}

struct Arriving {
    job: Job,
    at: u64,
    left: u64,
}

struct Reply {
    job: Job,
    error: Option<(Error, &'static str)>,
    /// How many bytes of data have gone to the output.
    done: u64,
}

/// What comes next in the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A request.
    Job(Job),
    /// Nothing until more arrives, or until replies have left.
    Wait,
    /// Something that is not NBD: the connection has to be closed.
    Broken,
}

/// The server can go on only by closing the connection.
#[derive(Debug)]
pub struct Broken;

impl Session {
    /// Goes on as was agreed; `output` is left of the handshake.
    pub fn new(facts: Facts, agreed: &Agreed, output: &[u8]) -> Self {
        let mut session = Self {
            facts,
            headers: agreed.headers,
            has_status: agreed.has_status,
            input: Buffer::new(BUFFER),
            output: Buffer::new(BUFFER),
            arriving: None,
            replies: VecDeque::new(),
            outstanding: 0,
            is_ending: false,
        };
        session.room()[..agreed.rest.len()].copy_from_slice(&agreed.rest);
        session.filled(agreed.rest.len());
        session.output.room()[..output.len()].copy_from_slice(output);
        session.output.added(output.len());
        session
    }

    /// Where input goes; [`Self::filled`] says how much came.
    pub fn room(&mut self) -> &mut [u8] {
        self.input.room()
    }

    /// `count` bytes of input have arrived.
    pub fn filled(&mut self, count: usize) {
        self.input.added(count);
    }

    /// Whether more input is of use now.
    pub fn wants_input(&self) -> bool {
        !self.is_ending && self.outstanding < MAX_OUTSTANDING && self.input.room_len() > 0
    }

    /// The client has asked for the end, and has all its replies.
    pub fn is_over(&self) -> bool {
        self.is_ending && self.is_idle()
    }

    /// Every request that has arrived as a whole is answered.
    pub fn is_idle(&self) -> bool {
        let arriving = usize::from(self.arriving.is_some());
        self.outstanding == arriving && self.output.bytes().is_empty()
    }

    /// The next request; data that it writes are in the store when it is returned.
    pub fn next(&mut self, store: &mut dyn Store) -> Next {
        if self.is_ending {
            return Next::Wait;
        }
        if self.arriving.is_none() {
            if self.outstanding == MAX_OUTSTANDING {
                return Next::Wait;
            }
            let input = self.input.bytes();
            let length = Request::header_length(self.headers);
            if input.len() < length {
                return Next::Wait;
            }
            let Ok(request) = Request::parse(self.headers, &input[..length]) else {
                return Next::Broken;
            };
            self.input.consume(length);
            if request.command == Command::Disconnect {
                self.is_ending = true;
                return Next::Wait;
            }
            let is_extended = self.headers == Headers::Extended;
            let job = Job::of(&request, &self.facts, self.has_status, is_extended);
            self.outstanding += 1;
            let has_data =
                request.command == Command::Write || is_extended && has_payload(&request);
            if !has_data || request.length == 0 {
                return Next::Job(job);
            }
            self.arriving = Some(Arriving {
                job,
                at: job.offset,
                left: job.length,
            });
        }
        self.receive(store)
    }

    /// Moves data of a write to the store.
    fn receive(&mut self, store: &mut dyn Store) -> Next {
        let Some(arriving) = &mut self.arriving else {
            return Next::Wait;
        };
        let input = self.input.bytes();
        let count = arriving.left.min(input.len() as u64) as usize;
        // Data of a request that is refused are skipped.
        if arriving.job.kind == Kind::Write
            && count > 0
            && let Err(error) = store.write(arriving.at, &input[..count])
        {
            let (error, message) = failure_of(&error);
            arriving.job.kind = Kind::Refused(error, message);
        }
        self.input.consume(count);
        arriving.at = arriving.at.wrapping_add(count as u64);
        arriving.left -= count as u64;
        if arriving.left > 0 {
            return Next::Wait;
        }
        let job = arriving.job;
        self.arriving = None;
        Next::Job(job)
    }

    /// `job` has ended, with an error or not: its reply can leave.
    pub fn reply(&mut self, job: Job, error: Option<(Error, &'static str)>) {
        let done = 0;
        self.replies.push_back(Reply { job, error, done });
    }

    /// Moves replies to the output, as far as there is room.
    ///
    /// # Errors
    /// If data could not be read after a reply was begun that cannot say so.
    pub fn fill(&mut self, store: &mut dyn Store) -> Result<(), Broken> {
        while let Some(reply) = self.replies.front_mut() {
            let mut writer = Writer {
                headers: self.headers,
                output: &mut self.output,
                store,
            };
            if !writer.write(reply)? {
                break;
            }
            self.replies.pop_front();
            self.outstanding -= 1;
        }
        Ok(())
    }

    /// What is to be sent.
    pub fn output(&self) -> &[u8] {
        self.output.bytes()
    }

    /// `count` bytes of the output have been sent.
    pub fn sent(&mut self, count: usize) {
        self.output.consume(count);
    }
}

/// Whether the length of an extended request is that of data which follow.
fn has_payload(request: &Request) -> bool {
    let flags = diskarm_wire::nbd::CommandFlags::parse(&request.flags.to_be_bytes());
    flags.is_ok_and(|flags| flags.payload)
}

/// The error for a client when the store fails.
pub(crate) fn failure_of(error: &io::Error) -> (Error, &'static str) {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            (Error::NoSpace, "no room in the store")
        }
        _ => (Error::Io, "the store failed"),
    }
}

/// Writes one reply.
struct Writer<'a> {
    headers: Headers,
    output: &'a mut Buffer,
    store: &'a mut dyn Store,
}

impl Writer<'_> {
    /// Returns whether all of the reply has gone to the output.
    fn write(&mut self, reply: &mut Reply) -> Result<bool, Broken> {
        // Any message without data fits here, with the longest error.
        if self.output.room_len() < 256 {
            return Ok(false);
        }
        if let Some((error, message)) = reply.error {
            self.error(&reply.job, error, message);
            return Ok(true);
        }
        match (reply.job.kind, self.headers) {
            (Kind::Read, Headers::Simple) => self.simple_read(reply),
            (Kind::Read, _) => Ok(self.chunked_read(reply)),
            (Kind::Status, _) => Ok(self.status(&reply.job)),
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

    fn simple_read(&mut self, reply: &mut Reply) -> Result<bool, Broken> {
        let job = reply.job;
        // While nothing has been sent an error can still be told.
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
                let (error, message) = failure_of(&error);
                self.error(&job, error, message);
                return Ok(true);
            }
            Err(_) => return Err(Broken),
        }
        self.output.added(begins + count);
        reply.done += count as u64;
        Ok(reply.done == job.length)
    }

    fn chunked_read(&mut self, reply: &mut Reply) -> bool {
        const OFFSET: usize = 8;
        let job = reply.job;
        if job.is_undivided && job.length > PIECE {
            self.error(&job, Error::Overflow, "too long for one chunk");
            return true;
        }
        let header = Chunk::header_length(self.headers) + OFFSET;
        while reply.done < job.length {
            let count = (job.length - reply.done).min(PIECE);
            if self.output.room_len() < header + count as usize {
                return false;
            }
            let at = job.offset + reply.done;
            let data = &mut self.output.room()[header..][..count as usize];
            if let Err(error) = self.store.read(at, data) {
                let (error, message) = failure_of(&error);
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
                let (error, message) = failure_of(&error);
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

/// What is known of the blocks of `job`: the length of each extent, and whether it is a hole.
fn extents(store: &mut dyn Store, job: &Job, is_long: bool) -> io::Result<Vec<(u64, bool)>> {
    // The longest whole number of sectors in 32 bits.
    let most = if is_long {
        u64::MAX
    } else {
        u64::from(u32::MAX) & !0xffff
    };
    let limit = if job.is_undivided { 1 } else { MAX_EXTENTS };
    let mut extents: Vec<(u64, bool)> = Vec::new();
    let (mut at, end) = (job.offset, job.offset + job.length.min(most));
    for _ in 0..MAX_LOOKS {
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
