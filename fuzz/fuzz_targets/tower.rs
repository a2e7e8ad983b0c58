//! Any text is a device stack or an error of one line; a printed stack reads back.

#![no_main]

use diskarm_simulate::System;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // Names with this ending are read as files.
    if text.contains(".toml") {
        return;
    }
    match System::parse(text) {
        Ok(system) => {
            let Some(tower) = &system.stack else { return };
            let again = System::parse(&tower.to_string()).expect("a tower");
            let printed = again.stack.expect("devices").to_string();
            assert_eq!(printed, tower.to_string());
        }
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
    }
});
