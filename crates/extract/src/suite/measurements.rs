//! The table of measurements, in the order in which they are made.

use diskarm_core::geometry::Layout;
use diskarm_core::units::Span;

use super::checkpoint::{Findings, MtbrcFinding, Options, WriteSeeks};
use crate::mtbrc::{Kind, To};
use crate::{
    Access, Disk, Effort, Error, Setup, cache, hits, idle, layout, mtbrc, overheads, rotation,
    seek, seek_command,
};

pub(super) struct Context<'b, 't> {
    pub disk: &'b mut Disk<'t>,
    pub findings: &'b mut Findings,
    pub options: Options,
    pub seed: u64,
}

fn rotation(context: &mut Context<'_, '_>) -> Result<(), Error> {
    let found = rotation::measure(context.disk, context.options.effort, context.seed)?;
    context.findings.rotation = Some(found);
    Ok(())
}

fn layout(context: &mut Context<'_, '_>) -> Result<(), Error> {
    let rotation = require(&context.findings.rotation, "rotation")?;
    let chosen = layout::measure(context.disk, rotation.period_ns, context.seed)?;
    Layout::new(&chosen.found.geometry).map_err(|error| {
        Error::Undecided(format!("the measured layout is not consistent: {error}"))
    })?;
    context.findings.layout = Some(chosen);
    Ok(())
}

fn idle(context: &mut Context<'_, '_>) -> Result<(), Error> {
    let layout = context.require_layout()?;
    let rotation = require(&context.findings.rotation, "rotation")?;
    let found = idle::measure(context.disk, &layout, rotation, context.seed)?;
    context.findings.idle = Some(found);
    Ok(())
}

fn empty_cylinders(context: &mut Context<'_, '_>) -> Result<(), Error> {
    let chosen = require(&context.findings.layout, "layout")?;
    let zones = chosen.found.geometry.zones.clone();
    if chosen.method != layout::Method::Timing || zones.len() < 2 {
        return Ok(());
    }
    let empty = context.measure(|disk, setup| layout::empty::measure(disk, setup, &zones))?;
    if let Some(chosen) = &mut context.findings.layout {
        empty.apply(&mut chosen.found);
    }
    Ok(())
}

fn write_seeks(context: &mut Context<'_, '_>) -> Result<(), Error> {
    let reads = require(&context.findings.seeks, "seeks")?.clone();
    let found = context.measure(|disk, setup| seek::measure_writes(disk, setup, &reads))?;
    context.findings.write_seeks = Some(found.map_or(WriteSeeks::Parallel, WriteSeeks::Own));
    Ok(())
}

fn seek_commands(context: &mut Context<'_, '_>) -> Result<(), Error> {
    let writes = context.options.writes;
    let first = if writes { Access::Write } else { Access::Read };
    let found = context.measure(|disk, setup| seek_command::measure(disk, setup, first))?;
    context.findings.seek_commands = Some(found);
    Ok(())
}

fn mtbrc(context: &mut Context<'_, '_>) -> Result<(), Error> {
    context.measure_mtbrcs(&[(Access::Read, Access::Read)])
}

fn write_mtbrc(context: &mut Context<'_, '_>) -> Result<(), Error> {
    let (read, write) = (Access::Read, Access::Write);
    context.measure_mtbrcs(&[(read, write), (write, read), (write, write)])
}

fn buffer(context: &mut Context<'_, '_>) -> Result<(), Error> {
    let known = context.findings.mechanism().ok_or_else(|| {
        Error::Undecided("too few times are known to infer the buffer".to_owned())
    })?;
    let hits = context.findings.write_hits.unwrap_or_default();
    // To use writes, a model of the drive needs their overheads.
    let writes = context.options.writes && context.findings.writes.is_some();
    let found = context.measure(|disk, setup| {
        if writes {
            cache::measure_writes(disk, setup, &known, &hits)
        } else {
            cache::measure(disk, setup, &known)
        }
    })?;
    context.findings.buffer = Some(found);
    Ok(())
}

impl Context<'_, '_> {
    fn measure<T>(
        &mut self,
        measure: impl FnOnce(&mut Disk<'_>, &Setup<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let layout = self.require_layout()?;
        let setup = Setup {
            layout: &layout,
            rotation: *require(&self.findings.rotation, "rotation")?,
            idle: *require(&self.findings.idle, "idle")?,
            effort: self.options.effort,
            seed: self.seed,
        };
        measure(self.disk, &setup)
    }

    /// Makes a measurement and records its finding.
    fn record<T>(
        &mut self,
        measure: fn(&mut Disk<'_>, &Setup<'_>) -> Result<T, Error>,
        finding: fn(&mut Findings) -> &mut Option<T>,
    ) -> Result<(), Error> {
        let found = self.measure(measure)?;
        *finding(self.findings) = Some(found);
        Ok(())
    }

    /// Measures minimum times between the completions of one-sector requests.
    fn measure_mtbrcs(&mut self, accesses: &[(Access, Access)]) -> Result<(), Error> {
        let found = self.measure(|disk, setup| {
            let mut found = Vec::new();
            for &accesses in accesses {
                for to in [To::SameTrack, To::OtherTrack, To::Cylinders(1)] {
                    if to == To::OtherTrack && setup.layout.surfaces() == 1 {
                        continue;
                    }
                    let kind = Kind::one_sector(accesses, to);
                    let (mtbrc, pairs) = mtbrc::measure(disk, setup, kind)?;
                    found.push(MtbrcFinding {
                        name: pair_name(kind),
                        mtbrc,
                        pairs,
                    });
                }
            }
            Ok(found)
        })?;
        self.findings.mtbrcs.extend(found);
        Ok(())
    }

    fn require_layout(&self) -> Result<Layout, Error> {
        let chosen = require(&self.findings.layout, "layout")?;
        Layout::new(&chosen.found.geometry).map_err(|error| Error::Undecided(error.to_string()))
    }
}

/// Names a kind of pair as the paper does.
fn pair_name(kind: Kind) -> String {
    let place = match kind.to {
        To::SameTrack => "same track".to_owned(),
        To::OtherTrack => "other track of the cylinder".to_owned(),
        To::Cylinders(1) => "next cylinder".to_owned(),
        To::Cylinders(count) => format!("{count} cylinders inward"),
    };
    let (first, second) = kind.accesses;
    format!("1-sector {first}, 1-sector {second} on {place}")
}

fn require<'f, T>(finding: &'f Option<T>, name: &str) -> Result<&'f T, Error> {
    let missing = || Error::Undecided(format!("{name} is not known"));
    finding.as_ref().ok_or_else(missing)
}

#[derive(Debug)]
pub struct Measurement {
    pub name: &'static str,
    /// A phrase that completes "measures ...".
    pub summary: &'static str,
    /// The names of the measurements that must have succeeded.
    pub needs: &'static [&'static str],
    pub writes: bool,
    /// Typical duration in seconds by effort: the median over the drives of the catalogue.
    usual: [f64; 3],
    /// Share of the time of a run, relative to the shares of other measurements.
    pub(super) share: f64,
    pub(super) run: fn(&mut Context<'_, '_>) -> Result<(), Error>,
}

impl Measurement {
    pub fn usual(&self, effort: Effort) -> Span {
        Span::from_s(effort.choose(self.usual))
    }

    pub(super) fn seed(&self, seed: u64) -> u64 {
        // FNV-1a of the name, so that a new measurement does not change the seeds of the others.
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, mix)
    }
}

pub const MEASUREMENTS: &[Measurement] = &[
    Measurement {
        name: "rotation",
        summary: "rotation period",
        needs: &[],
        writes: false,
        usual: [1.5, 1.5, 1.5],
        share: 3.0,
        run: rotation,
    },
    Measurement {
        name: "layout",
        summary: "locations of blocks: zones, skews, spare space, slips",
        needs: &["rotation"],
        writes: false,
        usual: [1.5, 1.5, 1.5],
        share: 40.0,
        run: layout,
    },
    Measurement {
        name: "idle",
        summary: "time until the arm is free after a read",
        needs: &["rotation", "layout"],
        writes: false,
        usual: [15.0, 15.0, 15.0],
        share: 8.0,
        run: idle,
    },
    Measurement {
        name: "empty-cylinders",
        summary: "empty cylinders between zones",
        needs: &["idle"],
        writes: false,
        usual: [0.0, 0.0, 0.0],
        share: 6.0,
        run: empty_cylinders,
    },
    Measurement {
        name: "reads",
        summary: "overheads of reads from the media, and the head switch",
        needs: &["idle"],
        writes: false,
        usual: [4.7, 8.4, 16.9],
        share: 4.0,
        run: |context| context.record(overheads::measure, |findings| &mut findings.reads),
    },
    Measurement {
        name: "seeks",
        summary: "seek times before reads, by distance and direction",
        needs: &["idle"],
        writes: false,
        usual: [54.0, 93.8, 103.5],
        share: 18.0,
        run: |context| context.record(seek::measure, |findings| &mut findings.seeks),
    },
    Measurement {
        name: "read-hits",
        summary: "overheads of reads from the buffer, and the bus rate",
        needs: &["idle"],
        writes: false,
        usual: [3.0, 5.1, 13.3],
        share: 2.0,
        run: |context| context.record(hits::measure, |findings| &mut findings.read_hits),
    },
    Measurement {
        name: "writes",
        summary: "overheads of writes to the media, and the time to settle",
        needs: &["idle"],
        writes: true,
        usual: [27.2, 37.1, 114.3],
        share: 8.0,
        run: |context| context.record(overheads::measure_writes, |findings| &mut findings.writes),
    },
    Measurement {
        name: "write-hits",
        summary: "overheads of writes to the buffer, and of reads after writes",
        needs: &["idle"],
        writes: true,
        usual: [6.4, 11.1, 29.8],
        share: 3.0,
        run: |context| context.record(hits::measure_writes, |findings| &mut findings.write_hits),
    },
    Measurement {
        name: "write-seeks",
        summary: "seek times before writes, if they differ from those before reads",
        needs: &["seeks"],
        writes: true,
        usual: [7.3, 6.8, 9.8],
        share: 10.0,
        run: write_seeks,
    },
    Measurement {
        name: "mtbrc",
        summary: "minimum times between the completions of reads",
        needs: &["idle"],
        writes: false,
        usual: [10.0, 14.5, 34.5],
        share: 4.0,
        run: mtbrc,
    },
    Measurement {
        name: "write-mtbrc",
        summary: "minimum times between the completions of pairs with a write",
        needs: &["idle"],
        writes: true,
        usual: [21.2, 26.8, 69.7],
        share: 8.0,
        run: write_mtbrc,
    },
    Measurement {
        name: "seek-commands",
        summary: "seek times of the SEEK command, for comparison",
        needs: &["idle"],
        writes: false,
        usual: [22.9, 100.1, 342.8],
        share: 8.0,
        run: seek_commands,
    },
    Measurement {
        name: "buffer",
        summary: "properties of the buffer: segments, read-ahead and write caching",
        needs: &["reads", "seeks"],
        writes: false,
        usual: [15.6, 17.2, 20.8],
        share: 6.0,
        run: buffer,
    },
];
