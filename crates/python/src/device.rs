//! A device that is stepped from a loop in Python.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use diskarm_core::device::{Completion as Ended, SubmitError};
use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};
use diskarm_simulate::{OUTCOMES, System, outcome};
use pyo3::prelude::*;

use crate::convert::{py_error, wrong, wrong_type};
use crate::drive::Drive;
use crate::policy::GivenPolicy;
use crate::requests::microseconds;

/// A drive in virtual time, alone or behind other devices, with a host queue. Your own loop submits
/// requests and advances the time; the device reads no clock and never waits.
///
///     >>> device = Device("hp-c2247", policy="sptf")
///     >>> numbers = [device.submit(0, "R", lbn, 16) for lbn in (1_000_000, 2_000, 1_000_016)]
///     >>> while (at := device.next_event()) is not None:
///     ...     for done in device.advance(at):
///     ...         print(done.id, done.op, round(done.response_us / 1e3, 1), "ms")
///     0 R 22.4 ms
///     2 R 26.2 ms
///     1 R 44.4 ms
///
/// Times are in microseconds since its start, rounded to nanoseconds, and must not decrease. The
/// policy orders the host's queue, FCFS by default; `seed` determines all random choices.
#[pyclass(module = "diskarm")]
pub struct Device {
    /// Never locked, as every method has `&mut self`; the mutex only makes the type `Sync`.
    device: Mutex<Box<dyn diskarm_core::device::Device>>,
    system: Arc<System>,
    policy: GivenPolicy,
    now: Instant,
    next_id: u64,
    outstanding: usize,
    /// Completions not yet returned by `advance`, such as those during a submission.
    ready: VecDeque<Ended>,
}

/// The default policy of the queue.
const FCFS: &str = "fcfs";

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (drive, policy=None, *, seed=1))]
    fn new(
        py: Python<'_>,
        drive: &Bound<'_, PyAny>,
        policy: Option<&Bound<'_, PyAny>>,
        seed: i128,
    ) -> PyResult<Self> {
        let seed = whole(py, "seed", seed)?;
        let system = match (drive.cast::<Drive>(), drive.extract::<PathBuf>()) {
            (Ok(drive), _) => Arc::clone(&drive.get().system),
            (_, Ok(path)) => Drive::find(py, &path.to_string_lossy())?.system,
            _ => return Err(wrong_type("drive", drive, "a name, a path or a Drive")),
        };
        let policy = match policy {
            Some(policy) => GivenPolicy::from_argument(policy)?,
            None => GivenPolicy::from_name(py, FCFS)?,
        };
        let device = system.queued(policy.maker(), seed);
        Ok(Self {
            device: Mutex::new(device.map_err(|error| py_error(py, &error))?),
            system,
            policy,
            now: Instant::START,
            next_id: 0,
            outstanding: 0,
            ready: VecDeque::new(),
        })
    }

    /// Submits a request at now_us and returns its number, counted from 0. `op` is "R" for a read,
    /// "W" for a write, or "F" for a flush, which has neither lbn nor sectors. With
    /// force_unit_access, the request accesses the media, not the buffer.
    #[pyo3(signature = (now_us, op, lbn=0, sectors=0, *, force_unit_access=false))]
    fn submit(
        &mut self,
        py: Python<'_>,
        now_us: f64,
        op: &str,
        lbn: i128,
        sectors: i128,
        force_unit_access: bool,
    ) -> PyResult<u64> {
        let op = match op {
            "R" => Op::Read,
            "W" => Op::Write,
            "F" => Op::Flush,
            _ => return Err(wrong(py, "op", op, "R, W or F")),
        };
        let now = self.instant(py, now_us)?;
        let (lbn, sectors) = (whole(py, "lbn", lbn)?, whole(py, "sectors", sectors)?);
        let request = Request {
            force_unit_access,
            ..Request::new(self.next_id, op, Lbn(lbn), SectorCount(sectors))
        };
        if op == Op::Flush && (lbn, sectors) != (0, 0) {
            let found = format!("{sectors} sectors from {lbn}");
            return Err(wrong(py, "op", &found, "a flush without lbn and sectors"));
        }
        let refused = |refused| refusal(py, &request, refused);
        self.device().check(&request).map_err(refused)?;
        // Events at or before an instant are processed before a submission at that instant.
        self.advance_to(py, now)?;
        self.device().submit(now, request).map_err(refused)?;
        self.next_id += 1;
        self.outstanding += 1;
        Ok(request.id)
    }

    /// Returns the time of the next event, in microseconds, which may be now; None if nothing will
    /// happen without further requests.
    fn next_event(&mut self) -> Option<f64> {
        let at = match self.ready.front() {
            Some(_) => Some(self.now),
            None => self.device().next_event(),
        };
        at.map(|at| microseconds(at.as_ns() as i64))
    }

    /// Advances the device to now_us; returns the requests completed by then and not yet returned,
    /// in order of completion.
    fn advance(&mut self, py: Python<'_>, now_us: f64) -> PyResult<Vec<Completion>> {
        let now = self.instant(py, now_us)?;
        self.advance_to(py, now)?;
        self.outstanding -= self.ready.len();
        let ready = self.ready.drain(..);
        Ok(ready.map(|ended| Completion::new(&ended)).collect())
    }

    /// The time to which the device has been advanced, in microseconds.
    #[getter]
    fn now_us(&self) -> f64 {
        microseconds(self.now.as_ns() as i64)
    }

    /// The number of requests submitted but not yet returned by advance.
    #[getter]
    fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Its number of sectors.
    #[getter]
    fn sectors(&mut self) -> u64 {
        self.device().capacity().0
    }

    /// The size of a sector in bytes.
    #[getter]
    fn sector_bytes(&self) -> u32 {
        self.system.drive.spec.geometry.sector_bytes
    }

    fn __repr__(&self) -> String {
        format!(
            "<Device {:?}, {}: {} outstanding at {} us>",
            self.system.name,
            self.policy.name(),
            self.outstanding,
            self.now_us()
        )
    }
}

impl Device {
    /// Converts a time to an instant, and checks that it does not precede the last one.
    fn instant(&self, py: Python<'_>, now_us: f64) -> PyResult<Instant> {
        // Beyond this, a double cannot represent nanoseconds.
        const MAX_US: f64 = 4e12;
        if (0.0..=MAX_US).contains(&now_us) {
            let now = Instant::from_ns((now_us * 1e3).round() as u64);
            if now >= self.now {
                return Ok(now);
            }
        }
        let expected = format!("microseconds from {} to {MAX_US:e}", self.now_us());
        Err(wrong(py, "now_us", &now_us.to_string(), &expected))
    }

    fn device(&mut self) -> &mut dyn diskarm_core::device::Device {
        let device = self.device.get_mut();
        &mut **device.unwrap_or_else(PoisonError::into_inner)
    }

    /// Advances the device and stores its completions. After an exception in a Python policy, the
    /// order of the queue is meaningless, and every call raises the same exception.
    fn advance_to(&mut self, py: Python<'_>, now: Instant) -> PyResult<()> {
        while let Some(ended) = self.device().advance(now) {
            self.ready.push_back(ended);
        }
        self.now = now;
        self.policy.exception(py).map_or(Ok(()), Err)
    }
}

/// Converts a number to 64 bits. Fails if it does not fit.
fn whole(py: Python<'_>, field: &str, number: i128) -> PyResult<u64> {
    let expected = "a whole number from 0 to 2**64 - 1";
    u64::try_from(number).map_err(|_| wrong(py, field, &number.to_string(), expected))
}

/// Returns the exception for a request that the device rejects.
fn refusal(py: Python<'_>, request: &Request, refused: SubmitError) -> PyErr {
    let (field, expected) = match refused {
        SubmitError::Empty => ("sectors", "at least 1".to_owned()),
        SubmitError::TooLarge => ("sectors", format!("at most {}", Request::MAX_SECTORS.0)),
        SubmitError::BeyondEnd { sectors } => {
            ("lbn", format!("a range within the {} sectors", sectors.0))
        }
        SubmitError::Full | SubmitError::NoSuchUnit { .. } => ("device", refused.to_string()),
    };
    let found = match field {
        "sectors" => request.sectors.0.to_string(),
        _ => format!("{} sectors from {}", request.sectors.0, request.start.0),
    };
    wrong(py, field, &found, &expected)
}

/// A completed request of a Device. The parts of its response time add up to response_us.
#[pyclass(frozen, get_all, module = "diskarm")]
pub struct Completion {
    /// The number that submit returned.
    pub id: u64,
    /// "R", "W" or "F".
    pub op: &'static str,
    /// Its first block.
    pub lbn: u64,
    /// Its number of blocks.
    pub sectors: u64,
    /// "miss", "hit", "partial", "absorbed"; or, if it failed, "medium-error", "not-ready",
    /// "aborted".
    pub outcome: &'static str,
    /// The time of submission.
    pub arrived_us: f64,
    /// The time of completion.
    pub completed_us: f64,
    /// The time from submission to completion.
    pub response_us: f64,
    /// The time spent in queues.
    pub queue_us: f64,
    /// The time spent on work deferred from earlier requests.
    pub owed_us: f64,
    /// The time spent on the drive's command overheads.
    pub overhead_us: f64,
    /// The time spent seeking.
    pub seek_us: f64,
    /// The time spent settling after the seek; may be negative.
    pub settle_us: f64,
    /// The time spent waiting for the first sector.
    pub rotation_us: f64,
    /// The time spent on the transfer from or to the media.
    pub transfer_us: f64,
    /// The time spent on bus transfers that do not overlap other parts.
    pub bus_us: f64,
}

impl Completion {
    fn new(ended: &Ended) -> Self {
        let request = &ended.request;
        let parts = &ended.breakdown;
        let us = |span: Span| microseconds(span.as_ns());
        Self {
            id: request.id,
            op: match request.op {
                Op::Read => "R",
                Op::Write => "W",
                Op::Flush => "F",
            },
            lbn: request.start.0,
            sectors: request.sectors.0,
            outcome: OUTCOMES[outcome(ended)],
            arrived_us: microseconds(ended.arrived.as_ns() as i64),
            completed_us: microseconds(ended.at.as_ns() as i64),
            response_us: us(ended.response()),
            queue_us: us(parts.queue),
            owed_us: us(parts.owed),
            overhead_us: us(parts.overhead),
            seek_us: us(parts.seek),
            settle_us: us(parts.settle),
            rotation_us: us(parts.rotation),
            transfer_us: us(parts.transfer),
            bus_us: us(parts.bus),
        }
    }
}

#[pymethods]
impl Completion {
    fn __repr__(&self) -> String {
        let (Self { id, op, lbn, .. }, sectors) = (self, self.sectors);
        let (outcome, response_us) = (self.outcome, self.response_us);
        format!(
            "<Completion {id}: {op} of {sectors} sectors at {lbn}, {outcome} after \
             {response_us} us>"
        )
    }
}
