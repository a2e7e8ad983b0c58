//! Memory that data are read into.

/// Pages begin at multiples of this, in bytes: what direct reads of any disk need.
const PAGE: usize = 4096;

/// Bytes that begin at a page.
pub struct Data {
    bytes: Vec<u8>,
    first: usize,
    length: usize,
}

impl Data {
    /// Zeroes, `length` bytes of them.
    pub fn zeroes(length: usize) -> Self {
        let bytes = vec![0; length + PAGE];
        // Where it begins is a matter of speed alone to all but direct reads, which then fail.
        let first = bytes.as_ptr().align_offset(PAGE).min(PAGE);
        Self {
            bytes,
            first,
            length,
        }
    }
}

impl std::ops::Deref for Data {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.first..self.first + self.length]
    }
}

impl std::ops::DerefMut for Data {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.first..self.first + self.length]
    }
}
