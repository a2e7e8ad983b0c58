//! Additional header segments, and what data segments begin with.

/// An additional header segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// A number of [`kind`].
    pub kind: u8,
    /// The content, without padding.
    pub data: &'a [u8],
}

/// Numbers of additional header segments.
pub mod kind {
    /// The rest of a command block of more than 16 bytes, after a reserved byte.
    pub const EXTENDED_COMMAND: u8 = 1;
    /// Length of the data that a bidirectional command reads, after a reserved byte.
    pub const READ_LENGTH: u8 = 2;
}

/// The segments in `data`; the last one is an error if it is cut off.
pub fn segments(data: &[u8]) -> impl Iterator<Item = Result<Segment<'_>, CutOff>> {
    let mut rest = data;
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let found = first(rest);
        rest = found.map_or(&[], |(_, rest)| rest);
        Some(found.map(|(segment, _)| segment).ok_or(CutOff))
    })
}

/// A segment is longer than the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutOff;

/// Bytes of length and type, which the length does not count.
const HEAD: usize = 3;

fn first(data: &[u8]) -> Option<(Segment<'_>, &[u8])> {
    let (head, _) = data.split_first_chunk::<HEAD>()?;
    let length = usize::from(u16::from_be_bytes([head[0], head[1]]));
    let (segment, rest) = data.split_at_checked(super::padded(HEAD + length))?;
    let segment = Segment {
        kind: head[2],
        data: &segment[HEAD..HEAD + length],
    };
    Some((segment, rest))
}

impl Segment<'_> {
    /// Writes it with its padding to the beginning of `data`; returns its length.
    ///
    /// # Panics
    /// If there is too little room, or it has more than 65,535 bytes.
    pub fn emit(&self, data: &mut [u8]) -> usize {
        let length = self.data.len();
        let field = u16::try_from(length).expect("at most 65,535 bytes");
        let data = &mut data[..super::padded(HEAD + length)];
        data.fill(0);
        data[..2].copy_from_slice(&field.to_be_bytes());
        data[2] = self.kind;
        data[HEAD..HEAD + length].copy_from_slice(self.data);
        data.len()
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

/// Writes sense data as the data of a response; returns how many bytes they have.
///
/// # Panics
/// If there is too little room, or there are more than 65,535 bytes.
pub fn emit_sense(sense: &[u8], data: &mut [u8]) -> usize {
    if sense.is_empty() {
        return 0;
    }
    let length = u16::try_from(sense.len()).expect("at most 65,535 bytes");
    data[..2].copy_from_slice(&length.to_be_bytes());
    data[2..2 + sense.len()].copy_from_slice(sense);
    2 + sense.len()
}
