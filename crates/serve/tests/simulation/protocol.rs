//! What the simulation needs of a storage protocol.

use std::collections::VecDeque;
use std::io;

use diskarm_serve::{Export, ExportSpec, Facts, Pace, Service, Waker};

use super::expected::{Value, ZERO};

pub const SECTOR: usize = 512;

pub enum Access {
    Read {
        sector: usize,
        count: usize,
    },
    Write {
        sector: usize,
        values: Vec<Value>,
        is_durable: bool,
    },
    Zero {
        sector: usize,
        count: usize,
        is_durable: bool,
    },
    Trim {
        sector: usize,
        count: usize,
    },
    Flush,
}

/// The sectors read, or an error code.
pub type Answer = Result<Vec<Value>, u32>;

pub trait Protocol {
    type Service: Service;
    type Device;

    /// True if the protocol has trims.
    const TRIMS: bool;

    fn build(spec: &ExportSpec, pace: Pace) -> Export<Self::Device>;

    fn start(&self, export: Export<Self::Device>, waker: Waker) -> io::Result<Self::Service>;

    /// Connects client `number`; returns both ends after the handshake.
    fn connect(
        &self,
        facts: &Facts,
        number: usize,
    ) -> (<Self::Service as Service>::Session, Box<dyn Client>);
}

/// The client's end of a connection.
pub trait Client {
    /// Appends what the client sends before its first request to the output.
    fn start(&mut self, _output: &mut VecDeque<u8>) {}

    /// Returns true if the server has announced that it has no write cache.
    fn acknowledges_durably(&self) -> bool {
        false
    }

    /// Appends a request to the output.
    fn send(&mut self, id: u64, access: &Access, output: &mut VecDeque<u8>);

    /// Removes the next answer from the input. May append to the output.
    fn receive(
        &mut self,
        input: &mut VecDeque<u8>,
        output: &mut VecDeque<u8>,
    ) -> Option<(u64, Answer)>;
}

/// Returns the content of a sector with this value.
pub fn sector_content(value: Value) -> [u8; SECTOR] {
    let mut content = [0; SECTOR];
    for part in content.chunks_exact_mut(8) {
        part.copy_from_slice(&value.to_be_bytes());
    }
    content
}

/// Returns the value of a sector. Panics if it is torn.
pub fn sector_value(content: &[u8]) -> Value {
    let first = content.first_chunk().expect("a sector");
    let value = Value::from_be_bytes(*first);
    assert_eq!(content, sector_content(value), "a torn sector");
    value
}

impl Access {
    /// Returns the sectors that the request changes, with their new values.
    pub fn changes(&self) -> Vec<(usize, Value)> {
        match self {
            Self::Write { sector, values, .. } => (*sector..).zip(values.iter().copied()).collect(),
            Self::Zero { sector, count, .. } | Self::Trim { sector, count } => (*sector
                ..*sector + count)
                .map(|sector| (sector, ZERO))
                .collect(),
            Self::Read { .. } | Self::Flush => Vec::new(),
        }
    }

    pub fn is_durable(&self) -> bool {
        matches!(
            self,
            Self::Write {
                is_durable: true,
                ..
            } | Self::Zero {
                is_durable: true,
                ..
            }
        )
    }

    /// Returns true if the request concerns one of `count` sectors.
    pub fn overlaps(&self, first: usize, count: usize) -> bool {
        let (own, length) = match self {
            Self::Read { sector, count }
            | Self::Trim { sector, count }
            | Self::Zero { sector, count, .. } => (*sector, *count),
            Self::Write { sector, values, .. } => (*sector, values.len()),
            Self::Flush => return false,
        };
        own < first + count && first < own + length
    }
}
