//! The requests of a run in columns, which NumPy and Arrow use directly, without copying.
//!
//! Arrow's buffers own the memory. Arrow's readers access it through the PyCapsule interface, NumPy
//! through its array interface: an address that is valid during the lifetime of the column.

use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int8Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, RecordBatchIterator,
    StringArray, StructArray,
};
use arrow_schema::{ArrowError, DataType};
use diskarm_core::device::{Breakdown, Completion};
use diskarm_simulate::{OUTCOMES, Sink, outcome};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

/// The names of the columns with times, which precede the parts of the response.
const TIMES: [&str; 3] = ["arrived_us", "completed_us", "response_us"];

/// The directions, by code.
const OPS: [&str; 2] = ["R", "W"];

/// The columns of `diskarm simulate --per-request`, which grow by one row per request.
#[derive(Default)]
pub struct Columns {
    id: Vec<u64>,
    disk: Vec<u32>,
    op: Vec<i8>,
    lbn: Vec<u64>,
    sectors: Vec<u64>,
    outcome: Vec<i8>,
    times: [Vec<f64>; TIMES.len()],
    parts: [Vec<f64>; Breakdown::NAMES.len()],
}

/// Converts to the nearest float, as parsing the decimal would.
pub fn microseconds(ns: i64) -> f64 {
    ns as f64 / 1e3
}

impl Sink for Columns {
    fn take(&mut self, completion: &Completion) {
        let request = &completion.request;
        self.id.push(request.id);
        self.disk.push(request.unit.into());
        self.op.push(i8::from(!request.op.is_read()));
        self.lbn.push(request.start.0);
        self.sectors.push(request.sectors.0);
        self.outcome.push(outcome(completion) as i8);
        let times = [
            completion.arrived.as_ns() as i64,
            completion.at.as_ns() as i64,
            completion.response().as_ns(),
        ];
        for (column, ns) in self.times.iter_mut().zip(times) {
            column.push(microseconds(ns));
        }
        for (column, part) in self.parts.iter_mut().zip(completion.breakdown.parts()) {
            column.push(microseconds(part.as_ns()));
        }
    }
}

impl Columns {
    pub fn batch(self) -> PyResult<Batch> {
        let words = |codes: Vec<i8>, words: &[&str]| -> PyResult<ArrayRef> {
            let words = Arc::new(StringArray::from(words.to_vec()));
            let array = DictionaryArray::<Int8Type>::try_new(codes.into(), words);
            Ok(Arc::new(array.map_err(internal_error)?))
        };
        let us = |column: Vec<f64>| -> ArrayRef {
            Arc::new(PrimitiveArray::<Float64Type>::from(column))
        };
        let mut columns: Vec<(String, ArrayRef)> = vec![
            named_column("id", PrimitiveArray::<UInt64Type>::from(self.id)),
            named_column("disk", PrimitiveArray::<UInt32Type>::from(self.disk)),
            ("op".to_owned(), words(self.op, &OPS)?),
            named_column("lbn", PrimitiveArray::<UInt64Type>::from(self.lbn)),
            named_column("sectors", PrimitiveArray::<UInt64Type>::from(self.sectors)),
            ("outcome".to_owned(), words(self.outcome, &OUTCOMES)?),
        ];
        let times = TIMES.into_iter().map(str::to_owned);
        columns.extend(times.zip(self.times.map(us)));
        let parts = Breakdown::NAMES
            .into_iter()
            .map(|part| format!("{part}_us"));
        columns.extend(parts.zip(self.parts.map(us)));
        let rows = RecordBatch::try_from_iter(columns).map_err(internal_error)?;
        Ok(Batch { rows })
    }
}

fn named_column(name: &str, column: impl Array + 'static) -> (String, ArrayRef) {
    (name.to_owned(), Arc::new(column))
}

/// Converts an error that cannot occur if columns have equal lengths and match their types.
fn internal_error(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// Requests as named columns.
#[pyclass(frozen, module = "diskarm._diskarm")]
pub struct Batch {
    rows: RecordBatch,
}

type Capsule<'py> = Bound<'py, PyCapsule>;

#[pymethods]
impl Batch {
    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        let fields = self.rows.schema().fields().clone();
        fields.iter().map(|field| field.name().clone()).collect()
    }

    /// Returns the column with this name.
    fn column(&self, name: &str) -> PyResult<Column> {
        let column = self.rows.column_by_name(name).cloned();
        let array = column.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        Ok(Column { array })
    }

    fn __len__(&self) -> usize {
        self.rows.num_rows()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Capsule<'py>> {
        schema(py, &DataType::Struct(self.rows.schema().fields().clone()))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Capsule<'py>, Capsule<'py>)> {
        // The requested schema is only a hint: the types are fixed.
        let _ = requested_schema;
        array(py, &StructArray::from(self.rows.clone()))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Capsule<'py>> {
        let _ = requested_schema;
        let rows = RecordBatchIterator::new([Ok(self.rows.clone())], self.rows.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(rows));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// A column of a `Batch`.
#[pyclass(frozen, module = "diskarm._diskarm")]
pub struct Column {
    array: ArrayRef,
}

#[pymethods]
impl Column {
    /// The word for each code, if it is a column of codes.
    #[getter]
    fn words(&self) -> Option<Vec<String>> {
        let array = codes(&self.array)?;
        let words = array.values().as_any().downcast_ref::<StringArray>()?;
        Some(words.iter().flatten().map(str::to_owned).collect())
    }

    /// Its memory for NumPy, read-only.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (address, kind) = self.memory();
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.array.len(),))?;
        interface.set_item("typestr", kind)?;
        interface.set_item("data", (address, true))?;
        Ok(interface)
    }

    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Capsule<'py>> {
        schema(py, self.array.data_type())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Capsule<'py>, Capsule<'py>)> {
        let _ = requested_schema;
        array(py, &self.array)
    }
}

impl Column {
    /// Returns the address of its numbers, and NumPy's name for their type.
    fn memory(&self) -> (usize, &'static str) {
        let array = &self.array;
        let found = codes(array)
            .map(|codes| (codes.keys().values().as_ptr() as usize, "|i1"))
            .or_else(|| Some((address::<Float64Type>(array)?, "<f8")))
            .or_else(|| Some((address::<UInt64Type>(array)?, "<u8")))
            .or_else(|| Some((address::<UInt32Type>(array)?, "<u4")));
        match found {
            Some(found) => found,
            None => panic!("unexpected column type {}", array.data_type()),
        }
    }
}

fn codes(array: &ArrayRef) -> Option<&DictionaryArray<Int8Type>> {
    array.as_any().downcast_ref()
}

fn address<T: ArrowPrimitiveType>(array: &ArrayRef) -> Option<usize> {
    let primitive = array.as_any().downcast_ref::<PrimitiveArray<T>>()?;
    Some(primitive.values().as_ptr() as usize)
}

fn schema<'py>(py: Python<'py>, data_type: &DataType) -> PyResult<Capsule<'py>> {
    let schema = FFI_ArrowSchema::try_from(data_type).map_err(internal_error)?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

fn array<'py>(py: Python<'py>, source: &dyn Array) -> PyResult<(Capsule<'py>, Capsule<'py>)> {
    let data = source.to_data();
    let array = FFI_ArrowArray::new(&data);
    let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
    Ok((schema(py, source.data_type())?, array))
}
