//! The tables of keys on the page about specifications. The text around them is hand-written.

use diskarm_core::spec::{Key, KeyKind, Spec, Value};

use crate::markdown::{code, table};

const PAGE: &str = include_str!("../../../../docs/specification.md");

const COLUMNS: [&str; 6] = ["key", "unit", "range", "default", "meaning", "source"];

pub fn page() -> String {
    let mut page = PAGE.to_owned();
    fill(&mut page, "The file", Spec::KEYS);
    page
}

/// Fills in the table below a heading, and its subtables.
fn fill(page: &mut String, heading: &str, keys: &'static [Key]) {
    let section = format!("\n## {heading}\n");
    let start = page
        .find(&section)
        .unwrap_or_else(|| panic!("no section {heading}"));
    let begin = start + page[start..].find("\n| ").expect("a table") + 1;
    let end = page[begin..]
        .find("\n\n")
        .map_or(page.len(), |length| begin + length + 1);
    page.replace_range(begin..end, &table(&COLUMNS, keys.iter().map(row)));
    for key in keys {
        if let KeyKind::Table(inner) = key.kind {
            fill(page, &format!("`[{}]`", key.path), inner);
        }
    }
}

fn row(key: &Key) -> Vec<String> {
    let (unit, range) = unit_and_range(key.kind);
    let meaning = key.documentation.split("\n\n").next().unwrap_or_default();
    let meaning: Vec<&str> = meaning.split_whitespace().collect();
    let meaning = meaning.join(" ");
    assert!(
        !meaning.contains("[`"),
        "a link that is not Markdown: {meaning}"
    );
    vec![
        code(key.name()),
        unit.to_owned(),
        range,
        default(key),
        meaning.trim_end_matches('.').to_owned(),
        key.origin.to_owned(),
    ]
}

fn unit_and_range(kind: KeyKind) -> (&'static str, String) {
    let (unit, range) = match kind {
        KeyKind::Text => ("", "text"),
        KeyKind::Flag => ("", "flag"),
        KeyKind::Word(words) => {
            let words: Vec<String> = words.iter().copied().map(code).collect();
            return ("word", words.join(", "));
        }
        KeyKind::Count { unit, min, max } => return (unit, format!("{min} to {}", number(max))),
        KeyKind::Size { min: 0 } => ("size", "up to 10^12 sectors"),
        KeyKind::Size { .. } => ("size", "1 sector to 10^12 sectors"),
        KeyKind::Distance => ("cylinders", "distance"),
        KeyKind::Time { signed: false } => ("time", "time"),
        KeyKind::Time { signed: true } => ("time", "-1 s to 1 s"),
        KeyKind::Fraction => ("", "fraction"),
        KeyKind::Rotation => ("rpm or time", "6 rpm to 60000000 rpm, 1 us to 10 s"),
        KeyKind::Policy => (
            "a policy",
            "as `diskarm policies` lists them, such as `\"clook(by=map)\"`",
        ),
        KeyKind::SeekCurve | KeyKind::Table(_) => ("", "table"),
        KeyKind::Zones => ("", "list of tables"),
    };
    (unit, range.to_owned())
}

/// Formats powers of ten from a billion up as powers.
fn number(count: u64) -> String {
    let zeros = count.ilog10();
    if 10_u64.pow(zeros) == count && zeros >= 9 {
        format!("10^{zeros}")
    } else {
        count.to_string()
    }
}

/// Returns the default of a key.
fn default(key: &Key) -> String {
    if key.required {
        return String::new();
    }
    if let Some(other) = key.same_as.and_then(Key::find) {
        return code(other.name());
    }
    if let KeyKind::Table(inner) = key.kind {
        let values = inner
            .iter()
            .filter_map(|key| Some((key, key.get(&Spec::default())?)));
        let given = values.filter(|(key, _)| key.required);
        let given: Vec<String> = given
            .map(|(key, value)| code(&format!("{} = {}", key.name(), key.toml(&value))))
            .collect();
        return match given.is_empty() {
            false => given.join(", "),
            true if inner.iter().all(|key| key.required) => "none".to_owned(),
            true => "all defaults".to_owned(),
        };
    }
    match (key.kind, key.get(&Spec::default())) {
        (_, None | Some(Value::Text(_))) | (KeyKind::Distance, _) => "none".to_owned(),
        (KeyKind::Count { .. }, Some(Value::Count(count))) => count.to_string(),
        (_, Some(value)) => code(&key.toml(&value)),
    }
}
