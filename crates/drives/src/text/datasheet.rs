//! Derives a specification from the values of a data sheet, with assumptions for omitted values.

use std::fmt::Write;

use diskarm_core::spec::{self, MAX_CYLINDERS, Spec};
use diskarm_core::text::{InputError, quantity};
use diskarm_core::units::{Bytes, Span};

/// The values that a data sheet gives for a drive. [`Datasheet::specification`] assumes common
/// values for omitted ones and marks these as assumed.
#[derive(Clone, Debug, PartialEq)]
pub struct Datasheet {
    /// The name of the drive: lower-case letters, digits, `.` and `-`.
    pub name: String,
    /// The capacity stated by the maker.
    pub capacity: Bytes,
    /// The rotation speed in revolutions per minute.
    pub rpm: u32,
    /// The mean time of a seek before a read, over all pairs of cylinders.
    pub seek: Span,
    /// The mean time of a seek before a write.
    pub write_seek: Option<Span>,
    /// The time of a seek over one cylinder.
    pub track_to_track: Option<Span>,
    /// The time of a seek from the first cylinder to the last.
    pub full_stroke: Option<Span>,
    /// The sustained transfer rate of the outermost tracks, in bytes per second.
    pub outer_per_s: f64,
    /// The sustained transfer rate of the innermost tracks, in bytes per second.
    pub inner_per_s: Option<f64>,
    /// The size of the buffer.
    pub cache: Option<Bytes>,
    /// The number of platters, with two surfaces each.
    pub platters: Option<u32>,
    /// The number of commands that can be queued; 1 without a queue.
    pub queue: Option<u32>,
    /// The rate of the interface, in bytes per second.
    pub interface_per_s: Option<f64>,
    /// The sector format.
    pub sectors: Option<Sectors>,
}

/// A sector format: the sizes of sectors on the media and on the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sectors {
    /// 512n: 512 bytes on both.
    Native512,
    /// 512e: 512 bytes on the interface, 4096 on the media.
    Emulated512,
    /// 4Kn: 4096 bytes on both.
    Native4096,
}

impl Sectors {
    /// The sector formats by their names on data sheets.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("512n", Self::Native512),
        ("512e", Self::Emulated512),
        ("4Kn", Self::Native4096),
    ];

    /// Returns the format with this name, in upper or lower case.
    pub fn from_name(word: &str) -> Option<Self> {
        let mut all = Self::WORDS.into_iter();
        Some(all.find(|(known, _)| known.eq_ignore_ascii_case(word))?.1)
    }

    /// Returns the default format. Few drives of more than 4 TB have 512-byte sectors on the media.
    fn default_for(capacity: Bytes) -> Self {
        match capacity.0 {
            ..=4_000_999_999_999 => Self::Native512,
            _ => Self::Emulated512,
        }
    }

    fn bytes(self) -> u64 {
        match self {
            Self::Native512 | Self::Emulated512 => 512,
            Self::Native4096 => 4096,
        }
    }

    fn physical_bytes(self) -> u64 {
        match self {
            Self::Native512 => 512,
            Self::Emulated512 | Self::Native4096 => 4096,
        }
    }

    fn per_physical(self) -> u64 {
        self.physical_bytes() / self.bytes()
    }
}

/// The number of zones. All have about the same number of cylinders.
const ZONES: u32 = 16;

/// The maximum number of tracks per surface if the number of platters is assumed.
const MAX_TRACKS: u64 = 450_000;

/// The maximum and the minimum number of buffer segments.
const SEGMENTS: (u64, u64) = (32, 4);

/// The bytes per segment, unless the number of segments would be outside [`SEGMENTS`].
const SEGMENT: u64 = 2_000_000;

const MAX_PLATTERS: u32 = 16;

const MAX_QUEUE: u32 = 4096;

/// A value that is from the data sheet or assumed.
#[derive(Clone, Copy)]
struct Figure<T> {
    value: T,
    is_given: bool,
}

impl<T> Figure<T> {
    fn new(given: Option<T>, assumed: T) -> Self {
        Self {
            is_given: given.is_some(),
            value: given.unwrap_or(assumed),
        }
    }
}

/// All values, including the assumed ones.
struct Figures {
    sectors: Figure<Sectors>,
    /// The capacity, in sectors on the media.
    capacity: u64,
    revolution_ms: f64,
    seeks: Seeks,
    write_settle_ms: Figure<f64>,
    inner_per_s: Figure<f64>,
    cache: Figure<Bytes>,
    surfaces: Figure<u32>,
    queue: Figure<u32>,
    interface_per_s: Figure<f64>,
}

struct Seeks {
    single_ms: Figure<f64>,
    /// The time of a seek over a third of the cylinders.
    third_ms: f64,
    full_ms: Figure<f64>,
    /// The mean time of seeks over all pairs of cylinders.
    mean_ms: f64,
}

/// A zone of the cylinders `[first, end)`. The other fields are in sectors on the media.
struct Zone {
    first: u32,
    end: u32,
    sectors: u32,
    track_skew: u32,
    cylinder_skew: u32,
}

impl Datasheet {
    /// Returns the text of a specification, with remarks on assumed values, and the parsed form.
    ///
    /// All zones except the innermost have the same number of tracks, and together they hold
    /// exactly the capacity. The number of sectors per track changes in equal steps, so that
    /// sequential reads, including switches, reach the rates of the data sheet at both ends.
    ///
    /// # Errors
    /// If a value contradicts another one (reported for its field), or if the result is invalid.
    pub fn specification(&self) -> Result<(String, Spec), InputError> {
        let figures = self.figures()?;
        let zones = self.zones(&figures)?;
        let text = self.text(&figures, &zones);
        let spec = spec::parse(&text, &self.name)?;
        Ok((text, spec))
    }

    fn figures(&self) -> Result<Figures, InputError> {
        let error = |field: &str, found: String, expected: &str| {
            Err(InputError::new(field, &found, expected))
        };
        if !(300..=60_000).contains(&self.rpm) {
            return error("rpm", self.rpm.to_string(), "300 to 60000");
        }
        let seeks = self.seeks()?;
        let settle = self.write_seek.map(|write| ms(write) - seeks.mean_ms);
        let write_settle_ms = Figure::new(settle, (seeks.mean_ms / 8.0).min(1.0));
        if write_settle_ms.value < 0.0 {
            let found = format!("{} ms", write_settle_ms.value + seeks.mean_ms);
            return error("write_seek", found, "at least the value of seek");
        }
        let inner_per_s = Figure::new(self.inner_per_s, self.outer_per_s / 2.0);
        if inner_per_s.value > self.outer_per_s {
            let found = format!("{} MB/s", inner_per_s.value / 1e6);
            return error("inner", found, "at most the value of outer");
        }
        if let Some(platters) = self.platters.filter(|n| !(1..=MAX_PLATTERS).contains(n)) {
            let expected = format!("1 to {MAX_PLATTERS}");
            return error("platters", platters.to_string(), &expected);
        }
        if let Some(queue) = self.queue.filter(|n| !(1..=MAX_QUEUE).contains(n)) {
            return error("queue", queue.to_string(), &format!("1 to {MAX_QUEUE}"));
        }
        let sectors = Figure::new(self.sectors, Sectors::default_for(self.capacity));
        let cache = Figure::new(self.cache, Bytes(64 << 20));
        let min = SEGMENTS.0 * sectors.value.physical_bytes();
        if cache.value.0 < min {
            let expected = format!("at least {min} bytes");
            return error("cache", size_text(cache.value), &expected);
        }
        let figures = Figures {
            sectors,
            capacity: capacity(self.capacity) / sectors.value.physical_bytes(),
            revolution_ms: 60_000.0 / f64::from(self.rpm),
            seeks,
            write_settle_ms,
            inner_per_s,
            cache,
            surfaces: Figure::new(self.platters.map(|platters| 2 * platters), 2),
            queue: Figure::new(self.queue, 32),
            interface_per_s: Figure::new(self.interface_per_s, 600e6),
        };
        self.with_platters(figures)
    }

    /// Returns a seek curve with the mean time of the data sheet.
    ///
    /// It is linear from one cylinder to a third of all, and from there to the full stroke. For
    /// large `N`, `2 (N - d) / N^2` of the pairs of `N` cylinders are `d` apart, so the mean over
    /// all pairs is `(8 single + 15 third + 4 full) / 27`.
    fn seeks(&self) -> Result<Seeks, InputError> {
        let error = |field: &str, found: f64, expected: &str| {
            Err(InputError::new(field, &format!("{found} ms"), expected))
        };
        let mean_ms = ms(self.seek);
        if mean_ms <= 0.0 || mean_ms > 100.0 {
            return error("seek", self.seek.as_ms(), "0.001 to 100 ms");
        }
        let assumed_ms = mean_ms.min(1.0).min(mean_ms / 2.0);
        let single_ms = Figure::new(self.track_to_track.map(ms), assumed_ms);
        let single = single_ms.value;
        if single <= 0.0 || single > mean_ms {
            let found = self.track_to_track.map_or(single, Span::as_ms);
            let expected = "a time from 0.001 ms to the value of seek";
            return error("track_to_track", found, expected);
        }
        // At these bounds, a seek over a third of the cylinders takes as long as one over 1 or all.
        let shortest = (27.0 * mean_ms - 8.0 * single) / 19.0;
        let longest = (27.0 * mean_ms - 23.0 * single) / 4.0;
        let full_ms = Figure::new(self.full_stroke.map(ms), (2.0 * mean_ms).min(longest));
        if full_ms.value < rounded(shortest) || full_ms.value > longest {
            let (shortest, longest) = (rounded(shortest), rounded(longest));
            let expected =
                format!("{shortest} to {longest} ms, so that the mean seek can be as given");
            return error("full_stroke", full_ms.value, &expected);
        }
        let third = (27.0 * mean_ms - 8.0 * single - 4.0 * full_ms.value) / 15.0;
        Ok(Seeks {
            single_ms,
            third_ms: third.clamp(single, full_ms.value),
            full_ms,
            mean_ms,
        })
    }

    /// Chooses the smallest number of platters for the capacity, unless the data sheet gives it.
    fn with_platters(&self, mut figures: Figures) -> Result<Figures, InputError> {
        if figures.surfaces.is_given {
            return Ok(figures);
        }
        let mean = (self.outer_per_s + figures.inner_per_s.value) / 2.0;
        let tracks = figures.capacity as f64 / Self::sectors_on_track(&figures, mean);
        let platters = (tracks / (2.0 * MAX_TRACKS as f64)).ceil().max(1.0);
        if platters > f64::from(MAX_PLATTERS) {
            return Err(self.too_large("a smaller capacity, or a higher outer rate"));
        }
        figures.surfaces.value = 2 * platters as u32;
        Ok(figures)
    }

    fn too_large(&self, expected: &str) -> InputError {
        InputError::new("capacity", &size_text(self.capacity), expected)
    }

    /// Returns the number of sectors on a track with this sequential rate, allowing for skews.
    fn sectors_on_track(figures: &Figures, per_s: f64) -> f64 {
        let surfaces = f64::from(figures.surfaces.value);
        let skews = (surfaces - 1.0) * track_ms(figures) + cylinder_ms(figures);
        let each_ms = figures.revolution_ms + skews / surfaces;
        per_s * each_ms / 1e3 / figures.sectors.value.physical_bytes() as f64
    }

    fn zones(&self, figures: &Figures) -> Result<Vec<Zone>, InputError> {
        let surfaces = u64::from(figures.surfaces.value);
        let outer = Self::sectors_on_track(figures, self.outer_per_s);
        let inner = Self::sectors_on_track(figures, figures.inner_per_s.value);
        if !(2.0..=60_000.0).contains(&inner) || outer > 60_000.0 {
            let found = format!("{inner:.0} to {outer:.0} sectors per track");
            let expected = "rates that result in 2 to 60000 sectors per track at this speed";
            return Err(InputError::new("outer", &found, expected));
        }
        let of_zone = |zone: u32| {
            let share = f64::from(zone) / f64::from(ZONES - 1);
            (outer + (inner - outer) * share).round() as u64
        };
        let all: u64 = (0..ZONES).map(|zone| of_zone(zone) * surfaces).sum();
        let each = figures.capacity.div_ceil(all);
        let angle = |ms: f64, sectors: u64| (ms / figures.revolution_ms * sectors as f64).ceil();
        let (mut zones, mut left) = (Vec::new(), figures.capacity);
        for zone in 0..ZONES {
            let sectors = of_zone(zone);
            let cylinders = each.min(left.div_ceil(sectors * surfaces));
            if cylinders == 0 {
                break;
            }
            left = left.saturating_sub(cylinders * sectors * surfaces);
            let first = zones.last().map_or(0, |zone: &Zone| zone.end);
            let end = u64::from(first) + cylinders;
            if end > u64::from(MAX_CYLINDERS) {
                let expected = "a smaller capacity, more platters, or a higher outer rate";
                return Err(self.too_large(expected));
            }
            zones.push(Zone {
                first,
                end: end as u32,
                sectors: sectors as u32,
                track_skew: angle(track_ms(figures), sectors) as u32 % sectors as u32,
                cylinder_skew: angle(cylinder_ms(figures), sectors) as u32 % sectors as u32,
            });
        }
        Ok(zones)
    }

    fn text(&self, figures: &Figures, zones: &[Zone]) -> String {
        let mut text = self.source(figures);
        let sectors = &figures.sectors;
        // From here on, numbers are in sectors of the interface, not of the media.
        let shown = |physical: u64| physical * sectors.value.per_physical();
        let on_surface = |zone: &Zone| u64::from(zone.end - zone.first) * u64::from(zone.sectors);
        let total = zones.iter().map(on_surface).sum::<u64>() * u64::from(figures.surfaces.value);
        let physical = match sectors.value {
            Sectors::Emulated512 => format!("physical_sector = \"4 KiB\"{}\n", assumed(sectors)),
            Sectors::Native512 | Sectors::Native4096 => String::new(),
        };
        let _ = writeln!(
            text,
            "\n[geometry]\nsurfaces = {}{}\ncylinders = {}\nsectors = {}\nsector_bytes = {}{}\n{}\
             order = \"cylinder-major\"\nsparing = \"none\"\n\n\
             # Zones from the outside in: cylinders [first, end); skews in sectors of the zone.",
            figures.surfaces.value,
            assumed(&figures.surfaces),
            zones.last().map_or(0, |zone| zone.end),
            shown(figures.capacity),
            sectors.value.bytes(),
            assumed(sectors),
            physical,
        );
        for (index, zone) in zones.iter().enumerate() {
            let _ = writeln!(
                text,
                "[[geometry.zones]]\ncylinders = [{}, {}]\nsectors_per_track = {}",
                zone.first,
                zone.end,
                shown(u64::from(zone.sectors))
            );
            if index == 0 && total > figures.capacity {
                let reserved = shown(total - figures.capacity);
                let _ = writeln!(text, "reserved_sectors = {reserved} # beyond the capacity");
            }
            let _ = writeln!(
                text,
                "track_skew_sectors = {}\ncylinder_skew_sectors = {}\n",
                shown(u64::from(zone.track_skew)),
                shown(u64::from(zone.cylinder_skew))
            );
        }
        text + &self.other_sections(figures)
    }

    fn source(&self, figures: &Figures) -> String {
        let ms = |span: Span| format!("{} ms", rounded(span.as_ms()));
        let mb = |per_s: f64| format!("{} MB/s", rounded(per_s / 1e6));
        let word = |sectors: Sectors| {
            let known = Sectors::WORDS.iter().find(|(_, known)| *known == sectors);
            known.map_or("", |(word, _)| word).to_owned()
        };
        let (capacity, speed) = (size_text(self.capacity), format!("{} rpm", self.rpm));
        let figure = |name: &str, value: Option<String>| Some(format!("{name}: {}", value?));
        let given = [
            figure("capacity", Some(capacity.clone())),
            figure("rotation", Some(speed.clone())),
            figure("mean seek before a read", Some(ms(self.seek))),
            figure("mean seek before a write", self.write_seek.map(ms)),
            figure("seek over one cylinder", self.track_to_track.map(ms)),
            figure("full stroke", self.full_stroke.map(ms)),
            figure("outermost tracks", Some(mb(self.outer_per_s))),
            figure("innermost tracks", self.inner_per_s.map(mb)),
            figure("buffer", self.cache.map(size_text)),
            figure("platters", self.platters.map(|n| n.to_string())),
            figure("queued commands", self.queue.map(|n| n.to_string())),
            figure("interface", self.interface_per_s.map(mb)),
            figure("sectors", self.sectors.map(word)),
        ];
        let given: Vec<String> = given.into_iter().flatten().collect();
        let inner = if figures.inner_per_s.is_given {
            "the rates of the data sheet"
        } else {
            "the rate of the data sheet on the outermost tracks, and half of it on the innermost"
        };
        let text = |text: String| toml_edit::Value::from(text).to_string();
        format!(
            "name = {}\nsummary = {}\n\n[source]\norigin = \"\"\"\nFigures from a data sheet:\n\
             {}.\"\"\"\nchoices = \"\"\"\nAssumed: the values that are marked as assumed; {ZONES} \
             zones of equal width; no spare space.\nSectors have {} bytes on the media. Sequential \
             reads have\n{inner}.\"\"\"\nnominal = true\n",
            text(self.name.clone()),
            text(format!("Drive from a data sheet: {capacity}, {speed}")),
            given.join(";\n"),
            figures.sectors.value.physical_bytes(),
        )
    }

    /// Formats everything except the source and the geometry.
    fn other_sections(&self, figures: &Figures) -> String {
        let ms = |f: &Figure<f64>| format!("\"{} ms\"{}", rounded(f.value), assumed(f));
        let single = Figure {
            is_given: false,
            ..figures.seeks.single_ms
        };
        let sectors = figures.sectors.value;
        let unit = sectors.physical_bytes();
        let cache = figures.cache.value.0;
        let segments = (cache / SEGMENT).clamp(SEGMENTS.1, SEGMENTS.0);
        let segment = cache / segments / unit * unit;
        let sector_ns = sectors.bytes() as f64 / figures.interface_per_s.value * 1e9;
        let seeks = &figures.seeks;
        let mut text = format!(
            "[mechanics]\nrotation = \"{} rpm\"\nhead_switch = {}\nwrite_settle = {}\n\n\
             # `average` is the time of a seek over a third of the cylinders; the mean over\n\
             # all pairs of cylinders is {} ms.\n\
             [mechanics.seek]\nform = \"three-point\"\nsingle = {}\naverage = \"{} ms\"\n\
             full = {}\n\n",
            self.rpm,
            ms(&single),
            ms(&figures.write_settle_ms),
            rounded(seeks.mean_ms),
            ms(&seeks.single_ms),
            rounded(seeks.third_ms),
            ms(&seeks.full_ms),
        );
        let _ = write!(
            text,
            "[buffer]\nsegments = {segments} # assumed, like all rules of the buffer\n\
             segment = \"{segment} B\"{}\ncaching = true\nread_ahead = \"until-full\"\n\
             read_ahead_on_hit = true\nwrite_stops_read_ahead = true\narriving_hits = true\n\
             partial_hits_at_once = true\nhits_on_written = true\nread_on_arrival = true\n\
             write_on_arrival = true\nwrite_cache = \"always\"\ncombine_writes = true\n\n",
            assumed(&figures.cache),
        );
        text += "[overheads] # assumed\n";
        for key in OVERHEADS {
            let _ = writeln!(text, "{key} = \"50 us\"");
        }
        let _ = write!(
            text,
            "\n[bus]\nread_sector = \"{sector_ns:.0} ns\"{}\n\
             write_sector = \"{sector_ns:.0} ns\"{}\n\n[queue]\ndepth = {}{}\n\
             policy = \"sptf\" # assumed\npreseek = \"media-done\" # assumed\n",
            assumed(&figures.interface_per_s),
            assumed(&figures.interface_per_s),
            figures.queue.value,
            assumed(&figures.queue),
        );
        text
    }
}

const OVERHEADS: [&str; 8] = [
    "read_hit_after_read",
    "read_hit_after_write",
    "read_miss_after_read",
    "read_miss_after_write",
    "write_hit_after_read",
    "write_hit_after_write",
    "write_miss_after_read",
    "write_miss_after_write",
];

/// Returns the time allowed by the skew between tracks of a cylinder: a head switch and the extra
/// settle time of writes, so that sequential writes do not lose revolutions either.
fn track_ms(figures: &Figures) -> f64 {
    figures.seeks.single_ms.value + figures.write_settle_ms.value
}

/// Like [`track_ms`], but for the skew between cylinders: allows a tenth more for the seek.
fn cylinder_ms(figures: &Figures) -> f64 {
    0.1 * figures.seeks.single_ms.value + track_ms(figures)
}

/// Returns the exact size of a drive with a nominal capacity: according to the makers' agreement
/// (IDEMA LBA1-03) for whole gigabytes from 50 to 8,000, otherwise unchanged.
fn capacity(nominal: Bytes) -> u64 {
    let gb = nominal.0 / 1_000_000_000;
    if nominal.0.is_multiple_of(1_000_000_000) && (50..=8_000).contains(&gb) {
        512 * (97_696_368 + 1_953_504 * (gb - 50))
    } else {
        nominal.0
    }
}

fn assumed<T>(figure: &Figure<T>) -> &'static str {
    if figure.is_given { "" } else { " # assumed" }
}

/// Converts a time to milliseconds, rounded as in the text so that a check finds times of 0.
fn ms(span: Span) -> f64 {
    rounded(span.as_ms())
}

fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Formats a size in the largest decimal unit that needs at most three decimals, or in bytes.
fn size_text(bytes: Bytes) -> String {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6)];
    let exact = bytes.0 as f64;
    let in_unit = |(name, unit): (&str, f64)| {
        let number = rounded(exact / unit);
        (exact >= unit && number * unit == exact).then(|| format!("{number} {name}"))
    };
    let found = units.into_iter().find_map(in_unit);
    found.unwrap_or_else(|| format!("{exact} bytes"))
}

/// Parses a size in `B`, `kB`, `MB`, `GB` or `TB`, or in `KiB`, `MiB`, `GiB` or `TiB`.
///
/// # Errors
/// If `text` is not a size. The error is a noun phrase that describes valid sizes.
pub fn parse_size(text: &str) -> Result<Bytes, &'static str> {
    match parse_bytes(text).map(f64::round) {
        Some(bytes) if (1.0..1e18).contains(&bytes) => Ok(Bytes(bytes as u64)),
        _ => Err("a size from 1 B to a million TB, such as \"8TB\" or \"64MiB\""),
    }
}

/// Parses a rate, such as `250MB/s`, and returns it in bytes per second.
///
/// # Errors
/// If `text` is not a rate. The error is a noun phrase that describes valid rates.
pub fn parse_rate_per_s(text: &str) -> Result<f64, &'static str> {
    let bytes = text.trim_end().strip_suffix("/s").and_then(parse_bytes);
    let rate = bytes.filter(|rate| (1e3..1e12).contains(rate));
    rate.ok_or(if text.trim_end().ends_with("b/s") {
        "a rate in bytes per second, such as \"250MB/s\" (a 6Gb/s link carries 600MB/s)"
    } else {
        "a rate from 1 kB/s to a million MB/s, such as \"250MB/s\""
    })
}

fn parse_bytes(text: &str) -> Option<f64> {
    let (prefix, base) = match text.trim().strip_suffix("iB") {
        Some(rest) => (rest, 1024.0),
        None => (text.trim().strip_suffix('B')?, 1000.0),
    };
    let power = match prefix.chars().last() {
        Some('k' | 'K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        // Bytes: "8 B", but not "8 iB".
        _ if base == 1000.0 => 0,
        _ => return None,
    };
    let number = prefix[..prefix.len() - usize::from(power > 0)].trim();
    // A decimal number has no exponent.
    let is_plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let decimal = || number.parse().ok().filter(|_| is_plain);
    let parsed = quantity::count(number).map(|n| n as f64).or_else(decimal);
    parsed.map(|number| number * f64::powi(base, power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, size) in [
            ("16000900661248 B", 16_000_900_661_248_u64),
            ("512B", 512),
            ("8TB", 8_000_000_000_000),
            ("1.5 KiB", 1536),
            ("64 kB", 64_000),
        ] {
            assert_eq!(parse_size(text), Ok(Bytes(size)), "{text}");
        }
        for text in ["8", "8 iB", "B", "8 PB", "8 T", "-1 B", "1e30 B", "0 B"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_in_bytes() {
        assert_eq!(parse_rate_per_s("250 MB/s"), Ok(250e6));
        assert!(parse_rate_per_s("6Gb/s").is_err_and(|expected| expected.contains("in bytes")));
        assert!(parse_rate_per_s("6 GHz").is_err_and(|expected| !expected.contains("in bytes")));
    }
}
