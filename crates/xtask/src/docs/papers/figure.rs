//! A paper's printed numbers and ours on one axis.

use diskarm_plot::{Axis, Figure, Point, Series};

use super::study::Claim;

/// A claim with a printed number, and both numbers relative to the printed one.
pub struct Comparison<'c> {
    pub claim: &'c Claim,
    /// Bounds of the printed number.
    pub theirs: [f64; 2],
    /// The range of our numbers with their intervals; `None` if a cell is saturated.
    pub ours: Option<[f64; 2]>,
}

impl<'c> Comparison<'c> {
    /// Returns the `claims` for which the paper prints a number.
    pub fn all(claims: impl Iterator<Item = &'c Claim>) -> Vec<Self> {
        let printed = claims.filter_map(|claim| {
            let [low, high] = claim.printed_bounds()?;
            let middle = (low + high) / 2.0;
            let relative = |ends: [f64; 2]| ends.map(|end| end / middle);
            Some(Self {
                claim,
                theirs: relative([low, high]),
                ours: claim.range().map(relative),
            })
        });
        printed.collect()
    }
}

/// Draws the numbers at 1, 2, 3 and so on along the horizontal axis, in the order of the table.
pub fn draw(name: &str, numbers: &[Comparison<'_>]) -> String {
    let theirs = numbers.iter().map(|number| Some(number.theirs));
    let ours = numbers.iter().map(|number| number.ours);
    let title = format!("The printed numbers of {name} and ours");
    let note = format!(
        "Each relative to the printed number. Vertical lines show the bounds of the printed \
         number, and the range of our numbers with their 95 % intervals. Our numbers are not shown \
         where a cell is saturated or above {MAX}."
    );
    let x = Axis::linear("Number in the table");
    let y = Axis::linear("Multiple of the printed number").with_max(MAX);
    let series = vec![
        series("printed", 0.0, theirs),
        series("ours", OURS_OFFSET, ours),
    ];
    Figure::new(&title, &note, [x, y], series).svg()
}

/// The largest multiple that is drawn.
const MAX: f64 = 1.5;

/// The distance of our number to the right of the printed one.
const OURS_OFFSET: f64 = 0.25;

/// Returns points that are not connected, each moved by `by` to the right.
fn series(label: &str, by: f64, ends: impl Iterator<Item = Option<[f64; 2]>>) -> Series {
    let points = (1..).zip(ends).flat_map(|(number, ends)| {
        let [low, high] = ends.unwrap_or([f64::NAN; 2]);
        let x = f64::from(number) + by;
        let point = Point::new(x, (low + high) / 2.0);
        let gap = Point::new(x, f64::NAN);
        [point.with_half_width((high - low) / 2.0), gap]
    });
    Series {
        label: label.to_owned(),
        points: points.collect(),
        ..Series::default()
    }
}
