//! What of lines and areas lies within the unit square: data beyond the end of an axis is not
//! drawn over what stands around the plot.

/// Shares of the way along both axes.
pub type Place = (f64, f64);

/// The pieces of a line that lie within.
pub fn line(points: &[Place]) -> Vec<Vec<Place>> {
    let mut pieces: Vec<Vec<Place>> = Vec::new();
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

/// The part of a straight line within, by the method of Liang and Barsky.
fn segment(from: Place, to: Place) -> Option<(Place, Place)> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut first, mut last) = (0.0_f64, 1.0_f64);
    for (towards, room) in [
        (-dx, from.0),
        (dx, 1.0 - from.0),
        (-dy, from.1),
        (dy, 1.0 - from.1),
    ] {
        if towards < 0.0 {
            first = first.max(room / towards);
        } else if towards > 0.0 {
            last = last.min(room / towards);
        } else if room < 0.0 {
            return None;
        }
    }
    let at = |share: f64| match share {
        0.0 => from,
        1.0 => to,
        _ => (from.0 + share * dx, from.1 + share * dy),
    };
    (first <= last).then(|| (at(first), at(last)))
}

/// The part of a polygon within, by the method of Sutherland and Hodgman: rim by rim.
pub fn polygon(corners: Vec<Place>) -> Vec<Place> {
    let rooms: [fn(Place) -> f64; 4] = [|p| p.0, |p| 1.0 - p.0, |p| p.1, |p| 1.0 - p.1];
    rooms.iter().fold(corners, |corners, room| {
        let mut inside = Vec::new();
        for (i, &to) in corners.iter().enumerate() {
            let from = corners[(i + corners.len() - 1) % corners.len()];
            let (before, after) = (room(from), room(to));
            if (before < 0.0) != (after < 0.0) {
                let share = before / (before - after);
                let between = |a: f64, b: f64| a + share * (b - a);
                inside.push((between(from.0, to.0), between(from.1, to.1)));
            }
            if after >= 0.0 {
                inside.push(to);
            }
        }
        inside
    })
}

/// Whether a place lies within, its rim included.
pub fn holds((x, y): Place) -> bool {
    (0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_at_the_rim_and_begins_again_where_it_comes_back() {
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

    #[test]
    fn an_area_is_cut_at_the_rim() {
        // A triangle whose tip stands out: its base, and the two places at the upper rim.
        let cut = polygon(vec![(0.0, 0.0), (1.0, 0.0), (0.5, 2.0)]);
        let mut sorted = cut.clone();
        sorted.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        assert_eq!(sorted, [(0.0, 0.0), (0.25, 1.0), (0.75, 1.0), (1.0, 0.0)]);
        assert!(polygon(vec![(0.0, 2.0), (1.0, 2.0), (0.5, 3.0)]).is_empty());
    }
}
