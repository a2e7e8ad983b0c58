//! Values of a specification, read from its text and shown as the paper shows them.

use toml::de::{DeTable, DeValue};

pub struct Spec<'a>(DeTable<'a>);

/// A value: as a number, where it is one, and as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub number: Option<f64>,
    pub shown: String,
}

impl Value {
    fn number(number: f64, decimals: usize) -> Self {
        Self {
            number: Some(number),
            shown: format!("{number:.decimals$}"),
        }
    }

    fn word(word: &str) -> Self {
        Self {
            number: None,
            shown: word.to_owned(),
        }
    }

    fn flag(flag: bool) -> Self {
        Self::word(if flag { "yes" } else { "no" })
    }
}

impl<'a> Spec<'a> {
    pub fn parse(text: &'a str) -> Result<Self, String> {
        let table = DeTable::parse(text).map_err(|error| error.to_string())?;
        Ok(Self(table.into_inner()))
    }

    /// A value by its name in the file of the paper's tables, if this specification has it.
    /// `decimals` is how many of them are shown.
    ///
    /// A name is a key, whose unit and absence its kind tells; or something that follows from keys:
    /// `capacity`, in gigabytes; `rpm`; `slipping`, the unit, or none; `segment-kib`;
    /// `read-ahead-kib`; `reserved-cylinders`.
    pub fn value(&self, name: &str, decimals: usize) -> Option<Value> {
        let sector_bytes = self.float("geometry.sector_bytes").unwrap_or(512.0);
        let kib = |key: &str| {
            let sectors = self.float(key)?;
            Some(Value::number(sectors * sector_bytes / 1024.0, decimals))
        };
        match name {
            "capacity" => {
                let sectors = self.float("geometry.sectors")?;
                Some(Value::number(sectors * sector_bytes / 1e9, decimals))
            }
            "rpm" => Some(Value::number(self.rpm()?, decimals)),
            "slipping" => Some(Value::word(match self.has_slips() {
                true => self.unit()?,
                false => "none",
            })),
            "sparing" => Some(Value::word(self.unit()?)),
            "segment-kib" => kib("buffer.segment"),
            "read-ahead-kib" => kib("buffer.read_ahead_max").or_else(|| kib("buffer.segment")),
            "reserved-cylinders" => self.reserved_cylinders().map(|many| Value::number(many, 0)),
            key => self.of_key(key, decimals),
        }
    }

    fn of_key(&self, key: &str, decimals: usize) -> Option<Value> {
        let time = key.starts_with("overheads.") || key.starts_with("mechanics.");
        match self.get(key) {
            None if time => Some(Value::number(0.0, decimals)),
            None if key == "buffer.delivered" => Some(Value::word("kept")),
            None if key == "buffer.write_invalidates" => Some(Value::word("segment")),
            None if key.starts_with("buffer.") => Some(Value::flag(false)),
            None => None,
            Some(DeValue::Boolean(flag)) => Some(Value::flag(*flag)),
            Some(_) => match (self.float(key), self.text(key)) {
                (Some(number), _) => Some(Value::number(number, decimals)),
                (None, text) => text.map(Value::word),
            },
        }
    }

    /// The zones: first and last cylinder, sectors per track, offset, skew of tracks, skew of
    /// cylinders, reserved tracks and spare tracks, as in the paper's tables. Reserved sectors are
    /// counted in tracks; spare ones are tracks only if sparing is by track.
    pub fn zones(&self) -> Vec<[f64; 8]> {
        let Some(DeValue::Array(zones)) = self.get("geometry.zones") else {
            return Vec::new();
        };
        let by_track = self.unit() == Some("tracks");
        let tables = zones.iter().filter_map(|zone| zone.get_ref().as_table());
        let row = |zone: &DeTable<'_>| {
            let number = |key: &str| zone.get(key).and_then(|value| number(value.get_ref()));
            let ends = zone.get("cylinders")?.get_ref().as_array()?;
            let end = |at: usize| number_at(ends, at);
            let per_track = number("sectors_per_track")?;
            let or_none = |key| number(key).unwrap_or(0.0);
            Some([
                end(0)?,
                end(1)? - 1.0,
                per_track,
                or_none("first_offset_sectors"),
                or_none("track_skew_sectors"),
                or_none("cylinder_skew_sectors"),
                or_none("reserved_sectors") / per_track,
                if by_track { or_none("spares") } else { 0.0 },
            ])
        };
        tables.filter_map(row).collect()
    }

    fn rpm(&self) -> Option<f64> {
        let text = self.text("mechanics.rotation")?;
        let (number, unit) = text.split_once(' ')?;
        let number: f64 = number.parse().ok()?;
        match unit {
            "rpm" => Some(number),
            "ns" => Some(60e9 / number),
            _ => None,
        }
    }

    /// The unit of the sparing scheme.
    fn unit(&self) -> Option<&'static str> {
        let sparing = self.text("geometry.sparing")?;
        Some(match sparing.starts_with("tracks") {
            true => "tracks",
            false if sparing == "none" => "none",
            false => "sectors",
        })
    }

    fn has_slips(&self) -> bool {
        let Some(DeValue::Array(zones)) = self.get("geometry.zones") else {
            return false;
        };
        let mut tables = zones.iter().filter_map(|zone| zone.get_ref().as_table());
        tables.any(|zone| zone.get("slips").is_some())
    }

    /// Cylinders in front of the first block: unmapped, or reserved in the first zone.
    fn reserved_cylinders(&self) -> Option<f64> {
        let first = *self.zones().first()?;
        let surfaces = self.float("geometry.surfaces")?;
        let Some(DeValue::Array(zones)) = self.get("geometry.zones") else {
            return None;
        };
        let zone = zones.first()?.get_ref().as_table()?;
        let spares = zone
            .get("spares")
            .and_then(|spares| number(spares.get_ref()));
        let spare = match self.text("geometry.sparing") {
            Some("sectors-per-track") => spares.unwrap_or(0.0),
            _ => 0.0,
        };
        let tracks = first[6] * first[2] / (first[2] - spare);
        Some(first[0] + (tracks / surfaces).floor())
    }

    fn get(&self, path: &str) -> Option<&DeValue<'a>> {
        let mut table = &self.0;
        let mut names = path.split('.').peekable();
        while let Some(name) = names.next() {
            let value = table.get(name)?.get_ref();
            if names.peek().is_none() {
                return Some(value);
            }
            table = value.as_table()?;
        }
        None
    }

    fn float(&self, path: &str) -> Option<f64> {
        number(self.get(path)?)
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.get(path)?.as_str()
    }
}

fn number_at(array: &[toml::Spanned<DeValue<'_>>], at: usize) -> Option<f64> {
    number(array.get(at)?.get_ref())
}

/// A number, or a text that begins with one and has a unit.
fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => number.to_string().replace('_', "").parse().ok(),
        DeValue::Float(number) => number.to_string().replace('_', "").parse().ok(),
        DeValue::String(text) => text.split(' ').next()?.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
[geometry]
sectors = 2_050_860
sector_bytes = 512
surfaces = 14
sparing = \"sectors-per-track\"

[[geometry.zones]]
cylinders = [0, 2599]
sectors_per_track = 58
reserved_sectors = 23142 # of 29 cylinders
track_skew_sectors = 7.5
spares = 1

[mechanics]
rotation = \"11194029.85 ns\"

[buffer]
segment = \"57 sectors\"
caching = true
delivered = \"dropped\"

[overheads]
read_completion = \"0.113 ms\"
";

    #[test]
    fn values_are_shown_as_the_paper_shows_them() {
        let spec = Spec::parse(TEXT).unwrap();
        let shown = |name, decimals| spec.value(name, decimals).map(|value| value.shown);
        for (name, decimals, expected) in [
            ("capacity", 2, "1.05"),
            ("rpm", 0, "5360"),
            ("slipping", 0, "none"),
            ("sparing", 0, "sectors"),
            ("segment-kib", 1, "28.5"),
            ("read-ahead-kib", 1, "28.5"),
            ("reserved-cylinders", 0, "29"),
            ("overheads.read_completion", 2, "0.11"),
            ("overheads.write_completion", 2, "0.00"),
            ("buffer.caching", 0, "yes"),
            ("buffer.read_on_arrival", 0, "no"),
            ("buffer.delivered", 0, "dropped"),
            ("buffer.write_invalidates", 0, "segment"),
            ("geometry.surfaces", 0, "14"),
        ] {
            assert_eq!(shown(name, decimals).as_deref(), Some(expected), "{name}");
        }
        assert_eq!(shown("geometry.cylinders", 0), None);
        let zones = spec.zones();
        assert_eq!(zones[0], [0.0, 2598.0, 58.0, 0.0, 7.5, 0.0, 399.0, 0.0]);
    }
}
