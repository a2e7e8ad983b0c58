//! Predictors of random drives, given responses that no such drive would produce.

use std::sync::Arc;

use diskarm_core::geometry::Layout;
use diskarm_core::predict::{Continuity, Predictor};
use diskarm_core::units::{Instant, Span};
use proptest::collection::vec;
use proptest::prelude::*;

use super::random::{cases, drive, fitted, requests};
use super::tiny::request;

/// Longer than any random drive can take over 30 sectors: a seek and a revolution of at most 20 ms
/// for each of them, and another hundred for buffer and bus.
const LONGEST_MS: f64 = 30.0 * 20.0 + 100.0;

const MAX_REQUESTS: usize = 40;

/// From a twentieth of a millisecond to 60, evenly over the octaves.
fn response() -> impl Strategy<Value = Span> {
    (0.0..1.0f64).prop_map(|share| Span::from_ms(0.05 * 1200f64.powf(share)))
}

proptest! {
    #![proptest_config(cases(6000))]

    #[test]
    fn arbitrary_responses_leave_predictions_valid(
        spec in drive(), raw in requests(MAX_REQUESTS),
        responses in vec(response(), MAX_REQUESTS), unbroken in any::<bool>(),
    ) {
        let continuity = if unbroken { Continuity::Unbroken } else { Continuity::Unknown };
        let layout = Arc::new(Layout::new(&spec.geometry).expect("a valid layout"));
        let asked = fitted(&raw, spec.geometry.sectors.0);
        let mut predictor = Predictor::new(&spec, layout, continuity);
        // A lateness of up to half a revolution must not reach back to before the start.
        let mut now = Instant::from_ns(1_000_000_000);
        for (id, ((pause, op, start, sectors), response)) in
            asked.into_iter().zip(responses).enumerate()
        {
            now += pause;
            let request = request(id as u64, op, start, sectors);
            let predicted = predictor.predict(now, request);
            prop_assert_eq!(predicted.request, request);
            prop_assert_eq!(predicted.arrived, now);
            prop_assert_eq!(predicted.breakdown.total(), predicted.response());
            prop_assert!(predicted.at >= now, "{:#?}", predicted);
            // All earlier requests may have been absorbed in no time and still be waiting for the
            // media.
            let longest = Span::from_ms(LONGEST_MS * (id + 1) as f64);
            prop_assert!(predicted.response() < longest, "{:#?}", predicted);
            let end = now + response;
            let observed = predictor.observe(end);
            prop_assert_eq!(observed.predicted, predicted);
            prop_assert_eq!(observed.error, end.after(predicted.at));
            let clock = predictor.clock();
            prop_assert!(clock.period_ns().is_finite() && clock.period_ns() > 0.0);
            now = end;
        }
    }
}
