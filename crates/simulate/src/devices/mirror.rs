//! A mirrored pair in a stack of devices.

use diskarm_core::mirror::{
    Mirror, MirrorConfig, ReadDispatch, RebuildConfig, Routing, WriteCompletion,
};
use diskarm_core::sched::{Knowledge, PolicyConfig};
use diskarm_core::stack::BoxedDevice;
use diskarm_core::text::{Args, Call, InputError, quantity};
use diskarm_core::units::{Lbn, SectorCount};

use super::members::{failures, rebuild, sectors};
use crate::device::{Below, Config, Context, DRIVES, DeviceInfo, Entry, Parameter, Parameters};
use crate::model::Model;

pub(super) const ENTRY: Entry = Entry {
    info: DeviceInfo {
        name: "mirror",
        summary: "two devices with the same data: writes go to both, reads to one",
        parameters: &[
            DRIVES,
            (
                "policy=fcfs",
                "the policy that orders the requests waiting for each of the two: one that \
                 `diskarm policies` lists, with its parameters",
            ),
            QUEUE,
            ROUTING,
            LAYOUT,
            UNIT,
            COMPLETE,
            (
                "failed=0@60s",
                "which of the two fails, 0 or 1, and when; without \"@\" it fails before the run; \
                 may be given for both: if the second fails before a rebuild has ended, data are \
                 lost, and nothing is served from then on; without this parameter neither fails",
            ),
            (
                "rebuild=50%",
                "share of the time, from 0.1 % to 100 %, spent rebuilding the first failed \
                 device's data onto a spare; the rebuild starts when the device fails or, if \
                 later, at the first request, and pauses after each step of 64 KiB; without this \
                 parameter there is no spare",
            ),
        ],
        needs: Knowledge::Inner,
        provides: Some(Knowledge::Blocks),
        example: "mirror(queue=shared, policy=satf, drive=hp-c2247)",
    },
    read,
};

/// A parameter that stripes over pairs also have.
pub(super) const QUEUE: Parameter = (
    "queue=independent",
    "where reads wait: in the queue of the device that the routing chooses (independent), or in \
     one queue that both serve (shared); with routing=affinity each serves only its own part",
);
pub(super) const ROUTING: Parameter = (
    "routing=cyclic",
    "with independent queues, how the device that serves a read is chosen: in turn (cyclic); at \
     random (uniform); as the one with fewer requests (jsq); with policy=fcfs, as the one that \
     completes the read sooner (srt) or serves it faster after the last request in its queue \
     (olr); with policy=satf, so that the mean response time (minr) or service time (mins) of all \
     waiting requests is lowest; or by address (affinity). affinity(pivot=30%) assigns the first \
     30 % of the blocks to the first device, affinity(pivot=capacities) half of them, and \
     affinity(pivot=cylinders) those in the first half of the cylinders; `diskarm queueing` \
     computes the pivots for equal utilisations and for the shortest mean response. \
     affinity(relaxed=2) sends a read to the other device if more than 2 more requests wait for \
     its own than for the other or, with queue=shared, if more than 2 wait for its own and none \
     for the other. For each read, srt, olr, minr and mins simulate the service of all waiting \
     requests on copies of the devices: with 32 requests outstanding, srt and olr take about 10 \
     times as long as jsq, minr and mins 25 times, and more with longer queues",
);
pub(super) const LAYOUT: Parameter = (
    "layout=normal",
    "how the second device stores the data: like the first (normal), or in the opposite order \
     (transposed)",
);
pub(super) const UNIT: Parameter = (
    "unit=1MiB",
    "with layout=transposed, the size of the parts within which the order stays the same",
);
pub(super) const COMPLETE: Parameter = (
    "complete=both",
    "when a write completes: after both copies (both), or after the first (first)",
);

const PIVOT: &str = "capacities, cylinders, or a share of the blocks above 0 % and below 100 %, \
                     such as \"30 %\"";
const PIVOT_OF_ARRAY: &str = "capacities, or a share of the blocks above 0 % and below 100 %, such \
                              as \"30 %\": only a drive has cylinders";
const ROUTINGS: &[&str] = &[
    "uniform", "cyclic", "jsq", "srt", "olr", "minr", "mins", "affinity",
];
/// The default `unit` of a transposed layout, in bytes: large enough to span several tracks.
const UNIT_BYTES: u64 = 1 << 20;
const REBUILD_STEP_BYTES: u64 = 64 << 10;

#[derive(Debug)]
struct Mirrored(MirrorConfig);

fn read(args: &mut Parameters<'_>) -> Result<Box<dyn Config>, InputError> {
    let step = rebuild_step(args.context);
    Ok(Box::new(Mirrored(mirroring(2, step, args)?)))
}

pub(super) fn rebuild_step(context: Context<'_>) -> SectorCount {
    let disk = context.disk();
    SectorCount((REBUILD_STEP_BYTES / disk.sector.0).clamp(1, disk.sectors.0))
}

/// Reads the parameters of `disks` disks in pairs. A rebuild copies `step` blocks at a time.
pub(super) fn mirroring(
    disks: usize,
    step: SectorCount,
    args: &mut Parameters<'_>,
) -> Result<MirrorConfig, InputError> {
    let context = args.context;
    let policy = args.maybe_read("policy", PolicyConfig::parse)?;
    let policy = policy.unwrap_or_default();
    let is_shared = args.maybe("queue", "independent or shared", |text| match text {
        "independent" => Some(false),
        "shared" => Some(true),
        _ => None,
    })?;
    let routing = args.maybe_read("routing", |text, field| routing(text, field, context))?;
    let reads = match (is_shared.unwrap_or(false), routing) {
        (false, routing) => ReadDispatch::Routed(routing.unwrap_or_default()),
        (true, None) => ReadDispatch::Shared,
        (true, Some(Routing::Affinity { pivot, relaxed })) => {
            ReadDispatch::Divided { pivot, relaxed }
        }
        (true, Some(_)) => {
            let expected = "queue=independent, routing=affinity, or no routing";
            return Err(InputError::new(args.field("queue"), "shared", expected));
        }
    };
    if let Some((needed, name)) = routing.and_then(Routing::rehearsed)
        && policy.to_string() != needed
    {
        let expected = format!("{needed}: routing={name} simulates no other");
        return Err(InputError::shown(args.field("policy"), policy, expected));
    }
    let writes = args.maybe("complete", "both or first", |text| match text {
        "both" => Some(WriteCompletion::Both),
        "first" => Some(WriteCompletion::First),
        _ => None,
    })?;
    let transposed = transposed(args)?;
    let failures = failures(disks, args)?;
    let rebuild = rebuild(&failures, args)?;
    Ok(MirrorConfig {
        policy,
        reads,
        writes: writes.unwrap_or_default(),
        transposed,
        destaging: None,
        rebuild: rebuild.map(|share_fraction| RebuildConfig {
            share_fraction,
            unit: step,
        }),
        failures,
        seed: 0,
    })
}

fn transposed(args: &mut Parameters<'_>) -> Result<Option<SectorCount>, InputError> {
    let disk = args.context.disk();
    let unit = sectors(args, "unit", 1..=disk.sectors.0, "1 MiB")?;
    let is_transposed = args.maybe("layout", "normal or transposed", |text| match text {
        "normal" => Some(false),
        "transposed" => Some(true),
        _ => None,
    })?;
    match (is_transposed.unwrap_or(false), unit) {
        (true, unit) => {
            let default = (UNIT_BYTES / disk.sector.0).clamp(1, disk.sectors.0);
            Ok(Some(unit.unwrap_or(SectorCount(default))))
        }
        (false, None) => Ok(None),
        (false, Some(_)) => {
            let expected = "layout=transposed, or no unit";
            Err(InputError::new(args.field("layout"), "normal", expected))
        }
    }
}

fn routing(text: &str, field: &str, context: Context<'_>) -> Result<Routing, InputError> {
    let call = Call::read(text, field)?;
    let mut args = Args::new(&call, ());
    let routing = match call.name {
        "uniform" => Routing::Uniform,
        "cyclic" => Routing::Cyclic,
        "jsq" => Routing::ShortestQueue,
        "srt" => Routing::ShortestResponse,
        "olr" => Routing::LastRequest,
        "minr" => Routing::MinResponse,
        "mins" => Routing::MinService,
        "affinity" => {
            let is_drive = context.is_drive();
            let expected = if is_drive { PIVOT } else { PIVOT_OF_ARRAY };
            let pivot = args.maybe("pivot", expected, |text| pivot(text, context))?;
            Routing::Affinity {
                pivot: pivot.unwrap_or(Lbn(context.disk().sectors.0 / 2)),
                relaxed: args.maybe_count("relaxed", 0..=1_000_000)?,
            }
        }
        other => return Err(InputError::one_of(field, other, ROUTINGS)),
    };
    args.finish()?;
    Ok(routing)
}

fn pivot(text: &str, context: Context<'_>) -> Option<Lbn> {
    let sectors = context.disk().sectors.0;
    let share = match text {
        "capacities" => return Some(Lbn(sectors / 2)),
        "cylinders" => return context.is_drive().then(|| middle_cylinder(context.drive)),
        share => quantity::fraction(share)?,
    };
    let is_inside = share > 0.0 && share < 1.0;
    is_inside.then_some(Lbn((sectors as f64 * share) as u64))
}

/// Returns the first block after the first half of the cylinders.
fn middle_cylinder(drive: &Model) -> Lbn {
    let layout = drive.layout();
    let half = layout.cylinders() / 2;
    let (mut first, mut end) = (0, layout.sectors().0);
    while first < end {
        let middle = first.midpoint(end);
        if layout.extent(Lbn(middle)).cylinder.0 < half {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    Lbn(first)
}

impl Config for Mirrored {
    fn build(&self, below: &Below<'_>, seed: u64) -> Result<BoxedDevice, InputError> {
        pair(&self.0, below, 0, 1, seed)
    }

    fn members(&self) -> usize {
        2 + usize::from(self.0.rebuild.is_some())
    }
}

/// Builds pair `index` of `pairs`: its disks are consecutive, and the spares follow all disks.
pub(super) fn pair(
    mirroring: &MirrorConfig,
    below: &Below<'_>,
    index: u64,
    pairs: u64,
    seed: u64,
) -> Result<BoxedDevice, InputError> {
    let first = 2 * index as usize;
    let mut failures = mirroring.failures.clone();
    failures.retain(|failure| failure.member / 2 == index as usize);
    failures
        .iter_mut()
        .for_each(|failure| failure.member -= first);
    let mirroring = MirrorConfig {
        rebuild: mirroring.rebuild.filter(|_| !failures.is_empty()),
        failures,
        seed,
        ..mirroring.clone()
    };
    let members = [below.member(2 * index)?, below.member(2 * index + 1)?];
    let spare = mirroring.rebuild.map(|_| below.member(2 * pairs + index));
    let pair = Mirror::with_spare(members, spare.transpose()?, &mirroring);
    let pair = pair.map_err(|unknown| below.refused(&unknown))?;
    Ok(BoxedDevice::opaque(pair))
}
