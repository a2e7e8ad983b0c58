//! Data with a fixed layout. The `layout!` macro declares their fields, and derives `parse`, `emit`
//! and the mask of all fields.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldPosition {
    byte: usize,
    bytes: usize,
    /// Lowest bit; nonzero only for fields within a byte.
    low: u8,
    /// Number of bits in the byte; 8 in fields of whole bytes.
    bits: u8,
}

impl FieldPosition {
    pub(crate) const fn flag(byte: usize, bit: u8) -> Self {
        Self::bits(byte, bit, bit)
    }

    pub(crate) const fn bits(byte: usize, high: u8, low: u8) -> Self {
        Self {
            byte,
            bytes: 1,
            low,
            bits: high - low + 1,
        }
    }

    pub(crate) const fn bytes(byte: usize, bytes: usize) -> Self {
        Self {
            byte,
            bytes,
            low: 0,
            bits: 8,
        }
    }

    pub(crate) fn mark(self, mask: &mut [u8]) {
        for byte in &mut mask[self.byte..self.byte + self.bytes] {
            let bits = (0xff >> (8 - self.bits)) << self.low;
            assert!(
                *byte & bits == 0,
                "two fields share bits of byte {}",
                self.byte
            );
            *byte |= bits;
        }
    }

    /// Returns the byte and the bit at which the field begins.
    pub(crate) const fn highest_bit(self) -> (u16, u8) {
        (self.byte as u16, self.low + self.bits - 1)
    }

    fn number(self, data: &[u8]) -> u64 {
        let number = crate::layout::number(&data[self.byte..self.byte + self.bytes]);
        if self.bytes == 1 {
            number >> self.low & (0xff >> (8 - self.bits))
        } else {
            number
        }
    }

    fn put(self, data: &mut [u8], number: u64) {
        let field = &mut data[self.byte..self.byte + self.bytes];
        if self.bytes == 1 {
            assert!(number <= 0xff >> (8 - self.bits), "{number} does not fit");
            field[0] |= (number as u8) << self.low;
        } else {
            crate::layout::put(field, number);
        }
    }
}

pub(crate) trait Field {
    fn read(data: &[u8], position: FieldPosition) -> Self;
    fn write(&self, data: &mut [u8], position: FieldPosition);
}

impl Field for bool {
    fn read(data: &[u8], position: FieldPosition) -> Self {
        position.number(data) != 0
    }

    fn write(&self, data: &mut [u8], position: FieldPosition) {
        position.put(data, u64::from(*self));
    }
}

macro_rules! numbers {
    ($($type:ty)+) => {$(
        impl Field for $type {
            fn read(data: &[u8], position: FieldPosition) -> Self {
                position.number(data) as Self
            }

            fn write(&self, data: &mut [u8], position: FieldPosition) {
                position.put(data, u64::from(*self));
            }
        }
    )+};
}

numbers! { u8 u16 u32 u64 }

/// Text, padded with spaces.
impl<const N: usize> Field for [u8; N] {
    fn read(data: &[u8], position: FieldPosition) -> Self {
        core::array::from_fn(|index| data[position.byte + index])
    }

    fn write(&self, data: &mut [u8], position: FieldPosition) {
        data[position.byte..position.byte + N].copy_from_slice(self);
    }
}

/// The error for data that are shorter than their layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    pub expected: usize,
}

/// Declares data with a fixed layout: one row per field, with its documentation, type and position.
macro_rules! layout {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident: $length:literal {
            $($(#[$about:meta])* $field:ident: $type:ty = $position:expr;)+
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $($(#[$about])* pub $field: $type,)+ }

        impl $name {
            pub const LENGTH: usize = $length;

            /// Returns a mask of the bits that belong to fields.
            pub fn mask() -> [u8; $length] {
                let mut mask = [0; $length];
                $($position.mark(&mut mask);)+
                mask
            }

            /// Reads the fields; further bytes are ignored.
            /// Fails if there are fewer than [`Self::LENGTH`] bytes.
            pub fn parse(data: &[u8]) -> Result<Self, $crate::layout::Short> {
                if data.len() < $length {
                    return Err($crate::layout::Short { expected: $length });
                }
                Ok(Self { $($field: $crate::layout::Field::read(data, $position),)+ })
            }

            /// Encodes the fields; bytes without a field are zero. Panics if a number does not fit
            /// its field.
            pub fn emit(&self) -> [u8; $length] {
                let mut data = [0; $length];
                $($crate::layout::Field::write(&self.$field, &mut data, $position);)+
                data
            }
        }
    )+};
}

/// Returns the big-endian number in at most eight `bytes`.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Fills `bytes` with `number`, most significant byte first. Panics if it does not fit.
pub(crate) fn put(bytes: &mut [u8], number: u64) {
    let mut rest = number;
    for byte in bytes.iter_mut().rev() {
        *byte = rest as u8;
        rest >>= 8;
    }
    assert!(rest == 0, "{number} does not fit");
}
