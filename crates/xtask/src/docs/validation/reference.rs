//! What the reference simulator gives, as `disksim.toml` restates it.

use std::collections::BTreeMap;

use serde::Deserialize;

const DISKSIM: &str = include_str!("disksim.toml");

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
    /// The load that its words describe.
    pub fn load(&self) -> Result<Load, String> {
        load(&self.load)
    }
}

/// All runs on the random workload, in the order of the file.
pub fn runs() -> Result<Vec<Run>, String> {
    Ok(figures()?.random)
}

/// Returns the known cause of differences in a mean of a policy.
pub fn cause(policy: &str, quantity: &str) -> Option<String> {
    let causes = figures().ok()?.cause.into_iter();
    let mut same = causes.filter(|cause| cause.policy == policy && cause.quantity == quantity);
    same.next().map(|cause| cause.text)
}

/// The demerit on the second half of a measured drive's trace; `None` if it could not be run.
pub fn second_half_ms(drive: &str) -> Result<Option<f64>, String> {
    Ok(figures()?.second_half_demerit_ms.get(drive).copied())
}

fn figures() -> Result<Disksim, String> {
    toml::from_str(DISKSIM).map_err(|error| format!("disksim.toml: {error}"))
}

fn load(words: &str) -> Result<Load, String> {
    let open = words
        .strip_prefix("exponential, mean ")
        .and_then(|rest| rest.strip_suffix(" ms"));
    match (open, words.strip_suffix(" outstanding")) {
        (Some(ms), _) => Ok(Load::Open(ms.to_owned())),
        (_, Some(count)) => Ok(Load::Closed(count.to_owned())),
        _ => Err(format!("disksim.toml: unknown load {words:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_loads_are_refused() {
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
