//! Distinguishes lines by colour and by the shape of their marks, even where marks overlap.

use plotters::element::{Circle, EmptyElement, PathElement, Polygon};
use plotters::style::{Color, RGBColor, ShapeStyle, WHITE};

use crate::page::{Area, DrawResult, GREY, GRID, units, unsigned_units};

/// Line colours, distinguishable with colour blindness; adjacent ones differ in lightness. The
/// first seven, except black, are from Okabe and Ito, "Color Universal Design" (2008), without
/// their yellow, which is hard to see on white; the rest are from Tol's "muted" scheme.
const COLOURS: [u32; 12] = [
    0x0072b2, 0xd55e00, 0x009e73, 0x1a1a1a, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x882255, 0x999933,
    0x332288, 0x885a36, 0x7d7d7d,
];

/// The line colours for a dark page, in the same order.
const DARK_COLOURS: [u32; 12] = [
    0x4da6e0, 0xff8a3d, 0x2fc79a, 0xe8e6e3, 0xe39cc4, 0xf0b429, 0xa5dcff, 0xc94f86, 0xbdbd55,
    0x8f7fe8, 0xc08a5e, 0x9a9a9a,
];

pub const fn rgb(hex: u32) -> RGBColor {
    let [_, red, green, blue] = hex.to_be_bytes();
    RGBColor(red, green, blue)
}

/// Paper, ink and other colours that lines do not use, with their variants for a dark page.
const DARK_PAPER: RGBColor = RGBColor(0x17, 0x18, 0x1a);
const DARK_OTHERS: [(RGBColor, RGBColor); 4] = [
    (WHITE, DARK_PAPER),
    (GREY, RGBColor(0xa8, 0xa6, 0xa2)),
    (GRID, RGBColor(0x3a, 0x3c, 0x40)),
    (BAR_REFERENCE, RGBColor(0x5c, 0x5e, 0x62)),
];

pub const BAR_REFERENCE: RGBColor = RGBColor(0xbd, 0xbd, 0xbd);

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

#[derive(Clone, Copy)]
pub struct LineStyle {
    pub colour: RGBColor,
    pub width: f64,
    /// An index in [`SHAPES`].
    shape: Option<usize>,
}

impl LineStyle {
    /// Returns the style of line `number`. Pairs of colour and shape repeat after 144 lines.
    pub fn new(number: usize) -> Self {
        let cycle = number / COLOURS.len();
        Self {
            colour: rgb(COLOURS[number % COLOURS.len()]),
            width: 1.6,
            shape: Some((number + cycle) % SHAPES.len()),
        }
    }

    /// Returns the style of a reference line: broad and light, to be visible below other lines.
    pub fn of_reference(number: usize) -> Self {
        Self {
            colour: faint(rgb(COLOURS[number % COLOURS.len()]), WHITE),
            width: 5.0,
            shape: None,
        }
    }

    pub fn stroke(&self) -> ShapeStyle {
        self.colour.stroke_width(unsigned_units(self.width))
    }

    /// Draws a mark at a position in units, `scale` times as large as usual.
    pub fn mark(&self, area: &Area, at: (i32, i32), scale: f64) -> DrawResult {
        let Some(shape) = self.shape else {
            return Ok(());
        };
        let stroke = self.colour.stroke_width(unsigned_units(1.5));
        let scaled = |corners: &[(i32, i32)]| {
            let length = |units: i32| (f64::from(units) * scale).round() as i32;
            let corners = corners.iter().map(|(x, y)| (length(*x), length(*y)));
            corners.collect::<Vec<_>>()
        };
        let closed = |corners: &[(i32, i32)]| {
            let ends = corners.iter().chain(corners.first());
            ends.copied().collect::<Vec<_>>()
        };
        match &SHAPES[shape] {
            Shape::Disc => area.draw(&Circle::new(
                at,
                unsigned_units(3.6 * scale),
                self.colour.filled(),
            )),
            Shape::Filled(corners) => area.draw(
                &(EmptyElement::at(at) + Polygon::new(scaled(corners), self.colour.filled())),
            ),
            Shape::Hollow(corners) => area.draw(
                &(EmptyElement::at(at)
                    + Polygon::new(scaled(corners), WHITE.filled())
                    + PathElement::new(closed(&scaled(corners)), stroke)),
            ),
            Shape::Strokes([one, other]) => area.draw(
                &(EmptyElement::at(at)
                    + PathElement::new(scaled(one), stroke)
                    + PathElement::new(scaled(other), stroke)),
            ),
            Shape::Strokes(_) => unreachable!("every stroke shape has two strokes"),
        }
    }
}

/// Mixes a colour with that of the paper, for references.
fn faint(colour: RGBColor, paper: RGBColor) -> RGBColor {
    let mixed = |colour: u8, paper: u8| {
        let (colour, paper) = (i32::from(colour), i32::from(paper));
        (paper + (colour - paper) * 45 / 100) as u8
    };
    let RGBColor(r, g, b) = colour;
    RGBColor(mixed(r, paper.0), mixed(g, paper.1), mixed(b, paper.2))
}

/// Returns CSS rules that give the drawings of a selector the colours for a dark page.
pub fn dark_style(selector: &str) -> String {
    let both = |(light, dark)| (rgb(light), rgb(dark));
    let lines = COLOURS.into_iter().zip(DARK_COLOURS).map(both);
    let fainter = |(light, dark)| (faint(light, WHITE), faint(dark, DARK_PAPER));
    let references = lines.clone().map(fainter);
    let colours = lines.chain(references).chain(DARK_OTHERS);
    let rules = colours.flat_map(|(light, dark)| {
        let [light, dark] =
            [light, dark].map(|RGBColor(r, g, b)| format!("#{r:02X}{g:02X}{b:02X}"));
        ["fill", "stroke"]
            .map(|part| format!("{selector} [{part}=\"{light}\"] {{ {part}: {dark}; }}\n"))
    });
    rules.collect()
}

/// Draws an upward arrow just above a position: the line continues there, with unknown values.
/// `shift`, in pixels to the right and upwards, moves its head.
pub fn arrow(area: &Area, at: (i32, i32), shift: (f64, f64), colour: RGBColor) -> DrawResult {
    let stroke = colour.stroke_width(unsigned_units(1.5));
    let (x, tip) = (units(shift.0), units(TIP - shift.1));
    area.draw(
        &(EmptyElement::at(at)
            + PathElement::new(vec![(0, units(-6.0)), (x, tip + 40)], stroke)
            + Polygon::new(
                vec![(x, tip), (x + 34, tip + 62), (x - 34, tip + 62)],
                colour.filled(),
            )),
    )
}

/// The offset of an arrow's tip from its position, in pixels; negative is up.
pub const TIP: f64 = -18.0;

/// The position of a mark, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedMark {
    /// The number of its line. Marks of later lines are drawn on top.
    pub line: usize,
    pub x: f64,
    pub y: f64,
}

/// The distance, in pixels, below which marks hide each other.
const HIDING_DISTANCE: f64 = 3.0;

/// The enlargement of a mark for each mark that hides it, and the maximum number that count.
const ENLARGEMENT: f64 = 0.3;
const MAX_HIDING_MARKS: usize = 4;

/// Half the width and the height of an arrowhead with its margin, and the radius of a mark.
const ARROWHEAD: (f64, f64) = (4.5, 8.0);
const MARK: f64 = 5.0;

/// Candidate shifts of an arrowhead, to the right and upwards, in order of preference.
const SHIFTS: [(f64, f64); 9] = [
    (0.0, 0.0),
    (0.0, 12.0),
    (0.0, 24.0),
    (0.0, 36.0),
    (10.0, 0.0),
    (-10.0, 0.0),
    (20.0, 0.0),
    (-20.0, 0.0),
    (0.0, 48.0),
];

/// Returns the scale of each mark, so that a mark hidden by others shows around them.
pub fn scales(marks: &[PlacedMark]) -> Vec<f64> {
    let hides = |mark: &PlacedMark, other: &&PlacedMark| {
        other.line > mark.line && (other.x - mark.x).hypot(other.y - mark.y) < HIDING_DISTANCE
    };
    let scale = |mark: &PlacedMark| {
        let above = marks.iter().filter(|other| hides(mark, other)).count();
        1.0 + ENLARGEMENT * above.min(MAX_HIDING_MARKS) as f64
    };
    marks.iter().map(scale).collect()
}

/// Returns the shifts of the arrowheads that keep them clear of other marks and of each other. No
/// shift moves a head out of the area bounded by `left`, `top` and `right`.
pub fn shifts(
    arrows: &[PlacedMark],
    marks: &[PlacedMark],
    [left, top, right]: [f64; 3],
) -> Vec<(f64, f64)> {
    let mut heads: Vec<(f64, f64)> = Vec::new();
    let mut shifts = Vec::new();
    for arrow in arrows {
        let head = |shift: (f64, f64)| {
            let middle = arrow.y + TIP + ARROWHEAD.1 / 2.0;
            (arrow.x + shift.0, middle - shift.1)
        };
        let is_free = |shift: &&(f64, f64)| {
            let (x, y) = head(**shift);
            let is_clear = |other: (f64, f64), margin: f64| {
                (other.0 - x).abs() >= ARROWHEAD.0 + margin
                    || (other.1 - y).abs() >= ARROWHEAD.1 / 2.0 + margin
            };
            let mut others = marks.iter().filter(|mark| mark.line != arrow.line);
            (shift.1 == 0.0 || y - ARROWHEAD.1 / 2.0 >= top)
                && (shift.0 == 0.0 || (left + ARROWHEAD.0..=right - ARROWHEAD.0).contains(&x))
                && others.all(|mark| is_clear((mark.x, mark.y), MARK))
                && heads.iter().all(|other| is_clear(*other, ARROWHEAD.0))
        };
        let shift = SHIFTS.iter().find(is_free).copied().unwrap_or_default();
        heads.push(head(shift));
        shifts.push(shift);
    }
    shifts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_first_144_line_styles_are_distinct() {
        let styles = (0..144).map(|number| {
            let LineStyle { colour, shape, .. } = LineStyle::new(number);
            ((colour.0, colour.1, colour.2), shape)
        });
        assert_eq!(styles.collect::<BTreeSet<_>>().len(), 144);
    }

    #[test]
    fn the_first_twelve_lines_differ_in_colour_and_shape() {
        let styles: Vec<LineStyle> = (0..12).map(LineStyle::new).collect();
        let shapes: BTreeSet<_> = styles.iter().map(|style| style.shape).collect();
        let parts = |LineStyle { colour: c, .. }: &LineStyle| (c.0, c.1, c.2);
        let colours: BTreeSet<_> = styles.iter().map(parts).collect();
        assert_eq!((shapes.len(), colours.len()), (12, 12));
    }

    fn at(line: usize, x: f64, y: f64) -> PlacedMark {
        PlacedMark { line, x, y }
    }

    #[test]
    fn a_mark_below_others_is_larger() {
        let marks = [
            at(0, 10.0, 10.0),
            at(1, 11.0, 10.0),
            at(2, 10.0, 11.0),
            at(3, 10.0, 20.0),
            // The next point of the same line hides nothing.
            at(3, 10.0, 21.0),
        ];
        assert_eq!(scales(&marks), [1.6, 1.3, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn arrows_avoid_marks_and_other_arrows() {
        let end = at(0, 100.0, 100.0);
        // The mark of another line is where the arrowhead would be.
        let other = at(1, 101.0, 87.0);
        let near = [other, at(1, 90.0, 87.0)];
        let same = at(1, 100.0, 100.0);
        for (arrows, marks, area, expected) in [
            (&[end][..], &[end][..], [0.0, 0.0, 200.0], &[(0.0, 0.0)][..]),
            (&[end], &[end, other], [0.0, 0.0, 200.0], &[(0.0, 12.0)]),
            // If the positions above are blocked, the one on the left is next.
            (&[end], &[end, other], [0.0, 80.0, 200.0], &[(-10.0, 0.0)]),
            // Both near positions at the sides are also blocked.
            (&[end], &near, [0.0, 80.0, 200.0], &[(20.0, 0.0)]),
            (&[end], &near, [0.0, 80.0, 124.0], &[(-20.0, 0.0)]),
            (
                &[end, same],
                &[end, same],
                [0.0, 0.0, 200.0],
                &[(0.0, 0.0), (0.0, 12.0)],
            ),
        ] {
            assert_eq!(shifts(arrows, marks, area), expected);
        }
    }
}
