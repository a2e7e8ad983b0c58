//! The data sheet of a drive: every key of its specification but zones and seek curve, in
//! sections. JSON and people get them from one list.

use std::fmt::{Debug, Write};

use diskarm_core::spec::{self, ExtraWriteDisconnect, Spec};
use diskarm_core::units::Span;
use serde_json::{Map, Value, json};

/// Keys of a section and their values. A key ends in its unit.
type Section = Vec<(&'static str, Value)>;

/// The sections of `spec` and their names.
pub fn of(spec: &Spec) -> [(&'static str, Section); 6] {
    [
        ("geometry", geometry(spec)),
        ("mechanics", mechanics(spec)),
        ("buffer", buffer(&spec.buffer)),
        ("overheads", overheads(&spec.overheads)),
        ("bus", bus(&spec.bus)),
        ("queue", queue(&spec.queue)),
    ]
}

/// A section as an object.
pub fn object(section: Section) -> Map<String, Value> {
    let pairs = section.into_iter();
    pairs.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// A section for people: a line for all that is not off or zero.
pub fn lines(section: &Section) -> String {
    let mut text = String::new();
    for (key, value) in section {
        let value = match value {
            Value::Null | Value::Bool(false) => continue,
            Value::Number(number) if number.as_f64() == Some(0.0) => continue,
            Value::Bool(true) => "yes".to_owned(),
            Value::String(word) => word.clone(),
            // A millionth of any unit here is less than was measured.
            Value::Number(number) if number.is_f64() => {
                let number = number.as_f64().unwrap_or_default();
                ((number * 1e6).round() / 1e6).to_string()
            }
            other => other.to_string(),
        };
        let (name, unit) = match key.rsplit_once('_') {
            Some((name, unit @ ("ms" | "rpm" | "sectors" | "bytes"))) => (name, unit),
            _ => (*key, ""),
        };
        let name = name.replace('_', " ");
        let (value, unit) = match (value.as_str(), unit) {
            ("1", "sectors") => (value, "sector"),
            _ if key.ends_with("_watermark") => (percent(&value), "%"),
            _ => (value, unit),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}",
            format!("  {name:<36} {value} {unit}").trim_end()
        );
    }
    if text.is_empty() {
        text.push_str("  all off or zero\n");
    }
    text
}

/// A share of 0 to 1 in hundredths.
fn percent(share: &str) -> String {
    let hundredths = share.parse().unwrap_or(f64::NAN) * 100.0;
    ((hundredths * 1e4).round() / 1e4).to_string()
}

/// The word of a choice, as specifications write it: its variant's name in small letters.
fn word(choice: impl Debug) -> Value {
    let mut word = String::new();
    for letter in format!("{choice:?}").chars() {
        if letter.is_uppercase() && !word.is_empty() {
            word.push('-');
        }
        word.extend(letter.to_lowercase());
    }
    word.into()
}

fn ms(span: Span) -> Value {
    span.as_ms().into()
}

fn geometry(spec: &Spec) -> Section {
    let g = &spec.geometry;
    vec![
        ("capacity_sectors", g.sectors.0.into()),
        ("sector_bytes", g.sector_bytes.into()),
        ("surfaces", g.surfaces.into()),
        ("cylinders", g.cylinders.into()),
        ("order", word(g.order)),
        ("sparing", word(g.sparing)),
        ("slips_turn_tracks", g.slips_turn_tracks.into()),
        ("grown_defects", g.grown_defects.count.into()),
    ]
}

fn mechanics(spec: &Spec) -> Section {
    let m = &spec.mechanics;
    vec![
        ("rotation_rpm", (60e9 / m.period_ns).into()),
        ("revolution_ms", (m.period_ns / 1e6).into()),
        ("head_switch_ms", ms(m.head_switch)),
        ("inward_seek_ms", ms(m.inward_seek)),
        ("write_settle_ms", ms(m.write_settle)),
        ("write_seek_curve_of_its_own", m.write_seek.is_some().into()),
    ]
}

fn buffer(b: &spec::Buffer) -> Section {
    vec![
        ("segments", b.segments.into()),
        ("segment_sectors", b.segment.0.into()),
        ("caching", b.caching.into()),
        ("dedicated_write_segment", b.dedicated_write_segment.into()),
        ("read_ahead", word(b.read_ahead)),
        ("read_ahead_min_sectors", b.read_ahead_min.0.into()),
        ("read_ahead_max_sectors", b.read_ahead_max.0.into()),
        ("delivered", word(b.delivered)),
        ("read_ahead_on_hit", b.read_ahead_on_hit.into()),
        (
            "read_ahead_stops_mid_sector",
            b.read_ahead_stops_mid_sector.into(),
        ),
        ("write_stops_read_ahead", b.write_stops_read_ahead.into()),
        ("read_before_requested", b.read_before_requested.into()),
        ("arriving_hits", b.arriving_hits.into()),
        ("partial_hits_at_once", b.partial_hits_at_once.into()),
        ("hits_on_written", b.hits_on_written.into()),
        ("write_invalidates", word(b.write_invalidates)),
        ("read_on_arrival", b.read_on_arrival.into()),
        ("write_on_arrival", b.write_on_arrival.into()),
        ("write_cache", word(b.write_cache)),
        ("combine_writes", b.combine_writes.into()),
        ("read_watermark", b.read_watermark.into()),
        ("write_watermark", b.write_watermark.into()),
        ("watermark_of", word(b.watermark_of)),
    ]
}

fn overheads(o: &spec::Overheads) -> Section {
    let extra = |of: fn(&ExtraWriteDisconnect) -> Span| {
        let span = o.extra_write_disconnect.as_ref().map(of);
        span.map_or(Value::Null, ms)
    };
    vec![
        ("read_hit_after_read_ms", ms(o.read_hit_after_read)),
        ("read_hit_after_write_ms", ms(o.read_hit_after_write)),
        ("read_miss_after_read_ms", ms(o.read_miss_after_read)),
        ("read_miss_after_write_ms", ms(o.read_miss_after_write)),
        ("write_hit_after_read_ms", ms(o.write_hit_after_read)),
        ("write_hit_after_write_ms", ms(o.write_hit_after_write)),
        ("write_miss_after_read_ms", ms(o.write_miss_after_read)),
        ("write_miss_after_write_ms", ms(o.write_miss_after_write)),
        ("read_completion_ms", ms(o.read_completion)),
        ("write_completion_ms", ms(o.write_completion)),
        ("data_preparation_ms", ms(o.data_preparation)),
        ("first_reselect_ms", ms(o.first_reselect)),
        ("other_reselect_ms", ms(o.other_reselect)),
        (
            "read_disconnect_after_read_ms",
            ms(o.read_disconnect_after_read),
        ),
        (
            "read_disconnect_after_write_ms",
            ms(o.read_disconnect_after_write),
        ),
        ("write_disconnect_ms", ms(o.write_disconnect)),
        ("extra_write_disconnect_command_ms", extra(|x| x.command)),
        ("extra_write_disconnect_ms", extra(|x| x.disconnect)),
        ("extra_write_disconnect_duration_ms", extra(|x| x.duration)),
        (
            "extra_write_disconnect_second_ms",
            extra(|x| x.second_disconnect),
        ),
        (
            "extra_write_disconnect_seek_delay_ms",
            extra(|x| x.seek_delay),
        ),
        ("write_minimum_delay_ms", ms(o.write_minimum_delay)),
        ("write_start_small_sectors", o.write_start.small.0.into()),
        ("write_start_large_sectors", o.write_start.large.0.into()),
        (
            "write_start_large_from_sectors",
            o.write_start.large_from.0.into(),
        ),
    ]
}

fn bus(b: &spec::Bus) -> Section {
    vec![
        ("read_sector_ms", ms(b.read_sector)),
        ("write_sector_ms", ms(b.write_sector)),
        ("hold_read", b.hold_read.into()),
        ("read_restart_ms", ms(b.read_restart)),
        ("hold_write", b.hold_write.into()),
        ("never_disconnect", b.never_disconnect.into()),
        ("write_leaves", word(b.write_leaves)),
    ]
}

fn queue(q: &spec::Queue) -> Section {
    vec![
        ("depth", json!(q.depth)),
        ("policy", json!(q.policy.to_string())),
        ("preseek", word(q.preseek)),
    ]
}
