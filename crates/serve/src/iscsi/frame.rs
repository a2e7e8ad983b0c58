//! Splits a stream of bytes into messages.

use diskarm_wire::iscsi::{Digest, Lengths, Message, padded};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digests {
    pub header: bool,
    pub data: bool,
}

#[derive(Debug)]
pub struct Frame<'a> {
    /// The basic header segment.
    pub header: [u8; Message::LENGTH],
    /// The data without padding.
    pub data: &'a [u8],
    /// Length of the whole message, in bytes.
    pub length: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The message is too long, or its header is corrupt.
    Corrupt,
    DataDigest([u8; Message::LENGTH]),
}

impl Digests {
    const BOTH: Self = Self {
        header: true,
        data: true,
    };

    /// Returns the maximum length of a message with `data` bytes of data.
    pub const fn max_length(data: usize) -> usize {
        4 * u8::MAX as usize + Self::BOTH.length(data)
    }

    /// Returns the first message in `input`, if it is complete. Fails if the message has more than
    /// `max` bytes of data or a digest is wrong.
    pub fn first(self, input: &[u8], max: usize) -> Result<Option<Frame<'_>>, FrameError> {
        let Some((header, _)) = input.split_first_chunk::<{ Message::LENGTH }>() else {
            return Ok(None);
        };
        let lengths = Lengths::parse(header).map_err(|_| FrameError::Corrupt)?;
        if lengths.data_length as usize > max {
            return Err(FrameError::Corrupt);
        }
        let headers = Message::LENGTH + lengths.ahs();
        let data_at = headers + if self.header { Digest::LENGTH } else { 0 };
        let data_end = data_at + lengths.padded();
        let has_data_digest = self.data && lengths.data_length > 0;
        let length = data_end + if has_data_digest { Digest::LENGTH } else { 0 };
        let Some(all) = input.get(..length) else {
            return Ok(None);
        };
        if self.header && all[headers..data_at] != Digest::new(&all[..headers]).bytes() {
            return Err(FrameError::Corrupt);
        }
        let padded = &all[data_at..data_end];
        if has_data_digest && all[data_end..] != Digest::new(padded).bytes() {
            return Err(FrameError::DataDigest(*header));
        }
        Ok(Some(Frame {
            header: *header,
            data: &padded[..lengths.data_length as usize],
            length,
        }))
    }

    /// Returns the length of a message with `data` bytes of data and no additional headers.
    pub const fn length(self, data: usize) -> usize {
        let digests = self.header as usize + (self.data && data > 0) as usize;
        Message::LENGTH + padded(data) + digests * Digest::LENGTH
    }

    pub fn append(self, message: &Message, data: &[u8], output: &mut Vec<u8>) {
        let before = output.len();
        output.resize(before + self.length(data.len()), 0);
        self.emit(message, data, &mut output[before..]);
    }

    /// Writes a message to the start of `room`, which must be large enough; returns its length.
    pub fn emit(self, message: &Message, data: &[u8], room: &mut [u8]) -> usize {
        let header = message.emit(Lengths::of_data(data.len()));
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            room[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&header);
        if self.header {
            put(&Digest::new(&header).bytes());
        }
        put(data);
        put(&[0; 3][..padded(data.len()) - data.len()]);
        if self.data && !data.is_empty() {
            put(&Digest::new(data).bytes());
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use diskarm_wire::iscsi::{Lun, NopOut, Serial, Tag};

    use super::*;

    const MESSAGE: Message = Message::NopOut(NopOut {
        immediate: true,
        lun: Lun(0),
        tag: Tag(1),
        transfer: Tag::NONE,
        command: Serial(2),
        expected_status: Serial(3),
    });

    #[test]
    fn messages_round_trip_with_any_digests() {
        for (header, data) in [(false, false), (true, false), (false, true), (true, true)] {
            let digests = Digests { header, data };
            for payload in [&b""[..], b"abcde"] {
                let mut room = [0xaa; 80];
                let length = digests.emit(&MESSAGE, payload, &mut room);
                assert_eq!(length, digests.length(payload.len()));
                let frame = digests.first(&room, 5).expect("valid").expect("complete");
                assert_eq!(Message::parse(&frame.header), Ok(MESSAGE));
                assert_eq!((frame.data, frame.length), (payload, length));
                let partial = digests.first(&room[..length - 1], 5);
                assert!(partial.expect("a message").is_none());
                if !payload.is_empty() {
                    assert_eq!(digests.first(&room, 4).err(), Some(FrameError::Corrupt));
                }
            }
        }
    }

    #[test]
    fn digests_detect_wrong_bytes() {
        let digests = Digests::BOTH;
        let mut room = [0; 80];
        let length = digests.emit(&MESSAGE, b"abcde", &mut room);
        for at in 0..length {
            let mut wrong = room;
            wrong[at] ^= 1;
            // A wrong length may make the message incomplete.
            let found = digests.first(&wrong, 1 << 20);
            let is_unframed = matches!(found, Err(FrameError::Corrupt) | Ok(None));
            let is_corrupt = matches!(found, Err(FrameError::DataDigest(_)));
            assert!(if at < 52 { is_unframed } else { is_corrupt }, "{at}");
        }
    }
}
