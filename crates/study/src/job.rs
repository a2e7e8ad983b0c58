//! A cell prepared to run: its drive, its policy, its requests, and the keys of its runs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::iter;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use diskarm_core::sched::PolicyConfig;
use diskarm_core::units::{SectorCount, Span};
use diskarm_drives::text::{Edit, Value};
use diskarm_results::output_file::Files;
use diskarm_simulate::{
    Error, Fitting, GeneratedRequests, Input, Issue, Simulation, System, TraceReplay,
};
use diskarm_trace::adapt::{Factor, parse_instant};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::cell::{CellInput, Inputs};
use crate::error::StudyError;
use crate::measure::{Measure, Scanning};
use crate::metric::{RunOutcome, Stop};

pub(crate) struct Job {
    inputs: Inputs,
    system: Arc<System>,
    policy: PolicyConfig,
    input: Input,
    scanning: Scanning,
    sizes: Range<SectorCount>,
    trace: Option<Arc<str>>,
}

/// The drives and the trace digests that cells share.
#[derive(Default)]
pub(crate) struct SharedInputs {
    /// Keyed by the name of the drive and the values to set in its specification.
    systems: BTreeMap<(String, BTreeMap<String, String>), Arc<System>>,
    traces: BTreeMap<String, Arc<str>>,
}

impl Job {
    /// Prepares a cell. The error says in one line what is wrong with the cell.
    pub(crate) fn new(inputs: &Inputs, shared: &mut SharedInputs) -> Result<Self, String> {
        let system = shared.system(inputs)?;
        let policy = PolicyConfig::parse(&inputs.policy, "cell.policy");
        let policy = policy.map_err(|error| error.in_argument("cell.policy").to_string())?;
        let (input, trace) = match &inputs.source {
            CellInput::Generated { workload, requests } => {
                let workload = system.workload(workload);
                let wrong = |error: Error| error.with_field("cell.workload").to_string();
                let mut generated = GeneratedRequests::new(workload.map_err(wrong)?);
                generated.requests = Some(*requests);
                (Input::Generated(generated), None)
            }
            CellInput::Traced { trace, changes } => {
                let digest = shared.trace(trace)?;
                (Input::Traced(trace_replay(trace, changes)?), Some(digest))
            }
        };
        Ok(Self {
            inputs: inputs.clone(),
            scanning: Scanning::new(&inputs.scan, &system)?,
            sizes: sizes(inputs.sizes.as_deref())?,
            system,
            policy,
            input,
            trace,
        })
    }

    pub(crate) fn add_inputs(&self, files: Files) -> Files {
        let files = files.with_input("cell.drive", self.system.drive_name());
        match &self.inputs.source {
            CellInput::Generated { workload, .. } => files.with_input("cell.workload", workload),
            CellInput::Traced { trace, .. } => files.with_input_trace("cell.trace", trace),
        }
    }

    /// Returns the digest of the specifications of its drives, with the values that the study sets.
    pub(crate) fn specification_digest(&self) -> String {
        let others = self
            .system
            .others()
            .iter()
            .chain(&self.scanning.assumed_model);
        let mut hasher = Sha256::new();
        for model in iter::once(&self.system.drive).chain(others) {
            hasher.update(model.text.as_bytes());
        }
        hex(&hasher.finalize())
    }

    pub(crate) fn trace_digest(&self) -> Option<&str> {
        self.trace.as_deref()
    }

    /// Measures one run, with the requests of `seed`. The error says what is wrong with the cell.
    pub(crate) fn measure(&self, seed: u64, stop: Stop<'_>) -> Result<RunOutcome, String> {
        let mut input = self.input.clone();
        match &mut input {
            Input::Generated(generated) => generated.seed = seed,
            Input::Traced(traced) => traced.seed = seed,
        }
        let simulation = Simulation {
            warm_up: self.inputs.warm_up,
            max_waiting: self.inputs.max_waiting,
            ..Simulation::new(&self.system, &self.policy, &input)
        };
        let measure = self.inputs.measure;
        measure.run(&simulation, &self.policy, &self.scanning, &self.sizes, stop)
    }

    /// Returns the key of a run: the build, and a digest of all else on which the results depend.
    /// Files are identified by their content, not by their path.
    pub(crate) fn key(&self, seed: u64) -> String {
        #[derive(Serialize)]
        struct Identity<'a> {
            specification: &'a str,
            /// The specifications of drives of other models.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            others: Vec<&'a str>,
            #[serde(rename = "tower", skip_serializing_if = "Option::is_none")]
            stack: Option<String>,
            policy: String,
            requests: Requests<'a>,
            warm_up: u64,
            max_waiting: Option<u64>,
            measure: Measure,
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            scan: &'a BTreeMap<String, String>,
            /// The specification that a scan assumes, if it is not the drive's.
            #[serde(rename = "believed", skip_serializing_if = "Option::is_none")]
            assumed: Option<&'a str>,
            /// The request sizes that are measured, unless all are.
            #[serde(skip_serializing_if = "Option::is_none")]
            sizes: Option<&'a str>,
            seed: u64,
        }
        #[derive(Serialize)]
        enum Requests<'a> {
            /// The parsed workload, so that its spelling does not matter.
            Generated(String, u64),
            Traced(&'a str, &'a BTreeMap<String, String>),
        }
        let inputs = &self.inputs;
        let requests = match (&self.input, &inputs.source) {
            (Input::Generated(generated), _) => {
                let workload = format!("{:?}", generated.workload);
                Requests::Generated(workload, generated.requests_count())
            }
            (Input::Traced(_), CellInput::Traced { trace, changes }) => {
                Requests::Traced(self.trace.as_deref().unwrap_or(trace), changes)
            }
            (Input::Traced(_), CellInput::Generated { .. }) => {
                unreachable!("a job has the kind of input that its source has")
            }
        };
        let others = self.system.others().iter();
        let identity = Identity {
            specification: &self.system.drive.text,
            others: others.map(|other| &*other.text).collect(),
            stack: self.system.stack.as_ref().map(|stack| stack.to_string()),
            policy: self.policy.to_string(),
            requests,
            warm_up: inputs.warm_up,
            max_waiting: inputs.max_waiting,
            measure: inputs.measure,
            scan: &inputs.scan,
            assumed: self
                .scanning
                .assumed_model
                .as_ref()
                .map(|model| &*model.text),
            sizes: inputs.sizes.as_deref(),
            seed,
        };
        let text = serde_json::to_string(&identity).expect("plain data can be serialised");
        let digest = hex(&Sha256::digest(text.as_bytes()));
        format!("{}-{}", crate::error::BUILD, &digest[..32])
    }
}

impl SharedInputs {
    fn system(&mut self, inputs: &Inputs) -> Result<Arc<System>, String> {
        let key = (inputs.drive.clone(), inputs.spec.clone());
        if let Some(system) = self.systems.get(&key) {
            return Ok(system.clone());
        }
        let base = System::parse(&inputs.drive);
        let base = base.map_err(|error| error.with_field("cell.drive").to_string())?;
        let system = if inputs.spec.is_empty() {
            base
        } else {
            let edits = inputs.spec.iter().map(|(key, value)| Edit {
                key: key.clone().into(),
                value: Value::Toml(value.clone()),
            });
            let edited = base.with_values(&edits.collect::<Vec<_>>(), "cell.spec");
            edited.map_err(|error| error.to_string())?
        };
        let system = Arc::new(system);
        self.systems.insert(key, system.clone());
        Ok(system)
    }

    fn trace(&mut self, path: &str) -> Result<Arc<str>, String> {
        if let Some(digest) = self.traces.get(path) {
            return Ok(digest.clone());
        }
        let digest: Arc<str> = digest(&diskarm_trace::files(path))?.into();
        self.traces.insert(path.to_owned(), digest.clone());
        Ok(digest)
    }
}

fn digest(paths: &[PathBuf]) -> Result<String, String> {
    let mut hasher = Sha256::new();
    for path in paths {
        let file = diskarm_trace::open_file(path).map_err(|error| error.to_string())?;
        let read = update(&mut hasher, file);
        read.map_err(|error| format!("{}: cannot read: {error}", path.display()))?;
    }
    Ok(hex(&hasher.finalize()))
}

fn update(hasher: &mut Sha256, file: File) -> io::Result<()> {
    let mut file = BufReader::new(file);
    loop {
        let read = file.fill_buf()?;
        if read.is_empty() {
            return Ok(());
        }
        hasher.update(read);
        let length = read.len();
        file.consume(length);
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses the range `A..B` of sizes in sectors, which excludes `B`; either bound may be absent.
fn sizes(text: Option<&str>) -> Result<Range<SectorCount>, String> {
    let text = text.unwrap_or("..");
    let bound = |text: &str, absent: u64| match text {
        "" => Some(absent),
        digits => digits.parse().ok(),
    };
    let bounds = text.split_once("..");
    let bounds = bounds.and_then(|(from, end)| Some((bound(from, 0)?, bound(end, u64::MAX)?)));
    match bounds.filter(|(from, end)| from < end) {
        Some((from, end)) => Ok(SectorCount(from)..SectorCount(end)),
        None => Err(format!(
            "cell.sizes: found {text:?}, expected sectors A..B with A below B, such as 5..9"
        )),
    }
}

fn trace_replay(trace: &str, changes: &BTreeMap<String, String>) -> Result<TraceReplay, String> {
    let mut replay = TraceReplay::new(vec![trace.to_owned()]);
    for (key, text) in changes {
        let expected = change(&mut replay, key, text);
        expected.map_err(|expected| format!("cell.{key}: found {text:?}, expected {expected}"))?;
    }
    Ok(replay)
}

/// Makes one change. The error says what was expected.
fn change(replay: &mut TraceReplay, key: &str, text: &str) -> Result<(), &'static str> {
    let time = "a time since the start of the trace, such as \"90 s\"";
    match key {
        "faster" => {
            let factor = Factor::parse(text).ok_or("a factor such as 0.25 or 2")?;
            replay.selection.faster = Some(factor);
        }
        "from" => replay.selection.from = Some(parse_instant(text).ok_or(time)?),
        "until" => replay.selection.until = Some(parse_instant(text).ok_or(time)?),
        "device" => {
            let device = text.parse().map_err(|_| "a device number")?;
            replay.selection.devices = vec![device];
        }
        "outstanding" => {
            let clients = text.parse().ok().filter(|clients| *clients > 0);
            let clients = clients.ok_or("a whole number of 1 or more")?;
            let think = Span::ZERO;
            replay.issue = Issue::Outstanding { clients, think };
        }
        _ => replay.fitting = fitting(text).ok_or("refuse, scale, fold or spread N")?,
    }
    Ok(())
}

fn fitting(text: &str) -> Option<Fitting> {
    match text {
        "refuse" => Some(Fitting::Refuse),
        "scale" => Some(Fitting::Scale),
        "fold" => Some(Fitting::Fold),
        _ => {
            let disks = text.strip_prefix("spread ")?.parse().ok();
            disks.filter(|disks| *disks > 0).map(Fitting::Spread)
        }
    }
}

/// Returns a function that turns a problem into an error in `cell`.
pub(crate) fn cell_error(cell: String) -> impl FnOnce(String) -> StudyError {
    move |why| StudyError::Cell { cell, why }
}
