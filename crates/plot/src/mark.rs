//! Distinguishes lines by colour and by the shape of their marks.

use plotters::element::{Circle, EmptyElement, PathElement, Polygon};
use plotters::style::{Color, RGBColor, ShapeStyle, WHITE};

use crate::page::{Area, DrawResult, pixels, units};

/// Distinguishable with colour blindness; adjacent ones differ in lightness. The first seven except
/// black are from Okabe and Ito, "Color Universal Design" (2008), without their yellow, which is
/// hard to see on white; the rest are from Tol's "muted" scheme.
const COLOURS: [RGBColor; 12] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0x1a, 0x1a, 0x1a),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x88, 0x22, 0x55),
    RGBColor(0x99, 0x99, 0x33),
    RGBColor(0x33, 0x22, 0x88),
    RGBColor(0x88, 0x5a, 0x36),
    RGBColor(0x7d, 0x7d, 0x7d),
];

/// Corners or strokes relative to a centre, in tenths of pixels; `y` grows downwards.
enum Shape {
    Disc,
    Filled(&'static [(i32, i32)]),
    Hollow(&'static [(i32, i32)]),
    Strokes(&'static [[(i32, i32); 2]]),
}

const SQUARE: &[(i32, i32)] = &[(-33, -33), (33, -33), (33, 33), (-33, 33)];
const UPWARD: &[(i32, i32)] = &[(0, -46), (42, 28), (-42, 28)];
const DOWNWARD: &[(i32, i32)] = &[(0, 46), (42, -28), (-42, -28)];
const DIAMOND: &[(i32, i32)] = &[(0, -48), (42, 0), (0, 48), (-42, 0)];
const HEXAGON: &[(i32, i32)] = &[
    (-20, -35),
    (20, -35),
    (40, 0),
    (20, 35),
    (-20, 35),
    (-40, 0),
];

const SHAPES: [Shape; 12] = [
    Shape::Disc,
    Shape::Filled(SQUARE),
    Shape::Filled(UPWARD),
    Shape::Filled(DIAMOND),
    Shape::Filled(DOWNWARD),
    Shape::Strokes(&[[(-34, -34), (34, 34)], [(-34, 34), (34, -34)]]),
    Shape::Strokes(&[[(-44, 0), (44, 0)], [(0, -44), (0, 44)]]),
    Shape::Hollow(SQUARE),
    Shape::Hollow(UPWARD),
    Shape::Hollow(DIAMOND),
    Shape::Hollow(HEXAGON),
    Shape::Hollow(DOWNWARD),
];

/// The style of a line.
#[derive(Clone, Copy)]
pub struct LineStyle {
    pub colour: RGBColor,
    /// In pixels.
    pub width: f64,
    /// An index in [`SHAPES`].
    shape: Option<usize>,
}

impl LineStyle {
    /// The style of line `number`. Pairs of colour and shape repeat after 144 lines.
    pub fn of(number: usize) -> Self {
        let round = number / COLOURS.len();
        Self {
            colour: COLOURS[number % COLOURS.len()],
            width: 1.6,
            shape: Some((number + round) % SHAPES.len()),
        }
    }

    /// The style of a reference line: broad and light, so that both lines are visible where they
    /// coincide.
    pub fn of_reference(number: usize) -> Self {
        let RGBColor(r, g, b) = COLOURS[number % COLOURS.len()];
        let lighter = |channel: u8| 255 - ((255 - u16::from(channel)) * 45 / 100) as u8;
        Self {
            colour: RGBColor(lighter(r), lighter(g), lighter(b)),
            width: 5.0,
            shape: None,
        }
    }

    pub fn stroke(&self) -> ShapeStyle {
        self.colour.stroke_width(pixels(self.width))
    }

    /// Draws its mark at a position in units.
    pub fn mark(&self, area: &Area, at: (i32, i32)) -> DrawResult {
        let Some(shape) = self.shape else {
            return Ok(());
        };
        let stroke = self.colour.stroke_width(pixels(1.5));
        let closed = |corners: &[(i32, i32)]| {
            let ends = corners.iter().chain(corners.first());
            ends.copied().collect::<Vec<_>>()
        };
        match &SHAPES[shape] {
            Shape::Disc => area.draw(&Circle::new(at, pixels(3.6), self.colour.filled())),
            Shape::Filled(corners) => area.draw(
                &(EmptyElement::at(at) + Polygon::new(corners.to_vec(), self.colour.filled())),
            ),
            Shape::Hollow(corners) => area.draw(
                &(EmptyElement::at(at)
                    + Polygon::new(corners.to_vec(), WHITE.filled())
                    + PathElement::new(closed(corners), stroke)),
            ),
            Shape::Strokes([one, other]) => area.draw(
                &(EmptyElement::at(at)
                    + PathElement::new(one.to_vec(), stroke)
                    + PathElement::new(other.to_vec(), stroke)),
            ),
            Shape::Strokes(_) => unreachable!("all stroke shapes have two strokes"),
        }
    }
}

/// Draws an upward arrow just above a position: the line continues, but where is unknown.
pub fn arrow(area: &Area, at: (i32, i32), colour: RGBColor) -> DrawResult {
    let stroke = colour.stroke_width(pixels(1.5));
    let (tail, tip) = (units(-6.0), units(-18.0));
    area.draw(
        &(EmptyElement::at(at)
            + PathElement::new(vec![(0, tail), (0, tip + 40)], stroke)
            + Polygon::new(
                vec![(0, tip), (34, tip + 62), (-34, tip + 62)],
                colour.filled(),
            )),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_first_144_line_styles_are_distinct() {
        let styles = (0..144).map(|number| {
            let LineStyle { colour, shape, .. } = LineStyle::of(number);
            ((colour.0, colour.1, colour.2), shape)
        });
        assert_eq!(styles.collect::<BTreeSet<_>>().len(), 144);
    }

    #[test]
    fn the_first_twelve_lines_differ_in_colour_and_shape() {
        let styles: Vec<LineStyle> = (0..12).map(LineStyle::of).collect();
        let shapes: BTreeSet<_> = styles.iter().map(|style| style.shape).collect();
        let colours: BTreeSet<_> = styles
            .iter()
            .map(|s| (s.colour.0, s.colour.1, s.colour.2))
            .collect();
        assert_eq!((shapes.len(), colours.len()), (12, 12));
    }
}
