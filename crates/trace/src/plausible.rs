//! Checks whether a trace's times are plausible in the unit of its format.
//!
//! A wrong unit changes all times by a factor of a thousand or more. Gaps of minutes or nanoseconds
//! between requests, or a response faster than any device's, show that a trace was written in
//! another unit. A wrong digit appears as a jump in time.

use diskarm_core::units::{Instant, Span};

use crate::record::Location;
use crate::time::TimeUnit;

/// The median gap between requests to a busy disk. The range is so narrow that gaps wrong by a
/// factor of a thousand fall outside it, but includes the 15 us of an array under TPC-C and the
/// gaps of a nearly idle disk.
const GAPS: Band = Band {
    what: "gap between requests",
    min: Span::from_ns(5_000),
    max: Span::from_ns(500_000_000),
    typical: 1e6,
};

/// Like [`GAPS`], but for a unit that a date or responses confirm: from a device that serves a
/// million requests per second to an idle machine, whose requests still come in bursts.
const ANY_GAPS: Band = Band {
    min: Span::from_ns(1_000),
    max: Span::from_ns(100_000_000_000),
    ..GAPS
};

/// The median response, from the fastest flash to a disk with a long queue.
const RESPONSES: Band = Band {
    what: "response",
    min: Span::from_ns(1_000),
    max: Span::from_ns(10_000_000_000),
    typical: 3e6,
};

/// With fewer values, no conclusion is drawn.
const MIN_COUNT: usize = 16;

struct Band {
    what: &'static str,
    min: Span,
    max: Span,
    typical: f64,
}

/// A gap is suspicious if it is this many times as long as the trace before it.
const MAX_RATIO: i64 = 1_000;

/// The trace before a suspicious gap is at least this long: machines are often idle after a burst.
const MIN_LENGTH: Span = Span::from_ns(60_000_000_000);

/// No gap shorter than this is suspicious.
const MIN_GAP: Span = Span::from_ns(MAX_RATIO * MIN_LENGTH.as_ns());

/// A gap of a year is always suspicious.
const YEAR: Span = Span::from_ns(365 * 86_400_000_000_000);

/// Detects jumps in the times of a trace.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    first: Instant,
    latest: Instant,
    jump: Option<Jump>,
    count: u64,
}

#[derive(Debug)]
struct Jump {
    /// The record after the jump.
    location: Location,
    gap: Span,
    /// The length of the trace before the jump.
    length: Span,
}

impl Gaps {
    pub(crate) fn begin(&mut self, first: Instant) {
        (self.first, self.latest) = (first, first);
    }

    #[inline]
    pub(crate) fn add(&mut self, arrival: Instant, location: &Location) {
        let gap = arrival - self.latest;
        if gap >= MIN_GAP {
            self.check_jump(gap, *location);
        }
        self.latest = arrival;
    }

    #[cold]
    fn check_jump(&mut self, gap: Span, location: Location) {
        let length = self.latest - self.first;
        let is_out_of_scale = length >= MIN_LENGTH && gap.as_ns() / MAX_RATIO >= length.as_ns();
        if gap >= YEAR || is_out_of_scale {
            self.count += 1;
            self.jump.get_or_insert(Jump {
                location,
                gap,
                length,
            });
        }
    }

    /// Returns a warning about the first jump.
    pub(crate) fn note(&self) -> Option<String> {
        let jump = self.jump.as_ref()?;
        let more = match self.count - 1 {
            0 => String::new(),
            more => format!(" ({more} more)"),
        };
        let location = match jump.location {
            Location::Line(line) => format!("line {line}"),
            other => other.to_string(),
        };
        let (gap_s, length_s) = (Rounded(jump.gap.as_s()), Rounded(jump.length.as_s()));
        Some(format!(
            "{location}: the time jumps by {gap_s} s after {length_s} s of the trace{more}: \
             a digit may be wrong"
        ))
    }
}

/// Returns a warning if `unit`, in which the times of a trace were read, is probably wrong. Times
/// relative to a known date (`is_dated`) confirm the unit, as do responses.
pub(crate) fn unit_warning(
    unit: TimeUnit,
    is_dated: bool,
    gaps: impl Iterator<Item = Span>,
    responses: impl Iterator<Item = Span>,
) -> Option<String> {
    let responses: Vec<Span> = responses.collect();
    let band = if is_dated || responses.len() >= MIN_COUNT {
        ANY_GAPS
    } else {
        GAPS
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
        let median = *spans.select_nth_unstable(middle).1;
        if (self.min..=self.max).contains(&median) {
            return None;
        }
        let as_read = median.as_ns() as f64;
        let read_in = |other: TimeUnit| as_read / unit.ns() as f64 * other.ns() as f64;
        let distance = |other: &TimeUnit| (read_in(*other) / self.typical).ln().abs();
        let nearest = UNITS
            .into_iter()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let likelier = nearest.filter(|likelier| *likelier != unit)?;
        let (read_s, likely_s) = (Rounded(as_read / 1e9), Rounded(read_in(likelier) / 1e9));
        let (what, unit, likelier) = (self.what, unit.name(), likelier.name());
        Some(format!(
            "the median {what} would be {read_s} s if times were in {unit}, the unit of this \
             format; {likelier} are more likely ({likely_s} s)"
        ))
    }
}

/// Units that are used by mistake, which excludes Windows ticks.
const UNITS: [TimeUnit; 4] = [
    TimeUnit::Seconds,
    TimeUnit::Milliseconds,
    TimeUnit::Microseconds,
    TimeUnit::Nanoseconds,
];

struct Rounded(f64);

impl std::fmt::Display for Rounded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 == 0.0 {
            f.write_str("0")
        } else if (1e-3..1e6).contains(&self.0) {
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

    fn warning(unit: TimeUnit, is_dated: bool, gaps_ns: i64, responses_ns: Option<i64>) -> String {
        let responses = responses_ns.into_iter().flat_map(gaps);
        unit_warning(unit, is_dated, gaps(gaps_ns), responses).unwrap_or_default()
    }

    #[test]
    fn the_likely_unit_is_named() {
        // 2.4 ms, written in ns and read as ms: 2.4e6 ms.
        let found = warning(TimeUnit::Milliseconds, false, 2_400_000 * 1_000_000, None);
        assert!(
            found.contains("would be 2.40e3 s") || found.contains("would be 2400 s"),
            "{found}"
        );
        assert!(
            found.contains("nanoseconds are more likely (0.00240 s)"),
            "{found}"
        );
        // 2 s, written in s and read as ns: 2 ns.
        let found = warning(TimeUnit::Nanoseconds, false, 2, None);
        assert!(found.contains("milliseconds are more likely"), "{found}");
        assert_eq!(warning(TimeUnit::Milliseconds, false, 2_400_000, None), "");
        // Plausible gaps, and responses of 80 ns.
        let found = warning(TimeUnit::Nanoseconds, false, 1_000_000, Some(80));
        assert!(found.contains("response"), "{found}");
    }

    /// Gaps of 2.4 ms are read as a thousand times less or more; a date or responses confirm the
    /// unit.
    #[test]
    fn a_factor_of_a_thousand_is_detected() {
        let unit = TimeUnit::Microseconds;
        for (ns, likelier) in [
            (2_400, "milliseconds are more likely (0.00240 s)"),
            (2_400_000_000, "nanoseconds are more likely (0.00240 s)"),
        ] {
            let found = warning(unit, false, ns, None);
            assert!(found.contains(likelier), "{found}");
            assert_eq!(warning(unit, true, ns, None), "");
            assert_eq!(warning(unit, false, ns, Some(10_000_000)), "");
        }
    }

    #[test]
    fn a_few_gaps_are_not_conclusive() {
        let few = gaps(1).take(MIN_COUNT - 1);
        let warning = unit_warning(TimeUnit::Nanoseconds, false, few, std::iter::empty());
        assert_eq!(warning, None);
    }

    /// Returns the note on a trace of `count` requests 100 ms apart, followed by the gaps `later`.
    fn jumps(count: usize, later: &[Span]) -> Option<String> {
        let mut gaps = Gaps::default();
        let typical = Span::from_ns(100_000_000);
        let steps = std::iter::repeat_n(&typical, count - 1).chain(later);
        let mut at = Instant::START + Span::from_ns(7);
        gaps.begin(at);
        for (line, gap) in (2..).zip(steps) {
            at += *gap;
            gaps.add(at, &Location::Line(line));
        }
        gaps.note()
    }

    #[test]
    fn gaps_of_a_year_or_of_a_thousand_lengths_are_reported() {
        let second = |count: i64| Span::from_ns(count * 1_000_000_000);
        let day = second(86_400);
        // A trace of a minute, and a gap 1,000 times as long.
        assert_eq!(jumps(601, &[second(59_999)]), None);
        let expected = "line 602: the time jumps by 60000 s after 60.0 s of the trace: a digit may \
                        be wrong";
        assert_eq!(jumps(601, &[second(60_000)]).as_deref(), Some(expected));
        assert_eq!(jumps(602, &[second(60_000)]), None);
        // A gap after less than a minute is normal.
        assert_eq!(jumps(600, &[day]), None);
        // A gap of a year is reported after a trace of any length.
        let long = vec![day; 300];
        let after = |gap: Span| jumps(1, &[&long[..], &[gap]].concat());
        assert_eq!(after(Span::from_ns(YEAR.as_ns() - 1)), None);
        assert!(after(YEAR).is_some_and(|note| note.starts_with("line 302: ")));
        let twice = jumps(1, &[YEAR, day, YEAR]).expect("a note");
        let end = " after 0 s of the trace (1 more): a digit may be wrong";
        assert!(twice.ends_with(end), "{twice}");
    }
}
