//! Sequence numbers.

use crate::layout::{Field, FieldPosition};

/// A number of 32 bits that counts messages and begins again after the largest (RFC 1982).
///
/// Two of them have no order if they are 2^31 apart, so this type has none: it has
/// [`Self::is_before`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Serial(pub u32);

impl Serial {
    /// The number `count` later.
    pub const fn plus(self, count: u32) -> Self {
        Self(self.0.wrapping_add(count))
    }

    /// The next number.
    pub const fn next(self) -> Self {
        self.plus(1)
    }

    /// The number before.
    pub const fn previous(self) -> Self {
        Self(self.0.wrapping_sub(1))
    }

    /// The distance from `earlier` to this number.
    pub const fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// Returns true if it comes before `other`, which is less than 2^31 away.
    pub const fn is_before(self, other: Self) -> bool {
        let ahead = other.since(self);
        ahead != 0 && ahead < 1 << 31
    }
}

impl Field for Serial {
    fn read(data: &[u8], place: FieldPosition) -> Self {
        Self(Field::read(data, place))
    }

    fn write(&self, data: &mut [u8], place: FieldPosition) {
        self.0.write(data, place);
    }
}
