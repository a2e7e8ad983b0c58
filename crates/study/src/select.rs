//! Selections: the cells that a figure or a claim covers.

use diskarm_core::text::InputError;

use crate::axis::{Axis, Point};
use crate::location::Location;
use crate::scalar::Scalar;

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

    /// Whether the cell at `point` is selected.
    pub fn has(&self, point: &Point) -> bool {
        self.0
            .iter()
            .all(|(axis, places)| places.contains(&point[*axis]))
    }

    /// Whether a cell with the value at `place` on the axis can be selected.
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

    /// Whether it names no axis, so that every cell is selected.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether each named axis has one value.
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
            match places.is_empty() {
                true => Err(at.error(value.to_string(), "a value that the short form keeps")),
                false => Ok(places),
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
    match places.is_empty() {
        true => Err(wrong()),
        false => Ok(places),
    }
}
