//! The planes of a study that a figure or table shows: one for each combination of values of the
//! axes that it does not name.

use crate::axis::{Axis, Point, points};
use crate::select::Selection;

/// Some cells of a study that lie in one plane, or along one axis.
pub struct Plane<const N: usize> {
    /// What they share: `Drive: HP C2247, ...`; empty if there are no other axes.
    pub label: String,
    /// The labels of the values that they share.
    pub words: Vec<String>,
    /// The indices of the selected values along each axis.
    pub along: [Vec<usize>; N],
    /// A point in the plane.
    origin: Point,
    axes: [usize; N],
}

impl<const N: usize> Plane<N> {
    /// All planes along `axes` with a cell in `cells`, in the order of the study.
    pub fn all(study_axes: &[Axis], axes: [usize; N], cells: &Selection) -> Vec<Self> {
        let chosen: Vec<Point> = points(study_axes)
            .into_iter()
            .filter(|point| cells.has(point))
            .collect();
        let mut planes: Vec<Self> = Vec::new();
        for point in chosen {
            let mut origin = point.clone();
            axes.iter().for_each(|axis| origin[*axis] = 0);
            let plane = match planes.iter_mut().find(|plane| plane.origin == origin) {
                Some(plane) => plane,
                None => {
                    planes.push(Self::at(origin, study_axes, axes));
                    planes.last_mut().expect("it was just put there")
                }
            };
            for (places, axis) in plane.along.iter_mut().zip(axes) {
                if !places.contains(&point[axis]) {
                    places.push(point[axis]);
                }
            }
        }
        planes
    }

    fn at(origin: Point, study_axes: &[Axis], axes: [usize; N]) -> Self {
        let shared = study_axes.iter().zip(&origin).enumerate();
        let shared =
            shared.filter(|(number, (axis, _))| !axes.contains(number) && axis.values.len() > 1);
        let shared: Vec<(&str, &str)> = shared
            .map(|(_, (axis, place))| (axis.title.as_str(), axis.values[*place].label.as_str()))
            .collect();
        let label = shared
            .iter()
            .map(|(title, value)| format!("{title}: {value}"));
        Self {
            label: label.collect::<Vec<String>>().join("; "),
            words: shared
                .iter()
                .map(|(_, value)| (*value).to_owned())
                .collect(),
            along: [const { Vec::new() }; N],
            origin,
            axes,
        }
    }

    /// The cell at these indices along the axes.
    pub fn point(&self, places: [usize; N]) -> Point {
        let mut point = self.origin.clone();
        for (axis, place) in self.axes.into_iter().zip(places) {
            point[axis] = place;
        }
        point
    }

    /// A title with what the cells share.
    pub fn titled(&self, title: &str) -> String {
        match self.label.as_str() {
            "" => title.to_owned(),
            label => format!("{title} ({label})"),
        }
    }
}
