//! Whether a trace's times can be what its format says.
//!
//! Units are misread by thousands; so are verdicts. A gap between requests of minutes or of
//! nanoseconds, or a response faster than any device, says that a trace was written in another
//! unit than its format's.

use diskarm_core::units::Span;

use crate::time::TimeUnit;

/// What nobody's requests are apart by median: from a device that does a million a second up to
/// a machine at rest, whose requests still come in bursts.
const GAPS: Band = Band {
    what: "gap between requests",
    least: Span::from_ns(1_000),
    most: Span::from_ns(100_000_000_000),
    usual: 1e6,
};

/// From the fastest flash to a disk behind a long queue.
const RESPONSES: Band = Band {
    what: "response",
    least: Span::from_ns(1_000),
    most: Span::from_ns(100_000_000_000),
    usual: 3e6,
};

/// Too few for a verdict.
const LEAST_COUNT: usize = 16;

/// Where a median may lie.
struct Band {
    what: &'static str,
    least: Span,
    most: Span,
    /// What is most often seen, in nanoseconds.
    usual: f64,
}

/// A doubt about `unit`, in which the times of a trace were read.
pub(crate) fn doubt(
    unit: TimeUnit,
    gaps: impl Iterator<Item = Span>,
    responses: impl Iterator<Item = Span>,
) -> Option<String> {
    GAPS.doubt(unit, gaps)
        .or_else(|| RESPONSES.doubt(unit, responses))
}

impl Band {
    fn doubt(&self, unit: TimeUnit, spans: impl Iterator<Item = Span>) -> Option<String> {
        let mut spans: Vec<Span> = spans.collect();
        if spans.len() < LEAST_COUNT {
            return None;
        }
        let middle = spans.len() / 2;
        let (_, median, _) = spans.select_nth_unstable(middle);
        let median = *median;
        if (self.least..=self.most).contains(&median) {
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
            "the median {} would be {} s if times are {}, as this format has them; {} are \
             likelier ({} s)",
            self.what,
            Short(as_read / 1e9),
            unit.name(),
            likelier.name(),
            Short(read_in(likelier) / 1e9),
        ))
    }
}

const UNITS: [TimeUnit; 5] = [
    TimeUnit::Seconds,
    TimeUnit::Milliseconds,
    TimeUnit::Microseconds,
    TimeUnit::Ticks,
    TimeUnit::Nanoseconds,
];

/// Three digits that count.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if (1e-3..1e6).contains(&self.0) {
            let places = (2 - self.0.log10().floor() as i32).clamp(0, 5) as usize;
            write!(f, "{:.places$}", self.0)
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
    fn another_unit_is_named() {
        let none = std::iter::empty;
        // 2.4 ms, written in ns and read as ms: 2.4e6 ms.
        let read = gaps(2_400_000 * 1_000_000);
        let told = doubt(TimeUnit::Milliseconds, read, none()).unwrap();
        assert!(told.contains("2.40e3") || told.contains("2400 s"), "{told}");
        assert!(
            told.contains("nanoseconds are likelier (0.00240 s)"),
            "{told}"
        );
        // 2 s, written in s and read as ns: 2 ns.
        let told = doubt(TimeUnit::Nanoseconds, gaps(2), none()).unwrap();
        assert!(told.contains("milliseconds are likelier"), "{told}");
        assert_eq!(doubt(TimeUnit::Milliseconds, gaps(2_400_000), none()), None);
        // Sound gaps, and responses of 80 ns.
        let told = doubt(TimeUnit::Nanoseconds, gaps(1_000_000), gaps(80)).unwrap();
        assert!(told.contains("response"), "{told}");
    }

    #[test]
    fn a_few_gaps_prove_nothing() {
        let few = gaps(1).take(LEAST_COUNT - 1);
        assert_eq!(doubt(TimeUnit::Nanoseconds, few, std::iter::empty()), None);
    }
}
