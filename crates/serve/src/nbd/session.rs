//! A connection after the handshake: parses requests and queues replies. It acts on nothing.

use std::collections::VecDeque;

use diskarm_wire::nbd::{Command, CommandFlags, Headers, Request};

use super::handshake::NegotiatedExport;
use super::job::{Job, JobKind, Refusal};
use super::reply::{Reply, ReplyWriter};
use crate::export::Facts;
use crate::nonblocking::ByteQueue;
use crate::power::WriteId;
use crate::service::{self, ConnectionError};
use crate::store::Store;

/// Limit of unanswered requests of a connection; further ones wait in its socket.
pub const MAX_OUTSTANDING: usize = 256;

/// Size of the input and output buffers, in bytes.
const BUFFER: usize = 256 << 10;

/// A connection that serves requests.
///
/// Data of writes are passed on as they arrive, and data of reads are fetched as they leave, so a
/// session takes the same memory for requests of any length.
pub struct NbdSession {
    facts: Facts,
    headers: Headers,
    has_status: bool,
    input: ByteQueue,
    output: ByteQueue,
    receiving: Option<ReceivingJob>,
    /// Replies that can be sent, the first of which may be partly sent.
    replies: VecDeque<Reply>,
    /// Number of requests whose replies have not been sent.
    outstanding: usize,
    is_ending: bool,
}

/// A request whose data are arriving.
struct ReceivingJob {
    job: Job,
    /// Offset of the next data in the export.
    offset: u64,
    left: u64,
}

/// The next input of a session.
#[derive(Debug, PartialEq, Eq)]
pub enum Input<'a> {
    /// A request that has arrived with all its data.
    Request(Job),
    /// A valid write, whose data follow. The caller calls [`NbdSession::identify_write`].
    WriteStart { offset: u64, length: u64 },
    /// Whole sectors of a write. If they cannot be stored, the caller calls
    /// [`NbdSession::refuse_write`].
    WriteData {
        write: WriteId,
        offset: u64,
        data: &'a [u8],
    },
    /// Nothing until more input arrives or replies have been sent.
    Wait,
    /// Not NBD: the connection must be closed.
    Invalid,
}

impl NbdSession {
    /// Continues after the handshake; `output` is what the handshake has yet to send.
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

    /// Parses the next input.
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

    /// Sets the id of the write that has just started.
    pub fn identify_write(&mut self, write: WriteId) {
        if let Some(receiving) = &mut self.receiving {
            receiving.job.write = write;
        }
    }

    /// Refuses the write whose data are arriving; the rest of the data is skipped.
    pub fn refuse_write(&mut self, (error, message): Refusal) {
        if let Some(receiving) = &mut self.receiving {
            receiving.job.kind = JobKind::Refused(error, message);
        }
    }

    /// Returns true if the data of a request are arriving.
    pub(super) fn is_receiving(&self) -> bool {
        self.receiving.is_some()
    }

    /// Takes the write whose data were arriving, shortened to those that have.
    pub(super) fn take_partial_write(&mut self) -> Option<Job> {
        let receiving = self.receiving.take()?;
        (receiving.job.kind == JobKind::Write).then(|| Job {
            length: receiving.offset - receiving.job.offset,
            ..receiving.job
        })
    }

    /// Queues the reply of a job that has ended.
    pub fn reply(&mut self, job: Job, error: Option<Refusal>) {
        let done = 0;
        self.replies.push_back(Reply { job, error, done });
    }

    /// Moves replies to the output while there is room, with data read from `store`.
    ///
    /// # Errors
    /// If data could not be read after the start of a reply that cannot report an error.
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
            self.replies.pop_front();
            self.outstanding -= 1;
        }
        Ok(())
    }

    /// Returns true if every complete request has been answered.
    pub fn is_idle(&self) -> bool {
        let receiving = usize::from(self.receiving.is_some());
        self.outstanding == receiving && self.output.bytes().is_empty()
    }
}

impl service::Session for NbdSession {
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

    fn output(&self) -> &[u8] {
        self.output.bytes()
    }

    fn sent(&mut self, count: usize) {
        self.output.consume(count);
    }
}

/// Returns true if the length of an extended request is that of data which follow.
fn has_payload(request: &Request) -> bool {
    let flags = CommandFlags::parse(&request.flags.to_be_bytes());
    flags.is_ok_and(|flags| flags.payload)
}
