//! Maps: values over an area, shown as bands of colour.

use plotters::style::RGBColor;

use crate::frame::{Frame, Key, Layout, Legend, Plot, fill_rectangle};
use crate::mark::rgb;
use crate::page::{DrawResult, Page, drawing};
use crate::ruler::{Ruler, rounded};

/// A map of cells, each in the colour of its value's band.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    pub title: String,
    pub note: String,
    pub x: MapAxis,
    pub y: MapAxis,
    /// The heading of the legend: the quantity, with its unit.
    pub values: String,
    /// The bounds between bands, in ascending order; a value equal to a bound is in the band above.
    pub bounds: Vec<f64>,
    /// The values, in rows of equal length from bottom to top. NaN is shown in white.
    pub rows: Vec<Vec<f64>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MapAxis {
    pub label: String,
    /// The edges of the cells, in ascending order; at least two.
    pub edges: Vec<f64>,
}

impl MapAxis {
    fn ends(&self) -> [f64; 2] {
        let ends = self.edges.first().zip(self.edges.last());
        let (from, to) = ends.expect("an axis has edges");
        [*from, *to]
    }

    /// Returns the start and end of each cell, as fractions of the side.
    fn cells(&self) -> impl Iterator<Item = [f64; 2]> {
        let [from, to] = self.ends();
        let fraction = move |edge: f64| (edge - from) / (to - from);
        let cells = self.edges.windows(2);
        cells.map(move |cell| [fraction(cell[0]), fraction(cell[1])])
    }
}

/// Colours from the smallest to the largest value, with decreasing lightness, so that the order is
/// visible in grey. They are from "viridis" by van der Walt and Smith (2015), in the public domain.
const COLOURS: [u32; 5] = [0xfde725, 0x5ec962, 0x21918c, 0x3b528b, 0x440154];

/// The overlap of cells, as a fraction of an axis: about half a pixel.
const OVERLAP: f64 = 0.001;

impl Map {
    pub fn svg(&self) -> String {
        self.draw(Layout::Wide)
    }

    /// Draws the map for narrow screens: 360 pixels wide, with the legend below.
    pub fn narrow_svg(&self) -> String {
        self.draw(Layout::Narrow)
    }

    fn draw(&self, layout: Layout) -> String {
        let axis = |side: &MapAxis| {
            let ends = side.ends();
            move |ticks| Ruler::with_ends(ends, ticks)
        };
        let frame = Frame::new(
            layout,
            [&self.title, &self.note],
            (&self.x.label, axis(&self.x)),
            (&self.y.label, axis(&self.y)),
            self.legend(),
        );
        let (values, x, y) = (&self.values, &self.x.label, &self.y.label);
        let (bands, note) = (self.bands(), &self.note);
        let description = format!("{values} over {x} and {y}, in {bands} bands. {note}");
        drawing(frame.page(), &self.title, &description, |page| {
            frame.draw(page, |page| {
                page.draw(|area| self.draw_cells(&frame.plot(area)));
                self.mark_cells(page, &frame);
            });
        })
    }

    fn bands(&self) -> usize {
        self.bounds.len() + 1
    }

    fn band(&self, value: f64) -> Option<usize> {
        let below = self.bounds.partition_point(|&bound| bound <= value);
        (!value.is_nan()).then_some(below)
    }

    fn colour(&self, band: usize) -> RGBColor {
        let steps = COLOURS.len() - 1;
        let position = (band * steps) as f64 / (self.bands() - 1).max(1) as f64;
        let from = (position as usize).min(steps - 1);
        let [low, high] = [0, 1].map(|k| rgb(COLOURS[from + k]));
        let channel = |low: u8, high: u8| {
            let (low, high) = (f64::from(low), f64::from(high));
            (low + (position - from as f64) * (high - low)).round() as u8
        };
        RGBColor(
            channel(low.0, high.0),
            channel(low.1, high.1),
            channel(low.2, high.2),
        )
    }

    fn legend(&self) -> Legend {
        let mut legend = Legend::default();
        legend.add(Key::Heading, None, &self.values);
        for band in (0..self.bands()).rev() {
            let from = band.checked_sub(1).map(|below| self.bounds[below]);
            let text = match (from, self.bounds.get(band)) {
                (Some(from), Some(to)) => format!("{from} to {to}"),
                (Some(from), None) => format!("{from} or more"),
                (None, Some(to)) => format!("less than {to}"),
                (None, None) => "all".to_owned(),
            };
            legend.add(Key::Area(self.colour(band)), None, &text);
        }
        legend
    }

    /// Adds a point with its values in the middle of each cell.
    fn mark_cells(&self, page: &mut Page, frame: &Frame) {
        let middle =
            |side: &MapAxis, cell: usize| f64::midpoint(side.edges[cell], side.edges[cell + 1]);
        let attributes = [("class", "series"), ("data-label", self.values.as_str())];
        page.group(&attributes, |page| {
            for (row, [bottom, top]) in self.rows.iter().zip(self.y.cells()) {
                for (column, (value, [left, right])) in row.iter().zip(self.x.cells()).enumerate() {
                    if value.is_nan() {
                        continue;
                    }
                    let at = (f64::midpoint(left, right), f64::midpoint(bottom, top));
                    let (x, y) = frame.page_position(at);
                    let attributes = [
                        ("class", "point"),
                        ("data-at", &format!("{x} {y}")),
                        ("data-x", &rounded(middle(&self.x, column), None)),
                        ("data-y", &rounded(*value, None)),
                    ];
                    page.group(&attributes, |_| {});
                }
            }
        });
    }

    /// Draws the cells. Adjacent cells of a row in the same band become one rectangle.
    fn draw_cells(&self, plot: &Plot) -> DrawResult {
        for (values, [bottom, top]) in self.rows.iter().zip(self.y.cells()) {
            let bands = values.iter().map(|value| self.band(*value));
            let cells: Vec<_> = bands.zip(self.x.cells()).collect();
            for run in cells.chunk_by(|one, next| one.0 == next.0) {
                let (first, last) = (run[0], run[run.len() - 1]);
                let (from, to) = ((first.1[0], bottom), (last.1[1], top));
                // Extends slightly into the next cells, which are drawn on top, to avoid seams.
                let to = (f64::min(to.0 + OVERLAP, 1.0), f64::min(to.1 + OVERLAP, 1.0));
                if let Some(band) = first.0 {
                    fill_rectangle(plot, [from, to], self.colour(band))?;
                }
            }
        }
        Ok(())
    }
}
