//! Scheduling policies: built-in ones by name, and policies written in Python.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use diskarm_core::drive::Drive;
use diskarm_core::extent::Extent;
use diskarm_core::request::Request;
use diskarm_core::sched::{Estimate, Knowledge, Outlook, Pending as Waiting, Policy, PolicyConfig};
use diskarm_core::stack::{BoxedDevice, InsufficientKnowledge};
use diskarm_core::units::Instant;
use diskarm_simulate::{MakePolicy, policy};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::convert::{py_error, python, wrong_type};
use crate::requests::microseconds;

/// A policy given by name or as a Python object.
pub enum GivenPolicy {
    Named(PolicyConfig),
    Python(PythonPolicy),
}

impl GivenPolicy {
    /// Converts a name with its parameters, or an object with a method `choose`.
    pub fn from_argument(policy: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = policy.py();
        if let Ok(text) = policy.cast::<PyString>() {
            return Self::from_name(py, text.to_str()?);
        }
        if !policy.hasattr("choose")? {
            let expected = "a name, or an object with a method choose(now_us, waiting)";
            return Err(wrong_type("policy", policy, expected));
        }
        Ok(Self::Python(PythonPolicy {
            name: policy.get_type().name()?.to_string(),
            policy: policy.clone().unbind(),
            exception: Arc::default(),
        }))
    }

    pub fn from_name(py: Python<'_>, text: &str) -> PyResult<Self> {
        let named = policy("policy", text).map_err(|error| py_error(py, &error))?;
        Ok(Self::Named(named))
    }

    /// Returns the policy's name in results.
    pub fn name(&self) -> String {
        match self {
            Self::Named(choice) => choice.to_string(),
            Self::Python(python) => python.name.clone(),
        }
    }

    /// Returns true if an exception was raised, which makes the run's results meaningless.
    pub fn has_failed(&self) -> bool {
        match self {
            Self::Named(_) => false,
            Self::Python(python) => python.exception.has_occurred.load(Ordering::Relaxed),
        }
    }

    /// Returns the first exception that was raised.
    pub fn exception(&self, py: Python<'_>) -> Option<PyErr> {
        match self {
            Self::Named(_) => None,
            Self::Python(python) => python.exception.first(py),
        }
    }

    pub fn maker(&self) -> &dyn MakePolicy {
        match self {
            Self::Named(choice) => choice,
            Self::Python(python) => python,
        }
    }
}

pub struct PythonPolicy {
    name: String,
    policy: Py<PyAny>,
    exception: Arc<FirstException>,
}

/// The first exception raised in Python, stored because the simulation cannot return it.
#[derive(Default)]
struct FirstException {
    has_occurred: AtomicBool,
    first: Mutex<Option<PyErr>>,
}

impl FirstException {
    fn keep(&self, exception: PyErr) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(exception);
        self.has_occurred.store(true, Ordering::Relaxed);
    }

    fn first(&self, py: Python<'_>) -> Option<PyErr> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.as_ref().map(|exception| exception.clone_ref(py))
    }
}

impl PythonPolicy {
    /// Returns a queue with a deep copy of the policy, as drives and runs must not share state.
    fn queue(&self) -> PythonQueue {
        let copied = Python::attach(|py| {
            let copy = py.import("copy")?.getattr("deepcopy")?;
            PyResult::Ok(copy.call1((&self.policy,))?.unbind())
        });
        let policy = copied.map_err(|exception| self.exception.keep(exception));
        PythonQueue {
            policy: policy.ok(),
            waiting: Vec::new(),
            after_last: 0,
            exception: Arc::clone(&self.exception),
        }
    }
}

impl MakePolicy for PythonPolicy {
    fn policy(&self, _: &Drive) -> Box<dyn Policy<Drive>> {
        Box::new(self.queue())
    }

    fn boxed(
        &self,
        device: &BoxedDevice,
    ) -> Result<Box<dyn Policy<BoxedDevice>>, InsufficientKnowledge> {
        // The policy sees the positioning time of each request, and whether it is buffered.
        device.check_knowledge(&self.name, Knowledge::TimesAndBuffer)?;
        Ok(Box::new(self.queue()))
    }
}

/// A queue whose order is decided in Python.
struct PythonQueue {
    /// `None` if it could not be copied.
    policy: Option<Py<PyAny>>,
    /// The waiting requests, in order of arrival.
    waiting: Vec<(Waiting, Extent)>,
    /// The block after the end of the request that was served last.
    after_last: u64,
    exception: Arc<FirstException>,
}

impl PythonQueue {
    /// Returns the index of the request to serve next.
    fn choose<E: Estimate>(&self, now: Instant, drive: &E) -> PyResult<usize> {
        let Some(policy) = &self.policy else {
            return Ok(0);
        };
        let outlook = drive.outlook(now);
        Python::attach(|py| {
            let policy = policy.bind(py);
            policy.setattr(pyo3::intern!(py, "last_lbn"), self.after_last)?;
            let waiting = self.waiting.iter();
            let waiting = waiting
                .map(|(waiting, extent)| Pending::new(waiting, extent, &outlook))
                .map(|pending| Bound::new(py, pending));
            let waiting = PyList::new(py, waiting.collect::<PyResult<Vec<_>>>()?)?;
            let now_us = now.as_ns() as f64 / 1e3;
            let name = pyo3::intern!(py, "choose");
            let index: usize = policy.call_method1(name, (now_us, waiting))?.extract()?;
            let count = self.waiting.len();
            if index >= count {
                let problem = format!("choose() returned {index}, expected an index below {count}");
                return Err(PyIndexError::new_err(problem));
            }
            Ok(index)
        })
    }

    fn serve(&mut self, index: usize) -> Waiting {
        let (waiting, _) = self.waiting.remove(index);
        self.after_last = waiting.request.end().0;
        waiting
    }
}

impl<E: Estimate> Policy<E> for PythonQueue {
    fn add(&mut self, pending: Waiting, drive: &E) {
        let extent = drive.locate(&pending.request);
        self.waiting.push((pending, extent));
    }

    fn note_bypass(&mut self, request: &Request, _: &E) {
        self.after_last = request.end().0;
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Waiting> {
        if self.waiting.is_empty() {
            return None;
        }
        // After an exception, the order does not matter: the run is stopped.
        let index = if self.exception.has_occurred.load(Ordering::Relaxed) {
            0
        } else {
            self.choose(now, drive).unwrap_or_else(|exception| {
                self.exception.keep(exception);
                0
            })
        };
        Some(self.serve(index))
    }

    fn take(&mut self, id: u64) -> Option<Waiting> {
        let mut waiting = self.waiting.iter();
        let index = waiting.position(|(waiting, _)| waiting.request.id == id)?;
        Some(self.waiting.remove(index).0)
    }
}

/// Returns all scheduling policies, as printed by diskarm policies --json.
#[pyfunction]
pub fn policies(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    python(py, &diskarm_results::policies())
}

/// A waiting request at the time of a decision.
#[pyclass(frozen, get_all, module = "diskarm")]
pub struct Pending {
    /// The request's number; a workload numbers its requests from 0.
    pub id: u64,
    /// Its first block.
    pub lbn: u64,
    /// Its number of blocks.
    pub sectors: u64,
    /// True for a read, False for a write.
    pub is_read: bool,
    /// The time of its arrival in the queue, in microseconds.
    pub arrived_us: f64,
    /// The cylinder of its first block.
    pub cylinder: u32,
    /// The time until its media transfer would begin, in microseconds.
    pub positioning_us: f64,
    /// True if the start of its data is in the drive's buffer or being read into it.
    pub is_buffered: bool,
}

impl Pending {
    /// Describes a request at `extent`, as the drive of `outlook` would serve it.
    pub fn new(waiting: &Waiting, extent: &Extent, outlook: &impl Outlook) -> Self {
        let request = &waiting.request;
        Self {
            id: request.id,
            lbn: request.start.0,
            sectors: request.sectors.0,
            is_read: request.op.is_read(),
            arrived_us: microseconds(waiting.arrived.as_ns() as i64),
            cylinder: extent.cylinder.0,
            positioning_us: microseconds(outlook.positioning(request, extent).as_ns()),
            is_buffered: outlook.is_buffered(request),
        }
    }
}

#[pymethods]
impl Pending {
    fn __repr__(&self) -> String {
        let op = if self.is_read { "read" } else { "write" };
        let (id, sectors, lbn) = (self.id, self.sectors, self.lbn);
        format!("<Pending {id}: {op} of {sectors} sectors at {lbn}>")
    }
}
