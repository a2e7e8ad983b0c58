//! Arbitrary bytes are iSCSI messages or are refused; messages and text round-trip.

#![no_main]

use diskarm_wire::iscsi::segment::{self, Segment};
use diskarm_wire::iscsi::text::{self, Writer};
use diskarm_wire::iscsi::{Lengths, Message};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let (Ok(message), Ok(lengths)) = (Message::parse(data), Lengths::parse(data)) {
        let again = message.emit(lengths);
        assert_eq!(Message::parse(&again), Ok(message));
        assert_eq!(Lengths::parse(&again), Ok(lengths));
    }
    let mut again = vec![0xaa; data.len() + 8];
    let pairs: Result<Vec<_>, _> = text::pairs(data).collect();
    if let Ok(pairs) = pairs {
        let mut writer = Writer::new(&mut again);
        for (key, value) in &pairs {
            writer.put(key, value).expect("no more text than there was");
            let _ = text::number(value);
        }
        let length = writer.length();
        let found: Result<Vec<_>, _> = text::pairs(&again[..length]).collect();
        assert_eq!(found, Ok(pairs));
    }
    let segments: Result<Vec<Segment<'_>>, _> = segment::segments(data).collect();
    if let Ok(segments) = segments {
        let again: Vec<u8> = segments.iter().flat_map(Segment::emit).collect();
        assert_eq!(again.len(), data.len());
        let found: Result<Vec<_>, _> = segment::segments(&again).collect();
        assert_eq!(found, Ok(segments));
    }
    if let Ok(value) = str::from_utf8(data) {
        let length = text::binary(value, &mut again);
        assert!(length.is_none_or(|length| length <= data.len()));
    }
    if let Some((sense, rest)) = segment::sense(data).filter(|(sense, _)| !sense.is_empty()) {
        let again = segment::emit_sense(sense);
        assert_eq!(again.len() + rest.len(), data.len());
        assert!(data.starts_with(&again));
    }
});
