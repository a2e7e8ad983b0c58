//! The rotational wait of a request that may be anywhere on its track.

use crate::moments::Moments;

/// The wait for a first sector anywhere on the track: uniform over a `revolution`, in its unit
/// (liu05, equation 4.5).
pub fn wait(revolution: f64) -> Moments {
    Moments::uniform(revolution)
}

/// The wait with zero latency, where a head that lands within a block of length `transfer` takes
/// the rest of it first: what the request takes beyond `transfer`, all in one unit of time (liu05,
/// section 4.1.2).
///
/// A head lands before the block with probability 1 - q, q being transfer / revolution, and waits
/// uniformly over the rest of the revolution. Otherwise it waits all of the rest, and up to a
/// `sector` more because it landed within one. The mean is q (T - x + s / 2) + (1 - q) (T - x) / 2.
/// A block of a revolution and more waits up to a sector.
pub fn zero_latency(revolution: f64, transfer: f64, sector: f64) -> Moments {
    let rest = (revolution - transfer).max(0.0);
    let within = (transfer / revolution).clamp(0.0, 1.0);
    let lands_within = Moments::constant(rest).plus(Moments::uniform(sector));
    Moments::mixture([
        (1.0 - within, Moments::uniform(rest)),
        (within, lands_within),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The IBM Lightning of liu05, section 4.1.2: 3.45 ms with zero latency, else 3.47.
    #[test]
    fn the_lightning_waits_as_printed() {
        let revolution = 60_000.0 / 8635.6;
        let with = zero_latency(revolution, revolution / 12.0, revolution / 96.0);
        assert!((with.first - 3.45).abs() < 0.005, "{with:?}");
        assert!((wait(revolution).first - 3.47).abs() < 0.005);
    }

    /// Lands at every hundredth of each of 20 sectors, the block being the first `k`, and reads
    /// what passes until it has all.
    #[test]
    fn zero_latency_is_what_landing_everywhere_takes() {
        let (sectors, parts) = (20, 100);
        for k in [1, 3, 19, 20] {
            let of = |at: u32| {
                let position = (f64::from(at) + 0.5) / f64::from(parts);
                // Whole sectors from the next one on, until every one of the block has passed.
                let first = position.ceil();
                let mut last = first;
                for sector in 0..k {
                    let mut begins = f64::from(sector);
                    while begins < first {
                        begins += f64::from(sectors);
                    }
                    last = last.max(begins + 1.0);
                }
                Moments::constant(last - position - f64::from(k))
            };
            let landed = Moments::mixture((0..sectors * parts).map(|at| (1.0, of(at))));
            let closed = zero_latency(f64::from(sectors), f64::from(k), 1.0);
            assert!((landed.first / closed.first - 1.0).abs() < 1e-3, "{k}");
            assert!((landed.second / closed.second - 1.0).abs() < 1e-3, "{k}");
            assert!((landed.third / closed.third - 1.0).abs() < 1e-3, "{k}");
        }
    }

    #[test]
    fn a_whole_track_waits_for_a_sector() {
        let whole = zero_latency(10.0, 10.0, 0.5);
        assert!((whole.first - 0.25).abs() < 1e-12);
    }
}
