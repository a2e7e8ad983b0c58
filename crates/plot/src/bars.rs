//! Bars side by side, in groups.

use plotters::style::RGBColor;

use crate::frame::{Frame, Key, Layout, Legend, MAX_X_TICKS, Plot, fill_rectangle};
use crate::mark::{BAR_REFERENCE, LineStyle};
use crate::page::{Anchor, Area, DrawResult, GREY, Label, TEXT, drawing, in_pixels};
use crate::ruler::{Axis, Ruler, Tick};

/// A bar chart: groups of bars from zero upwards, one bar per series. Long text is wrapped.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    pub title: String,
    pub note: String,
    /// The name of the variable that distinguishes the groups.
    pub x: String,
    pub groups: Vec<BarGroup>,
    /// The vertical axis, which must be linear.
    pub y: Axis,
    /// The heading of the legend: what distinguishes the series. May be empty.
    pub series_heading: String,
    /// The bars of each group from left to right, in the order of the legend.
    pub series: Vec<BarSeries>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarGroup {
    /// The name shown below the axis. If there is not enough room, some names are left out.
    pub name: String,
    /// Vertical text in the middle of the group, such as the reason for a gap. May be empty.
    pub remark: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarSeries {
    pub label: String,
    /// The height of the bar in each group, at least 0. `None` leaves a gap.
    pub values: Vec<Option<f64>>,
    /// True for a reference, which is drawn in light grey.
    pub is_reference: bool,
}

const FILLED: f64 = 0.8;

impl Bars {
    /// Draws the chart. The same data always give the same output, byte for byte.
    pub fn svg(&self) -> String {
        let up = |ticks| {
            let values = self.series.iter().flat_map(|series| &series.values);
            // Bars start at zero, even if all values are far from it.
            Ruler::new(&self.y, values.copied().flatten().chain([0.0]), ticks)
        };
        let frame = Frame::new(
            Layout::Wide,
            [&self.title, &self.note],
            (&self.x, |ticks| self.x_ruler(ticks)),
            (&self.y.label, up),
            self.legend(),
        );
        let labels: Vec<&str> = self.series.iter().map(|s| s.label.as_str()).collect();
        let (y, x, labels, note) = (&self.y.label, &self.x, labels.join("; "), &self.note);
        let description = format!("{y} by {x}. Bars: {labels}. {note}");
        drawing(frame.page(), &self.title, &description, |page| {
            frame.draw(page, |page| {
                page.draw(|area| {
                    self.draw_bars(area, &frame)?;
                    self.draw_remarks(area, &frame.plot(area))
                });
            });
        })
    }

    /// Labels all groups if `ticks` is at its maximum, every second one at one less, and so on.
    fn x_ruler(&self, ticks: usize) -> Ruler {
        let groups = self.groups.len();
        let tick = |at: usize| Tick {
            fraction: self.middle(at),
            label: self.groups[at].name.clone(),
        };
        let step = (MAX_X_TICKS + 1).saturating_sub(ticks).max(1);
        let mut ruler = Ruler::with_ends([0.0, groups.max(1) as f64], 2);
        ruler.has_grid = false;
        ruler.ticks = (0..groups).step_by(step).map(tick).collect();
        ruler
    }

    fn middle(&self, group: usize) -> f64 {
        (group as f64 + 0.5) / self.groups.len() as f64
    }

    /// Returns the series with their colours. References do not use up colours of the palette.
    fn coloured(&self) -> impl Iterator<Item = (&BarSeries, RGBColor)> {
        let mut number = 0;
        self.series.iter().map(move |series| {
            if series.is_reference {
                return (series, BAR_REFERENCE);
            }
            number += 1;
            (series, LineStyle::new(number - 1).colour)
        })
    }

    fn legend(&self) -> Legend {
        let mut legend = Legend::default();
        if !self.series_heading.is_empty() {
            legend.add(Key::Heading, None, &self.series_heading);
        }
        for (series, colour) in self.coloured() {
            legend.add(Key::Area(colour), None, &series.label);
        }
        legend
    }

    fn draw_bars(&self, area: &Area, frame: &Frame) -> DrawResult {
        let plot = frame.plot(area);
        let width = FILLED / (self.series.len() * self.groups.len()).max(1) as f64;
        for (number, (series, colour)) in self.coloured().enumerate() {
            for (group, value) in series.values.iter().enumerate() {
                let Some(top) = value.and_then(|value| frame.y.fraction(value)) else {
                    continue;
                };
                let edge = (group as f64 + (1.0 - FILLED) / 2.0) / self.groups.len() as f64;
                let left = edge + number as f64 * width;
                let corners = [(left, 0.0), (left + width, top.min(1.0))];
                fill_rectangle(&plot, corners, colour)?;
            }
        }
        Ok(())
    }

    fn draw_remarks(&self, area: &Area, plot: &Plot) -> DrawResult {
        for (at, group) in self.groups.iter().enumerate() {
            let (x, y) = plot.map_coordinate(&(self.middle(at), 0.0));
            // Rotated text has its baseline on the right.
            let at = (in_pixels(x) + 0.36 * TEXT, in_pixels(y) - 8.0);
            let remark = Label {
                colour: GREY,
                is_rotated: true,
                ..Label::new(&group.remark, at, Anchor::Start)
            };
            remark.draw(area)?;
        }
        Ok(())
    }
}
