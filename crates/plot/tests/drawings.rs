//! Parses drawings, with an XML parser and the renderer's text layout as oracles.

mod read;

use std::collections::BTreeSet;

use diskarm_plot::{
    Axis, BarGroup, BarSeries, Bars, Figure, Map, MapAxis, Point, Scale, Series, png,
};
use proptest::prelude::*;
use read::Drawing;
use resvg::tiny_skia::{Pixmap, PremultipliedColorU8};

fn series(label: &str, points: &[(f64, f64)]) -> Series {
    Series {
        label: label.to_owned(),
        points: points.iter().map(|&(x, y)| Point::new(x, y)).collect(),
        ..Series::default()
    }
}

fn figure(x: Axis, y: Axis, series: Vec<Series>) -> Figure {
    Figure {
        title: "Title".to_owned(),
        note: "note".to_owned(),
        x,
        y,
        lines: String::new(),
        series,
    }
}

fn linear(series: Vec<Series>) -> Figure {
    figure(Axis::linear("load"), Axis::linear("time"), series)
}

const BLUE: &str = "#0072B2";

#[test]
fn points_match_the_numbers_on_the_axes() {
    let points = [
        (0.25, 3.0),
        (0.5, 40.0),
        (1.0, 41.5),
        (3.0, 120.0),
        (8.0, 700.0),
    ];
    for (x, y) in [
        (Scale::Linear, Scale::Linear),
        (Scale::Log2, Scale::Linear),
        (Scale::Linear, Scale::Log10),
        (Scale::Log10, Scale::Log2),
    ] {
        let axes = (Axis::new("load", x), Axis::new("time", y));
        let drawing = Drawing::parse(&figure(axes.0, axes.1, vec![series("a", &points)]).svg());
        let lines = drawing.polylines(BLUE);
        assert_eq!(lines.len(), 1, "{x:?} {y:?}");
        let (across, up) = (drawing.across(x), drawing.up(y));
        for (found, &(x, y)) in lines[0].iter().zip(&points) {
            let expected = (across.at(x), up.at(y));
            let distance = (found.0 - expected.0).hypot(found.1 - expected.1);
            assert!(distance < 2.0, "{found:?} {expected:?}");
        }
    }
}

#[test]
fn a_band_extends_half_its_width_to_both_sides() {
    let mut banded = series("a", &[(0.0, 50.0), (10.0, 80.0)]);
    banded.points = banded
        .points
        .iter()
        .map(|p| p.with_half_width(p.x + 5.0))
        .collect();
    let drawing = Drawing::parse(&linear(vec![banded]).svg());
    let (across, up) = (drawing.across(Scale::Linear), drawing.up(Scale::Linear));
    let corners = [(0.0, 55.0), (10.0, 95.0), (10.0, 65.0), (0.0, 45.0)];
    let expected = corners.map(|(x, y)| (across.at(x).round(), up.at(y).round()));
    let bands = drawing.translucent(BLUE);
    assert_eq!(bands.len(), 1);
    for corner in expected {
        let is_near =
            |p: &&(f64, f64)| (p.0 - corner.0).abs() < 2.0 && (p.1 - corner.1).abs() < 2.0;
        assert_eq!(
            bands[0].iter().filter(is_near).count(),
            1,
            "{corner:?} {bands:?}"
        );
    }
}

#[test]
fn a_band_ends_at_zero_unless_its_value_is_negative() {
    let banded = |y: f64| {
        let mut banded = series("a", &[(0.0, y), (10.0, y)]);
        let points = banded.points.iter().map(|p| p.with_half_width(5.0));
        banded.points = points.collect();
        Drawing::parse(&linear(vec![banded]).svg())
    };
    let [_, _, _, bottom] = banded(1.0).plotting_area();
    let lowest = |drawing: &Drawing| {
        let bands = drawing.translucent(BLUE);
        bands[0]
            .iter()
            .map(|position| position.1)
            .fold(0.0, f64::max)
    };
    let times = banded(1.0);
    assert_eq!(times.up(Scale::Linear).at(0.0).round(), bottom);
    assert_eq!(lowest(&times), bottom);
    let differences = banded(-1.0);
    let up = differences.up(Scale::Linear);
    assert!((lowest(&differences) - up.at(-6.0)).abs() < 2.0);
}

#[test]
fn the_legend_mentions_bands_if_one_is_visible() {
    let mentions_bands = |half_width: f64, y: Axis| {
        let mut banded = series("a", &[(0.0, 50.0), (10.0, 100.0)]);
        let points = banded.points.iter().map(|p| p.with_half_width(half_width));
        banded.points = points.collect();
        let drawing = Drawing::parse(&figure(Axis::linear("load"), y, vec![banded]).svg());
        assert_eq!(drawing.translucent(BLUE).len(), 1);
        drawing.texts().any(|text| text == "Bands: 95 % confidence")
    };
    // The axis reaches 120 in 330 pixels: 0.2 to both sides is 1.1 pixels, narrower than the line.
    assert!(mentions_bands(1.0, Axis::linear("time")));
    assert!(!mentions_bands(0.2, Axis::linear("time")));
    // The wide part of the band, at 50, is outside the axes.
    let axis = Axis {
        shared: Some(vec![0.0, 40.0]),
        ..Axis::linear("time")
    };
    let mut beyond = series("a", &[(0.0, 50.0), (10.0, 30.0)]);
    beyond.points[0] = beyond.points[0].with_half_width(5.0);
    let drawing = Drawing::parse(&figure(Axis::linear("load"), axis, vec![beyond]).svg());
    assert!(!drawing.texts().any(|text| text.starts_with("Bands")));
    // The same interval at the ends of lines that rise by 300 pixels over 50, and over 5.
    for (x, is_visible) in [(1.0, true), (0.1, false)] {
        let mut steep = series("a", &[(0.0, 10.0), (x, 100.0)]);
        let points = steep.points.iter().map(|p| p.with_half_width(5.0));
        steep.points = points.collect();
        let far = series("b", &[(10.0, 10.0)]);
        let drawing = Drawing::parse(&linear(vec![steep, far]).svg());
        assert_eq!(
            drawing.texts().any(|text| text.starts_with("Bands")),
            is_visible
        );
    }
    // The band of a single point is a stroke, which its mark may hide.
    for (half_width, is_visible) in [(2.0, true), (1.0, false)] {
        let mut alone = series("a", &[(1.0, 100.0)]);
        alone.points[0] = alone.points[0].with_half_width(half_width);
        let drawing = linear(vec![alone, series("zero", &[(1.0, 0.0)])]);
        let drawing = Drawing::parse(&drawing.svg());
        assert_eq!(
            drawing.texts().any(|text| text.starts_with("Bands")),
            is_visible
        );
    }
}

#[test]
fn the_legend_begins_with_the_heading() {
    let with_heading = Figure {
        lines: "weight, ms".to_owned(),
        ..linear(vec![series("10", &[(0.0, 1.0)])])
    };
    for svg in [with_heading.svg(), with_heading.narrow_svg()] {
        let drawing = Drawing::parse(&svg);
        let texts: Vec<&str> = drawing.texts().collect();
        let heading = texts.iter().position(|text| *text == "weight, ms");
        assert_eq!(texts[heading.expect("has a heading") + 1], "10");
    }
}

#[test]
fn the_narrow_layout_has_the_legend_below() {
    let lines = (0..12).map(|i| series(&format!("line {i}"), &[(0.0, 1.0), (1.0, 900_000.0)]));
    let figure = linear(lines.collect());
    let narrow = Drawing::parse(&figure.narrow_svg());
    assert!(narrow.size()[0] <= 360.0, "{:?}", narrow.size());
    let [_, _, right, bottom] = narrow.plotting_area();
    assert!(right > 2000.0, "{right}");
    for text in read::text_boxes(&figure.narrow_svg()) {
        if text.text.starts_with("line") {
            assert!(text.is_below(bottom / 10.0 + 30.0), "{text:?}");
        }
    }
}

#[test]
fn twelve_lines_have_distinct_colours_and_marks() {
    let line = |i: usize| {
        series(
            &format!("line {i}"),
            &[(0.0, i as f64), (1.0, 2.0 * i as f64)],
        )
    };
    let svg = linear((0..12).map(line).collect()).svg();
    let drawing = Drawing::parse(&svg);
    assert!(
        read::text_boxes(&svg)
            .iter()
            .all(|text| text.is_within(drawing.size()))
    );
    let keys = (0..12).map(|i| drawing.key(&format!("line {i}")));
    let keys: Vec<(String, String)> = keys.collect();
    let colours: BTreeSet<&String> = keys.iter().map(|(colour, _)| colour).collect();
    let marks: BTreeSet<&String> = keys.iter().map(|(_, mark)| mark).collect();
    assert_eq!((colours.len(), marks.len()), (12, 12));
    for (colour, mark) in &keys {
        // One in the legend, and one at each of two points.
        assert_eq!(drawing.marks(colour, mark), 3, "{colour} {mark}");
    }
}

#[test]
fn a_line_of_many_points_has_marks_at_intervals() {
    let point = |i: i32| (f64::from(i), f64::from(i * i));
    let curve: Vec<(f64, f64)> = (0..400).map(point).collect();
    let figure = linear(vec![series("a", &curve)]);
    let drawing = Drawing::parse(&figure.svg());
    let (_, mark) = drawing.key("a");
    // The curve is at least as long as the diagonal, at most as both sides: 616 to 850 pixels;
    // there is a mark every 70 pixels, or up to two points later.
    let marks = drawing.marks(BLUE, &mark) - 1;
    assert!((7..=13).contains(&marks), "{marks}");
    // The non-interactive form omits the other points, and looks the same.
    let [interactive, still] = [figure.svg(), figure.still_svg()];
    let points = |svg: &str| svg.matches("class=\"point\"").count();
    assert_eq!((points(&interactive), points(&still)), (400, marks));
    assert_eq!(png(&interactive).unwrap(), png(&still).unwrap());
}

#[test]
fn data_beyond_the_end_of_an_axis_are_clipped() {
    let steep = series("a", &[(0.0, 100.0), (10.0, 300.0), (20.0, 300.0)]);
    let axes = (Axis::linear("load"), Axis::linear("time").with_max(200.0));
    let drawing = Drawing::parse(&figure(axes.0, axes.1, vec![steep]).svg());
    let (across, up) = (drawing.across(Scale::Linear), drawing.up(Scale::Linear));
    let expected = [[
        (across.at(0.0), up.at(100.0)),
        (across.at(5.0), up.at(200.0)),
    ]];
    assert_eq!(drawing.polylines(BLUE), expected);
    let (_, mark) = drawing.key("a");
    assert_eq!(drawing.marks(BLUE, &mark), 2);
}

#[test]
fn a_saturated_line_has_an_arrow_and_a_legend() {
    let mut saturated = series("a", &[(0.0, 1.0), (1.0, 2.0)]);
    let without = Drawing::parse(&linear(vec![saturated.clone()]).svg());
    saturated.ends_saturated = true;
    let with_arrow = Drawing::parse(&linear(vec![saturated.clone()]).svg());
    assert!(with_arrow.texts().any(|text| text == "saturated beyond"));
    assert!(!without.texts().any(|text| text == "saturated beyond"));
    let triangles = |drawing: &Drawing| drawing.count("polygon", BLUE);
    assert_eq!(triangles(&with_arrow), triangles(&without) + 1);
    // A line whose end is not visible has no arrow.
    let cut = figure(
        Axis::linear("load"),
        Axis::linear("time").with_max(1.5),
        vec![saturated],
    );
    let cut = Drawing::parse(&cut.svg());
    assert_eq!(triangles(&cut), triangles(&without));
    assert!(!cut.texts().any(|text| text == "saturated beyond"));
}

#[test]
fn invisible_points_leave_gaps_and_empty_figures_show_no_data() {
    let gaps = [
        (0.0, 1.0),
        (1.0, 2.0),
        (2.0, f64::NAN),
        (3.0, 2.0),
        (4.0, f64::INFINITY),
        (5.0, 1.0),
    ];
    let drawing = Drawing::parse(&linear(vec![series("a", &gaps)]).svg());
    // One line, and two single points, which only have marks; the legend has both.
    let lengths: Vec<usize> = drawing.polylines(BLUE).iter().map(Vec::len).collect();
    assert_eq!(lengths, [2]);
    let (_, mark) = drawing.key("a");
    assert_eq!(drawing.marks(BLUE, &mark), 5);
    let not_positive = figure(
        Axis::new("load", Scale::Log2),
        Axis::new("time", Scale::Log10),
        vec![series("a", &[(0.0, 1.0), (-1.0, 2.0), (1.0, 0.0)])],
    );
    for empty in [linear(vec![]), linear(vec![series("a", &[])]), not_positive] {
        let svg = empty.svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(Drawing::parse(&svg).texts().any(|text| text == "no data"));
    }
}

#[test]
fn texts_are_escaped() {
    let hostile = "<script>&\"'\u{1}\u{ffff}\n]]>";
    let shown = "<script>&\"' ]]>";
    let mut hostile_figure = linear(vec![series(hostile, &[(0.0, 1.0)])]);
    hostile_figure.title = hostile.to_owned();
    hostile_figure.x.label = hostile.to_owned();
    let drawing = Drawing::parse(&hostile_figure.svg());
    assert_eq!(drawing.texts().filter(|text| *text == shown).count(), 3);
    assert_eq!(drawing.count("script", ""), 0);
}

#[test]
fn output_is_deterministic_and_images_have_twice_the_size() {
    let drawn = || linear(vec![series("a", &[(0.0, 1.0), (1.0, 3.0)])]).svg();
    let svg = drawn();
    assert_eq!(svg, drawn());
    let image = png(&svg).expect("valid image");
    assert_eq!(image, png(&svg).expect("valid image"));
    let pixels = Pixmap::decode_png(&image).expect("valid image");
    let size = Drawing::parse(&svg).size().map(|length| 2 * length as u32);
    assert_eq!([pixels.width(), pixels.height()], size);
    let is_blue = |p: &&PremultipliedColorU8| [p.red(), p.green(), p.blue()] == [0, 0x72, 0xb2];
    let blue = pixels.pixels().iter().filter(is_blue);
    assert!(blue.count() > 200, "the line is visible");
    assert!(png("<svg").is_err());
}

#[test]
fn an_image_has_no_transparent_edge() {
    // Titles of different lengths give pages of different fractional sizes.
    for length in 1..8 {
        let label = "i".repeat(length);
        let svg = linear(vec![series(&label, &[(0.0, 1.0)])]).svg();
        let pixels = Pixmap::decode_png(&png(&svg).expect("valid image")).expect("valid image");
        assert!(pixels.pixels().iter().all(|p| p.alpha() == 255), "{label}");
    }
}

#[test]
fn map_cells_have_the_colours_of_their_bands() {
    let map = Map {
        title: "Title".to_owned(),
        note: String::new(),
        x: MapAxis {
            label: "cylinder".to_owned(),
            edges: vec![0.0, 1.0, 2.0, 3.5, 4.0],
        },
        y: MapAxis {
            label: "sector".to_owned(),
            edges: vec![0.0, 0.5, 2.0],
        },
        values: "time, ms".to_owned(),
        bounds: vec![10.0, 20.0],
        rows: vec![vec![0.0, 9.9, 10.0, 25.0], vec![20.0, f64::NAN, 15.0, 15.0]],
    };
    let drawing = Drawing::parse(&map.svg());
    let [low, middle, high] = ["less than 10", "10 to 20", "20 or more"].map(|l| drawing.key(l).0);
    let (across, up) = (drawing.across(Scale::Linear), drawing.up(Scale::Linear));
    for (colour, [left, right], [bottom, top]) in [
        (&low, [0.0, 2.0], [0.0, 0.5]),
        (&middle, [2.0, 3.5], [0.0, 0.5]),
        (&high, [3.5, 4.0], [0.0, 0.5]),
        (&high, [0.0, 1.0], [0.5, 2.0]),
        (&middle, [2.0, 4.0], [0.5, 2.0]),
    ] {
        let corner = (across.at(left), up.at(top));
        let size = (across.at(right) - corner.0, up.at(bottom) - corner.1);
        let cells = drawing.rectangles(colour);
        let is_match = |[x, y, width, height]: &[f64; 4]| {
            let off = [x - corner.0, y - corner.1, width - size.0, height - size.1];
            // Cells extend half a pixel into their neighbours.
            off.iter().all(|off| off.abs() <= 7.0)
        };
        assert_eq!(
            cells.iter().filter(|cell| is_match(cell)).count(),
            1,
            "{colour} {cells:?}"
        );
    }
    let all = [&low, &middle, &high].map(|colour| drawing.rectangles(colour).len());
    // Including those in the legend.
    assert_eq!(all, [2, 3, 3]);
    assert_eq!(map.svg(), map.svg());
}

#[test]
fn a_map_without_rows_or_bounds_is_drawn() {
    for rows in [vec![], vec![vec![]], vec![vec![1.0]]] {
        let side = || MapAxis {
            label: String::new(),
            edges: vec![0.0, 1.0],
        };
        let map = Map {
            title: String::new(),
            note: String::new(),
            x: side(),
            y: side(),
            values: String::new(),
            bounds: vec![],
            rows,
        };
        assert!(!map.svg().contains("NaN"));
        assert!(png(&map.svg()).is_ok());
    }
}

fn any_scale() -> impl Strategy<Value = Scale> {
    prop_oneof![Just(Scale::Linear), Just(Scale::Log2), Just(Scale::Log10)]
}

// Texts contain no f and no N, so that `inf` and `NaN` in a drawing can only be numbers.

fn any_axis() -> impl Strategy<Value = Axis> {
    (
        "[a-eg-zA-MO-Z ,]{0,90}",
        any_scale(),
        proptest::option::of(1e-3..1e5f64),
        proptest::option::of(proptest::collection::vec(-1e3..1e7f64, 0..3)),
    )
        .prop_map(|(label, scale, max, shared)| Axis {
            label,
            scale,
            max,
            shared,
        })
}

fn any_series() -> impl Strategy<Value = Series> {
    let number = prop_oneof![
        8 => -10.0..1e4f64,
        2 => -1e12..1e12f64,
        1 => 0.0..1e-9f64,
        1 => any::<f64>(),
    ];
    let point = (number.clone(), number, proptest::option::of(0.0..1e3f64));
    let points = proptest::collection::vec(point, 0..30);
    (
        "[a-eg-zA-MO-Z0-9(),=. ]{0,60}",
        points,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(label, points, ends_saturated, is_reference)| Series {
            label,
            points: points
                .into_iter()
                .map(|(x, y, half_width)| Point { x, y, half_width })
                .collect(),
            ends_saturated,
            is_reference,
        })
}

/// Returns bars with two series and a reference; the first series has a gap.
fn bars(groups: usize) -> Bars {
    let series = |label: &str, values: Vec<Option<f64>>| BarSeries {
        label: label.to_owned(),
        values,
        is_reference: label == "usual",
    };
    let group = |at: usize| BarGroup {
        name: (100 + at).to_string(),
        remark: if at == 1 { "gone" } else { "" }.to_owned(),
    };
    let value = |at: usize| (at != 1).then_some(1.0 + at as f64);
    Bars {
        title: "Title".to_owned(),
        note: "note".to_owned(),
        x: "Part".to_owned(),
        groups: (0..groups).map(group).collect(),
        y: Axis::linear("Load"),
        series_heading: "Kind".to_owned(),
        series: vec![
            series("usual", vec![Some(1.0); groups]),
            series("a", (0..groups).map(value).collect()),
            series("b", vec![Some(2.5); groups]),
        ],
    }
}

#[test]
fn bars_are_as_high_as_their_values_and_side_by_side() {
    let drawing = Drawing::parse(&bars(3).svg());
    let ([left, _, right, bottom], up) = (drawing.plotting_area(), drawing.up(Scale::Linear));
    let third = (right - left) / 3.0;
    let mut edges = Vec::new();
    for (colour, heights) in [
        ("#BDBDBD", &[(0, 1.0), (1, 1.0), (2, 1.0)][..]),
        (BLUE, &[(0, 1.0), (2, 3.0)]),
        ("#D55E00", &[(0, 2.5), (1, 2.5), (2, 2.5)]),
    ] {
        // The sample in the legend is to the right of the plotting area.
        let found: Vec<[f64; 4]> = drawing
            .rectangles(colour)
            .into_iter()
            .filter(|[x, ..]| *x < right)
            .collect();
        assert_eq!(found.len(), heights.len(), "{colour}");
        for ([x, y, width, height], (group, value)) in found.into_iter().zip(heights) {
            assert!((y - up.at(*value)).abs() < 2.0 && (y + height - bottom).abs() < 2.0);
            let group = left + third * f64::from(*group);
            assert!(x > group && x + width < group + third);
            edges.push((x, x + width));
        }
    }
    edges.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(edges.windows(2).all(|pair| pair[0].1 < pair[1].0 + 2.0));
    assert!(drawing.texts().any(|text| text == "gone"));
}

#[test]
fn bars_without_groups_or_series_are_drawn() {
    for groups in [0, 1, 30] {
        let none = Bars {
            series: Vec::new(),
            ..bars(groups)
        };
        for bars in [bars(groups), none] {
            let svg = bars.svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            let page = Drawing::parse(&svg).size();
            let boxes = read::text_boxes(&svg);
            for (i, one) in boxes.iter().enumerate() {
                assert!(one.is_within(page), "{one:?}");
                assert!(boxes[i + 1..].iter().all(|other| !one.overlaps(other)));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn texts_do_not_overlap_or_leave_the_page(
        x in any_axis(),
        y in any_axis(),
        series in proptest::collection::vec(any_series(), 0..14),
        title in "[a-eg-zA-MO-Z0-9 ]{0,160}",
        note in "[a-eg-zA-MO-Z0-9 ]{0,160}",
        lines in "[a-eg-zA-MO-Z0-9 ,]{0,60}",
    ) {
        let figure = Figure { title, note, x, y, lines, series };
        for svg in [figure.svg(), figure.narrow_svg()] {
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            let page = Drawing::parse(&svg).size();
            let boxes = read::text_boxes(&svg);
            for (i, one) in boxes.iter().enumerate() {
                prop_assert!(one.is_within(page), "{} leaves the page: {one:?}", one.text);
                for other in &boxes[i + 1..] {
                    prop_assert!(!one.overlaps(other), "{one:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn data_stay_in_the_plotting_area(
        x in any_axis(),
        y in any_axis(),
        series in proptest::collection::vec(any_series(), 1..5),
    ) {
        let drawing = Drawing::parse(&figure(x, y, series).svg());
        let [left, top, right, bottom] = drawing.plotting_area();
        for (px, py) in drawing.data() {
            prop_assert!((left..=right).contains(&px) && (top..=bottom).contains(&py), "{px} {py}");
        }
    }
}
