//! Help texts are made from the tables, and so name everything.

use crate::{assert_narrow, printed};
use diskarm_core::sched::INFOS;
use diskarm_core::workload::{Arrivals, Places, Sizes};
use diskarm_drives::CATALOGUE;
use diskarm_trace::FORMATS;

#[test]
fn simulate_lists_every_drive_format_and_generator() {
    let help = printed(&["simulate", "--help"]);
    assert_narrow(&help);
    for entry in FORMATS {
        assert!(help.contains(entry.info.name) && help.contains(entry.info.summary));
    }
    let generators = Arrivals::infos().chain(Places::INFOS).chain(Sizes::INFOS);
    for info in generators {
        assert!(help.contains(&format!("- {}: {}", info.name, info.summary)));
    }
    // Names are broken over lines at their hyphens nowhere, or this would not find them.
    for entry in CATALOGUE {
        assert!(help.contains(entry.name), "{}", entry.name);
    }
}

#[test]
fn policies_are_listed_with_their_parameters() {
    let list = printed(&["policies"]);
    assert_narrow(&list);
    for info in INFOS {
        assert!(list.contains(info.name) && list.contains(info.origin));
        for (written, _) in info.parameters {
            assert!(list.contains(written), "{written}");
        }
    }
}

#[test]
fn every_command_has_json_and_a_line_in_the_list() {
    let help = printed(&["--help"]);
    for command in ["drives", "policies", "simulate", "trace", "validate"] {
        assert!(help.contains(command));
    }
    for command in [
        &["drives"][..],
        &["drives", "show"],
        &["policies"],
        &["simulate"],
        &["trace", "info"],
        &["trace", "head"],
        &["trace", "convert"],
        &["validate"],
    ] {
        let help = printed(&[command, &["--help"]].concat());
        assert_narrow(&help);
        assert!(help.contains("--json"), "{command:?}");
    }
}

#[test]
fn version_is_the_package_s() {
    let expected = concat!("diskarm ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(printed(&["--version"]), expected);
}
