//! Arbitrary bytes are a command block, sense data or a list, or are refused; blocks round-trip.

#![no_main]

use diskarm_wire::defect::{Translate, Translated};
use diskarm_wire::{Command, Sense, mode, report, reservation, sense};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(command) = Command::parse(data) {
        let mut block = [0xaa; 16];
        let length = command.emit(&mut block);
        assert_eq!(block[..length], *data, "{command:?}");
    }
    if let Ok(found) = Sense::parse(data) {
        let again = found.emit(sense::Format::Descriptor);
        assert_eq!(Sense::parse(&again), Ok(found));
    }
    if let Ok(query) = Translate::parse(data) {
        assert_eq!(Translate::parse(&query.emit()), Ok(query));
    }
    if let Ok(found) = Translated::parse(data) {
        assert_eq!(Translated::parse(&found.emit()), Ok(found));
    }
    let mut rest = data;
    while let Ok((page, next)) = mode::Page::parse(rest) {
        assert!(page.content.len() + next.len() < rest.len());
        rest = next;
    }
    if let Ok(page) = report::VitalPage::parse(data) {
        assert!(report::designators(page.content).count() <= data.len());
    }
    assert!(report::operations(data).count() <= data.len());
    assert!(report::units(data).count() <= data.len());
    assert!(report::log_parameters(data).count() <= data.len());
    if let Some((_, content)) = reservation::content(data) {
        assert!(reservation::keys(content).count() <= data.len());
    }
});
