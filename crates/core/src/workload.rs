//! Synthetic workloads: the arrival times, locations, sizes and directions of requests.
//!
//! A [`Workload`] consists of one or more streams, each with its arrivals, placement and sizes. It
//! is written as an expression, `poisson(rate=60/s) uniform size=8KiB reads=67%`, with `+` between
//! streams, or as a TOML file with the same generators:
//!
//! ```toml
//! [[stream]]
//! arrivals = "closed(clients=10, think=30ms)"
//! places = "sequential(share=30%) local(share=30%, deviation=10000 sectors) uniform"
//! size = "exponential(mean=8KiB)"
//! reads = "67 %"
//! ```
//!
//! The workload, the disk and the seed determine every bit of the generated requests. Three
//! tables ([`Arrivals::infos`], [`Places::INFOS`], [`Sizes::INFOS`]) list the generators.

#[cfg(feature = "toml")]
mod document;
mod requests;

pub mod arrivals;
pub mod places;
pub mod sizes;

pub use crate::random::{Share, replication_seeds};
pub use arrivals::{Arrivals, PauseStream, Pauses, Times};
pub use places::{PlaceMix, Places};
pub use requests::Requests;
pub use sizes::Sizes;

use crate::request::Request;
use crate::text::{self, InputError, quantity, words};
use crate::units::{Bytes, SectorCount, Span};

/// Documentation of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratorInfo {
    /// Its name in workloads.
    pub name: &'static str,
    /// A one-line description for lists.
    pub summary: &'static str,
    /// The parameters as written, such as `rate=60/s`, each with its meaning.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The publication that defines it, or what it is used for.
    pub origin: &'static str,
}

/// Generates, for a family of generators, their enumeration, a table of their documentation, a
/// parser that finds one by name, and functions that call those of the selected member. Call
/// arguments are in braces because a macro cannot repeat them for each member. `samplers` adds the
/// enumeration of the members' samplers, so that a request needs no indirect calls.
macro_rules! family {
    (
        $(#[$about:meta])*
        $family:ident: $member_trait:ident $members:tt
        $(fn $function:ident($($arg:ident: $type:ty),*) $(-> $value:ty)? { $call:tt })+
        $(samplers $samplers:ident($bounds:ty) $next:tt)?
    ) => {
        family! { @members $members $(#[$about])* $family $member_trait }
        impl $family {
            $(family! { @call $members $function($($arg: $type),*) $(-> $value)? { $call } })+
        }
        $(family! { @samplers $members $family $member_trait $samplers($bounds) $next })?
    };
    (@members [$($member:ident),+] $(#[$about:meta])* $family:ident $member_trait:ident) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $family {
            $(
                #[doc = concat!("See [`", stringify!($member), "`].")]
                $member($member),
            )+
        }

        impl $family {
            /// The documentation of each member.
            pub const INFOS: &'static [$crate::workload::GeneratorInfo] =
                &[$(<$member as $member_trait>::INFO),+];

            /// Parses the member that `call` names; `None` if there is none.
            pub(in crate::workload) fn read(
                call: &$crate::text::Call<'_>,
                args: &mut $crate::workload::Args<'_>,
            ) -> Option<Result<Self, $crate::text::InputError>> {
                $(
                    if call.name == <$member as $member_trait>::INFO.name {
                        return Some(<$member as $member_trait>::read(args).map(Self::$member));
                    }
                )+
                None
            }
        }
    };
    (
        @call [$($member:ident),+]
        $function:ident($($arg:ident: $type:ty),*) $(-> $value:ty)? { $call:tt }
    ) => {
        pub(in crate::workload) fn $function(&self, $($arg: $type),*) $(-> $value)? {
            match self {
                $(Self::$member(member) => member.$function $call),+
            }
        }
    };
    (
        @samplers [$($member:ident),+] $family:ident $member_trait:ident
        $samplers:ident($bounds:ty) { fn next($($arg:ident: $type:ty),+) -> u64 { $call:tt } }
    ) => {
        #[derive(Clone, Debug)]
        pub(in crate::workload) enum $samplers {
            $($member(<$member as $member_trait>::Sampler)),+
        }

        impl $family {
            pub(in crate::workload) fn sampler(&self, bounds: $bounds) -> $samplers {
                match self {
                    $(Self::$member(member) => $samplers::$member(member.sampler(bounds))),+
                }
            }
        }

        impl $samplers {
            #[inline]
            pub(in crate::workload) fn next(&mut self, $($arg: $type),+) -> u64 {
                match self {
                    $(Self::$member(sampler) => sampler.next $call),+
                }
            }
        }
    };
}

use family;

fn names(infos: &[GeneratorInfo]) -> Vec<&'static str> {
    infos.iter().map(|info| info.name).collect()
}

type Args<'t> = text::Args<'t, Disk>;

/// The properties of a disk that a workload depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Capacity of the disk.
    pub sectors: SectorCount,
    /// Size of a sector.
    pub sector: Bytes,
}

impl Disk {
    /// Returns the size of the largest request that fits on the disk and in a command.
    pub fn max_sectors(self) -> SectorCount {
        self.sectors.min(Request::MAX_SECTORS)
    }

    /// Parses a size from one sector to `max`.
    fn size(self, text: &str, max: SectorCount) -> Option<SectorCount> {
        let size = quantity::sectors(text, self.sector);
        size.filter(|size| (1..=max.0).contains(&size.0))
    }

    fn size_expected(self, max: SectorCount) -> String {
        let (max, bytes) = (max.0, self.sector.0);
        format!("1 to {max} sectors of {bytes} bytes, with a unit, such as \"8 KiB\"")
    }
}

impl Args<'_> {
    fn size(&mut self, key: &'static str, max: SectorCount) -> Result<SectorCount, InputError> {
        let expected = self.context.size_expected(max);
        let disk = self.context;
        self.need(key, &expected, |text| disk.size(text, max))
    }

    fn maybe_size(
        &mut self,
        key: &'static str,
        max: SectorCount,
    ) -> Result<Option<SectorCount>, InputError> {
        let expected = self.context.size_expected(max);
        let disk = self.context;
        self.maybe(key, &expected, |text| disk.size(text, max))
    }
}

/// A stream of requests of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Rule for the arrival times.
    pub arrivals: Arrivals,
    /// Rules for the locations, with their shares.
    pub places: PlaceMix,
    /// Rule for the sizes of requests.
    pub sizes: Sizes,
    /// Share of reads, from 0 to 1.
    pub read_share: f64,
}

impl Stream {
    /// Creates the random workload of worthington94 section 5: requests of 8 KB in sectors of 512
    /// bytes, with two reads per write, uniform over the disk at multiples of 8 KB. Arrivals are
    /// 31.2 ms apart on average, which keeps drives of that era busy but far from saturated.
    pub fn worthington94() -> Self {
        Self {
            arrivals: Arrivals::Open(Pauses::poisson(Span::from_ms(31.2))),
            places: PlaceMix::single(Places::Uniform(places::Uniform)),
            sizes: Sizes::fixed(SectorCount(16)),
            read_share: 2.0 / 3.0,
        }
    }

    /// Returns the requests of this stream on `disk`, generated from `seed` as if it were stream 0.
    ///
    /// # Panics
    /// If a request does not fit on the disk, or a share is not between 0 and 1.
    pub fn requests(&self, disk: Disk, seed: u64) -> Requests {
        self.requests_of(disk, seed, 0, 1)
    }

    /// Returns the requests of stream `number` of `count`. Request `k` has id `number + k * count`.
    fn requests_of(&self, disk: Disk, seed: u64, number: usize, count: usize) -> Requests {
        assert!(
            (0.0..=1.0).contains(&self.read_share),
            "the share of reads is out of range: {self:?}"
        );
        if let Some(error) = self.error(disk) {
            panic!("{error}: {self:?} on {disk:?}");
        }
        Requests::new(self, disk, seed, number, count)
    }

    /// Returns an error for the first value that is inconsistent or does not fit on the disk.
    fn error(&self, disk: Disk) -> Option<InputError> {
        let bounds = self.sizes.bounds();
        if bounds.unit.0 == 0 || bounds.max.0 == 0 || bounds.max > disk.max_sectors() {
            let found = format!("{} sectors", bounds.max.0);
            let expected = disk.size_expected(disk.max_sectors());
            return Some(InputError::new("size", &found, expected));
        }
        self.places.error(places::PlacementSpace::new(disk, bounds))
    }
}

/// One or more concurrent streams.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The streams, which run at the same time.
    pub streams: Vec<Stream>,
}

/// Maximum number of streams in a workload. It is limited because each event scans all of them.
const MAX_STREAMS: usize = 1_000;

fn check_streams(count: usize) -> Result<(), InputError> {
    if count <= MAX_STREAMS {
        return Ok(());
    }
    let expected = format!("at most {MAX_STREAMS}");
    Err(InputError::shown("streams", count, expected))
}

impl Workload {
    /// Parses a workload expression, for `disk`. Omitted parts are as in [`Stream::worthington94`],
    /// except for arrivals, which must begin each stream.
    ///
    /// # Errors
    /// The first part that is invalid or does not fit on the disk.
    ///
    /// ```
    /// use diskarm_core::units::{Bytes, SectorCount};
    /// use diskarm_core::workload::{Disk, Workload};
    /// let disk = Disk { sectors: SectorCount(2_054_864), sector: Bytes(512) };
    /// let workload = Workload::parse("poisson(rate=60/s) uniform size=8KiB reads=67%", disk);
    /// let reads = workload.unwrap().streams[0].requests(disk, 1).filter(|r| r.op.is_read());
    /// assert_eq!(reads.take(3).count(), 3);
    ///
    /// let error = Workload::parse("poison(rate=60/s)", disk).unwrap_err();
    /// let expected = "arrivals: found \"poison\", expected arrivals, perhaps \"poisson\"";
    /// assert_eq!(error.to_string(), expected);
    /// ```
    pub fn parse(text: &str, disk: Disk) -> Result<Self, InputError> {
        let words = words(text);
        let parts = words.split(|word| *word == "+");
        check_streams(parts.clone().count())?;
        let streams = parts.map(|words| stream_of_expression(words, disk));
        Ok(Self {
            streams: streams.collect::<Result<_, InputError>>()?,
        })
    }

    /// Parses the text of a TOML file as a workload for `disk`. Errors refer to the file as `file`.
    ///
    /// # Errors
    /// Those of [`Self::parse`], with the file and line, and an error if the text is not TOML.
    #[cfg(feature = "toml")]
    pub fn parse_toml(text: &str, file: &str, disk: Disk) -> Result<Self, InputError> {
        document::read(text, file, disk)
    }

    /// Returns the requests of each stream, generated from `seed`.
    ///
    /// # Panics
    /// Like [`Stream::requests`].
    pub fn requests(&self, disk: Disk, seed: u64) -> impl Iterator<Item = (&Stream, Requests)> {
        let count = self.streams.len();
        let streams = self.streams.iter().enumerate();
        streams.map(move |(number, stream)| (stream, stream.requests_of(disk, seed, number, count)))
    }
}

/// Parses arrivals, then placement, with `size=` and `reads=` anywhere after the arrivals.
fn stream_of_expression(words: &[&str], disk: Disk) -> Result<Stream, InputError> {
    let Some((first, rest)) = words.split_first() else {
        let expected = "arrivals, such as poisson(rate=60/s)";
        return Err(InputError::missing("arrivals", expected));
    };
    if belongs_after_arrivals(first) {
        let expected = "arrivals first, such as poisson(rate=60/s)";
        return Err(InputError::new("arrivals", first, expected));
    }
    let mut stream = Stream::worthington94();
    stream.arrivals = Arrivals::read(first, disk, "arrivals")?;
    let (mut size, mut reads) = (None, None);
    let mut places = Vec::new();
    for word in rest {
        match word.split_once('=') {
            Some((key, value)) if !key.contains('(') => {
                let slot = match key {
                    "size" => &mut size,
                    "reads" => &mut reads,
                    _ => {
                        let known = ["size", "reads"];
                        return Err(InputError::unknown("key", key, "a known key", &known));
                    }
                };
                if slot.replace(value).is_some() {
                    return Err(InputError::new(key, value, "a single value"));
                }
            }
            _ => places.push(*word),
        }
    }
    if !places.is_empty() {
        stream.places = PlaceMix::read(&places, disk, "places")?;
    }
    if let Some(text) = size {
        stream.sizes = Sizes::of_text(text, disk, "size")?;
    }
    if let Some(text) = reads {
        stream.read_share = parse_read_share(text, "reads")?;
    }
    stream.error(disk).map_or(Ok(stream), Err)
}

/// Returns true if a word belongs after the arrivals: a size, a share of reads, or a placement.
/// Arrivals that have the name of a placement are recognized by their parameters.
fn belongs_after_arrivals(word: &str) -> bool {
    let (name, rest) = word.split_at(word.find(['(', '=']).unwrap_or(word.len()));
    let is_setting = rest.starts_with('=');
    let is_placement = names(Places::INFOS).contains(&name);
    let is_arrivals = Arrivals::infos().any(|info| info.name == name);
    is_setting || is_placement && !(is_arrivals && rest.starts_with('('))
}

fn parse_read_share(text: &str, field: &str) -> Result<f64, InputError> {
    text::share(text).ok_or_else(|| text::invalid_share(field, text))
}
