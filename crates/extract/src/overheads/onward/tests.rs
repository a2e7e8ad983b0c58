use diskarm_core::geometry::Layout;
use diskarm_core::spec::{self, DeliveredBlocks, ReadAhead, Spec, WriteCache};
use diskarm_core::units::Instant;

use super::*;
use crate::idle::Idle;
use crate::mtbrc::To;
use crate::rotation::{Rereads, Rotation};
use crate::{
    Data, Disk, Effort, HostDelay, Reply, Setup, SimulatedDrive, Transport, TransportError,
};

/// A drive that may ignore force unit access, like some drives from 1992.
struct Stubborn {
    drive: SimulatedDrive,
    ignores: bool,
}

impl Transport for Stubborn {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError> {
        // READ(10), WRITE(10), READ(16) and WRITE(16): SBC-3, force unit access.
        let mut command = command.to_vec();
        if self.ignores && matches!(command[0], 0x28 | 0x2a | 0x88 | 0x8a) {
            command[1] &= !(1 << 3);
        }
        self.drive.execute(&command, data)
    }

    fn sleep(&mut self, span: Span) {
        self.drive.sleep(span);
    }

    fn now(&self) -> Instant {
        self.drive.now()
    }
}

/// Returns a drive that takes `movement` to continue on the next track, including settling for
/// writes, and a millisecond longer to start a request there.
fn drive(access: Access, movement: Span) -> Spec {
    let name = "hp-c2247";
    let mut given = spec::parse(diskarm_drives::find(name).unwrap().text, name).unwrap();
    given.mechanics.head_switch = match access {
        Access::Read => movement,
        Access::Write => movement - given.mechanics.write_settle,
    };
    given.mechanics.cylinder_settle = Span::from_ms(1.0);
    given
}

/// Returns the pauses between the tracks of a cylinder, shortest first.
fn pauses(spec: &Spec) -> Vec<Span> {
    let zones = spec.geometry.zones.iter();
    let turns = zones.map(|zone| zone.track_skew_sectors / f64::from(zone.sectors_per_track));
    let mut pauses: Vec<Span> = turns
        .map(|turns| Span::from_ns((turns * spec.mechanics.period_ns) as i64))
        .collect();
    pauses.sort_unstable();
    pauses
}

/// Measures with a host delay from `delay` to 0.1 ms more. The drive may ignore FUA.
fn found(given: &Spec, access: Access, (ignores, delay): (bool, Span), seed: u64) -> Option<Span> {
    let layout = Layout::new(&given.geometry).unwrap();
    let setup = Setup {
        layout: &layout,
        rotation: Rotation {
            period_ns: given.mechanics.period_ns,
            uncertainty_ns: 0.1,
            scatter_ns: 1.0,
            samples: 50,
            rereads: Rereads::FromMedia,
        },
        idle: Idle::default(),
        effort: Effort::Normal,
        seed,
    };
    let host = |min: Span| HostDelay {
        min,
        max: min + Span::from_ms(0.1),
    };
    let shortest_pause = |ignores, delay, lead: Option<Estimate>| {
        let drive = SimulatedDrive::new(given, host(delay), seed).unwrap();
        let mut drive = Stubborn { drive, ignores };
        let mut disk = Disk::new(&mut drive).unwrap();
        let mut leads = Leads::new(&mut disk, &setup).unwrap();
        let still = leads.lead((access, access), 1, To::SameTrack);
        let lead = lead.unwrap_or_else(|| still.unwrap());
        (lead, leads.shortest_pause(access, lead, None).unwrap())
    };
    let (lead, with_fua) = shortest_pause(false, Span::from_ms(0.05), None);
    if ignores {
        shortest_pause(true, delay, Some(lead)).1
    } else {
        with_fua
    }
}

#[test]
fn the_shortest_sufficient_pause_is_found() {
    let margin = Span::from_us(2.0);
    for access in [Access::Read, Access::Write] {
        let all = pauses(&drive(access, Span::from_ms(1.0)));
        let places = [0, all.len() / 2, all.len() - 1];
        let movements = places.into_iter().flat_map(|place| {
            let pause = all[place];
            [pause - margin, pause + margin]
        });
        for movement in movements {
            let given = drive(access, movement);
            let found = found(&given, access, (false, Span::ZERO), 5);
            let shortest = all.iter().find(|pause| **pause >= movement);
            let off = found.zip(shortest).map(|(found, pause)| *pause - found);
            assert!(
                off.is_some_and(|off| off >= Span::ZERO && off < Span::from_ns(20))
                    || found.is_none() && shortest.is_none(),
                "{access:?}, {movement}: {found:?}, {shortest:?}"
            );
        }
    }
}

/// Hits do not hide that the end of each track costs a revolution.
#[test]
fn buffer_hits_do_not_count_as_in_time() {
    let long = drive(Access::Read, Span::from_ms(2.2));
    let mut all = pauses(&long).into_iter();
    assert!(all.all(|pause| pause < Span::from_ms(2.2)));
    let period = long.mechanics.period_ns;
    for scheme in [ReadAhead::UntilFull, ReadAhead::TrackEnd] {
        let mut given = long.clone();
        given.buffer.read_ahead = scheme;
        given.buffer.read_ahead_max = SectorCount(400);
        given.buffer.segment = SectorCount(512);
        given.buffer.delivered = DeliveredBlocks::Kept;
        given.buffer.arriving_hits = true;
        for (turns, seed) in [0.0, 0.4, 0.7, 1.2, 1.7, 2.5, 3.3].into_iter().zip(1..) {
            let delay = Span::from_ns((turns * period) as i64);
            let found = found(&given, Access::Read, (true, delay), seed);
            assert_eq!(found, None, "{scheme:?}, {turns} revolutions");
        }
    }
}

#[test]
fn absorbed_writes_do_not_count_as_in_time() {
    let mut given = drive(Access::Write, Span::from_ms(2.2));
    given.buffer.write_cache = WriteCache::Always;
    for seed in 0..8 {
        let found = found(&given, Access::Write, (true, Span::from_ms(0.05)), seed);
        assert_eq!(found, None, "seed {seed}");
    }
}
