//! What a study varies.

use std::collections::BTreeMap;

use crate::scalar::Scalar;
use crate::template::Names;

/// One thing that a study varies, and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its name in placeholders and selections.
    pub name: String,
    /// Its title in figures.
    pub title: String,
    /// The unit of its numbers, if any.
    pub unit: Option<String>,
    /// Its values in the order of the file; at least one.
    pub values: Vec<AxisValue>,
    /// Whether its values are traces that the command line gives.
    pub is_given: bool,
    /// The values that the study's short form leaves out.
    pub left_out: Vec<AxisValue>,
}

/// One value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisValue {
    /// What placeholders insert.
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

    /// Whether the short form leaves out the value written as `text`.
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

    /// Whether `text` is its label or its value.
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
