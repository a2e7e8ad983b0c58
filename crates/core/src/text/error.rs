//! Errors in user input with their locations, and suggestions for misspelt names.

use std::error::Error;
use std::fmt;

/// An error in a specification, a workload, a policy, a study or an argument, displayed as one
/// line: `hp.toml:12: mechanics.head_switch: found "0.89", expected a time with its unit ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The file, as the caller named it; or, if `line` is `None`, the argument that contains the
    /// text. `None` if `field` is the argument itself, or if the caller adds the origin.
    pub origin: Option<String>,
    /// The line of the file, counted from 1.
    pub line: Option<u64>,
    /// The key, such as `geometry.zones[3].spares` (the fourth zone); empty if `expected` is the
    /// message.
    pub field: String,
    /// The value as shown, with strings in quotes; `None` if nothing was found.
    pub found: Option<String>,
    /// Description of valid values, as a noun phrase.
    pub expected: String,
}

impl InputError {
    /// Creates an error about the text `found`, which is shown in quotes.
    pub fn new(field: impl Into<String>, found: &str, expected: impl Into<String>) -> Self {
        Self::shown(field, format_args!("{found:?}"), expected)
    }

    /// Creates an error about the value `found`, which is shown without quotes.
    pub fn shown(
        field: impl Into<String>,
        found: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            found: Some(found.to_string()),
            ..Self::missing(field, expected)
        }
    }

    /// Creates an error about a name that is not among `known`; suggests the nearest and lists all.
    pub fn one_of(field: impl Into<String>, found: &str, known: &[&str]) -> Self {
        let near = nearest(&found.to_lowercase(), known);
        let hint = near.map_or_else(String::new, |near| format!("\"{near}\" or "));
        Self::new(field, found, format!("{hint}one of {}", known.join(", ")))
    }

    /// Creates an error about a missing value.
    pub fn missing(field: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            origin: None,
            line: None,
            field: field.into(),
            found: None,
            expected: expected.into(),
        }
    }

    /// Creates an error about a name that is not among `known`; suggests the nearest one, or all.
    pub fn unknown(field: impl Into<String>, found: &str, what: &str, known: &[&str]) -> Self {
        let expected = match (nearest(found, known), known) {
            (Some(near), _) => format!("{what}, perhaps \"{near}\""),
            (None, []) => format!("no {what}, as there are none"),
            (None, known) => format!("{what}: {}", known.join(", ")),
        };
        Self::new(field, found, expected)
    }

    /// Creates an error with the complete message of another parser.
    pub fn message(message: impl Into<String>) -> Self {
        Self::missing("", message)
    }

    /// Returns the same error, located in this line of `file`, counted from 1.
    pub fn in_file(self, file: impl Into<String>, line: u64) -> Self {
        let origin = Some(file.into());
        Self { origin, ..self }.at_line(line)
    }

    /// Returns the same error, located in this line, counted from 1; the caller adds the file.
    pub fn at_line(self, line: u64) -> Self {
        let line = Some(line);
        Self { line, ..self }
    }

    /// Returns the same error, located in the argument `name`, unless its field is that argument.
    pub fn in_argument(self, name: &str) -> Self {
        let origin = (self.field != name).then(|| name.to_owned());
        Self { origin, ..self }
    }

    /// Returns the same error with its argument renamed `name`; an error in a file stays as it is.
    pub fn named(mut self, name: &str) -> Self {
        match (self.line, &mut self.origin) {
            (Some(_), _) => {}
            (None, Some(argument)) => name.clone_into(argument),
            (None, None) => name.clone_into(&mut self.field),
        }
        self
    }

    /// Returns the file, if the error is in one.
    pub fn file(&self) -> Option<&str> {
        self.line.and(self.origin.as_deref())
    }

    /// Returns the error without its location.
    pub fn problem(&self) -> impl fmt::Display {
        fmt::from_fn(move |f| {
            let expected = one_line(&self.expected);
            if self.field.is_empty() {
                return write!(f, "{expected}");
            }
            let found = self.found.as_deref().unwrap_or("nothing");
            let [field, found] = [&self.field, found].map(one_line);
            write!(f, "{field}: found {found}, expected {expected}")
        })
    }
}

/// Escapes control characters, such as line ends, in a key as the user wrote it.
fn one_line(text: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        text.chars().try_for_each(|c| {
            if c.is_control() {
                write!(f, "{}", c.escape_default())
            } else {
                write!(f, "{c}")
            }
        })
    })
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.origin, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (Some(argument), None) => write!(f, "{argument}: ")?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        self.problem().fmt(f)
    }
}

impl Error for InputError {}

/// Returns the line, counted from 1, of a byte offset in `text`.
pub fn line_of(text: &str, offset: usize) -> u64 {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Returns the nearest known name if at most a third of its letters differ. A swap counts once.
pub fn nearest<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    let distance = |name: &&'k str| (strsim::osa_distance(written, name), *name);
    let (distance, name) = known.iter().map(distance).min()?;
    (distance * 3 <= name.len()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_display_as_one_line_with_their_location() {
        let error = InputError::new("queue.policy", "spft", "a policy");
        let problem = "queue.policy: found \"spft\", expected a policy";
        assert_eq!(error.to_string(), problem);
        let in_file = error.clone().in_file("a.toml", 3);
        assert_eq!(in_file.to_string(), format!("a.toml:3: {problem}"));
        assert_eq!(in_file.file(), Some("a.toml"));
        let at_line = error.clone().at_line(3);
        assert_eq!(at_line.to_string(), format!("line 3: {problem}"));
        let in_argument = error.in_argument("--set");
        assert_eq!(in_argument.to_string(), format!("--set: {problem}"));
        assert_eq!(in_argument.file(), None);
        assert_eq!(InputError::message("not TOML").to_string(), "not TOML");
        let missing = InputError::missing("name", "a name").to_string();
        assert_eq!(missing, "name: found nothing, expected a name");
        // Even a key with a line break stays on one line.
        let error = InputError::new("gstf.a\nb", "1 c=2", "one value");
        let expected = "gstf.a\\nb: found \"1 c=2\", expected one value";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn an_argument_is_renamed_and_a_file_is_not() {
        let error = InputError::new("--drive", "x", "a drive");
        let named = error.clone().named("NAME").to_string();
        assert_eq!(named, "NAME: found \"x\", expected a drive");
        let part = InputError::new("vscan.r", "2", "a number").in_argument("--policy");
        let named = part.named("policy").to_string();
        assert_eq!(named, "policy: vscan.r: found \"2\", expected a number");
        let in_file = error.in_file("a.toml", 1);
        assert_eq!(in_file.clone().named("NAME"), in_file);
    }

    #[test]
    fn lines_count_from_one() {
        let text = "a\nb\nc";
        assert_eq!([0, 1, 2, 4, 9].map(|at| line_of(text, at)), [1, 1, 2, 3, 3]);
    }

    #[test]
    fn a_third_of_the_letters_may_differ() {
        let known = ["rotation", "seek"];
        assert_eq!(nearest("roattion", &known), Some("rotation"));
        assert_eq!(nearest("rotat", &known), None);
        assert_eq!(nearest("seak", &known), Some("seek"));
        assert_eq!(nearest("suck", &known), None);
    }
}
