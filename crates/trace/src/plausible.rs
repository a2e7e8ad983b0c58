//! Checks whether a trace's times can be in the unit of its format.
//!
//! Wrong units differ by factors of a thousand. Gaps of minutes or nanoseconds between requests, or
//! a response faster than any device's, show that a trace was written in another unit.

use diskarm_core::units::Span;

use crate::time::TimeUnit;

/// The median gap between requests to a busy disk. The range is narrow enough that a unit wrong by
/// a thousand falls outside: from the 15 us of an array under TPC-C to a disk that is nearly idle.
const GAPS: Band = Band {
    what: "gap between requests",
    min: Span::from_ns(5_000),
    max: Span::from_ns(500_000_000),
    usual: 1e6,
};

/// The same where something else confirms the unit: from a device that serves a million requests
/// per second to an idle machine, whose requests still come in bursts.
const ANY_GAPS: Band = Band {
    min: Span::from_ns(1_000),
    max: Span::from_ns(100_000_000_000),
    ..GAPS
};

/// From the fastest flash to a disk with a long queue.
const RESPONSES: Band = Band {
    what: "response",
    min: Span::from_ns(1_000),
    max: Span::from_ns(10_000_000_000),
    usual: 3e6,
};

/// Fewer values are not conclusive.
const MIN_COUNT: usize = 16;

/// The range of plausible medians.
struct Band {
    what: &'static str,
    min: Span,
    max: Span,
    /// A typical value, in nanoseconds.
    usual: f64,
}

/// A warning if `unit`, in which the times of a trace were read, is probably wrong. `is_dated` says
/// that times are relative to a known date, which confirms the unit, as do responses.
pub(crate) fn unit_warning(
    unit: TimeUnit,
    is_dated: bool,
    gaps: impl Iterator<Item = Span>,
    responses: impl Iterator<Item = Span>,
) -> Option<String> {
    let responses: Vec<Span> = responses.collect();
    let band = match is_dated || responses.len() >= MIN_COUNT {
        true => ANY_GAPS,
        false => GAPS,
    };
    band.warning(unit, gaps.collect())
        .or_else(|| RESPONSES.warning(unit, responses))
}

impl Band {
    fn warning(&self, unit: TimeUnit, mut spans: Vec<Span>) -> Option<String> {
        if spans.len() < MIN_COUNT {
            return None;
        }
        let middle = spans.len() / 2;
        let (_, median, _) = spans.select_nth_unstable(middle);
        let median = *median;
        if (self.min..=self.max).contains(&median) {
            return None;
        }
        let as_read = median.as_ns() as f64;
        let read_in = |other: TimeUnit| as_read / unit.ns() as f64 * other.ns() as f64;
        let distance = |other: &TimeUnit| (read_in(*other) / self.usual).ln().abs();
        let likelier = UNITS
            .into_iter()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .filter(|likelier| *likelier != unit)?;
        Some(format!(
            "the median {} would be {} s if times are {}, as in this format; {} are more \
             likely ({} s)",
            self.what,
            Short(as_read / 1e9),
            unit.name(),
            likelier.name(),
            Short(read_in(likelier) / 1e9),
        ))
    }
}

/// Units that are used by mistake; Windows ticks are not.
const UNITS: [TimeUnit; 4] = [
    TimeUnit::Seconds,
    TimeUnit::Milliseconds,
    TimeUnit::Microseconds,
    TimeUnit::Nanoseconds,
];

/// Three significant digits.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if (1e-3..1e6).contains(&self.0) {
            let decimals = (2 - self.0.log10().floor() as i32).clamp(0, 5) as usize;
            write!(f, "{:.decimals$}", self.0)
        } else {
            write!(f, "{:.2e}", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(ns: i64) -> impl Iterator<Item = Span> {
        (0..32).map(move |_| Span::from_ns(ns))
    }

    #[test]
    fn the_likely_unit_is_named() {
        let none = std::iter::empty;
        // 2.4 ms, written in ns and read as ms: 2.4e6 ms.
        let read = gaps(2_400_000 * 1_000_000);
        let warning = unit_warning(TimeUnit::Milliseconds, false, read, none()).unwrap();
        assert!(
            warning.contains("would be 2.40e3 s") || warning.contains("would be 2400 s"),
            "{warning}"
        );
        let likelier = "nanoseconds are more likely (0.00240 s)";
        assert!(warning.contains(likelier), "{warning}");
        // 2 s, written in s and read as ns: 2 ns.
        let warning = unit_warning(TimeUnit::Nanoseconds, false, gaps(2), none()).unwrap();
        assert!(
            warning.contains("milliseconds are more likely"),
            "{warning}"
        );
        let valid = unit_warning(TimeUnit::Milliseconds, false, gaps(2_400_000), none());
        assert_eq!(valid, None);
        // Plausible gaps, and responses of 80 ns.
        let warning =
            unit_warning(TimeUnit::Nanoseconds, false, gaps(1_000_000), gaps(80)).unwrap();
        assert!(warning.contains("response"), "{warning}");
    }

    /// 2.4 ms, a thousand times too short and too long; a date or responses confirm the unit.
    #[test]
    fn a_factor_of_a_thousand_is_detected() {
        let none = std::iter::empty;
        for (ns, likelier) in [
            (2_400, "milliseconds are more likely (0.00240 s)"),
            (2_400_000_000, "nanoseconds are more likely (0.00240 s)"),
        ] {
            let warning = unit_warning(TimeUnit::Microseconds, false, gaps(ns), none()).unwrap();
            assert!(warning.contains(likelier), "{warning}");
            let dated = unit_warning(TimeUnit::Microseconds, true, gaps(ns), none());
            assert_eq!(dated, None);
            let answered = unit_warning(TimeUnit::Microseconds, false, gaps(ns), gaps(10_000_000));
            assert_eq!(answered, None);
        }
    }

    #[test]
    fn a_few_gaps_are_not_conclusive() {
        let few = gaps(1).take(MIN_COUNT - 1);
        let warning = unit_warning(TimeUnit::Nanoseconds, false, few, std::iter::empty());
        assert_eq!(warning, None);
    }
}
