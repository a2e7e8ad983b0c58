//! Parses an SVG drawing, in units of tenths of pixels.

use std::sync::Arc;

use diskarm_plot::Scale;
use resvg::usvg::{self, fontdb, roxmltree};
use roxmltree::{Document, Node};

pub type Position = (f64, f64);

/// The parts of an element that tests use.
#[derive(Clone, Debug)]
struct Element {
    tag: String,
    stroke: String,
    fill: String,
    opacity: f64,
    points: Vec<Position>,
    /// The position of text, the centre of a circle, or the corner of a rectangle.
    at: Position,
    size: Position,
    radius: f64,
    text: String,
    is_rotated: bool,
    /// True for a part of a mark or of an arrow.
    is_marking: bool,
}

pub struct Drawing {
    elements: Vec<Element>,
    size: [f64; 2],
}

/// Two numbers on an axis and their positions, from which the position of any value follows.
#[derive(Debug)]
pub struct Measure {
    scale: Scale,
    ticks: [(f64, f64); 2],
}

impl Measure {
    pub fn at(&self, value: f64) -> f64 {
        let position = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Log2 | Scale::Log10 => value.ln(),
        };
        let [(first, start), (last, end)] = self.ticks;
        let fraction = (position(value) - position(first)) / (position(last) - position(first));
        start + fraction * (end - start)
    }
}

fn number(node: Node, name: &str) -> f64 {
    node.attribute(name)
        .map_or(0.0, |text| text.parse().expect("valid number"))
}

fn element(node: Node) -> Element {
    let attribute = |name: &str| node.attribute(name).unwrap_or("").to_owned();
    let list = attribute("points");
    let points = list.split_whitespace().map(|pair| {
        let (x, y) = pair.split_once(',').expect("valid pair");
        (
            x.parse().expect("valid number"),
            y.parse().expect("valid number"),
        )
    });
    let [x, y] = if node.has_attribute("cx") {
        ["cx", "cy"]
    } else {
        ["x", "y"]
    };
    let mut points: Vec<Position> = points.collect();
    if node.has_attribute("x1") {
        points = vec![
            (number(node, "x1"), number(node, "y1")),
            (number(node, "x2"), number(node, "y2")),
        ];
    }
    Element {
        tag: node.tag_name().name().to_owned(),
        stroke: attribute("stroke"),
        fill: attribute("fill"),
        opacity: number(node, "opacity"),
        points,
        at: (number(node, x), number(node, y)),
        size: (number(node, "width"), number(node, "height")),
        radius: number(node, "r"),
        text: node.text().unwrap_or("").trim().to_owned(),
        is_rotated: node.has_attribute("transform"),
        is_marking: node
            .parent()
            .is_some_and(|group| group.has_attribute("data-at")),
    }
}

const GRID: &str = "#E0E0E0";

impl Drawing {
    pub fn parse(svg: &str) -> Self {
        let document = Document::parse(svg).expect("well-formed XML");
        let root = document.root_element();
        assert_eq!(root.tag_name().name(), "svg");
        let children: Vec<&str> = root
            .children()
            .filter(Node::is_element)
            .take(2)
            .map(|n| n.tag_name().name())
            .collect();
        assert_eq!(children, ["title", "desc"]);
        Self {
            elements: root
                .descendants()
                .filter(|node| node.is_element() && *node != root && !node.has_tag_name("g"))
                .map(element)
                .collect(),
            size: ["width", "height"].map(|name| number(root, name)),
        }
    }

    pub fn size(&self) -> [f64; 2] {
        self.size
    }

    /// Returns the left, top, right and bottom edges of the plotting area.
    pub fn plotting_area(&self) -> [f64; 4] {
        let axes = self
            .elements
            .iter()
            .find(|e| e.tag == "polyline")
            .expect("has axes");
        let [(left, top), _, (right, bottom)] = axes.points[..] else {
            panic!("{axes:?}");
        };
        [left, top, right, bottom]
    }

    fn measure(&self, scale: Scale, is_tick: impl Fn(&Element) -> Option<f64>) -> Measure {
        let parsed = |e: &Element| {
            e.text
                .replace(',', "")
                .replace('\u{2212}', "-")
                .parse::<f64>()
                .ok()
        };
        let ticks: Vec<(f64, f64)> = self
            .elements
            .iter()
            .filter(|e| e.tag == "text")
            .filter_map(|e| Some((parsed(e)?, is_tick(e)?)))
            .collect();
        let [first, .., last] = ticks[..] else {
            panic!("{ticks:?}");
        };
        Measure {
            scale,
            ticks: [first, last],
        }
    }

    /// Measures the grid lines at the numbers below the plotting area.
    pub fn across(&self, scale: Scale) -> Measure {
        let [.., right, bottom] = self.plotting_area();
        self.measure(scale, |e| {
            let line = self
                .grid()
                .find(|line| line[0].0 == line[1].0 && (line[0].0 - e.at.0).abs() < 1.0)?;
            (e.at.1 > bottom && e.at.0 <= right).then_some(line[0].0)
        })
    }

    /// Measures the grid lines at the numbers to the left of the plotting area.
    pub fn up(&self, scale: Scale) -> Measure {
        let [left, ..] = self.plotting_area();
        self.measure(scale, |e| {
            let line = self
                .grid()
                .find(|line| line[0].1 == line[1].1 && (line[0].1 - e.at.1).abs() < 25.0)?;
            (e.at.0 < left).then_some(line[0].1)
        })
    }

    fn grid(&self) -> impl Iterator<Item = &Vec<Position>> {
        self.elements
            .iter()
            .filter(|e| e.stroke == GRID)
            .map(|e| &e.points)
    }

    /// Returns the lines of a colour in the plotting area. Marks are shorter than ten pixels.
    pub fn polylines(&self, colour: &str) -> Vec<Vec<Position>> {
        let [left, _, right, _] = self.plotting_area();
        let is_long =
            |points: &[Position]| points.iter().any(|p| (p.0 - points[0].0).abs() > 100.0);
        let lines = self
            .elements
            .iter()
            .filter(|e| e.tag == "polyline" && e.stroke == colour)
            .map(|e| e.points.clone());
        lines
            .filter(|points| {
                is_long(points) && points.iter().all(|p| (left..=right).contains(&p.0))
            })
            .collect()
    }

    pub fn translucent(&self, colour: &str) -> Vec<Vec<Position>> {
        let areas = self
            .elements
            .iter()
            .filter(|e| e.tag == "polygon" && e.fill == colour);
        areas
            .filter(|e| e.opacity < 1.0)
            .map(|e| e.points.clone())
            .collect()
    }

    pub fn rectangles(&self, colour: &str) -> Vec<[f64; 4]> {
        let rectangles = self
            .elements
            .iter()
            .filter(|e| e.tag == "rect" && e.fill == colour);
        rectangles
            .map(|e| [e.at.0, e.at.1, e.size.0, e.size.1])
            .collect()
    }

    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.elements
            .iter()
            .filter(|e| e.tag == "text")
            .map(|e| e.text.as_str())
    }

    pub fn count(&self, tag: &str, colour: &str) -> usize {
        let is_match = |e: &&Element| e.tag == tag && (colour.is_empty() || e.fill == colour);
        self.elements.iter().filter(is_match).count()
    }

    /// Returns the colour and the mark of an entry in the legend.
    pub fn key(&self, label: &str) -> (String, String) {
        let text = self
            .elements
            .iter()
            .position(|e| e.text == label && !e.is_rotated && e.tag == "text")
            .unwrap_or_else(|| panic!("there is no text {label}"));
        let before: Vec<&Element> = self.elements[..text]
            .iter()
            .rev()
            .take_while(|e| e.tag != "text")
            .collect();
        let sample = before.last().expect("has a sample");
        if sample.tag == "rect" {
            return (sample.fill.clone(), String::new());
        }
        let centre = (
            (sample.points[0].0 + sample.points[1].0) / 2.0,
            sample.points[0].1,
        );
        let parts = before.iter().rev().skip(1).map(|e| shape(e, centre));
        (sample.stroke.clone(), parts.collect())
    }

    /// Returns the number of times that a mark is drawn in a colour.
    pub fn marks(&self, colour: &str, mark: &str) -> usize {
        // A mark with several parts is counted by its last part, which has the colour.
        let is_of = |e: &&Element| e.stroke == colour || e.fill == colour;
        let parts = self.elements.iter().filter(is_of).filter(|e| {
            let centre = middle(e);
            let part = shape(e, centre);
            !part.is_empty() && mark.ends_with(&part)
        });
        parts.count()
    }

    /// Returns the positions of lines, bands and discs, except those in the legend.
    pub fn data(&self) -> impl Iterator<Item = Position> {
        let [.., right, _] = self.plotting_area();
        let drawn = self
            .elements
            .iter()
            .filter(|e| e.tag == "polyline" || e.tag == "circle" || e.opacity < 1.0);
        let positions = drawn.flat_map(|e| {
            let is_long = e.points.iter().any(|p| (p.0 - e.points[0].0).abs() > 100.0);
            let points = if e.tag == "circle" {
                vec![e.at]
            } else {
                e.points.clone()
            };
            if e.tag == "circle" || (is_long && !e.is_marking) {
                points
            } else {
                Vec::new()
            }
        });
        positions.filter(move |p| p.0 < right + 260.0)
    }
}

fn middle(e: &Element) -> Position {
    if e.tag == "circle" {
        return e.at;
    }
    let middle_of = |coordinate: fn(&Position) -> f64| {
        let all = e.points.iter().map(coordinate);
        let (low, high) = all.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        (low + high) / 2.0
    };
    (middle_of(|p| p.0), middle_of(|p| p.1))
}

/// Describes the size and the corners, relative to the middle of the shape.
fn shape(e: &Element, _: Position) -> String {
    let centre = middle(e);
    let corners: Vec<String> = e
        .points
        .iter()
        .map(|p| format!("{:.0},{:.0}", p.0 - centre.0, p.1 - centre.1))
        .collect();
    format!("[{} {} {}]", e.tag, e.radius, corners.join(" "))
}

/// The box of a text in pixels, as laid out by the renderer with the crate's font.
#[derive(Debug)]
pub struct TextBox {
    pub text: String,
    ends: [f64; 4],
}

impl TextBox {
    pub fn overlaps(&self, other: &Self) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.ends, other.ends);
        a < g && e < c && b < h && f < d
    }

    pub fn is_below(&self, height: f64) -> bool {
        self.ends[1] > height
    }

    pub fn is_within(&self, [width, height]: [f64; 2]) -> bool {
        let [left, top, right, bottom] = self.ends;
        left >= 0.0 && top >= 0.0 && right <= width && bottom <= height
    }
}

/// Returns the ink boxes of all texts.
pub fn text_boxes(svg: &str) -> Vec<TextBox> {
    let font = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fonts/LiberationSans-Regular.ttf"
    );
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(std::fs::read(font).expect("the font file is readable"));
    let options = usvg::Options {
        fontdb: Arc::new(fonts),
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(svg, &options).expect("valid SVG");
    let mut boxes = Vec::new();
    collect(tree.root(), &mut boxes);
    boxes
}

fn collect(group: &usvg::Group, boxes: &mut Vec<TextBox>) {
    for node in group.children() {
        match node {
            usvg::Node::Group(group) => collect(group, boxes),
            usvg::Node::Text(text) => {
                let area = text.flattened().abs_bounding_box();
                boxes.push(TextBox {
                    text: text.chunks().iter().map(|chunk| chunk.text()).collect(),
                    ends: [area.left(), area.top(), area.right(), area.bottom()].map(f64::from),
                });
            }
            _ => {}
        }
    }
}
