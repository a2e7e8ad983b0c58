//! Every behaviour for every drive of the catalogue.

use super::*;
use crate::calibrate::candidate::edits;
use crate::calibrate::candidate::parameter_tests::{DRIVES, written};

/// Keys that a behaviour may set, by the beginning of its text.
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
            let what = format!("{}: {}", entry.name, behaviour.what);
            assert_ne!(behaviour.spec, *given, "{what}");
            assert!(!behaviour.returns, "{what}: nothing was taken yet");
            let set = edits(given, &behaviour.spec);
            let said = behaviour.what.split_once(" = ").map(|(key, _)| key);
            let may = SETS
                .iter()
                .find(|(begin, _)| behaviour.what.starts_with(begin));
            for edit in &set {
                let says = match may {
                    Some((_, keys)) => keys.contains(&&*edit.key),
                    None => said == Some(&*edit.key),
                };
                assert!(says, "{what}: sets {}", edit.key);
            }
            assert_eq!(
                written(entry.text, given, &behaviour.spec),
                Ok(behaviour.spec),
                "{what}"
            );
        }
    }
}

#[test]
fn a_mark_has_as_many_whole_sectors_as_it_says() {
    for (_, candidate) in DRIVES.iter() {
        let segment = candidate.spec.buffer.segment.0;
        for sectors in MARKS.into_iter().filter(|&sectors| sectors < segment) {
            let whole = (mark(sectors as f64, segment) * segment as f64).floor();
            assert_eq!(whole, sectors as f64, "of {segment}");
        }
    }
}

/// From any behaviour, one more restores the given marks, starts and segments.
#[test]
fn what_was_given_can_be_taken_again() {
    let (_, candidate) = DRIVES
        .iter()
        .find(|(entry, _)| entry.name == "hp-c2247")
        .expect("a drive in the catalogue");
    let given = &candidate.spec;
    for behaviour in Behaviour::all(given, given) {
        let back = Behaviour::all(&behaviour.spec, given);
        let one_key = behaviour.what.contains(" = ") || behaviour.what.starts_with("buffer of");
        let returns = back.iter().any(|behaviour| behaviour.spec == *given);
        assert!(returns || !one_key, "{}", behaviour.what);
    }
}
