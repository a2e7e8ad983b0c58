//! The replays of a validation, on several threads.

use diskarm_core::engine::Rejected;
use diskarm_fit::validate::{Replayed, Validation, Variant};

use crate::parallel;

/// All replays in the order of [`Validation::variants`], on every processor; `progress` is called
/// with the number done.
///
/// # Errors
/// The first refusal, in that order.
pub fn all(
    validation: &Validation<'_>,
    progress: impl Fn(u64) + Sync,
) -> Result<Vec<Replayed>, Rejected> {
    let variants: Vec<Variant> = Validation::variants().collect();
    let replay = |number: usize| validation.replay(variants[number]);
    let replays = parallel::map(variants.len(), replay, progress);
    replays.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use diskarm_core::engine::Step;
    use diskarm_core::request::{Op, Request};
    use diskarm_core::units::{Lbn, SectorCount, Span};
    use diskarm_fit::validate::{Figures, Measured};

    use super::*;
    use crate::Model;

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let drive = Model::find("hp-c2247").unwrap_or_else(|e| panic!("{e}"));
        let row = |id: u64| Measured {
            step: Step {
                request: Request::new(
                    id,
                    if id.is_multiple_of(3) {
                        Op::Write
                    } else {
                        Op::Read
                    },
                    Lbn(id * 7_919 * 131 % 2_000_000),
                    SectorCount(1 + id % 40),
                ),
                think: Span::from_us((id * 1_237 % 30_001) as f64),
            },
            response: Span::from_ms(15.0),
        };
        let rows = (0..500).map(row).collect();
        let validation = Validation::new(&drive.spec, drive.layout().clone(), rows);
        let variants: Vec<Variant> = Validation::variants().collect();
        let replay = |number: usize| {
            let replayed = validation.replay(variants[number]);
            replayed.unwrap_or_else(|e| panic!("{e}"))
        };
        let replays = |threads| parallel::map_on(threads, variants.len(), replay, |_| {});
        let one = replays(1);
        assert_ne!(one[0], one[16]);
        for threads in [2, 5, 100] {
            let many = replays(threads);
            assert_eq!(one, many, "{threads} threads");
            assert_eq!(
                Figures::of(&validation, &one),
                Figures::of(&validation, &many)
            );
        }
    }
}
