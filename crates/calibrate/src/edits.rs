//! What to change in a specification's text so that it says what was fitted.

use diskarm_core::spec::{
    Delivered, Invalidation, ReadAhead, SeekCurve, Spec, WatermarkOf, WriteCache, WriteLeaves,
};
use diskarm_core::units::Span;

use crate::parameter::PARAMETERS;
use crate::rewrite::{Edit, Value};
use crate::switch::all_flags;

/// The changes that turn the text of `given` into one of `fitted`.
pub fn edits(given: &Spec, fitted: &Spec) -> Vec<Edit> {
    let mut edits = Vec::new();
    for parameter in PARAMETERS {
        if let Some(is) = parameter.get(fitted)
            && parameter.get(given) != Some(is)
        {
            let value = Value::Time(Span::from_ms(is));
            edits.push(Edit {
                key: parameter.key,
                value,
            });
        }
    }
    for (key, flag) in all_flags() {
        let (was, is) = (*flag(&mut given.clone()), *flag(&mut fitted.clone()));
        if was != is {
            edits.push(Edit {
                key,
                value: Value::Flag(is),
            });
        }
    }
    let mut changed = |key, differs: bool, value: Value| {
        if differs {
            edits.push(Edit { key, value });
        }
    };
    let (was, is) = (&given.mechanics, &fitted.mechanics);
    changed(
        "mechanics.rotation",
        was.period_ns != is.period_ns,
        Value::Period(is.period_ns),
    );
    if let SeekCurve::Table(points) = &is.seek {
        changed(
            "mechanics.seek",
            was.seek != is.seek,
            Value::SeekTable(points.clone()),
        );
    }
    if let Some(SeekCurve::Table(points)) = &is.write_seek {
        let table = Value::SeekTable(points.clone());
        changed(
            "mechanics.write_seek",
            was.write_seek != is.write_seek,
            table,
        );
    }
    let (was, is) = (&given.buffer, &fitted.buffer);
    let word = |word| Value::Word(word);
    changed(
        "buffer.read_ahead",
        was.read_ahead != is.read_ahead,
        word(read_ahead(is.read_ahead)),
    );
    changed(
        "buffer.delivered",
        was.delivered != is.delivered,
        word(delivered(is.delivered)),
    );
    let rule = word(invalidation(is.write_invalidates));
    changed(
        "buffer.write_invalidates",
        was.write_invalidates != is.write_invalidates,
        rule,
    );
    let cache = word(write_cache(is.write_cache));
    changed(
        "buffer.write_cache",
        was.write_cache != is.write_cache,
        cache,
    );
    let mark = Value::Fraction(is.read_watermark);
    changed(
        "buffer.read_watermark",
        was.read_watermark != is.read_watermark,
        mark,
    );
    let of = word(match is.watermark_of {
        WatermarkOf::Request => "request",
        WatermarkOf::Segment => "segment",
    });
    changed(
        "buffer.watermark_of",
        was.watermark_of != is.watermark_of,
        of,
    );
    changed(
        "buffer.segments",
        was.segments != is.segments,
        Value::Count(is.segments.into()),
    );
    changed(
        "buffer.segment",
        was.segment != is.segment,
        Value::Sectors(is.segment),
    );
    let most = Value::Sectors(is.read_ahead_max);
    changed(
        "buffer.read_ahead_max",
        was.read_ahead_max != is.read_ahead_max,
        most,
    );
    let leaves = word(match fitted.bus.write_leaves {
        WriteLeaves::AfterData => "after-data",
        WriteLeaves::IfSeeking => "if-seeking",
    });
    changed(
        "bus.write_leaves",
        given.bus.write_leaves != fitted.bus.write_leaves,
        leaves,
    );
    let (was, is) = (given.overheads.write_start, fitted.overheads.write_start);
    if was != is {
        for (key, sectors) in [
            ("overheads.write_start.small", is.small),
            ("overheads.write_start.large", is.large),
            ("overheads.write_start.large_from", is.large_from),
        ] {
            edits.push(Edit {
                key,
                value: Value::Sectors(sectors),
            });
        }
    }
    edits
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
