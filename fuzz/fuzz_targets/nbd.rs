//! Arbitrary bytes are NBD messages or are refused; messages round-trip.

#![no_main]

use diskarm_wire::nbd::message::{Chunk, Failure};
use diskarm_wire::nbd::option::{Choice, Context, ListedExport, Queries};
use diskarm_wire::nbd::{Headers, Request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut again = vec![0xaa; data.len() + 32];
    for headers in [Headers::Simple, Headers::Structured, Headers::Extended] {
        if let Ok(request) = Request::parse(headers, data) {
            let length = request.emit(headers, &mut again);
            assert_eq!(again[..length], data[..length]);
        }
        if let Ok(chunk) = Chunk::parse(headers, data) {
            let length = chunk.emit(headers, &mut again);
            assert_eq!(Chunk::parse(headers, &again[..length]), Ok(chunk));
        }
    }
    if let Some(choice) = Choice::parse(data) {
        let wanted: Vec<u16> = choice.wanted().collect();
        let length = Choice::emit(&mut again, choice.name, &wanted);
        assert_eq!(again[..length], *data);
    }
    if let Some(queries) = Queries::parse(data) {
        let texts: Vec<&str> = queries.queries().collect();
        assert_eq!(texts.len(), queries.count as usize);
        let length = Queries::emit(&mut again, queries.name, &texts);
        assert_eq!(again[..length], *data);
    }
    if let Some(listed) = ListedExport::parse(data) {
        let length = listed.emit(&mut again);
        assert_eq!(again[..length], *data);
    }
    if let Some(context) = Context::parse(data) {
        let length = context.emit(&mut again);
        assert_eq!(again[..length], *data);
    }
    if let Some((failure, rest)) = Failure::parse(data) {
        let length = failure.emit(&mut again);
        assert_eq!(length + rest.len(), data.len());
    }
});
