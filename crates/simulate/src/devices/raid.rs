//! Disk arrays in a stack of devices: stripes over the devices below.

use diskarm_core::mirror::MirrorConfig;
use diskarm_core::raid::{Level, Raid, RaidConfig};
use diskarm_core::request::Request;
use diskarm_core::sched::{Knowledge, PolicyConfig};
use diskarm_core::stack::BoxedDevice;
use diskarm_core::text::InputError;
use diskarm_core::units::SectorCount;

use super::members::{self, POLICY, failures, rebuild};
use super::mirror::{self, COMPLETE, LAYOUT, QUEUE, ROUTING, UNIT};
use crate::device::{Below, Config, DRIVES, DeviceInfo, Entry, Parameter, Parameters};

pub(super) const ZERO: Entry = Entry {
    info: DeviceInfo {
        name: "raid0",
        summary: "several disks in stripes, without redundancy",
        parameters: &[DRIVES, DISKS, STRIPE, POLICY],
        needs: Knowledge::Inner,
        provides: Some(Knowledge::Blocks),
        example: "raid0(disks=8, policy=satf, drive=hp-c2247)",
    },
    read: read_zero,
};

pub(super) const TEN: Entry = Entry {
    info: DeviceInfo {
        name: "raid10",
        summary: "stripes over mirrored pairs (RAID 1+0)",
        parameters: &[
            DRIVES,
            ("pairs=4", "the number of pairs, from 1 to 500"),
            STRIPE,
            POLICY,
            QUEUE,
            ROUTING,
            LAYOUT,
            UNIT,
            COMPLETE,
            (
                "failed=0@60s",
                "a disk, counted from 0 (disks 2 and 3 are the second pair), and when it fails; \
                 without \"@\" it fails before the run; may be given several times: if the other \
                 disk of a pair also fails before a rebuild has ended, data are lost, and that \
                 pair serves nothing from then on; without this parameter no disk fails",
            ),
            (
                "rebuild=50%",
                "share of the time, from 0.1 % to 100 %, spent rebuilding the data of the first \
                 failed disk of each pair onto a spare for that pair, stripe unit by stripe unit; \
                 the rebuild starts when the disk fails or, if later, at the first request; \
                 without this parameter there are no spares",
            ),
        ],
        needs: Knowledge::Inner,
        provides: Some(Knowledge::Blocks),
        example: "raid10(pairs=4, stripe=64KiB, queue=shared, policy=satf, drive=hp-c2247)",
    },
    read: read_ten,
};

pub(super) const FIVE: Entry = Entry {
    info: DeviceInfo {
        name: "raid5",
        summary: "several disks in stripes with rotated parity, left-symmetric",
        parameters: &[
            DRIVES,
            ("disks=5", "the number of disks, from 3 to 1000"),
            STRIPE,
            POLICY,
            (
                "failed=0@60s",
                "a disk, counted from 0, and when it fails; without \"@\" it fails before the run; \
                 its data are then reconstructed by reading all other disks; may be given several \
                 times: a second failure before a rebuild has ended loses data, and the array \
                 serves nothing from then on; without this parameter no disk fails",
            ),
            (
                "rebuild=50%",
                "share of the time, from 0.1 % to 100 %, spent rebuilding the first failed disk's \
                 data onto a spare; the rebuild starts when the disk fails or, if later, at the \
                 first request, and pauses after each row; without this parameter there is no \
                 spare",
            ),
        ],
        needs: Knowledge::Inner,
        provides: Some(Knowledge::Blocks),
        example: "raid5(disks=5, stripe=64KiB, policy=satf, drive=hp-c2247)",
    },
    read: read_five,
};

const DISKS: Parameter = ("disks=8", "the number of disks, from 1 to 1000");
const STRIPE: Parameter = (
    "stripe=64KiB",
    "the stripe unit: the amount of consecutive data on one disk or pair",
);

const MAX_DISKS: u64 = 1_000;

/// Stripes over disks, or over pairs of them.
#[derive(Debug)]
struct Array {
    members: usize,
    striping: RaidConfig,
    pairs: Option<MirrorConfig>,
}

fn read_zero(args: &mut Parameters<'_>) -> Result<Box<dyn Config>, InputError> {
    Ok(Box::new(Array {
        members: disks(Level::Zero, args)?,
        striping: striping(Level::Zero, args)?,
        pairs: None,
    }))
}

fn read_ten(args: &mut Parameters<'_>) -> Result<Box<dyn Config>, InputError> {
    let pairs = args.count("pairs", 1..=MAX_DISKS / 2)? as usize;
    let unit = stripe(args)?;
    // The stripes need no policy: the pairs accept every request and have policies themselves.
    let mirroring = mirror::mirroring(2 * pairs, unit, args)?;
    Ok(Box::new(Array {
        members: pairs,
        striping: plain_stripes(Level::Zero, unit, PolicyConfig::default()),
        pairs: Some(mirroring),
    }))
}

fn read_five(args: &mut Parameters<'_>) -> Result<Box<dyn Config>, InputError> {
    let members = disks(Level::Five, args)?;
    let failures = failures(members, args)?;
    let rebuild = rebuild(&failures, args)?;
    Ok(Box::new(Array {
        members,
        striping: RaidConfig {
            failures,
            rebuild_share: rebuild,
            ..striping(Level::Five, args)?
        },
        pairs: None,
    }))
}

fn disks(level: Level, args: &mut Parameters<'_>) -> Result<usize, InputError> {
    let min = level.min_members() as u64;
    Ok(args.count("disks", min..=MAX_DISKS)? as usize)
}

fn striping(level: Level, args: &mut Parameters<'_>) -> Result<RaidConfig, InputError> {
    let policy = args.maybe_read("policy", PolicyConfig::parse)?;
    Ok(plain_stripes(
        level,
        stripe(args)?,
        policy.unwrap_or_default(),
    ))
}

fn plain_stripes(level: Level, unit: SectorCount, policy: PolicyConfig) -> RaidConfig {
    RaidConfig {
        level,
        unit,
        policy,
        failures: Vec::new(),
        rebuild_share: None,
    }
}

fn stripe(args: &mut Parameters<'_>) -> Result<SectorCount, InputError> {
    let max = args.context.disk().sectors.min(Request::MAX_SECTORS).0;
    members::stripe(args, max)
}

impl Config for Array {
    fn build(&self, below: &Below<'_>, seed: u64) -> Result<BoxedDevice, InputError> {
        let spares = u64::from(self.striping.rebuild_share.is_some());
        let members = (0..self.members as u64 + spares).map(|index| match &self.pairs {
            None => below.member(index),
            Some(mirroring) => {
                // This factor is odd, and differs from those of levels, disks, members and streams.
                let seed = seed ^ index.wrapping_mul(0x8ebc_6af0_9c88_c6e3);
                mirror::pair(mirroring, below, index, self.members as u64, seed)
            }
        });
        let members = members.collect::<Result<Vec<_>, _>>()?;
        let array = Raid::new(members, &self.striping);
        let array = array.map_err(|unknown| below.refused(&unknown))?;
        Ok(BoxedDevice::opaque(array))
    }

    fn members(&self) -> usize {
        match self.pairs {
            // Spares are not numbered among the disks.
            Some(_) => 2 * self.members,
            None => self.members + usize::from(self.striping.rebuild_share.is_some()),
        }
    }

    fn copies(&self) -> usize {
        let spares = self.pairs.as_ref().filter(|pairs| pairs.rebuild.is_some());
        self.members() + spares.map_or(0, |pairs| pairs.failures.len())
    }

    fn capacity(&self, sectors: SectorCount) -> SectorCount {
        let data = self.striping.level.data_members(self.members);
        SectorCount(sectors.0 * data as u64)
    }
}
