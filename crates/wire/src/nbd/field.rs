//! Headers and strings, which options, requests and replies share.

/// The layout of the headers of requests and replies, which the options of a connection determine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Headers {
    /// Simple replies alone.
    #[default]
    Simple,
    /// Replies in chunks, after `NBD_OPT_STRUCTURED_REPLY`.
    Structured,
    /// Requests and chunks with lengths of 64 bits, after `NBD_OPT_EXTENDED_HEADERS`.
    Extended,
}

/// The longest string, in bytes (section "Conventions").
pub const MAX_STRING: usize = 4096;

/// Splits off the first 32 bits of `data`.
pub(super) fn first_u32(data: &[u8]) -> Option<(u32, &[u8])> {
    let (first, rest) = data.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*first), rest))
}

/// Splits off the first 16 bits of `data`.
pub(super) fn first_u16(data: &[u8]) -> Option<(u16, &[u8])> {
    let (first, rest) = data.split_first_chunk::<2>()?;
    Some((u16::from_be_bytes(*first), rest))
}

/// Splits off a string of `length` bytes from the beginning of `data`; `None` if it is too long,
/// not UTF-8, or has a NUL.
pub(super) fn first_text(data: &[u8], length: u32) -> Option<(&str, &[u8])> {
    let length = usize::try_from(length).ok()?;
    if length > MAX_STRING {
        return None;
    }
    let (bytes, rest) = data.split_at_checked(length)?;
    let text = core::str::from_utf8(bytes).ok()?;
    (!text.contains('\0')).then_some((text, rest))
}

/// Writes `parts` one after the other to the beginning of `data`; returns their total length.
///
/// # Panics
/// If there is too little room.
pub(super) fn put_all(data: &mut [u8], parts: &[&[u8]]) -> usize {
    let mut length = 0;
    for part in parts {
        data[length..length + part.len()].copy_from_slice(part);
        length += part.len();
    }
    length
}

/// Encodes the length of a string.
///
/// # Panics
/// If it is longer than [`MAX_STRING`].
pub(super) fn string_length(text: &str) -> [u8; 4] {
    assert!(text.len() <= MAX_STRING, "a string of {} bytes", text.len());
    (text.len() as u32).to_be_bytes()
}
