//! Which commands of a session are taken, and what they may take.

use diskarm_wire::iscsi::Serial;

use super::WINDOW;

/// How many immediate commands may be under way.
pub const MAX_IMMEDIATE: usize = 8;
/// How much memory the data of the commands under way may take, in bytes. Beside them a session has
/// its buffers, the data of pings that are to be returned, and those of commands that have come
/// before their turn.
pub const MAX_COST: usize = 64 << 20;

/// The numbers of commands, and those that have no answer yet or whose answers have not left.
#[derive(Debug)]
pub struct Window {
    /// The number of the next command.
    expected: Serial,
    /// The largest number of a command that the initiator was told is taken.
    told_max: Serial,
    /// Commands with a number: they fill the window.
    numbered: u32,
    immediate: usize,
    /// The memory that all take, in bytes.
    cost: usize,
}

/// Whether a command comes in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Next,
    /// One before it has not come.
    Ahead,
    /// It is outside the window, and is ignored.
    Outside,
}

/// What a command takes of the window until its answer has left.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// It has no number of its own.
    pub is_immediate: bool,
    /// How many bytes of memory it takes at most.
    pub cost: usize,
}

impl Window {
    /// Nothing is under way, and the login has told of a whole window.
    pub fn new(expected: Serial) -> Self {
        Self {
            expected,
            told_max: expected.plus(WINDOW - 1),
            numbered: 0,
            immediate: 0,
            cost: 0,
        }
    }

    /// The number of the next command.
    pub fn expected(&self) -> Serial {
        self.expected
    }

    /// Whether a command with this number may come later.
    pub fn is_to_come(&self, command: Serial) -> bool {
        !command.is_before(self.expected) && !self.told_max.is_before(command)
    }

    /// Takes the number of a command that comes in order.
    pub fn order(&mut self, is_immediate: bool, command: Serial) -> Order {
        if is_immediate {
            return Order::Next;
        }
        if !self.is_to_come(command) {
            return Order::Outside;
        }
        if command != self.expected {
            return Order::Ahead;
        }
        self.expected = self.expected.next();
        Order::Next
    }

    /// Tells the largest number of a command that is taken, which never becomes smaller: the
    /// initiator may already have used what it was told.
    pub fn tell(&mut self) -> Serial {
        let free = WINDOW.saturating_sub(self.numbered);
        let max = self.expected.plus(free).previous();
        if self.told_max.is_before(max) {
            self.told_max = max;
        }
        self.told_max
    }

    /// Whether one more immediate command may begin.
    pub fn takes_immediate(&self) -> bool {
        self.immediate < MAX_IMMEDIATE
    }

    /// Whether there is memory for a command that takes this much.
    pub fn has_memory(&self, cost: usize) -> bool {
        self.cost + cost <= MAX_COST
    }

    pub fn take(&mut self, share: Share) {
        match share.is_immediate {
            true => self.immediate += 1,
            false => self.numbered += 1,
        }
        self.cost += share.cost;
    }

    /// Nothing is left of a command.
    pub fn release(&mut self, share: Share) {
        match share.is_immediate {
            true => self.immediate -= 1,
            false => self.numbered -= 1,
        }
        self.cost -= share.cost;
    }
}
