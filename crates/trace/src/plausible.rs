//! Whether a trace's times can be what its format says.
//!
//! Units are misread by thousands; so are verdicts. A gap between requests of minutes or of
//! nanoseconds, or a response faster than any device, says that a trace was written in another
//! unit than its format's.

use diskarm_core::units::Span;

use crate::time::TimeUnit;

/// How far apart by median requests to a busy disk are. The band is narrow enough for a unit that
/// is wrong by a thousand to lead out of it: from the 15 us of an array under TPC-C to a disk that
/// hardly works.
const GAPS: Band = Band {
    what: "gap between requests",
    least: Span::from_ns(5_000),
    max: Span::from_ns(500_000_000),
    usual: 1e6,
};

/// The same where something else vouches for the unit: from a device that does a million a second
/// up to a machine at rest, whose requests still come in bursts.
const ANY_GAPS: Band = Band {
    least: Span::from_ns(1_000),
    max: Span::from_ns(100_000_000_000),
    ..GAPS
};

/// From the fastest flash to a disk behind a long queue.
const RESPONSES: Band = Band {
    what: "response",
    least: Span::from_ns(1_000),
    max: Span::from_ns(10_000_000_000),
    usual: 3e6,
};

/// Too few for a verdict.
const MIN_COUNT: usize = 16;

/// Where a median may lie.
struct Band {
    what: &'static str,
    least: Span,
    max: Span,
    /// What is most often seen, in nanoseconds.
    usual: f64,
}

/// A doubt about `unit`, in which the times of a trace were read. `is_dated` where they count from
/// a known day, which vouches for the unit, as do responses.
pub(crate) fn doubt(
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
    band.doubt(unit, gaps.collect())
        .or_else(|| RESPONSES.doubt(unit, responses))
}

impl Band {
    fn doubt(&self, unit: TimeUnit, mut spans: Vec<Span>) -> Option<String> {
        if spans.len() < MIN_COUNT {
            return None;
        }
        let middle = spans.len() / 2;
        let (_, median, _) = spans.select_nth_unstable(middle);
        let median = *median;
        if (self.least..=self.max).contains(&median) {
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

/// Those in which traces are written by mistake; Windows's ticks are not.
const UNITS: [TimeUnit; 4] = [
    TimeUnit::Seconds,
    TimeUnit::Milliseconds,
    TimeUnit::Microseconds,
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
        let warning = doubt(TimeUnit::Milliseconds, false, read, none()).unwrap();
        assert!(
            warning.contains("would be 2.40e3 s") || warning.contains("would be 2400 s"),
            "{warning}"
        );
        let likelier = "nanoseconds are likelier (0.00240 s)";
        assert!(warning.contains(likelier), "{warning}");
        // 2 s, written in s and read as ns: 2 ns.
        let warning = doubt(TimeUnit::Nanoseconds, false, gaps(2), none()).unwrap();
        assert!(warning.contains("milliseconds are likelier"), "{warning}");
        let sound = doubt(TimeUnit::Milliseconds, false, gaps(2_400_000), none());
        assert_eq!(sound, None);
        // Sound gaps, and responses of 80 ns.
        let warning = doubt(TimeUnit::Nanoseconds, false, gaps(1_000_000), gaps(80)).unwrap();
        assert!(warning.contains("response"), "{warning}");
    }

    /// 2.4 ms, by a thousand too short and too long: what a date or a response tells otherwise.
    #[test]
    fn a_thousand_is_seen() {
        let none = std::iter::empty;
        for (ns, likelier) in [
            (2_400, "milliseconds are likelier (0.00240 s)"),
            (2_400_000_000, "nanoseconds are likelier (0.00240 s)"),
        ] {
            let warning = doubt(TimeUnit::Microseconds, false, gaps(ns), none()).unwrap();
            assert!(warning.contains(likelier), "{warning}");
            let dated = doubt(TimeUnit::Microseconds, true, gaps(ns), none());
            assert_eq!(dated, None);
            let answered = doubt(TimeUnit::Microseconds, false, gaps(ns), gaps(10_000_000));
            assert_eq!(answered, None);
        }
    }

    #[test]
    fn a_few_gaps_prove_nothing() {
        let few = gaps(1).take(MIN_COUNT - 1);
        let warning = doubt(TimeUnit::Nanoseconds, false, few, std::iter::empty());
        assert_eq!(warning, None);
    }
}
