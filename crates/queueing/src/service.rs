//! The service time of independent, uniform requests in order of arrival.

use std::ops::Range;

use diskarm_core::mechanics::Mechanism;
use diskarm_core::request::Op;
use diskarm_core::spec::{Buffer, Bus, Mechanics, Overheads, Queue, Spec};
use diskarm_core::units::{Cylinder, Lbn, SectorCount};

use crate::distance::Distances;
use crate::media::Media;
use crate::moments::Moments;

/// The components of the mechanical service time, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    /// Arm, head switch and settle.
    pub seek: Moments,
    /// The rotational wait.
    pub rotation: Moments,
    /// The transfer.
    pub transfer: Moments,
    /// The sum.
    pub total: Moments,
}

impl Service {
    /// The service of `op` over `sectors` at the multiples of `sectors`, all equally likely, on the
    /// drive `spec` with this `mechanism` and these `distances`: liu05, section 4.1.
    ///
    /// Positioning starts from a request with the same distribution and from each surface alike,
    /// and ends at any angle, independently; so seek and rotation are taken as independent (section
    /// 4.1.4). The buffer, overheads and the bus are left out, as in the thesis: it is the service
    /// of [`mechanism_alone`]. `None` if no such request fits on the drive.
    pub fn new(
        spec: &Spec,
        mechanism: &Mechanism,
        distances: &Distances,
        op: Op,
        sectors: SectorCount,
    ) -> Option<Self> {
        let zero_latency = has_zero_latency(spec, op);
        let media = Media::new(mechanism, op, sectors, zero_latency)?;
        Some(Self::with(media, seek(mechanism, distances, op)))
    }

    /// Like [`Self::new`], but for the requests within `blocks` and the distances between these.
    pub fn of_blocks(
        spec: &Spec,
        mechanism: &Mechanism,
        op: Op,
        sectors: SectorCount,
        blocks: &Range<Lbn>,
    ) -> Option<Self> {
        let zero_latency = has_zero_latency(spec, op);
        let media = Media::of_blocks(mechanism, op, sectors, zero_latency, blocks)?;
        let distances = Distances::of_blocks(&mechanism.layout, blocks);
        Some(Self::with(media, seek(mechanism, &distances, op)))
    }

    fn with(media: Media, seek: Moments) -> Self {
        Self {
            seek,
            rotation: media.rotation,
            transfer: media.transfer,
            total: seek.plus(media.both),
        }
    }

    /// Returns the service of a mixture of two kinds of requests, each with its share.
    pub fn mixture(parts: [(f64, Self); 2]) -> Self {
        let of = |part: fn(&Self) -> Moments| {
            Moments::mixture(parts.iter().map(|(share, service)| (*share, part(service))))
        };
        Self {
            seek: of(|service| service.seek),
            rotation: of(|service| service.rotation),
            transfer: of(|service| service.transfer),
            total: of(|service| service.total),
        }
    }
}

/// Returns true if the drive serves `op` with zero latency.
fn has_zero_latency(spec: &Spec, op: Op) -> bool {
    if op.is_read() {
        spec.buffer.read_on_arrival
    } else {
        spec.buffer.write_on_arrival
    }
}

/// Returns the time of a movement, in milliseconds: liu05, equation 4.4, for both directions and
/// for every surface as the next one.
fn seek(mechanism: &Mechanism, distances: &Distances, op: Op) -> Moments {
    let surfaces = f64::from(mechanism.layout.surfaces());
    let time = |from, to, head_changes| {
        let way = (Cylinder(from), Cylinder(to));
        Moments::constant(mechanism.seek.total(op, way, head_changes).as_ms())
    };
    let movement = |distance| {
        let ways = [(0, distance), (distance, 0)].into_iter();
        let each = ways.flat_map(|(from, to)| {
            let stays = (1.0, time(from, to, false));
            [stays, (surfaces - 1.0, time(from, to, true))]
        });
        (distances.probability(distance), Moments::mixture(each))
    };
    Moments::mixture((0..distances.cylinders()).map(movement))
}

/// Returns `spec` without everything that the theory ignores: overheads, bus, caching and
/// read-ahead, the drive's own queue, and random variation of seeks. Geometry, rotation, arm and
/// zero latency remain.
pub fn mechanism_alone(spec: &Spec) -> Spec {
    Spec {
        mechanics: Mechanics {
            seek_scatter: None,
            write_seek_scatter: None,
            ..spec.mechanics.clone()
        },
        buffer: Buffer {
            read_on_arrival: spec.buffer.read_on_arrival,
            write_on_arrival: spec.buffer.write_on_arrival,
            ..Buffer::default()
        },
        overheads: Overheads::default(),
        bus: Bus::default(),
        queue: Queue::default(),
        ..spec.clone()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use diskarm_core::geometry::Layout;
    use diskarm_core::mechanics::Position;
    use diskarm_core::units::{Angle, Instant, Lbn};

    use super::*;
    use crate::queue::{Random, means};

    /// A drive of the catalogue without what the theory leaves out.
    pub fn bare(name: &str) -> (Spec, Mechanism) {
        let entry = diskarm_drives::find(name).expect("a drive");
        let spec = mechanism_alone(&diskarm_core::spec::parse(entry.text, name).unwrap());
        let layout = Arc::new(Layout::new(&spec.geometry).unwrap());
        let mechanism = Mechanism::new(&spec, layout, Angle::ZERO);
        (spec, mechanism)
    }

    pub fn layout_of(name: &str) -> Arc<Layout> {
        bare(name).1.layout
    }

    /// Every ordered pair of tracks of a drive with 40 cylinders of 8 surfaces, of equal capacity.
    /// The head switch takes longer than any movement of the arm, so that its weight shows: 7 of 8
    /// requests have it.
    #[test]
    fn movements_are_those_between_all_pairs_of_tracks() {
        let text = diskarm_drives::find("hp-335h")
            .expect("a drive")
            .text
            .replace("cylinders = 1449", "cylinders = 40")
            .replace("[0, 1449]", "[0, 40]")
            .replace("1_309_896", "36_160")
            .replace("head_switch = \"1 ms\"", "head_switch = \"30 ms\"");
        let spec = mechanism_alone(&diskarm_core::spec::parse(&text, "small").unwrap());
        let layout = Arc::new(Layout::new(&spec.geometry).unwrap());
        let mechanism = Mechanism::new(&spec, Arc::clone(&layout), Angle::ZERO);
        let tracks: Vec<(Cylinder, u32)> = (0..40)
            .flat_map(|cylinder| (0..8).map(move |head| (Cylinder(cylinder), head)))
            .collect();
        let pairs = tracks
            .iter()
            .flat_map(|from| tracks.iter().map(move |to| (from, to)));
        let movements = pairs.map(|(from, to)| {
            let time = mechanism
                .seek
                .total(Op::Read, (from.0, to.0), from.1 != to.1);
            (1.0, Moments::constant(time.as_ms()))
        });
        let enumerated = Moments::mixture(movements);
        let found = seek(&mechanism, &Distances::new(&layout), Op::Read);
        assert!(enumerated.first > 0.8 * 30.0, "{enumerated:?}");
        assert!((found.first / enumerated.first - 1.0).abs() < 1e-9);
        assert!((found.second / enumerated.second - 1.0).abs() < 1e-9);
        assert!((found.third / enumerated.third - 1.0).abs() < 1e-9);
    }

    /// Services one after another at random, each beginning where the last ended, timed by the
    /// mechanism. 20 means of 20,000 each; see [`crate::queue::Mean::assert_near`] for the level.
    #[test]
    fn services_are_those_of_random_requests() {
        for (drive, op) in [("hp-c2247", Op::Read), ("ibm-18es", Op::Write)] {
            let (spec, mechanism) = bare(drive);
            let distances = Distances::new(&mechanism.layout);
            let sectors = SectorCount(8);
            let units = mechanism.layout.sectors().0 / sectors.0;
            let run = |seed| {
                let mut random = Random::new(seed);
                let mut draw = || Lbn((random.uniform() * units as f64) as u64 * sectors.0);
                let mut head = Position {
                    cylinder: Cylinder(0),
                    head: diskarm_core::units::Head(0),
                    since: Instant::START,
                };
                let (mut sums, count) = ([0.0; 2], 20_000);
                for _ in 0..count {
                    let (mut at, begin) = (draw(), head.since);
                    let end = at + sectors;
                    let first = mechanism.piece(false, head, op, (at, end), begin).1;
                    (at, head) = (first.end_lbn(), first.position_after());
                    while at < end {
                        let next = mechanism.piece(true, head, op, (at, end), begin).1;
                        (at, head) = (next.end_lbn(), next.position_after());
                    }
                    let time = (head.since - begin).as_ms();
                    sums[0] += time;
                    sums[1] += time * time;
                }
                sums.map(|sum| sum / f64::from(count))
            };
            let [first, second] = means((1..=20).map(run));
            let service = Service::new(&spec, &mechanism, &distances, op, sectors).unwrap();
            first.assert_near(service.total.first);
            second.assert_near(service.total.second);
        }
    }

    /// Table 4.1 gives the Ultrastar 18ES 11.55 ms, and the Lightning 16.72 ms.
    #[test]
    fn the_thesis_mean_services_are_near() {
        for (drive, printed) in [("ibm-18es", 11.55), ("ibm-lightning", 16.72)] {
            let (spec, mechanism) = bare(drive);
            let distances = Distances::new(&mechanism.layout);
            let of = |op| Service::new(&spec, &mechanism, &distances, op, SectorCount(8)).unwrap();
            let found = of(Op::Read).total.first;
            assert!((found / printed - 1.0).abs() < 0.01, "{drive} {found}");
        }
    }
}
