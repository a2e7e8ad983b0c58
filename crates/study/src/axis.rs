//! The axes of a study, and selections of their values.

use std::collections::BTreeMap;

use diskarm_core::text::InputError;

use crate::expression::{Location, Names, Scalar};

/// A quantity or setting that a study varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The name in placeholders and selections.
    pub name: String,
    pub title: String,
    pub unit: Option<String>,
    /// The values, at least one, in the order of the file.
    pub values: Vec<AxisValue>,
    /// True if its values are traces from the command line.
    pub is_given: bool,
    /// The values that the study's short form leaves out.
    pub left_out: Vec<AxisValue>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AxisValue {
    /// The value that placeholders insert.
    pub value: Scalar,
    pub label: String,
    /// Further values that placeholders can insert, by name.
    pub fields: BTreeMap<String, Scalar>,
}

impl Axis {
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.values.iter().map(|v| v.value.number()).collect()
    }

    pub fn with_unit(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{}, {unit}", self.title),
            None => self.title.clone(),
        }
    }
}

impl AxisValue {
    /// Returns an axis value without fields, whose label is `value` itself.
    pub fn plain(value: Scalar) -> Self {
        Self {
            label: value.to_string(),
            value,
            fields: BTreeMap::new(),
        }
    }

    fn matches(&self, text: &str) -> bool {
        self.label == text || self.value.to_string() == text
    }
}

/// The index of a cell's value on each axis.
pub type Point = Vec<usize>;

/// Returns all points of these axes; the last axis varies fastest.
pub fn points(axes: &[Axis]) -> Vec<Point> {
    let mut points: Vec<Point> = vec![Vec::new()];
    for axis in axes {
        let longer = points.iter().flat_map(|point| {
            let indices = 0..axis.values.len();
            indices.map(|index| [&point[..], &[index]].concat())
        });
        points = longer.collect();
    }
    points
}

/// Returns the values of all placeholders in the cell at `point`.
pub fn names<'a>(axes: &'a [Axis], point: &Point) -> Names<'a> {
    let values = axes.iter().zip(point).flat_map(|(axis, index)| {
        let value = &axis.values[*index];
        let fields = value
            .fields
            .iter()
            .map(|(name, field)| (name.as_str(), field));
        fields.chain([(axis.name.as_str(), &value.value)])
    });
    values.collect()
}

/// Returns the labels of a point, as errors and tables show them: `policy = SSTF, rate = 40`.
pub fn describe(axes: &[Axis], point: &Point) -> String {
    describe_except(axes, point, usize::MAX)
}

pub fn describe_except(axes: &[Axis], point: &Point, except: usize) -> String {
    let values = axes.iter().zip(point).enumerate();
    let values = values.filter(|(axis, _)| *axis != except);
    let labels =
        values.map(|(_, (axis, index))| format!("{} = {}", axis.name, axis.values[*index].label));
    labels.collect::<Vec<String>>().join(", ")
}

/// The selected values of each named axis, by index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection(Vec<(usize, Vec<usize>)>);

impl Selection {
    /// Reads a table that selects a value, a list of values or a range `{ from, to }` per axis.
    pub fn read(table: &toml::Table, axes: &[Axis], at: &Location) -> Result<Self, InputError> {
        let mut selected = Vec::new();
        for (name, value) in table {
            let at = at.part(name);
            let number = axis_of(name, axes, &at)?;
            selected.push((number, indices(value, &axes[number], &at)?));
        }
        selected.sort_unstable();
        Ok(Self(selected))
    }

    pub fn contains(&self, point: &Point) -> bool {
        let mut axes = self.0.iter();
        axes.all(|(axis, indices)| indices.contains(&point[*axis]))
    }

    /// Returns true if a cell with value `index` of the axis can be selected.
    pub fn keeps(&self, axis: usize, index: usize) -> bool {
        let named = self.0.iter().find(|(named, _)| *named == axis);
        named.is_none_or(|(_, indices)| indices.contains(&index))
    }

    /// Returns `point` with the selected value on each axis; `None` if an axis has several.
    pub fn counterpart(&self, point: &Point) -> Option<Point> {
        let mut moved = point.clone();
        for (axis, indices) in &self.0 {
            let [only] = indices[..] else { return None };
            moved[*axis] = only;
        }
        Some(moved)
    }

    /// Returns true if it names no axis, so that every cell is selected.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    pub fn is_single(&self) -> bool {
        self.0.iter().all(|(_, indices)| indices.len() == 1)
    }

    pub fn label(&self, axes: &[Axis]) -> String {
        let labels = self.0.iter().map(|(axis, indices)| {
            let label = |index: &usize| axes[*axis].values[*index].label.as_str();
            Vec::from_iter(indices.iter().map(label)).join(", ")
        });
        labels.collect::<Vec<String>>().join("; ")
    }
}

pub fn axis_of(name: &str, axes: &[Axis], at: &Location) -> Result<usize, InputError> {
    let index = axes.iter().position(|axis| axis.name == name);
    index.ok_or_else(|| {
        let known: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        at.unknown(name, "an axis", &known)
    })
}

pub fn indices(value: &toml::Value, axis: &Axis, at: &Location) -> Result<Vec<usize>, InputError> {
    let values = match value {
        toml::Value::Array(values) if values.is_empty() => {
            return Err(at.error("none", "at least one value"));
        }
        toml::Value::Array(values) => values,
        toml::Value::Table(range) => return indices_within(range, axis, at),
        value => return index_of(value, axis, at).map(|index| vec![index]),
    };
    let is_kept = |value: &&toml::Value| {
        let text = Scalar::new(value).map(|scalar| scalar.to_string());
        !text.is_some_and(|text| axis.left_out.iter().any(|value| value.matches(&text)))
    };
    let kept = values.iter().filter(is_kept);
    let indices = kept.map(|value| index_of(value, axis, at));
    match indices.collect::<Result<Vec<_>, _>>()? {
        none if none.is_empty() => Err(at.error(value, "a value that the short form keeps")),
        indices => Ok(indices),
    }
}

fn index_of(value: &toml::Value, axis: &Axis, at: &Location) -> Result<usize, InputError> {
    let text = Scalar::new(value).map(|scalar| scalar.to_string());
    let position = |text: &String| axis.values.iter().position(|value| value.matches(text));
    text.as_ref().and_then(position).ok_or_else(|| {
        let labels: Vec<&str> = axis.values.iter().map(|v| v.label.as_str()).collect();
        let what = format!("a value of axis {:?}", axis.name);
        match &text {
            Some(text) => at.unknown(text, &what, &labels),
            None => at.error(value, what),
        }
    })
}

/// Returns the indices of the values from `from` to `to`, both included. Fails if there are none.
fn indices_within(
    range: &toml::Table,
    axis: &Axis,
    at: &Location,
) -> Result<Vec<usize>, InputError> {
    let wrong = || {
        let expected = "numbers { from, to } with a value of this axis between them";
        at.error(toml::Value::Table(range.clone()), expected)
    };
    let [mut from, mut to] = [f64::NEG_INFINITY, f64::INFINITY];
    for (key, value) in range {
        let end = match key.as_str() {
            "from" => &mut from,
            "to" => &mut to,
            _ => return Err(wrong()),
        };
        let number = Scalar::new(value).and_then(|scalar| scalar.number());
        *end = number.ok_or_else(wrong)?;
    }
    let numbers = axis.numbers().ok_or_else(wrong)?;
    let mut indices: Vec<usize> = (0..numbers.len()).collect();
    indices.retain(|index| (from..=to).contains(&numbers[*index]));
    if indices.is_empty() {
        return Err(wrong());
    }
    Ok(indices)
}
