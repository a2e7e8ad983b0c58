//! Types of fields that many messages have: tags, logical unit numbers and sequence numbers.

use crate::layout::{Field, FieldPosition};

/// `length` bytes with their padding to words of four bytes.
pub const fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// The name of a task or a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

impl Tag {
    /// The name of nothing.
    pub const NONE: Self = Self(0xffff_ffff);
}

impl Field for Tag {
    fn read(data: &[u8], position: FieldPosition) -> Self {
        Self(Field::read(data, position))
    }

    fn write(&self, data: &mut [u8], position: FieldPosition) {
        self.0.write(data, position);
    }
}

/// A logical unit number of 64 bits (SAM-5, "LUN structures").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lun(pub u64);

impl Lun {
    /// Creates the number of a unit below 16,384: in the peripheral device addressing method below
    /// 256, and in the flat space addressing method above.
    ///
    /// # Panics
    /// If the number is larger.
    pub const fn new(number: u16) -> Self {
        assert!(number < 1 << 14, "a number of more than 14 bits");
        let method = if number < 256 { 0 } else { 1 << 14 };
        Self(((method | number) as u64) << 48)
    }

    /// Returns the number if it has a single level in one of these two methods, and bus 0.
    pub const fn number(self) -> Option<u16> {
        let first = (self.0 >> 48) as u16;
        let is_single = self.0 << 16 == 0;
        match first >> 14 {
            0 if is_single && first < 256 => Some(first),
            1 if is_single => Some(first & 0x3fff),
            _ => None,
        }
    }
}

impl Field for Lun {
    fn read(data: &[u8], position: FieldPosition) -> Self {
        Self(Field::read(data, position))
    }

    fn write(&self, data: &mut [u8], position: FieldPosition) {
        self.0.write(data, position);
    }
}

/// A number of 32 bits that counts messages and wraps around after the largest (RFC 1982).
///
/// Two of them have no order if they are 2^31 apart, so this type does not implement `Ord` but
/// has [`Self::is_before`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Serial(pub u32);

impl Serial {
    /// Returns the number `count` later.
    pub const fn plus(self, count: u32) -> Self {
        Self(self.0.wrapping_add(count))
    }

    /// Returns the next number.
    pub const fn next(self) -> Self {
        self.plus(1)
    }

    /// Returns the previous number.
    pub const fn previous(self) -> Self {
        Self(self.0.wrapping_sub(1))
    }

    /// Returns the distance from `earlier` to this number.
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
    fn read(data: &[u8], position: FieldPosition) -> Self {
        Self(Field::read(data, position))
    }

    fn write(&self, data: &mut [u8], position: FieldPosition) {
        self.0.write(data, position);
    }
}
