//! Logical unit numbers.

use crate::layout::{Field, FieldPosition};

/// A logical unit number of 64 bits (SAM-5, "LUN structures").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lun(pub u64);

impl Lun {
    /// The unit with this number below 16,384: in the peripheral device addressing method below
    /// 256, and in the flat space addressing method above.
    ///
    /// # Panics
    /// If the number is larger.
    pub const fn new(number: u16) -> Self {
        assert!(number < 1 << 14, "a number of more than 14 bits");
        let method = if number < 256 { 0 } else { 1 << 14 };
        Self(((method | number) as u64) << 48)
    }

    /// The number, if it has a single level in one of these two methods, and bus 0.
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
    fn read(data: &[u8], place: FieldPosition) -> Self {
        Self(Field::read(data, place))
    }

    fn write(&self, data: &mut [u8], place: FieldPosition) {
        self.0.write(data, place);
    }
}
