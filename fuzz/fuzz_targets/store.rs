//! Any text is a study's store or an error of one line; reopening changes nothing; runs read back.
//!
//! If an input begins with a space, the head of a store is put before the rest.

#![no_main]

use std::fs;

use diskarm_study::{Files, Folder, Store, StoredRun, VERSION};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let text = match input.strip_prefix(' ') {
        Some(rest) => format!("{{\"version\":\"{VERSION}\"}}\n{rest}"),
        None => input.to_owned(),
    };
    for line in text.lines() {
        if let Ok(run) = serde_json::from_str::<StoredRun>(line) {
            let printed = serde_json::to_string(&run).expect("plain data");
            assert_eq!(serde_json::from_str::<StoredRun>(&printed).ok(), Some(run));
        }
    }
    let folder = std::env::temp_dir().join(format!("diskarm-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    let path = folder.join("runs.jsonl");
    fs::write(&path, &text).expect("a temporary file");
    let results = Folder::new(&folder, "folder", Files::default()).expect("no inputs");
    match Store::open(&results) {
        Ok(mut store) => {
            let opened = fs::read_to_string(&path).expect("the store");
            assert!(opened.starts_with(text.rfind('\n').map_or("", |end| &text[..=end])));
            let foreign = store.foreign_count();
            let run = StoredRun {
                key: "another-build".to_owned(),
                figures: Some(vec![Some(0.1), None]),
            };
            store.keep(&run).expect("a store that can be written");
            drop(store);
            let store = Store::open(&results).expect("the same store");
            assert_eq!(store.foreign_count(), foreign + 1);
            let kept = fs::read_to_string(&path).expect("the store");
            let line = kept.strip_prefix(&opened).expect("an appended line");
            assert_eq!(serde_json::from_str::<StoredRun>(line).ok(), Some(run));
        }
        Err(error) => {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
            assert_eq!(fs::read_to_string(&path).expect("the file"), text);
        }
    }
    fs::remove_dir_all(&folder).expect("a temporary folder");
});
