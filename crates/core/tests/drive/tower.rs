//! Policies in front of devices whose types are known only when the program runs.

use diskarm_core::device::{Completion, Device, Refused};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, Open};
use diskarm_core::host::Host;
use diskarm_core::request::Request;
use diskarm_core::sched::{Knowledge, PolicyConfig};
use diskarm_core::spec::{Queue, Spec};
use diskarm_core::tower::{BoxedDevice, Positions, Tier, queue};
use diskarm_core::units::{Angle, Bytes, Instant, SectorCount, Span};
use proptest::prelude::*;

use super::random::{Raw, cases, drive, fitted, requests};
use super::ties::policies;
use super::tiny::{Seen, request, tiny};

/// A drive that keeps its positions to itself.
struct Opaque(Drive);

impl Device for Opaque {
    fn capacity(&self) -> SectorCount {
        self.0.capacity()
    }

    fn sector_size(&self) -> Bytes {
        self.0.sector_size()
    }

    fn has_room(&self) -> bool {
        self.0.has_room()
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
        self.0.submit(now, request)
    }

    fn next_event(&self) -> Option<Instant> {
        self.0.next_event()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        self.0.advance(now)
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        self.0.abort(now, id)
    }
}

impl Tier for Opaque {
    fn positions(&self) -> Option<&dyn Positions> {
        None
    }
}

fn one_at_a_time(spec: &Spec) -> Drive {
    let spec = Spec {
        queue: Queue {
            depth: 1,
            ..spec.queue.clone()
        },
        ..spec.clone()
    };
    Drive::new(&spec, Angle::of(2, 7)).expect("a sound layout")
}

fn served(device: &mut impl Device, raw: &[Raw]) -> Vec<Completion> {
    let mut now = Instant::START;
    let mut arrivals = Vec::new();
    for (pause, op, start, n) in fitted(raw, device.capacity().0) {
        now += Span::from_ns(pause.as_ns() / 16);
        arrivals.push((now, request(arrivals.len() as u64, op, start, n)));
    }
    let mut seen = Seen::default();
    engine::run(device, &mut Open::new(arrivals.into_iter()), &mut seen).expect("valid requests");
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
        let plain = served(&mut Host::new(plain, policy), &raw);
        let boxed = BoxedDevice::new(BoxedDevice::new(one_at_a_time(&spec)));
        let mut boxed = queue(boxed, &config).expect("drives know positions");
        prop_assert_eq!(&plain, &served(&mut boxed, &raw), "{}", &config);

        match queue(BoxedDevice::new(Opaque(one_at_a_time(&spec))), &config) {
            Ok(mut opaque) => prop_assert_eq!(plain, served(&mut opaque, &raw), "{}", config),
            Err(refused) => prop_assert!(refused.needs > Knowledge::Blocks),
        }
    }
}

#[test]
fn a_policy_that_needs_more_than_the_device_knows_is_refused() {
    let refused = |policy: &str| {
        let opaque = BoxedDevice::new(Opaque(one_at_a_time(&tiny(""))));
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

#[test]
fn a_queue_behind_a_queue_hides_positions() {
    let drive = BoxedDevice::new(one_at_a_time(&tiny("")));
    assert_eq!(drive.knowledge(), Knowledge::TimesAndBuffer);
    let host = queue(drive, &config("sptf")).expect("drives know positions");
    assert_eq!(BoxedDevice::new(host).knowledge(), Knowledge::Blocks);
}
