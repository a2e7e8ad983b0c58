//! Any text is a stack of devices or an error of one line; a stack reads back as it is printed.

#![no_main]

use diskarm_simulate::System;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // A name that ends so is read as a file.
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
