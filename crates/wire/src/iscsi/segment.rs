//! Additional header segments, data segments with sense data, and digests.

use alloc::vec::Vec;

use super::message::padded;

/// An additional header segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The type: 2 if the content is a reserved byte and the expected length of the data that a
    /// bidirectional command reads.
    pub kind: u8,
    /// The content, without padding.
    pub data: &'a [u8],
}

/// Returns the segments in `data`; the last one is an error if it is cut off.
pub fn segments(data: &[u8]) -> impl Iterator<Item = Result<Segment<'_>, CutOff>> {
    let mut rest = data;
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let next = first(rest);
        rest = next.map_or(&[], |(_, rest)| rest);
        Some(next.map(|(segment, _)| segment).ok_or(CutOff))
    })
}

/// The error for a segment that is longer than the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutOff;

/// Size of the length and type fields, in bytes. The length does not include them.
const HEAD: usize = 3;

fn first(data: &[u8]) -> Option<(Segment<'_>, &[u8])> {
    let (head, _) = data.split_first_chunk::<HEAD>()?;
    let length = usize::from(u16::from_be_bytes([head[0], head[1]]));
    let (segment, rest) = data.split_at_checked(padded(HEAD + length))?;
    let segment = Segment {
        kind: head[2],
        data: &segment[HEAD..HEAD + length],
    };
    Some((segment, rest))
}

impl Segment<'_> {
    /// Encodes the segment with its padding; panics if it has more than 65,535 bytes.
    pub fn emit(&self) -> Vec<u8> {
        let length = u16::try_from(self.data.len()).expect("a segment has at most 65,535 bytes");
        let mut data = [&length.to_be_bytes()[..], &[self.kind], self.data].concat();
        data.resize(padded(data.len()), 0);
        data
    }
}

/// Splits the data of a response into sense data and response data; `None` if they are cut off.
pub fn sense(data: &[u8]) -> Option<(&[u8], &[u8])> {
    if data.is_empty() {
        return Some((&[], &[]));
    }
    let (length, rest) = data.split_first_chunk()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

/// Encodes sense data as the data of a response; panics if they have more than 65,535 bytes.
pub fn emit_sense(sense: &[u8]) -> Vec<u8> {
    if sense.is_empty() {
        return Vec::new();
    }
    let length = u16::try_from(sense.len()).expect("sense data have at most 65,535 bytes");
    [&length.to_be_bytes(), sense].concat()
}

/// The CRC-32C (Castagnoli) of the data so far.
///
/// ```
/// use diskarm_wire::iscsi::Digest;
/// let mut digest = Digest::default();
/// digest.update(b"1234");
/// digest.update(b"56789");
/// assert_eq!(u32::from_le_bytes(digest.bytes()), 0xe306_9283);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u32);

impl Default for Digest {
    fn default() -> Self {
        Self(u32::MAX)
    }
}

/// The polynomial 0x1edc6f41, bit-reversed: its lowest power is the highest bit.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The contribution of a byte to the checksum: a table for each number of bytes that follow it.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = sum >> 1 ^ if sum & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut at = 256;
    while at < 8 * 256 {
        let previous = tables[at / 256 - 1][at % 256];
        tables[at / 256][at % 256] = previous >> 8 ^ tables[0][(previous & 0xff) as usize];
        at += 1;
    }
    tables
}

impl Digest {
    pub const LENGTH: usize = 4;

    /// Computes the digest of `data` with its padding to words of four bytes.
    pub fn new(data: &[u8]) -> Self {
        let mut digest = Self::default();
        digest.update(data);
        digest.update(&[0; 3][..padded(data.len()) - data.len()]);
        digest
    }

    pub fn update(&mut self, data: &[u8]) {
        let mut sum = self.0;
        let mut chunks = data.chunks_exact(8);
        for chunk in &mut chunks {
            let mut next = 0;
            for (index, byte) in chunk.iter().enumerate() {
                // The first four bytes are combined with the checksum so far.
                let old = if index < 4 { sum >> (8 * index) } else { 0 };
                next ^= TABLES[7 - index][usize::from(*byte ^ old as u8)];
            }
            sum = next;
        }
        for byte in chunks.remainder() {
            sum = sum >> 8 ^ TABLES[0][usize::from(*byte ^ sum as u8)];
        }
        self.0 = sum;
    }

    pub const fn bytes(self) -> [u8; 4] {
        (!self.0).to_le_bytes()
    }
}
