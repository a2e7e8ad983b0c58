//! The search along a track for the first block that is not in line.

use crate::Error;

/// The first of `good..bad` that is not in line, or `bad` if all are. Grows from the last one that
/// is, as those beyond the track may be in line by chance.
pub(super) fn first_off(
    mut good: u64,
    mut bad: u64,
    mut is_in_line: impl FnMut(u64) -> Result<bool, Error>,
) -> Result<u64, Error> {
    let mut step = 1;
    while good < bad {
        let probe = (good + step).min(bad) - 1;
        if is_in_line(probe)? {
            good = probe + 1;
            step *= 2;
        } else {
            bad = probe;
            step = (bad - good).div_ceil(2).max(1);
        }
    }
    Ok(good)
}
