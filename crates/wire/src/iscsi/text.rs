//! The key-value text with which both sides negotiate.

use core::fmt::{self, Display, Write};

/// The longest key, in bytes (section "Text Format").
pub const MAX_KEY: usize = 63;
/// The longest value, in bytes, unless specified otherwise (section "Text Format").
pub const MAX_VALUE: usize = 8192;

/// The answer to an unknown key.
pub const NOT_UNDERSTOOD: &str = "NotUnderstood";
/// The answer to a key that is irrelevant given earlier choices.
pub const IRRELEVANT: &str = "Irrelevant";
/// The answer to a value that is not acceptable.
pub const REJECT: &str = "Reject";

/// The error for text that is not a list of key-value pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadText;

/// Returns the keys in `data` with their values. Each pair ends with a NUL, which is optional after
/// the last pair. Empty pairs are skipped.
pub fn pairs(data: &[u8]) -> impl Iterator<Item = Result<(&str, &str), BadText>> {
    let all = data.split(|byte| *byte == 0);
    all.filter(|pair| !pair.is_empty()).map(|pair| {
        let pair = core::str::from_utf8(pair).map_err(|_| BadText)?;
        let (key, value) = pair.split_once('=').ok_or(BadText)?;
        let is_valid = is_key(key) && value.len() <= MAX_VALUE;
        is_valid.then_some((key, value)).ok_or(BadText)
    })
}

/// Returns true for a key: a letter, then letters, digits and some punctuation. RFC 7143 requires a
/// capital letter first, but `iSCSIProtocolLevel` in RFC 7144 begins with a lower-case letter.
fn is_key(key: &str) -> bool {
    let is_key_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".-+@_#".contains(&byte);
    key.len() <= MAX_KEY
        && key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.bytes().all(is_key_byte)
}

/// Writes key-value pairs.
#[derive(Debug)]
pub struct Writer<'a> {
    data: &'a mut [u8],
    length: usize,
}

/// The error for text that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl<'a> Writer<'a> {
    /// Writes to the beginning of `data`.
    pub fn new(data: &'a mut [u8]) -> Self {
        Self { data, length: 0 }
    }

    /// Adds a key with its value, or fails if they do not fit. Panics if the key is invalid.
    pub fn put(&mut self, key: &str, value: impl Display) -> Result<(), Full> {
        assert!(is_key(key), "{key:?} is not a key");
        let before = self.length;
        write!(self, "{key}={value}\0").map_err(|_| {
            self.length = before;
            Full
        })
    }

    /// Returns the number of bytes written so far.
    pub const fn length(&self) -> usize {
        self.length
    }
}

impl Write for Writer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let rest = self.data.get_mut(self.length..);
        let room = rest.and_then(|rest| rest.get_mut(..text.len()));
        room.ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}

/// Parses a number: decimal, or hexadecimal after `0x`.
pub fn number(value: &str) -> Option<u32> {
    let is_valid = |digits: &str| !digits.starts_with('+');
    match value.strip_prefix("0x").or(value.strip_prefix("0X")) {
        Some(digits) if is_valid(digits) => u32::from_str_radix(digits, 16).ok(),
        None if is_valid(value) => value.parse().ok(),
        _ => None,
    }
}

/// Decodes a value, hexadecimal after `0x` or base 64 after `0b`, into `data`; returns the number
/// of bytes. `None` if the value has neither form or does not fit.
pub fn binary(value: &str, data: &mut [u8]) -> Option<usize> {
    let (kind, digits) = value.split_at_checked(2)?;
    match kind {
        "0x" | "0X" => hexadecimal(digits.as_bytes(), data),
        "0b" | "0B" => base_64(digits.as_bytes(), data),
        _ => None,
    }
}

fn hexadecimal(digits: &[u8], data: &mut [u8]) -> Option<usize> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    // If the number of digits is odd, the first byte has only one.
    let (first, rest) = digits.split_at(digits.len() % 2);
    let mut length = 0;
    for pair in core::iter::once(first)
        .filter(|first| !first.is_empty())
        .chain(rest.chunks(2))
    {
        let mut byte = 0;
        for character in pair {
            byte = byte << 4 | digit(*character)? as u8;
        }
        *data.get_mut(length)? = byte;
        length += 1;
    }
    (length > 0).then_some(length)
}

fn base_64(digits: &[u8], data: &mut [u8]) -> Option<usize> {
    let end = digits.iter().rposition(|byte| *byte != b'=')? + 1;
    let padding = digits.len() - end;
    if padding > 2 || !digits.len().is_multiple_of(4) {
        return None;
    }
    let (mut bits, mut count, mut length) = (0_u32, 0, 0);
    for byte in &digits[..end] {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            *data.get_mut(length)? = (bits >> count) as u8;
            length += 1;
        }
    }
    Some(length)
}

/// Bytes that are displayed as a value: hexadecimal after `0x`.
#[derive(Clone, Copy, Debug)]
pub struct Hexadecimal<'a>(pub &'a [u8]);

impl Display for Hexadecimal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
