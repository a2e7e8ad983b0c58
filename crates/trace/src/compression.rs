//! Compressed files, recognised by their first bytes, not by their names.

use std::io::{BufRead, Read, Result};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;

use crate::frames::Frames;

/// A stream of bytes.
pub(crate) type Bytes = Box<dyn Read + Send>;

struct Compression {
    /// The first bytes of its files.
    magic: &'static [u8],
    /// Decompresses a file, including one with several members.
    open: fn(Compressed) -> Result<Bytes>,
}

/// The input of a decompressor.
type Compressed = Box<dyn BufRead + Send>;

/// RFC 1952, section 2.3.1 (deflate, the only method); RFC 8878, section 3.1.1; The .xz
/// File Format 1.2, section 2.1.1.1; bzip2 1.0's `BZh`.
const KNOWN: [Compression; 4] = [
    Compression {
        magic: b"\x1f\x8b\x08",
        open: |input| Ok(Box::new(MultiGzDecoder::new(input))),
    },
    Compression {
        magic: b"\x28\xb5\x2f\xfd",
        open: |input| Ok(Box::new(Frames::new(input))),
    },
    Compression {
        magic: b"\xfd7zXZ\x00",
        open: |input| Ok(Box::new(XzReader::new(input, true))),
    },
    Compression {
        magic: b"BZh",
        open: |input| Ok(Box::new(MultiBzDecoder::new(input))),
    },
];

/// Whether a file that begins with `head` is compressed.
pub(crate) fn is_compressed(head: &[u8]) -> bool {
    KNOWN.iter().any(|known| head.starts_with(known.magic))
}

/// The content of `input`, decompressed if `head`, its first bytes, shows that it is compressed.
pub(crate) fn decompressed(head: &[u8], input: Bytes, chunk: usize) -> Result<Bytes> {
    match KNOWN.iter().find(|known| head.starts_with(known.magic)) {
        Some(known) => {
            let buffered = std::io::BufReader::with_capacity(chunk, input);
            (known.open)(Box::new(buffered))
        }
        None => Ok(input),
    }
}

/// Reads the first bytes of `input`, at most `max`.
pub(crate) fn head(input: &mut Bytes, max: usize) -> Result<Vec<u8>> {
    let mut head = Vec::with_capacity(max);
    input.by_ref().take(max as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// More than the longest magic.
pub(crate) const MAGIC_BYTES: usize = 8;
