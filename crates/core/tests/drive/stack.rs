//! Policies in front of devices whose types are known only at run time.

use diskarm_core::device::{Completion, Device};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, OpenLoop};
use diskarm_core::host::Host;
use diskarm_core::sched::{Knowledge, PolicyConfig};
use diskarm_core::spec::{Queue, Spec};
use diskarm_core::stack::{BoxedDevice, InsufficientKnowledge, policy};
use diskarm_core::units::{Angle, Instant, Span};
use proptest::prelude::*;

use super::random::{Raw, cases, drive, fitted, requests};
use super::ties::policies;
use super::tiny::{CompletionLog, request, tiny};

fn one_at_a_time(spec: &Spec) -> Drive {
    let spec = Spec {
        queue: Queue {
            depth: 1,
            ..spec.queue.clone()
        },
        ..spec.clone()
    };
    Drive::new(&spec, Angle::from_fraction(2, 7)).expect("a valid layout")
}

fn queue(
    device: BoxedDevice,
    config: &PolicyConfig,
) -> Result<Host<BoxedDevice>, InsufficientKnowledge> {
    let policy = policy(config, &device)?;
    Ok(Host::new(device, policy))
}

fn serve_all(device: &mut impl Device, raw: &[Raw]) -> Vec<Completion> {
    let mut now = Instant::START;
    let mut arrivals = Vec::new();
    for (pause, op, start, n) in fitted(raw, device.capacity().0) {
        now += Span::from_ns(pause.as_ns() / 16);
        arrivals.push((now, request(arrivals.len() as u64, op, start, n)));
    }
    let mut seen = CompletionLog::default();
    engine::run(device, &mut OpenLoop::new(arrivals.into_iter()), &mut seen)
        .expect("valid requests");
    seen.0
}

fn config(policy: &str) -> PolicyConfig {
    policy.parse().unwrap_or_else(|error| panic!("{error}"))
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn boxed_drives_behave_as_plain_ones(
        spec in drive(), raw in requests(12), which in 0..policies().len(),
    ) {
        let config = config(&policies()[which]);
        let plain = one_at_a_time(&spec);
        let policy = config.policy(&plain);
        let plain = serve_all(&mut Host::new(plain, policy), &raw);
        let boxed = BoxedDevice::new(one_at_a_time(&spec)).wrap(|inner| inner);
        let mut boxed = queue(boxed, &config).expect("drives know positions");
        prop_assert_eq!(&plain, &serve_all(&mut boxed, &raw), "{}", &config);

        match queue(BoxedDevice::opaque(one_at_a_time(&spec)), &config) {
            Ok(mut opaque) => prop_assert_eq!(plain, serve_all(&mut opaque, &raw), "{}", config),
            Err(refused) => prop_assert!(refused.needs > Knowledge::Blocks),
        }
    }
}

#[test]
fn a_policy_that_needs_more_than_the_device_knows_is_refused() {
    let refused = |policy: &str| {
        let opaque = BoxedDevice::opaque(one_at_a_time(&tiny("")));
        queue(opaque, &config(policy))
            .err()
            .map(|refused| refused.to_string())
    };
    for (policy, needs) in [
        ("sptf", "positioning times"),
        (
            "satf-la",
            "positioning times and the contents of the buffer",
        ),
        (
            "limited(policy=aspctf)",
            "positioning times and the contents of the buffer",
        ),
        ("look(by=map)", "the cylinders of blocks"),
        ("limited(policy=clook(by=map))", "the cylinders of blocks"),
    ] {
        assert_eq!(
            refused(policy),
            Some(format!("policy {policy} needs {needs}"))
        );
    }
    for policy in [
        "fcfs",
        "look",
        "clook(by=8)",
        "limited(policy=sstf)",
        "mq-deadline",
    ] {
        assert_eq!(refused(policy), None);
    }
}
