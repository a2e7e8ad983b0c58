//! Values set in any TOML read back unchanged, and setting them again changes nothing.
//!
//! The first line of an input is the text that is set; the rest is the file.

#![no_main]

use diskarm_drives::text::{Edit, Value, rewrite};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let (text, base) = input.split_once('\n').unwrap_or(("", input));
    let edits = [
        Edit {
            key: "source.origin".into(),
            value: Value::Text(text.to_owned()),
        },
        Edit {
            key: "overheads.read_completion".into(),
            value: Value::Toml("\"1.5 ms\"".to_owned()),
        },
    ];
    let written = match rewrite(base, &edits) {
        Ok(written) => written,
        Err(error) => {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
            return;
        }
    };
    let read: toml::Table = toml::from_str(&written).expect("TOML");
    assert_eq!(
        read["overheads"]["read_completion"].as_str(),
        Some("1.5 ms")
    );
    // A text may be broken at its spaces.
    let origin = read["source"]["origin"].as_str().expect("a text");
    assert!(origin.split_whitespace().eq(text.split_whitespace()));
    assert_eq!(rewrite(&written, &edits), Ok(written));
});
