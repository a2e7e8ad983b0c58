//! Any bytes are commands of four initiators to a unit, which answers each once.

#![no_main]

use std::sync::LazyLock;

use diskarm_core::spec::{self, Spec};
use diskarm_core::units::{Angle, Instant, Span};
use diskarm_emulate::{Attribute, Single, Status, Task, Unit};
use diskarm_wire::Sense;
use libfuzzer_sys::fuzz_target;

static DRIVE: LazyLock<Spec> = LazyLock::new(|| {
    let entry = diskarm_drives::find("hp-c2247").expect("a drive of the catalogue");
    spec::parse(entry.text, entry.name).expect("a valid drive")
});

/// The next `count` bytes, or what is left of them.
fn take<'a>(data: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, rest) = data.split_at(count.min(data.len()));
    *data = rest;
    taken
}

fuzz_target!(|data: &[u8]| {
    let single = Single::new(&DRIVE, Angle::ZERO, 0).expect("a valid layout");
    let mut unit = Unit::new(single);
    let (mut rest, mut now, mut sent, mut ended) = (data, Instant::START, 0, 0);
    let check = |unit: &mut Unit<Single>, now: Instant| {
        let mut ended = 0;
        while let Some(response) = unit.advance(now) {
            ended += 1;
            let refused = response.status == Status::CheckCondition;
            assert_eq!(refused, !response.sense.is_empty());
            assert!(!refused || Sense::parse(&response.sense).is_ok());
        }
        ended
    };
    // Initiator and attributes, the lengths of the command block and of the data, then these.
    while let [who, block, length, ..] = *rest {
        rest = &rest[3..];
        let command = take(&mut rest, usize::from(block % 17));
        let data_out = take(&mut rest, length.into());
        let task = Task {
            id: sent,
            initiator: u64::from(who & 3),
            attribute: match who >> 2 & 3 {
                0 | 1 => Attribute::Simple,
                2 => Attribute::Ordered,
                _ => Attribute::HeadOfQueue,
            },
            command,
            data_out,
        };
        unit.submit(now, task);
        sent += 1;
        now += Span::from_us(f64::from(who >> 4) * 500.0);
        ended += check(&mut unit, now);
    }
    while let Some(next) = unit.next_event() {
        now = now.max(next);
        ended += check(&mut unit, now);
    }
    assert_eq!(ended, sent);
});
