//! A drive, as it is or with values of its specification changed.

use std::sync::Arc;

use diskarm_cli::results;
use diskarm_simulate::Model;
use pyo3::prelude::*;

use crate::convert::python;
use crate::fault::raised;

/// A drive's model: a name of the catalogue, or a path that ends in .toml to a specification.
#[pyclass(frozen, module = "diskarm")]
pub struct Drive {
    pub model: Arc<Model>,
}

impl Drive {
    pub fn of(model: Model) -> Self {
        let model = Arc::new(model);
        Self { model }
    }
}

#[pymethods]
impl Drive {
    #[new]
    #[pyo3(signature = (name, /))]
    fn new(py: Python<'_>, name: &str) -> PyResult<Self> {
        let found = Model::find(name).map_err(|error| raised(py, &error.calling("drive")))?;
        Ok(Self::of(found))
    }

    /// The drive that the text of a specification describes. Errors call it name.
    #[staticmethod]
    #[pyo3(signature = (text, name="drive.toml"))]
    fn from_toml(py: Python<'_>, text: String, name: &str) -> PyResult<Self> {
        let read = Model::read(text, name).map_err(|error| raised(py, &error))?;
        Ok(Self::of(read))
    }

    /// What the drive was asked for by.
    #[getter]
    fn name(&self) -> &str {
        &self.model.name
    }

    /// Its specification, in TOML.
    #[getter]
    fn toml(&self) -> &str {
        &self.model.text
    }

    /// How many sectors it has.
    #[getter]
    fn sectors(&self) -> u64 {
        self.model.layout.sectors().0
    }

    /// Bytes of a sector.
    #[getter]
    fn sector_bytes(&self) -> u32 {
        self.model.spec.geometry.sector_bytes
    }

    /// All that its specification says, as diskarm drives show --json.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, &results::drive(&self.model))
    }

    fn __repr__(&self) -> String {
        format!("Drive({:?})", self.model.name)
    }
}

/// The names of the catalogue, in alphabetic order.
#[pyfunction]
pub fn drives() -> Vec<&'static str> {
    let entries = diskarm_drives::CATALOGUE.iter();
    entries.map(|entry| entry.name).collect()
}
