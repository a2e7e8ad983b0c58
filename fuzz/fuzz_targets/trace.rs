//! Any bytes are a trace in one of the formats, or an error; records are never out of range.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let forced = [None, Some("disksim"), Some("measured")];
    for forced in forced {
        let Ok(trace) = diskarm_trace::read(std::io::Cursor::new(bytes.to_vec()), "fuzz", forced)
        else {
            continue;
        };
        for record in trace {
            match record {
                Ok(record) => assert!(record.end().0 > 0),
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    break;
                }
            }
        }
    }
});
