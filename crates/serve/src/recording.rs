//! Recordings: what clients did to a device, and when it answered, as a trace.
//!
//! A [`Tap`] at the device sees its requests and completions, and sends each request in order of
//! arrival, once it and all before it have ended, to the thread of a [`Recorder`], which writes the
//! trace. Times are those of the drive, which begin with its first request: a replay of the trace
//! on an equal device takes the same times.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use diskarm_core::device::{Completion, Device};
use diskarm_core::engine::Observer;
use diskarm_core::request::{Op, Request};
use diskarm_core::units::Instant;
use diskarm_core::wrap::{Observed, Passed};
use diskarm_simulate::{Blocks, recorded};
use diskarm_trace::{Location, TraceError, Writer};
use serde::Serialize;

/// How many requests may wait for the writer before the device does.
const WAITING: usize = 1 << 14;

/// See the module.
pub struct Tap {
    /// Requests in order of arrival, from the first that has not ended.
    passed: VecDeque<Passed>,
    /// How many were sent.
    sent: u64,
    /// Requests that have not ended, by their ids: which of all requests they are.
    outstanding: BTreeMap<u64, u64>,
    to: SyncSender<Passed>,
}

impl Tap {
    fn send(&self, passed: Passed) {
        // The thread takes everything, even if it cannot be written.
        let _ = self.to.send(passed);
    }
}

impl Observer for Tap {
    fn arrived(&mut self, now: Instant, request: &Request) {
        let number = self.sent + self.passed.len() as u64;
        self.outstanding.insert(request.id, number);
        self.passed.push_back(Passed {
            arrived: now,
            request: *request,
            completion: None,
        });
    }

    fn completed(&mut self, completion: &Completion) {
        let Some(number) = self.outstanding.remove(&completion.request.id) else {
            return;
        };
        self.passed[(number - self.sent) as usize].completion = Some(*completion);
        while let Some(first) = self.passed.pop_front_if(|first| first.completion.is_some()) {
            self.sent += 1;
            self.send(first);
        }
    }
}

/// What is left when the device goes: some have not ended.
impl Drop for Tap {
    fn drop(&mut self) {
        while let Some(passed) = self.passed.pop_front() {
            self.send(passed);
        }
    }
}

/// A device that a tap can watch.
pub trait Tapped {
    /// The same device, watched by `tap`.
    #[must_use]
    fn tapped(self, tap: Tap) -> Self;
}

impl Tapped for Box<dyn Device> {
    fn tapped(self, tap: Tap) -> Self {
        Box::new(Observed::new(self, tap))
    }
}

/// Writes what a tap sees.
pub struct Recorder {
    thread: JoinHandle<Result<Recorded, TraceError>>,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// The file.
    pub file: String,
    /// Its format.
    pub format: String,
    /// Reads and writes in it.
    pub requests: u64,
    /// Flushes, which traces do not have.
    pub flushes: u64,
    /// Reads and writes that failed or were taken back, which traces do not have.
    pub failed: u64,
    /// What a replay does not know.
    pub notes: Vec<String>,
}

/// The formats in whose files time begins with the first request.
const FROM_FIRST: [&str; 2] = ["measured", "msr"];

impl Recorder {
    /// Begins to write a trace in `format` to `output`, which errors call `name`, of a device with
    /// these blocks; returns the tap for the device, too.
    ///
    /// # Errors
    /// A name that is not a writable format.
    ///
    /// # Panics
    /// If the operating system has no thread for it.
    pub fn start(
        output: File,
        name: &str,
        format: &str,
        blocks: Blocks,
    ) -> Result<(Self, Tap), TraceError> {
        let writer = Writer::new(io::BufWriter::new(output), name, format)?;
        let recorded = Recorded {
            file: name.to_owned(),
            format: format.to_owned(),
            ..Recorded::default()
        };
        let (to, from) = sync_channel(WAITING);
        let thread = thread::spawn(move || {
            let written = write(&from, writer, blocks, recorded);
            // A device must never wait for a thread that has given up.
            from.into_iter().for_each(drop);
            written
        });
        let tap = Tap {
            passed: VecDeque::new(),
            sent: 0,
            outstanding: BTreeMap::new(),
            to,
        };
        Ok((Self { thread }, tap))
    }

    /// Waits until the tap is gone and all is written.
    ///
    /// # Errors
    /// A request that the format cannot hold; an output that cannot be written.
    ///
    /// # Panics
    /// If its thread panicked.
    pub fn finish(self) -> Result<Recorded, TraceError> {
        let written = self.thread.join();
        written.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Writes all that comes.
fn write(
    from: &Receiver<Passed>,
    mut writer: Writer<io::BufWriter<File>>,
    blocks: Blocks,
    mut recorded: Recorded,
) -> Result<Recorded, TraceError> {
    let mut forced = 0_u64;
    let mut first = None;
    for (passed, row) in from.iter().zip(1..) {
        match self::recorded(blocks, &passed, Location::Row(row)) {
            Some(record) => {
                first = first.or(record.arrival);
                forced += u64::from(record.op == Op::Write && passed.request.force_unit_access);
                writer.write(&record)?;
            }
            None if passed.request.op == Op::Flush => recorded.flushes += 1,
            None => recorded.failed += 1,
        }
    }
    recorded.requests = writer.records_count();
    recorded.notes = writer.finish()?;
    if forced > 0 {
        let note = format!("writes with force unit access are plain writes in a trace: {forced}");
        recorded.notes.push(note);
    }
    if FROM_FIRST.contains(&&*recorded.format)
        && let Some(first) = first.filter(|first| *first > Instant::START)
    {
        let ms = (first - Instant::START).as_ms();
        let note = format!(
            "in {} files time begins with the first request, {ms:.3} ms later than the drive's: \
             the disk of a replay is turned by as much",
            recorded.format
        );
        recorded.notes.push(note);
    }
    Ok(recorded)
}

impl Recorded {
    /// The file, and what is in it, in a line.
    pub fn line(&self) -> String {
        let mut line = format!("{}: {} requests recorded", self.file, self.requests);
        for (what, count) in [("flushes", self.flushes), ("failed requests", self.failed)] {
            if count > 0 {
                line += &format!(", without {count} {what}");
            }
        }
        line
    }
}
