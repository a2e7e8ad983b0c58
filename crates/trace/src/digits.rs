//! Parses numbers and finds separators, eight bytes at a time.

/// The lowest bit of each byte of a word.
const LOW: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each byte.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Returns the first position of `byte` in `text`. It is meant for short fields, where calling
/// `memchr` costs more than its vector instructions save.
#[inline]
pub(crate) fn find(byte: u8, text: &[u8]) -> Option<usize> {
    let wanted = LOW * u64::from(byte);
    let mut rest = text;
    while let Some((chunk, after)) = rest.split_first_chunk() {
        // A byte of the difference is zero where the chunk has the wanted byte. Borrows in the
        // subtraction affect only bytes above the lowest zero.
        let difference = u64::from_le_bytes(*chunk) ^ wanted;
        let zeros = difference.wrapping_sub(LOW) & !difference & HIGH;
        if zeros != 0 {
            let before = text.len() - rest.len();
            return Some(before + (zeros.trailing_zeros() / 8) as usize);
        }
        rest = after;
    }
    let before = text.len() - rest.len();
    let found = rest.iter().position(|other| *other == byte)?;
    Some(before + found)
}

/// Splits text at each separator.
#[derive(Clone)]
pub(crate) struct Split<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Split<'a> {
    #[inline]
    pub(crate) fn new(text: &'a [u8], separator: u8) -> Self {
        Self {
            rest: Some(text),
            separator,
        }
    }
}

impl<'a> Iterator for Split<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        match find(self.separator, rest) {
            Some(end) => {
                self.rest = Some(&rest[end + 1..]);
                Some(&rest[..end])
            }
            None => self.rest.take(),
        }
    }
}

/// The words of a string, separated by white space.
#[derive(Clone)]
pub(crate) struct Words<'a> {
    rest: &'a [u8],
}

#[inline]
pub(crate) fn words(text: &[u8]) -> Words<'_> {
    Words { rest: text }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        while let [first, after @ ..] = self.rest {
            if !first.is_ascii_whitespace() {
                break;
            }
            self.rest = after;
        }
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(u8::is_ascii_whitespace);
        let (word, after) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = after;
        Some(word)
    }
}

/// Parses one or more digits as a whole number below 2^64; returns `None` for any other text.
#[inline]
pub(crate) fn digits(text: &[u8]) -> Option<u64> {
    // A number of nineteen digits is below 2^64.
    if text.is_empty() || text.len() > 19 {
        return long_digits(text);
    }
    let mut value = 0u64;
    let mut rest = text;
    while let Some((chunk, after)) = rest.split_first_chunk() {
        value = value * 100_000_000 + eight_digits(u64::from_le_bytes(*chunk))?;
        rest = after;
    }
    for byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

/// Parses eight digits, the first of which is in the lowest byte.
#[inline]
fn eight_digits(word: u64) -> Option<u64> {
    let values = word ^ (LOW * u64::from(b'0'));
    // Only a byte whose highest bit is set can cause a carry, and such a byte is rejected anyway.
    let above_nine = values.wrapping_add(LOW * (0x7f - 9)) | values;
    if above_nine & HIGH != 0 {
        return None;
    }
    Some(combine_digits(values))
}

/// Combines eight values from 0 to 9 into pairs, then fours, then a number of eight digits.
#[inline]
fn combine_digits(values: u64) -> u64 {
    let pairs = (values * 10 + (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) & 0xffff_ffff
}

#[cold]
fn long_digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(text).ok()?.parse().ok()
}

/// A scanner of a byte string.
///
/// It reads words of eight bytes, and therefore finds nothing in the last seven bytes.
#[derive(Clone, Copy)]
pub(crate) struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the next eight bytes, the first in the lowest byte.
    #[inline]
    pub(crate) fn word(&self) -> Option<u64> {
        self.rest.first_chunk().copied().map(u64::from_le_bytes)
    }

    #[inline]
    pub(crate) fn advance(&mut self, count: usize) {
        self.rest = &self.rest[count..];
    }

    /// Skips `byte` if it is next.
    #[inline]
    pub(crate) fn skip(&mut self, byte: u8) -> Option<()> {
        match self.rest {
            [first, rest @ ..] if *first == byte => {
                self.rest = rest;
                Some(())
            }
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn skip_line_end(&mut self) -> Option<()> {
        let _ = self.skip(b'\r');
        self.skip(b'\n')
    }

    /// Returns a scanner of the bytes after `text`, if `text` is next and `separator` follows it.
    #[inline]
    pub(crate) fn after(&self, text: &[u8], separator: u8) -> Option<Self> {
        let rest = self.rest.strip_prefix(text)?;
        (rest.first() == Some(&separator)).then_some(Self { rest })
    }

    /// Reads a whole number of at most 19 digits, and returns it with its number of digits.
    #[inline]
    pub(crate) fn whole_number(&mut self) -> Option<(u64, usize)> {
        let (mut value, mut length) = (0u64, 0);
        loop {
            let (digits, count) = leading_digits(self.word()?);
            self.advance(count);
            // This overflows only if the number is too long.
            let scaled = value.wrapping_mul(POWERS_OF_TEN[count]);
            value = scaled.wrapping_add(digits);
            length += count;
            if count < 8 {
                break;
            }
        }
        (1..=19).contains(&length).then_some((value, length))
    }
}

pub(crate) const POWERS_OF_TEN: [u64; 10] = {
    let mut powers = [1; 10];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = 10 * powers[exponent - 1];
        exponent += 1;
    }
    powers
};

/// Returns the value and the count of a word's leading digits, starting at the lowest byte.
#[inline]
fn leading_digits(word: u64) -> (u64, usize) {
    let values = word ^ (LOW * u64::from(b'0'));
    // As in `eight_digits`. Carries reach only bytes above the first non-digit.
    let above_nine = (values.wrapping_add(LOW * (0x7f - 9)) | values) & HIGH;
    let count = above_nine.trailing_zeros() / 8;
    // Pads with leading zeros.
    let padded = values.checked_shl(64 - 8 * count).unwrap_or(0);
    (combine_digits(padded), count as usize)
}

pub(crate) fn write_number(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parses_up_to_the_largest_u64() {
        for (text, expected) in [
            ("0", Some(0)),
            ("9999999999999999999", Some(9_999_999_999_999_999_999)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("0000000000000000000000007", Some(7)),
        ] {
            assert_eq!(digits(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_scanner_reads_leading_digits() {
        let whole = |text: &[u8]| {
            let padded = [text, b",......."].concat();
            let mut scanner = Scanner::new(&padded);
            let found = scanner.whole_number();
            found.map(|found| (found, scanner.rest() == b",......."))
        };
        for length in 1..=19 {
            let text = "9870123456789012345"[..length].to_owned();
            let expected = (text.parse().expect("a number"), length);
            assert_eq!(whole(text.as_bytes()), Some((expected, true)));
        }
        assert_eq!(whole(b"00000000000000000000"), None);
        assert_eq!(whole(b""), None);
        // The last seven bytes are never parsed.
        assert_eq!(Scanner::new(b"1234567").whole_number(), None);
        for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
            let found = whole(&[b'4', byte, b'2']);
            assert_eq!(found, Some(((4, 1), false)), "{byte}");
        }
    }

    #[test]
    fn rejects_bytes_that_are_not_digits() {
        for length in [1, 7, 8, 9, 16, 17] {
            for (at, byte) in (0..length).flat_map(|at| (0..=u8::MAX).map(move |b| (at, b))) {
                let mut text = vec![b'9'; length];
                text[at] = byte;
                assert_eq!(digits(&text).is_some(), byte.is_ascii_digit(), "{text:?}");
            }
        }
    }

    /// Separators, and bytes that differ from them by one bit.
    const MIXED: &[u8] = b",, \t\x00ab\xff\xac-+";

    /// Parses with the standard library, which also accepts a plus sign.
    fn parse_slowly(text: &[u8]) -> Option<u64> {
        let is_signed = text.first() == Some(&b'+');
        let number = str::from_utf8(text).ok()?.parse().ok();
        number.filter(|_| !is_signed)
    }

    proptest! {
        #[test]
        fn numbers_round_trip(value: u64, zeros in 0..4usize) {
            let text = format!("{}{value}", "0".repeat(zeros));
            prop_assert_eq!(digits(text.as_bytes()), Some(value));
            let mut written = Vec::new();
            write_number(value, &mut written);
            prop_assert_eq!(written, value.to_string().into_bytes());
        }

        /// Compares numbers with and without one digit replaced by an arbitrary byte.
        #[test]
        fn agrees_with_the_standard_library(
            text in "[0-9]{0,24}",
            at: prop::sample::Index,
            byte: u8,
        ) {
            let mut bytes = text.into_bytes();
            prop_assert_eq!(digits(&bytes), parse_slowly(&bytes));
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
                prop_assert_eq!(digits(&bytes), parse_slowly(&bytes), "{:?}", bytes);
            }
        }

        #[test]
        fn splits_like_the_standard_library(
            bytes in prop::collection::vec(prop::sample::select(MIXED), 0..40),
        ) {
            let parts: Vec<&[u8]> = bytes.split(|byte| *byte == b',').collect();
            prop_assert_eq!(Split::new(&bytes, b',').collect::<Vec<_>>(), parts);
            let parts = bytes.split(u8::is_ascii_whitespace).filter(|part| !part.is_empty());
            prop_assert_eq!(words(&bytes).collect::<Vec<_>>(), parts.collect::<Vec<_>>());
        }
    }
}
