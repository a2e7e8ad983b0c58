//! What was found, as a specification.

use diskarm_core::spec::{Key, Source, Spec, Value, milliseconds};
use serde::Serialize;

use super::how::{self, Provenance, why_not};
use super::{Checkpoint, Options};

/// A drive as it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredDrive {
    /// The specification.
    pub spec: Spec,
    /// What is known of its values, in the order of the manual.
    pub values: Vec<MeasuredValue>,
    /// What could not be learnt of the layout and was assumed, a sentence each.
    pub assumed: Vec<String>,
}

/// A value, and how it was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredValue {
    /// The path of its key.
    pub key: &'static str,
    /// As in a specification; `None` for curves, zones and texts.
    pub value: Option<String>,
    /// How it was found.
    #[serde(rename = "how")]
    pub provenance: Provenance,
}

impl MeasuredDrive {
    /// The drive that `checkpoint` tells of, under a name.
    ///
    /// # Errors
    /// Too little was found for a specification: rotation, layout or seeks are missing, or what was
    /// found contradicts itself.
    pub fn new(checkpoint: &Checkpoint, name: &str) -> Result<Self, String> {
        let findings = &checkpoint.findings;
        let needed = ["rotation", "layout", "idle", "seeks"];
        let (Some(chosen), Some(mechanism)) = (&findings.layout, findings.mechanism()) else {
            let why = needed.into_iter().find_map(|name| {
                let why = why_not(name, checkpoint, "");
                (!why.is_empty()).then_some(why)
            });
            return Err(format!(
                "too little was found for a specification: {}",
                why.unwrap_or_default()
            ));
        };
        let mut spec = Spec {
            name: name.to_owned(),
            summary: format!("{}, measured over SCSI", checkpoint.identity.name()),
            source: source(checkpoint, &chosen.found.assumed),
            ..mechanism
        };
        if let Some(facts) = &findings.buffer {
            facts.describe(&mut spec);
        }
        let refused = agreed(&mut spec)?;
        let mut values: Vec<MeasuredValue> = Vec::new();
        for key in Key::all() {
            let clash = refused.iter().find(|(path, _)| *path == key.path);
            let provenance = match clash {
                Some((_, why)) => Some(Provenance::Unknown(why.clone())),
                None => how::of(key.path, checkpoint),
            };
            if let Some(provenance) = provenance {
                values.push(MeasuredValue {
                    key: key.path,
                    value: key.get(&spec).and_then(|value| shown(key, &value)),
                    provenance,
                });
            }
        }
        Ok(Self {
            spec,
            values,
            assumed: chosen.found.assumed.clone(),
        })
    }

    /// Its text, with a remark above each value.
    pub fn text(&self) -> String {
        diskarm_drives::text::specification(&self.spec, &|path| {
            let found = self.values.iter().find(|found| found.key == path)?;
            Some(found.provenance.to_string())
        })
    }
}

fn source(checkpoint: &Checkpoint, assumed: &[String]) -> Source {
    let identity = &checkpoint.identity;
    let serial = match identity.serial.as_str() {
        "" => String::new(),
        serial => format!(", serial number {serial}"),
    };
    let Options { effort, writes, .. } = checkpoint.options;
    let writes = if writes { "with" } else { "without" };
    Source {
        origin: format!(
            "Measured by diskarm extract through SCSI commands to {}{serial}, {effort} effort, \
             {writes} writes.",
            identity.name()
        ),
        choices: assumed.join(" "),
        ..Source::default()
    }
}

/// Sets values that others forbid to their defaults; returns their keys, and what was found.
fn agreed(spec: &mut Spec) -> Result<Vec<(String, String)>, String> {
    let mut refused = Vec::new();
    while let Some((path, expected)) = spec.contradiction() {
        let key = Key::find(&path).filter(|key| {
            let default = key.get(&Spec::default());
            !key.required && default.is_some() && key.get(spec) != default
        });
        let (Some(key), true) = (key, refused.len() < 100) else {
            return Err(format!(
                "what was found contradicts itself: {path}, expected {expected}"
            ));
        };
        let found = key.get(spec).and_then(|value| shown(key, &value));
        let found = found.unwrap_or_default();
        if let Some(default) = key.get(&Spec::default()) {
            key.set(spec, default);
        }
        refused.push((
            path,
            format!("found {found}, where others demand {expected}"),
        ));
    }
    Ok(refused)
}

/// A value as in a specification.
fn shown(key: &'static Key, value: &Value) -> Option<String> {
    match value {
        Value::SeekCurve(_) | Value::Zones(_) | Value::Text(_) => None,
        Value::Time(time) => Some(format!("{} ms", milliseconds(*time))),
        value => Some(key.toml(value).trim_matches('"').to_owned()),
    }
}
