//! Reads a specification from TOML, every key according to its entry in the table.

mod tree;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use tree::{Node, Text};

use super::geometry::{MAX_CYLINDERS, MAX_SECTORS, MAX_SPARES};
use super::{Key, KeyKind, SeekCurve, Spec, TwoPiece, Value, Zone};
use crate::text::InputError;
use crate::units::{Bytes, SectorCount, Span};

/// Reads and validates a specification. `file` is its name in errors.
///
/// # Errors
/// See [`Document::read`].
pub fn parse(text: &str, file: &str) -> Result<Spec, InputError> {
    Document::read(text, file).map(|document| document.spec)
}

/// Reads the keys of a table into `spec`; reports misspelt ones before missing ones.
fn keys(table: &Node<'_>, keys: &'static [Key], spec: &mut Spec) -> Result<(), InputError> {
    let names: Vec<&str> = keys.iter().map(Key::name).collect();
    table.only(&names)?;
    for key in keys {
        let value = table.get(key.name());
        match (value.is_absent(), key.same_as) {
            (true, Some(other)) => {
                let other = Key::find(other).and_then(|key| key.get(spec));
                key.set(spec, other.expect("the key has a value"));
            }
            (true, None) if !key.required => {}
            _ => match key.kind {
                KeyKind::Table(inner) => self::keys(value.table()?, inner, spec)?,
                _ => key.set(spec, read(&value, key.kind, spec)?),
            },
        }
    }
    Ok(())
}

/// Reads a value of this kind; `spec` contains the values read so far.
fn read(value: &Node<'_>, kind: KeyKind, spec: &Spec) -> Result<Value, InputError> {
    let sector = Bytes(u64::from(spec.geometry.sector_bytes));
    Ok(match kind {
        KeyKind::Text => Value::Text(tree::text(value)?),
        KeyKind::Flag => Value::Flag(tree::flag(value)?),
        KeyKind::Word(words) => Value::Word(tree::word(value, words)?),
        KeyKind::Count { min, max, .. } => Value::Count(tree::count(value, min..=max)?),
        KeyKind::Size { min } => Value::Count(tree::size(value, sector, min)?.0),
        KeyKind::Distance => Value::Count(tree::distance(value)?.into()),
        KeyKind::Time { signed } => Value::Time(tree::time_in(value, signed)?),
        KeyKind::Fraction => Value::Number(tree::fraction(value)?),
        KeyKind::Rotation => Value::Number(tree::period_ns(value)?),
        KeyKind::Policy => Value::Policy(tree::policy(value)?),
        KeyKind::SeekCurve => Value::SeekCurve(curve(value.table()?)?),
        KeyKind::Zones => Value::Zones(zones(value, spec.geometry.cylinders)?),
        KeyKind::Table(_) => unreachable!("tables are read key by key"),
    })
}

/// A specification with the line of each key, so that errors found by a later stage (such as the
/// layout, if zones do not add up to the capacity) are reported like errors of the parser.
pub struct Document<'a> {
    /// The specification as it was parsed.
    pub spec: Spec,
    text: Text<'a>,
    tree: DeValue<'a>,
}

impl<'a> Document<'a> {
    /// Reads and validates a specification. `file` is its name in errors.
    ///
    /// # Errors
    /// If `text` is not TOML, or a value is missing, unknown, out of range or contradictory.
    pub fn read(text: &'a str, file: &'a str) -> Result<Self, InputError> {
        let text = Text { file, text };
        let tree = match DeTable::parse(text.text) {
            Ok(tree) => DeValue::Table(tree.into_inner()),
            Err(error) => return Err(not_toml(text, &error)),
        };
        let root = Node::root(text, &tree);
        let mut spec = Spec::default();
        keys(&root, Spec::KEYS, &mut spec)?;
        if let Some((path, expected)) = spec.contradiction() {
            return Err(root.get_path(&path)?.error(expected));
        }
        Ok(Self { spec, text, tree })
    }

    /// Returns the error with the line of its field (`geometry.zones[3].spares`), or of its table.
    pub fn locate(&self, error: InputError) -> InputError {
        let (mut node, mut offset) = (&self.tree, 0);
        for step in error.field.split(['.', '[']) {
            let Some(next) = step_into(node, step) else {
                break;
            };
            (node, offset) = (next.get_ref(), next.span().start);
        }
        self.text.error_at(offset, error)
    }
}

/// Returns the value one step down a path: a key of a table, or an index and the bracket after it.
fn step_into<'t, 'a>(node: &'t DeValue<'a>, step: &str) -> Option<&'t Spanned<DeValue<'a>>> {
    match step.strip_suffix(']') {
        Some(index) => node.get(index.parse::<usize>().ok()?),
        None => node.get(step),
    }
}

fn not_toml(text: Text<'_>, error: &toml::de::Error) -> InputError {
    let offset = error.span().map_or(0, |span| span.start);
    let expected = format!("TOML ({})", error.message().replace('\n', " "));
    let error = InputError::shown("syntax", text.line_at(offset), expected);
    text.error_at(offset, error)
}

fn curve(table: &Node<'_>) -> Result<SeekCurve, InputError> {
    if table.maybe("form", |_| Ok(()))?.is_none() {
        // Reports misspelt keys first, as elsewhere: a user who guesses keys omits the form too.
        table.only(&[
            "form",
            "cylinders_ms",
            "single",
            "average",
            "full",
            "knee",
            "short",
            "short_sqrt",
            "long",
            "long_slope",
            "first_ms",
        ])?;
    }
    let form = tree::word(&table.get("form"), &["two-piece", "table", "three-point"])?;
    match form {
        "two-piece" => two_piece(table),
        "table" => {
            table.only(&["form", "cylinders_ms"])?;
            points(&table.get("cylinders_ms")).map(SeekCurve::Table)
        }
        _ => three_point(table),
    }
}

fn two_piece(table: &Node<'_>) -> Result<SeekCurve, InputError> {
    table.only(&[
        "form",
        "knee",
        "short",
        "short_sqrt",
        "long",
        "long_slope",
        "single",
        "first_ms",
    ])?;
    // Coefficients stay in milliseconds and unrounded: a slope is a few nanoseconds per cylinder.
    let rate = |key, unit| tree::rate_ms(&table.get(key), unit);
    let piece = TwoPiece {
        knee: tree::distance(&table.get("knee"))?,
        short_ms: rate("short", "ms")?,
        short_sqrt_ms: rate("short_sqrt", "ms/sqrt(cylinder)")?,
        long_ms: rate("long", "ms")?,
        long_slope_ms: rate("long_slope", "ms/cylinder")?,
        single: table.maybe("single", tree::time)?,
    };
    let first = table.maybe("first_ms", |value| {
        let expected = "a list of times in ms, for 1, 2, 3, ... cylinders";
        match tree::list(value, expected, tree::bare_ms)? {
            times if times.is_empty() => Err(value.error(expected)),
            times => Ok(times),
        }
    })?;
    Ok(match first {
        Some(times) => SeekCurve::TwoPieceAndTable(piece, times),
        None => SeekCurve::TwoPiece(piece),
    })
}

/// Distances must increase; measured times may decrease where the arm's control changes mode.
fn points(value: &Node<'_>) -> Result<Vec<(u32, Span)>, InputError> {
    let expected = "pairs [distance in cylinders, time in ms] with ascending distances";
    let mut before = 0;
    let points = tree::list(value, expected, |point| {
        let distance = |v: &Node<'_>| match tree::count_u32(v, 1..=MAX_CYLINDERS)? {
            distance if distance > before => Ok(distance),
            _ => Err(v.error(format!("a distance above the previous one, {before}"))),
        };
        let expected = "a pair: [distance in cylinders, time in ms]";
        let point = tree::pair(point, expected, distance, tree::bare_ms)?;
        before = point.0;
        Ok(point)
    })?;
    if points.is_empty() {
        return Err(value.error(expected));
    }
    Ok(points)
}

fn three_point(table: &Node<'_>) -> Result<SeekCurve, InputError> {
    table.only(&["form", "single", "average", "full"])?;
    let mut min = Span::ZERO;
    let mut ascending = |key| {
        let value = table.get(key);
        let time = tree::time(&value)?;
        if time < min {
            return Err(value.error(format!("at least {min}, the time of the shorter seek")));
        }
        min = time;
        Ok(time)
    };
    Ok(SeekCurve::ThreePoint {
        single: ascending("single")?,
        average: ascending("average")?,
        full: ascending("full")?,
    })
}

const MAX_SECTORS_PER_TRACK: u32 = 1_000_000;
/// The highest number that a sector or track of a slip or defect can have.
const LAST_PLACE: u64 = 1_000_000_000_000;

fn zones(value: &Node<'_>, cylinders: u32) -> Result<Vec<Zone>, InputError> {
    let expected = "at least one [[geometry.zones]]";
    let mut first_free = 0;
    let zones = tree::list(value, expected, |element| {
        let zone = zone(element.table()?, first_free, cylinders)?;
        first_free = zone.end_cylinder;
        Ok(zone)
    })?;
    if zones.is_empty() {
        return Err(value.error(expected));
    }
    Ok(zones)
}

fn zone(table: &Node<'_>, first_free: u32, cylinders: u32) -> Result<Zone, InputError> {
    table.only(&[
        "cylinders",
        "sectors_per_track",
        "first_offset_sectors",
        "reserved_sectors",
        "track_skew_sectors",
        "cylinder_skew_sectors",
        "spares",
        "slips",
        "defects",
    ])?;
    let range = table.get("cylinders");
    let cylinder = |v: &Node<'_>| tree::count_u32(v, 0..=MAX_CYLINDERS);
    let (first_cylinder, end_cylinder) =
        tree::pair(&range, "a pair: [first cylinder, end)", cylinder, cylinder)?;
    if first_cylinder < first_free || end_cylinder <= first_cylinder || end_cylinder > cylinders {
        return Err(range.error(format!(
            "a non-empty range from {first_free} (the end of the previous zone) to \
             {cylinders} (geometry.cylinders)"
        )));
    }
    let place = |v: &Node<'_>| tree::count(v, 0..=LAST_PLACE);
    let per_track = table.get("sectors_per_track");
    let sectors_per_track = tree::count_u32(&per_track, 1..=MAX_SECTORS_PER_TRACK)?;
    Ok(Zone {
        first_cylinder,
        end_cylinder,
        sectors_per_track,
        first_offset_sectors: table.or("first_offset_sectors", 0.0, |v| {
            match tree::number(v)? {
                offset if offset < f64::from(sectors_per_track) => Ok(offset),
                _ => Err(v.error(format!("less than sectors_per_track = {sectors_per_track}"))),
            }
        })?,
        reserved_sectors: SectorCount(
            table.or("reserved_sectors", 0, |v| tree::count(v, 0..=MAX_SECTORS))?,
        ),
        track_skew_sectors: table.or("track_skew_sectors", 0.0, tree::number)?,
        cylinder_skew_sectors: table.or("cylinder_skew_sectors", 0.0, tree::number)?,
        spares: table.or("spares", 0, |v| tree::count(v, 0..=MAX_SPARES))?,
        slips: table.or("slips", Vec::new(), slips)?,
        defects: table.or("defects", Vec::new(), |v| {
            let (list, pair) = (
                "a list of pairs: [defective place, spare place]",
                "a pair: [defective place, spare place]",
            );
            tree::list(v, list, |v| tree::pair(v, pair, place, place))
        })?,
    })
}

/// Reads places in ascending order: a place can slip only once.
fn slips(value: &Node<'_>) -> Result<Vec<u64>, InputError> {
    let mut before = None;
    tree::list(value, "a list of slipped places", |place| {
        let slip = tree::count(place, 0..=LAST_PLACE)?;
        match before.replace(slip) {
            Some(before) if slip <= before => {
                Err(place.error(format!("a place above the previous one, {before}")))
            }
            _ => Ok(slip),
        }
    })
}
