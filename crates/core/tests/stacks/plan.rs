//! Random stacks of wrappers, queues, arrays and drives.

use diskarm_core::array::IndependentDisks;
use diskarm_core::declustered::{Declustered, DeclusteredConfig, Layout, LayoutKind};
use diskarm_core::device::Failure;
use diskarm_core::drive::Drive;
use diskarm_core::host::Host;
use diskarm_core::mirror::{
    BatchOrder, DestageConfig, DestageScheme, Mirror, MirrorConfig, ReadDispatch, RebuildConfig,
    Routing, WriteCompletion,
};
use diskarm_core::nvcache::{CacheBacking, NvCache, NvCacheConfig};
use diskarm_core::raid::{Level as RaidLevel, Raid, RaidConfig};
use diskarm_core::sched::{INFOS, PolicyConfig};
use diskarm_core::spec::{self, PreSeek, ReadAhead, Spec, WriteCache};
use diskarm_core::stack::{self, BoxedDevice};
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use diskarm_core::wrap::{
    AffectedOps, BadBlocks, FaultPlan, Faults, Limits, ObservedDevice, Outage, RandomErrors,
    Recalibration, Recording, Spikes, Throttle,
};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
/// The tiny drive of the examples worked by hand.
const MECHANISM: &str = include_str!("../drive/tiny.toml");
/// Keys that add a buffer and command overheads to it.
const OVERHEADS: &str = r#"
[buffer]
segments = 3
segment = "12 KiB"
[overheads]
read_hit_after_read = "0.1 ms"
read_miss_after_read = "0.3 ms"
read_miss_after_write = "0.3 ms"
write_hit_after_write = "0.2 ms"
write_miss_after_read = "0.4 ms"
write_completion = "0.05 ms"
[bus]
read_sector = "0.05 ms"
write_sector = "0.05 ms"
"#;
const BLOCKS: u64 = 200;
const REVOLUTION: Span = Span::from_ns(10_000_000);

/// Random numbers for one stack.
pub struct Dice(Pcg64Mcg);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len() as u64) as usize]
    }

    pub fn us(&mut self, bound: u64) -> Span {
        Span::from_ns(self.below(bound * 1_000) as i64)
    }
}

/// The plan of a stack. The same plan always builds the same device.
#[derive(Clone, Debug)]
pub struct Stack {
    pub spec: Spec,
    /// The devices in front of each drive, starting at the drive.
    pub levels: Vec<Level>,
    /// Each disk is a pair of such drives.
    pub mirroring: Option<MirrorConfig>,
    /// Each drive, or pair, has a non-volatile cache.
    pub caching: Option<NvCacheConfig>,
    /// Each disk is an array of this many such drives or pairs.
    pub array: Option<(usize, RaidConfig)>,
    /// Each disk is a declustered array of such drives or pairs.
    pub declustering: Option<DeclusteredConfig>,
    pub disks: u16,
    /// The devices in front of all drives.
    pub above: Vec<Level>,
}

#[derive(Clone, Debug)]
pub enum Level {
    Faults(FaultPlan),
    Throttle(Limits),
    Observed,
    Queue(PolicyConfig, Option<SectorCount>),
}

pub fn policy(dice: &mut Dice) -> PolicyConfig {
    let text = dice.pick(INFOS).name;
    text.parse().expect("a policy with its defaults")
}

pub fn random_spec(dice: &mut Dice) -> Spec {
    let text = format!("{MECHANISM}{OVERHEADS}");
    let mut spec = spec::parse(&text, "stack.toml").expect("a sound specification");
    spec.buffer.caching = !dice.one_in(4);
    if spec.buffer.caching {
        let caches = [
            WriteCache::Off,
            WriteCache::Streams,
            WriteCache::Always,
            WriteCache::Deferred,
        ];
        spec.buffer.write_cache = dice.pick(&caches);
        spec.buffer.dirty_max = SectorCount(1 + dice.below(40));
        spec.buffer.combine_writes = dice.one_in(2);
        let aheads = [ReadAhead::None, ReadAhead::TrackEnd, ReadAhead::UntilFull];
        spec.buffer.read_ahead = dice.pick(&aheads);
        spec.buffer.arriving_hits = dice.one_in(2);
    }
    spec.bus.hold_read = dice.one_in(2);
    spec.queue.depth = 1 + dice.below(4) as u32;
    spec.queue.policy = policy(dice);
    let levels = [
        PreSeek::Acknowledged,
        PreSeek::CompletionReady,
        PreSeek::MediaDone,
    ];
    spec.queue.preseek = dice.pick(&levels);
    spec
}

fn random_faults(dice: &mut Dice) -> FaultPlan {
    let mut plan = FaultPlan {
        seed: dice.below(1 << 40),
        ..FaultPlan::default()
    };
    let errors = |dice: &mut Dice| RandomErrors {
        share: dice.pick(&[0.01, 0.2, 1.0]),
        retries: 1 + dice.below(3) as u16,
    };
    for blocks in [&mut plan.medium_errors, &mut plan.recovered_errors] {
        if dice.one_in(3) {
            let first = dice.below(BLOCKS);
            blocks.push(BadBlocks {
                first: Lbn(first),
                end: Lbn(first + 1 + dice.below(20)),
                affected: dice.pick(&[AffectedOps::Reads, AffectedOps::Writes, AffectedOps::Both]),
                retries: 1 + dice.below(3) as u16,
            });
        }
    }
    plan.random_medium_errors = dice.one_in(4).then(|| errors(dice));
    plan.random_recovered_errors = dice.one_in(4).then(|| errors(dice));
    plan.spikes = dice.one_in(4).then(|| Spikes {
        share: 0.3,
        delay: dice.us(5_000) + Span::from_ns(1),
    });
    plan.recalibration = dice.one_in(4).then(|| {
        let lasts = dice.us(10_000) + Span::from_ns(1);
        let every = lasts + dice.us(40_000) + Span::from_ns(1);
        Recalibration { every, lasts }
    });
    let mut at = Instant::START;
    for _ in 0..dice.pick(&[0, 0, 1, 3]) {
        let from = at + dice.us(50_000);
        at = from + dice.us(10_000) + Span::from_ns(1);
        plan.outages.push(Outage { from, until: at });
    }
    plan
}

fn random_levels(dice: &mut Dice) -> Vec<Level> {
    let count = dice.pick(&[0, 1, 2, 3, 4]);
    let level = |dice: &mut Dice| match dice.below(4) {
        0 => Level::Faults(random_faults(dice)),
        1 => Level::Throttle(Limits {
            requests_per_s: dice.one_in(2).then(|| dice.pick(&[40.0, 150.0, 3_000.0])),
            bytes_per_s: dice.one_in(2).then(|| dice.pick(&[30e3, 300e3, 4e6])),
            burst: dice.us(20_000),
        }),
        2 => Level::Observed,
        _ => queue(dice),
    };
    (0..count).map(|_| level(dice)).collect()
}

fn random_mirroring(dice: &mut Dice) -> MirrorConfig {
    let affinity = Routing::Affinity {
        pivot: Lbn(dice.below(BLOCKS)),
        relaxed: dice.one_in(2).then(|| dice.below(4)),
    };
    let routings = [
        Routing::Uniform,
        Routing::Cyclic,
        affinity,
        Routing::ShortestQueue,
        Routing::ShortestResponse,
        Routing::LastRequest,
        Routing::MinResponse,
        Routing::MinService,
    ];
    let routing = dice.pick(&routings);
    let divided = ReadDispatch::Divided {
        pivot: Lbn(dice.below(BLOCKS)),
        relaxed: dice.one_in(2).then(|| dice.below(3)),
    };
    let reads = dice.pick(&[
        ReadDispatch::Shared,
        ReadDispatch::Shared,
        divided,
        ReadDispatch::Routed(routing),
        ReadDispatch::Routed(routing),
    ]);
    let is_routed = matches!(reads, ReadDispatch::Routed(_));
    let rehearsed = routing.rehearsed().filter(|_| is_routed);
    let needed = rehearsed.and_then(|(needed, _)| needed.parse().ok());
    let destages = reads == ReadDispatch::Shared && dice.one_in(2);
    let fails = dice.one_in(3);
    let failures: Vec<Failure> = fails.then(|| random_failure(2, dice)).into_iter().collect();
    let rebuild = (fails && dice.one_in(2)).then(|| RebuildConfig {
        share_fraction: dice.pick(&[0.2, 1.0]),
        unit: SectorCount(dice.pick(&[3, 32, 64])),
    });
    MirrorConfig {
        policy: needed.unwrap_or_else(|| policy(dice)),
        reads,
        writes: if destages {
            WriteCompletion::Both
        } else {
            dice.pick(&[
                WriteCompletion::Both,
                WriteCompletion::Both,
                WriteCompletion::First,
            ])
        },
        destaging: destages.then(|| random_destaging(dice)),
        transposed: dice.one_in(2).then(|| SectorCount(1 + dice.below(60))),
        failures,
        rebuild,
        seed: dice.below(1 << 40),
    }
}

fn random_array(dice: &mut Dice) -> (usize, RaidConfig) {
    let members = 3 + dice.below(4) as usize;
    let mut striping = RaidConfig {
        level: dice.pick(&[RaidLevel::Zero, RaidLevel::Five]),
        unit: SectorCount(dice.pick(&[1, 3, 8, 64])),
        policy: policy(dice),
        failures: Vec::new(),
        rebuild_share: None,
    };
    if striping.level == RaidLevel::Five && dice.one_in(3) {
        striping.failures.push(random_failure(members, dice));
        if dice.one_in(2) {
            striping.rebuild_share = Some(dice.pick(&[0.1, 0.5, 1.0]));
        }
    }
    (members, striping)
}

/// Returns a member that fails before the run or during it.
fn random_failure(members: usize, dice: &mut Dice) -> Failure {
    Failure {
        member: dice.below(members as u64) as usize,
        at: Instant::from_ns(dice.pick(&[0, 0, 1_000_000, 300_000_000])),
    }
}

fn random_destaging(dice: &mut Dice) -> DestageConfig {
    let reads = 1 + dice.below(4) as usize;
    DestageConfig {
        scheme: dice.pick(&[
            DestageScheme::Alternating,
            DestageScheme::Conditional { reads },
        ]),
        batch: 1 + dice.below(4) as usize,
        order: dice.pick(&[
            BatchOrder::Ascending,
            BatchOrder::Nearest,
            BatchOrder::AccessAtStart,
            BatchOrder::Optimal,
        ]),
    }
}

fn random_caching(dice: &mut Dice) -> NvCacheConfig {
    let fails = dice.one_in(3).then(|| Instant::START + dice.us(100_000));
    NvCacheConfig {
        size: SectorCount(1 + dice.below(100)),
        merge: dice.one_in(3).then(|| SectorCount(1 + dice.below(40))),
        battery_fails: fails,
    }
}

fn random_declustering(dice: &mut Dice) -> DeclusteredConfig {
    let kinds = [
        (LayoutKind::Basic, 4),
        (LayoutKind::Interleaved { cluster: 3 }, 3),
        (LayoutKind::Chained, 5),
        (LayoutKind::GroupRotate { cluster: 2 }, 4),
    ];
    let (kind, disks) = dice.pick(&kinds);
    let fails = dice.one_in(2);
    let failures = fails.then(|| random_failure(disks, dice));
    DeclusteredConfig {
        layout: Layout::new(kind, disks).expect("a layout"),
        failures: failures.into_iter().collect(),
        rebuild_share: (fails && dice.one_in(2)).then(|| dice.pick(&[0.1, 0.5, 1.0])),
        unit: SectorCount(dice.pick(&[7, 8, 64])),
        policy: policy(dice),
        seed: dice.below(1 << 40),
    }
}

fn queue(dice: &mut Dice) -> Level {
    let merge = dice.one_in(3).then(|| SectorCount(1 + dice.below(64)));
    Level::Queue(policy(dice), merge)
}

impl Stack {
    pub fn random(dice: &mut Dice) -> Self {
        let mut stack = Self {
            spec: random_spec(dice),
            levels: random_levels(dice),
            mirroring: None,
            caching: None,
            array: None,
            declustering: None,
            disks: dice.pick(&[1, 1, 2, 3]),
            above: random_levels(dice),
        };
        // Without a host queue a full drive refuses requests.
        if !dice.one_in(4) {
            stack.levels.push(queue(dice));
        }
        stack.mirroring = dice.one_in(2).then(|| random_mirroring(dice));
        let destages = |mirroring: &MirrorConfig| mirroring.destaging.is_some();
        // Only a cache knows when writes must not wait for a full batch.
        if stack.mirroring.as_ref().is_some_and(destages) || dice.one_in(4) {
            stack.caching = Some(random_caching(dice));
        }
        stack.array = dice.one_in(3).then(|| random_array(dice));
        let is_declustered = stack.array.is_none() && dice.one_in(3);
        stack.declustering = is_declustered.then(|| random_declustering(dice));
        stack
    }

    /// Returns a drive with its levels, a pair, or an array of either.
    fn disk(&self) -> BoxedDevice {
        if let Some(declustering) = &self.declustering {
            return self.declustered(declustering);
        }
        let Some((members, striping)) = &self.array else {
            return self.unit(0);
        };
        let devices = *members as u64 + u64::from(striping.rebuild_share.is_some());
        let all = || (0..devices).map(|index| self.unit(index)).collect();
        BoxedDevice::opaque(Raid::new(all(), striping).unwrap_or_else(|_| {
            let policy = PolicyConfig::default();
            let striping = RaidConfig {
                policy,
                ..striping.clone()
            };
            Raid::new(all(), &striping).expect("order of arrival needs no knowledge")
        }))
    }

    /// Returns the maximum number of rebuild events: one step per block and some per command.
    pub fn own_events(&self) -> usize {
        let striping = self
            .array
            .as_ref()
            .map(|(members, array)| (*members, array));
        let of_array = striping
            .filter(|(_, array)| array.rebuild_share.is_some())
            .map_or(0, |(members, _)| members);
        let of_pairs = self.mirroring.iter().filter(|pair| pair.rebuild.is_some());
        let declustering = self.declustering.as_ref();
        let pairs = declustering
            .map(|declustering| declustering.layout.disks() + 1)
            .or(striping.map(|(members, _)| members + 1));
        let declustering = declustering.and_then(|declustering| declustering.rebuild_share);
        let of_array = of_array + 2 * usize::from(declustering.is_some());
        let commands = of_array + of_pairs.count() * pairs.unwrap_or(1);
        100 * commands * usize::from(self.disks) * BLOCKS as usize
    }

    fn declustered(&self, declustering: &DeclusteredConfig) -> BoxedDevice {
        let spares = u64::from(declustering.rebuild_share.is_some());
        let disks = declustering.layout.disks() as u64 + spares;
        let all = || (0..disks).map(|index| self.unit(index)).collect();
        let array = Declustered::new(all(), declustering.clone());
        BoxedDevice::opaque(array.unwrap_or_else(|_| {
            let policy = PolicyConfig::default();
            let declustering = DeclusteredConfig {
                policy,
                ..declustering.clone()
            };
            Declustered::new(all(), declustering).expect("order of arrival needs no knowledge")
        }))
    }

    /// Returns true if a request becomes commands for several members.
    pub fn is_array(&self) -> bool {
        self.array.is_some() || self.declustering.is_some()
    }

    /// Returns the number of blocks of a disk.
    pub fn blocks(&self) -> u64 {
        if let Some(declustering) = &self.declustering {
            return declustering.capacity(SectorCount(BLOCKS)).0;
        }
        let array = self.array.as_ref();
        let data = array.map_or(1, |(members, striping)| {
            striping.level.data_members(*members)
        });
        BLOCKS * data as u64
    }

    /// Returns a drive with its levels, or a pair of them, perhaps with a cache in front.
    fn unit(&self, index: u64) -> BoxedDevice {
        let behind = match &self.mirroring {
            None => CacheBacking::Device(self.member(index)),
            Some(mirroring) => CacheBacking::Pair(Box::new(self.pair(mirroring, index))),
        };
        match (self.caching, behind) {
            (Some(caching), behind) => BoxedDevice::opaque(NvCache::new(behind, caching)),
            (None, CacheBacking::Device(device)) => device,
            (None, CacheBacking::Pair(pair)) => BoxedDevice::opaque(*pair),
        }
    }

    fn pair(&self, mirroring: &MirrorConfig, index: u64) -> Mirror {
        let build = |mirroring: &MirrorConfig| {
            let members = [self.member(2 * index), self.member(2 * index + 1)];
            let spare = mirroring.rebuild.map(|_| self.member(2 * index + 100));
            Mirror::with_spare(members, spare, mirroring)
        };
        build(mirroring).unwrap_or_else(|_| {
            let policy = PolicyConfig::default();
            let order = BatchOrder::Ascending;
            let destaging = mirroring
                .destaging
                .map(|scheme| DestageConfig { order, ..scheme });
            let mirroring = MirrorConfig {
                policy,
                reads: destaging.map_or_else(ReadDispatch::default, |_| ReadDispatch::Shared),
                destaging,
                ..mirroring.clone()
            };
            build(&mirroring).expect("order of arrival needs no knowledge")
        })
    }

    /// Returns a drive with its levels, which behaves differently from its twin.
    fn member(&self, index: u64) -> BoxedDevice {
        let drive =
            Drive::new(&self.spec, Angle::from_fraction(3 * index, 10)).expect("a sound layout");
        let mut levels = self.levels.clone();
        for level in &mut levels {
            if let Level::Faults(plan) = level {
                plan.seed += index;
            }
        }
        behind(BoxedDevice::new(drive), &levels)
    }

    /// Returns true if a flush waits for all acknowledged data.
    pub fn has_late_copies(&self) -> bool {
        let mut mirroring = self.mirroring.iter();
        let is_late = |mirroring: &MirrorConfig| mirroring.writes == WriteCompletion::First;
        self.caching.is_some() || mirroring.any(is_late)
    }

    pub fn build(&self) -> BoxedDevice {
        let device = if self.disks == 1 {
            self.disk()
        } else {
            let stack = self.clone();
            BoxedDevice::opaque(IndependentDisks::new(self.disks, move || stack.disk()))
        };
        behind(device, &self.above)
    }

    /// Returns true if one queue holds the requests for all disks, and so keeps their order.
    pub fn has_common_queue(&self) -> bool {
        let mut above = self.above.iter();
        above.any(|level| matches!(level, Level::Queue(..)))
    }

    pub fn has_faults(&self) -> bool {
        let mut levels = self.levels.iter().chain(&self.above);
        let of_pairs = self.mirroring.iter().flat_map(|pair| &pair.failures);
        let declustering = self.declustering.iter().flat_map(|array| &array.failures);
        let striping = self.array.iter().flat_map(|(_, array)| &array.failures);
        let mut failures = of_pairs.chain(striping).chain(declustering);
        let fails = failures.any(|failure| failure.at > Instant::START);
        fails || levels.any(|level| matches!(level, Level::Faults(_)))
    }
}

/// Stacks `levels` on `device`. The default replaces policies that need knowledge it lacks.
fn behind(mut device: BoxedDevice, levels: &[Level]) -> BoxedDevice {
    for level in levels {
        device = match level {
            Level::Faults(plan) => device.wrap(|inner| Faults::new(inner, plan, REVOLUTION)),
            Level::Throttle(limits) => device.wrap(|inner| Throttle::new(inner, *limits)),
            Level::Observed => {
                device.wrap(|inner| ObservedDevice::new(inner, Recording::default()))
            }
            Level::Queue(config, merge) => {
                let policy = stack::policy(config, &device)
                    .unwrap_or_else(|_| PolicyConfig::default().policy(&device));
                let host = Host::new(device, policy);
                BoxedDevice::opaque(match merge {
                    Some(max) => host.merging(*max),
                    None => host,
                })
            }
        };
    }
    device
}
