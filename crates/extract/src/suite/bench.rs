//! What each measurement calls, and where its findings go.

use diskarm_core::geometry::Layout;

use super::{Findings, MtbrcFinding, Options, WriteSeeks};
use crate::mtbrc::{Kind, To};
use crate::{
    Access, Disk, Effort, Error, Setup, cache, hits, idle, layout, mtbrc, overheads, rotation,
    seek, seek_command,
};

/// What a measurement works with.
pub(super) struct Bench<'b, 't> {
    pub disk: &'b mut Disk<'t>,
    pub findings: &'b mut Findings,
    pub options: Options,
    pub seed: u64,
}

/// A measurement that needs to know how the drive turns and where its blocks are.
type Timed<T> = fn(&mut Disk<'_>, &Setup<'_>, Effort, u64) -> Result<T, Error>;

pub fn rotation(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    let found = rotation::measure(bench.disk, bench.options.effort, bench.seed)?;
    bench.findings.rotation = Some(found);
    Ok(())
}

pub fn layout(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    let rotation = known(&bench.findings.rotation, "rotation")?;
    let chosen = layout::measure(bench.disk, rotation.period_ns, bench.seed)?;
    Layout::new(&chosen.found.geometry).map_err(|error| {
        Error::Undecided(format!(
            "the layout that was found contradicts itself: {error}"
        ))
    })?;
    bench.findings.layout = Some(chosen);
    Ok(())
}

pub fn idle(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    let layout = bench.known_layout()?;
    let rotation = known(&bench.findings.rotation, "rotation")?;
    let found = idle::measure(bench.disk, &layout, rotation, bench.seed)?;
    bench.findings.idle = Some(found);
    Ok(())
}

pub fn empty_cylinders(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    let chosen = known(&bench.findings.layout, "layout")?;
    let zones = &chosen.found.geometry.zones;
    if chosen.method != layout::Method::Timing || zones.len() < 2 {
        return Ok(());
    }
    let layout = bench.known_layout()?;
    let setup = bench.setup(&layout)?;
    let effort = bench.options.effort;
    let empty = layout::empty::measure(bench.disk, &setup, zones, effort, bench.seed)?;
    if let Some(chosen) = &mut bench.findings.layout {
        empty.apply(&mut chosen.found);
    }
    Ok(())
}

pub fn reads(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    bench.findings.reads = Some(bench.timed(overheads::measure)?);
    Ok(())
}

pub fn seeks(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    bench.findings.seeks = Some(bench.timed(seek::measure)?);
    Ok(())
}

pub fn read_hits(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    bench.findings.read_hits = Some(bench.timed(hits::measure)?);
    Ok(())
}

pub fn writes(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    bench.findings.writes = Some(bench.timed(overheads::measure_writes)?);
    Ok(())
}

pub fn write_hits(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    bench.findings.write_hits = Some(bench.timed(hits::measure_writes)?);
    Ok(())
}

pub fn write_seeks(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    let layout = bench.known_layout()?;
    let setup = bench.setup(&layout)?;
    let reads = known(&bench.findings.seeks, "seeks")?;
    let found = seek::measure_writes(bench.disk, &setup, reads, bench.options.effort, bench.seed)?;
    bench.findings.write_seeks = Some(match found {
        Some(seeks) => WriteSeeks::Own(seeks),
        None => WriteSeeks::Parallel,
    });
    Ok(())
}

pub fn seek_commands(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    let layout = bench.known_layout()?;
    let setup = bench.setup(&layout)?;
    let first = match bench.options.writes {
        true => Access::Write,
        false => Access::Read,
    };
    let effort = bench.options.effort;
    let found = seek_command::measure(bench.disk, &setup, first, effort, bench.seed)?;
    bench.findings.seek_commands = Some(found);
    Ok(())
}

pub fn mtbrc(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    bench.mtbrcs(&[(Access::Read, Access::Read)])
}

pub fn write_mtbrc(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    let (read, write) = (Access::Read, Access::Write);
    bench.mtbrcs(&[(read, write), (write, read), (write, write)])
}

pub fn buffer(bench: &mut Bench<'_, '_>) -> Result<(), Error> {
    let layout = bench.known_layout()?;
    let setup = bench.setup(&layout)?;
    let known = bench.findings.mechanism().ok_or_else(|| {
        Error::Undecided("too little is known of times to tell buffers apart".to_owned())
    })?;
    let (effort, seed) = (bench.options.effort, bench.seed);
    let hits = bench.findings.write_hits.unwrap_or_default();
    // A model of the drive needs what writes take.
    let found = match bench.options.writes && bench.findings.writes.is_some() {
        true => cache::measure_writes(bench.disk, &setup, &known, &hits, effort, seed),
        false => cache::measure(bench.disk, &setup, &known, effort, seed),
    };
    bench.findings.buffer = Some(found?);
    Ok(())
}

impl Bench<'_, '_> {
    fn timed<T>(&mut self, measure: Timed<T>) -> Result<T, Error> {
        let layout = self.known_layout()?;
        let setup = self.setup(&layout)?;
        measure(self.disk, &setup, self.options.effort, self.seed)
    }

    /// Adds minimum times between the completions of requests of one sector.
    fn mtbrcs(&mut self, accesses: &[(Access, Access)]) -> Result<(), Error> {
        let layout = self.known_layout()?;
        let setup = self.setup(&layout)?;
        let mut found = Vec::new();
        for &accesses in accesses {
            for to in [To::SameTrack, To::OtherTrack, To::Cylinders(1)] {
                if to == To::OtherTrack && layout.surfaces() == 1 {
                    continue;
                }
                let kind = Kind {
                    accesses,
                    sectors: (1, 1),
                    to,
                };
                let effort = self.options.effort;
                let (mtbrc, pairs) = mtbrc::scatter(self.disk, &setup, kind, effort, self.seed)?;
                found.push(MtbrcFinding {
                    name: named(kind),
                    mtbrc,
                    pairs,
                });
            }
        }
        self.findings.mtbrcs.extend(found);
        Ok(())
    }

    fn setup<'l>(&self, layout: &'l Layout) -> Result<Setup<'l>, Error> {
        Ok(Setup {
            layout,
            rotation: *known(&self.findings.rotation, "rotation")?,
            idle: *known(&self.findings.idle, "idle")?,
        })
    }

    fn known_layout(&self) -> Result<Layout, Error> {
        let chosen = known(&self.findings.layout, "layout")?;
        Layout::new(&chosen.found.geometry).map_err(|error| Error::Undecided(error.to_string()))
    }
}

/// A kind of pairs, as the paper writes it.
fn named(kind: Kind) -> String {
    let verb = |access| match access {
        Access::Read => "read",
        Access::Write => "write",
    };
    let place = match kind.to {
        To::SameTrack => "same track".to_owned(),
        To::OtherTrack => "other track of the cylinder".to_owned(),
        To::Cylinders(1) => "next cylinder".to_owned(),
        To::Cylinders(count) => format!("{count} cylinders inward"),
    };
    let (first, second) = kind.accesses;
    format!(
        "1-sector {}, 1-sector {} on {place}",
        verb(first),
        verb(second)
    )
}

/// A finding of an earlier measurement.
fn known<'f, T>(finding: &'f Option<T>, name: &str) -> Result<&'f T, Error> {
    let missing = || Error::Undecided(format!("{name} is not known"));
    finding.as_ref().ok_or_else(missing)
}
