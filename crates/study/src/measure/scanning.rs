//! How the measure `scan` scans: the table `scan` of a cell.

use std::collections::BTreeMap;
use std::fmt::Display;

use diskarm_core::text::quantity;
use diskarm_core::units::Span;
use diskarm_scan::{Place, Settings};
use diskarm_simulate::{Model, System};

pub(crate) struct Scanning {
    /// The drive that the scheduler believes in, if it is another.
    pub believed: Option<Model>,
    pub place: Place,
    pub settings: Settings,
    /// Whether a pair is rebuilt with what is read.
    pub rebuild: bool,
}

/// The keys of the table, each a flag of `diskarm scan`.
const KEYS: &[&str] = &[
    "model",
    "inside",
    "depth",
    "conservatism",
    "max_slowdown",
    "any_track",
    "idle",
    "rebuild",
];

impl Scanning {
    /// As the table says, with `drive`. A key whose value is `none` is as good as absent.
    ///
    /// # Errors
    /// What is wrong with it, in a line.
    pub fn new(table: &BTreeMap<String, String>, drive: &System) -> Result<Self, String> {
        if let Some(stray) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(wrong(
                stray,
                "a value",
                &format!("one of {}", KEYS.join(", ")),
            ));
        }
        let table = Table(table);
        let place = table.place(drive)?;
        let settings = Settings {
            conservatism: table.time("conservatism")?.unwrap_or(place.conservatism()),
            one_per_track: !table.flag("any_track")?,
            idle: table.time("idle")?,
            max_slowdown: table.take("max_slowdown", "a percentage such as \"2 %\"", |text| {
                quantity::fraction(text).filter(|share| *share > 0.0)
            })?,
        };
        let rebuild = table.flag("rebuild")?;
        if rebuild && place == Place::Inside {
            return Err(wrong("rebuild", "true", "false, as it scans inside"));
        }
        Ok(Self {
            rebuild,
            believed: table.model(drive)?,
            place,
            settings,
        })
    }
}

struct Table<'a>(&'a BTreeMap<String, String>);

impl Table<'_> {
    /// The value of `key`, if it is there.
    fn take<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, String> {
        match self.0.get(key).filter(|text| *text != "none") {
            None => Ok(None),
            Some(text) => match read(text) {
                Some(value) => Ok(Some(value)),
                None => Err(wrong(key, text, expected)),
            },
        }
    }

    fn time(&self, key: &str) -> Result<Option<Span>, String> {
        let time = |text: &str| quantity::span(text).filter(|span| *span >= Span::ZERO);
        self.take(key, "a time such as \"0.3 ms\"", time)
    }

    fn flag(&self, key: &str) -> Result<bool, String> {
        let flag = self.take(key, "true or false", |text| text.parse().ok());
        Ok(flag?.unwrap_or(false))
    }

    fn place(&self, drive: &System) -> Result<Place, String> {
        let depth = |text: &str| text.parse().ok().filter(|depth| (1..=2).contains(depth));
        let depth: Option<usize> = self.take("depth", "1 or 2", depth)?;
        match (self.flag("inside")?, depth) {
            (true, None) => Ok(Place::Inside),
            (true, Some(depth)) => Err(wrong("depth", depth, "none, as it scans inside")),
            (false, depth) => {
                let (depth, max) = (depth.unwrap_or(1), drive.drive.spec.queue.depth);
                if depth > max as usize {
                    let expected = format!("at most {max}, the depth of the drive's queue");
                    return Err(wrong("depth", depth, &expected));
                }
                Ok(Place::Outside(depth))
            }
        }
    }

    fn model(&self, drive: &System) -> Result<Option<Model>, String> {
        let Some(name) = self.take("model", "", |text| Some(text.to_owned()))? else {
            return Ok(None);
        };
        let model = Model::substitute(drive.drive.disk(), &drive.name, &name, "cell.scan.model");
        model.map(Some).map_err(|error| error.to_string())
    }
}

fn wrong(key: &str, found: impl Display, expected: &str) -> String {
    format!("cell.scan.{key}: found {found}, expected {expected}")
}
