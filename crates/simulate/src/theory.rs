//! Queueing theory of a drive compared with simulation.
//!
//! [`compare`] evaluates the formulas of `diskarm-queueing` and simulates the drive that they
//! describe, without the features that they ignore
//! ([`mechanism_alone`](diskarm_queueing::service::mechanism_alone)).

mod simulation;

pub use simulation::{Comparison, Group, LOADS, Parameters, RUNS, Value};

use std::sync::atomic::{AtomicU64, Ordering};

use diskarm_core::device::Breakdown;
use diskarm_core::report::RequestTotals;
use diskarm_core::request::Op;
use diskarm_core::units::Span;
use diskarm_queueing::mirrored::{
    READ_DISTANCE, Reads, SplitReads, WRITE_DISTANCE, read_wait, saturation_rate, write_wait,
};
use diskarm_queueing::queues::{self, Class};
use diskarm_queueing::{Distances, Moments, Service};

use crate::{Error, Model, Run};
use simulation::{Runs, SimulatedMean, Simulator};

struct Theory {
    distances: Distances,
    /// The service times of reads and of writes.
    by_op: [Service; 2],
    all: Service,
    read_share: f64,
    revolution_ms: f64,
}

/// The rate of a Poisson process of arrivals.
#[derive(Clone, Copy)]
struct Rate {
    pause: Span,
}

impl Rate {
    pub fn per_ms(self) -> f64 {
        1.0 / self.pause.as_ms()
    }

    pub fn per_s(self) -> f64 {
        1_000.0 * self.per_ms()
    }

    /// Returns the mean pause for twice this rate.
    pub fn halved(self) -> Span {
        Span::from_ms(self.pause.as_ms() / 2.0)
    }
}

/// Compares theory and simulation of the drive `model`. Calls `on_each` with the number of finished
/// simulations, on any thread. Fails if no request of this size fits on the drive.
pub fn compare(
    model: &Model,
    parameters: &Parameters,
    on_each: &(dyn Fn(u64) + Sync),
) -> Result<Comparison, Error> {
    let done = AtomicU64::new(0);
    let one_more = || on_each(1 + done.fetch_add(1, Ordering::Relaxed));
    let simulator = &Simulator::new(model, parameters, &one_more);
    let theory = &Theory::new(&simulator.system.drive, parameters)?;
    let largest = queues::saturation_rate(&theory.all.total);
    let default = LOADS.map(|load| Span::from_ms(1.0 / (load * largest)));
    let pauses = match &parameters.pauses[..] {
        [] => &default,
        given => given,
    };
    let rates: Vec<Rate> = pauses.iter().map(|&pause| Rate { pause }).collect();
    let alone = simulator.closed("fcfs", 1)?;
    let mut groups = vec![
        distances(theory, &alone),
        service(theory, &alone, &simulator.system.drive),
        in_order(theory, simulator, &rates)?,
    ];
    if (0.0..1.0).contains(&parameters.read_share) && parameters.read_share > 0.0 {
        groups.push(reads_first(theory, simulator, &rates)?);
    }
    groups.push(shortest_access(theory, simulator, &rates)?);
    // These values are for two drives of one model with the same data.
    groups.push(positioning(theory, simulator)?);
    groups.push(reads(theory, simulator, &rates)?);
    groups.push(by_address(simulator, &rates)?);
    Ok(Comparison {
        drive: model.name.clone(),
        size_sectors: parameters.sectors.0,
        read_share: parameters.read_share,
        runs: RUNS,
        requests: parameters.requests,
        warmup: parameters.requests / 10,
        seed: parameters.seed,
        groups,
        notes: alone.doubts(),
    })
}

impl Theory {
    fn new(model: &Model, parameters: &Parameters) -> Result<Self, Error> {
        let (spec, mechanism) = (&model.spec, &model.mechanism);
        let distances = Distances::new(&mechanism.layout);
        let service = |op| Service::new(spec, mechanism, op, parameters.sectors);
        let (Some(read), Some(write)) = (service(Op::Read), service(Op::Write)) else {
            let found = format!("{} sectors", parameters.sectors.0);
            let expected = "a size that fits on the drive";
            return Err(Error::argument("size", found, expected));
        };
        let read_share = parameters.read_share;
        Ok(Self {
            distances,
            by_op: [read, write],
            all: Service::mixture([(read_share, read), (1.0 - read_share, write)]),
            read_share,
            revolution_ms: mechanism.rotation.period().as_ms(),
        })
    }
}

fn response_ms(totals: &RequestTotals) -> Option<f64> {
    totals.responses().moments().mean().map(Span::as_ms)
}

fn mean_response_ms(run: &Run) -> Option<f64> {
    response_ms(&run.report.all())
}

fn distances(theory: &Theory, alone: &Runs) -> Group {
    let even = Distances::equal(theory.distances.cylinders()).mean_cylinders();
    let zoned = theory.distances.mean_cylinders();
    let values = vec![
        Value::new("even_cylinders", "with equal cylinders", even),
        Value::new("zoned_cylinders", "with this drive's zones", zoned)
            .with_simulation(alone.seek_distance()),
    ];
    Group::new("seek-distance", "Mean seek distance, cylinders", values)
}

fn service(theory: &Theory, alone: &Runs, model: &Model) -> Group {
    let part = |duration: fn(&Breakdown) -> Span| {
        alone.mean(move |run| {
            let breakdown = run.report.all().mean_breakdown()?;
            Some(duration(&breakdown).as_ms())
        })
    };
    let all = &theory.all;
    let buffer = &model.spec.buffer;
    let media = all.rotation.first + all.transfer.first;
    let mut values = vec![
        Value::new("seek_ms", "seek and head switch, ms", all.seek.first)
            .with_simulation(part(|parts| parts.seek + parts.settle)),
    ];
    // With zero latency, theory and simulation separate rotational wait from transfer differently.
    if buffer.read_on_arrival || buffer.write_on_arrival {
        let both = part(|parts| parts.rotation + parts.transfer);
        let value = Value::new("media_ms", "rotational wait and transfer, ms", media);
        values.push(value.with_simulation(both));
    } else {
        let rotation = Value::new("rotation_ms", "rotational wait, ms", all.rotation.first);
        values.push(rotation.with_simulation(part(|parts| parts.rotation)));
        let transfer = Value::new("transfer_ms", "transfer, ms", all.transfer.first);
        values.push(transfer.with_simulation(part(|parts| parts.transfer)));
    }
    let largest = 1_000.0 * queues::saturation_rate(&all.total);
    values.extend([
        Value::new("total_ms", "total, ms", all.total.first)
            .with_simulation(alone.mean(mean_response_ms)),
        variation(all, alone, model),
        Value::new("largest_rate_per_s", "largest rate, requests/s", largest)
            .with_simulation(alone.mean(|run| run.report.throughput_per_s())),
    ]);
    let heading = "Service of a request at a random address";
    Group::new("service", heading, values)
}

/// The coefficient of variation.
///
/// The theory assumes that seek and transfer are independent. With zones they are not: inner tracks
/// take longer to transfer and, as they are close to the edge, longer to reach.
fn variation(service: &Service, alone: &Runs, model: &Model) -> Value {
    let cv = service.total.variance().sqrt() / service.total.first;
    let cv2 = |run: &Run| run.report.all().responses().moments().cv2();
    let value = Value::new("cv", "standard deviation / mean", cv)
        .with_simulation(alone.mean(|run| cv2(run).map(f64::sqrt)));
    match model.spec.geometry.zones.len() {
        1 => value,
        _ => value.approximate(),
    }
}

fn in_order(theory: &Theory, simulator: &Simulator<'_>, rates: &[Rate]) -> Result<Group, Error> {
    let value = |rate: &Rate| {
        let found = queues::mg1_response(rate.per_ms(), &theory.all.total);
        let load = 100.0 * rate.per_ms() * theory.all.total.first;
        let label = format!("at {:.1} requests/s, {load:.0} % busy", rate.per_s());
        let value = Value::new("response_ms", label, found.map(|found| found.mean));
        let runs = simulator.open("fcfs", rate.pause)?;
        let value = value.with_rate(rate.per_s());
        Ok(value.with_simulation(runs.steady(mean_response_ms)))
    };
    let values = rates.iter().map(value).collect::<Result<_, Error>>()?;
    let heading = "Mean response in order of arrival (fcfs), ms: M/G/1";
    Ok(Group::new("fcfs", heading, values))
}

fn reads_first(theory: &Theory, simulator: &Simulator<'_>, rates: &[Rate]) -> Result<Group, Error> {
    let mut values = Vec::new();
    for rate in rates {
        let share = [theory.read_share, 1.0 - theory.read_share];
        let [reads, writes] = [0, 1].map(|op| Class {
            rate: share[op] * rate.per_ms(),
            service: theory.by_op[op].total,
        });
        let waits = queues::priority_waits(&reads, &writes);
        let runs = simulator.open("hol", rate.pause)?;
        let mean = |op| runs.steady(move |run| response_ms(run.report.of(op)));
        let label = |kind| format!("{kind} at {:.1} requests/s", rate.per_s());
        let first = waits.map(|(wait, _)| wait + reads.service.first);
        let second = waits.map(|(_, wait)| wait + writes.service.first);
        let read = Value::new("read_response_ms", label("reads"), first);
        let write = Value::new("write_response_ms", label("writes"), second);
        values.push(read.with_rate(rate.per_s()).with_simulation(mean(Op::Read)));
        values.push(
            write
                .with_rate(rate.per_s())
                .with_simulation(mean(Op::Write)),
        );
    }
    let heading = "Mean response, reads before writes (hol), ms: head-of-line priority";
    Ok(Group::new("hol", heading, values))
}

/// The numbers of requests to choose from, other than 1, for which service times are simulated.
const CHOICES: [u32; 7] = [2, 4, 8, 16, 32, 64, queues::MAX_CHOICE];

fn shortest_access(
    theory: &Theory,
    simulator: &Simulator<'_>,
    rates: &[Rate],
) -> Result<Group, Error> {
    let alone = theory.all.total.first;
    let mut measured: Vec<(u32, Option<SimulatedMean>)> = Vec::new();
    for clients in CHOICES {
        let runs = simulator.closed("satf", clients as usize)?;
        measured.push((clients, runs.mean(|run| run.report.throughput_per_s())));
    }
    let power = power(alone, &measured);
    let services = queues::satf_services(alone, power);
    let max = 1_000.0 * services.last().map_or(0.0, |last| 1.0 / last);
    let mut values = vec![
        Value::new("power", "power p in x[m] = x[1] / m^p, fitted", power),
        Value::new("largest_rate_per_s", "requests/s, if 128 always wait", max)
            .with_simulation(measured.last().and_then(|(_, found)| *found))
            .approximate(),
    ];
    for rate in rates {
        let found = queues::satf_response(rate.per_ms(), &services);
        let label = format!("response at {:.1} requests/s, ms", rate.per_s());
        let runs = simulator.open("satf", rate.pause)?;
        let value = Value::new("response_ms", label, found).approximate();
        let value = value.with_rate(rate.per_s());
        values.push(value.with_simulation(runs.steady(mean_response_ms)));
    }
    let heading = "Shortest access first (satf): birth-death model";
    Ok(Group::new("satf", heading, values))
}

/// Returns p in `alone` m^-p, fitted by least squares to the logarithms of mean service times, the
/// inverse throughputs of a drive that always has m requests to choose from.
fn power(alone_ms: f64, measured: &[(u32, Option<SimulatedMean>)]) -> f64 {
    let (mut both, mut square) = (0.0, 0.0);
    for (choices, found) in measured {
        let Some(found) = found else { continue };
        let x = f64::from(*choices).ln();
        both += x * (alone_ms * found.mean / 1_000.0).ln();
        square += x * x;
    }
    both / square
}

/// Enough clients to keep a pair busy: requests nearly always wait for each disk.
const CLIENTS: usize = 128;

fn positioning(theory: &Theory, simulator: &Simulator<'_>) -> Result<Group, Error> {
    let stroke = f64::from(theory.distances.cylinders());
    let turn = theory.revolution_ms;
    let [read, write] = [0, 1].map(|op: usize| theory.by_op[op].total.first);
    let rate = saturation_rate(1.0 - theory.read_share, read, write);
    let ratio = rate / queues::saturation_rate(&theory.all.total);
    let writes = simulator.pair("routing=cyclic", 0.0)?.closed("fcfs", 1)?;
    let busy = simulator.pair("queue=shared", theory.read_share)?;
    let busy = busy.closed("fcfs", CLIENTS)?;
    let last_wait = writes.mean(|run| {
        let breakdown = run.report.all().mean_breakdown()?;
        Some(breakdown.rotation.as_ms())
    });
    let largest = busy.mean(|run| run.report.throughput_per_s());
    let near = "seek of the nearer arm, cylinders";
    let far = "seek of the farther arm, cylinders";
    let first = "wait for the first of two copies, ms";
    let last = "wait for the last of two copies, ms";
    let values = vec![
        Value::new("read_distance_cylinders", near, READ_DISTANCE * stroke).approximate(),
        Value::new("write_distance_cylinders", far, WRITE_DISTANCE * stroke).approximate(),
        Value::new("read_rotation_ms", first, read_wait(2) * turn).approximate(),
        Value::new("write_rotation_ms", last, write_wait(2) * turn).with_simulation(last_wait),
        Value::new(
            "largest_rate_per_s",
            "largest rate, requests/s",
            1_000.0 * rate,
        )
        .with_simulation(largest),
        Value::new("largest_rate_ratio", "relative to one disk", ratio),
    ];
    let heading = "Two disks with the same data: each read from one, each write to both";
    Ok(Group::new("mirrored", heading, values))
}

fn reads(theory: &Theory, simulator: &Simulator<'_>, rates: &[Rate]) -> Result<Group, Error> {
    let service = &theory.by_op[0].total;
    let exponential = Moments::exponential(service.first);
    let mut values = Vec::new();
    for rate in rates {
        let (each, both) = (rate.per_ms(), 2.0 * rate.per_s());
        let found = |parameters| {
            let pair = simulator.pair(parameters, 1.0)?;
            Ok::<_, Error>(pair.open("fcfs", rate.halved())?.steady(mean_response_ms))
        };
        let label = |mode| format!("{both:.1}/s, {mode}");
        let value = |name, mode, theory| Value::new(name, label(mode), theory).with_rate(both);
        let mean = |service| queues::mg1_response(each, service).map(|response| response.mean);
        let random = found("routing=uniform")?;
        let mode = "a disk at random (M/G/1)";
        values.push(value("random_response_ms", mode, mean(service)).with_simulation(random));
        let mode = "the same (M/M/1)";
        let simple = value("random_exponential_response_ms", mode, mean(&exponential));
        let cyclic = queues::e2m1_response(each, service.first);
        let cyclic = value("cyclic_response_ms", "disks in turn (E2/M/1)", cyclic);
        let shared = queues::mmc_response(2, 2.0 * each, service.first);
        let shared = value("shared_response_ms", "one queue (M/M/2)", shared);
        values.extend([
            simple.with_simulation(random).approximate(),
            cyclic
                .with_simulation(found("routing=cyclic")?)
                .approximate(),
            shared.with_simulation(found("queue=shared")?).approximate(),
        ]);
    }
    let heading = "Two disks, reads only, at twice the rate, in arrival order: mean response, ms";
    Ok(Group::new("mirrored-reads", heading, values))
}

/// Compares reads that are divided between two disks by address.
fn by_address(simulator: &Simulator<'_>, rates: &[Rate]) -> Result<Group, Error> {
    let drive = &simulator.system.drive;
    let mut reads = Reads::new(&drive.spec, &drive.mechanism, simulator.parameters.sectors);
    let percent = |split: &SplitReads| 100.0 * split.share;
    let simulated = |split: &SplitReads, rate: &Rate| {
        let routing = format!("routing=affinity(pivot={}%)", percent(split));
        let pair = simulator.pair(&routing, 1.0)?;
        Ok::<_, Error>(pair.open("fcfs", rate.halved())?.steady(mean_response_ms))
    };
    let equal = reads.equal_utilisations();
    let label = "pivot for equal utilisation, % of blocks";
    let pivot = equal.as_ref().map(percent);
    let mut values = vec![Value::new("equal_utilisations_pivot_percent", label, pivot)];
    for rate in rates {
        let both = 2.0 * rate.per_s();
        let min = reads.min_response_pivot(2.0 * rate.per_ms());
        let label = |what| format!("{both:.1}/s, {what}");
        let value = |name, what, theory| Value::new(name, label(what), theory).with_rate(both);
        let response = |found: &SplitReads| found.response(2.0 * rate.per_ms());
        let compared = |name, what, found: Option<&SplitReads>| {
            let simulation = found.map(|found| simulated(found, rate)).transpose()?;
            let value = value(name, what, found.and_then(response));
            Ok::<_, Error>(value.with_simulation(simulation.flatten()))
        };
        let what = "response if equally busy, ms";
        values.push(compared(
            "equal_utilisations_response_ms",
            what,
            equal.as_ref(),
        )?);
        let (what, pivot) = ("pivot for shortest response, %", min.as_ref().map(percent));
        values.push(value("least_response_pivot_percent", what, pivot));
        let what = "shortest response, ms";
        values.push(compared("least_response_ms", what, min.as_ref())?);
    }
    let heading = "Two disks, reads only, at twice the rate, each serving a part (affinity): M/G/1";
    Ok(Group::new("mirrored-by-address", heading, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Service times of 20 ms m^-0.2, as rates per second.
    #[test]
    fn the_fit_recovers_the_power_of_a_power_law() {
        let rate = |m: u32| 1_000.0 / (20.0 * f64::from(m).powf(-0.2));
        let measured = CHOICES.map(|m| {
            let (mean, ci95) = (rate(m), 0.0);
            (m, Some(SimulatedMean { mean, ci95 }))
        });
        assert!((power(20.0, &measured) - 0.2).abs() < 1e-12);
    }
}
