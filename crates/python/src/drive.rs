//! A drive, unchanged or with some values of its specification changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use diskarm_rewrite::{Edit, Value, rewrite};
use diskarm_simulate::Model;
use pyo3::prelude::*;

use crate::convert::python;
use crate::error::{raised, wrong};

/// A drive's model: a name in the catalogue, or the path of a specification that ends in .toml; or
/// a drive with devices in front of it, such as throttle(rate=100/s, drive=hp-c2247).
#[pyclass(frozen, module = "diskarm")]
pub struct Drive {
    pub model: Arc<Model>,
}

impl Drive {
    pub fn of(model: Model) -> Self {
        let model = Arc::new(model);
        Self { model }
    }

    /// Its model, which must not have devices in front of it.
    pub fn alone(&self, py: Python<'_>) -> PyResult<Arc<Model>> {
        let alone = self
            .model
            .alone("drive")
            .map_err(|error| raised(py, &error));
        alone.map(|_| Arc::clone(&self.model))
    }
}

#[pymethods]
impl Drive {
    #[new]
    #[pyo3(signature = (name, /))]
    fn new(py: Python<'_>, name: &str) -> PyResult<Self> {
        let found = Model::assemble(name).map_err(|error| raised(py, &error.calling("drive")))?;
        Ok(Self::of(found))
    }

    /// The drive that the text of a specification describes. Errors call it `name`.
    #[staticmethod]
    #[pyo3(signature = (text, name="drive.toml"))]
    fn from_toml(py: Python<'_>, text: String, name: &str) -> PyResult<Self> {
        let read = Model::read(text, name).map_err(|error| raised(py, &error))?;
        Ok(Self::of(read))
    }

    /// The drive with values of its specification set by their dotted keys, {"buffer.segments": 4};
    /// a time, a rate or a size is text with its unit. Comments and everything else stay as they
    /// are.
    #[pyo3(signature = (changes, name=None))]
    fn edit(
        &self,
        py: Python<'_>,
        changes: BTreeMap<String, Set>,
        name: Option<String>,
    ) -> PyResult<Self> {
        let model = &self.model;
        let edits = changes.into_iter().map(|(key, set)| Edit {
            key: key.into(),
            value: set.value(),
        });
        let edits: Vec<Edit> = edits.collect();
        let text = rewrite(&model.text, &edits)
            .map_err(|error| wrong(py, "changes", &error.to_string(), "keys of a specification"))?;
        let name = name.unwrap_or_else(|| format!("{}, edited", model.name));
        let read = Model::read(text, &name).and_then(|drive| match &model.tower {
            Some(tower) => drive.with_tower(tower),
            None => Ok(drive),
        });
        let read = read.map_err(|error| raised(py, &error))?;
        Ok(Self::of(Model { name, ..read }))
    }

    /// The name by which the drive was requested.
    #[getter]
    fn name(&self) -> &str {
        &self.model.name
    }

    /// Its specification, in TOML.
    #[getter]
    fn toml(&self) -> &str {
        &self.model.text
    }

    /// Its number of sectors.
    #[getter]
    fn sectors(&self) -> u64 {
        self.model.disk().sectors.0
    }

    /// The size of a sector in bytes.
    #[getter]
    fn sector_bytes(&self) -> u32 {
        self.model.spec.geometry.sector_bytes
    }

    /// Its whole specification, as printed by diskarm drives show --json.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, &diskarm_results::drive(&self.model))
    }

    fn __repr__(&self) -> String {
        format!("Drive({:?})", self.model.name)
    }
}

/// A value to set.
#[derive(FromPyObject)]
enum Set {
    // Listed before numbers, because True and False are numbers in Python.
    Flag(bool),
    Whole(i64),
    Number(f64),
    Text(String),
}

impl Set {
    fn value(self) -> Value {
        match self {
            Self::Flag(flag) => Value::Toml(flag.to_string()),
            Self::Whole(number) => Value::Toml(number.to_string()),
            Self::Number(number) => Value::Toml(format!("{number:?}")),
            Self::Text(text) => Value::Text(text),
        }
    }
}

/// The names in the catalogue, in alphabetical order.
#[pyfunction]
pub fn drives() -> Vec<&'static str> {
    let entries = diskarm_drives::CATALOGUE.iter();
    entries.map(|entry| entry.name).collect()
}
