//! The drawings of a report.

use std::collections::BTreeSet;

use diskarm_plot::Series;
use diskarm_results::html::Html;

use super::planes::Plane;
use crate::file::Study;

/// A drawing of a figure or a map. All drawings of one figure have the same vertical axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// The name of its files without extension; no two drawings have the same.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// The drawing.
    pub svg: String,
    /// The same for narrow pages.
    pub(super) narrow_svg: String,
    pub(super) numbers: Html,
}

/// The note below the heading.
pub fn note(study: &Study) -> String {
    let mut note = study.source.clone();
    if study.options.quick {
        note += " (short form)";
    }
    if study.has_single_runs() {
        note += "; single runs, no interval";
    }
    note
}

/// If there are several planes, all numbers that their common vertical axis has to contain,
/// including zero where the scale allows it. `series_of` makes the series of a line of a plane.
pub fn shared_heights<const N: usize>(
    planes: &[Plane<N>],
    series_of: impl Fn(&Plane<N>, usize) -> Series,
) -> Option<Vec<f64>> {
    let lines = |plane: &Plane<N>| plane.along[0].clone();
    let series = planes
        .iter()
        .flat_map(|plane| lines(plane).into_iter().map(|line| series_of(plane, line)));
    let points = series.flat_map(|series| series.points);
    let heights = points.flat_map(|point| point.heights()).flatten();
    (planes.len() > 1).then(|| [0.0].into_iter().chain(heights).collect())
}

/// The names of a report's drawings.
#[derive(Debug, Default)]
pub struct Names(BTreeSet<String>);

impl Names {
    /// A unique name for the drawing of `figure` in a plane with these labels.
    pub fn of(&mut self, figure: &str, part: &[String]) -> String {
        let words = [figure].into_iter().chain(part.iter().map(String::as_str));
        self.unused(&file_name(&words.collect::<Vec<&str>>().join("-")))
    }

    /// The name, or the name with the first number that makes it unique.
    fn unused(&mut self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut candidates = [name.to_owned()].into_iter().chain(numbered);
        let unused = candidates.find(|candidate| self.0.insert(candidate.clone()));
        unused.expect("numbers do not end")
    }
}

/// The words in lower-case letters, digits, dots and hyphens.
fn file_name(words: &str) -> String {
    let kept = words.to_lowercase().replace(
        |c: char| !(c.is_ascii_alphanumeric() || "._".contains(c)),
        "-",
    );
    let parts = kept.split('-').filter(|part| !part.is_empty());
    parts.collect::<Vec<&str>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain_and_differ() {
        let mut names = Names::default();
        let mut name = |words: &str| names.of(words, &[]);
        assert_eq!(name("3a-HP C2247 (b/w)"), "3a-hp-c2247-b-w");
        assert_eq!(name("3A HP-C2247 b w"), "3a-hp-c2247-b-w-2");
        assert_eq!(name("../../x"), "..-..-x");
        assert_eq!(name("VSCAN(0.2)"), "vscan-0.2");
    }
}
