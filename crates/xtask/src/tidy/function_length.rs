//! Functions that no longer fit a screen.

use proc_macro2::Span;
use syn::visit::{self, Visit};

use super::tree::Tree;
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "function-length",
    summary: "a function has at most 70 lines, from `fn` to its last brace",
    run,
};

const MAX_LINES: usize = 70;

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.rust() {
        let mut long = Long {
            path: &file.path,
            findings: &mut findings,
        };
        long.visit_file(&rust.items);
    }
    findings
}

struct Long<'a> {
    path: &'a str,
    findings: &'a mut Vec<Finding>,
}

impl Long<'_> {
    fn measure(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let first = line(signature.fn_token.span);
        let lines = line(body.brace_token.span.close()) - first + 1;
        if lines > MAX_LINES {
            let name = &signature.ident;
            let message = format!("`{name}` has {lines} lines, at most {MAX_LINES}");
            self.findings.push(Finding::new(self.path, first, message));
        }
    }
}

impl<'ast> Visit<'ast> for Long<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.measure(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

fn line(span: Span) -> usize {
    span.start().line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of `lines` lines with a brace in a string, under a long comment.
    fn function(lines: usize) -> String {
        let comment = "/// Long.\n".repeat(100);
        let body = "let _ = \"{\";\n".repeat(lines - 2);
        format!("{comment}fn f(&self) {{\n{body}}}\n")
    }

    fn found(text: &str) -> Vec<usize> {
        let findings = run(&Tree::of(&[("a.rs", text)]));
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn bad() {
        let function = function(71);
        assert_eq!(found(&format!("impl X {{\n{function}}}\n")), [102]);
        assert_eq!(found(&format!("trait X {{\n{function}}}\n")), [102]);
        let free = function.replace("&self", "");
        assert_eq!(found(&format!("mod tests {{\n{free}}}\n")), [102]);
    }

    #[test]
    fn good() {
        let function = function(70);
        assert_eq!(
            found(&format!("impl X {{\n{function}{function}}}\n")),
            [0; 0]
        );
    }
}
