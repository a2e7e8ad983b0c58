//! The catalogue of drives, with a TOML file for each in `data/`; [`text`] writes such files.
//!
//! `diskarm_core::spec` reads specifications. A new drive needs one file and one line in
//! [`CATALOGUE`]. A drive whose name ends in `-calibrated` is the drive without that suffix, fitted
//! to the first half of a measured trace. `cargo xtask calibrate` writes its file.

#![warn(missing_docs)]

pub mod text;

/// A drive in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, for example `hp-c2247`.
    pub name: &'static str,
    /// Its specification, in TOML.
    pub text: &'static str,
}

macro_rules! entry {
    ($name:literal) => {
        Entry {
            name: $name,
            text: include_str!(concat!("../data/", $name, ".toml")),
        }
    };
}

/// All drives, in alphabetical order.
pub static CATALOGUE: &[Entry] = &[
    entry!("dec-rz26"),
    entry!("dec-rz26-calibrated"),
    entry!("hp-335h"),
    entry!("hp-97560"),
    entry!("hp-c2247"),
    entry!("hp-c2247-5p"),
    entry!("hp-c2247-9p"),
    entry!("hp-c2247-calibrated"),
    entry!("hp-c2490a"),
    entry!("hp-c3323a"),
    entry!("ibm-18es"),
    entry!("ibm-dnes-309170w"),
    entry!("ibm-lightning"),
    entry!("quantum-atlas-10k"),
    entry!("quantum-atlas-10k-calibrated"),
    entry!("quantum-atlas-iii"),
    entry!("sas-10k-900gb"),
    entry!("sata-4tb-7200"),
    entry!("seagate-barracuda-st32171w"),
    entry!("seagate-barracuda-st32171w-calibrated"),
    entry!("seagate-cheetah-15k7-st3600057ss"),
    entry!("seagate-cheetah-st34501n"),
    entry!("seagate-cheetah-st34501n-calibrated"),
    entry!("seagate-cheetah-st39102lw"),
    entry!("seagate-exos-x16-st16000nm001g"),
    entry!("seagate-st41601n"),
    entry!("seagate-st41601n-calibrated"),
    entry!("wd-blue-wd10jpvx"),
];

/// Returns the drive with this name, in upper or lower case: makers write `HP-C2247`.
pub fn find(name: &str) -> Option<&'static Entry> {
    let mut all = CATALOGUE.iter();
    all.find(|entry| entry.name.eq_ignore_ascii_case(name))
}

/// Returns up to three drives that a mistyped or shortened name may refer to, most likely first.
///
/// Similar names share pairs of letters in any order: `c2247` and `cheetah seagate` find their
/// drives.
pub fn nearest(name: &str) -> Vec<&'static str> {
    let wanted = letter_pairs(name);
    let mut similar: Vec<(f64, &'static str)> = CATALOGUE
        .iter()
        .map(|entry| (similarity(&wanted, &letter_pairs(entry.name)), entry.name))
        .filter(|(similarity, _)| *similarity > 0.25)
        .collect();
    // A stable sort: equally similar names stay in alphabetical order.
    similar.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    similar.truncate(3);
    similar.into_iter().map(|(_, name)| name).collect()
}

/// Returns the pairs of neighbouring letters or digits, in lower case.
fn letter_pairs(name: &str) -> Vec<(char, char)> {
    let letters: Vec<char> = name.to_lowercase().chars().collect();
    let pairs = letters
        .windows(2)
        .filter(|pair| pair.iter().all(|c| c.is_alphanumeric()));
    pairs.map(|pair| (pair[0], pair[1])).collect()
}

/// Returns the share of common pairs: 1 for equal names, 0 for names without common pairs.
fn similarity(wanted: &[(char, char)], known: &[(char, char)]) -> f64 {
    let mut unmatched = known.to_vec();
    let mut common = 0;
    for pair in wanted {
        if let Some(at) = unmatched.iter().position(|other| other == pair) {
            unmatched.swap_remove(at);
            common += 1;
        }
    }
    f64::from(2 * common) / (wanted.len() + known.len()).max(1) as f64
}

/// The README's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
