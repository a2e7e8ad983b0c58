//! What a study varies.

use std::collections::BTreeMap;

use crate::scalar::Scalar;
use crate::template::Names;

/// One thing that a study varies, and the values that it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What placeholders and selections call it.
    pub name: String,
    /// What figures call it.
    pub title: String,
    /// The unit of its numbers, if they have one.
    pub unit: Option<String>,
    /// In the order of the file, at least one.
    pub values: Vec<AxisValue>,
    /// Those that a study's short form leaves out.
    pub left_out: Vec<AxisValue>,
}

/// One value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisValue {
    /// What placeholders put in.
    pub value: Scalar,
    /// What people read.
    pub label: String,
    /// What else placeholders of this value can put in, by name.
    pub fields: BTreeMap<String, Scalar>,
}

impl Axis {
    /// The place of the value that is written as `text`, by label or by value.
    pub fn find(&self, text: &str) -> Option<usize> {
        self.values.iter().position(|value| value.is(text))
    }

    /// Whether the value that is written as `text` is one that the short form leaves out.
    pub fn leaves_out(&self, text: &str) -> bool {
        self.left_out.iter().any(|value| value.is(text))
    }

    /// The numbers of an axis that has nothing else.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.values.iter().map(|v| v.value.number()).collect()
    }
}

impl AxisValue {
    /// `value` alone, shown as it is written.
    pub(crate) fn plain(value: Scalar) -> Self {
        Self {
            label: value.to_string(),
            value,
            fields: BTreeMap::new(),
        }
    }

    /// Whether it is written as `text`, by label or by value.
    fn is(&self, text: &str) -> bool {
        self.label == text || self.value.to_string() == text
    }
}

/// Which value each axis has, by their places: where a cell lies.
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

/// Everything that placeholders of the cell at `point` stand for.
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
