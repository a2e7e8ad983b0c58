//! The reference simulator's results (`disksim.toml`) and the measured drives (`drives.toml`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::docs::entries;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disksim {
    /// Demerits on the second halves of the measured drives' traces; absent if the run failed.
    pub second_half_demerit_ms: BTreeMap<String, f64>,
    pub random: Vec<Run>,
    cause: Vec<Cause>,
}

/// A known cause of differences under any load.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cause {
    policy: String,
    /// One of the means: `response`, `service`, `seek`, `rotational wait`.
    quantity: String,
    text: String,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Poisson arrivals or a fixed number of outstanding requests, in words.
    pub load: String,
    /// The name of the policy in DiskSim.
    pub policy: String,
    /// Mean response, service, seek and rotational wait.
    pub means_ms: [f64; 4],
    /// Half width of the 95 % confidence interval of the mean response, if known.
    pub ci95_ms: Option<f64>,
}

impl Run {
    /// Returns the option that sets the load, and the value of the option.
    pub fn load(&self) -> Result<(&'static str, &str), String> {
        let words = &self.load;
        if let Some(interarrival) = words.strip_prefix("exponential, mean ") {
            Ok(("--interarrival", interarrival))
        } else if let Some(count) = words.strip_suffix(" outstanding") {
            Ok(("--outstanding", count))
        } else {
            Err(format!("disksim.toml: unknown load {words:?}"))
        }
    }
}

impl Disksim {
    /// Returns the known cause of the differences in one of a policy's means.
    pub fn cause(&self, policy: &str, quantity: &str) -> Option<&str> {
        let matches = |cause: &&Cause| cause.policy == policy && cause.quantity == quantity;
        let cause = self.cause.iter().find(matches);
        cause.map(|cause| cause.text.as_str())
    }
}

pub static DISKSIM: LazyLock<Disksim> =
    LazyLock::new(|| toml::from_str(include_str!("disksim.toml")).expect("disksim.toml is valid"));

/// A drive whose measurements are in `data/validation`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// The name of the drive in the catalogue, and of its trace file.
    pub name: String,
    /// The demerit that its model must not exceed.
    pub bound_us: f64,
    /// The demerit of DiskSim 4.0 on the same rows.
    pub disksim_us: f64,
    /// True if `disksim_us` was published, false if it comes from a run of the 64-bit port.
    pub published: bool,
    /// The improvements over the original parameter set, and the differences that remain.
    pub remains: String,
    /// The demerit on the second half that a fit to the first half must not exceed.
    pub half_bound_us: f64,
    /// The required accuracy of single-request predictions, if the trace has an unbroken clock.
    pub single: Option<Bound>,
    /// The reason why the drive differs from its parameter set. Its numbers were obtained by
    /// comparing the completions in the trace with the angle of the last sector.
    pub cause: String,
}

/// The required accuracy of predictions of single requests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    pub same_revolution_rate: f64,
    /// The maximum, if one is required.
    pub median_abs_error_ms: Option<f64>,
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3}", self.same_revolution_rate)?;
        self.median_abs_error_ms
            .map_or(Ok(()), |max| write!(f, ", {max:.3}"))
    }
}

/// The drives, in the order of the document.
pub static DRIVES: LazyLock<Vec<Drive>> = LazyLock::new(|| {
    entries("drives.toml", "drive", include_str!("drives.toml")).expect("drives.toml is valid")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_loads_are_refused() {
        for (words, load) in [
            (
                "exponential, mean 31.2 ms",
                Some(("--interarrival", "31.2 ms")),
            ),
            ("64 outstanding", Some(("--outstanding", "64"))),
            ("uniform, mean 31.2 ms", None),
        ] {
            let run = Run {
                load: words.to_owned(),
                policy: String::new(),
                means_ms: [0.0; 4],
                ci95_ms: None,
            };
            assert_eq!(run.load().ok(), load);
        }
    }

    #[test]
    fn the_figures_can_be_read() {
        assert_eq!(DISKSIM.random.len(), 40);
        assert!(DISKSIM.random.iter().all(|run| run.load().is_ok()));
        assert_eq!(DISKSIM.second_half_demerit_ms["dec-rz26"], 0.3993);
        assert!(
            !DISKSIM
                .second_half_demerit_ms
                .contains_key("seagate-st41601n")
        );
    }
}
