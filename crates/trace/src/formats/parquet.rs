//! Parquet files.

use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{Schema, SchemaRef};
use diskarm_core::units::Span;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use crate::columns::{Batches, CHUNK_ROWS, COLUMNS, ColumnRows, decoding_error};
use crate::error::{ErrorKind, TraceError};
use crate::format::{
    Format, FormatInfo, OpenResult, Options, RowWriter, TimeOrigin, Unwritable, is_parquet,
};
use crate::record::{Observed, Record, Urgency};
use crate::source::ByteSource;
use crate::time::TimeUnit;

/// Parquet, with one row per request and all fields of a record.
///
/// # What it does
/// Writes these columns, and reads them by name in any order:
///
/// | column | type | if absent | meaning |
/// |---|---|---|---|
/// | `arrival_ns` | int64 | no arrivals | time since the trace's start, in all rows or in none |
/// | `device` | uint32, no nulls | 0 | device number in the trace |
/// | `op` | string, no nulls | refused | `R` or `W` |
/// | `lbn` | uint64, no nulls | refused | first block, of 512 bytes |
/// | `sectors` | uint32, no nulls | refused | number of blocks, 1 to 65,536 |
/// | `response_ns` | int64 | unknown | from arrival to completion |
/// | `service_ns` | int64 | unknown | the last part of the response |
/// | `think_ns` | int64 | unknown | pause from the completion to the next issue |
/// | `queue` | uint32 | unknown | requests at the driver on arrival |
/// | `urgency` | string | unknown | `synchronous` or `asynchronous` |
/// | `observed` | string | unknown | see below |
///
/// `observed` is `hit` or `miss` for a read, `two_disconnects` or `three_disconnects` for a write.
/// Any integer type is accepted for a whole number and any string type for a string. Any other
/// column is refused: if it were ignored, a misspelt `response_ns` would look absent. Pages may be
/// plain or compressed with Snappy or zstd; the writer uses Snappy.
///
/// # Origin
/// Apache Parquet, format version 2; the columns are specific to Diskarm.
///
/// # Cost
/// One pass over one row group at a time, with one page of each column in memory. The writer holds
/// one row group of 131,072 rows.
///
/// # When it is bad
/// The metadata of a file is at its end, so pipes and compressed files cannot be read. Truncated
/// files are refused, and so are times with fractions, dates and floating-point numbers (which
/// pandas makes from integers with missing values). The library may panic on a corrupted file.
///
/// # Example
/// ```
/// use diskarm_core::{request::Op, units::{Lbn, SectorCount}};
/// use diskarm_trace::{Location, Record, Writer, open};
/// let record = Record::new(Location::Row(1), Op::Read, Lbn(1200), SectorCount(8));
/// let path = std::env::temp_dir().join(format!("one-{}.parquet", std::process::id()));
/// let mut trace = Writer::new(std::fs::File::create(&path)?, "one", "parquet")?;
/// trace.write(&record)?;
/// trace.finish()?;
/// assert_eq!(open(&path, None)?.next().unwrap()?, record);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Parquet;

/// The number of rows in a written row group, which takes a few megabytes.
const GROUP: usize = 1 << 17;

impl Format for Parquet {
    const INFO: FormatInfo = FormatInfo {
        name: "parquet",
        summary: "Parquet: columns by name",
        first_line: "PAR1",
        time_unit: TimeUnit::Nanoseconds,
        time_origin: TimeOrigin::Start,
        carries: "all fields of a record",
    };

    const WRITER: Option<fn() -> Box<dyn RowWriter>> = Some(|| Box::<Writer>::default());

    fn sniff(head: &[u8]) -> bool {
        is_parquet(head)
    }

    fn open(source: ByteSource, _: &Options<'_>) -> OpenResult {
        let name = source.name();
        let Some(file) = source.file() else {
            let detail = "found a pipe or a compressed file, expected an uncompressed file on \
                          disk: Parquet is read from the end";
            return Err(TraceError::new(
                ErrorKind::Io,
                name,
                None,
                detail.to_owned(),
            ));
        };
        let file = file
            .try_clone()
            .map_err(|error| TraceError::io(name, None, "open", error))?;
        // Without Arrow's own metadata, each column has its plain type.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let contents = ArrowReaderMetadata::load(&file, options)
            .map_err(|error| decoding_error(name, "footer", &error))?;
        let schema = contents.schema().clone();
        let groups = Groups {
            name: name.to_owned(),
            file,
            contents,
            begun: 0,
            current: None,
        };
        ColumnRows::boxed(name, &schema, groups)
    }
}

struct Groups {
    name: String,
    file: File,
    contents: ArrowReaderMetadata,
    begun: usize,
    current: Option<ParquetRecordBatchReader>,
}

impl Groups {
    fn begin(&mut self) -> Result<ParquetRecordBatchReader, TraceError> {
        let file = self
            .file
            .try_clone()
            .map_err(|error| TraceError::io(&self.name, None, "open", error))?;
        let contents = self.contents.clone();
        let group = ParquetRecordBatchReaderBuilder::new_with_metadata(file, contents)
            .with_row_groups(vec![self.begun])
            .with_batch_size(CHUNK_ROWS)
            .build();
        self.begun += 1;
        group.map_err(|error| self.decoding_error(&error))
    }

    fn decoding_error(&self, error: &dyn std::error::Error) -> TraceError {
        decoding_error(&self.name, &format!("row group {}", self.begun), error)
    }
}

impl Batches for Groups {
    fn next(&mut self) -> Result<Option<RecordBatch>, TraceError> {
        loop {
            let batch = self.current.as_mut().and_then(Iterator::next);
            if let Some(batch) = batch
                .transpose()
                .map_err(|error| self.decoding_error(&error))?
            {
                return Ok(Some(batch));
            }
            if self.begun == self.contents.metadata().num_row_groups() {
                return Ok(None);
            }
            self.current = Some(self.begin()?);
        }
    }
}

#[derive(Default)]
struct Writer {
    /// The rows of the next batch.
    rows: Vec<Record>,
    file: Option<ArrowWriter<Vec<u8>>>,
}

impl Writer {
    /// Encodes the buffered rows and appends the encoded bytes.
    fn encode(&mut self, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        let fields = COLUMNS.iter().map(|column| column.field());
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let mut file = match self.file.take() {
            Some(file) => file,
            None => begin(schema.clone())?,
        };
        let batch = RecordBatch::try_new(schema, columns(&self.rows)).map_err(unwritable)?;
        self.rows.clear();
        file.write(&batch).map_err(unwritable)?;
        out.append(file.inner_mut());
        self.file = Some(file);
        Ok(())
    }
}

fn begin(schema: SchemaRef) -> Result<ArrowWriter<Vec<u8>>, Unwritable> {
    // Times ascend and rarely repeat: their differences take half the space, which makes the whole
    // trace a fifth to two fifths smaller.
    let arrivals = ColumnPath::from("arrival_ns");
    let properties = WriterProperties::builder()
        .set_column_dictionary_enabled(arrivals.clone(), false)
        .set_column_encoding(arrivals, Encoding::DELTA_BINARY_PACKED)
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(GROUP))
        .build();
    let options = ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(true);
    ArrowWriter::try_new_with_options(Vec::new(), schema, options).map_err(unwritable)
}

fn unwritable(error: impl std::error::Error) -> Unwritable {
    Unwritable(error.to_string().replace('\n', " "))
}

impl RowWriter for Writer {
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        if let Some(Observed::Disconnects(count)) = record.observed
            && !matches!(count, 2 | 3)
        {
            let why = format!("it has {count} disconnects, expected 2 or 3");
            return Err(Unwritable(why));
        }
        self.rows.push(*record);
        match self.rows.len() {
            CHUNK_ROWS => self.encode(out),
            _ => Ok(()),
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        self.encode(out)?;
        if let Some(file) = self.file.take() {
            out.append(&mut file.into_inner().map_err(unwritable)?);
        }
        Ok(())
    }
}

/// Returns the columns of `rows`, in the order of [`COLUMNS`].
fn columns(rows: &[Record]) -> Vec<ArrayRef> {
    let times = |time: fn(&Record) -> Option<Span>| -> ArrayRef {
        let times = rows.iter().map(|row| Some(time(row)?.or_zero().as_ns()));
        Arc::new(times.collect::<Int64Array>())
    };
    let numbers = |whole: fn(&Record) -> Option<u32>| -> ArrayRef {
        Arc::new(rows.iter().map(whole).collect::<UInt32Array>())
    };
    let words = |word: fn(&Record) -> Option<&'static str>| -> ArrayRef {
        Arc::new(rows.iter().map(word).collect::<StringArray>())
    };
    let starts = rows.iter().map(|row| row.start.0);
    vec![
        times(|row| Some(Span::from_ns(row.arrival?.as_ns() as i64))),
        numbers(|row| Some(row.device)),
        words(|row| Some(if row.op.is_read() { "R" } else { "W" })),
        Arc::new(UInt64Array::from_iter_values(starts)),
        // A record has at most 65,536 blocks.
        numbers(|row| Some(row.sectors.0 as u32)),
        times(|row| row.response),
        times(|row| row.service),
        times(|row| row.think),
        numbers(|row| row.queue),
        words(|row| {
            Some(match row.urgency? {
                Urgency::Synchronous => "synchronous",
                Urgency::Asynchronous => "asynchronous",
            })
        }),
        words(|row| row.observed.map(Observed::word)),
    ]
}
