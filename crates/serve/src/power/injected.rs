//! Blocks that fail because somebody says so.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diskarm_core::request::Request;
use diskarm_core::units::Lbn;
use diskarm_core::wrap::{Affected, BadBlocks};
use serde::{Serialize, Serializer};

/// Consecutive blocks that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedFault {
    /// Which, and for which transfers.
    pub blocks: BadBlocks,
    /// How many more requests fail; `None` if nothing but healing ends that.
    pub left: Option<u64>,
}

impl InjectedFault {
    /// The end of a range that ends with the disk: no disk has this many sectors.
    pub const ALL: Lbn = Lbn(1 << 48);
}

/// Which transfers fail, as text.
pub const AFFECTED: [(Affected, &str); 3] = [
    (Affected::Reads, "reads"),
    (Affected::Writes, "writes"),
    (Affected::Both, "both"),
];

/// The name of what fails.
pub fn affected_name(affected: Affected) -> &'static str {
    let mut all = AFFECTED.iter();
    let named = all.find(|(other, _)| *other == affected);
    named.map_or("both", |(_, name)| name)
}

impl Serialize for InjectedFault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown {
            first_sector: u64,
            /// `None` for all that follow.
            sectors: Option<u64>,
            affects: &'static str,
            times: Option<u64>,
        }
        let BadBlocks {
            first,
            end,
            affected,
            ..
        } = self.blocks;
        let shown = Shown {
            first_sector: first.0,
            sectors: (end != Self::ALL).then(|| end.0 - first.0),
            affects: affected_name(affected),
            times: self.left,
        };
        shown.serialize(serializer)
    }
}

/// The blocks of a disk that fail. A clone is of the same disk.
#[derive(Clone, Debug, Default)]
pub struct InjectedFaults(Arc<Mutex<Vec<InjectedFault>>>);

impl InjectedFaults {
    /// Lets blocks fail.
    pub fn inject(&self, injected: InjectedFault) {
        self.all().push(injected);
    }

    /// Lets blocks of `[first, end)` fail no more. What is left of a range on either side of them
    /// fails as often as the range would have.
    pub fn heal(&self, first: Lbn, end: Lbn) {
        let rest = |injected: InjectedFault| {
            let bad = injected.blocks;
            let before = BadBlocks {
                end: bad.end.min(first),
                ..bad
            };
            let after = BadBlocks {
                first: bad.first.max(end),
                ..bad
            };
            let parts = [before, after].into_iter();
            let parts = parts.filter(|blocks| blocks.first < blocks.end);
            parts.map(move |blocks| InjectedFault { blocks, ..injected })
        };
        let mut all = self.all();
        *all = all.drain(..).flat_map(rest).collect();
    }

    /// The blocks that fail, in the order in which they were injected.
    pub fn list(&self) -> Vec<InjectedFault> {
        self.all().clone()
    }

    /// Where a request fails: at the first bad block that it meets, which has failed once more.
    /// Blocks beyond it are not tried.
    pub fn fails(&self, request: &Request) -> Option<Lbn> {
        let mut all = self.all();
        let met = all.iter().enumerate();
        let met = met.filter_map(|(place, one)| Some((one.blocks.met_by(request)?, place)));
        let (block, place) = met.min()?;
        if let Some(left) = &mut all[place].left {
            *left -= 1;
            if *left == 0 {
                all.remove(place);
            }
        }
        Some(block)
    }

    fn all(&self) -> MutexGuard<'_, Vec<InjectedFault>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use diskarm_core::request::Op;
    use diskarm_core::units::SectorCount;

    use super::*;

    fn injected(first: u64, end: u64, left: Option<u64>) -> InjectedFault {
        let blocks = BadBlocks {
            first: Lbn(first),
            end: Lbn(end),
            affected: Affected::Reads,
            retries: 0,
        };
        InjectedFault { blocks, left }
    }

    fn read(all: &InjectedFaults, first: u64, sectors: u64) -> Option<u64> {
        let request = Request::new(0, Op::Read, Lbn(first), SectorCount(sectors));
        all.fails(&request).map(|block| block.0)
    }

    #[test]
    fn a_range_fails_as_often_as_it_should() {
        let all = InjectedFaults::default();
        all.inject(injected(8, 10, Some(2)));
        all.inject(injected(9, 12, None));
        // Only the range of the first bad block counts; writes and other blocks do not.
        assert_eq!(read(&all, 0, 8), None);
        assert_eq!(read(&all, 0, 16), Some(8));
        assert_eq!(
            all.list(),
            [injected(8, 10, Some(1)), injected(9, 12, None)]
        );
        let write = Request::new(0, Op::Write, Lbn(8), SectorCount(1));
        assert_eq!(all.fails(&write), None);
        assert_eq!(read(&all, 8, 1), Some(8));
        assert_eq!(read(&all, 8, 1), None);
        assert_eq!(read(&all, 0, 16), Some(9));
        assert_eq!(all.list(), [injected(9, 12, None)]);
    }

    #[test]
    fn what_is_left_of_a_range_fails_as_often() {
        let all = InjectedFaults::default();
        all.inject(injected(8, 12, Some(3)));
        assert_eq!(read(&all, 9, 1), Some(9));
        all.heal(Lbn(9), Lbn(11));
        let rest = [injected(8, 9, Some(2)), injected(11, 12, Some(2))];
        assert_eq!(all.list(), rest);
        all.heal(Lbn(0), InjectedFault::ALL);
        assert_eq!(all.list(), []);
    }
}
