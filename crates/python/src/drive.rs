//! A drive, unchanged or with some values of its specification changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use diskarm_core::text::quantity;
use diskarm_core::units::Span;
use diskarm_drives::text::{
    Datasheet, Edit, Sectors, Value, parse_rate_per_s, parse_size, rewrite,
};
use diskarm_simulate::{Model, System};
use pyo3::prelude::*;

use crate::convert::{py_error, python, wrong, wrong_type};

/// A drive, given by its name in the catalogue or the path of its specification (.toml); or a
/// drive with devices in front of it, such as throttle(rate=100/s, drive=hp-c2247).
#[pyclass(frozen, module = "diskarm")]
pub struct Drive {
    pub system: Arc<System>,
}

impl Drive {
    pub fn from_system(system: System) -> Self {
        let system = Arc::new(system);
        Self { system }
    }

    /// Finds the drive, or the stack of devices, called `name`.
    pub fn find(py: Python<'_>, name: &str) -> PyResult<Self> {
        let found = System::parse(name).map_err(|error| error.with_field("drive"));
        Ok(Self::from_system(found.map_err(|e| py_error(py, &e))?))
    }

    /// Returns the drive's model. Fails if there are devices in front of the drive.
    pub fn single_drive(&self, py: Python<'_>) -> PyResult<Model> {
        let drive = self.system.single_drive("drive");
        drive.cloned().map_err(|error| py_error(py, &error))
    }
}

#[pymethods]
impl Drive {
    #[new]
    #[pyo3(signature = (name, /))]
    fn new(py: Python<'_>, name: &str) -> PyResult<Self> {
        Self::find(py, name)
    }

    /// Creates a drive from the text of a specification. Errors call it `name`.
    #[staticmethod]
    #[pyo3(signature = (text, name="drive.toml"))]
    fn from_toml(py: Python<'_>, text: String, name: &str) -> PyResult<Self> {
        let read = Model::read(text, name).map_err(|error| py_error(py, &error))?;
        Ok(Self::from_system(read.into()))
    }

    /// Creates a drive from the values of its data sheet, like `diskarm drives new`: sizes such as
    /// "8TB", times such as "8.5ms", transfer rates such as "250MB/s". `seek` is the mean time of a
    /// seek before a read, over all pairs of cylinders, `outer` the sustained rate of the outermost
    /// tracks, `sectors` one of "512n", "512e" and "4Kn". Values that are None are replaced by
    /// assumptions, which `toml` marks.
    #[staticmethod]
    #[pyo3(signature = (*, capacity, rpm, seek, outer, inner=None, write_seek=None,
        track_to_track=None, full_stroke=None, cache=None, platters=None, queue=None,
        interface=None, sectors=None, name="new-drive"))]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are keywords in Python, most of which are omitted"
    )]
    fn from_data_sheet(
        py: Python<'_>,
        capacity: &str,
        rpm: i64,
        seek: &str,
        outer: &str,
        inner: Option<&str>,
        write_seek: Option<&str>,
        track_to_track: Option<&str>,
        full_stroke: Option<&str>,
        cache: Option<&str>,
        platters: Option<i64>,
        queue: Option<i64>,
        interface: Option<&str>,
        sectors: Option<&str>,
        name: &str,
    ) -> PyResult<Self> {
        let size = |field, text| parsed(py, field, text, parse_size);
        let rate = |field, text| parsed(py, field, text, parse_rate_per_s);
        let span = |field: &str, text: &str| parsed(py, field, text, time);
        let optional_span =
            |field: &str, text: Option<&str>| text.map(|text| span(field, text)).transpose();
        let number = |field, number: i64| {
            let expected = "a whole number from 1";
            u32::try_from(number).map_err(|_| wrong(py, field, &number.to_string(), expected))
        };
        let sizes = |word: &str| {
            let known = Sectors::from_name(word);
            known.ok_or_else(|| wrong(py, "sectors", word, "512n, 512e or 4Kn"))
        };
        let sheet = Datasheet {
            name: name.to_owned(),
            capacity: size("capacity", capacity)?,
            rpm: number("rpm", rpm)?,
            seek: span("seek", seek)?,
            write_seek: optional_span("write_seek", write_seek)?,
            track_to_track: optional_span("track_to_track", track_to_track)?,
            full_stroke: optional_span("full_stroke", full_stroke)?,
            outer_per_s: rate("outer", outer)?,
            inner_per_s: inner.map(|text| rate("inner", text)).transpose()?,
            cache: cache.map(|text| size("cache", text)).transpose()?,
            platters: platters.map(|n| number("platters", n)).transpose()?,
            queue: queue.map(|n| number("queue", n)).transpose()?,
            interface_per_s: interface.map(|text| rate("interface", text)).transpose()?,
            sectors: sectors.map(sizes).transpose()?,
        };
        let derived = sheet.specification();
        let (text, _) = derived.map_err(|error| py_error(py, &error.into()))?;
        let read = Model::read(text, name).map_err(|error| py_error(py, &error))?;
        Ok(Self::from_system(read.into()))
    }

    /// Returns the drive with some values of its specification changed. `changes` maps dotted keys
    /// to values, as in {"buffer.segments": 4}; times, rates and sizes are strings with a unit.
    /// Comments and everything else remain unchanged.
    #[pyo3(signature = (changes, name=None))]
    fn edit(
        &self,
        py: Python<'_>,
        changes: BTreeMap<String, Bound<'_, PyAny>>,
        name: Option<String>,
    ) -> PyResult<Self> {
        let edits = changes.into_iter().map(|(key, given)| {
            let expected = "text, a number, True or False";
            let wrong = |_| wrong_type(&format!("changes: {key}"), &given, expected);
            let value = given.extract::<NewValue>().map_err(wrong)?.into_value();
            let key = key.into();
            Ok(Edit { key, value })
        });
        let edits: Vec<Edit> = edits.collect::<PyResult<_>>()?;
        let text = rewrite(&self.system.drive.text, &edits)
            .map_err(|error| wrong(py, "changes", &error.to_string(), "keys of a specification"))?;
        let name = name.unwrap_or_else(|| format!("{}, edited", self.system.name));
        let edited = Model::read(text, &name)
            .and_then(|drive| self.system.with_drive(drive))
            .map_err(|error| py_error(py, &error))?;
        Ok(Self::from_system(System { name, ..edited }))
    }

    /// The name by which the drive was requested.
    #[getter]
    fn name(&self) -> &str {
        &self.system.name
    }

    /// Its specification, in TOML.
    #[getter]
    fn toml(&self) -> &str {
        &self.system.drive.text
    }

    /// Its number of sectors.
    #[getter]
    fn sectors(&self) -> u64 {
        self.system.disk().sectors.0
    }

    /// The size of a sector in bytes.
    #[getter]
    fn sector_bytes(&self) -> u32 {
        self.system.drive.spec.geometry.sector_bytes
    }

    /// Returns the complete specification, as printed by diskarm drives show --json.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, &diskarm_results::drive(&self.system.drive))
    }

    fn __repr__(&self) -> String {
        format!("Drive({:?})", self.system.name)
    }
}

/// Parses the argument `field` with `read`, whose error is a description of valid values.
fn parsed<T>(
    py: Python<'_>,
    field: &str,
    text: &str,
    read: fn(&str) -> Result<T, &'static str>,
) -> PyResult<T> {
    read(text).map_err(|expected| wrong(py, field, text, expected))
}

fn time(text: &str) -> Result<Span, &'static str> {
    let span = quantity::span(text).filter(|span| *span >= Span::ZERO);
    span.ok_or("a time from 0 to an hour with its unit, such as \"8.5ms\"")
}

#[derive(FromPyObject)]
enum NewValue {
    // Precedes the numbers because True and False are numbers in Python.
    Flag(bool),
    Whole(i64),
    Number(f64),
    Text(String),
}

impl NewValue {
    fn into_value(self) -> Value {
        match self {
            Self::Flag(flag) => Value::Toml(flag.to_string()),
            Self::Whole(number) => Value::Toml(number.to_string()),
            Self::Number(number) => Value::Toml(format!("{number:?}")),
            Self::Text(text) => Value::Text(text),
        }
    }
}

/// Returns the names in the catalogue, in alphabetical order.
#[pyfunction]
pub fn drives() -> Vec<&'static str> {
    let entries = diskarm_drives::CATALOGUE.iter();
    entries.map(|entry| entry.name).collect()
}
