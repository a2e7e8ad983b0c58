//! `cargo xtask mutants [SEED]`: changes lines of `core`, and looks whether a test fails.
//!
//! `cargo mutants` makes the changes and runs the tests of `core`; it has to be installed. One of
//! every 200 changes (mutants) is tested; the seed says where to begin. Those that no test notices
//! are survivors. The list of known survivors only shrinks: a listed one that a test notices now is
//! taken out, and one that is not listed fails the command.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

/// One mutant in this many is tested, about 25 in all.
const SHARE: u64 = 200;
/// The crate whose tests are tested.
const PACKAGE: &str = "diskarm-core";
/// The known survivors, from the root of the workspace.
const SURVIVORS: &str = "crates/xtask/survivors.txt";
/// Where `cargo mutants` writes, below the root of the workspace.
const OUTPUT: &str = "target/mutants";

/// Tests a sample of mutants.
pub fn run(arguments: &[String]) -> ExitCode {
    let seed = match arguments {
        [] => Some(0),
        [seed] => seed.parse().ok(),
        _ => None,
    };
    let Some(seed) = seed else {
        eprintln!("usage: cargo xtask mutants [SEED]");
        return ExitCode::from(crate::USAGE);
    };
    match test(seed) {
        Ok(is_good) => ExitCode::from(u8::from(!is_good)),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Tests the mutants of a seed and renews the list of survivors. Whether all survivors were known.
fn test(seed: u64) -> Result<bool, String> {
    let all = list()?;
    println!(
        "one of {SHARE} of {} mutants of {PACKAGE}, seed {seed}",
        all.len()
    );
    test_mutants(seed)?;
    let names = names(&all);
    let found = |file: &str| outcome(file, &names);
    let missed = found("missed.txt")?;
    let mut caught = found("caught.txt")?;
    // A test that hangs is noticed.
    caught.extend(found("timeout.txt")?);
    let path = crate::root().join(SURVIVORS);
    let known = fs::read_to_string(&path).map_err(|error| format!("{SURVIVORS}: {error}"))?;
    let review = Review::new(&known, &missed, &caught);
    for name in &review.killed {
        println!("noticed now, no longer listed: {name}");
    }
    if !review.killed.is_empty() {
        fs::write(&path, &review.list).map_err(|error| format!("{SURVIVORS}: {error}"))?;
    }
    for name in &review.new {
        println!("no test notices: {name}");
    }
    println!(
        "noticed {}, survived {} ({} not in {SURVIVORS}), did not compile {}",
        caught.len(),
        missed.len(),
        review.new.len(),
        found("unviable.txt")?.len()
    );
    Ok(review.new.is_empty())
}

/// What the outcome of a sample means for the list of survivors.
#[derive(Debug, PartialEq)]
struct Review {
    /// Survivors that are not in the list.
    new: Vec<String>,
    /// Mutants of the list that a test notices now.
    killed: Vec<String>,
    /// The list without them.
    list: String,
}

impl Review {
    fn new(known: &str, missed: &BTreeSet<String>, caught: &BTreeSet<String>) -> Self {
        let is_listed = |name: &&String| known.lines().any(|line| line == name.as_str());
        let stays = |line: &&str| !caught.contains(*line);
        Self {
            new: missed
                .iter()
                .filter(|name| !is_listed(name))
                .cloned()
                .collect(),
            killed: caught.iter().filter(is_listed).cloned().collect(),
            list: known
                .lines()
                .filter(stays)
                .map(|line| format!("{line}\n"))
                .collect(),
        }
    }
}

/// All mutants as `cargo mutants` names them, with line and column.
fn list() -> Result<Vec<String>, String> {
    let listed = mutants(&["--list"]).output();
    let listed = listed.map_err(|error| format!("cargo: {error}"))?;
    if !listed.status.success() {
        let error = String::from_utf8_lossy(&listed.stderr);
        return Err(format!(
            "{error}\ncargo mutants is needed: cargo install --locked cargo-mutants"
        ));
    }
    let text = String::from_utf8_lossy(&listed.stdout);
    Ok(text.lines().map(str::to_owned).collect())
}

/// Runs the tests on each mutant of a seed. That mutants survive is no error.
fn test_mutants(seed: u64) -> Result<(), String> {
    let output = crate::root().join(OUTPUT);
    fs::create_dir_all(&output).map_err(|error| format!("{OUTPUT}: {error}"))?;
    let shard = format!("{}/{SHARE}", seed % SHARE);
    let mut command = mutants(&["--no-times", "--output", OUTPUT, "--shard", &shard]);
    command.args(["--sharding", "round-robin"]);
    let status = command
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    // All noticed, some survived, some took too long.
    match status.code() {
        Some(0 | 2 | 3) => Ok(()),
        _ => Err(format!("cargo mutants: {status}")),
    }
}

/// `cargo mutants` on the crate, with arguments.
fn mutants(arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["mutants", "--package", PACKAGE, "--colors", "never"]);
    command.args(arguments).current_dir(crate::root());
    command
}

/// Names that survive changes elsewhere in a file: without line and column, and with a number where
/// several are equal.
fn names(all: &[String]) -> BTreeMap<&str, String> {
    let mut met = BTreeMap::new();
    let name = |mutant: &str| {
        let mut parts = mutant.splitn(4, ':');
        let file = parts.next().unwrap_or_default();
        let change = parts.nth(2).unwrap_or_default();
        let count: &mut usize = met.entry(format!("{file}:{change}")).or_default();
        *count += 1;
        match *count {
            1 => format!("{file}:{change}"),
            number => format!("{file}:{change} #{number}"),
        }
    };
    let mut name = name;
    all.iter()
        .map(|mutant| (mutant.as_str(), name(mutant)))
        .collect()
}

/// The names of the mutants in one of the lists that `cargo mutants` writes.
fn outcome(file: &str, names: &BTreeMap<&str, String>) -> Result<BTreeSet<String>, String> {
    let path = Path::new(OUTPUT).join("mutants.out").join(file);
    let text = fs::read_to_string(crate::root().join(&path));
    let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text
        .lines()
        .filter_map(|line| names.get(line).cloned())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn names_do_not_depend_on_lines() {
        let all = [
            "a.rs:1:2: replace < with > in f",
            "a.rs:9:2: replace < with > in f",
        ];
        let all = all.map(str::to_owned);
        let names = names(&all);
        assert_eq!(names[all[0].as_str()], "a.rs: replace < with > in f");
        assert_eq!(names[all[1].as_str()], "a.rs: replace < with > in f #2");
    }

    #[test]
    fn the_list_only_shrinks() {
        let review = Review::new("a\nb\n", &set(&["b", "c"]), &set(&["a", "d"]));
        assert_eq!(review.new, ["c"]);
        assert_eq!(review.killed, ["a"]);
        assert_eq!(review.list, "b\n");
    }
}
