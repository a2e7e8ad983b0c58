//! The parameters of failures and of a rebuild, which pairs and arrays share.

use diskarm_core::redundancy::Failure;
use diskarm_core::text::{Args, InputError, quantity};
use diskarm_core::units::Instant;

use crate::model::Model;

/// The latest failure: more than a rebuild takes with a thousandth of the time.
const MOST_HOURS: f64 = 10_000.0;
const REBUILD: &str = "a share of the time above 0 % and up to 100 %, such as \"50 %\"";

/// The disks that fail, as `failed=3` or `failed=3@60s`, each at most once.
pub(super) fn failures(
    members: usize,
    args: &mut Args<'_, &Model>,
) -> Result<Vec<Failure>, InputError> {
    let last = members - 1;
    let expected = format!(
        "a disk from 0 to {last}, and when it fails within {MOST_HOURS} h, such as \"{last}\" or \
         \"{last}@60s\""
    );
    let failures: Vec<Failure> = args.several("failed", &expected, |text| {
        let (member, at_s) = match text.split_once('@') {
            Some((member, at)) => (member.trim(), quantity::time_s(at.trim())?),
            None => (text, 0.0),
        };
        let member: usize = member.parse().ok()?;
        let is_sound = member < members && (0.0..=MOST_HOURS * 3_600.0).contains(&at_s);
        is_sound.then(|| Failure {
            member,
            at: Instant::from_ns((at_s * 1e9).round() as u64),
        })
    })?;
    let mut members: Vec<usize> = failures.iter().map(|failure| failure.member).collect();
    members.sort_unstable();
    match members.windows(2).find(|two| two[0] == two[1]) {
        None => Ok(failures),
        Some(twice) => {
            let found = format!("{} twice", twice[0]);
            let expected = "each disk at most once";
            Err(InputError::new(args.field("failed"), &found, expected))
        }
    }
}

/// The share of the time that a rebuild takes, for which a disk must fail.
pub(super) fn rebuild(
    failures: &[Failure],
    args: &mut Args<'_, &Model>,
) -> Result<Option<f64>, InputError> {
    let rebuild = args.maybe("rebuild", REBUILD, |text| {
        let share = quantity::fraction(text)?;
        (share > 0.0 && share <= 1.0).then_some(share)
    })?;
    if rebuild.is_some() && failures.is_empty() {
        let expected = "the disk to rebuild, counted from 0";
        return Err(InputError::missing(args.field("failed"), expected));
    }
    Ok(rebuild)
}
