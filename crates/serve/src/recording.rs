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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use diskarm_core::device::{Completion, Device};
use diskarm_core::engine::Observer;
use diskarm_core::request::{Op, Request};
use diskarm_core::units::Instant;
use diskarm_core::wrap::{Observed, Passed};
use diskarm_simulate::{BlockConverter, to_record};
use diskarm_trace::{Location, TraceError, Writer};
use serde::Serialize;

use crate::figures::Counts;

/// How many requests may wait for the writer before the device does.
const WAITING: usize = 1 << 14;

/// See the module. A clone watches the same disk.
#[derive(Clone)]
pub struct Tap(Arc<Mutex<Seen>>);

/// What a tap has seen.
struct Seen {
    /// Requests in order of arrival, from the first that has not ended.
    passed: VecDeque<Passed>,
    /// How many were sent.
    sent: u64,
    /// Requests that have not ended, by their ids: which of all requests they are.
    outstanding: BTreeMap<u64, u64>,
    to: SyncSender<Event>,
}

/// What the writer is told.
enum Event {
    Passed(Passed),
    PowerCut,
}

impl Tap {
    /// The power was cut: what has not ended never will. What this watches from now on is the same
    /// disk, switched on.
    pub fn power_cut(&self) {
        let mut seen = self.seen();
        seen.give_up();
        seen.send(Event::PowerCut);
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn send(&self, event: Event) {
        // The thread takes everything, even if it cannot be written.
        let _ = self.to.send(event);
    }

    /// Sends all that is left, though some has not ended.
    fn give_up(&mut self) {
        self.outstanding.clear();
        while let Some(first) = self.passed.pop_front() {
            self.sent += 1;
            self.send(Event::Passed(first));
        }
    }
}

impl Observer for Tap {
    fn arrived(&mut self, now: Instant, request: &Request) {
        let mut seen = self.seen();
        let number = seen.sent + seen.passed.len() as u64;
        seen.outstanding.insert(request.id, number);
        seen.passed.push_back(Passed {
            arrived: now,
            request: *request,
            completion: None,
        });
    }

    fn completed(&mut self, completion: &Completion) {
        let mut seen = self.seen();
        let Some(number) = seen.outstanding.remove(&completion.request.id) else {
            return;
        };
        let place = (number - seen.sent) as usize;
        seen.passed[place].completion = Some(*completion);
        while let Some(first) = seen.passed.pop_front_if(|first| first.completion.is_some()) {
            seen.sent += 1;
            seen.send(Event::Passed(first));
        }
    }
}

/// What is left when the device goes: some have not ended.
impl Drop for Seen {
    fn drop(&mut self) {
        self.give_up();
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
    /// Trims, which traces do not have, and which take the drive no time.
    pub trims: u64,
    /// Reads and writes that failed or were taken back, which traces do not have.
    pub failed: u64,
    /// How often the power was cut, which traces do not have.
    pub power_cuts: u64,
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
        blocks: BlockConverter,
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
        let seen = Seen {
            passed: VecDeque::new(),
            sent: 0,
            outstanding: BTreeMap::new(),
            to,
        };
        Ok((Self { thread }, Tap(Arc::new(Mutex::new(seen)))))
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
    from: &Receiver<Event>,
    mut writer: Writer<io::BufWriter<File>>,
    blocks: BlockConverter,
    mut recorded: Recorded,
) -> Result<Recorded, TraceError> {
    let mut forced = 0_u64;
    let mut first = None;
    for (event, row) in from.iter().zip(1..) {
        let passed = match event {
            Event::Passed(passed) => passed,
            Event::PowerCut => {
                recorded.power_cuts += 1;
                continue;
            }
        };
        match to_record(blocks, &passed, Location::Row(row)) {
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
    if recorded.power_cuts > 0 {
        let note = format!(
            "a replay does not know of power cuts, after which the drive was as when it was \
             switched on: {}",
            recorded.power_cuts
        );
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
    /// Adds what a device does not see of the requests of clients.
    pub fn add_requests(&mut self, counts: &Counts) {
        self.trims = counts.trims;
        if counts.zeroes > 0 {
            let zeroes = counts.zeroes;
            let note = format!("writes of zeroes are plain writes in a trace: {zeroes}");
            self.notes.push(note);
        }
    }

    /// The file, and what is in it, in a line.
    pub fn line(&self) -> String {
        let mut line = format!("{}: {} requests recorded", self.file, self.requests);
        let left_out = [
            (self.flushes, "flush", "flushes"),
            (self.trims, "trim", "trims"),
            (self.failed, "failed request", "failed requests"),
            (self.power_cuts, "power cut", "power cuts"),
        ];
        let left_out = left_out.iter().filter(|(count, ..)| *count > 0);
        let left_out = left_out.map(|(count, one, several)| match count {
            1 => format!("1 {one}"),
            _ => format!("{count} {several}"),
        });
        let left_out: Vec<String> = left_out.collect();
        if !left_out.is_empty() {
            line += &format!("; left out: {}", left_out.join(", "));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_counts_what_is_left_out() {
        let mut recorded = Recorded {
            file: "w.csv".to_owned(),
            requests: 41,
            ..Recorded::default()
        };
        assert_eq!(recorded.line(), "w.csv: 41 requests recorded");
        (recorded.flushes, recorded.trims) = (1, 2);
        let line = "w.csv: 41 requests recorded; left out: 1 flush, 2 trims";
        assert_eq!(recorded.line(), line);
    }
}
