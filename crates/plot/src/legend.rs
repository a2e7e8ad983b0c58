//! What stands beside a plot and says what is what.

use plotters::element::{PathElement, Rectangle};
use plotters::style::{Color, RGBColor};

use crate::font::lines;
use crate::mark::{Look, arrow};
use crate::page::{Anchor, Area, Drawn, INK, LEADING, Label, TEXT, units, widest};

/// Pixels, as everything here: of a line's sample, and of the widest text beside it.
const SAMPLE: f64 = 28.0;
const TEXT_WIDTH: f64 = 190.0;
const GAP: f64 = 8.0;
/// Between entries.
const BETWEEN: f64 = 5.0;

pub enum Key {
    Line(Look),
    Arrow,
    Area(RGBColor),
    /// Only words.
    Heading,
}

struct Entry {
    key: Key,
    lines: Vec<String>,
}

/// Entries, one below the other.
#[derive(Default)]
pub struct Legend {
    entries: Vec<Entry>,
}

impl Legend {
    pub fn add(&mut self, key: Key, text: &str) {
        self.entries.push(Entry {
            key,
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
        self.entries.iter().map(Entry::height).sum()
    }

    /// With its upper left corner there.
    pub fn draw(&self, area: &Area, (left, mut top): (f64, f64)) -> Drawn {
        for entry in &self.entries {
            entry.draw(area, (left, top))?;
            top += entry.height();
        }
        Ok(())
    }
}

impl Entry {
    fn height(&self) -> f64 {
        LEADING * TEXT * self.lines.len().max(1) as f64 + BETWEEN
    }

    fn draw(&self, area: &Area, (left, top): (f64, f64)) -> Drawn {
        let middle = top + 0.5 * LEADING * TEXT;
        let centre = (units(left + SAMPLE / 2.0), units(middle));
        match &self.key {
            Key::Line(look) => {
                let ends = [left, left + SAMPLE].map(|x| (units(x), units(middle)));
                area.draw(&PathElement::new(ends.to_vec(), look.stroke()))?;
                look.mark(area, centre)?;
            }
            Key::Arrow => arrow(area, (centre.0, units(middle + 12.0)), INK)?,
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
                is_turned: false,
            }
            .draw(area)?;
        }
        Ok(())
    }
}
