//! Numbers of several bytes, most significant first.

/// The number in `bytes`, which are at most eight.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Fills `bytes` with `number`.
///
/// # Panics
/// If it does not fit.
pub(crate) fn put(bytes: &mut [u8], number: u64) {
    let mut rest = number;
    for byte in bytes.iter_mut().rev() {
        *byte = rest as u8;
        rest >>= 8;
    }
    assert!(rest == 0, "{number} does not fit");
}
