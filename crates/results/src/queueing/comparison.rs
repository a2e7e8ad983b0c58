//! Which values are compared, and by which formulas.

use std::sync::atomic::AtomicU64;

use diskarm_core::device::Breakdown;
use diskarm_core::report::Served;
use diskarm_core::request::Op;
use diskarm_core::units::Span;
use diskarm_queueing::priority::{self, Class};
use diskarm_queueing::{Distances, Service, birth_death, mg1};
use diskarm_simulate::{Error, Model, Run};

use super::simulation::{Bench, Counter, Runs, Simulated};
use super::{Asked, Compared, Group, LOADS, RUNS, Value, mirrored};

/// The theory of a drive.
pub(super) struct Theory {
    /// The distances between requests.
    pub distances: Distances,
    /// The service of a read, and of a write.
    pub each: [Service; 2],
    /// That of any request.
    pub any: Service,
    /// The share of reads, from 0 to 1.
    pub read_share: f64,
    /// The time of a revolution, in milliseconds.
    pub revolution_ms: f64,
}

/// A rate of Poisson arrivals.
#[derive(Clone, Copy)]
pub(super) struct Rate {
    pause: Span,
}

impl Rate {
    pub fn per_ms(self) -> f64 {
        1.0 / self.pause.as_ms()
    }

    pub fn per_s(self) -> f64 {
        1_000.0 * self.per_ms()
    }

    /// The pause of twice this rate.
    pub fn halved(self) -> Span {
        Span::from_ms(self.pause.as_ms() / 2.0)
    }
}

/// Compares theory and simulation of the drive `model`. Calls `on_each` with the number of
/// simulations that have been run, on any thread.
///
/// # Errors
/// If no request of this size fits on the drive.
pub fn compare(
    model: &Model,
    asked: &Asked,
    on_each: &(dyn Fn(u64) + Sync),
) -> Result<Compared, Error> {
    let done = &AtomicU64::new(0);
    let bench = &Bench::new(model, asked, Counter { done, on_each });
    let theory = &Theory::new(&bench.system.drive, asked)?;
    let largest = mg1::largest_rate(&theory.any.total);
    let default = LOADS.map(|load| Span::from_ms(1.0 / (load * largest)));
    let pauses = match &asked.pauses[..] {
        [] => &default,
        given => given,
    };
    let rates: Vec<Rate> = pauses.iter().map(|&pause| Rate { pause }).collect();
    let alone = bench.closed("fcfs", 1)?;
    let mut groups = vec![
        distances(theory, &alone),
        service(theory, &alone, &bench.system.drive),
    ];
    groups.push(in_order(theory, bench, &rates)?);
    if (0.0..1.0).contains(&asked.read_share) && asked.read_share > 0.0 {
        groups.push(reads_first(theory, bench, &rates)?);
    }
    groups.push(shortest_access(theory, bench, &rates)?);
    groups.extend(mirrored::groups(theory, bench, &rates)?);
    Ok(Compared {
        drive: model.name.clone(),
        size_sectors: asked.sectors.0,
        read_share: asked.read_share,
        runs: RUNS,
        requests: asked.requests,
        warmup: asked.requests / 10,
        seed: asked.seed,
        groups,
        notes: alone.doubts(),
    })
}

impl Theory {
    fn new(model: &Model, asked: &Asked) -> Result<Self, Error> {
        let (spec, mechanism) = (&model.spec, &model.mechanism);
        let distances = Distances::of(&mechanism.layout);
        let of = |op| Service::of(spec, mechanism, &distances, op, asked.sectors);
        let (Some(read), Some(write)) = (of(Op::Read), of(Op::Write)) else {
            let found = format!("{} sectors", asked.sectors.0);
            return Err(Error::argument(
                "size",
                found,
                "a size that fits on the drive",
            ));
        };
        let read_share = asked.read_share;
        Ok(Self {
            distances,
            each: [read, write],
            any: Service::mixture([(read_share, read), (1.0 - read_share, write)]),
            read_share,
            revolution_ms: mechanism.rotation.period().as_ms(),
        })
    }
}

fn response_ms(served: &Served) -> Option<f64> {
    served.responses().moments().mean().map(Span::as_ms)
}

pub(super) fn response_of_all(run: &Run) -> Option<f64> {
    response_ms(&run.report.all())
}

fn distances(theory: &Theory, alone: &Runs) -> Group {
    let even = Distances::even(theory.distances.cylinders()).mean_cylinders();
    let zoned = theory.distances.mean_cylinders();
    Group {
        name: "seek-distance",
        heading: "Mean seek distance, cylinders".to_owned(),
        values: vec![
            Value::new("even_cylinders", "if all cylinders held as much", even),
            Value::new("zoned_cylinders", "with this drive's zones", zoned)
                .beside(alone.seek_distance()),
        ],
    }
}

fn service(theory: &Theory, alone: &Runs, model: &Model) -> Group {
    let part = |of: fn(&Breakdown) -> Span| {
        alone.mean(move |run| {
            let breakdown = run.report.all().mean_breakdown()?;
            Some(of(&breakdown).as_ms())
        })
    };
    let any = &theory.any;
    let buffer = &model.spec.buffer;
    let media = any.rotation.first + any.transfer.first;
    let mut values = vec![
        Value::new("seek_ms", "seek and head switch, ms", any.seek.first)
            .beside(part(|parts| parts.seek + parts.settle)),
    ];
    // With zero latency theory and simulation draw the line between these two differently.
    if buffer.read_on_arrival || buffer.write_on_arrival {
        let both = part(|parts| parts.rotation + parts.transfer);
        values.push(Value::new("media_ms", "rotational wait and transfer, ms", media).beside(both));
    } else {
        let rotation = Value::new("rotation_ms", "rotational wait, ms", any.rotation.first);
        values.push(rotation.beside(part(|parts| parts.rotation)));
        let transfer = Value::new("transfer_ms", "transfer, ms", any.transfer.first);
        values.push(transfer.beside(part(|parts| parts.transfer)));
    }
    let largest = 1_000.0 * mg1::largest_rate(&any.total);
    values.extend([
        Value::new("total_ms", "all of it, ms", any.total.first)
            .beside(alone.mean(response_of_all)),
        variation(any, alone, model),
        Value::new("largest_rate_per_s", "largest rate, requests/s", largest)
            .beside(alone.mean(|run| run.report.throughput_per_s())),
    ]);
    Group {
        name: "service",
        heading: "Service of a request at a random place".to_owned(),
        values,
    }
}

/// The coefficient of variation.
///
/// The theory takes the seek and the transfer as independent. With zones they are not: inner tracks
/// take longer to transfer, and as they are near the edge, longer to reach.
fn variation(service: &Service, alone: &Runs, model: &Model) -> Value {
    let cv = service.total.variance().sqrt() / service.total.first;
    let cv2 = |run: &Run| run.report.all().responses().moments().cv2();
    let value = Value::new("cv", "standard deviation / mean", cv)
        .beside(alone.mean(|run| cv2(run).map(f64::sqrt)));
    match model.spec.geometry.zones.len() {
        1 => value,
        _ => value.approximate(),
    }
}

fn in_order(theory: &Theory, bench: &Bench<'_>, rates: &[Rate]) -> Result<Group, Error> {
    let value = |rate: &Rate| {
        let found = mg1::response(rate.per_ms(), &theory.any.total);
        let load = 100.0 * rate.per_ms() * theory.any.total.first;
        let label = format!("at {:.1} requests/s, {load:.0} % busy", rate.per_s());
        let value = Value::new("response_ms", label, found.map(|found| found.mean));
        let runs = bench.open("fcfs", rate.pause)?;
        Ok(value.at(rate.per_s()).beside(runs.steady(response_of_all)))
    };
    Ok(Group {
        name: "fcfs",
        heading: "Mean response in order of arrival (fcfs), ms: M/G/1".to_owned(),
        values: rates.iter().map(value).collect::<Result<_, Error>>()?,
    })
}

fn reads_first(theory: &Theory, bench: &Bench<'_>, rates: &[Rate]) -> Result<Group, Error> {
    let mut values = Vec::new();
    for rate in rates {
        let share = [theory.read_share, 1.0 - theory.read_share];
        let [reads, writes] = [0, 1].map(|op| Class {
            rate: share[op] * rate.per_ms(),
            service: theory.each[op].total,
        });
        let waits = priority::waits(&reads, &writes);
        let runs = bench.open("hol", rate.pause)?;
        let of = |op| runs.steady(move |run| response_ms(run.report.of(op)));
        let label = |kind| format!("{kind} at {:.1} requests/s", rate.per_s());
        let first = waits.map(|(wait, _)| wait + reads.service.first);
        let second = waits.map(|(_, wait)| wait + writes.service.first);
        let read = Value::new("read_response_ms", label("reads"), first);
        let write = Value::new("write_response_ms", label("writes"), second);
        values.push(read.at(rate.per_s()).beside(of(Op::Read)));
        values.push(write.at(rate.per_s()).beside(of(Op::Write)));
    }
    Ok(Group {
        name: "hol",
        heading: "Mean response, reads before writes (hol), ms: head-of-line priority".to_owned(),
        values,
    })
}

/// The numbers of requests to choose from at which services are simulated, besides one.
const CHOICES: [u32; 7] = [2, 4, 8, 16, 32, 64, birth_death::MAX];

fn shortest_access(theory: &Theory, bench: &Bench<'_>, rates: &[Rate]) -> Result<Group, Error> {
    let alone = theory.any.total.first;
    let mut measured: Vec<(u32, Option<Simulated>)> = Vec::new();
    for clients in CHOICES {
        let runs = bench.closed("satf", clients as usize)?;
        measured.push((clients, runs.mean(|run| run.report.throughput_per_s())));
    }
    let power = power(alone, &measured);
    let services = birth_death::services(alone, power);
    let max = 1_000.0 * services.last().map_or(0.0, |last| 1.0 / last);
    let mut values = vec![
        Value::new("power", "power p in x[m] = x[1] / m^p, fitted", power),
        Value::new("largest_rate_per_s", "requests/s, if 128 always wait", max)
            .beside(measured.last().and_then(|(_, found)| *found))
            .approximate(),
    ];
    for rate in rates {
        let found = birth_death::response(rate.per_ms(), &services);
        let label = format!("response at {:.1} requests/s, ms", rate.per_s());
        let runs = bench.open("satf", rate.pause)?;
        let value = Value::new("response_ms", label, found).approximate();
        values.push(value.at(rate.per_s()).beside(runs.steady(response_of_all)));
    }
    Ok(Group {
        name: "satf",
        heading: "Shortest access first (satf): birth-death model".to_owned(),
        values,
    })
}

/// The p of `alone` m^-p, by least squares of the logarithms of mean services, which are the
/// inverse of what a drive serves that always has m to choose from.
fn power(alone_ms: f64, measured: &[(u32, Option<Simulated>)]) -> f64 {
    let (mut both, mut square) = (0.0, 0.0);
    for (choices, found) in measured {
        let Some(found) = found else { continue };
        let x = f64::from(*choices).ln();
        both += x * (alone_ms * found.mean / 1_000.0).ln();
        square += x * x;
    }
    both / square
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Services of 20 ms m^-0.2, as rates per second.
    #[test]
    fn a_power_law_gives_its_power() {
        let rate = |m: u32| 1_000.0 / (20.0 * f64::from(m).powf(-0.2));
        let found = |m| {
            Some(Simulated {
                mean: rate(m),
                ci95: 0.0,
            })
        };
        let measured = CHOICES.map(|m| (m, found(m)));
        assert!((power(20.0, &measured) - 0.2).abs() < 1e-12);
    }
}
