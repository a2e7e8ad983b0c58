//! Every choice for every drive of the catalogue.

use super::*;
use crate::edits::edits;
use crate::edits::tests::{DRIVES, written};

/// Keys that a choice may set, by the beginning of what it says.
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
fn every_choice_differs_in_what_it_says_and_can_be_read() {
    for (entry, candidate) in DRIVES.iter() {
        let given = &candidate.spec;
        let all = Choice::all(given, given);
        assert!(all.len() > 50, "{}: {}", entry.name, all.len());
        for choice in all {
            let what = format!("{}: {}", entry.name, choice.what);
            assert_ne!(choice.spec, *given, "{what}");
            assert!(!choice.returns, "{what}: nothing was taken yet");
            let set = edits(given, &choice.spec);
            let said = choice.what.split_once(" = ").map(|(key, _)| key);
            let may = SETS
                .iter()
                .find(|(begin, _)| choice.what.starts_with(begin));
            for edit in &set {
                let says = match may {
                    Some((_, keys)) => keys.contains(&&*edit.key),
                    None => said == Some(&*edit.key),
                };
                assert!(says, "{what}: sets {}", edit.key);
            }
            assert_eq!(
                written(entry.text, given, &choice.spec),
                Ok(choice.spec),
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

/// From wherever a choice leads, given marks, starts and segments are one choice away.
#[test]
fn what_was_given_can_be_taken_again() {
    let (_, candidate) = DRIVES
        .iter()
        .find(|(entry, _)| entry.name == "hp-c2247")
        .expect("a drive of the catalogue");
    let given = &candidate.spec;
    for choice in Choice::all(given, given) {
        let back = Choice::all(&choice.spec, given);
        let one_key = choice.what.contains(" = ") || choice.what.starts_with("buffer of");
        let returns = back.iter().any(|choice| choice.spec == *given);
        assert!(returns || !one_key, "{}", choice.what);
    }
}
