//! Records in columns, as Parquet and Arrow files store them.
//!
//! [`COLUMNS`] lists the name and type of each column. A reader finds the columns by name
//! ([`Columns::find`]) and unpacks them in chunks ([`ColumnRows`]), so that memory does not grow
//! with the batch size of the file.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, LargeStringArray, RecordBatch, StringArray, StringViewArray,
    downcast_integer_array,
};
use arrow_schema::{DataType, Field, Schema};
use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

use crate::error::{ErrorKind, QuotedValue, TraceError};
use crate::format::{OpenResult, RowReader, TraceMetadata};
use crate::lines::MAX_SECTORS;
use crate::record::{Location, Observed, Record, Urgency};

pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// The type that is written; any integer or string type of the same kind is read.
    data_type: DataType,
    /// True if every trace must have the column.
    is_required: bool,
    /// True if null values are allowed.
    is_nullable: bool,
}

/// The columns, at the indices that the constants below name.
pub(crate) static COLUMNS: [Column; COUNT] = [
    Column::nullable("arrival_ns", DataType::Int64),
    Column::non_null("device", DataType::UInt32, false),
    Column::non_null("op", DataType::Utf8, true),
    Column::non_null("lbn", DataType::UInt64, true),
    Column::non_null("sectors", DataType::UInt32, true),
    Column::nullable("response_ns", DataType::Int64),
    Column::nullable("service_ns", DataType::Int64),
    Column::nullable("think_ns", DataType::Int64),
    Column::nullable("queue", DataType::UInt32),
    Column::nullable("urgency", DataType::Utf8),
    Column::nullable("observed", DataType::Utf8),
];
const COUNT: usize = 11;
const ARRIVAL: usize = 0;
const DEVICE: usize = 1;
const OP: usize = 2;
const LBN: usize = 3;
const SECTORS: usize = 4;
const RESPONSE: usize = 5;
const SERVICE: usize = 6;
const THINK: usize = 7;
const QUEUE: usize = 8;
const URGENCY: usize = 9;
const OBSERVED: usize = 10;

impl Column {
    const fn non_null(name: &'static str, data_type: DataType, is_required: bool) -> Self {
        Self {
            name,
            data_type,
            is_required,
            is_nullable: false,
        }
    }

    const fn nullable(name: &'static str, data_type: DataType) -> Self {
        Self {
            name,
            data_type,
            is_required: false,
            is_nullable: true,
        }
    }

    /// Returns the declaration of the column in a new file.
    pub(crate) fn field(&self) -> Field {
        Field::new(self.name, self.data_type.clone(), self.is_nullable)
    }

    fn has_strings(&self) -> bool {
        self.data_type == DataType::Utf8
    }

    /// Returns true if values of the type `found` can be read as this column.
    fn accepts(&self, found: &DataType) -> bool {
        match found {
            DataType::Dictionary(_, values) => self.has_strings() && is_text(values),
            _ if self.has_strings() => is_text(found),
            _ => found.is_integer(),
        }
    }
}

fn is_text(found: &DataType) -> bool {
    matches!(
        found,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

/// The index of each of [`COLUMNS`] in a file.
pub(crate) struct Columns([Option<usize>; COUNT]);

impl Columns {
    /// Finds the columns in the `schema` of the file called `name`. Fails if a column is missing,
    /// of the wrong type, duplicated or unknown: if unknown columns were ignored, a misspelt
    /// `response_ns` would look absent.
    pub(crate) fn find(schema: &Schema, name: &str) -> Result<Self, TraceError> {
        let wrong = |column: &str, found: &str, expected: &str| {
            let column = QuotedValue(column);
            let detail = format!("header: found {found} {column}, expected {expected}");
            Err(TraceError::new(ErrorKind::Header, name, None, detail))
        };
        let mut indices = [None; COUNT];
        for (index, field) in schema.fields().iter().enumerate() {
            let Some(at) = COLUMNS.iter().position(|c| c.name == field.name()) else {
                let expected = format!("only {}", COLUMNS.each_ref().map(|c| c.name).join(", "));
                return wrong(field.name(), "column", &expected);
            };
            if !COLUMNS[at].accepts(field.data_type()) {
                let kind = if COLUMNS[at].has_strings() {
                    "strings"
                } else {
                    "whole numbers"
                };
                let found = field.data_type().to_string();
                let expected = format!("a column of {kind}, not of type {}", QuotedValue(&found));
                return wrong(field.name(), "column", &expected);
            }
            if indices[at].replace(index).is_some() {
                return wrong(field.name(), "a second column", "exactly one");
            }
        }
        for (column, index) in COLUMNS.iter().zip(&indices) {
            if column.is_required && index.is_none() {
                return wrong(column.name, "no column", "exactly one");
            }
        }
        Ok(Self(indices))
    }
}

/// The rows of a file, in batches of any size.
pub(crate) trait Batches: Send {
    /// Returns the next rows; `None` at the end.
    fn next(&mut self) -> Result<Option<RecordBatch>, TraceError>;
}

/// The number of rows unpacked at a time.
pub(crate) const CHUNK_ROWS: usize = 8192;

/// Reads the rows of a columnar file as records.
pub(crate) struct ColumnRows<B> {
    name: String,
    batches: B,
    columns: Columns,
    /// The part of the batch that has not been unpacked yet.
    rest: Option<RecordBatch>,
    chunk: Option<Chunk>,
    /// The next row in the chunk.
    next: usize,
    /// The number of rows before the chunk.
    rows_before: u64,
    clock: Clock,
}

impl<B: Batches + 'static> ColumnRows<B> {
    /// Returns a reader of `batches` from the file called `name`. Fails like [`Columns::find`].
    pub(crate) fn boxed(name: &str, schema: &Schema, batches: B) -> OpenResult {
        Ok(Box::new(Self {
            name: name.to_owned(),
            batches,
            columns: Columns::find(schema, name)?,
            rest: None,
            chunk: None,
            next: 0,
            rows_before: 0,
            clock: Clock::default(),
        }))
    }
}

impl<B: Batches> ColumnRows<B> {
    /// Unpacks more rows; returns false if there are none.
    fn fill(&mut self) -> Result<bool, TraceError> {
        let batch = match self.rest.take() {
            Some(batch) => Some(batch),
            None => self.batches.next()?,
        };
        let Some(batch) = batch else {
            return Ok(false);
        };
        let count = batch.num_rows().min(CHUNK_ROWS);
        let left = batch.num_rows() - count;
        self.rest = (left > 0).then(|| batch.slice(count, left));
        self.rows_before += self.chunk.take().map_or(0, |chunk| chunk.rows as u64);
        self.chunk = Some(Chunk::new(&batch.slice(0, count), &self.columns));
        self.next = 0;
        Ok(true)
    }
}

impl<B: Batches> RowReader for ColumnRows<B> {
    fn next(&mut self, _: &mut TraceMetadata) -> Result<Option<Record>, TraceError> {
        while self
            .chunk
            .as_ref()
            .is_none_or(|chunk| self.next == chunk.rows)
        {
            if !self.fill()? {
                return Ok(None);
            }
        }
        let Some(chunk) = &self.chunk else {
            return Ok(None);
        };
        let row = RowView {
            name: &self.name,
            location: Location::Row(self.rows_before + self.next as u64 + 1),
            chunk,
            index: self.next,
        };
        self.next += 1;
        row.record(&mut self.clock).map(Some)
    }
}

/// The constraints that previous rows place on the times of the next row.
#[derive(Default)]
struct Clock {
    has_arrivals: Option<bool>,
    /// The sum of responses and pauses in a trace without arrivals.
    elapsed: Span,
}

struct Chunk {
    rows: usize,
    values: [Values; COUNT],
}

impl Chunk {
    fn new(batch: &RecordBatch, columns: &Columns) -> Self {
        Self {
            rows: batch.num_rows(),
            values: columns.0.map(|index| {
                index.map_or(Values::Absent, |index| Values::new(batch.column(index)))
            }),
        }
    }
}

enum Values {
    /// The file lacks the column.
    Absent,
    /// Whole numbers; undefined where the array is null.
    Whole(ArrayRef, Vec<i128>),
    Text(StringArray),
    LargeText(LargeStringArray),
    TextView(StringViewArray),
    /// For each row, the index of its string in a dictionary.
    Dictionary(ArrayRef, Vec<usize>, Box<Values>),
}

impl Values {
    /// Unpacks an array of a type that [`Column::accepts`].
    fn new(array: &ArrayRef) -> Self {
        downcast_integer_array!(
            array => {
                let values = array.values().iter().map(|value| i128::from(*value));
                Self::Whole(Arc::new(array.clone()), values.collect())
            },
            DataType::LargeUtf8 => Self::LargeText(array.as_string().clone()),
            DataType::Utf8View => Self::TextView(array.as_string_view().clone()),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                // An empty dictionary has no keys to normalise.
                let has_keys = !dictionary.values().is_empty();
                let keys = if has_keys { dictionary.normalized_keys() } else { Vec::new() };
                Self::Dictionary(array.clone(), keys, Box::new(Self::new(dictionary.values())))
            },
            _ => Self::Text(array.as_string().clone()),
        )
    }

    /// Returns the whole number of a row; `None` if it is null.
    fn whole_number(&self, row: usize) -> Option<i128> {
        match self {
            Self::Whole(array, values) if !array.is_null(row) => Some(values[row]),
            _ => None,
        }
    }

    /// Returns the string of a row; `None` if it is null.
    fn string(&self, row: usize) -> Option<&str> {
        match self {
            Self::Text(array) if !array.is_null(row) => Some(array.value(row)),
            Self::LargeText(array) if !array.is_null(row) => Some(array.value(row)),
            Self::TextView(array) if !array.is_null(row) => Some(array.value(row)),
            Self::Dictionary(array, keys, values) if !array.is_null(row) => {
                values.string(*keys.get(row)?)
            }
            _ => None,
        }
    }
}

struct RowView<'a> {
    name: &'a str,
    location: Location,
    chunk: &'a Chunk,
    index: usize,
}

impl RowView<'_> {
    fn record(&self, clock: &mut Clock) -> Result<Record, TraceError> {
        let op = match self.string(OP) {
            Some("R") => Op::Read,
            Some("W") => Op::Write,
            _ => return Err(self.reject(OP, "R or W")),
        };
        let (start, sectors) = self.blocks()?;
        let mut record = Record {
            arrival: self.time(ARRIVAL)?.map(|ns| Instant::START + ns),
            response: self.time(RESPONSE)?,
            service: self.time(SERVICE)?,
            think: self.time(THINK)?,
            urgency: self.urgency()?,
            observed: self.observed(op)?,
            ..Record::new(self.location, op, start, sectors)
        };
        // `whole_number` has checked the range.
        record.device = self.whole_number(DEVICE, 0, u32::MAX.into())?.unwrap_or(0) as u32;
        record.queue = self
            .whole_number(QUEUE, 0, u32::MAX.into())?
            .map(|n| n as u32);
        self.check_times(&record, clock)?;
        Ok(record)
    }

    fn blocks(&self) -> Result<(Lbn, SectorCount), TraceError> {
        let start = self.whole_number(LBN, 0, u64::MAX)?.unwrap_or_default();
        let sectors = self
            .whole_number(SECTORS, 1, MAX_SECTORS)?
            .unwrap_or_default();
        match start.checked_add(sectors) {
            Some(_) => Ok((Lbn(start), SectorCount(sectors))),
            None => Err(self.reject(LBN, "a request that ends below block 2^64")),
        }
    }

    fn urgency(&self) -> Result<Option<Urgency>, TraceError> {
        Ok(match self.string(URGENCY) {
            None => None,
            Some("synchronous") => Some(Urgency::Synchronous),
            Some("asynchronous") => Some(Urgency::Asynchronous),
            Some(_) => return Err(self.reject(URGENCY, "synchronous or asynchronous")),
        })
    }

    fn observed(&self, op: Op) -> Result<Option<Observed>, TraceError> {
        let Some(word) = self.string(OBSERVED) else {
            return Ok(None);
        };
        let observed = Observed::parse(op, word.as_bytes());
        observed
            .map(Some)
            .map_err(|expected| self.reject(OBSERVED, expected))
    }

    /// Checks what [`Record`] guarantees about its times.
    fn check_times(&self, record: &Record, clock: &mut Clock) -> Result<(), TraceError> {
        let has_arrival = record.arrival.is_some();
        if clock.has_arrivals.unwrap_or(has_arrival) != has_arrival {
            return Err(self.reject(ARRIVAL, "a time in all rows or in none"));
        }
        let response = record.response.unwrap_or_default();
        if record.service.is_some_and(|service| service > response) {
            return Err(self.reject(SERVICE, "at most the response time"));
        }
        let (before, pause) = match record.arrival {
            Some(arrival) => (arrival - Instant::START, Span::ZERO),
            None => (clock.elapsed, record.think.unwrap_or_default()),
        };
        let completed = before.as_ns().checked_add(response.as_ns());
        let Some(completed) = completed else {
            return Err(self.reject(RESPONSE, "a completion before 2^63 ns"));
        };
        let Some(elapsed) = completed.checked_add(pause.as_ns()) else {
            return Err(self.reject(THINK, "a pause that ends before 2^63 ns"));
        };
        clock.has_arrivals = Some(has_arrival);
        clock.elapsed = Span::from_ns(elapsed);
        Ok(())
    }

    /// Returns the time span in a column, if the row has one.
    fn time(&self, column: usize) -> Result<Option<Span>, TraceError> {
        let ns = self.whole_number(column, 0, i64::MAX.unsigned_abs())?;
        // `whole_number` has checked the range.
        Ok(ns.map(|ns| Span::from_ns(ns as i64)))
    }

    /// Returns the number in a column, which must be from `min` to `max`; `None` if it is absent.
    fn whole_number(&self, column: usize, min: u64, max: u64) -> Result<Option<u64>, TraceError> {
        let values = &self.chunk.values[column];
        let value = values.whole_number(self.index);
        let is_absent = matches!(values, Values::Absent);
        if value.is_none() && (is_absent || COLUMNS[column].is_nullable) {
            return Ok(None);
        }
        match value.and_then(|value| u64::try_from(value).ok()) {
            Some(value) if (min..=max).contains(&value) => Ok(Some(value)),
            _ => {
                let expected = format!("a whole number from {min} to {max}");
                Err(self.reject(column, &expected))
            }
        }
    }

    fn string(&self, column: usize) -> Option<&str> {
        self.chunk.values[column].string(self.index)
    }

    #[cold]
    fn reject(&self, column: usize, expected: &str) -> TraceError {
        let values = &self.chunk.values[column];
        let whole = values
            .whole_number(self.index)
            .map(|value| value.to_string());
        let value = whole.or_else(|| self.string(column).map(str::to_owned));
        let found = value.as_deref().unwrap_or("null");
        let column = COLUMNS[column].name;
        TraceError::value(self.name, self.location, column, found, expected)
    }
}

/// Converts an error from the Arrow library, whose message may have several lines.
pub(crate) fn decoding_error(name: &str, what: &str, error: &dyn std::error::Error) -> TraceError {
    let why = error.to_string().replace('\n', " ");
    let detail = format!("{what}: cannot be read: {why}");
    TraceError::new(ErrorKind::Framing, name, None, detail)
}
