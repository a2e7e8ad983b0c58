//! Which part of a request may use a row of stripe units.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// For each row in use, the parts that wait for it, in order of arrival. A part claims all its rows
/// at once, so that none waits for one that waits for it.
#[derive(Default)]
pub(super) struct Rows {
    waiting: BTreeMap<u64, VecDeque<u64>>,
}

impl Rows {
    /// Claims `rows` for a part; of how many it must wait for another to release them.
    pub fn claim(&mut self, part: u64, rows: Range<u64>) -> u64 {
        let mut used = 0;
        for row in rows {
            match self.waiting.get_mut(&row) {
                Some(waiting) => {
                    waiting.push_back(part);
                    used += 1;
                }
                None => {
                    self.waiting.insert(row, VecDeque::new());
                }
            }
        }
        used
    }

    /// Releases `rows`, which a part has claimed, whether or not it waits for some of them. Returns
    /// for each of them that it had the part that has it now, if another waits.
    pub fn release(&mut self, part: u64, rows: Range<u64>) -> Vec<u64> {
        let mut now = Vec::new();
        for row in rows {
            let Some(waiting) = self.waiting.get_mut(&row) else {
                panic!("row {row} is not in use");
            };
            if let Some(place) = waiting.iter().position(|waits| *waits == part) {
                waiting.remove(place);
            } else if let Some(next) = waiting.pop_front() {
                now.push(next);
            } else {
                self.waiting.remove(&row);
            }
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_used_in_order_of_arrival() {
        let mut rows = Rows::default();
        assert_eq!(rows.claim(1, 0..3), 0);
        assert_eq!(rows.claim(2, 2..4), 1);
        assert_eq!(rows.claim(3, 3..4), 1);
        assert_eq!(rows.claim(4, 2..3), 1);
        assert_eq!(rows.claim(5, 9..10), 0);
        // One that waits gives up: it has row 3, which the next gets.
        assert_eq!(rows.release(2, 2..4), [3]);
        assert_eq!(rows.release(1, 0..3), [4]);
        for (part, claimed) in [(3, 3..4), (4, 2..3), (5, 9..10)] {
            assert_eq!(rows.release(part, claimed), [0; 0]);
        }
        assert!(rows.waiting.is_empty());
    }
}
