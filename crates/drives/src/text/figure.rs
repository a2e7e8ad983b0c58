//! Parses sizes and rates as data sheets write them.

use diskarm_core::text::quantity;
use diskarm_core::units::Bytes;

/// Parses a size in `B`, `kB`, `MB`, `GB` or `TB`, or in `KiB`, `MiB`, `GiB` or `TiB`.
///
/// # Errors
/// A noun phrase that describes valid sizes, if `text` is not one.
pub fn bytes(text: &str) -> Result<Bytes, &'static str> {
    let bytes = scaled(text).map(|bytes| bytes.round());
    let bytes = bytes.filter(|bytes| (1.0..1e18).contains(bytes));
    let expected = "a size from 1 B to a million TB, such as \"8TB\" or \"64MiB\"";
    bytes.map(|bytes| Bytes(bytes as u64)).ok_or(expected)
}

/// Parses a rate, such as `250MB/s`, and returns it in bytes per second.
///
/// # Errors
/// A noun phrase that describes valid rates, if `text` is not one.
pub fn per_s(text: &str) -> Result<f64, &'static str> {
    let rate = text.trim_end().strip_suffix("/s").and_then(scaled);
    let rate = rate.filter(|rate| (1e3..1e12).contains(rate));
    rate.ok_or(if text.trim_end().ends_with("b/s") {
        "a rate in bytes, such as \"250MB/s\" (a link of 6Gb/s carries 600MB/s)"
    } else {
        "a rate from 1 kB/s to a million MB/s, such as \"250MB/s\""
    })
}

/// Parses a number of bytes with its unit.
fn scaled(text: &str) -> Option<f64> {
    let text = text.trim();
    let (prefix, base) = match text.strip_suffix("iB") {
        Some(rest) => (rest, 1024.0),
        None => (text.strip_suffix('B')?, 1000.0),
    };
    let power = match prefix.chars().last() {
        Some('k' | 'K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        // Bytes: "8 B", but not "8 iB".
        _ if base == 1000.0 => 0,
        _ => return None,
    };
    let text = prefix[..prefix.len() - usize::from(power > 0)].trim();
    let number = quantity::count(text)
        .map(|n| n as f64)
        .or_else(|| plain(text));
    number.map(|number| number * f64::powi(base, power))
}

/// Parses a decimal number without an exponent.
fn plain(text: &str) -> Option<f64> {
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, size) in [
            ("16000900661248 B", 16_000_900_661_248_u64),
            ("512B", 512),
            ("8TB", 8_000_000_000_000),
            ("1.5 KiB", 1536),
            ("64 kB", 64_000),
        ] {
            assert_eq!(bytes(text), Ok(Bytes(size)), "{text}");
        }
        for text in ["8", "8 iB", "B", "8 PB", "8 T", "-1 B", "1e30 B", "0 B"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_in_bytes() {
        assert_eq!(per_s("250 MB/s"), Ok(250e6));
        assert!(per_s("6Gb/s").is_err_and(|expected| expected.contains("in bytes")));
        assert!(per_s("6 GHz").is_err_and(|expected| !expected.contains("in bytes")));
    }
}
