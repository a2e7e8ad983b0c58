//! Digests of headers and data.

/// CRC-32C (Castagnoli), as it stands after headers and data.
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

/// The polynomial 0x1edc6f41, its lowest power in the highest bit.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The contribution of a byte that is followed by as many bytes as the index of its table.
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
        let before = tables[at / 256 - 1][at % 256];
        tables[at / 256][at % 256] = before >> 8 ^ tables[0][(before & 0xff) as usize];
        at += 1;
    }
    tables
}

impl Digest {
    /// Length, in bytes.
    pub const LENGTH: usize = 4;

    /// That of `data`, and of padding to words of four bytes.
    pub fn new(data: &[u8]) -> Self {
        let mut digest = Self::default();
        digest.update(data);
        digest.update(&[0; 3][..super::padded(data.len()) - data.len()]);
        digest
    }

    pub fn update(&mut self, data: &[u8]) {
        let mut sum = self.0;
        let mut chunks = data.chunks_exact(8);
        for chunk in &mut chunks {
            let mut next = 0;
            for (index, byte) in chunk.iter().enumerate() {
                // The first four bytes meet the sum so far.
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

    /// As it is sent.
    pub const fn bytes(self) -> [u8; 4] {
        (!self.0).to_le_bytes()
    }
}
