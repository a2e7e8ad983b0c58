//! Any text is a study or an error of one line; a study round-trips in both forms.

#![no_main]

use diskarm_study::{Study, StudyOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for quick in [false, true] {
        let options = StudyOptions {
            quick,
            traces: vec!["trace.csv".to_owned()],
        };
        match Study::read("fuzz", text, "fuzz.toml", options.clone()) {
            Ok(study) => {
                assert_eq!(study.text, text);
                let cells: usize = study.axes.iter().map(|axis| axis.values.len()).product();
                assert!(study.cells.len() <= cells);
                assert!(Study::read("fuzz", &study.text, "fuzz.toml", options).is_ok());
            }
            Err(error) => {
                let error = error.to_string();
                assert_eq!(error.lines().count(), 1, "{error}");
                assert!(error.starts_with("fuzz.toml:"), "{error}");
            }
        }
    }
});
