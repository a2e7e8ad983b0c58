//! Sends test vectors, keeps what came of them, and replays them on models of the drive.

use std::collections::VecDeque;

use diskarm_core::drive::Core;
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::{Mechanics, Spec};
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

use super::division::{Cut, Division};
use super::vector::{Area, Step, Vector, Wait};
use crate::pairs::{Access, Pairs};
use crate::threshold::span;
use crate::{Disk, Error, Setup};

/// Vectors stay away from places that this many vectors before them used.
const RECENT: usize = 80;
/// Longer than read-ahead needs to fill a segment, and a write cache to be emptied.
pub(super) const LONG: Span = Span::from_ns(250_000_000);
/// By how much ends scatter at least, and models err, in nanoseconds.
pub(super) const CALM: f64 = 15_000.0;
/// When models serve the first read of a vector.
const BEGIN: Instant = Instant::from_ns(1_000_000_000);

/// A test vector as it was sent.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// The read from the media that came first.
    pub first: Lbn,
    /// When it ended, without the scatter of ends.
    pub began: f64,
    pub seen: Vec<Seen>,
}

/// A step as it was sent; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub step: Step,
    pub sent: f64,
    pub ended: f64,
}

/// A model that replays a vector.
pub(super) struct Replay {
    core: Core,
    /// From its clock to that of the trial.
    shift: f64,
    ended: Instant,
}

impl Replay {
    /// Begins with the read of `first` that ended at `began`.
    pub fn new(core: &Core, first: Lbn, began: f64) -> Self {
        let mut core = core.clone();
        let mut read = Request::new(0, Op::Read, first, SectorCount(1));
        read.force_unit_access = true;
        let ended = core.serve_alone(read, BEGIN).at;
        Self {
            shift: began - ended.as_ns() as f64,
            ended,
            core,
        }
    }

    /// When a step ends that is sent at `sent`.
    pub fn serve(&mut self, step: &Step, sent: f64) -> f64 {
        let op = match step.access {
            Access::Read => Op::Read,
            Access::Write => Op::Write,
        };
        let sectors = SectorCount(u64::from(step.sectors));
        let mut request = Request::new(0, op, step.at, sectors);
        request.force_unit_access = step.media;
        let arrived = Instant::from_ns((sent - self.shift).max(0.0) as u64);
        self.ended = self.core.serve_alone(request, arrived.max(self.ended)).at;
        self.ended.as_ns() as f64 + self.shift
    }
}

/// On fewer cylinders there is no place for vectors that others have not touched.
const MIN_CYLINDERS: u32 = 64;

pub(super) struct Bench<'a, 'd> {
    pub pairs: Pairs<'a, 'd>,
    /// What is known of the drive, with what is believed of its buffer.
    pub believed: Spec,
    pub trials: Vec<Trial>,
    /// Whether vectors may write.
    pub writes: bool,
    /// Whether a write was seen to end before it is on the media.
    pub absorbs: bool,
    /// Whether the write cache holds several ranges, which no model here does.
    pub is_deferred: bool,
    /// Services of reads of one block that the buffer served, in nanoseconds.
    hits: Vec<f64>,
    mechanism: Mechanism,
    division: Division,
    recent: VecDeque<u32>,
    /// Runs of blocks that may be in the drive's buffer, from the first to behind the last.
    pub left: VecDeque<(u64, u64)>,
}

impl<'a, 'd> Bench<'a, 'd> {
    pub fn new(
        disk: &'a mut Disk<'d>,
        setup: &Setup<'a>,
        known: &Spec,
        (writes, seed): (bool, u64),
    ) -> Result<Self, Error> {
        let cylinders = setup.layout.cylinders();
        if cylinders < MIN_CYLINDERS {
            return Err(Error::Undecided(format!(
                "cache: the disk has {cylinders} cylinders; test vectors need {MIN_CYLINDERS}"
            )));
        }
        let layout = Layout::new(&known.geometry)
            .map_err(|error| Error::Undecided(format!("cache: {error}")))?;
        let pairs = setup.pairs(disk, seed)?;
        let margin = span((pairs.clock.tolerance() / 24.0).clamp(10_000.0, 30_000.0));
        let division = Division::new(known, layout, margin);
        Ok(Self {
            pairs,
            mechanism: division.mechanism(),
            division,
            believed: without_places(known),
            trials: Vec::new(),
            writes,
            absorbs: false,
            is_deferred: false,
            hits: Vec::new(),
            recent: VecDeque::new(),
            left: VecDeque::new(),
        })
    }

    pub fn period(&self) -> f64 {
        self.pairs.clock.period()
    }

    /// By how much ends scatter, and models err, in nanoseconds.
    pub fn scatter(&self) -> f64 {
        (self.pairs.clock.tolerance() / 6.0).max(CALM)
    }

    /// A model of the drive as `spec` has it.
    pub fn model(&self, spec: &Spec) -> Core {
        Core::with_mechanism(spec, self.mechanism.clone())
    }

    /// Divides what is known of times in another way.
    pub fn divide(&mut self, cut: Cut) {
        let before = self.division.cut;
        self.division.cut = cut;
        self.mechanism = self.division.mechanism();
        self.believed.overheads = cut.overheads(&self.believed.overheads, before);
    }

    /// How times are divided.
    pub fn cut(&self) -> Cut {
        self.division.cut
    }

    /// The ways in which times may be divided instead.
    pub fn cuts(&self) -> Vec<Cut> {
        self.division.others(&self.believed.overheads)
    }

    /// A random number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.pairs.below(end)
    }

    /// Tracks where no recent vector was; the last ones of a cylinder if `last`. Outer tracks
    /// hold more blocks than inner ones: `zone` is from 0, the first, to 2, the last.
    pub fn area(&mut self, zone: usize, last: bool) -> Area {
        let layout = self.pairs.layout;
        let mut found = None;
        for tried in 1..1000 {
            if tried % 50 == 0 {
                // The disk is small.
                self.recent.pop_front();
            }
            let blocks = layout.sectors().0;
            let (from, to) = [(0, 20), (45, 55), (80, 98)][zone];
            let at = blocks * from / 100 + self.below((blocks * (to - from) / 100).max(1));
            let cylinder = layout.extent(Lbn(at)).cylinder.0;
            if self.recent.iter().any(|used| used.abs_diff(cylinder) < 6) {
                continue;
            }
            let Some(area) = Area::on(layout, cylinder, last) else {
                continue;
            };
            let is_whole = area.is_whole(layout);
            found = Some((area, cylinder));
            if is_whole {
                break;
            }
        }
        let (area, cylinder) = found.unwrap_or((Area::somewhere(layout), 0));
        self.recent.push_back(cylinder);
        let max = RECENT.min(layout.cylinders() as usize / 16);
        if self.recent.len() > max {
            self.recent.pop_front();
        }
        area
    }

    /// The overhead of a read hit of one block, and its transfer.
    fn hit(&self) -> f64 {
        let o = &self.believed.overheads;
        let hit = o.read_hit_after_read + self.believed.bus.read_sector + o.read_completion;
        hit.as_ns() as f64
    }

    /// Whether the buffer served a read.
    pub fn has_hits(&self) -> bool {
        !self.hits.is_empty()
    }

    /// Takes the overhead of hits from those that were seen, if it was not known.
    pub fn learn_hits(&mut self) {
        let o = &mut self.believed.overheads;
        if self.hits.is_empty() || o.read_hit_after_read > Span::ZERO {
            return;
        }
        self.hits.sort_by(f64::total_cmp);
        let service = span(self.hits[self.hits.len() / 2]);
        let behind = self.believed.bus.read_sector + o.read_completion;
        o.read_hit_after_read = (service - behind).or_zero();
        o.read_hit_after_write = o.read_hit_after_read;
    }

    /// Sends a vector, unless it would find what others have left. `None` if it is not sent, or
    /// if its first read did not come from the media.
    pub fn run_alone(&mut self, vector: &Vector) -> Result<Option<Trial>, Error> {
        match self.undisturbed(vector) {
            Some(vector) => self.run(&vector),
            None => Ok(None),
        }
    }

    /// Sends a vector. `None` if its first read did not come from the media.
    pub fn run(&mut self, vector: &Vector) -> Result<Option<Trial>, Error> {
        let first = self.pairs.send(Access::Read, vector.first, 1)?;
        let extent = self.pairs.layout.extent(vector.first);
        let ended = first.ended.as_ns() as f64;
        let off = self.pairs.clock.off(ended, &extent);
        if off.abs() > self.pairs.clock.tolerance() {
            return Ok(None);
        }
        let mut trial = Trial {
            first: vector.first,
            began: ended - off,
            seen: Vec::new(),
        };
        self.leave(vector.first, 1);
        for step in &vector.steps {
            self.leave(step.at, step.sectors);
            self.wait(step);
            let Step {
                at, sectors, media, ..
            } = *step;
            let disk = &mut *self.pairs.disk;
            let timed = match (step.access, media) {
                (Access::Read, false) => disk.read(at, sectors)?,
                (Access::Read, true) => disk.read_media(at, sectors)?,
                (Access::Write, false) => disk.write(at, sectors)?,
                (Access::Write, true) => disk.write_media(at, sectors)?,
            };
            self.pairs.saw(step.access, at, sectors, &timed);
            trial.seen.push(Seen {
                step: *step,
                sent: timed.sent.as_ns() as f64,
                ended: timed.ended.as_ns() as f64,
            });
        }
        Ok(Some(trial))
    }

    fn wait(&mut self, step: &Step) {
        match step.wait {
            Wait::For(rest) => self.pairs.rest(rest),
            Wait::Opposite(min) => {
                self.pairs.rest(min);
                let period = self.period();
                let extent = self.pairs.layout.extent(step.at);
                let turns = (extent.start + extent.sector_angle).as_revolutions();
                let hit = self.pairs.soonest(self.hit());
                let pass = self.pairs.clock.pass(turns, hit);
                let early = pass - hit;
                let rest = if early > period / 2.0 {
                    early - period / 2.0
                } else {
                    early + period / 2.0
                };
                self.pairs.rest(span(rest));
            }
        }
    }

    /// Whether the last step of a vector, a read of one block with [`Wait::Opposite`], is served
    /// by the buffer: a read from the media ends when its sector has passed.
    pub fn is_hit(&mut self, make: &mut dyn FnMut(&mut Self) -> Vector) -> Result<bool, Error> {
        for _ in 0..8 {
            let vector = make(self);
            let Some(trial) = self.run(&vector)? else {
                continue;
            };
            let last = trial.seen[trial.seen.len() - 1];
            let extent = self.pairs.layout.extent(last.step.at);
            let off = self.pairs.clock.off(last.ended, &extent);
            self.trials.push(trial);
            let is_hit = off.abs() > self.period() / 4.0;
            if is_hit {
                self.hits.push(last.ended - last.sent);
            }
            return Ok(is_hit);
        }
        Err(Error::Undecided(
            "cache: reads of random blocks are not served by the media".to_owned(),
        ))
    }

    /// The answer that two of up to three vectors give, and how many did of how many.
    pub fn agreed(
        &mut self,
        mut make: impl FnMut(&mut Self) -> Vector,
    ) -> Result<(bool, [u32; 2]), Error> {
        let first = self.is_hit(&mut make)?;
        if self.is_hit(&mut make)? == first {
            return Ok((first, [2, 2]));
        }
        Ok((self.is_hit(&mut make)?, [2, 3]))
    }

    /// The largest number from 1 below `end` for which the answer is yes, which it is for all
    /// smaller ones; 0 if there is none.
    pub fn largest(
        &mut self,
        end: u64,
        start: u64,
        mut make: impl FnMut(&mut Self, u64) -> Vector,
    ) -> Result<u64, Error> {
        let (mut yes, mut no, mut next) = (0, end, start.clamp(1, end - 1));
        while yes + 1 < no {
            if self.agreed(|bench| make(bench, next))?.0 {
                yes = next;
            } else {
                no = next;
            }
            next = if no == end && 2 * yes < end {
                (2 * yes).max(yes + 1)
            } else {
                yes.midpoint(no)
            };
        }
        Ok(yes)
    }

    /// How long reading `blocks` on takes at most, in a zone with tracks as that of `at`.
    pub fn reading(&self, at: Lbn, blocks: u64) -> Span {
        let turns = blocks as f64 * self.pairs.layout.extent(at).sector_angle.as_revolutions();
        // With half a revolution for each change of track, and to find the first block.
        span(self.period() * (1.5 * turns + 1.5))
    }
}

/// A specification without what models have in their mechanism: it is copied often.
fn without_places(known: &Spec) -> Spec {
    let mut spec = known.clone();
    if spec.overheads.extra_write_disconnect.is_some() {
        // What was seen after a write was a write that does not continue it.
        spec.overheads.write_hit_after_write = spec.overheads.write_hit_after_read;
    }
    spec.mechanics = Mechanics::default();
    for zone in &mut spec.geometry.zones {
        (zone.slips, zone.defects) = (Vec::new(), Vec::new());
    }
    spec
}
