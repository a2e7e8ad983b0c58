//! Requests and replies, after the handshake.

use std::collections::VecDeque;
use std::io;

use diskarm_wire::nbd::{Command, Error, Headers, Request};

use super::handshake::Agreed;
use super::job::{Job, Kind};
use super::writer::{Reply, Writer};
use crate::buffer::Buffer;
use crate::export::Facts;
use crate::service::{self, Broken};
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

impl Session {
    /// Continues as was agreed; `output` is left of the handshake.
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
        session.input.room()[..agreed.rest.len()].copy_from_slice(&agreed.rest);
        session.input.added(agreed.rest.len());
        session.output.room()[..output.len()].copy_from_slice(output);
        session.output.added(output.len());
        session
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
            let mut job = Job::of(&request, &self.facts, self.has_status, is_extended);
            self.outstanding += 1;
            let has_data =
                request.command == Command::Write || is_extended && has_payload(&request);
            if !has_data || request.length == 0 {
                return Next::Job(job);
            }
            if job.kind == Kind::Write {
                job.write = store.open(job.offset, job.length);
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
        let mut count = arriving.left.min(input.len() as u64) as usize;
        if arriving.job.kind == Kind::Write {
            // Whole sectors, which is what the room for input always has place for.
            count -= count % self.facts.sector.0 as usize;
        }
        // Data of a request that is refused are skipped.
        if arriving.job.kind == Kind::Write
            && count > 0
            && let Err(error) = store.write_part(arriving.job.write, arriving.at, &input[..count])
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

    /// Whether the data of a write are arriving.
    pub(super) fn is_arriving(&self) -> bool {
        self.arriving.is_some()
    }

    /// The write whose data were arriving, as far as they have: nothing more will.
    pub(super) fn cut_short(&mut self) -> Option<Job> {
        let arriving = self.arriving.take();
        let arriving = arriving.filter(|arriving| arriving.job.kind == Kind::Write)?;
        let length = arriving.at - arriving.job.offset;
        Some(Job {
            length,
            ..arriving.job
        })
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

    /// Whether every request that has arrived as a whole is answered.
    pub fn is_idle(&self) -> bool {
        let arriving = usize::from(self.arriving.is_some());
        self.outstanding == arriving && self.output.bytes().is_empty()
    }
}

impl service::Session for Session {
    fn room(&mut self) -> &mut [u8] {
        self.input.room()
    }

    fn filled(&mut self, count: usize) {
        self.input.added(count);
    }

    fn wants_input(&self) -> bool {
        !self.is_ending && self.outstanding < MAX_OUTSTANDING && self.input.room_len() > 0
    }

    fn is_over(&self) -> bool {
        self.is_ending && self.is_idle()
    }

    fn output(&self) -> &[u8] {
        self.output.bytes()
    }

    fn sent(&mut self, count: usize) {
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
