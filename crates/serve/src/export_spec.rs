//! Parses the specification of an export (`--export`) and builds the export.

use diskarm_core::device::Device;
use diskarm_core::sched::PolicyConfig;
use diskarm_core::text::{Args, Call, InputError, quantity};
use diskarm_core::units::{Angle, Bytes, Instant, SectorCount, Span};
use diskarm_drives::text::Edit;
use diskarm_emulate::Single;
use diskarm_simulate::{Error, System, changed_name};

use crate::export::{DeviceFactory, Export, Facts, PowerConfig, Timing};
use crate::iscsi::Disk;
use crate::power::MAX_UNACKNOWLEDGED;
use crate::statistics::{ExportStatistics, Lateness, Statistics};
use crate::store::StoreSpec;
use crate::timeline::Speed;

#[derive(Clone, Debug, PartialEq)]
pub struct ExportSpec {
    /// The name; empty for the default export.
    pub name: String,
    /// The drive, or the device stack.
    pub drive: String,
    pub changes: Vec<Edit>,
    /// Policy of the queue in front of the device.
    pub policy: String,
    /// Size; `None` for the size of the file, or the size of the drive if the file does not exist.
    pub size: Option<String>,
    pub store: StoreSpec,
    pub is_read_only: bool,
    /// Path of the trace in which client requests are recorded.
    pub record: Option<String>,
    /// Limit on the 99th percentile of lateness; `None` for [`Pace::bound`].
    pub bound: Option<Span>,
}

/// Timing settings that all exports share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// `None` if requests take no time.
    pub speed: Option<Speed>,
    /// True if threads never sleep while requests are in progress.
    pub spins: bool,
    /// Default limit on the 99th percentile of lateness.
    pub bound: Span,
}

impl Pace {
    /// The "expected" part of the message about an invalid bound.
    pub const BOUND: &str = "a time above 0, up to an hour, with its unit, such as \"100 us\"";

    pub fn parse_bound(text: &str) -> Option<Span> {
        quantity::span(text).filter(|span| *span > Span::ZERO)
    }
}

pub const DEFAULT_POLICY: &str = "fcfs";

impl ExportSpec {
    /// Parses `NAME(drive=..., policy=..., size=..., store=..., read-only=yes, record=FILE,
    /// max-lateness=TIME)`; only the drive is required. Errors refer to the argument as `field`.
    pub fn parse(text: &str, field: &str) -> Result<Self, InputError> {
        let call = Call::read(text, field)?;
        let mut args = Args::new(&call, ());
        let text = |value: &str| (!value.is_empty()).then(|| value.to_owned());
        let drive = args.need("drive", "a drive or a device stack", text)?;
        let policy = args.maybe("policy", "a policy", text)?;
        let size = args.maybe("size", "a size", text)?;
        let store = args.maybe("store", StoreSpec::EXPECTED, StoreSpec::parse)?;
        let is_read_only = args.maybe_yes("read-only")?;
        let record = args.maybe("record", "a file", text)?;
        let bound = args.maybe("max-lateness", Pace::BOUND, Pace::parse_bound)?;
        // Version 0.1 called this argument `bound`.
        let old_bound = args.maybe("bound", Pace::BOUND, Pace::parse_bound)?;
        args.finish()?;
        Ok(Self {
            name: call.name.to_owned(),
            drive,
            changes: Vec::new(),
            policy: policy.unwrap_or_else(|| DEFAULT_POLICY.to_owned()),
            size,
            store: store.unwrap_or(StoreSpec::Memory),
            is_read_only: is_read_only.unwrap_or(false),
            record,
            bound: bound.or(old_bound),
        })
    }

    /// Returns the drive with its changes, or the device stack.
    pub fn system(&self) -> Result<System, Error> {
        System::parse(&self.drive)?.with_edits(&self.changes, "--set")
    }

    /// Builds the export; `seed` seeds the device's random behaviour.
    /// Fails if the specification is invalid or the file cannot be opened.
    pub fn build(&self, pace: Pace, seed: u64) -> Result<Export, Error> {
        self.build_over(pace, move |system, policy, _| system.queued(policy, seed))
    }

    /// Builds the export of a logical unit, like [`Self::build`]. A whole drive without a queue in
    /// front of it reports its own specification and layout.
    pub fn build_unit(&self, pace: Pace, seed: u64) -> Result<Export<Disk>, Error> {
        let is_fcfs = self.policy == DEFAULT_POLICY;
        self.build_over(pace, move |system, policy, sectors| {
            let is_whole = system.stack.is_none() && sectors == system.sectors;
            if is_whole && is_fcfs {
                let drive = Single::new(&system.drive.spec, Angle::ZERO, seed)?;
                return Ok(Disk::from_drive(drive));
            }
            Ok(Disk::from_device(system.queued(policy, seed)?, sectors))
        })
    }

    fn build_over<D: Device>(
        &self,
        pace: Pace,
        device: impl Fn(&System, &PolicyConfig, SectorCount) -> Result<D, Error> + Send + 'static,
    ) -> Result<Export<D>, Error> {
        if let (Some(bound), None) = (self.bound, pace.speed) {
            let found = format!("{} us", bound.as_ms() * 1e3);
            let expected = "nothing, because no reply can be late with --instant";
            return Err(Error::argument("max-lateness", found, expected));
        }
        let system = self.system()?;
        let policy = diskarm_simulate::policy("policy", &self.policy)?;
        let sector = system.disk().sector;
        if !sector.0.is_power_of_two() || !(512..=1 << 16).contains(&sector.0) {
            let found = format!("{} with sectors of {} bytes", self.drive, sector.0);
            let expected = "a sector size that is a power of two from 512 bytes to 64 KiB";
            return Err(Error::argument("drive", found, expected));
        }
        let sectors = self.sectors(&system)?;
        let facts = Facts {
            name: self.name.clone(),
            description: system.name.clone(),
            sector,
            physical: Bytes(sector.0 * system.drive.spec.geometry.physical_sector.0),
            sectors,
            is_read_only: self.is_read_only,
            is_timed: pace.speed.is_some(),
        };
        let timing = match pace.speed {
            None => None,
            Some(speed) => Some(Timing {
                device: device(&system, &policy, sectors)?,
                speed,
                spins: pace.spins,
            }),
        };
        let buffer = &system.drive.spec.buffer;
        let segments = buffer.segment.0 * u64::from(buffer.segments);
        let capacity = SectorCount(segments + buffer.dirty_max.0);
        let make = move || {
            let device = device(&system, &policy, sectors);
            device.unwrap_or_else(|error| panic!("the device cannot be built again: {error}"))
        };
        let power = match &timing {
            None => Some(PowerConfig {
                capacity,
                max_unacknowledged: MAX_UNACKNOWLEDGED,
                device: None,
            }),
            Some(_) => {
                let reports_persistence = make().persisted(Instant::START).is_some();
                let device: DeviceFactory<D> = Box::new(make);
                reports_persistence.then_some(PowerConfig {
                    capacity,
                    max_unacknowledged: MAX_UNACKNOWLEDGED,
                    device: Some(device),
                })
            }
        };
        let opened = self.store.open(facts.bytes().0, self.is_read_only);
        let store = opened.map_err(|source| self.read_error(source))?;
        Ok(Export {
            facts,
            store,
            timing,
            power,
        })
    }

    /// Returns the specified number of sectors. The default is the size of the file if it exists,
    /// otherwise the size of the drive.
    fn sectors(&self, system: &System) -> Result<SectorCount, Error> {
        let disk = system.disk();
        let (sectors, bytes) = (disk.sectors.0, disk.sector.0);
        let is_valid = |size: &SectorCount| (1..=sectors).contains(&size.0);
        if let Some(text) = &self.size {
            let size = quantity::sectors(text, disk.sector).filter(is_valid);
            return size.ok_or_else(|| {
                let expected = format!(
                    "1 to {sectors} sectors of {bytes} bytes, with a unit, such as \"1 GiB\""
                );
                Error::argument("size", text, expected)
            });
        }
        let existing = self.store.existing_bytes();
        let Some(existing) = existing.map_err(|source| self.read_error(source))? else {
            return Ok(disk.sectors);
        };
        let size = SectorCount(existing / bytes);
        let is_whole = existing.is_multiple_of(bytes);
        Some(size)
            .filter(|size| is_whole && is_valid(size))
            .ok_or_else(|| {
                let found = format!("{} of {existing} bytes", self.store);
                let expected = format!("a file of 1 to {sectors} sectors of {bytes} bytes");
                Error::argument("store", found, expected)
            })
    }

    fn read_error(&self, source: std::io::Error) -> Error {
        Error::ReadFailed {
            path: self.store.path().unwrap_or_default().to_owned(),
            source,
        }
    }

    pub fn statistics(
        &self,
        pace: Pace,
        bytes: Bytes,
        statistics: &Statistics,
    ) -> ExportStatistics {
        ExportStatistics {
            export: self.name.clone(),
            drive: changed_name(&self.drive, &self.changes),
            policy: pace.speed.map(|_| self.policy.clone()),
            bytes: bytes.0,
            store: self.store.to_string(),
            speed: pace.speed.map(Speed::factor),
            connections: statistics.connections,
            counts: statistics.counts,
            lateness: Lateness::new(statistics, self.bound.unwrap_or(pace.bound)),
            recording: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace {
        speed: Some(Speed::REAL),
        spins: false,
        bound: Span::ZERO,
    };

    fn build(text: &str) -> Result<Export, Error> {
        ExportSpec::parse(text, "--export")?.build(PACE, 1)
    }

    #[test]
    fn an_export_is_specified_as_a_call() {
        let stack = "throttle(rate=10/s, drive=hp-c2247)";
        let text = format!("db(drive={stack}, policy=fcfs, size=1 MiB, read-only=yes)");
        let spec = ExportSpec::parse(&text, "--export").expect("a specification");
        assert_eq!((&*spec.name, &*spec.drive), ("db", stack));
        let export = spec.build(PACE, 1).expect("an export");
        assert_eq!(export.facts.bytes(), Bytes(1 << 20));
        assert!(export.facts.is_read_only && export.facts.is_timed);
        // The default size is that of the drive.
        let whole = build("x(drive=hp-c2247)").expect("an export").facts;
        let system = System::parse("hp-c2247").expect("a drive");
        assert_eq!(whole.sectors, system.sectors);
    }

    #[test]
    fn changes_apply_to_the_specification_of_the_drive() {
        let physical = |change: &str| {
            let mut spec = ExportSpec::parse("x(drive=wd-blue-wd10jpvx)", "--export").unwrap();
            spec.changes = vec![Edit::parse(change, "--set").unwrap()];
            spec.build(PACE, 1).map(|export| export.facts)
        };
        // The default is 4096.
        let larger = physical("geometry.physical_sector=1 KiB").unwrap();
        assert_eq!(larger.physical, Bytes(1024));
        let name = "wd-blue-wd10jpvx with geometry.physical_sector = \"1 KiB\"";
        assert_eq!(larger.description, name);
        let mut spec = ExportSpec::parse("x(drive=hp-c2247)", "--export").unwrap();
        spec.changes = vec![Edit::parse("queue.depth=1", "--set").unwrap()];
        let statistics = spec.statistics(PACE, Bytes(512), &Statistics::default());
        assert_eq!(statistics.drive, "hp-c2247 with queue.depth = 1");
        let error = physical("geometry.physical_sector=3 KiB").unwrap_err();
        let message = error.to_string();
        assert!(message.contains("geometry.physical_sector"), "{message}");
    }

    #[test]
    fn an_export_can_override_the_lateness_limit() {
        let mut statistics = Statistics::default();
        statistics.record_lateness(Span::from_us(300.0));
        let late = |text| {
            let spec = ExportSpec::parse(text, "--export").expect("a specification");
            let pace = Pace {
                bound: Span::from_us(200.0),
                ..PACE
            };
            let statistics = spec.statistics(pace, Bytes(512), &statistics);
            let late = statistics.lateness.expect("a reply was late");
            (late.bound_us, late.keeps_time)
        };
        assert_eq!(late("x(drive=hp-c2247)"), (200.0, false));
        assert_eq!(late("x(drive=hp-c2247, max-lateness=1 ms)"), (1000.0, true));
        let spec = ExportSpec::parse("x(drive=hp-c2247, bound=1ms)", "--export");
        let pace = Pace {
            speed: None,
            ..PACE
        };
        let refused = spec.expect("a specification").build(pace, 1).err();
        let expected = "max-lateness: found \"1000 us\", expected nothing, because ";
        let error = refused.expect("an error").to_string();
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn errors_name_the_invalid_argument() {
        let cases = r#"
        x => x.drive: found nothing, expected a drive or a device stack
        x(drive=none) => drive: found "none", expected a drive in
        x(drive=hp-c2247, size=2 TiB) => size: found "2 TiB", expected 1 to 2054864 sectors
        x(drive=hp-c2247, size=100 GiB) => size: found "100 GiB", expected 1 to 2054864 sectors
        x(drive=hp-c2247, store=disk) => x.store: found "disk", expected memory, file:PATH or
        x(drive=hp-c2247, policy=none) => policy: found "none", expected one of fcfs
        x(drive=hp-c2247, store=snapshot:/no/file) => /no/file: cannot read: No such file
        x(drive=hp-c2247, max-lateness=0 us) => x.max-lateness: found "0 us", expected a time above
        x(drive=hp-c2247, color=red) => x: found "color", expected a known parameter
        "#;
        for case in cases.trim().lines() {
            let (text, expected) = case.trim().split_once(" => ").expect("a case");
            let found = build(text).err().expect(text).to_string();
            assert!(found.starts_with(expected), "{found}");
        }
    }
}
