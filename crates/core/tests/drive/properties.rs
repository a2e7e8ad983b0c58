//! Properties of every drive and every stream of requests.

use std::sync::Arc;

use diskarm_core::device::{Breakdown, Completion, Device};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, ClosedLoop, Load};
use diskarm_core::geometry::Layout;
use diskarm_core::host::Host;
use diskarm_core::request::Request;
use diskarm_core::sched::{INFOS, PolicyConfig};
use diskarm_core::spec::Spec;
use diskarm_core::units::{Angle, Instant, Span};
use proptest::prelude::*;

use super::random::{Raw, cases, chancy_drive, fitted, requests};
use super::tiny::{CompletionLog, request};

fn new_drive(spec: &Spec) -> Drive {
    let layout = Arc::new(Layout::new(&spec.geometry).expect("a valid layout"));
    Drive::with_layout(spec, layout, Angle::from_fraction(1, 3))
}

/// Arrivals at absolute instants.
fn arrivals(raw: &[Raw], disk: u64) -> Vec<(Instant, Request)> {
    let mut now = Instant::START;
    let fitted = fitted(raw, disk).into_iter().enumerate();
    fitted
        .map(|(id, (pause, op, start, sectors))| {
            now += pause;
            (now, request(id as u64, op, start, sectors))
        })
        .collect()
}

/// Runs the drive event by event; requests that it refuses wait until it accepts.
fn by_events(spec: &Spec, asked: &[(Instant, Request)]) -> Vec<Completion> {
    let mut drive = new_drive(spec);
    let mut done = Vec::new();
    let mut now = Instant::START;
    for &(at, request) in asked {
        loop {
            let event = drive.next_event();
            if let Some(event) = event {
                assert!(event >= now, "{event:?} lies before {now:?}");
            }
            match event {
                Some(event) if event <= at.max(now) || !drive.has_room() => {
                    now = event;
                    done.extend(std::iter::from_fn(|| drive.advance(event)));
                }
                _ => break,
            }
        }
        now = now.max(at);
        assert_eq!(drive.submit(now, request), Ok(()));
    }
    while let Some(event) = drive.next_event() {
        assert!(event >= now, "{event:?} lies before {now:?}");
        now = event;
        done.extend(std::iter::from_fn(|| drive.advance(event)));
    }
    done
}

fn assert_valid(done: &[Completion], count: usize) {
    let mut ids: Vec<u64> = done.iter().map(|c| c.request.id).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..count as u64), "lost or doubled");
    for pair in done.windows(2) {
        assert!(pair[0].at <= pair[1].at, "{pair:#?}");
    }
    for c in done {
        assert_eq!(c.breakdown.total(), c.response(), "{c:#?}");
        let parts = c.breakdown.parts();
        for (name, part) in Breakdown::NAMES.into_iter().zip(parts) {
            // Only settle may be negative, if it is an effective value.
            assert!(name == "settle" || part >= Span::ZERO, "{c:#?}");
        }
    }
}

proptest! {
    #![proptest_config(cases(6000))]

    #[test]
    fn open_streams_complete_once_and_in_order(spec in chancy_drive(), raw in requests(30)) {
        let asked = arrivals(&raw, spec.geometry.sectors.0);
        let done = by_events(&spec, &asked);
        assert_valid(&done, asked.len());
        prop_assert_eq!(done, by_events(&spec, &asked));
    }

    #[test]
    fn small_steps_match_one_step(
        spec in chancy_drive(), raw in requests(12), seed in 1..u64::MAX,
    ) {
        let mut spec = spec;
        spec.queue.depth = 40;
        let asked = arrivals(&raw, spec.geometry.sectors.0);
        let expected = by_events(&spec, &asked);
        let mut drive = new_drive(&spec);
        let mut done = Vec::new();
        let mut state = seed;
        let mut now = Instant::START;
        for &(at, request) in &asked {
            // Some steps at any times between two arrivals; often none.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            for _ in 0..(state >> 33) % 4 {
                let step = now + Span::from_ns((at - now).as_ns() / 2);
                done.extend(std::iter::from_fn(|| drive.advance(step)));
                now = step;
            }
            prop_assert_eq!(drive.submit(at, request), Ok(()));
            now = at;
        }
        done.extend(std::iter::from_fn(|| drive.advance(now + Span::from_s(100.0))));
        prop_assert_eq!(done, expected);
    }

    #[test]
    fn closed_systems_complete_every_request(
        spec in chancy_drive(), raw in requests(40), clients in 1..9usize, think in 0..3_000_000i64,
        policy in 0..INFOS.len(),
    ) {
        let asked = fitted(&raw, spec.geometry.sectors.0);
        let stream = asked.iter().enumerate()
            .map(|(id, &(_, op, start, n))| request(id as u64, op, start, n));
        let mut load = ClosedLoop::new(stream, clients, Span::from_ns(think));
        let choice: PolicyConfig = INFOS[policy].name.parse().expect("a policy");
        let drive = new_drive(&spec);
        let policy = choice.policy(&drive);
        let mut host = Host::new(drive, policy);
        let mut seen = CompletionLog::default();
        engine::run(&mut host, &mut load, &mut seen).unwrap();
        prop_assert_eq!(load.next_arrival(), None);
        assert_valid(&seen.0, asked.len());
    }
}
