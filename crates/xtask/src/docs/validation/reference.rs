//! Results of the reference simulator, from `disksim.toml`, and the measured drives, from
//! `drives.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// Figures of DiskSim 4.0.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Disksim {
    second_half_demerit_ms: BTreeMap<String, f64>,
    random: Vec<Run>,
    cause: Vec<Cause>,
}

/// A known cause of differences, for any load.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cause {
    policy: String,
    /// One of the means: `response`, `service`, `seek`, `rotational wait`.
    quantity: String,
    text: String,
}

/// One run on the random workload.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Poisson arrivals or a fixed number outstanding, in words.
    pub load: String,
    /// As DiskSim names it.
    pub policy: String,
    /// Mean response, service, seek and rotational wait.
    pub means_ms: [f64; 4],
    /// Half width of the 95 % confidence interval of the mean response, if known.
    pub ci95_ms: Option<f64>,
}

/// The load on the drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// Poisson arrivals with this mean distance in milliseconds (as text).
    Open(String),
    /// This number of requests outstanding (as text).
    Closed(String),
}

impl Run {
    /// Returns the load that its words describe.
    pub fn load(&self) -> Result<Load, String> {
        let words = &self.load;
        let mean = words.strip_prefix("exponential, mean ");
        if let Some(ms) = mean.and_then(|rest| rest.strip_suffix(" ms")) {
            Ok(Load::Open(ms.to_owned()))
        } else if let Some(count) = words.strip_suffix(" outstanding") {
            Ok(Load::Closed(count.to_owned()))
        } else {
            Err(format!("disksim.toml: unknown load {words:?}"))
        }
    }
}

/// Returns all runs on the random workload, in the order of the file.
pub fn runs() -> Result<Vec<Run>, String> {
    Ok(figures()?.random)
}

/// Returns the known cause of differences in a mean of a policy.
pub fn cause(policy: &str, quantity: &str) -> Option<String> {
    let causes = figures().ok()?.cause.into_iter();
    let mut same = causes.filter(|cause| cause.policy == policy && cause.quantity == quantity);
    same.next().map(|cause| cause.text)
}

/// Returns the demerit on the second half of a measured drive's trace; `None` if it could not be
/// run.
pub fn second_half_ms(drive: &str) -> Result<Option<f64>, String> {
    Ok(figures()?.second_half_demerit_ms.get(drive).copied())
}

fn figures() -> Result<Disksim, String> {
    toml::from_str(include_str!("disksim.toml")).map_err(|error| format!("disksim.toml: {error}"))
}

/// A drive whose measurements are in `data/validation`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// Its name in the catalogue and of its file.
    pub name: String,
    /// The demerit that its model must not exceed.
    pub bound_us: f64,
    /// The demerit of DiskSim 4.0 on the same rows.
    pub disksim_us: f64,
    /// True if `disksim_us` was published and is not from a run of the 64-bit port.
    pub published: bool,
    /// The improvements, and the remaining differences.
    pub remains: String,
    /// The demerit on the second half that a fit to the first half must not exceed.
    pub half_bound_us: f64,
    /// The bound of predictions of single requests, for traces with an unbroken clock.
    pub single: Option<Bound>,
    /// The reason why the drive differs from its parameter set. The numbers come from the traces,
    /// by comparing completions with the angle of the last sector.
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

#[derive(Deserialize)]
struct Drives {
    drive: Vec<Drive>,
}

/// In the order of the document.
pub static DRIVES: LazyLock<Vec<Drive>> = LazyLock::new(|| {
    let drives: Drives = toml::from_str(include_str!("drives.toml")).expect("drives.toml");
    drives.drive
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_loads_are_refused() {
        let load = |words: &str| {
            let load = words.to_owned();
            let (policy, means_ms) = (String::new(), [0.0; 4]);
            let ci95_ms = None;
            Run {
                load,
                policy,
                means_ms,
                ci95_ms,
            }
            .load()
        };
        let open = load("exponential, mean 31.2 ms");
        assert_eq!(open, Ok(Load::Open("31.2".to_owned())));
        let closed = load("64 outstanding");
        assert_eq!(closed, Ok(Load::Closed("64".to_owned())));
        assert!(load("uniform, mean 31.2 ms").is_err());
    }

    #[test]
    fn the_figures_can_be_read() {
        let runs = runs().unwrap();
        assert_eq!(runs.len(), 40);
        assert!(runs.iter().all(|run| run.load().is_ok()));
        assert_eq!(second_half_ms("dec-rz26"), Ok(Some(0.3993)));
        assert_eq!(second_half_ms("seagate-st41601n"), Ok(None));
    }
}
