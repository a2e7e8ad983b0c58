//! What vectors leave in the buffer: others must not find it, as models do not know of it.

use diskarm_core::units::Lbn;

use super::bench::Bench;
use super::vector::Vector;

impl Bench<'_, '_> {
    /// A block in the middle of the disk.
    pub fn elsewhere(&mut self) -> Lbn {
        let blocks = self.pairs.layout.sectors().0;
        Lbn(blocks / 4 + self.below(blocks / 2))
    }

    /// Whether blocks from `at` on may be in the drive's buffer.
    fn may_hold(&self, at: Lbn, sectors: u16) -> bool {
        let overlaps =
            |(first, end): &(u64, u64)| *first < at.0 + u64::from(sectors) && at.0 < *end;
        self.left.iter().any(overlaps)
    }

    /// Notes what may be in the buffer behind a command.
    pub fn leave(&mut self, at: Lbn, sectors: u16) {
        let buffer = &self.believed.buffer;
        let track = self.pairs.layout.extent(at).sectors.0;
        let ahead = buffer.read_ahead_max.max(buffer.segment).0;
        let end = at.0 + u64::from(sectors) + ahead;
        self.left.push_back((at.0.saturating_sub(track), end));
        let max = (2 * buffer.segments as usize + 16).max(64);
        while self.left.len() > max {
            self.left.pop_front();
        }
    }

    /// The same vector without steps that find what others have left; `None` if that cannot be
    /// avoided.
    pub fn undisturbed(&mut self, vector: &Vector) -> Option<Vector> {
        let mut vector = vector.clone();
        let fixed = vector.steps.iter().filter(|step| !step.anywhere);
        if fixed
            .clone()
            .any(|step| self.may_hold(step.at, step.sectors))
        {
            return None;
        }
        let fixed: Vec<Lbn> = fixed.map(|step| step.at).collect();
        let before = self.left.len();
        for at in fixed {
            self.leave(at, 1);
        }
        for step in vector.steps.iter_mut().filter(|step| step.anywhere) {
            for _ in 0..50 {
                if !self.may_hold(step.at, 1) {
                    break;
                }
                step.at = self.elsewhere();
            }
            self.leave(step.at, 1);
        }
        self.left.truncate(before);
        Some(vector)
    }
}
