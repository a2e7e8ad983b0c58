//! Any text is a quantity within its range or none; printed quantities read back.

#![no_main]

use diskarm_core::text::quantity;
use diskarm_core::units::{Bytes, Span};
use diskarm_simulate::measured::RowRange;
use diskarm_trace::adapt::{Factor, parse_instant};
use libfuzzer_sys::fuzz_target;

const HOUR_NS: i64 = 3_600_000_000_000;

fuzz_target!(|text: &str| {
    if let Some(span) = quantity::span(text) {
        assert!((-HOUR_NS..=HOUR_NS).contains(&span.as_ns()));
        let printed = format!("{} ns", span.as_ns());
        assert_eq!(quantity::span(&printed), Some(span));
    }
    if let Some(interval) = quantity::interval(text) {
        assert!((1..=HOUR_NS).contains(&interval.as_ns()));
        assert!(interval > Span::ZERO);
    }
    if let Some(sectors) = quantity::sectors(text, Bytes(512)) {
        let printed = format!("{} sectors", sectors.0);
        assert_eq!(quantity::sectors(&printed, Bytes(512)), Some(sectors));
    }
    if let Some(cylinders) = quantity::cylinders(text) {
        assert_eq!(
            quantity::cylinders(&format!("{cylinders} cylinders")),
            Some(cylinders)
        );
    }
    // Large numbers are infinite here; the readers check ranges.
    let numbers = [
        quantity::period_ns(text),
        quantity::per_s(text),
        quantity::fraction(text),
        quantity::rate_ms(text, "ms/cylinder"),
    ];
    let is_nan = |number: f64| number.is_nan();
    assert!(!numbers.into_iter().flatten().any(is_nan), "{numbers:?}");
    if let Some(instant) = parse_instant(text) {
        assert_eq!(
            parse_instant(&format!("{}ns", instant.as_ns())),
            Some(instant)
        );
    }
    if let Some(factor) = Factor::parse(text) {
        assert_eq!(Factor::parse(&factor.to_string()), Some(factor));
    }
    match RowRange::parse(text) {
        Ok(rows) => assert_eq!(RowRange::parse(&rows.to_string()), Ok(rows)),
        Err(expected) => assert_eq!(expected.lines().count(), 1),
    }
});
