//! Any text is a device tower or an error of one line; a tower reads back as it is printed.

#![no_main]

use diskarm_simulate::Model;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // A name that ends so is read as a file.
    if text.contains(".toml") {
        return;
    }
    match Model::assemble(text) {
        Ok(model) => {
            let Some(tower) = &model.tower else { return };
            let again = Model::assemble(&tower.to_string()).expect("a tower");
            let printed = again.tower.expect("devices").to_string();
            assert_eq!(printed, tower.to_string());
        }
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
    }
});
