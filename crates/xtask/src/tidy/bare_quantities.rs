//! Finds bare numbers for times and addresses in the public API of `core`.
//!
//! A float is bare if its name has no unit: the name of the parameter, field or constant, or of the
//! function that returns it. Integers also count things, so an integer is bare only if it is named
//! after a time or a block, without a unit.

use syn::visit::{self, Visit};
use syn::{Fields, FnArg, Ident, Item, Pat, ReturnType, Type, Visibility};

use super::tree::{Tree, is_test_only};
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "bare-quantities",
    summary: "numbers in core's public API have a unit in their name",
    run,
};

/// Last words of names: units of time, rate, address or size, counts, and dimensionless numbers. A
/// `2` after a unit means its square.
const UNITS: &str = "ns us ms s hz rpm \
    sectors tracks cylinders revolutions bytes kib mib \
    number numbers count requests percent fraction ratio share probability confidence quantile \
    factor weight weights exponent cv watermark";

/// Words that may follow a unit, as may a percentile such as `p99`.
const STATISTICS: &str = "mean min max sum std";

/// Last words of the names of times and blocks, which have their own types.
const TYPED: &str = "time delay wait latency duration deadline instant now lbn";

const FLOATS: &str = "f32 f64";
const INTEGERS: &str = "u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize";

fn is_listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.core() {
        let mut api = Api {
            path: &file.path,
            findings: &mut findings,
        };
        api.visit_file(&rust.items);
    }
    findings
}

/// Returns true if `name` ends in a unit: `seek_ms`, `response_us_p99`, `requests_per_s`.
fn has_unit(name: &str) -> bool {
    let mut words: Vec<&str> = name.split('_').collect();
    while let Some(last) = words.last()
        && words.len() > 1
        && is_statistic(last)
    {
        words.pop();
    }
    match words[..] {
        [.., "per", _] => true,
        [.., last] => is_listed(UNITS, last.strip_suffix('2').unwrap_or(last)),
        [] => false,
    }
}

fn is_statistic(word: &str) -> bool {
    let percentile = word.strip_prefix('p').map(str::parse::<u32>);
    is_listed(STATISTICS, word) || percentile.is_some_and(|number| number.is_ok())
}

/// Converts `ReadRate` and `READ_RATE` to `read_rate`.
fn snake(name: &Ident) -> String {
    let name = name.to_string();
    if !name.chars().any(char::is_lowercase) {
        return name.to_lowercase();
    }
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// The number types within a type, such as `Option<f64>` or `&[f64]`.
#[derive(Default)]
struct Numbers {
    has_float: bool,
    has_integer: bool,
}

impl<'ast> Visit<'ast> for Numbers {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        let name = segment.ident.to_string();
        self.has_float |= is_listed(FLOATS, &name);
        self.has_integer |= is_listed(INTEGERS, &name);
        visit::visit_path_segment(self, segment);
    }
}

/// Visits public items, but no bodies or tests.
struct Api<'a> {
    path: &'a str,
    findings: &'a mut Vec<Finding>,
}

impl Api<'_> {
    fn value(&mut self, name: &Ident, ty: &Type) {
        let mut numbers = Numbers::default();
        numbers.visit_type(ty);
        let snake = snake(name);
        let is_typed = snake
            .split('_')
            .next_back()
            .is_some_and(|word| is_listed(TYPED, word));
        let message = if numbers.has_float && !has_unit(&snake) {
            format!("`{name}` is a bare float: use a type of `units`, or end the name with a unit")
        } else if numbers.has_integer && is_typed {
            format!("`{name}` is a bare integer: use `Instant`, `Span` or `Lbn`")
        } else {
            return;
        };
        let line = name.span().start().line;
        self.findings.push(Finding::new(self.path, line, message));
    }

    fn signature(&mut self, signature: &syn::Signature) {
        for input in &signature.inputs {
            if let FnArg::Typed(argument) = input
                && let Pat::Ident(name) = &*argument.pat
            {
                self.value(&name.ident, &argument.ty);
            }
        }
        if let ReturnType::Type(_, output) = &signature.output {
            self.value(&signature.ident, output);
        }
    }

    /// Checks the fields of a struct or of a variant. A variant's fields are as public as its enum.
    /// Unnamed fields take the name of the variant.
    fn fields(&mut self, fields: &Fields, variant: Option<&Ident>) {
        for field in fields {
            if variant.is_none() && !is_public(&field.vis) {
                continue;
            }
            // The name of a newtype is the unit of its field.
            if let Some(name) = field.ident.as_ref().or(variant) {
                self.value(name, &field.ty);
            }
        }
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

impl<'ast> Visit<'ast> for Api<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Mod(item) if !is_test_only(&item.attrs) => visit::visit_item_mod(self, item),
            Item::Impl(item) => visit::visit_item_impl(self, item),
            Item::Trait(item) if is_public(&item.vis) => visit::visit_item_trait(self, item),
            Item::Fn(item) if is_public(&item.vis) => self.signature(&item.sig),
            Item::Const(item) if is_public(&item.vis) => self.value(&item.ident, &item.ty),
            Item::Struct(item) if is_public(&item.vis) => self.fields(&item.fields, None),
            Item::Enum(item) if is_public(&item.vis) => {
                for variant in &item.variants {
                    self.fields(&variant.fields, Some(&variant.ident));
                }
            }
            _ => {}
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.signature(&function.sig);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if is_public(&function.vis) {
            self.signature(&function.sig);
        }
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        if is_public(&item.vis) {
            self.value(&item.ident, &item.ty);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        run(&Tree::new(&[("crates/core/src/x.rs", text)])).len()
    }

    #[test]
    fn bare_numbers_are_found() {
        for text in [
            "pub fn f(seek: f64) {}",
            "pub fn seek(&self) -> Option<f64> { None }",
            "pub trait T { fn f(rates: &[f32]); }",
            "pub struct S { pub seek: f64 }",
            "pub enum E { Rate(f64) }",
            "pub enum E { Rate { mean: f64 } }",
            "pub const LIMIT: f64 = 1.0;",
            "pub mod m { pub fn f(now: u64) {} }",
            "pub struct S { pub first_lbn: Option<u64> }",
            "impl X { pub fn seek_time(&self) -> u64 { 0 } }",
        ] {
            assert_eq!(found(text), 1, "{text}");
        }
    }

    #[test]
    fn numbers_with_units_are_fine() {
        for text in [
            "pub fn from_ms(ms: f64) -> Self {}",
            "pub fn variance_ms2(&self) -> Option<f64> { None }",
            "pub fn cv2(&self) -> f64 { 0.0 }",
            "pub fn requests_per_second(&self) -> f64 { 0.0 }",
            "pub struct S { pub response_us_p99: f64, pub read_watermark: f64, seek: f64 }",
            "pub struct Ratio(pub f64);",
            "pub enum E { MeanMs(f64), Table(Vec<(u32, Span)>) }",
            "pub const LIMIT_MS: f64 = 1.0;",
            "pub(crate) fn f(seek: f64) {}",
            "fn f(seek: f64) {}",
            "pub fn f(surfaces: u32) -> u64 { let x: f64 = 0.0; }",
            "impl Mul<f64> for Span { fn mul(self, times: f64) -> Self {} }",
            "#[cfg(test)] mod tests { pub fn f(seek: f64) {} }",
        ] {
            assert_eq!(found(text), 0, "{text}");
        }
        let outside = Tree::new(&[("crates/cli/src/main.rs", "pub fn f(seek: f64) {}")]);
        assert_eq!(run(&outside), []);
    }
}
