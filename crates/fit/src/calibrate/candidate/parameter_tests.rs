//! Writes changed specifications and reads them back.

use std::sync::{Arc, LazyLock};

use diskarm_core::geometry::Layout;
use diskarm_drives::text::rewrite;
use diskarm_drives::{CATALOGUE, Entry};
use proptest::collection::vec;
use proptest::prelude::*;

use diskarm_core::spec;

use super::*;
use crate::calibrate::candidate::Candidate;
use crate::calibrate::switch::Behaviour;

/// Edits `text`, the text of `given`, to describe `fitted`, and reads it back.
pub fn round_trip(text: &str, given: &Spec, fitted: &Spec) -> Result<Spec, String> {
    let text = rewrite(text, &edits(given, fitted)).map_err(|error| error.to_string())?;
    spec::parse(&text, "written.toml").map_err(|error| error.to_string())
}

pub static DRIVES: LazyLock<Vec<(&Entry, Candidate)>> = LazyLock::new(|| {
    let candidate = |entry: &'static Entry| {
        let spec = spec::parse(entry.text, entry.name).expect("a valid specification");
        let layout = Layout::new(&spec.geometry).expect("a valid layout");
        (entry, Candidate::new(&spec, Arc::new(layout)))
    };
    CATALOGUE.iter().map(candidate).collect()
});

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn fitted_specifications_survive_a_round_trip(
        drive in 0..CATALOGUE.len(),
        behaviours in vec(any::<prop::sample::Index>(), 0..4),
        moves in vec((any::<prop::sample::Index>(), -1.5..1.5f64), 0..12),
        own_write_seek in any::<bool>(),
        period in 1e6..2e7f64,
    ) {
        let (entry, first) = &DRIVES[drive];
        let given = &first.spec;
        let mut candidate = first.clone();
        for index in behaviours {
            let all = Behaviour::all(&candidate.spec, given);
            candidate = index.get(&all).apply(&candidate);
        }
        if own_write_seek {
            candidate.split_write_seek();
        }
        let coordinates = candidate.coordinates();
        for (index, ms) in moves {
            candidate = candidate.moved(&vec![(*index.get(&coordinates), 1.0)], ms);
        }
        let mut fitted = candidate.build();
        fitted.mechanics.period_ns = period;
        let read = round_trip(entry.text, given, &fitted);
        prop_assert_eq!(read, Ok(fitted), "{}", entry.name);
    }
}

/// Without changes to a candidate, there is nothing to edit.
#[test]
fn an_unchanged_candidate_needs_no_edits() {
    for (entry, candidate) in DRIVES.iter() {
        assert_eq!(
            edits(&candidate.spec, &candidate.build()),
            [],
            "{}",
            entry.name
        );
    }
}
