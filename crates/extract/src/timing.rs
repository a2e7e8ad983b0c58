//! Timing parameters of the drive: measured mechanics and overheads for a specification.
//!
//! # What is observable
//! Measurements yield sums of times (see [`crate::overheads`] and [`crate::hits`]), but a
//! specification needs the parts. Any split of the sums gives the same service times. The split is
//! chosen as follows:
//!
//! * The smaller of the completion overheads of reads and writes is zero (section A.2). The other
//!   overheads follow from this: command overheads are the leads minus the time that a read takes
//!   after the media transfer.
//! * Reselections, disconnections and data preparation are zero, because adjacent overheads include
//!   their times. If the completion of a write depends on the previous command, the difference is a
//!   reselection.
//! * Settling on the current track is part of the command overheads, so seek times are shorter by
//!   that time. Settling on another track of the cylinder is part of the head switch. If a head
//!   switch, with or without settling for writes, would be negative, the minimum settling time that
//!   avoids this is used. Absorbed writes reveal the settling time, because the arm settles but no
//!   miss is processed. SEEK does not, because a SEEK to the current track may include settling.
//! * A transfer that continues on the next track waits for the head switch, but not for settling
//!   there. If it loses no revolution, the head switch takes no longer than the gap between the
//!   tracks, minus the settling time of writes. The longest possible head switch is assumed, and
//!   the remaining time of a request on another track of the cylinder is settling.
//! * The bus rate of reads also applies to writes, unless writes reveal their own rate because the
//!   media wait for more than one sector or the write cache absorbs writes.
//! * The overheads of misses and the completion overhead of writes are zero if they are below their
//!   uncertainty. A drive without overheads serves contiguous requests in one revolution, but the
//!   smallest overhead would cost another revolution.
//! * If no write was absorbed, write hits have the overheads of misses.
//! * If the data of a write after a write arrive later than the overhead explains, the difference
//!   is the duration of an extra disconnect (worthington94 table A.4), whose other times are zero.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{ExtraWriteDisconnect, Mechanics, Overheads, SeekCurve, Spec, WriteStart};
use diskarm_core::units::{SectorCount, Span};

use crate::hits::{self, ReadHits, WriteHits};
use crate::idle::Idle;
use crate::overheads::{self, Reads, Writes};
use crate::rotation::Rotation;
use crate::seek::{self, SeekPoint, Seeks};
use crate::{Disk, Effort, Error, Estimate, Setup};

#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    pub rotation: Rotation,
    pub idle: Idle,
    pub seeks: Seeks,
    pub reads: Reads,
    pub read_hits: ReadHits,
    pub written: Option<WriteMeasurements>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WriteMeasurements {
    pub writes: Writes,
    /// Service times of write hits, and of read hits after writes.
    pub hits: WriteHits,
    /// Seeks before writes, if they differ from those before reads by more than a constant.
    pub seeks: Option<Seeks>,
}

/// Measures everything that needs only reads.
pub fn measure(
    disk: &mut Disk<'_>,
    layout: &Layout,
    effort: Effort,
    seed: u64,
) -> Result<Timing, Error> {
    let setup = Setup::measure(disk, layout, effort, seed)?;
    Ok(Timing {
        rotation: setup.rotation,
        idle: setup.idle,
        reads: overheads::measure(disk, &setup)?,
        seeks: seek::measure(disk, &setup)?,
        read_hits: hits::measure(disk, &setup)?,
        written: None,
    })
}

/// Measures everything that needs writes, given `timing`. Destroys data in random blocks.
pub fn measure_writes(
    disk: &mut Disk<'_>,
    layout: &Layout,
    timing: &Timing,
    effort: Effort,
    seed: u64,
) -> Result<WriteMeasurements, Error> {
    let setup = Setup {
        layout,
        rotation: timing.rotation,
        idle: timing.idle,
        effort,
        seed,
    };
    Ok(WriteMeasurements {
        writes: overheads::measure_writes(disk, &setup)?,
        hits: hits::measure_writes(disk, &setup)?,
        seeks: seek::measure_writes(disk, &setup, &timing.seeks)?,
    })
}

/// Times below this count as zero.
const NEGLIGIBLE: Span = Span::from_ns(6_000);

/// Sums of several times count as zero if they are below this.
const NOISE: Span = Span::from_ns(20_000);

struct Division {
    /// Time from the end of the media transfer to completion, for a read and a write after a read.
    after_media: [Span; 2],
    read_sector: Span,
    write_sector: Span,
    reselect: [Span; 2],
    track_settle: Span,
    /// The part of `track_settle` that only absorbed writes reveal.
    absorbed_settle: Span,
}

impl Timing {
    /// Copies mechanics, overheads and bus rates to a specification. Values that are measured with
    /// writes stay unchanged if no writes were allowed.
    pub fn describe(&self, spec: &mut Spec) {
        let division = self.division();
        let cylinders = spec.geometry.cylinders;
        spec.mechanics = Mechanics {
            period_ns: self.rotation.period_ns,
            seek: table(&self.seeks, division.track_settle, cylinders),
            head_switch: self.head_switch(&division),
            track_settle: division.track_settle,
            inward_seek: self.seeks.inward.value,
            ..Mechanics::default()
        };
        spec.bus.read_sector = division.read_sector;
        spec.bus.write_sector = division.write_sector;
        self.describe_reads(&mut spec.overheads, &division);
        if let Some(written) = &self.written {
            self.describe_writes(&mut spec.overheads, written, &division);
            let settle = self.settle(written, &division);
            spec.mechanics.write_settle = settle;
            spec.mechanics.write_seek = written.seeks.as_ref().map(|seeks| {
                // These seeks were measured relative to the lead of a write after a write.
                let still = written.writes.leads[1].value;
                let more = still - self.lead_after_write(written, &division) - settle;
                table(seeks, more, cylinders)
            });
        }
        self.divide_switch(&mut spec.mechanics, &division);
    }

    /// Splits the extra time of a request on another track of the cylinder between head switch and
    /// settling. The settling time that only absorbed writes reveal is assumed to be part of it.
    fn divide_switch(&self, mechanics: &mut Mechanics, division: &Division) {
        let all = mechanics.head_switch;
        let switch = (all - division.absorbed_settle).or_zero();
        let onward = self.longest_switch(mechanics.write_settle);
        let switch = onward.map_or(switch, |longest| switch.min(longest));
        // The time of a movement before a write must not be negative.
        mechanics.head_switch = switch.max(-mechanics.write_settle).min(all);
        let settle = all - mechanics.head_switch;
        // A small excess is a measurement error, because skews match head switches.
        if settle > NEGLIGIBLE {
            mechanics.cylinder_settle = settle;
        }
    }

    /// Returns the longest head switch that explains which transfers continue on the next track,
    /// given the settling time of writes; `None` if no transfer was seen to continue.
    pub(crate) fn longest_switch(&self, write_settle: Span) -> Option<Span> {
        let written = self.written.as_ref();
        let writes = written.and_then(|written| written.writes.goes_on);
        let before_write = writes.map(|pause| pause - write_settle);
        let pauses = self.reads.goes_on.into_iter().chain(before_write);
        pauses.min().map(Span::or_zero)
    }

    fn division(&self) -> Division {
        let sector = self.read_hits.sector.or(self.read_hits.slow_bus);
        let read_sector = sector.unwrap_or_default().value.or_zero();
        let Some(written) = &self.written else {
            return Division {
                after_media: [read_sector; 2],
                read_sector,
                write_sector: read_sector,
                reselect: [Span::ZERO; 2],
                track_settle: self.settle_by_reads().or_zero(),
                absorbed_settle: Span::ZERO,
            };
        };
        let [after_read, after_write] = written.writes.later;
        let more = after_write.value - after_read.value;
        let min = NEGLIGIBLE.max(after_write.uncertainty + after_read.uncertainty);
        let reselect = match more {
            more if more > min => [Span::ZERO, more],
            less if -less > min => [-less, Span::ZERO],
            _ => [Span::ZERO; 2],
        };
        let after_read = completion_difference(after_read, read_sector);
        // The smaller completion overhead is zero. Reads end with the bus transfer.
        let reads = reselect[0] + read_sector.max(-after_read);
        let sector = written.hits.sector.or(written.writes.wait.sector);
        let write_sector = sector.map_or(read_sector, |sector| sector.value).or_zero();
        let mut division = Division {
            after_media: [reads, reads + after_read],
            read_sector,
            write_sector,
            reselect,
            track_settle: self.track_settle(written, write_sector),
            absorbed_settle: Span::ZERO,
        };
        let settle = self
            .settle_by_hits(written, &division)
            .unwrap_or(Span::ZERO);
        division.absorbed_settle = (settle - division.track_settle).or_zero();
        division.track_settle += division.absorbed_settle;
        division
    }

    /// Returns the lead of absorbed writes, if it reveals a longer settling time.
    pub(crate) fn settle_of_hits(&self) -> Option<Estimate> {
        let is_shown = self.division().absorbed_settle > Span::ZERO;
        let written = self.written.as_ref().filter(|_| is_shown)?;
        written.hits.lands
    }

    /// Returns the settling time on the current track, if absorbed writes reveal it.
    fn settle_by_hits(&self, written: &WriteMeasurements, division: &Division) -> Option<Span> {
        let WriteMeasurements { writes, hits, .. } = written;
        let (lands, hit) = (hits.lands?, hits.after_read?);
        let completion = division.after_media[1] - division.reselect[0];
        let command = (hit.value - division.write_sector - completion.or_zero()).or_zero();
        let settle = lands.value - division.after_media[0] - command;
        let data = division.write_sector + writes.wait.least_delay;
        let reads = [self.reads.after_read, writes.read_after_write];
        let leads = reads.iter().chain(&writes.leads);
        let shortest = leads.map(|lead| lead.value).min()? - division.after_media[0];
        let is_shown = settle > data + NEGLIGIBLE.max(lands.uncertainty);
        (is_shown && settle <= shortest + NEGLIGIBLE).then_some(settle)
    }

    /// Returns the minimum settling time for which no movement time before a read is negative.
    fn settle_by_reads(&self) -> Span {
        let shortest = self.seeks.points.iter().map(|point| point.mean.value).min();
        let inward = self.seeks.inward.value;
        let seek = inward.max(-inward) - shortest.unwrap_or(Span::ZERO);
        seek.max(-self.reads.head_switch.value)
    }

    /// Returns the minimum settling time for which no movement time is negative.
    fn track_settle(&self, written: &WriteMeasurements, write_sector: Span) -> Span {
        let switch = self.reads.head_switch.value;
        let Writes { leads, seeking, .. } = &written.writes;
        let with_settle = match &written.seeks {
            None => switch + seeking[0].value - leads[0].value,
            Some(_) => written.writes.other_track.value - leads[1].value,
        };
        let mut min = self.settle_by_reads();
        // The media wait for the data of a write, whose transfer starts with the command.
        let data = write_sector + written.writes.wait.least_delay;
        if with_settle + data < -NOISE && switch > NEGLIGIBLE {
            min = min.max(data - with_settle);
        }
        if min > NEGLIGIBLE { min } else { Span::ZERO }
    }

    fn describe_reads(&self, overheads: &mut Overheads, division: &Division) {
        let after_media = division.after_media[0];
        let lead = self.reads.after_read;
        let miss = command_time(lead.value - after_media - division.track_settle, lead);
        overheads.read_completion =
            (after_media - division.read_sector - division.reselect[0]).or_zero();
        overheads.read_miss_after_read = miss;
        if let Some(hit) = self.read_hits.after_read {
            overheads.read_hit_after_read = self.hit(hit.value, overheads, division);
            overheads.read_hit_after_write = overheads.read_hit_after_read;
        }
        overheads.read_miss_after_write = miss;
    }

    /// Returns the overhead of a one-sector read hit with this service time.
    fn hit(&self, service: Span, overheads: &Overheads, division: &Division) -> Span {
        (service - division.read_sector - overheads.read_completion).or_zero()
    }

    fn describe_writes(
        &self,
        overheads: &mut Overheads,
        written: &WriteMeasurements,
        division: &Division,
    ) {
        let WriteMeasurements { writes, hits, .. } = written;
        let after_media = division.after_media;
        overheads.first_reselect = division.reselect[0];
        overheads.other_reselect = division.reselect[1];
        overheads.write_completion = (after_media[1] - division.reselect[0]).or_zero();
        let lead = writes.read_after_write;
        overheads.read_miss_after_write =
            command_time(lead.value - after_media[0] - division.track_settle, lead);
        if let Some(hit) = hits.read_after_write {
            overheads.read_hit_after_write = self.hit(hit.value, overheads, division);
        }
        overheads.write_minimum_delay = writes.wait.least_delay;
        overheads.write_start = WriteStart {
            small: writes.wait.sectors,
            large: writes.wait.sectors,
            large_from: SectorCount(1),
            sequential: None,
        };
        let [after_read, after_write] = self.commands(written, division);
        overheads.write_miss_after_read = command_time(after_read, writes.leads[0]);
        overheads.write_miss_after_write = command_time(after_write, writes.leads[1]);
        overheads.extra_write_disconnect = None;
        let extra = self.data_delay(written);
        if extra != Span::ZERO || division.reselect != [Span::ZERO; 2] {
            let in_sequence = writes.in_sequence.value - writes.leads[1].value;
            overheads.write_miss_after_write =
                command_time(after_write + in_sequence, writes.in_sequence);
            overheads.extra_write_disconnect = Some(ExtraWriteDisconnect {
                command: (after_write - extra.or_zero() - division.reselect[0]).or_zero(),
                duration: if extra > Span::ZERO {
                    extra + self.extra_settle(written, division)
                } else {
                    Span::ZERO
                },
                seek_delay: (-extra).or_zero() + division.reselect[0],
                ..ExtraWriteDisconnect::default()
            });
        }
        let transfer = division.write_sector + overheads.write_completion;
        let hit = |service: Option<Estimate>, miss: Span| {
            service.map_or(miss, |service| (service.value - transfer).or_zero())
        };
        overheads.write_hit_after_read = hit(hits.after_read, overheads.write_miss_after_read);
        overheads.write_hit_after_write = hit(hits.after_write, overheads.write_miss_after_write);
        overheads.write_hit_seek = hits.elsewhere;
        overheads.write_hit_zone = hits.other_zone;
    }

    /// Returns the command overheads of writes after a read and after a write.
    fn commands(&self, written: &WriteMeasurements, division: &Division) -> [Span; 2] {
        let data = division.write_sector + written.writes.wait.least_delay;
        let before_media = data + self.extra_settle(written, division);
        let command = |lead: Estimate| lead.value - division.after_media[0] - before_media;
        written.writes.leads.map(command)
    }

    /// Returns how much longer settling on the current track takes than a write's data transfer.
    fn extra_settle(&self, written: &WriteMeasurements, division: &Division) -> Span {
        let data = division.write_sector + written.writes.wait.least_delay;
        (division.track_settle - data).or_zero()
    }

    /// Returns how much later, relative to the arm, data arrive after a write than after a read.
    fn data_delay(&self, written: &WriteMeasurements) -> Span {
        let Writes { leads, seeking, .. } = &written.writes;
        let waits = [0, 1].map(|k| leads[k].value - seeking[k].value);
        let later = waits[1] - waits[0];
        let all = leads.iter().chain(seeking);
        let uncertainty = all.fold(Span::ZERO, |sum, lead| sum + lead.uncertainty);
        zero_if_within(NEGLIGIBLE.max(uncertainty), later)
    }

    /// Returns the lead of a write after a write if the arm does not move and data cause no delay.
    fn lead_after_write(&self, written: &WriteMeasurements, division: &Division) -> Span {
        let data = self.commands(written, division)[1] + division.after_media[0];
        data - self.data_delay(written)
    }

    /// Returns the settling time of writes. It is measured after a seek or, if seeks before writes
    /// have their own curve or vary, after a head switch that takes longer than the data.
    fn settle(&self, written: &WriteMeasurements, division: &Division) -> Span {
        let writes = &written.writes;
        let longer = writes.other_track.value - writes.leads[1].value;
        let waits_for_data = longer.max(-longer) < NOISE;
        let has_own_curve = written.seeks.is_some();
        let varies = writes.seeking[0].uncertainty > NOISE;
        if has_own_curve || varies && !waits_for_data {
            let arm = self.lead_after_write(written, division);
            let settle = writes.other_track.value - arm - self.head_switch(division);
            // If the data arrive after the head switch, settling may not show.
            let max = if waits_for_data { Span::ZERO } else { settle };
            return zero_if_negligible(settle.min(max));
        }
        let arm = self.commands(written, division)[0] + division.after_media[0];
        zero_if_negligible(writes.seeking[0].value - arm - division.track_settle)
    }

    fn head_switch(&self, division: &Division) -> Span {
        zero_if_negligible(self.reads.head_switch.value + division.track_settle).or_zero()
    }
}

/// Returns how much later writes end than reads. An overhead within the uncertainty is zero.
fn completion_difference(later: Estimate, read_sector: Span) -> Span {
    zero_if_within(later.uncertainty, later.value + read_sector) - read_sector
}

/// Returns `left`, the rest of a lead, or zero if it is within the uncertainty of the lead.
fn command_time(left: Span, lead: Estimate) -> Span {
    zero_if_within(lead.uncertainty, left).or_zero()
}

/// Returns the curve with `more` added to each time, extrapolated to the last cylinder.
fn table(seeks: &Seeks, more: Span, cylinders: u32) -> SeekCurve {
    let points = seeks.points.iter();
    let time = |point: &SeekPoint| (point.distance, (point.mean.value + more).or_zero());
    let mut points: Vec<(u32, Span)> = points.map(time).collect();
    let far = cylinders.saturating_sub(1);
    let &(last, end) = points.last().expect("a curve has points");
    let before = points.iter().rev().find(|(at, _)| 3 * *at <= 2 * last);
    if let (Some(&(from, begin)), true) = (before, last < far) {
        let slope = (end - begin).as_ns() as f64 / f64::from(last - from);
        let beyond = slope * f64::from(far - last);
        points.push((far, (end + Span::from_ns(beyond.round() as i64)).or_zero()));
    }
    SeekCurve::Table(points)
}

fn zero_if_negligible(time: Span) -> Span {
    if time.max(-time) < NEGLIGIBLE {
        Span::ZERO
    } else {
        time
    }
}

/// Returns a time of either sign, or zero if it is no longer than `max`.
fn zero_if_within(max: Span, time: Span) -> Span {
    if time.max(-time) <= max {
        Span::ZERO
    } else {
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With noise of 0.1 ms, the 95 % interval for 224 writes is 0.2 ms / sqrt(224) = 0.0134 ms.
    #[test]
    fn completion_overheads_within_the_uncertainty_are_zero() {
        let later = |us: f64| Estimate {
            value: Span::from_us(us),
            uncertainty: Span::from_us(13.4),
            samples: 224,
        };
        let bus = Span::from_us(213.3);
        let cases = [
            (11.5, Span::ZERO, 0.0),
            (-11.5, Span::ZERO, 0.0),
            (13.5, Span::ZERO, 13.5),
            (-205.3, bus, -213.3),
            (-190.0, bus, -190.0),
            // A fast bus, whose transfer time is within the uncertainty of zero.
            (-3.0, Span::from_us(5.0), -5.0),
            (4.0, Span::from_us(5.0), -5.0),
        ];
        for (was, bus, expected) in cases {
            let found = completion_difference(later(was), bus);
            assert_eq!(found, Span::from_us(expected), "{was} us");
        }
    }
}
