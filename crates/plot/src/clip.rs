//! Clips lines and areas to the unit square, so that data beyond the end of an axis is not drawn
//! outside the plot.

/// A position as fractions of both axes.
pub type Position = (f64, f64);

/// The pieces of a line inside the square.
pub fn line(points: &[Position]) -> Vec<Vec<Position>> {
    let mut pieces: Vec<Vec<Position>> = Vec::new();
    for pair in points.windows(2) {
        let Some((from, to)) = segment(pair[0], pair[1]) else {
            continue;
        };
        match pieces.last_mut() {
            Some(piece) if piece.last() == Some(&from) => piece.push(to),
            _ => pieces.push(vec![from, to]),
        }
    }
    pieces
}

/// The part of a straight line inside the square (Liang-Barsky).
fn segment(from: Position, to: Position) -> Option<(Position, Position)> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut first, mut last) = (0.0_f64, 1.0_f64);
    for (direction, distance) in [
        (-dx, from.0),
        (dx, 1.0 - from.0),
        (-dy, from.1),
        (dy, 1.0 - from.1),
    ] {
        if direction < 0.0 {
            first = first.max(distance / direction);
        } else if direction > 0.0 {
            last = last.min(distance / direction);
        } else if distance < 0.0 {
            return None;
        }
    }
    let at = |fraction: f64| match fraction {
        0.0 => from,
        1.0 => to,
        _ => (from.0 + fraction * dx, from.1 + fraction * dy),
    };
    let at = |fraction| onto_square(at(fraction));
    (first <= last).then(|| (at(first), at(last)))
}

/// The part of a polygon inside the square (Sutherland-Hodgman), edge by edge.
pub fn polygon(corners: Vec<Position>) -> Vec<Position> {
    let distances: [fn(Position) -> f64; 4] = [|p| p.0, |p| 1.0 - p.0, |p| p.1, |p| 1.0 - p.1];
    let inside = distances.iter().fold(corners, |corners, distance| {
        let mut inside = Vec::new();
        for (i, &to) in corners.iter().enumerate() {
            let from = corners[(i + corners.len() - 1) % corners.len()];
            let (before, after) = (distance(from), distance(to));
            if (before < 0.0) != (after < 0.0) {
                let fraction = before / (before - after);
                let between = |a: f64, b: f64| a + fraction * (b - a);
                inside.push((between(from.0, to.0), between(from.1, to.1)));
            }
            if after >= 0.0 {
                inside.push(to);
            }
        }
        inside
    });
    inside.into_iter().map(onto_square).collect()
}

/// Moves a clipped position onto the square: rounding errors are large if a line ends far outside.
fn onto_square((x, y): Position) -> Position {
    (x.clamp(0.0, 1.0), y.clamp(0.0, 1.0))
}

/// Returns true if a position is inside the square or on its edge.
pub fn contains((x, y): Position) -> bool {
    (0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_clipped_at_the_edges() {
        let pieces = line(&[(0.0, 0.5), (0.25, 1.5), (0.5, 1.5), (0.75, 0.5), (1.0, 0.5)]);
        let expected = [
            vec![(0.0, 0.5), (0.125, 1.0)],
            vec![(0.625, 1.0), (0.75, 0.5), (1.0, 0.5)],
        ];
        assert_eq!(pieces, expected);
        assert!(line(&[(0.0, 1.5), (1.0, 1.5)]).is_empty());
        assert_eq!(
            line(&[(-1.0, -1.0), (2.0, 2.0)]),
            [[(0.0, 0.0), (1.0, 1.0)]]
        );
    }

    /// At 1e12 neighbouring numbers are 1.2e-4 apart.
    #[test]
    fn lines_from_far_outside_end_on_the_edge() {
        let far = 1e12;
        let across = [[(0.0, 0.0), (1.0, 1.0)]];
        assert_eq!(line(&[(-far, -far), (far, far)]), across);
        let level = line(&[(-far, 0.3), (far, 0.5)]);
        let [from, to] = level[0][..] else {
            panic!("{level:?}");
        };
        assert_eq!((from.0, to.0), (0.0, 1.0));
        assert!((from.1 - 0.4).abs() < 1e-6 && (to.1 - 0.4).abs() < 1e-6);
        // All of the square is inside.
        let clipped = polygon(vec![(-far, -far), (far, 0.5), (0.5, far)]);
        assert_eq!(clipped, [(0.0, 1.0), (0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]);
    }

    #[test]
    fn polygons_are_clipped_at_the_edges() {
        // A triangle whose tip is outside: its base, and two corners on the upper edge.
        let clipped = polygon(vec![(0.0, 0.0), (1.0, 0.0), (0.5, 2.0)]);
        let mut sorted = clipped.clone();
        sorted.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        assert_eq!(sorted, [(0.0, 0.0), (0.25, 1.0), (0.75, 1.0), (1.0, 0.0)]);
        assert!(polygon(vec![(0.0, 2.0), (1.0, 2.0), (0.5, 3.0)]).is_empty());
    }
}
