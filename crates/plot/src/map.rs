//! A value at every place of an area, in bands of colour.

use plotters::style::RGBColor;

use crate::frame::{Frame, Plot, Sheet, filled};
use crate::legend::{Key, Legend};
use crate::page::{Drawn, drawing};
use crate::ruler::Ruler;

/// A map of cells, each in the colour of the band that its value lies in.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Above the plot.
    pub title: String,
    /// Below the title, smaller.
    pub note: String,
    /// Along the bottom.
    pub x: Side,
    /// Upright.
    pub y: Side,
    /// What the values are, with their unit: the heading of the legend.
    pub values: String,
    /// Where one band ends and the next begins, ascending: a value on a bound lies above it.
    pub bounds: Vec<f64>,
    /// The values, in rows from the bottom to the top, each from left to right and as long as
    /// the others. What is not a number stays white.
    pub rows: Vec<Vec<f64>>,
}

/// A side of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// What it measures, with its unit.
    pub label: String,
    /// Where its cells begin and, the last, where the last of them ends: ascending, at least two.
    pub rims: Vec<f64>,
}

impl Side {
    /// Its first and its last rim.
    fn ends(&self) -> [f64; 2] {
        let ends = self.rims.first().zip(self.rims.last());
        let (from, to) = ends.expect("a side has rims");
        [*from, *to]
    }

    /// Its cells, from where to where on the way from 0 to 1.
    fn cells(&self) -> impl Iterator<Item = [f64; 2]> {
        let [from, to] = self.ends();
        let share = move |rim: f64| (rim - from) / (to - from);
        self.rims
            .windows(2)
            .map(move |cell| [share(cell[0]), share(cell[1])])
    }
}

/// From the least to the largest: lightness falls all the way, so that the order is seen in
/// grey too. Places on "viridis" by van der Walt and Smith (2015), which they gave to the public.
const COLOURS: [[u8; 3]; 5] = [
    [0xfd, 0xe7, 0x25],
    [0x5e, 0xc9, 0x62],
    [0x21, 0x91, 0x8c],
    [0x3b, 0x52, 0x8b],
    [0x44, 0x01, 0x54],
];

/// Of the way along an axis: about half a pixel.
const OVERLAP: f64 = 0.001;

impl Map {
    /// The drawing. The same map gives the same bytes.
    pub fn svg(&self) -> String {
        self.drawn(Sheet::Wide)
    }

    /// The drawing for pages as narrow as a hand: 360 pixels, with the legend below.
    pub fn narrow_svg(&self) -> String {
        self.drawn(Sheet::Narrow)
    }

    fn drawn(&self, sheet: Sheet) -> String {
        let axis = |side: &Side| {
            let ends = side.ends();
            move |ticks| Ruler::between(ends, ticks)
        };
        let frame = Frame::new(
            sheet,
            [&self.title, &self.note],
            (&self.x.label, axis(&self.x)),
            (&self.y.label, axis(&self.y)),
            self.legend(),
        );
        let says = format!(
            "{} over {} and {}, in {} bands. {}",
            self.values,
            self.x.label,
            self.y.label,
            self.bands(),
            self.note
        );
        drawing(frame.page(), &self.title, &says, |area| {
            frame.draw(area, |plot| self.draw_cells(plot))
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
        let way = (band * steps) as f64 / (self.bands() - 1).max(1) as f64;
        let from = (way as usize).min(steps - 1);
        let part = |i: usize| {
            let [low, high] = [0, 1].map(|k| f64::from(COLOURS[from + k][i]));
            (low + (way - from as f64) * (high - low)).round() as u8
        };
        RGBColor(part(0), part(1), part(2))
    }

    fn legend(&self) -> Legend {
        let mut legend = Legend::default();
        legend.add(Key::Heading, &self.values);
        for band in (0..self.bands()).rev() {
            let from = band.checked_sub(1).map(|below| self.bounds[below]);
            let text = match (from, self.bounds.get(band)) {
                (Some(from), Some(to)) => format!("{from} to {to}"),
                (Some(from), None) => format!("{from} and more"),
                (None, Some(to)) => format!("less than {to}"),
                (None, None) => "all".to_owned(),
            };
            legend.add(Key::Area(self.colour(band)), &text);
        }
        legend
    }

    /// Neighbours in a row that share a band are one rectangle.
    fn draw_cells(&self, plot: &Plot) -> Drawn {
        for (values, [bottom, top]) in self.rows.iter().zip(self.y.cells()) {
            let cells = values.iter().map(|value| self.band(*value));
            let cells: Vec<_> = cells.zip(self.x.cells()).collect();
            for run in cells.chunk_by(|one, next| one.0 == next.0) {
                let (first, last) = (run[0], run[run.len() - 1]);
                let (from, to) = ((first.1[0], bottom), (last.1[1], top));
                // A little into the next ones, which are drawn over it: no seams to be seen.
                let to = (f64::min(to.0 + OVERLAP, 1.0), f64::min(to.1 + OVERLAP, 1.0));
                if let Some(band) = first.0 {
                    filled(plot, [from, to], self.colour(band))?;
                }
            }
        }
        Ok(())
    }
}
