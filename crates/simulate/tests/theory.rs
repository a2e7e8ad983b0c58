//! Queueing theory against simulations.

use diskarm_core::units::{SectorCount, Span};
use diskarm_simulate::Model;
use diskarm_simulate::theory::{Comparison, Parameters, Value, compare};

/// Half of a 99.9 % interval over half of a 95 % one: the quantiles of Student's t with the 9
/// degrees of freedom of 10 runs (tables; 0.9995 and 0.975).
const WIDER: f64 = 4.781 / 2.262;

fn parameters() -> Parameters {
    Parameters {
        sectors: SectorCount(16),
        read_share: 2.0 / 3.0,
        pauses: Vec::new(),
        requests: 20_000,
        seed: 1,
    }
}

fn compared(drive: &str, parameters: &Parameters) -> Comparison {
    compare(&Model::find(drive).unwrap(), parameters, &|_| {}).unwrap()
}

/// The values with a simulation, with the names of their groups.
fn simulated(compared: &Comparison) -> impl Iterator<Item = (&str, &Value)> {
    let groups = compared.groups.iter();
    let values = groups.flat_map(|group| group.values.iter().map(|value| (group.name, value)));
    values.filter(|(_, value)| value.simulated.is_some())
}

/// How far the theory is from the simulation, and half the 99.9 % interval.
fn distance(value: &Value) -> (f64, f64) {
    let [theory, mean] = [value.theory, value.simulated].map(Option::unwrap);
    ((theory - mean).abs(), WIDER * value.ci95.unwrap())
}

/// Where the assumptions hold, every value is within its 99.9 % interval. If all 130 were
/// independent, one would be outside by chance in 12 of 100 seeds. The drives: one zone; eight,
/// with tracks of a few requests; tracks of many; zero latency of reads; of reads and writes.
#[test]
fn theory_is_within_the_intervals_of_simulations() {
    let mut count = 0;
    for drive in [
        "hp-335h",
        "hp-c2247",
        "ibm-18es",
        "dec-rz26",
        "sata-4tb-7200",
    ] {
        let compared = compared(drive, &parameters());
        for (group, value) in simulated(&compared).filter(|(_, value)| value.is_exact) {
            let (off, half) = distance(value);
            assert!(off <= half, "{drive} {group} {value:?}");
            count += 1;
        }
    }
    assert_eq!(count, 130);
}

/// The intervals are narrow enough to find an error of a few percent: 2 % without a queue, and 6 %
/// at loads of up to 60 %. The wait for the last of two copies depends on the angle between them,
/// of which each run has one: 20 %.
#[test]
fn intervals_are_narrow() {
    let compared = compared("hp-c2247", &parameters());
    let largest = 51.305;
    for (group, value) in simulated(&compared).filter(|(_, value)| value.is_exact) {
        let max = match value.rate_per_s {
            None if value.name == "write_rotation_ms" => 0.2,
            None => 0.02,
            Some(rate) if rate < 0.7 * largest => 0.06,
            Some(_) => continue,
        };
        let (_, half) = distance(value);
        assert!(half < max * value.theory.unwrap(), "{group} {value:?}");
    }
}

/// Seek and transfer depend on each other where inner tracks hold less: the deviation of the
/// service is larger than the theory's, by more the longer the transfer. On one zone it is not.
#[test]
fn zones_make_seek_and_transfer_depend_on_each_other() {
    let off = |drive, sectors| {
        let sectors = SectorCount(sectors);
        let compared = compared(
            drive,
            &Parameters {
                sectors,
                ..parameters()
            },
        );
        let mut values = simulated(&compared);
        let (_, value) = values.find(|(_, value)| value.name == "cv").unwrap();
        assert_eq!(value.is_exact, drive == "hp-335h");
        let (off, half) = distance(value);
        (off > half).then_some(off / value.theory.unwrap())
    };
    let (short, long) = (off("hp-c2247", 16).unwrap(), off("hp-c2247", 64).unwrap());
    assert!(short < 0.02 && long > 0.03, "{short} {long}");
    assert_eq!(off("hp-335h", 16), None);
}

/// The model of SATF takes services as exponential: its responses are longer than simulated.
#[test]
fn the_model_of_satf_is_an_approximation() {
    let compared = compared("ibm-18es", &parameters());
    let responses = simulated(&compared)
        .filter(|(group, value)| *group == "satf" && value.name == "response_ms");
    let mut count = 0;
    for (_, value) in responses {
        let (off, half) = distance(value);
        assert!(!value.is_exact && off > half, "{value:?}");
        assert!(value.theory > value.simulated);
        count += 1;
    }
    assert_eq!(count, 3);
}

/// A drive's services are more regular than exponential ones: its pairs respond sooner.
#[test]
fn exponential_services_wait_longer_than_those_of_a_drive() {
    let compared = compared("ibm-18es", &parameters());
    let values =
        simulated(&compared).filter(|(group, value)| *group == "mirrored-reads" && !value.is_exact);
    let mut count = 0;
    for (_, value) in values {
        let (off, half) = distance(value);
        assert!(off > half && value.theory > value.simulated, "{value:?}");
        count += 1;
    }
    assert_eq!(count, 9);
}

/// At twice the largest rate there is neither theory nor simulation; reads alone have no row for
/// each class.
#[test]
fn a_rate_that_cannot_be_served_has_no_values() {
    let parameters = Parameters {
        read_share: 1.0,
        pauses: vec![Span::from_ms(10.0)],
        requests: 5_000,
        ..parameters()
    };
    let compared = compared("hp-c2247", &parameters);
    let names: Vec<&str> = compared.groups.iter().map(|group| group.name).collect();
    assert!(!names.contains(&"hol"), "{names:?}");
    let group = |name| compared.groups.iter().find(|group| group.name == name);
    let response = &group("fcfs").unwrap().values[0];
    assert!(response.theory.is_none() && response.simulated.is_none());
    let [ratio] = &group("mirrored").unwrap().values[5..] else {
        panic!("{compared:?}");
    };
    assert_eq!(ratio.theory, Some(2.0));
}
