//! The axes of a study, and selections of their values.

use std::collections::BTreeMap;

use diskarm_core::text::InputError;

use crate::expression::{Location, Names, Scalar};

/// One thing that a study varies, and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its name in placeholders and selections.
    pub name: String,
    /// Its title in figures.
    pub title: String,
    /// The unit of its numbers.
    pub unit: Option<String>,
    /// Its values in the order of the file; at least one.
    pub values: Vec<AxisValue>,
    /// True if its values are traces that the command line gives.
    pub is_given: bool,
    /// The values that the study's short form leaves out.
    pub left_out: Vec<AxisValue>,
}

/// One value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisValue {
    /// The value that placeholders insert.
    pub value: Scalar,
    /// Its label in figures and tables.
    pub label: String,
    /// Further values that placeholders can insert, by name.
    pub fields: BTreeMap<String, Scalar>,
}

impl Axis {
    /// The index of the value written as `text`, by label or by value.
    pub fn find(&self, text: &str) -> Option<usize> {
        self.values.iter().position(|value| value.is(text))
    }

    /// Returns true if the short form leaves out the value written as `text`.
    pub fn leaves_out(&self, text: &str) -> bool {
        self.left_out.iter().any(|value| value.is(text))
    }

    /// Its values, if all are numbers.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.values.iter().map(|v| v.value.number()).collect()
    }

    /// Its title with its unit.
    pub fn with_unit(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{}, {unit}", self.title),
            None => self.title.clone(),
        }
    }
}

impl AxisValue {
    /// `value` without a label or fields of its own.
    pub(crate) fn plain(value: Scalar) -> Self {
        Self {
            label: value.to_string(),
            value,
            fields: BTreeMap::new(),
        }
    }

    /// Returns true if `text` is its label or its value.
    fn is(&self, text: &str) -> bool {
        self.label == text || self.value.to_string() == text
    }
}

/// The index of a cell's value on each axis.
pub type Point = Vec<usize>;

/// All points of these axes; the last axis varies first.
pub fn points(axes: &[Axis]) -> Vec<Point> {
    let mut points: Vec<Point> = vec![Vec::new()];
    for axis in axes {
        let longer = points.iter().flat_map(|point| {
            (0..axis.values.len()).map(move |place| {
                let mut longer = point.clone();
                longer.push(place);
                longer
            })
        });
        points = longer.collect();
    }
    points
}

/// The values of all placeholders in the cell at `point`.
pub(crate) fn names<'a>(axes: &'a [Axis], point: &Point) -> Names<'a> {
    let values = axes
        .iter()
        .zip(point)
        .map(|(axis, place)| (axis, &axis.values[*place]));
    values
        .flat_map(|(axis, value)| {
            let fields = value
                .fields
                .iter()
                .map(|(name, field)| (name.as_str(), field));
            fields.chain([(axis.name.as_str(), &value.value)])
        })
        .collect()
}

/// The labels of a point, as errors and tables show them: `policy = SSTF, rate = 40`.
pub fn describe(axes: &[Axis], point: &Point) -> String {
    describe_where(axes, point, |_| true)
}

/// The labels of a point on all axes but one.
pub(crate) fn describe_except(axes: &[Axis], point: &Point, except: usize) -> String {
    describe_where(axes, point, |axis| axis != except)
}

fn describe_where(axes: &[Axis], point: &Point, is_shown: impl Fn(usize) -> bool) -> String {
    let values = axes.iter().zip(point).enumerate();
    let shown = values.filter(|(axis, _)| is_shown(*axis));
    let labels =
        shown.map(|(_, (axis, place))| format!("{} = {}", axis.name, axis.values[*place].label));
    labels.collect::<Vec<String>>().join(", ")
}

/// The selected values of each named axis, by index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection(Vec<(usize, Vec<usize>)>);

impl Selection {
    /// Reads a table of axes: a value, a list of values, or `{ from, to }`.
    pub(crate) fn read(
        table: &toml::Table,
        axes: &[Axis],
        at: &Location,
    ) -> Result<Self, InputError> {
        let mut chosen = Vec::new();
        for (name, value) in table {
            let at = at.part(name);
            let number = axis_of(name, axes, &at)?;
            let places = places(value, &axes[number], &at)?;
            chosen.push((number, places));
        }
        chosen.sort_unstable();
        Ok(Self(chosen))
    }

    /// Returns true if the cell at `point` is selected.
    pub fn has(&self, point: &Point) -> bool {
        self.0
            .iter()
            .all(|(axis, places)| places.contains(&point[*axis]))
    }

    /// Returns true if a cell with the value at `place` on the axis can be selected.
    pub fn keeps(&self, axis: usize, place: usize) -> bool {
        let named = self.0.iter().find(|(named, _)| *named == axis);
        named.is_none_or(|(_, places)| places.contains(&place))
    }

    /// Replaces the value of each selected axis in `point`. Returns `None` if several values of an
    /// axis are selected.
    pub fn counterpart(&self, point: &Point) -> Option<Point> {
        let mut moved = point.clone();
        for (axis, places) in &self.0 {
            let [only] = places[..] else { return None };
            moved[*axis] = only;
        }
        Some(moved)
    }

    /// The named axes, by index.
    pub fn axes(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|(axis, _)| *axis)
    }

    /// Returns true if it names no axis, so that every cell is selected.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if each named axis has one value.
    pub fn is_single(&self) -> bool {
        self.0.iter().all(|(_, places)| places.len() == 1)
    }

    /// The labels of the selected values.
    pub fn label(&self, axes: &[Axis]) -> String {
        let labels = self.0.iter().map(|(axis, places)| {
            let labels: Vec<&str> = places
                .iter()
                .map(|place| axes[*axis].values[*place].label.as_str())
                .collect();
            labels.join(", ")
        });
        labels.collect::<Vec<String>>().join("; ")
    }
}

/// The index of the axis called `name`.
pub(crate) fn axis_of(name: &str, axes: &[Axis], at: &Location) -> Result<usize, InputError> {
    let place = axes.iter().position(|axis| axis.name == name);
    place.ok_or_else(|| {
        let known: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        at.unknown(name, "an axis", &known)
    })
}

/// The indices on `axis` that `value` selects.
pub(crate) fn places(
    value: &toml::Value,
    axis: &Axis,
    at: &Location,
) -> Result<Vec<usize>, InputError> {
    match value {
        toml::Value::Array(values) if values.is_empty() => {
            Err(at.error("none", "at least one value"))
        }
        toml::Value::Array(values) => {
            let is_kept = |value: &&toml::Value| {
                let text = Scalar::of(value).map(|scalar| scalar.to_string());
                !text.is_some_and(|text| axis.leaves_out(&text))
            };
            let kept = values.iter().filter(is_kept);
            let places: Vec<usize> = kept
                .map(|value| place(value, axis, at))
                .collect::<Result<_, _>>()?;
            if places.is_empty() {
                Err(at.error(value.to_string(), "a value that the short form keeps"))
            } else {
                Ok(places)
            }
        }
        toml::Value::Table(range) => within(range, axis, at),
        value => place(value, axis, at).map(|place| vec![place]),
    }
}

fn place(value: &toml::Value, axis: &Axis, at: &Location) -> Result<usize, InputError> {
    let text = Scalar::of(value).map(|scalar| scalar.to_string());
    let found = text.as_ref().and_then(|text| axis.find(text));
    found.ok_or_else(|| {
        let labels: Vec<&str> = axis.values.iter().map(|v| v.label.as_str()).collect();
        let what = format!("a value of axis {:?}", axis.name);
        match &text {
            Some(text) => at.unknown(text, &what, &labels),
            None => at.error(value.to_string(), what),
        }
    })
}

/// The numbers of an axis from `from` to `to`, both included; at least one.
fn within(range: &toml::Table, axis: &Axis, at: &Location) -> Result<Vec<usize>, InputError> {
    let wrong = || {
        let expected = "numbers { from, to } that hold a value of this axis";
        at.error(toml::Value::Table(range.clone()).to_string(), expected)
    };
    let mut ends = [f64::NEG_INFINITY, f64::INFINITY];
    for (key, value) in range {
        let end = match key.as_str() {
            "from" => &mut ends[0],
            "to" => &mut ends[1],
            _ => return Err(wrong()),
        };
        *end = Scalar::of(value)
            .and_then(|s| s.number())
            .ok_or_else(wrong)?;
    }
    let numbers = axis.numbers().ok_or_else(wrong)?;
    let inside = |(_, number): &(usize, &f64)| (ends[0]..=ends[1]).contains(*number);
    let places: Vec<usize> = numbers
        .iter()
        .enumerate()
        .filter(inside)
        .map(|(p, _)| p)
        .collect();
    if places.is_empty() {
        Err(wrong())
    } else {
        Ok(places)
    }
}
