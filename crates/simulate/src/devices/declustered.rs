//! Declustered mirroring in a stack of devices.

use diskarm_core::declustered::{
    Declustered, DeclusteredConfig, Layout, LayoutError, LayoutKind, MAX_DISKS,
};
use diskarm_core::request::Request;
use diskarm_core::sched::{Knowledge, PolicyConfig};
use diskarm_core::stack::BoxedDevice;
use diskarm_core::text::InputError;
use diskarm_core::units::SectorCount;

use super::members::{POLICY, failures, rebuild, stripe};
use crate::device::{Below, Config, DRIVES, DeviceInfo, Entry, Parameters};

pub(super) const ENTRY: Entry = Entry {
    info: DeviceInfo {
        name: "declustered",
        summary: "two copies of all data, spread over several disks",
        parameters: &[
            DRIVES,
            ("disks=8", "the number of disks, from 2 to 24"),
            (
                "layout=chained",
                "where the second copies of a disk's data are: on its partner (basic), on the \
                 other disks of its cluster (interleaved), on the next disk (chained), or on the \
                 disks of another cluster (group-rotate)",
            ),
            (
                "cluster=4",
                "with layout=interleaved or group-rotate, the number of disks in a cluster, which \
                 must divide the number of disks",
            ),
            (
                "failed=0@60s",
                "a disk, counted from 0, and when it fails; without \"@\" it fails before the run; \
                 may be given several times: if the two disks with both copies of some data fail, \
                 the data are lost, and the array serves nothing from then on; without this \
                 parameter no disk fails",
            ),
            (
                "rebuild=50%",
                "share of the time, from 0.1 % to 100 %, spent rebuilding the first failed disk's \
                 data onto a spare, stripe unit by stripe unit; the rebuild starts when the disk \
                 fails or, if later, at the first request; without this parameter there is no \
                 spare",
            ),
            (
                "stripe=64KiB",
                "the stripe unit: the amount of consecutive data on one disk",
            ),
            POLICY,
        ],
        needs: Knowledge::Inner,
        provides: Some(Knowledge::Blocks),
        example: "declustered(layout=chained, disks=8, policy=satf, drive=hp-c2247)",
    },
    read,
};

const LAYOUTS: &[&str] = &["basic", "interleaved", "chained", "group-rotate"];

#[derive(Debug)]
struct Array(DeclusteredConfig);

fn read(args: &mut Parameters<'_>) -> Result<Box<dyn Config>, InputError> {
    let disks = args.count("disks", 2..=MAX_DISKS as u64)? as usize;
    let layout = layout(args, disks)?;
    let failures = failures(disks, args)?;
    let rebuild_share = rebuild(&failures, args)?;
    let policy = args.maybe_read("policy", PolicyConfig::parse)?;
    let max = (args.context.disk().sectors.0 / 2).min(Request::MAX_SECTORS.0);
    Ok(Box::new(Array(DeclusteredConfig {
        layout,
        failures,
        rebuild_share,
        unit: stripe(args, max)?,
        policy: policy.unwrap_or_default(),
        seed: 0,
    })))
}

fn layout(args: &mut Parameters<'_>, disks: usize) -> Result<Layout, InputError> {
    let given = args.maybe_count("cluster", 1..=MAX_DISKS as u64)?;
    let expected = format!("one of {}", LAYOUTS.join(", "));
    let name = args.need("layout", &expected, |text| {
        LAYOUTS.iter().copied().find(|name| *name == text)
    })?;
    let is_clustered = matches!(name, "interleaved" | "group-rotate");
    let cluster = match (is_clustered, given) {
        (true, None) => {
            let expected = format!("the number of disks in a cluster, for layout={name}");
            return Err(InputError::missing(args.field("cluster"), expected));
        }
        (false, Some(cluster)) => {
            let expected = "layout=interleaved or group-rotate, or no cluster";
            return Err(InputError::shown(args.field("cluster"), cluster, expected));
        }
        (_, cluster) => cluster.unwrap_or(0) as usize,
    };
    let kind = match name {
        "basic" => LayoutKind::Basic,
        "interleaved" => LayoutKind::Interleaved { cluster },
        "chained" => LayoutKind::Chained,
        _ => LayoutKind::GroupRotate { cluster },
    };
    Layout::new(kind, disks).map_err(|error| layout_error(error, kind, args))
}

fn layout_error(error: LayoutError, kind: LayoutKind, args: &Parameters<'_>) -> InputError {
    let (key, found, expected) = match error {
        LayoutError::Disks(disks) => ("disks", disks, format!("2 to {MAX_DISKS}")),
        LayoutError::Pairs(disks) => ("disks", disks, "an even number, for layout=basic".into()),
        LayoutError::Small => (
            "cluster",
            1,
            "2 disks or more, for layout=interleaved".into(),
        ),
        LayoutError::Clusters(cluster, disks) | LayoutError::PairsOfClusters(cluster, disks) => {
            let expected = match kind {
                LayoutKind::GroupRotate { .. } => format!(
                    "a number that divides disks={disks} into pairs of clusters, for \
                     layout=group-rotate"
                ),
                _ => format!("a number that divides disks={disks}"),
            };
            ("cluster", cluster, expected)
        }
    };
    InputError::shown(args.field(key), found, expected)
}

impl Config for Array {
    fn build(&self, below: &Below<'_>, seed: u64) -> Result<BoxedDevice, InputError> {
        let members = (0..self.members() as u64).map(|index| below.member(index));
        let members = members.collect::<Result<Vec<_>, _>>()?;
        let mut declustering = self.0.clone();
        declustering.seed = seed;
        let array = Declustered::new(members, declustering);
        let array = array.map_err(|unknown| below.refused(&unknown))?;
        Ok(BoxedDevice::opaque(array))
    }

    fn members(&self) -> usize {
        self.0.layout.disks() + usize::from(self.0.rebuild_share.is_some())
    }

    fn capacity(&self, sectors: SectorCount) -> SectorCount {
        self.0.capacity(sectors)
    }
}
