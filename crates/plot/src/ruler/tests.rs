use super::*;

fn ruler(scale: Scale, values: &[f64], ticks: usize) -> Ruler {
    Ruler::new(&Axis::new("", scale), values.iter().copied(), ticks)
}

fn labels(ruler: &Ruler) -> Vec<&str> {
    ruler.ticks.iter().map(|tick| tick.label.as_str()).collect()
}

#[test]
fn linear_axes_have_round_numbers_and_usually_begin_at_zero() {
    for (values, expected) in [
        (&[20.0, 130.0][..], "0 20 40 60 80 100 120 140"),
        (&[0.0, 0.3], "0.00 0.05 0.10 0.15 0.20 0.25 0.30"),
        (&[9_000.0, 10_000.0], "9000 9200 9400 9600 9800 10,000"),
        (
            &[0.0, 2_000_000.0],
            "0 500,000 1,000,000 1,500,000 2,000,000",
        ),
        (&[-100.0, 60.0], "−100 −50 0 50 100"),
        (&[-3.0], "−3.0 −2.5 −2.0 −1.5 −1.0 −0.5 0.0"),
        (&[7.0], "0 1 2 3 4 5 6 7"),
        (&[0.0], "0.0 0.2 0.4 0.6 0.8 1.0"),
        (&[f64::NAN, f64::INFINITY], "0.0 0.2 0.4 0.6 0.8 1.0"),
        (&[], "0.0 0.2 0.4 0.6 0.8 1.0"),
        (&[-2e-9, 2e-9], "−2e−9 −1e−9 0 1e−9 2e−9"),
        (&[0.0, 3e12], "0 5e11 1e12 1.5e12 2e12 2.5e12 3e12"),
    ] {
        let found = ruler(Scale::Linear, values, 8);
        assert_eq!(labels(&found).join(" "), expected, "{values:?}");
    }
}

#[test]
fn logarithmic_axes_have_round_ticks() {
    for (scale, values, expected) in [
        (Scale::Log2, &[0.25, 8.0][..], "0.25 0.5 1 2 4 8"),
        (Scale::Log2, &[0.3, 7.0], "0.25 0.5 1 2 4 8"),
        (Scale::Log2, &[4.0, 4096.0], "4 16 64 256 1024 4096"),
        (Scale::Log2, &[3.0, -1.0, 0.0, f64::NAN], "2 4"),
        (Scale::Log2, &[4.0], "4 8"),
        (Scale::Log10, &[10.0, 200.0], "10 20 50 100 200"),
        (Scale::Log10, &[0.03, 0.1], "0.02 0.05 0.1"),
        (Scale::Log10, &[0.5, 6000.0], "1 10 100 1000 10,000"),
        (Scale::Log10, &[1.0], "1 2"),
        (
            Scale::Log10,
            &[3e-9, 2e10],
            "0.000001 0.001 1 1000 1,000,000 1e9",
        ),
        (Scale::Log2, &[1e10, 3e10], "2^33 2^34 2^35"),
    ] {
        let found = ruler(scale, values, 8);
        assert_eq!(labels(&found).join(" "), expected, "{values:?}");
    }
}

#[test]
fn positions_are_linear_or_logarithmic() {
    let linear = ruler(Scale::Linear, &[0.0, 200.0], 6);
    assert_eq!(linear.fraction(50.0), Some(0.25));
    assert_eq!(linear.fraction(300.0), Some(1.5));
    let two = ruler(Scale::Log2, &[0.25, 4.0], 6);
    assert_eq!(
        [0.25, 0.5, 1.0, 4.0].map(|v| two.fraction(v)),
        [Some(0.0), Some(0.25), Some(0.5), Some(1.0)]
    );
    assert_eq!([0.0, -1.0, f64::NAN].map(|v| two.fraction(v)), [None; 3]);
    let ten = ruler(Scale::Log10, &[1.0, 100.0], 7);
    assert_eq!(ten.fraction(10.0), Some(0.5));
    let twenty = ten.fraction(20.0).unwrap_or(0.0);
    assert!((twenty - 0.650_515).abs() < 1e-6, "{twenty}");
}

#[test]
fn an_axis_ends_at_its_maximum_or_before() {
    let axis = Axis::linear("").with_max(150.0);
    let ending = Ruler::new(&axis, [0.0, 900.0].into_iter(), 5);
    assert_eq!(ending.fraction(150.0), Some(1.0));
    assert_eq!(labels(&ending), ["0", "50", "100", "150"]);
    // The next round number is beyond the maximum.
    let axis_130 = Axis::linear("").with_max(130.0);
    let not_round = Ruler::new(&axis_130, [0.0, 129.0].into_iter(), 5);
    assert_eq!(labels(&not_round), ["0", "50", "100"]);
    assert_eq!(not_round.ticks[2].fraction, 100.0 / 130.0);
    let below = Ruler::new(&axis, [0.0, 30.0].into_iter(), 5);
    assert_eq!(labels(&below), ["0", "10", "20", "30"]);
    let log = Axis::new("", Scale::Log2).with_max(4096.0);
    let below = Ruler::new(&log, [1.0, 7.0].into_iter(), 5);
    assert_eq!(labels(&below), ["1", "2", "4", "8"]);
}

#[test]
fn a_shared_axis_is_the_same_for_all_values() {
    let shared = Axis {
        shared: Some(vec![0.0, f64::NAN, 30.0, 40.0]),
        ..Axis::linear("")
    };
    for values in [&[35.0, 36.0][..], &[1.0, 39.0], &[]] {
        let ruler = Ruler::new(&shared, values.iter().copied(), 5);
        assert_eq!(labels(&ruler), ["0", "10", "20", "30", "40"]);
    }
}

#[test]
fn an_axis_with_given_ends_ends_there() {
    let between = Ruler::with_ends([10.0, 27.0], 6);
    assert_eq!(labels(&between), ["10", "15", "20", "25"]);
    assert_eq!(between.fraction(27.0), Some(1.0));
}

#[test]
fn the_interval_determines_the_digits_of_the_mean() {
    for (mean, half_width, text) in [
        (16.7234, Some(0.1278), "16.72 \u{b1} 0.13"),
        (16.7234, Some(2.0), "16.7 \u{b1} 2.0"),
        (1234.56, Some(345.6), "1235 \u{b1} 346"),
        (0.001_234, Some(0.000_056), "0.001234 \u{b1} 0.000056"),
        (250_000.0, Some(0.012), "250000.000 \u{b1} 0.012"),
        (16.7234, Some(0.0), "16.72"),
        (16.7234, Some(3e-15), "16.72"),
        (16.7234, None, "16.72"),
        (250_000.0, None, "250000"),
        (0.5, None, "0.5"),
        (0.0, None, "0"),
        (12345.6, None, "12346"),
        (0.012345, None, "0.01235"),
        (-16.72, None, "-16.72"),
        (-0.004, Some(0.16), "0.00 \u{b1} 0.16"),
        (-0.04, Some(0.16), "-0.04 \u{b1} 0.16"),
        (1e-10, None, "0"),
    ] {
        assert_eq!(rounded(mean, half_width), text);
    }
}
