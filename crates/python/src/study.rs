//! Runs complete studies or single cells.

use std::ffi::CString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use diskarm_study::{
    Folder, Report, Results, Runner, Store, StoredRun, StudyError, StudyOptions, compute, studies,
};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use serde_json::Value;

use crate::convert::{failed, python, wrong, wrong_study};
use crate::wait;

/// A study that has been parsed and validated.
#[pyclass(frozen, module = "diskarm._diskarm")]
pub struct Study {
    study: Arc<diskarm_study::Study>,
    /// Its file, or its name if it is built in.
    file: String,
}

#[pymethods]
impl Study {
    /// Parses the study in `toml`; errors refer to it as `file`.
    #[new]
    fn new(
        py: Python<'_>,
        toml: &str,
        name: &str,
        file: &str,
        quick: bool,
        traces: Vec<String>,
    ) -> PyResult<Self> {
        let options = StudyOptions { quick, traces };
        let study = diskarm_study::Study::read(name, toml, file, options);
        let study = Arc::new(study.map_err(|error| wrong_study(py, &error))?);
        let file = file.to_owned();
        Ok(Self { study, file })
    }

    #[getter]
    fn title(&self) -> &str {
        &self.study.title
    }

    #[getter]
    fn source(&self) -> &str {
        &self.study.source
    }

    #[getter]
    fn about(&self) -> &str {
        &self.study.about
    }

    /// For each cell, the value of every axis.
    #[getter]
    fn cells<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let axes = &self.study.axes;
        let cells = self.study.cells.iter().map(|cell| {
            let values = axes.iter().zip(&cell.point).map(|(axis, index)| {
                let value = serde_json::to_value(&axis.values[*index].value);
                (axis.name.clone(), value.unwrap_or_default())
            });
            Value::Object(values.collect())
        });
        python(py, &Value::Array(cells.collect()))
    }

    /// The names of the metrics.
    #[getter]
    fn metrics(&self) -> Vec<&str> {
        let columns = self.study.columns.iter();
        columns.map(|column| column.name.as_str()).collect()
    }

    /// Simulates the runs that `folder` lacks, on `jobs` threads, and writes all results to it.
    fn run<'py>(
        &self,
        py: Python<'py>,
        folder: PathBuf,
        jobs: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let jobs = jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, Into::into));
        let done = wait::stoppable(py, |stop| -> Result<_, StudyError> {
            let runner = Runner::new(&self.study)?;
            let folder = self.folder(&runner, &folder)?;
            let mut store = Store::open(&folder)?;
            let damage = store.damage();
            let results = runner
                .run(&mut store, jobs, &mut |_| continue_unless(stop))?
                .ok_or(StudyError::Stopped)?;
            let value = write_results(&self.study, &results, &folder)?;
            Ok((value, damage))
        })?;
        let (value, damage) = done.map_err(|error| failed(py, &error))?;
        warn(py, damage)?;
        python(py, &value)
    }

    /// Computes the runs of one cell, each as a line for a [`CheckpointWriter`].
    fn compute(&self, py: Python<'_>, cell: usize) -> PyResult<Vec<String>> {
        let count = self.study.cells.len();
        if cell >= count {
            let expected = format!("a number below {count}, the number of cells");
            return Err(wrong(py, "cell", &cell.to_string(), &expected));
        }
        let stop = |stop: &AtomicBool| compute(&self.study, cell, &|| continue_unless(stop));
        let runs = wait::stoppable(py, stop)?.map_err(|error| failed(py, &error))?;
        let lines = runs.iter().flatten().map(serde_json::to_string);
        Ok(lines.collect::<Result<_, _>>().unwrap_or_default())
    }
}

/// Issues a `UserWarning` with this text, if there is one.
fn warn(py: Python<'_>, text: Option<String>) -> PyResult<()> {
    let text = text.and_then(|text| CString::new(text).ok());
    text.map_or(Ok(()), |text| {
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)
    })
}

impl Study {
    fn folder(&self, runner: &Runner<'_>, path: &Path) -> Result<Folder, StudyError> {
        let inputs = runner.inputs().with_input("name", &self.file);
        Folder::new(path, "folder", inputs)
    }
}

fn continue_unless(stop: &AtomicBool) -> ControlFlow<()> {
    if stop.load(Ordering::Relaxed) {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// Writes all results of a study and returns them as JSON.
fn write_results(
    study: &diskarm_study::Study,
    results: &Results<'_>,
    folder: &Folder,
) -> Result<Value, StudyError> {
    // Created before anything is written, because it may fail.
    let report = Report::new(study, results)?;
    study.write(results, folder)?;
    report.write(folder)?;
    Ok(serde_json::from_str(&study.json(results)).unwrap_or_default())
}

/// Stores runs of a study that are computed elsewhere. It locks its folder until it is closed.
#[pyclass(frozen, module = "diskarm._diskarm")]
pub struct CheckpointWriter {
    study: Arc<diskarm_study::Study>,
    folder: Folder,
    /// `None` once it is closed.
    store: Mutex<Option<Store>>,
}

#[pymethods]
impl CheckpointWriter {
    #[new]
    fn new(py: Python<'_>, study: &Study, folder: PathBuf) -> PyResult<Self> {
        let opened = || -> Result<(Folder, Store), StudyError> {
            let folder = study.folder(&Runner::new(&study.study)?, &folder)?;
            let store = Store::open(&folder)?;
            Ok((folder, store))
        };
        let (folder, store) = opened().map_err(|error| failed(py, &error))?;
        warn(py, store.damage())?;
        Ok(Self {
            study: Arc::clone(&study.study),
            folder,
            store: Mutex::new(Some(store)),
        })
    }

    /// The indices of the cells that lack a run.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        let guard = self.lock();
        let store = guard.as_ref().ok_or_else(|| closed(py))?;
        let missing = Runner::new(&self.study).and_then(|runner| runner.missing_cells(store));
        missing.map_err(|error| failed(py, &error))
    }

    /// Stores runs, as [`Study::compute`] returns them.
    fn keep(&self, py: Python<'_>, lines: Vec<String>) -> PyResult<()> {
        let mut guard = self.lock();
        let store = guard.as_mut().ok_or_else(|| closed(py))?;
        for line in lines {
            let run: StoredRun = serde_json::from_str(&line)
                .map_err(|_| wrong(py, "line", &line, "a run as returned by compute"))?;
            store.keep(&run).map_err(|error| failed(py, &error))?;
        }
        Ok(())
    }

    /// Closes the writer and writes all results of the study; None if a run is missing.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut store = self.lock().take().ok_or_else(|| closed(py))?;
        // The folder stays locked until everything is written.
        let mut finish = || -> Result<Option<Value>, StudyError> {
            let results = Runner::new(&self.study)?.stored_results(&mut store)?;
            let write = |results| write_results(&self.study, &results, &self.folder);
            results.map(write).transpose()
        };
        let done = finish().map_err(|error| failed(py, &error))?;
        done.map(|value| python(py, &value)).transpose()
    }

    /// Unlocks the folder so that another process can write to it.
    fn close(&self) {
        self.lock().take();
    }
}

impl CheckpointWriter {
    fn lock(&self) -> MutexGuard<'_, Option<Store>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn closed(py: Python<'_>) -> PyErr {
    wrong(py, "writer", "closed", "an open writer")
}

/// The names and texts of the built-in studies.
#[pyfunction]
pub fn study_texts() -> Vec<(&'static str, &'static str)> {
    let entries = studies::STUDIES.iter();
    entries.map(|entry| (entry.name, entry.text)).collect()
}
