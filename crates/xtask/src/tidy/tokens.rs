//! What the tokens of a Rust file name: paths and attributes, macro bodies included.
//!
//! A syntax tree would leave out what stands inside macros, where `assert!` and friends hide a
//! good part of a test.

use std::iter::Peekable;

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path such as `crate::units::Lbn`; a `use` of several is one for each.
#[derive(Debug, PartialEq, Eq)]
pub struct Named {
    /// Its names; a glob is `*`.
    pub segments: Vec<String>,
    /// Where it begins.
    pub line: usize,
    /// How many inline modules of the file stand around it.
    pub depth: usize,
}

/// An attribute, without those of documentation.
#[derive(Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Every name in it, in order.
    pub names: Vec<String>,
    /// Where it begins.
    pub line: usize,
}

impl Attribute {
    /// Whether it is one of `wanted`, be it under a `cfg_attr`.
    pub fn is_any(&self, wanted: &[&str]) -> bool {
        match self.names.split_first() {
            Some((first, rest)) if first == "cfg_attr" => {
                rest.iter().any(|name| wanted.contains(&name.as_str()))
            }
            Some((first, _)) => wanted.contains(&first.as_str()),
            None => false,
        }
    }
}

/// Every path, and so every single name, in `tokens`.
pub fn paths(tokens: TokenStream) -> Vec<Named> {
    let mut found = Vec::new();
    collect_paths(tokens, &[], 0, &mut found);
    found
}

/// `prefix` is what stands before the braces of a `use`.
fn collect_paths(tokens: TokenStream, prefix: &[String], depth: usize, found: &mut Vec<Named>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => collect_paths(group.stream(), prefix, depth, found),
            TokenTree::Punct(star) if star.as_char() == '*' && !prefix.is_empty() => {
                let segments = [prefix, &["*".to_owned()]].concat();
                let line = star.span().start().line;
                found.push(Named {
                    segments,
                    line,
                    depth,
                });
            }
            // The new name of an import, which is no path.
            TokenTree::Ident(name) if name == "as" && !prefix.is_empty() => {
                tokens.next();
            }
            TokenTree::Ident(name) if name == "mod" => {
                tokens.next();
                if let Some(TokenTree::Group(body)) = tokens.peek() {
                    collect_paths(body.stream(), &[], depth + 1, found);
                    tokens.next();
                }
            }
            TokenTree::Ident(name) => {
                let line = name.span().start().line;
                let segments = [prefix, &[name.to_string()]].concat();
                collect_rest(
                    &mut tokens,
                    Named {
                        segments,
                        line,
                        depth,
                    },
                    found,
                );
            }
            _ => {}
        }
    }
}

/// Follows a path whose first name was read.
fn collect_rest(tokens: &mut Peekable<IntoIter>, mut path: Named, found: &mut Vec<Named>) {
    while takes_colons(tokens) {
        match tokens.peek() {
            Some(TokenTree::Ident(name)) => path.segments.push(name.to_string()),
            Some(token) if is_punct(token, '*') => {
                path.segments.push("*".to_owned());
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                collect_paths(group.stream(), &path.segments, path.depth, found);
                tokens.next();
                return;
            }
            _ => break,
        }
        tokens.next();
    }
    found.push(path);
}

/// Steps over `::` if it is next. A single `:` is stepped over too: no path goes on behind it.
fn takes_colons(tokens: &mut Peekable<IntoIter>) -> bool {
    let mut colon = || tokens.next_if(|token| is_punct(token, ':')).is_some();
    colon() && colon()
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(found) if found.as_char() == wanted)
}

/// Every attribute in `tokens` that is no documentation.
pub fn attributes(tokens: TokenStream) -> Vec<Attribute> {
    let mut found = Vec::new();
    collect_attributes(tokens, &mut found);
    found
}

fn collect_attributes(tokens: TokenStream, found: &mut Vec<Attribute>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if is_punct(&token, '#') {
            tokens.next_if(|token| is_punct(token, '!'));
            if let Some(TokenTree::Group(group)) = tokens.peek()
                && group.delimiter() == Delimiter::Bracket
            {
                let mut names = Vec::new();
                collect_names(group.stream(), &mut names);
                if names.first().is_some_and(|name| name != "doc") {
                    let line = token.span().start().line;
                    found.push(Attribute { names, line });
                }
                tokens.next();
            }
        } else if let TokenTree::Group(group) = token {
            collect_attributes(group.stream(), found);
        }
    }
}

fn collect_names(tokens: TokenStream, names: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => names.push(name.to_string()),
            TokenTree::Group(group) => collect_names(group.stream(), names),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths_of(text: &str) -> Vec<(String, usize)> {
        let tokens = text.parse().expect("the test's own Rust is sound");
        paths(tokens)
            .into_iter()
            .map(|path| (path.segments.join("::"), path.depth))
            .filter(|(path, _)| path.contains("::"))
            .collect()
    }

    #[test]
    fn a_use_of_several_is_a_path_for_each() {
        let text = "use a::{self, b::{C as D, *}, e}; use f::*;";
        let wanted = ["a::self", "a::b::C", "a::b::*", "a::e", "f::*"];
        assert_eq!(paths_of(text), wanted.map(|path| (path.to_owned(), 0)));
    }

    #[test]
    fn paths_are_seen_in_macros_and_types_but_not_in_documentation() {
        let text = "/// [`no::doc`]\nfn f(x: Vec::<a::B>) { assert!(c::d::<u8>() == ::e::F); }";
        let found: Vec<String> = paths_of(text).into_iter().map(|(path, _)| path).collect();
        assert_eq!(found, ["a::B", "c::d", "e::F"]);
    }

    #[test]
    fn inline_modules_are_counted() {
        let text = "use a::b; mod x { use c::d; mod y { use e::f; } } mod z; use g::h;";
        let wanted = [("a::b", 0), ("c::d", 1), ("e::f", 2), ("g::h", 0)];
        assert_eq!(
            paths_of(text),
            wanted.map(|(path, depth)| (path.to_owned(), depth))
        );
    }

    #[test]
    fn attributes_are_seen_wherever_they_stand() {
        let text =
            "//! Doc.\n#![a]\n/// Doc.\nfn f() {\n#[b(c)]\nlet x = m!(#[cfg_attr(d, e)] y);}";
        let tokens = text.parse().expect("the test's own Rust is sound");
        let found = attributes(tokens);
        let names: Vec<String> = found.iter().map(|found| found.names.join(" ")).collect();
        assert_eq!(names, ["a", "b c", "cfg_attr d e"]);
        assert_eq!(
            found.iter().map(|found| found.line).collect::<Vec<_>>(),
            [2, 5, 6]
        );
        assert!(found[2].is_any(&["e"]));
        assert!(!found[1].is_any(&["c"]));
    }
}
