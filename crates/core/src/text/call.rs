//! The syntax of workloads and policies: words, and calls such as `poisson(rate=60/s)`.
//!
//! This module knows the punctuation (parentheses, commas, equals signs, the `+` between streams)
//! but no meaning.

use super::error::InputError;

/// A name with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<'t> {
    /// The name before the parentheses.
    pub name: &'t str,
    /// The parameters in order; a key may occur twice.
    pub given: Vec<(&'t str, &'t str)>,
}

impl<'t> Call<'t> {
    /// Returns the name of a call, whatever follows it.
    pub fn name_of(text: &'t str) -> &'t str {
        text.split_once('(').map_or(text, |(name, _)| name).trim()
    }

    /// Parses `name` or `name(key=value, ...)`; errors call it `field`.
    pub fn read(text: &'t str, field: &str) -> Result<Self, InputError> {
        Self::read_in_order(text, field, &[])
    }

    /// Like [`Self::read`], but the first parameters may be bare values, for `keys` in their order.
    pub fn read_in_order(text: &'t str, field: &str, keys: &[&'t str]) -> Result<Self, InputError> {
        let written = text.trim();
        let Some((before_parenthesis, rest)) = written.split_once('(') else {
            if written.contains('=') {
                return Err(InputError::new(field, written, WRITTEN));
            }
            let given = Vec::new();
            return Ok(Self {
                name: written,
                given,
            });
        };
        let Some(inside) = rest.strip_suffix(')').filter(|inside| is_balanced(inside)) else {
            return Err(InputError::new(field, written, balanced(written)));
        };
        let name = before_parenthesis.trim();
        let (mut given, mut keys, mut before) = (Vec::new(), keys.iter(), "");
        let parts = list(inside).into_iter();
        for part in parts.filter(|part| !part.is_empty()) {
            // A value alone may be a call with parameters of its own.
            let keyed = part.split_once('=').filter(|(key, _)| !key.contains('('));
            let (key, value) = match keyed {
                Some(keyed) => {
                    keys = [].iter();
                    keyed
                }
                None => match keys.next() {
                    Some(key) => (*key, part),
                    None => return Err(no_parameter(name, part, before)),
                },
            };
            given.push(parameter(name, key.trim(), value.trim())?);
            before = part;
        }
        Ok(Self { name, given })
    }
}

const WRITTEN: &str = "a name with its parameters in parentheses, name(key=value, ...)";

/// Returns the error that `part` of the call `name`, after `before` if that is not empty, lacks a
/// key.
fn no_parameter(name: &str, part: &str, before: &str) -> InputError {
    let expected = "parameters as key=value";
    if before.is_empty() {
        InputError::new(name, part, expected)
    } else {
        let found = format_args!("{part:?} after {before:?}");
        InputError::shown(name, found, expected)
    }
}

/// Returns the expectation in the error about `text`, whose parentheses do not match.
fn balanced(text: &str) -> String {
    let [opened, closed] = ['(', ')'].map(|mark| text.matches(mark).count());
    match opened.abs_diff(closed) {
        0 => WRITTEN.to_owned(),
        missing if opened > closed => format!("{missing} more \")\""),
        surplus => format!("{surplus} fewer \")\""),
    }
}

/// Returns a parameter of the call `name`, unless another follows without a comma.
fn parameter<'t>(
    name: &str,
    key: &'t str,
    value: &'t str,
) -> Result<(&'t str, &'t str), InputError> {
    if words(value).iter().skip(1).any(|word| word.contains('=')) {
        let expected = "one value, and a comma before the next parameter";
        return Err(InputError::new(format!("{name}.{key}"), value, expected));
    }
    Ok((key, unquoted(value)))
}

/// Returns a value without the optional quotes around it.
fn unquoted(text: &str) -> &str {
    let rest = text.strip_prefix('"');
    rest.and_then(|rest| rest.strip_suffix('"')).unwrap_or(text)
}

/// Returns the entries of `text`, separated by commas outside parentheses.
pub fn list(text: &str) -> Vec<&str> {
    let entries = outside(text, |c| c == ',').into_iter();
    entries.map(str::trim).collect()
}

/// Returns the words of `text`, separated by spaces outside parentheses.
pub(crate) fn words(text: &str) -> Vec<&str> {
    let mut words = outside(text, char::is_whitespace);
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the pieces of `text` between separators outside parentheses.
fn outside(text: &str, is_mark: impl Fn(char) -> bool) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && is_mark(c) => {
                pieces.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    pieces.push(&text[start..]);
    pieces
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0i64;
    for c in text.chars() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_part_words_outside_parentheses_only() {
        let text = " poisson( rate = 60/s )  local(share=30%, deviation=10 sectors) reads=5% ";
        let expected = [
            "poisson( rate = 60/s )",
            "local(share=30%, deviation=10 sectors)",
            "reads=5%",
        ];
        assert_eq!(words(text), expected);
    }

    #[test]
    fn calls_nest() {
        let call = Call::read("closed(clients=4, think=erlang(k=2, mean=5 ms),)", "x");
        let given = vec![("clients", "4"), ("think", "erlang(k=2, mean=5 ms)")];
        let name = "closed";
        assert_eq!(call, Ok(Call { name, given }));
        assert_eq!(Call::read("uniform()", "x").unwrap().given, []);
        let quoted = Call::read("f(a=\"every 5 s\", b=\", c=\"\")", "x").unwrap();
        assert_eq!(quoted.given, [("a", "every 5 s"), ("b", "\""), ("c", "")]);
    }

    #[test]
    fn values_alone_are_of_the_first_keys() {
        let read = |text: &'static str| Call::read_in_order(text, "x", &["a", "b"]);
        let given = |text| read(text).expect(text).given;
        assert_eq!(given("f(1)"), [("a", "1")]);
        assert_eq!(given("f(1, b=2)"), [("a", "1"), ("b", "2")]);
        assert_eq!(
            given("f(1 s, g(c=2), d=3)"),
            [("a", "1 s"), ("b", "g(c=2)"), ("d", "3")]
        );
        for (text, expected) in [
            (
                "f(1, 2, 3)",
                "f: found \"3\" after \"2\", expected parameters as key=value",
            ),
            (
                "f(b=1, 2)",
                "f: found \"2\" after \"b=1\", expected parameters as key=value",
            ),
        ] {
            assert_eq!(read(text).expect_err(text).to_string(), expected);
        }
    }

    #[test]
    fn half_written_calls_are_faults() {
        for text in [
            "f(", "f(a=1", "f(a=1))", "f(a=1)b", "f(a)", "f)(", "f(=)(=)", "f a=1",
        ] {
            let call = Call::read(text, "x");
            assert!(call.is_err() || text == "f)(", "{text}: {call:?}");
        }
    }

    #[test]
    fn errors_say_which_mark_is_missing() {
        for (text, expected) in [
            (
                "f(a=g(b=1)",
                "x: found \"f(a=g(b=1)\", expected 1 more \")\"",
            ),
            ("f(1)", "f: found \"1\", expected parameters as key=value"),
            (
                "f(a=0,,1)",
                "f: found \"1\" after \"a=0\", expected parameters as key=value",
            ),
            ("f(a=1)))", "x: found \"f(a=1)))\", expected 2 fewer \")\""),
            (
                "f(a=1 s b=2)",
                "f.a: found \"1 s b=2\", expected one value, and a comma before the next parameter",
            ),
        ] {
            let error = Call::read(text, "x").expect_err(text);
            assert_eq!(error.to_string(), expected);
        }
        assert!(
            Call::read("f(a=1 s, b=g(c=1 d=2))", "x").is_ok(),
            "read with g"
        );
    }
}
