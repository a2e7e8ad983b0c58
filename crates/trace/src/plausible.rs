//! Checks whether a trace's times can be in the unit of its format.
//!
//! Wrong units differ by factors of a thousand. Gaps of minutes or nanoseconds between requests, or
//! a response faster than any device's, show that a trace was written in another unit. A wrong
//! digit shows as a jump of the time.

use diskarm_core::units::{Instant, Span};

use crate::record::Location;
use crate::time::TimeUnit;

/// The median gap between requests to a busy disk. The range is narrow enough that a unit wrong by
/// a thousand falls outside: from the 15 us of an array under TPC-C to a disk that is nearly idle.
const GAPS: Band = Band {
    what: "gap between requests",
    min: Span::from_ns(5_000),
    max: Span::from_ns(500_000_000),
    usual: 1e6,
};

/// Like [`GAPS`], but for units with other evidence: from a device that serves a million requests
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

/// A gap is doubtful if it is this many times as long as the trace up to it...
const TIMES: i64 = 1_000;

/// ...and the trace up to it is at least this long: machines idle, also after a burst of requests.
const MIN_LENGTH: Span = Span::from_ns(60_000_000_000);

/// No shorter gap is doubtful.
const MIN_GAP: Span = Span::from_ns(TIMES * MIN_LENGTH.as_ns());

/// A gap of a year is doubtful anyway.
const YEAR: Span = Span::from_ns(365 * 86_400_000_000_000);

/// Detects jumps of the time in a trace.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    first: Instant,
    latest: Instant,
    jump: Option<Jump>,
    /// The number of jumps.
    count: u64,
}

#[derive(Debug)]
struct Jump {
    /// The record after it.
    location: Location,
    gap: Span,
    /// The length of the trace up to it.
    length: Span,
}

impl Gaps {
    /// The first arrival of a trace.
    pub(crate) fn begin(&mut self, first: Instant) {
        (self.first, self.latest) = (first, first);
    }

    /// The next arrival, in order, of the record at `location`.
    #[inline]
    pub(crate) fn see(&mut self, arrival: Instant, location: &Location) {
        let gap = arrival - self.latest;
        if gap >= MIN_GAP {
            self.check_jump(gap, *location);
        }
        self.latest = arrival;
    }

    #[cold]
    fn check_jump(&mut self, gap: Span, location: Location) {
        let length = self.latest - self.first;
        let is_out_of_scale = length >= MIN_LENGTH && gap.as_ns() / TIMES >= length.as_ns();
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
        let place = match jump.location {
            Location::Line(line) => format!("line {line}"),
            other => other.to_string(),
        };
        Some(format!(
            "{place}: the time jumps by {} s after {} s of the trace{more}: a digit may be wrong",
            Short(jump.gap.as_s()),
            Short(jump.length.as_s()),
        ))
    }
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

struct Short(f64);

impl std::fmt::Display for Short {
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

    /// The note on a trace of `count` requests 100 ms apart and others `gaps` later, each from the
    /// one before.
    fn jumps(count: usize, later: &[Span]) -> Option<String> {
        let mut gaps = Gaps::default();
        let usual = Span::from_ns(100_000_000);
        let steps = std::iter::repeat_n(&usual, count - 1).chain(later);
        let mut at = Instant::START + Span::from_ns(7);
        gaps.begin(at);
        for (line, gap) in (2..).zip(steps) {
            at += *gap;
            gaps.see(at, &Location::Line(line));
        }
        gaps.note()
    }

    #[test]
    fn a_jump_of_a_year_or_of_a_thousand_lengths_is_doubtful() {
        let second = |count: i64| Span::from_ns(count * 1_000_000_000);
        let day = second(86_400);
        // A minute, then 1,000 times that.
        assert_eq!(jumps(601, &[second(59_999)]), None);
        assert_eq!(
            jumps(601, &[second(60_000)]).as_deref(),
            Some(
                "line 602: the time jumps by 60000 s after 60.0 s of the trace: a digit may be \
                 wrong"
            )
        );
        assert_eq!(jumps(602, &[second(60_000)]), None);
        // After less than a minute, machines idle.
        assert_eq!(jumps(600, &[day]), None);
        // Years, after any length.
        let long = vec![day; 300];
        let after = |gap: Span| jumps(1, &[&long[..], &[gap]].concat());
        assert_eq!(after(Span::from_ns(YEAR.as_ns() - 1)), None);
        assert!(after(YEAR).is_some_and(|note| note.starts_with("line 302: ")));
        let twice = jumps(1, &[YEAR, day, YEAR]).expect("a note");
        assert!(
            twice.ends_with(" after 0 s of the trace (1 more): a digit may be wrong"),
            "{twice}"
        );
    }
}
