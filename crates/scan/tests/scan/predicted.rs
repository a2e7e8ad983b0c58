//! The predicted and the actual ends of commands.

use std::sync::{Arc, Mutex};

use diskarm_core::device::Completion;
use diskarm_core::spec::Spec;
use diskarm_core::units::{Angle, Instant, Lbn, Span};
use diskarm_core::wrap::{AffectedOps, BadBlocks, FaultPlan, Faults, Outage};
use diskarm_scan::{BackgroundSettings, ExternalScheduler, Model, OnPrediction, Prediction};

use crate::bench::{
    CLOSED, atlas, empty_gathered, new, policy, scan, serve, small, with_two_commands,
    without_write_cache,
};

/// Returns a function that records predictions, and the recorded predictions.
pub fn record_predictions() -> (OnPrediction, Arc<Mutex<Vec<Prediction>>>) {
    let all = Arc::new(Mutex::new(Vec::new()));
    let recorder = Arc::clone(&all);
    let call = move |predicted: &Prediction| {
        recorder
            .lock()
            .expect("no thread panicked")
            .push(*predicted)
    };
    (OnPrediction::new(call), all)
}

fn foreground_predictions(predictions: &[Prediction]) -> Vec<Prediction> {
    let foreground = predictions.iter().filter(|one| one.is_foreground);
    foreground.copied().collect()
}

/// Returns true if a command served a request, possibly with blocks read in front of it.
fn serves(one: &Prediction, done: &Completion) -> bool {
    let (command, request) = (one.command, done.request);
    (one.ended, command.op, command.end()) == (done.at, request.op, request.end())
        && command.start <= request.start
}

/// If the model is exact, each command is reported once and ends as predicted.
#[test]
fn commands_of_an_exact_model_end_as_predicted() {
    let atlas = without_write_cache(atlas());
    for (spec, depth) in [(atlas.clone(), 1), (with_two_commands(atlas), 2)] {
        let model = Model::with_origin(&spec, Angle::ZERO).expect("valid layout");
        let gathered = empty_gathered(spec.geometry.sectors);
        let settings = BackgroundSettings {
            conservatism: Span::ZERO,
            ..BackgroundSettings::default()
        };
        let (on_prediction, predictions) = record_predictions();
        let external = ExternalScheduler::new(new(&spec), model, &policy("sptf-sw(n=40%)"), depth);
        let external = external.with_background(scan(&spec, settings, &gathered));
        let mut external = external.on_prediction(on_prediction);
        let served = serve(&mut external, CLOSED, 1, 2_000, None);
        let predictions = predictions.lock().expect("no thread panicked").clone();
        let foreground = foreground_predictions(&predictions);
        assert_eq!(foreground.len(), served.len());
        let mut pairs = foreground.iter().zip(&served);
        assert!(pairs.all(|(one, done)| serves(one, done)));
        let reads = external
            .background()
            .expect("has a background")
            .stats()
            .reads;
        let scanned = (predictions.len() - foreground.len()) as u64;
        // Commands inside the drive at the end of the run have not ended.
        assert!(scanned > 100 && (scanned..=scanned + 3).contains(&reads));
        for one in &predictions {
            let error = one.error().expect("has a prediction");
            assert!(one.is_confident && error.max(-error) < Span::from_us(1.0));
            assert!(one.sent < one.ended, "{one:?}");
        }
        let seen = external.observations();
        assert_eq!(seen.predicted, predictions.len() as u64);
    }
}

/// At first the angle of the platter is unknown, and later commands fail: neither count as
/// predicted.
#[test]
fn unreliable_predictions_are_marked() {
    let spec: Spec = with_two_commands(small());
    let revolution = Span::from_ns(spec.mechanics.period_ns as i64);
    let plan = FaultPlan {
        medium_errors: vec![BadBlocks {
            first: Lbn(1_000),
            end: Lbn(1_200),
            affected: AffectedOps::Reads,
            retries: 3,
        }],
        outages: vec![Outage {
            from: Instant::from_ns(400_000_000),
            until: Instant::from_ns(900_000_000),
        }],
        ..FaultPlan::default()
    };
    let workload = "closed(clients=4, think=40ms) uniform size=1KiB reads=70%";
    for depth in [1, 2] {
        let model = Model::new(&spec).expect("valid layout");
        let gathered = empty_gathered(spec.geometry.sectors);
        let (on_prediction, predictions) = record_predictions();
        let faulty = Faults::new(new(&spec), &plan, revolution);
        let external = ExternalScheduler::new(faulty, model, &policy("sptf"), depth);
        let external =
            external.with_background(scan(&spec, BackgroundSettings::default(), &gathered));
        let mut external = external.on_prediction(on_prediction);
        let served = serve(&mut external, workload, 1, 3_000, Some(&gathered));
        let predictions = predictions.lock().expect("no thread panicked").clone();
        let foreground = foreground_predictions(&predictions);
        for done in &served {
            let is_match = |one: &&Prediction| serves(one, done);
            assert_eq!(foreground.iter().filter(is_match).count(), 1, "{done:?}");
        }
        let seen = external.observations();
        let confident = predictions.iter().filter(|one| one.is_confident);
        let errors: Vec<Span> = confident
            .clone()
            .map(|one| one.error().expect("has a prediction"))
            .collect();
        assert_eq!(errors.len() as u64, seen.predicted);
        let is_right = |error: &&Span| error.as_ns().abs() <= 50_000;
        assert_eq!(errors.iter().filter(is_right).count() as u64, seen.right);
        assert_eq!(
            confident.filter(|one| one.is_right()).count() as u64,
            seen.right
        );
        let others = predictions.len() as u64 - seen.predicted;
        assert!(seen.surprises.failures > 10, "{seen:?}");
        // The first command is not predicted, either.
        assert!(others > seen.surprises.failures, "{others} {seen:?}");
    }
}
