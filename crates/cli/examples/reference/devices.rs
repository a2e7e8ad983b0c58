//! Devices that can stand in front of a drive.

use diskarm_simulate::devices::infos;

use crate::{code, head, parameters, table};

const ABOUT: &str = "\
Write a device as its name followed by parameters in parentheses. The parameter `drive` names what
stands behind it: a drive, or another device. Such a stack of devices is called a tower:
`throttle(rate=100/s, drive=hp-c2247)`. `simulate`, `compare`, studies and Python accept a tower as
the drive; `validate`, `calibrate` and `drives show` need a plain drive. Values may be written with
or without double quotes; quotes do not nest.

The column *needs* lists what a device must know about the one behind it; a queue needs what its
policy needs. *Provides* lists what policies in front of it can learn. It is an error if a policy
needs more. A `host`, an `nvcache`, a `mirror` or an array accepts every request at once, so a queue
in front of it never fills, and the policy of that queue has no effect.

A `mirror` builds what stands behind it twice, each with random numbers and a starting angle of its
platter that depend on the seed of the run. A read that fails at one is read at the other, and fails
only if that fails too; a write fails if one of its copies does.

The arrays `raid0`, `raid10` and `raid5` build what stands behind them once for each disk, in the
same way. They divide their blocks into stripe units; consecutive units are on consecutive disks.
A workload or trace runs on the blocks of the whole array. A small write to a `raid5` first reads
what it needs to know the new parity: the old data and parity, or the rest of the row, whichever
takes fewer accesses. Writes to one row go one after the other. A full row is written without
reads. Failed disks are counted from 0.

A `declustered` array builds its disks in the same way and keeps two copies of all data on them:
primary copies in the first half of each disk, in stripe units as above, and secondary copies in the
second half, where `layout` puts them. Each read goes to one of its two copies at random, with
probabilities that keep the greatest load as small as it can be; a `chained` array without failures
reads primary copies only. A read that fails is read at the other copy. `diskarm declustering`
computes the loads and the reliability of the layouts.

An `nvcache` completes a write once it is in the cache. With `destage=at-once` the device behind it
decides when it is written: `nvcache(drive=mirror(queue=shared, policy=hol, drive=hp-c2247))` serves
reads first, and `policy=sptf-cp(t=0.6)` gives them conditional priority. With `adu` or `ad-cp` it
makes a mirrored pair of what stands behind it. After its battery has failed, writes complete when
the disks have them, and flushes when all that was in the cache before is written. The cache writes
with forced unit access, so the buffer of a drive does not hold what has left the cache.

The retries that `faults` adds count as rotational wait, and its delays as *owed*. While the device
cannot be reached, requests fail at once instead of waiting.";

pub fn page() -> String {
    let rows = infos().map(|info| {
        vec![
            code(info.name),
            info.summary.to_owned(),
            parameters(info.parameters),
            info.needs.name().to_owned(),
            info.provided().to_owned(),
            code(info.example),
        ]
    });
    let columns = [
        "device",
        "what it does",
        "parameters",
        "needs",
        "provides",
        "example",
    ];
    head("Devices", ABOUT) + &table(&columns, rows)
}
