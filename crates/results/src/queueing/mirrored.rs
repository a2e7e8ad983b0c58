//! Two disks with the same data.

use diskarm_queueing::mirrored::{READ, WRITE, largest_rate, read_wait, write_wait};
use diskarm_queueing::pivot::{Divided, Reads};
use diskarm_queueing::{Moments, e2m1, mg1, mmc};
use diskarm_simulate::Error;

use super::comparison::{Rate, Theory, response_of_all};
use super::simulation::Bench;
use super::{Group, Value};

/// The clients that keep a pair busy at all times, or nearly: of this many requests some are
/// waiting for either disk.
const CLIENTS: usize = 128;

/// The values of two drives of one model, with the same data.
pub fn groups(theory: &Theory, bench: &Bench<'_>, rates: &[Rate]) -> Result<[Group; 3], Error> {
    Ok([
        positioning(theory, bench)?,
        reads(theory, bench, rates)?,
        by_address(bench, rates)?,
    ])
}

fn positioning(theory: &Theory, bench: &Bench<'_>) -> Result<Group, Error> {
    let stroke = f64::from(theory.distances.cylinders());
    let turn = theory.revolution_ms;
    let [read, write] = [0, 1].map(|op: usize| theory.each[op].total.first);
    let rate = largest_rate(1.0 - theory.read_share, read, write);
    let ratio = rate / mg1::largest_rate(&theory.any.total);
    let value = |name, label, theory| Value::new(name, label, theory);
    let writes = bench.pair("routing=cyclic", 0.0)?.closed("fcfs", 1)?;
    let busy = bench.pair("queue=shared", theory.read_share)?;
    let busy = busy.closed("fcfs", CLIENTS)?;
    let last_wait = writes.mean(|run| {
        let breakdown = run.report.all().mean_breakdown()?;
        Some(breakdown.rotation.as_ms())
    });
    let label = "seek of the nearer arm, cylinders";
    let near = value("read_distance_cylinders", label, READ * stroke);
    let label = "seek of the farther arm, cylinders";
    let far = value("write_distance_cylinders", label, WRITE * stroke);
    let label = "wait for the first of two copies, ms";
    let first = value("read_rotation_ms", label, read_wait(2) * turn);
    let label = "wait for the last of two copies, ms";
    let last = value("write_rotation_ms", label, write_wait(2) * turn);
    let largest = value(
        "largest_rate_per_s",
        "largest rate, requests/s",
        1_000.0 * rate,
    );
    let largest = largest.beside(busy.mean(|run| run.report.throughput_per_s()));
    let ratio = value("largest_rate_ratio", "the same / that of one disk", ratio);
    Ok(Group {
        name: "mirrored",
        heading: "Two disks with the same data: each read from one, each write to both".to_owned(),
        values: vec![
            near.approximate(),
            far.approximate(),
            first.approximate(),
            last.beside(last_wait),
            largest,
            ratio,
        ],
    })
}

fn reads(theory: &Theory, bench: &Bench<'_>, rates: &[Rate]) -> Result<Group, Error> {
    let service = &theory.each[0].total;
    let exponential = Moments::exponential(service.first);
    let mut values = Vec::new();
    for rate in rates {
        let (each, both) = (rate.per_ms(), 2.0 * rate.per_s());
        let found = |parameters| {
            let pair = bench.pair(parameters, 1.0)?;
            Ok::<_, Error>(pair.open("fcfs", rate.halved())?.steady(response_of_all))
        };
        let label = |way| format!("{both:.1}/s, {way}");
        let value = |name, way, theory| Value::new(name, label(way), theory).at(both);
        let mean = |service| mg1::response(each, service).map(|response| response.mean);
        let random = found("routing=uniform")?;
        let way = "a disk at random (M/G/1)";
        values.push(value("random_response_ms", way, mean(service)).beside(random));
        let way = "the same (M/M/1)";
        let simple = value("random_exponential_response_ms", way, mean(&exponential));
        let cyclic = e2m1::response(each, service.first);
        let cyclic = value("cyclic_response_ms", "disks in turn (E2/M/1)", cyclic);
        let shared = mmc::response(2, 2.0 * each, service.first);
        let shared = value("shared_response_ms", "one queue (M/M/2)", shared);
        values.extend([
            simple.beside(random).approximate(),
            cyclic.beside(found("routing=cyclic")?).approximate(),
            shared.beside(found("queue=shared")?).approximate(),
        ]);
    }
    Ok(Group {
        name: "mirrored-reads",
        heading: "Two disks, reads alone, twice the rates, in order of arrival: mean response, ms"
            .to_owned(),
        values,
    })
}

/// Reads that go to either disk by their address.
fn by_address(bench: &Bench<'_>, rates: &[Rate]) -> Result<Group, Error> {
    let reads = Reads {
        spec: &bench.system.drive.spec,
        mechanism: &bench.system.drive.mechanism,
        sectors: bench.sectors(),
    };
    let percent = |divided: &Divided| 100.0 * divided.share;
    let simulated = |divided: &Divided, rate: &Rate| {
        let routing = format!("routing=affinity(pivot={}%)", percent(divided));
        let pair = bench.pair(&routing, 1.0)?;
        Ok::<_, Error>(pair.open("fcfs", rate.halved())?.steady(response_of_all))
    };
    let equal = reads.equal_utilisations();
    let label = "pivot of equal utilisations, % of blocks";
    let pivot = equal.as_ref().map(percent);
    let mut values = vec![Value::new("equal_utilisations_pivot_percent", label, pivot)];
    for rate in rates {
        let both = 2.0 * rate.per_s();
        let min = reads.least_response(2.0 * rate.per_ms());
        let label = |what| format!("{both:.1}/s, {what}");
        let value = |name, what, theory| Value::new(name, label(what), theory).at(both);
        let response = |found: Option<&Divided>| found?.response(2.0 * rate.per_ms());
        let with_equal = value(
            "equal_utilisations_response_ms",
            "response if equally busy, ms",
            response(equal.as_ref()),
        );
        let pivot = value(
            "least_response_pivot_percent",
            "pivot of least response, %",
            min.as_ref().map(percent),
        );
        let with_least = value(
            "least_response_ms",
            "least response, ms",
            response(min.as_ref()),
        );
        let beside = |value: Value, found: Option<&Divided>| match found {
            Some(found) => Ok::<_, Error>(value.beside(simulated(found, rate)?)),
            None => Ok(value),
        };
        values.push(beside(with_equal, equal.as_ref())?);
        values.push(pivot);
        values.push(beside(with_least, min.as_ref())?);
    }
    Ok(Group {
        name: "mirrored-by-address",
        heading: "Two disks, reads alone, twice the rates, one part each (affinity): M/G/1"
            .to_owned(),
        values,
    })
}
