//! Every drive of the catalogue can be read, and says what independent sources say of it.

use diskarm_core::spec;

#[test]
fn every_drive_parses_under_its_own_name() {
    for entry in diskarm_drives::CATALOGUE {
        let file = format!("{}.toml", entry.name);
        match spec::parse(entry.text, &file) {
            Ok(spec) => assert_eq!(spec.name, entry.name),
            Err(error) => panic!("{error}"),
        }
    }
}
