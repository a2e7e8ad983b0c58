//! Numbers as text, with as many digits as they deserve.

/// A mean and half the width of its interval, with two digits of the latter: `16.72 ± 0.13`. Four
/// digits of a mean without an interval, or of one that is exact.
pub fn rounded(mean: f64, half_width: Option<f64>) -> String {
    match half_width {
        // A width that is only a rounding error would be shown with all its digits.
        Some(half) if half > 1e-9 * mean.abs() && half.is_finite() => {
            let decimals = decimals(half, 2);
            let mean = format!("{mean:.decimals$}");
            // Of less than its last digit is shown, a minus says nothing.
            let is_zero = !mean.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
            let mean = if is_zero {
                mean.trim_start_matches('-')
            } else {
                &mean
            };
            format!("{mean} \u{b1} {half:.decimals$}")
        }
        _ => with_digits(mean, 4),
    }
}

/// A number without an interval, to `digits` significant digits, or to all before the decimal
/// point.
pub fn with_digits(number: f64, digits: i32) -> String {
    let decimals = decimals(number, digits);
    let text = format!("{number:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// The number of decimals that gives a number this many digits; at most nine.
fn decimals(number: f64, digits: i32) -> usize {
    if number == 0.0 || !number.is_finite() {
        return 0;
    }
    let first = number.abs().log10().floor() as i32;
    (digits - 1 - first).clamp(0, 9) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_says_how_many_digits_a_mean_has() {
        for (mean, half_width, text) in [
            (16.7234, Some(0.1278), "16.72 \u{b1} 0.13"),
            (16.7234, Some(2.0), "16.7 \u{b1} 2.0"),
            (1234.56, Some(345.6), "1235 \u{b1} 346"),
            (0.001_234, Some(0.000_056), "0.001234 \u{b1} 0.000056"),
            (250_000.0, Some(0.012), "250000.000 \u{b1} 0.012"),
            (16.7234, Some(0.0), "16.72"),
            (16.7234, Some(3e-15), "16.72"),
            (16.7234, None, "16.72"),
            (250_000.0, None, "250000"),
            (0.5, None, "0.5"),
            (0.0, None, "0"),
            (12345.6, None, "12346"),
            (0.012345, None, "0.01235"),
            (-16.72, None, "-16.72"),
            (-0.004, Some(0.16), "0.00 \u{b1} 0.16"),
            (-0.04, Some(0.16), "-0.04 \u{b1} 0.16"),
            (1e-10, None, "0"),
        ] {
            assert_eq!(rounded(mean, half_width), text);
        }
    }
}
