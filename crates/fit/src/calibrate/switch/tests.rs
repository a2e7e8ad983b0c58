//! Checks all behaviours for all drives of the catalogue.

use super::*;
use crate::calibrate::candidate::edits;
use crate::calibrate::candidate::parameter_tests::{DRIVES, round_trip};

/// The keys that a behaviour may set, by the prefix of its description.
const SETS: [(&str, &[&str]); 4] = [
    (
        "buffer.read_watermark",
        &["buffer.read_watermark", "buffer.watermark_of"],
    ),
    (
        "overheads.write_start",
        &[
            "overheads.write_start.small",
            "overheads.write_start.large",
            "overheads.write_start.large_from",
            "overheads.write_start.sequential",
        ],
    ),
    (
        "read-ahead",
        &[
            "buffer.read_ahead",
            "buffer.delivered",
            "buffer.read_ahead_on_hit",
            "buffer.arriving_hits",
            "buffer.partial_hits_at_once",
        ],
    ),
    (
        "buffer ",
        &[
            "buffer.segments",
            "buffer.segment",
            "buffer.read_ahead_max",
            "buffer.read_watermark",
        ],
    ),
];

#[test]
fn every_behaviour_sets_the_keys_that_it_names() {
    for (entry, candidate) in DRIVES.iter() {
        let given = &candidate.spec;
        let all = Behaviour::all(given, given);
        assert!(all.len() > 50, "{}: {}", entry.name, all.len());
        for behaviour in all {
            let description = format!("{}: {}", entry.name, behaviour.description);
            assert_ne!(behaviour.spec, *given, "{description}");
            assert!(!behaviour.is_given, "{description}: nothing has changed");
            let set = edits(given, &behaviour.spec);
            let named = behaviour.description.split_once(" = ").map(|(key, _)| key);
            let may = SETS
                .iter()
                .find(|(begin, _)| behaviour.description.starts_with(begin));
            for edit in &set {
                let is_allowed = match may {
                    Some((_, keys)) => keys.contains(&&*edit.key),
                    None => named == Some(&*edit.key),
                };
                assert!(is_allowed, "{description}: sets {}", edit.key);
            }
            assert_eq!(
                round_trip(entry.text, given, &behaviour.spec),
                Ok(behaviour.spec),
                "{description}"
            );
        }
    }
}

#[test]
fn marks_round_down_to_their_numbers_of_sectors() {
    for (_, candidate) in DRIVES.iter() {
        let segment = candidate.spec.buffer.segment.0;
        for sectors in MARKS.into_iter().filter(|&sectors| sectors < segment) {
            let rounded = (mark(sectors as f64, segment) * segment as f64).floor();
            assert_eq!(rounded, sectors as f64, "of {segment}");
        }
    }
}

/// After any behaviour, another one restores the given marks, starts and segments.
#[test]
fn given_values_can_be_restored() {
    let (_, candidate) = DRIVES
        .iter()
        .find(|(entry, _)| entry.name == "hp-c2247")
        .expect("a drive in the catalogue");
    let given = &candidate.spec;
    for behaviour in Behaviour::all(given, given) {
        let back = Behaviour::all(&behaviour.spec, given);
        let text = behaviour.description;
        let is_one_key = text.contains(" = ") || text.starts_with("buffer of");
        let is_restored = back.iter().any(|behaviour| behaviour.spec == *given);
        assert!(is_restored || !is_one_key, "{text}");
    }
}
