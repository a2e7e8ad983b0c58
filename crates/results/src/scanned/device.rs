//! A scan of a device that answers in real time.

use std::fmt::Write;

use diskarm_core::geometry::Layout;
use diskarm_core::units::{Lbn, SectorCount};
use diskarm_scan::{CHUNK, ScanRecord};
use serde::Serialize;

use super::{Scanned, brief};

/// What a scan has found on a device.
#[derive(Debug, Serialize)]
pub struct DeviceScan {
    /// The device.
    pub url: String,
    /// Size of a block.
    pub block_bytes: u64,
    /// Its blocks.
    pub blocks: u64,
    /// Those that were not read.
    pub blocks_left: u64,
    /// Those that were read by earlier runs of the same scan.
    pub blocks_before: u64,
    /// Whether all were read or cannot be.
    pub is_complete: bool,
    /// Whether blocks may have come from the system's page cache instead of the device.
    pub may_be_cached: bool,
    /// How long this run took, in seconds.
    pub time_s: f64,
    /// What cannot be read, those of earlier runs included.
    pub unreadable: Vec<Unreadable>,
    /// The foreground beside it, if there was one.
    pub foreground: Option<Scanned>,
}

/// Consecutive blocks that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// The first.
    pub block: u64,
    /// How many.
    pub blocks: u64,
    /// The cylinder of the first by the model; `None` without one.
    pub cylinder: Option<u32>,
    /// Its head.
    pub head: Option<u32>,
    /// Its sector of the track.
    pub sector: Option<u32>,
}

impl Unreadable {
    /// `sectors` blocks from `first` on.
    ///
    /// # Panics
    /// When the layout has no such block.
    pub fn new(first: Lbn, sectors: SectorCount, layout: Option<&Layout>) -> Self {
        let extent = layout.map(|layout| layout.extent(first));
        Self {
            block: first.0,
            blocks: sectors.0,
            cylinder: extent.map(|extent| extent.cylinder.0),
            head: extent.map(|extent| extent.head.0),
            sector: extent.map(|extent| extent.sector),
        }
    }

    /// A line of a list for people.
    fn text(&self) -> String {
        let blocks = match self.blocks {
            1 => format!("block {}", self.block),
            count => format!("blocks {} to {}", self.block, self.block + count - 1),
        };
        match (self.cylinder, self.head, self.sector) {
            (Some(cylinder), Some(head), Some(sector)) => {
                format!("{blocks}: cylinder {cylinder}, head {head}, sector {sector}")
            }
            _ => blocks,
        }
    }
}

impl DeviceScan {
    /// For people.
    pub fn text(&self) -> String {
        match &self.foreground {
            Some(scanned) => scanned.text(),
            None => self.alone() + &list(&self.unreadable),
        }
    }

    /// For people, without a foreground.
    fn alone(&self) -> String {
        let mut text = format!("{}, in the order of its blocks\n\n", self.url);
        let mut row = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<38}{value}");
        };
        let read = self.blocks - self.blocks_left;
        row("blocks read", format!("{read} of {}", self.blocks));
        if self.blocks_before > 0 {
            row("of these by earlier runs", self.blocks_before.to_string());
        }
        let unreadable: u64 = self.unreadable.iter().map(|run| run.blocks).sum();
        row("unreadable", unreadable.to_string());
        if self.may_be_cached {
            row("read from", "the system's page cache, maybe".to_owned());
        }
        row("time", brief(self.time_s));
        let bytes = (read - self.blocks_before) * self.block_bytes;
        let speed = bytes as f64 / self.time_s.max(1e-9) / 1e6;
        row("speed", format!("{speed:.2} MB/s"));
        text
    }
}

/// What cannot be read, for people; nothing if all can be.
pub(super) fn list(unreadable: &[Unreadable]) -> String {
    let mut text = String::new();
    if !unreadable.is_empty() {
        text += "\ncannot be read\n";
    }
    for run in unreadable {
        text += &run.text();
        text.push('\n');
    }
    text
}

/// The checksums of a complete scan: a line for each chunk.
pub fn checksums(account: &ScanRecord) -> String {
    let sector = account.size().sector.0;
    let mut text = format!(
        "# CRC-32 (as of zlib and gzip) of each {CHUNK} bytes; blocks that cannot be read count as \
         zeroes\n# first block, blocks, checksum, and how many cannot be read if any\n"
    );
    let all = account.sums().into_iter().flat_map(|sums| sums.all());
    for (first, bytes, sum) in all {
        let (first, blocks) = (first / sector, bytes / sector);
        let _ = write!(text, "{first} {blocks} {sum:08x}");
        match account.unreadable_in(Lbn(first), Lbn(first + blocks)) {
            0 => text.push('\n'),
            count => {
                let _ = writeln!(text, " {count}");
            }
        }
    }
    text
}
