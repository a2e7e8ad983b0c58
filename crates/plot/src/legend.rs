//! The legend next to a plot.

use plotters::element::{PathElement, Rectangle};
use plotters::style::{Color, RGBColor};

use crate::font::lines;
use crate::mark::{LineStyle, arrow};
use crate::page::{Anchor, Area, DrawResult, INK, LEADING, Label, Page, TEXT, units, widest};

/// The widths of a line sample and of the widest text, in pixels, as all lengths here.
const SAMPLE: f64 = 28.0;
const TEXT_WIDTH: f64 = 190.0;
const GAP: f64 = 8.0;
/// The distance between entries.
const ENTRY_GAP: f64 = 5.0;

pub enum Key {
    Line(LineStyle),
    Arrow,
    Area(RGBColor),
    Heading,
}

struct LegendEntry {
    key: Key,
    series: Option<usize>,
    lines: Vec<String>,
}

/// Entries in a column.
#[derive(Default)]
pub struct Legend {
    entries: Vec<LegendEntry>,
}

impl Legend {
    /// Adds an entry; with the number of a series, that of one that can be hidden.
    pub fn add(&mut self, key: Key, series: Option<usize>, text: &str) {
        self.entries.push(LegendEntry {
            key,
            series,
            lines: lines(text, TEXT, TEXT_WIDTH),
        });
    }

    pub fn width(&self) -> f64 {
        if self.entries.is_empty() {
            return 0.0;
        }
        let texts = self.entries.iter().flat_map(|entry| &entry.lines);
        SAMPLE + GAP + widest(texts.map(String::as_str), TEXT)
    }

    pub fn height(&self) -> f64 {
        self.entries.iter().map(LegendEntry::height).sum()
    }

    /// Draws it with its upper left corner at the given position.
    pub fn draw(&self, page: &mut Page, (left, mut top): (f64, f64)) {
        for entry in &self.entries {
            let corner = (left, top);
            match entry.series {
                None => page.draw(|area| entry.draw(area, corner)),
                Some(series) => {
                    let attributes = [("class", "key"), ("data-series", &series.to_string())];
                    page.group(&attributes, |page| {
                        page.draw(|area| entry.draw(area, corner));
                    });
                }
            }
            top += entry.height();
        }
    }
}

impl LegendEntry {
    fn height(&self) -> f64 {
        LEADING * TEXT * self.lines.len().max(1) as f64 + ENTRY_GAP
    }

    fn draw(&self, area: &Area, (left, top): (f64, f64)) -> DrawResult {
        let middle = top + 0.5 * LEADING * TEXT;
        let centre = (units(left + SAMPLE / 2.0), units(middle));
        match &self.key {
            Key::Line(style) => {
                let ends = [left, left + SAMPLE].map(|x| (units(x), units(middle)));
                area.draw(&PathElement::new(ends.to_vec(), style.stroke()))?;
                style.mark(area, centre, 1.0)?;
            }
            Key::Arrow => arrow(area, (centre.0, units(middle + 12.0)), (0.0, 0.0), INK)?,
            Key::Area(colour) => {
                let corners = [(left, middle - 7.0), (left + SAMPLE, middle + 7.0)];
                let corners = corners.map(|(x, y)| (units(x), units(y)));
                area.draw(&Rectangle::new(corners, colour.filled()))?;
                area.draw(&Rectangle::new(corners, INK.stroke_width(5)))?;
            }
            Key::Heading => {}
        }
        let x = match self.key {
            Key::Heading => left,
            _ => left + SAMPLE + GAP,
        };
        for (i, text) in self.lines.iter().enumerate() {
            Label {
                text,
                at: (x, middle + 0.36 * TEXT + LEADING * TEXT * i as f64),
                size: TEXT,
                colour: INK,
                anchor: Anchor::Start,
                is_rotated: false,
            }
            .draw(area)?;
        }
        Ok(())
    }
}
