//! Bytes on their way.

/// A queue of bytes in memory that is allocated once.
pub struct Buffer {
    data: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Buffer {
    /// Room for `size` bytes.
    pub fn new(size: usize) -> Self {
        Self {
            data: vec![0; size].into_boxed_slice(),
            start: 0,
            end: 0,
        }
    }

    /// The bytes in it, the first to leave first.
    pub fn bytes(&self) -> &[u8] {
        &self.data[self.start..self.end]
    }

    /// Removes the first `count` bytes.
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        assert!(self.start <= self.end, "more bytes leave than there are");
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Where bytes can be added; [`Self::added`] says how many were.
    pub fn room(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.data.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        &mut self.data[self.end..]
    }

    /// How much room there is.
    pub fn room_len(&self) -> usize {
        self.data.len() - (self.end - self.start)
    }

    /// Counts bytes that were written to the room.
    pub fn added(&mut self, count: usize) {
        self.end += count;
        assert!(
            self.end <= self.data.len(),
            "more bytes than there is room for"
        );
    }
}
