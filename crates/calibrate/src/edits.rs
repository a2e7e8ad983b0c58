//! What to change in a specification's text so that it says what was fitted.

use diskarm_core::spec::{
    self, Delivered, Invalidation, Mechanics, ReadAhead, SeekCurve, Spec, WatermarkOf, WriteCache,
    WriteLeaves, WriteStart,
};
use diskarm_core::units::Span;
use diskarm_rewrite::{Edit, Value};

use crate::parameter::PARAMETERS;
use crate::switch::all_flags;

/// The changes that turn the text of `given` into one of `fitted`.
pub fn edits(given: &Spec, fitted: &Spec) -> Vec<Edit> {
    let mut edits = Edits(Vec::new());
    for parameter in PARAMETERS {
        if let Some(is) = parameter.get(fitted) {
            let value = Value::Time(Span::from_ms(is));
            edits.set(parameter.key, parameter.get(given) != Some(is), value);
        }
    }
    for (key, flag) in all_flags() {
        let (was, is) = (*flag(&mut given.clone()), *flag(&mut fitted.clone()));
        edits.set(key, was != is, Value::Flag(is));
    }
    edits.mechanics(&given.mechanics, &fitted.mechanics);
    edits.buffer(&given.buffer, &fitted.buffer);
    let leaves = match fitted.bus.write_leaves {
        WriteLeaves::AfterData => "after-data",
        WriteLeaves::IfSeeking => "if-seeking",
    };
    let left = given.bus.write_leaves != fitted.bus.write_leaves;
    edits.set("bus.write_leaves", left, Value::Word(leaves));
    edits.write_start(&given.overheads.write_start, &fitted.overheads.write_start);
    edits.0
}

struct Edits(Vec<Edit>);

impl Edits {
    fn set(&mut self, key: &'static str, differs: bool, value: Value) {
        if differs {
            self.0.push(Edit {
                key: key.into(),
                value,
            });
        }
    }

    fn mechanics(&mut self, was: &Mechanics, is: &Mechanics) {
        let period = Value::Period(is.period_ns);
        self.set("mechanics.rotation", was.period_ns != is.period_ns, period);
        if let SeekCurve::Table(points) = &is.seek {
            let table = Value::SeekTable(points.clone());
            self.set("mechanics.seek", was.seek != is.seek, table);
        }
        if let Some(SeekCurve::Table(points)) = &is.write_seek {
            let table = Value::SeekTable(points.clone());
            self.set(
                "mechanics.write_seek",
                was.write_seek != is.write_seek,
                table,
            );
        }
    }

    fn buffer(&mut self, was: &spec::Buffer, is: &spec::Buffer) {
        let word = Value::Word;
        let ahead = word(read_ahead(is.read_ahead));
        self.set("buffer.read_ahead", was.read_ahead != is.read_ahead, ahead);
        let kept = word(delivered(is.delivered));
        self.set("buffer.delivered", was.delivered != is.delivered, kept);
        let rule = word(invalidation(is.write_invalidates));
        let other = was.write_invalidates != is.write_invalidates;
        self.set("buffer.write_invalidates", other, rule);
        let cache = word(write_cache(is.write_cache));
        self.set(
            "buffer.write_cache",
            was.write_cache != is.write_cache,
            cache,
        );
        let mark = Value::Fraction(is.read_watermark);
        let other = was.read_watermark != is.read_watermark;
        self.set("buffer.read_watermark", other, mark);
        let of = word(match is.watermark_of {
            WatermarkOf::Request => "request",
            WatermarkOf::Segment => "segment",
        });
        self.set(
            "buffer.watermark_of",
            was.watermark_of != is.watermark_of,
            of,
        );
        let count = Value::Count(is.segments.into());
        self.set("buffer.segments", was.segments != is.segments, count);
        let size = Value::Sectors(is.segment);
        self.set("buffer.segment", was.segment != is.segment, size);
        // Left out, it is the segment's size.
        let most = Value::Sectors(is.read_ahead_max);
        let other = was.read_ahead_max != is.read_ahead_max;
        self.set("buffer.read_ahead_max", other, most);
    }

    /// All three sizes must be given, or none.
    fn write_start(&mut self, was: &WriteStart, is: &WriteStart) {
        for (key, sectors) in [
            ("overheads.write_start.small", is.small),
            ("overheads.write_start.large", is.large),
            ("overheads.write_start.large_from", is.large_from),
        ] {
            self.set(key, was != is, Value::Sectors(sectors));
        }
    }
}

fn read_ahead(scheme: ReadAhead) -> &'static str {
    match scheme {
        ReadAhead::None => "none",
        ReadAhead::TrackEnd => "track-end",
        ReadAhead::CylinderEnd => "cylinder-end",
        ReadAhead::UntilFull => "until-full",
        ReadAhead::OneTrack => "one-track",
    }
}

fn delivered(rule: Delivered) -> &'static str {
    match rule {
        Delivered::Kept => "kept",
        Delivered::Dropped => "dropped",
    }
}

fn invalidation(rule: Invalidation) -> &'static str {
    match rule {
        Invalidation::Overlap => "overlap",
        Invalidation::Segment => "segment",
        Invalidation::All => "all",
    }
}

fn write_cache(cache: WriteCache) -> &'static str {
    match cache {
        WriteCache::Off => "off",
        WriteCache::Streams => "streams",
        WriteCache::Always => "always",
    }
}

#[cfg(test)]
pub mod tests;
