//! Transfers that continue on the next track.
//!
//! # Hypothesis
//! A transfer that reaches the end of a track continues on the next track of the cylinder. It loses
//! a revolution if the head switch takes longer than the gap that the skew leaves. This head switch
//! may be shorter than that of a request, which includes settling.
//!
//! # Test vector
//! Two pairs of requests. In both, the first request is on some track. The second request of one
//! pair is for the last sector of that track. In the other pair, it is for two sectors across the
//! end of the track. The second requests are sent at a random time, from an eighth to five eighths
//! of a revolution before they would just catch the last sector. Gaps of different lengths are
//! tried, shortest first.
//!
//! # Decision
//! Both second requests must end at the angles of their last sectors, as misses do; hits end a
//! fixed time after they are sent. The one-sector request must end at the first pass of its sector,
//! which shows that the head was on the track in time. The two-sector request then ends either when
//! both sectors have passed, or a revolution later.
//!
//! # Confidence
//! At each gap, two vectors (three with noise) must agree before as many are inconclusive. A head
//! that arrives in time takes no longer than the gap, but may take less.
//!
//! # Cost
//! None if the head switch of pairs fits into the shortest gap; otherwise usually four pairs, or
//! about 130 if each track end costs a revolution and all gaps differ.

use diskarm_core::units::{Lbn, SectorCount, Span};

use super::Leads;
use crate::clock::Access;
use crate::pairs::Trial;
use crate::track::Track;
use crate::{Error, Estimate};

const PLACES: u64 = 32;
/// Pauses closer than this are treated as equal, in nanoseconds.
const MIN_DIFFERENCE_NS: f64 = 1e3;
/// Maximum error of a pause due to rounding of angles and times, in nanoseconds.
const MAX_ROUNDING_NS: f64 = 10.0;
/// Number of vectors that must agree for a pause, without and with noise.
const MIN_AGREEING: [u32; 2] = [2, 3];
/// Tolerated error of completion times, in revolutions. Those of writes vary.
const MAX_ERROR_SHARE: f64 = 1.0 / 32.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    InTime,
    Late,
    Unclear,
}

/// A place where a transfer continues to the next track.
struct Place {
    /// Gap between the tracks in nanoseconds.
    pause: f64,
    from: Track,
    /// The last sector of that track, and that sector with the first one of the next track.
    last: Track,
    across: Track,
}

impl Leads<'_, '_> {
    /// Returns the shortest pause between two tracks of a cylinder that lets a request continue on
    /// the second track; `lead` is the lead of a request on the first. Returns `None` if no pause
    /// does so, or if the pause is no shorter than the known head `switch` of pairs.
    pub(super) fn shortest_pause(
        &mut self,
        access: Access,
        lead: Estimate,
        switch: Option<Span>,
    ) -> Result<Option<Span>, Error> {
        let lead = lead.value.as_ns() as f64;
        for place in self.places() {
            let pause = Span::from_ns((place.pause - MAX_ROUNDING_NS).floor() as i64);
            if switch.is_some_and(|switch| switch <= pause) {
                break;
            }
            if self.is_in_time(access, &place, lead)? {
                return Ok(Some(pause));
            }
        }
        Ok(None)
    }

    /// Returns places with different pauses, shortest first.
    fn places(&self) -> Vec<Place> {
        let layout = self.setup.layout;
        let place = |place: u64| {
            let at = Lbn(layout.sectors().0 * place / PLACES);
            let from = Track::first_in_cylinder(layout, layout.extent(at).cylinder.0)?;
            let last = from.across_end(layout, 1, 1)?;
            let across = from.across_end(layout, 1, 2)?;
            let (first, extent) = across.runs[0];
            let next = layout.extent(first + SectorCount(1));
            let sectors = (extent.sector_angle + next.sector_angle).as_revolutions();
            let pause = self.pairs.passing(first, 2) - sectors * self.pairs.clock.period();
            (next.cylinder == extent.cylinder && pause > MAX_ROUNDING_NS).then_some(Place {
                pause,
                from,
                last,
                across,
            })
        };
        let mut places: Vec<_> = (0..PLACES).filter_map(place).collect();
        places.sort_by(|a, b| a.pause.total_cmp(&b.pause));
        places.dedup_by(|next, kept| next.pause - kept.pause < MIN_DIFFERENCE_NS);
        places
    }

    /// Returns true if a request across the end of a track loses no revolution there.
    fn is_in_time(&mut self, access: Access, place: &Place, lead: f64) -> Result<bool, Error> {
        let agreeing = MIN_AGREEING[usize::from(self.pairs.is_noisy)];
        let mut counts = [0; 3];
        while !counts.contains(&agreeing) {
            counts[self.vector(access, place, lead)? as usize] += 1;
        }
        Ok(counts[Verdict::InTime as usize] == agreeing)
    }

    fn vector(&mut self, access: Access, place: &Place, lead: f64) -> Result<Verdict, Error> {
        if self.end_of_second(access, &place.from, &place.last, 1, lead)? != Verdict::InTime {
            return Ok(Verdict::Unclear);
        }
        self.end_of_second(access, &place.from, &place.across, 2, lead)
    }

    /// Classifies a pair by whether its second request ends when its sectors first pass, or later.
    fn end_of_second(
        &mut self,
        access: Access,
        from: &Track,
        to: &Track,
        sectors: u16,
        lead: f64,
    ) -> Result<Verdict, Error> {
        let period = self.pairs.clock.period();
        let lead = lead + (0.125 + 0.5 * self.pairs.uniform()) * period;
        let pair = self.pairs.move_head(access, from, 1);
        let pair = pair.and_then(|()| self.pairs.catch(access, to, sectors, lead));
        if self.pairs.is_unreadable(&pair)? {
            return Ok(Verdict::Unclear);
        }
        // `catch` knows the end of a one-sector read more precisely.
        let tolerance = self.pairs.clock.tolerance().max(MAX_ERROR_SHARE * period);
        let is_late = |trial: Trial| trial.bounds.1 - trial.lead > period / 2.0;
        let as_expected = pair?.filter(|trial| trial.deviation.abs() <= tolerance);
        Ok(match as_expected.map(is_late) {
            Some(true) => Verdict::Late,
            Some(false) => Verdict::InTime,
            None => Verdict::Unclear,
        })
    }
}

#[cfg(test)]
mod tests {
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
    fn found(
        given: &Spec,
        access: Access,
        (ignores, delay): (bool, Span),
        seed: u64,
    ) -> Option<Span> {
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
}
