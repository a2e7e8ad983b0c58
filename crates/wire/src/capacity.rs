//! Data of READ CAPACITY (SBC-3).

use crate::layout::FieldPosition;

layout! {
    /// Data of READ CAPACITY(10).
    pub struct Capacity10: 8 {
        /// The last block; all ones if it does not fit.
        last: u32 = FieldPosition::bytes(0, 4);
        /// Bytes per block.
        block_bytes: u32 = FieldPosition::bytes(4, 4);
    }
}

layout! {
    /// Data of READ CAPACITY(16).
    pub struct Capacity16: 32 {
        last: u64 = FieldPosition::bytes(0, 8);
        /// Bytes per block.
        block_bytes: u32 = FieldPosition::bytes(8, 4);
        /// Type of protection information less one.
        protection_type: u8 = FieldPosition::bits(12, 3, 1);
        /// Formatted with protection information.
        protected: bool = FieldPosition::flag(12, 0);
        /// Binary logarithm of the blocks in a physical block.
        physical_block_exponent: u8 = FieldPosition::bits(13, 3, 0);
        /// Blocks may be unmapped.
        thin: bool = FieldPosition::flag(14, 7);
        /// Unmapped blocks read as zeros.
        unmapped_are_zero: bool = FieldPosition::flag(14, 6);
    }
}
