//! What a recorder in a tower of devices saw, as rows of a trace.

use diskarm_core::request::Op;
use diskarm_core::wrap::{RecordedRequest, Recording};
use diskarm_trace::{Location, Record};

use crate::blocks::Blocks;
use crate::error::Error;
use crate::model::Model;

/// The reads and writes of a recording that succeeded, in order of arrival, with their responses.
/// Traces have no flushes and no failures.
///
/// # Errors
/// If the sectors of `model`, whose requests were recorded, are no blocks of a trace.
pub fn records(recording: &Recording, model: &Model) -> Result<Vec<Record>, Error> {
    let blocks = Blocks::of(model)?;
    let passed = recording.passed().iter().zip(1..);
    let records = passed.filter_map(|(passed, row)| recorded(blocks, passed, Location::Row(row)));
    Ok(records.collect())
}

/// A request as a row of a trace, if it is a read or a write that succeeded.
pub fn recorded(blocks: Blocks, passed: &RecordedRequest, location: Location) -> Option<Record> {
    let completion = passed.completion?;
    let request = &passed.request;
    if request.op == Op::Flush || !completion.status.is_success() {
        return None;
    }
    let (start, sectors) = blocks.touched(request);
    Some(Record {
        arrival: Some(passed.arrived),
        device: request.unit.into(),
        response: Some(completion.response()),
        service: Some(completion.service()),
        ..Record::new(location, request.op, start, sectors)
    })
}
