//! Strings with `{placeholders}` of axes.

use std::collections::BTreeMap;

use crate::scalar::Scalar;

/// The values of placeholders in one cell, by name.
pub type Names<'a> = BTreeMap<&'a str, &'a Scalar>;

/// The expressions between braces, in order; `None` if a brace has no partner.
pub fn placeholders(text: &str) -> Option<Vec<&str>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find(['{', '}']) {
        let inside = rest[open..].strip_prefix('{')?;
        let close = inside.find(['{', '}'])?;
        if !inside[close..].starts_with('}') {
            return None;
        }
        found.push(&inside[..close]);
        rest = &inside[close + 1..];
    }
    Some(found)
}

/// The names in an expression: everything except numbers and operators.
pub fn names(expression: &str) -> impl Iterator<Item = &str> {
    let parts = expression.split(['*', '/']).map(str::trim);
    parts.filter(|part| part.parse::<f64>().is_err())
}

/// `text` with each placeholder replaced.
///
/// # Errors
/// What is expected of an expression without a value.
pub fn fill(text: &str, known: &Names<'_>) -> Result<Scalar, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once('{') {
        let (expression, after) = inside.split_once('}').unwrap_or((inside, ""));
        let value = evaluate(expression, known)?;
        if before.is_empty() && filled.is_empty() && after.is_empty() {
            // A lone placeholder keeps its type: a number stays a number.
            return Ok(value);
        }
        filled += before;
        filled += &value.to_string();
        rest = after;
    }
    filled += rest;
    Ok(Scalar::Text(filled))
}

/// A name, or products and quotients of numbers, from left to right.
fn evaluate(expression: &str, known: &Names<'_>) -> Result<Scalar, String> {
    if let Some(value) = known.get(expression.trim()) {
        return Ok((*value).clone());
    }
    product(expression, |name| known.get(name)?.number()).map(Scalar::Number)
}

/// The value of products and quotients, from left to right, of numbers and of names that have
/// one.
///
/// # Errors
/// What is expected of a name without a number, or of a result that is not finite.
pub fn product(expression: &str, number: impl Fn(&str) -> Option<f64>) -> Result<f64, String> {
    let mut value = 1.0;
    let mut divides = false;
    let mut rest = expression;
    loop {
        let end = rest.find(['*', '/']).unwrap_or(rest.len());
        let part = rest[..end].trim();
        let factor = part.parse::<f64>().ok().or_else(|| number(part));
        let Some(factor) = factor else {
            return Err(format!(
                "numbers in {{{expression}}}, of which {part:?} is none"
            ));
        };
        value = if divides {
            value / factor
        } else {
            value * factor
        };
        match rest[end..].chars().next() {
            Some(operator) => divides = operator == '/',
            None => break,
        }
        rest = &rest[end + 1..];
    }
    match value.is_finite() {
        true => Ok(value),
        false => Err(format!("a finite number of {{{expression}}}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<Scalar, String> {
        let values = [
            ("rate", Scalar::Number(1.5)),
            ("base", Scalar::Number(60.0)),
            ("policy", Scalar::Text("clook(by=lbn)".into())),
        ];
        fill(text, &values.iter().map(|(n, v)| (*n, v)).collect())
    }

    #[test]
    fn placeholders_are_replaced_by_values_and_products() {
        let text = |text: &str| Ok(Scalar::Text(text.to_owned()));
        assert_eq!(
            filled("poisson(rate={rate*base}/s)"),
            text("poisson(rate=90/s)")
        );
        assert_eq!(filled("{policy} {base/rate/2}"), text("clook(by=lbn) 20"));
        assert_eq!(filled("{rate}"), Ok(Scalar::Number(1.5)));
        assert_eq!(filled("plain"), text("plain"));
        assert!(filled("{nothing}").unwrap_err().contains("nothing"));
        assert!(filled("{policy*2}").is_err());
        assert!(filled("{rate/0}").unwrap_err().contains("finite"));
    }

    #[test]
    fn braces_need_partners() {
        assert_eq!(placeholders("a{b}c{d*2}"), Some(vec!["b", "d*2"]));
        for text in ["a{b", "a}b", "a{b{c}}"] {
            assert_eq!(placeholders(text), None, "{text}");
        }
        assert_eq!(names("a*2 / b").collect::<Vec<_>>(), ["a", "b"]);
    }
}
