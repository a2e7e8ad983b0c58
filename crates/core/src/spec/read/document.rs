//! A specification together with the text it was read from.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::tree::{Table, Text};
use crate::spec::Spec;
use crate::text::InputError;

/// A specification that still knows its lines, so that errors found by a later stage (the
/// layout, or zones that do not add up to the capacity) are reported like those of the parser.
pub struct Document<'a> {
    /// The parsed specification.
    pub spec: Spec,
    text: Text<'a>,
    tree: DeTable<'a>,
}

impl<'a> Document<'a> {
    /// Reads and validates a specification. `file` is its name in errors.
    ///
    /// # Errors
    /// The first value that is not TOML, missing, unknown, out of range, or that contradicts
    /// another field.
    pub fn read(text: &'a str, file: &'a str) -> Result<Self, InputError> {
        let text = Text { file, text };
        let tree = match DeTable::parse(text.text) {
            Ok(tree) => tree.into_inner(),
            Err(error) => return Err(not_toml(text, &error)),
        };
        let root = Table::root(text, &tree);
        let mut spec = Spec::default();
        super::keys(&root, Spec::KEYS, &mut spec)?;
        if let Some((path, expected)) = spec.contradiction() {
            return Err(root.at(&path)?.error(expected));
        }
        Ok(Self { spec, text, tree })
    }

    /// The error with the line of its field (such as `geometry.zones[3].spares`), or of the nearest
    /// enclosing one.
    pub fn locate(&self, error: InputError) -> InputError {
        let mut steps = error.field.split(['.', '[']);
        let mut node = steps.next().and_then(|key| self.tree.get(key));
        let mut offset = 0;
        while let Some(found) = node {
            offset = found.span().start;
            node = steps.next().and_then(|step| step_into(found, step));
        }
        self.text.at(offset, error)
    }
}

/// One step down a path: a key of a table, or an index and the bracket after it.
fn step_into<'t, 'a>(
    node: &'t Spanned<DeValue<'a>>,
    step: &str,
) -> Option<&'t Spanned<DeValue<'a>>> {
    match node.get_ref() {
        DeValue::Table(table) => table.get(step),
        DeValue::Array(array) => array.get(step.strip_suffix(']')?.parse::<usize>().ok()?),
        _ => None,
    }
}

fn not_toml(text: Text<'_>, error: &toml::de::Error) -> InputError {
    let offset = error.span().map_or(0, |span| span.start);
    let expected = format!("TOML ({})", error.message().replace('\n', " "));
    let error = InputError::shown("syntax", text.line_at(offset), expected);
    text.at(offset, error)
}
