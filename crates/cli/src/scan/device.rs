//! Scans of devices that answer in real time.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use diskarm_core::freeblock::{BlockSet, Delivery};
use diskarm_core::units::{Bytes, Instant, SectorCount, Span};
use diskarm_results::scanned::{DeviceScan, ScanNames, ScanResults, Unreadable, checksums};
use diskarm_scan::live::{Inbox, Live, SequentialPass, Size, Source};
use diskarm_scan::{OnProgress, Requests, Scan, ScanRecord, SchedulerLocation};
use diskarm_simulate::{Model, policy};

use super::Args;
use super::predictions::Predictions;
use super::recorder::{self, Outputs, ScanEvent};
use super::target::Real;
use crate::args;
use crate::error::Error;
use crate::output;
use crate::progress::Progress;

/// The number of bytes per read without a foreground workload.
const READ_BYTES: u64 = 256 << 10;

/// The number of concurrent reads without a foreground workload.
const DEPTH: usize = 2;

/// The longest wait for an answer. Drives try for several seconds to read a bad block.
const MAX_WAIT: Span = Span::from_ns(30_000_000_000);

struct Scanning<'a> {
    args: &'a Args,
    predictions: Option<Predictions>,
    source: Arc<dyn Source>,
    answers: Arc<Inbox>,
}

struct ScanRun {
    time: Span,
    /// True if the scan gave up after many failed reads.
    has_given_up: bool,
    foreground: Option<ScanResults>,
}

pub fn run_scan(args: &Args, real: Real) -> Result<(), Error> {
    let mut files = args::with_secrets(real.files, args.chap.as_deref());
    files = files.with_input("--model", args.model.as_deref().unwrap_or_default());
    files = files.with_input("--workload", args.workload.as_deref().unwrap_or_default());
    let model = model(args)?;
    let path = args.checksums.as_deref();
    let sums = path.map(|path| recorder::output(&mut files, "--checksums", path));
    let sums = sums.transpose()?;
    let (checkpoint, image) = (args.checkpoint.as_deref(), args.image.as_deref());
    let outputs = Outputs::new(&mut files, checkpoint, image)?;
    let predictions = Predictions::create(args, &args.url, model.as_ref(), &mut files)?;
    let scanning = Scanning {
        args,
        predictions,
        source: real.source,
        answers: Arc::default(),
    };
    let live = scanning.open(DEPTH)?;
    let size = live.size();
    if let Some(model) = &model {
        check(model, size)?;
    }
    let (recorder, left) = outputs.start(&args.url, size, sums.is_some())?;
    let read_before = size.sectors.0 - left.count().0;
    let answers = Arc::clone(&scanning.answers);
    // Without a handler, Ctrl-C ends the program immediately, as any other signal does.
    let _ = ctrlc::set_handler(move || answers.stop());
    let run = match (&args.workload, &model) {
        (None, _) => Ok(scanning.pass(live, left, recorder.pieces())),
        (Some(workload), Some(model)) => {
            drop(live);
            scanning.scan_with_foreground(model, workload, left, recorder.pieces())
        }
        (Some(_), None) => unreachable!("`rules` requires a model for a foreground"),
    };
    // This fails if an output could not be written, in which case the scan stopped early.
    let record = recorder.finish()?;
    let run = run?;
    let mut foreground = run.foreground;
    let unreadable = unreadable_runs(&record, model.as_ref());
    if let Some(scanned) = &mut foreground {
        scanned.unreadable.clone_from(&unreadable);
    }
    let found = DeviceScan {
        url: args.url.clone(),
        block_bytes: size.sector.0,
        blocks: size.sectors.0,
        blocks_left: record.remaining().count().0,
        blocks_before: read_before,
        is_complete: record.remaining().is_empty(),
        may_be_cached: real.may_be_cached,
        time_s: run.time.as_s(),
        unreadable,
        foreground,
    };
    if let Some(file) = sums.filter(|_| found.is_complete) {
        file.write(checksums(&record).as_bytes())?;
    }
    output::print_as(args.json, &found, || found.text())?;
    scanning.finish(&record, run.has_given_up)
}

fn model(args: &Args) -> Result<Option<Model>, Error> {
    let Some(name) = &args.model else {
        return Ok(None);
    };
    let model = Model::find(name).map_err(|error| error.with_field("--model"))?;
    Ok(Some(args.changes.apply(model)?))
}

fn check(model: &Model, size: Size) -> Result<(), Error> {
    let found = Size {
        sectors: model.layout().sectors(),
        sector: Bytes(model.spec.geometry.sector_bytes.into()),
    };
    if found == size {
        return Ok(());
    }
    let text = |size: Size| format!("{} blocks of {} bytes", size.sectors.0, size.sector.0);
    let expected = format!("a drive of {}, like the device", text(size));
    let found = format!("{} ({})", model.name, text(found));
    Err(Error::option("--model", found, expected))
}

fn unreadable_runs(record: &ScanRecord, model: Option<&Model>) -> Vec<Unreadable> {
    let layout = model.map(|model| &**model.layout());
    let runs = record.unreadable();
    runs.map(|(first, sectors)| Unreadable::new(first, sectors, layout))
        .collect()
}

fn sink(
    answers: &Arc<Inbox>,
    pieces: SyncSender<ScanEvent>,
    sector: Bytes,
    bar: Progress,
) -> impl FnMut(&Delivery) + Send + use<> + 'static {
    let answers = Arc::clone(answers);
    let mut done = 0;
    move |delivered: &Delivery| {
        let (first, sectors) = (delivered.first, delivered.sectors);
        let piece = if delivered.is_readable {
            ScanEvent::Read(first, answers.data(first, sectors, sector))
        } else {
            ScanEvent::Failed(first, sectors)
        };
        if pieces.send(piece).is_err() {
            answers.stop();
        }
        done += sectors.0;
        bar.set(done);
    }
}

impl Scanning<'_> {
    fn open(&self, depth: usize) -> Result<Live, Error> {
        let source = Arc::clone(&self.source);
        let live = Live::open(source, depth, MAX_WAIT, Arc::clone(&self.answers));
        live.map_err(|lost| Error::Failed(format!("{}: {lost}", self.args.url)))
    }

    fn pass(&self, live: Live, left: BlockSet, pieces: SyncSender<ScanEvent>) -> ScanRun {
        let (size, answers) = (live.size(), live.inbox());
        let bar = Progress::new(Some(left.count().0));
        let sink = sink(&answers, pieces, size.sector, bar);
        let max = SectorCount((READ_BYTES / size.sector.0).max(1));
        let mut pass = SequentialPass::new(live, left, DEPTH, max, sink);
        pass.run(&answers);
        ScanRun {
            time: answers.now().after(Instant::START),
            has_given_up: pass.has_given_up(),
            foreground: None,
        }
    }

    fn scan_with_foreground(
        &self,
        model: &Model,
        workload: &str,
        left: BlockSet,
        pieces: SyncSender<ScanEvent>,
    ) -> Result<ScanRun, Error> {
        let args = self.args;
        let scan = Scan {
            spec: &model.spec,
            model: &model.spec,
            requests: Requests::Generated(&model.workload(workload)?),
            policy: &policy("policy", &args.policy)?,
            location: SchedulerLocation::Outside(args.depth),
            settings: args.settings(),
            seed: args.seed,
            max_requests: args.max_requests(),
            on_progress: OnProgress::default(),
            on_prediction: Predictions::callback(self.predictions.as_ref()),
        };
        let note = "the foreground only reads: its writes become reads of the same blocks";
        output::print_notes(&[note.to_owned()]);
        let live = self.open(args.depth)?;
        let bar = Progress::new(Some(left.count().0));
        let sink = sink(&self.answers, pieces, live.size().sector, bar);
        let mut run = scan.run_on(live, left, sink)?;
        let time = run.foreground.end.after(Instant::START);
        if !self.answers.is_stopped() && self.answers.lost().is_none() {
            run.alone = scan.alone_on(self.open(args.depth)?, run.foreground.requests)?;
        }
        let names = ScanNames {
            drive: &args.url,
            model: &model.name,
            workload: Some(workload),
            trace: None,
            trace_changes: &[],
        };
        Ok(ScanRun {
            time,
            has_given_up: false,
            foreground: Some(ScanResults::new(&scan, &run, names, Vec::new())),
        })
    }

    /// Completes the outputs, and returns an error if the scan is incomplete.
    fn finish(&self, record: &ScanRecord, has_given_up: bool) -> Result<(), Error> {
        if let Some(predictions) = &self.predictions {
            predictions.finish()?;
        }
        let left = record.remaining().count().0;
        let hint = match &self.args.checkpoint {
            Some(path) if left > 0 => {
                format!("; the progress is saved in {path}: run the same command again to continue")
            }
            _ => String::new(),
        };
        let url = &self.args.url;
        if let Some(lost) = self.answers.lost() {
            return Err(Error::Failed(format!("{url}: {lost}{hint}")));
        }
        if has_given_up {
            return Err(Error::Failed(format!(
                "{url}: too many consecutive reads failed{hint}"
            )));
        }
        if self.answers.is_stopped() {
            let message = format!("stopped with {left} blocks left{hint}");
            return Err(Error::Interrupted(message));
        }
        recorder::conclude(self.args.checkpoint.as_deref(), record)
    }
}
