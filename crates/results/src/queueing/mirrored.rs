//! Two disks with the same data, by theory alone.

use diskarm_queueing::mirrored::{READ, WRITE, largest_rate, read_wait, write_wait};
use diskarm_queueing::{Moments, e2m1, mg1, mmc};

use super::comparison::{Rate, Theory};
use super::{Group, Value};

/// The values of two drives of one model, with the same data.
pub fn groups(theory: &Theory, rates: &[Rate]) -> [Group; 2] {
    [positioning(theory), responses(theory, rates)]
}

fn positioning(theory: &Theory) -> Group {
    let stroke = f64::from(theory.distances.cylinders());
    let turn = theory.revolution_ms;
    let [read, write] = [0, 1].map(|op: usize| theory.each[op].total.first);
    let rate = largest_rate(1.0 - theory.read_share, read, write);
    let ratio = rate / mg1::largest_rate(&theory.any.total);
    let rate = rate * 1_000.0;
    let values = [
        (
            "read_distance_cylinders",
            "seek of the nearer arm, cylinders",
            READ * stroke,
        ),
        (
            "write_distance_cylinders",
            "seek of the farther arm, cylinders",
            WRITE * stroke,
        ),
        (
            "read_rotation_ms",
            "wait for the first of two copies, ms",
            read_wait(2) * turn,
        ),
        (
            "write_rotation_ms",
            "wait for the last of two copies, ms",
            write_wait(2) * turn,
        ),
        ("largest_rate_per_s", "largest rate, requests/s", rate),
        ("largest_rate_ratio", "the same / that of one disk", ratio),
    ];
    let value = |(name, label, theory)| Value::new(name, label, theory).approximate();
    Group {
        name: "mirrored",
        heading: "Two disks with the same data: each read from one, each write to both".to_owned(),
        values: values.map(value).into(),
    }
}

fn responses(theory: &Theory, rates: &[Rate]) -> Group {
    let service = theory.each[0].total.first;
    let exponential = Moments::exponential(service);
    let values = rates.iter().flat_map(|rate| {
        let (each, both) = (rate.per_ms(), 2.0 * rate.per_s());
        let random = mg1::response(each, &exponential).map(|response| response.mean);
        let cyclic = e2m1::response(each, service);
        let shared = mmc::response(2, 2.0 * each, service);
        let values = [
            ("random_response_ms", "a disk at random (M/M/1)", random),
            ("cyclic_response_ms", "disks in turn (E2/M/1)", cyclic),
            ("shared_response_ms", "one queue (M/M/2)", shared),
        ];
        values.map(|(name, way, response)| {
            let value = Value::new(name, format!("{both:.1}/s, {way}"), response);
            value.approximate().at(both)
        })
    });
    Group {
        name: "mirrored-reads",
        heading: "The same, reads alone: response if services were exponential, ms".to_owned(),
        values: values.collect(),
    }
}
