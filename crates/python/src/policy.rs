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
            trouble: Arc::default(),
        }))
    }

    /// Parses a name with its parameters.
    pub fn from_name(py: Python<'_>, text: &str) -> PyResult<Self> {
        let named = policy("policy", text).map_err(|error| py_error(py, &error))?;
        Ok(Self::Named(named))
    }

    /// Returns its name in results.
    pub fn name(&self) -> String {
        match self {
            Self::Named(choice) => choice.to_string(),
            Self::Python(written) => written.name.clone(),
        }
    }

    /// Returns true if an exception was raised, which makes the run's results meaningless.
    pub fn has_failed(&self) -> bool {
        match self {
            Self::Named(_) => false,
            Self::Python(written) => written.trouble.has_come.load(Ordering::Relaxed),
        }
    }

    /// Returns the first exception that was raised.
    pub fn exception(&self, py: Python<'_>) -> Option<PyErr> {
        match self {
            Self::Named(_) => None,
            Self::Python(written) => written.trouble.first(py),
        }
    }

    pub fn maker(&self) -> &dyn MakePolicy {
        match self {
            Self::Named(choice) => choice,
            Self::Python(written) => written,
        }
    }
}

/// A policy written in Python.
pub struct PythonPolicy {
    name: String,
    policy: Py<PyAny>,
    trouble: Arc<Trouble>,
}

/// An exception raised in Python, kept here because the simulation cannot return it.
#[derive(Default)]
struct Trouble {
    has_come: AtomicBool,
    first: Mutex<Option<PyErr>>,
}

impl Trouble {
    fn keep(&self, exception: PyErr) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(exception);
        self.has_come.store(true, Ordering::Relaxed);
    }

    fn first(&self, py: Python<'_>) -> Option<PyErr> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.as_ref().map(|exception| exception.clone_ref(py))
    }
}

impl PythonPolicy {
    /// Returns a deep copy, so that neither drives nor runs share state.
    fn asking(&self) -> Asking {
        let copied = Python::attach(|py| {
            let copy = py.import("copy")?.getattr("deepcopy")?;
            PyResult::Ok(copy.call1((&self.policy,))?.unbind())
        });
        let policy = copied.map_err(|exception| self.trouble.keep(exception));
        Asking {
            policy: policy.ok(),
            waiting: Vec::new(),
            after_last: 0,
            trouble: Arc::clone(&self.trouble),
        }
    }
}

impl MakePolicy for PythonPolicy {
    fn policy(&self, _: &Drive) -> Box<dyn Policy<Drive>> {
        Box::new(self.asking())
    }

    fn boxed(
        &self,
        device: &BoxedDevice,
    ) -> Result<Box<dyn Policy<BoxedDevice>>, InsufficientKnowledge> {
        // It can see the positioning time of each request, and whether it is buffered.
        device.check_knowledge(&self.name, Knowledge::TimesAndBuffer)?;
        Ok(Box::new(self.asking()))
    }
}

/// A queue whose order is decided in Python.
struct Asking {
    /// `None` if it could not be copied.
    policy: Option<Py<PyAny>>,
    /// In order of arrival.
    waiting: Vec<(Waiting, Extent)>,
    /// The block after the end of the request that was served last.
    after_last: u64,
    trouble: Arc<Trouble>,
}

impl Asking {
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
                .map(|(waiting, place)| Pending::new(waiting, place, &outlook))
                .map(|pending| Bound::new(py, pending));
            let waiting = PyList::new(py, waiting.collect::<PyResult<Vec<_>>>()?)?;
            let now_us = now.as_ns() as f64 / 1e3;
            let name = pyo3::intern!(py, "choose");
            let index: usize = policy.call_method1(name, (now_us, waiting))?.extract()?;
            let count = self.waiting.len();
            if index >= count {
                let problem = format!("choose() returned {index}, with {count} waiting");
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

impl<E: Estimate> Policy<E> for Asking {
    fn add(&mut self, pending: Waiting, drive: &E) {
        let place = drive.locate(&pending.request);
        self.waiting.push((pending, place));
    }

    fn note_bypass(&mut self, request: &Request, _: &E) {
        self.after_last = request.end().0;
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Waiting> {
        if self.waiting.is_empty() {
            return None;
        }
        // After an exception any order will do until the run is stopped.
        let index = if self.trouble.has_come.load(Ordering::Relaxed) {
            0
        } else {
            self.choose(now, drive).unwrap_or_else(|exception| {
                self.trouble.keep(exception);
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

/// The policies of the table, as printed by diskarm policies --json: a list of dicts.
#[pyfunction]
pub fn policies(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    python(py, &diskarm_results::policies())
}

/// A waiting request at the time of a decision.
#[pyclass(frozen, get_all, module = "diskarm")]
pub struct Pending {
    /// The request's number; a workload counts from 0.
    pub id: u64,
    /// Its first block.
    pub lbn: u64,
    /// Its number of blocks.
    pub sectors: u64,
    /// True for a read, False for a write.
    pub is_read: bool,
    /// Time of arrival in the queue, in microseconds.
    pub arrived_us: f64,
    /// The cylinder of its first block.
    pub cylinder: u32,
    /// Time until its media transfer would begin, in microseconds.
    pub positioning_us: f64,
    /// True if the drive's buffer holds the start of its data, or is reading it.
    pub is_buffered: bool,
}

impl Pending {
    /// Describes a request at `place`, as the drive of `outlook` would serve it.
    pub fn new(waiting: &Waiting, place: &Extent, outlook: &impl Outlook) -> Self {
        let request = &waiting.request;
        Self {
            id: request.id,
            lbn: request.start.0,
            sectors: request.sectors.0,
            is_read: request.op.is_read(),
            arrived_us: microseconds(waiting.arrived.as_ns() as i64),
            cylinder: place.cylinder.0,
            positioning_us: microseconds(outlook.positioning(request, place).as_ns()),
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
