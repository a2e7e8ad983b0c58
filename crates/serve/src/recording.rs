//! Records the requests of clients and the completions of a device as a trace.
//!
//! A [`Tap`] observes the device. Once a request and all earlier ones have completed, it passes the
//! request to the thread of a [`Recorder`], which writes the trace. Drive time starts with the
//! first request, so a replay on an identical device has the same response times.
//!
//! The thread hands rows to the system whenever no request waits for it, so that a killed server
//! loses none but the last.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use diskarm_core::device::{Completion, Device};
use diskarm_core::engine::Observer;
use diskarm_core::request::{Op, Request};
use diskarm_core::units::Instant;
use diskarm_core::wrap::{ObservedDevice, RecordedRequest};
use diskarm_simulate::{BlockConverter, to_record};
use diskarm_trace::{Location, TraceError, Writer};

use crate::statistics::RecordingSummary;

/// Maximum number of requests that wait for the writer; when it is reached, the device blocks.
const MAX_WAITING: usize = 1 << 14;

/// Observes a device. Clones observe the same disk.
#[derive(Clone)]
pub struct Tap(Arc<Mutex<Observations>>);

struct Observations {
    /// Requests in order of arrival, from the first that has not completed.
    requests: VecDeque<RecordedRequest>,
    sent_count: u64,
    /// The sequence numbers of requests that have not completed, by id.
    outstanding: BTreeMap<u64, u64>,
    sender: SyncSender<Event>,
}

enum Event {
    RecordedRequest(RecordedRequest),
    PowerCut,
}

impl Tap {
    /// Records a power cut: requests in progress will not complete. From now on, the tap observes
    /// the same disk after power-on.
    pub fn power_cut(&self) {
        let mut observations = self.lock();
        observations.send_all();
        observations.send(Event::PowerCut);
    }

    fn lock(&self) -> MutexGuard<'_, Observations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observations {
    fn send(&self, event: Event) {
        // The thread receives all events, even if it cannot write them.
        let _ = self.sender.send(event);
    }

    /// Sends all remaining requests, completed or not.
    fn send_all(&mut self) {
        self.outstanding.clear();
        while let Some(first) = self.requests.pop_front() {
            self.sent_count += 1;
            self.send(Event::RecordedRequest(first));
        }
    }
}

impl Observer for Tap {
    fn arrived(&mut self, now: Instant, request: &Request) {
        let mut observations = self.lock();
        let number = observations.sent_count + observations.requests.len() as u64;
        observations.outstanding.insert(request.id, number);
        observations.requests.push_back(RecordedRequest {
            arrived: now,
            request: *request,
            completion: None,
        });
    }

    fn completed(&mut self, completion: &Completion) {
        let mut observations = self.lock();
        let Some(number) = observations.outstanding.remove(&completion.request.id) else {
            return;
        };
        let index = (number - observations.sent_count) as usize;
        observations.requests[index].completion = Some(*completion);
        while let Some(first) = observations
            .requests
            .pop_front_if(|first| first.completion.is_some())
        {
            observations.sent_count += 1;
            observations.send(Event::RecordedRequest(first));
        }
    }
}

/// Sends the remaining requests when the device is dropped.
impl Drop for Observations {
    fn drop(&mut self) {
        self.send_all();
    }
}

pub trait Tappable {
    /// Attaches `tap` to the device.
    #[must_use]
    fn with_tap(self, tap: Tap) -> Self;
}

impl Tappable for Box<dyn Device> {
    fn with_tap(self, tap: Tap) -> Self {
        Box::new(ObservedDevice::new(self, tap))
    }
}

pub struct Recorder {
    thread: JoinHandle<Result<RecordingSummary, TraceError>>,
}

/// The formats whose time starts with the first request.
const FROM_FIRST_REQUEST: [&str; 2] = ["measured", "msr"];

impl Recorder {
    /// Starts writing a trace in `format` to `output`; errors call the output `name`. Also returns
    /// the tap for the device, which has the given `blocks`. Fails if `format` cannot be written.
    pub fn start(
        output: File,
        name: &str,
        format: &str,
        blocks: BlockConverter,
    ) -> Result<(Self, Tap), TraceError> {
        let writer = Writer::new(output, name, format)?;
        let recorded = RecordingSummary {
            file: name.to_owned(),
            format: format.to_owned(),
            ..RecordingSummary::default()
        };
        let (sender, receiver) = sync_channel(MAX_WAITING);
        let thread = thread::spawn(move || {
            let written = write(&receiver, writer, blocks, recorded);
            // A device must never block on a thread that has stopped writing.
            receiver.into_iter().for_each(drop);
            written
        });
        let observations = Observations {
            requests: VecDeque::new(),
            sent_count: 0,
            outstanding: BTreeMap::new(),
            sender,
        };
        Ok((Self { thread }, Tap(Arc::new(Mutex::new(observations)))))
    }

    /// Waits until the tap is dropped and everything is written. Fails if the format cannot
    /// represent a request or the output cannot be written.
    pub fn finish(self) -> Result<RecordingSummary, TraceError> {
        let written = self.thread.join();
        written.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Returns the next event, or `None` after the last. Writes complete rows before it waits.
fn next(
    receiver: &Receiver<Event>,
    writer: &mut Writer<File>,
) -> Result<Option<Event>, TraceError> {
    match receiver.try_recv() {
        Err(TryRecvError::Empty) => {
            writer.flush()?;
            Ok(receiver.recv().ok())
        }
        received => Ok(received.ok()),
    }
}

fn write(
    receiver: &Receiver<Event>,
    mut writer: Writer<File>,
    blocks: BlockConverter,
    mut recorded: RecordingSummary,
) -> Result<RecordingSummary, TraceError> {
    let mut forced = 0_u64;
    let mut first = None;
    let mut row = 0;
    while let Some(event) = next(receiver, &mut writer)? {
        row += 1;
        let observed = match event {
            Event::RecordedRequest(request) => request,
            Event::PowerCut => {
                recorded.power_cuts += 1;
                continue;
            }
        };
        match to_record(blocks, &observed, Location::Row(row)) {
            Some(record) => {
                first = first.or(record.arrival);
                forced += u64::from(record.op == Op::Write && observed.request.force_unit_access);
                let written = writer.write(&record);
                if written.is_err() {
                    // The rows before it are kept.
                    let _ = writer.flush();
                }
                written?;
            }
            None if observed.request.op == Op::Flush => recorded.flushes += 1,
            None => recorded.failed += 1,
        }
    }
    recorded.requests = writer.records_count();
    recorded.notes = writer.finish()?;
    if forced > 0 {
        let note = format!("writes with force unit access recorded as plain writes: {forced}");
        recorded.notes.push(note);
    }
    if recorded.power_cuts > 0 {
        let note = format!(
            "power cuts that a replay does not repeat, after which the drive was in its power-on \
             state: {}",
            recorded.power_cuts
        );
        recorded.notes.push(note);
    }
    if FROM_FIRST_REQUEST.contains(&&*recorded.format)
        && let Some(first) = first.filter(|first| *first > Instant::START)
    {
        let ms = (first - Instant::START).as_ms();
        let note = format!(
            "time in {} files begins with the first request, {ms:.3} ms after the start \
             of drive time: in a replay, the angle of the disk differs by that time",
            recorded.format
        );
        recorded.notes.push(note);
    }
    Ok(recorded)
}
