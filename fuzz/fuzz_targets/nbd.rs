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
        assert_eq!(Choice::emit(choice.name, &wanted), data);
    }
    if let Some(queries) = Queries::parse(data) {
        let texts: Vec<&str> = queries.queries().collect();
        assert_eq!(texts.len(), queries.count as usize);
        assert_eq!(Queries::emit(queries.name, &texts), data);
    }
    if let Some(listed) = ListedExport::parse(data) {
        assert_eq!(listed.emit(), data);
    }
    if let Some(context) = Context::parse(data) {
        assert_eq!(context.emit(), data);
    }
    if let Some((failure, rest)) = Failure::parse(data) {
        assert_eq!(failure.emit().len() + rest.len(), data.len());
    }
});
