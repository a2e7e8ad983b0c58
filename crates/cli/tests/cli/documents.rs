//! Runs every command in the documents and compares its output with theirs.
//!
//! Each page gets its own folder, with `examples/` and `data/` in it as in a checkout. In a
//! `console` block a line that begins with `$` is run by `sh` (a final `\` joins the next line),
//! and the lines below are its output, in which `...` matches any lines if it is alone on a line,
//! and any text otherwise. A block with `file=NAME` is first appended to that file, after earlier
//! blocks of the same name.
//!
//! Commands that cannot run here, because they build the program or need a device, are in `sh`
//! blocks. Tests of the Python module run `python` blocks; the README's Rust code is a doc test.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

struct Block {
    /// The line of its fence, from 1.
    line: usize,
    /// The text after the fence: a language, and perhaps a file.
    kind: String,
    lines: Vec<String>,
}

/// Prefixes of lines allowed in `sh` blocks: only commands that this test cannot run.
const ELSEWHERE: &[&str] = &[
    "git", "cargo", "make", "pip", "sudo", "blktrace", "fio", "man", "nbdcopy", "nbdinfo",
    "qemu-img",
];

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns the paths of the pages from the root.
fn pages() -> Vec<PathBuf> {
    let mut found = ["README.md", "data/README.md", "examples/README.md"]
        .map(PathBuf::from)
        .to_vec();
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn blocks(text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open = false;
    for (line, content) in (1..).zip(text.lines()) {
        match content.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(kind) => {
                open = true;
                let kind = kind.to_owned();
                let lines = Vec::new();
                found.push(Block { line, kind, lines });
            }
            None if open => found.last_mut().unwrap().lines.push(content.to_owned()),
            None => {}
        }
    }
    found
}

/// Returns true if the lines match `expected`.
fn matches_lines(expected: &[&str], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((&"...", rest)) => (0..=lines.len()).any(|skip| matches_lines(rest, &lines[skip..])),
        Some((first, rest)) => match lines.split_first() {
            Some((line, others)) => matches_line(first, line) && matches_lines(rest, others),
            None => false,
        },
    }
}

fn matches_line(expected: &str, line: &str) -> bool {
    match expected.split_once("...") {
        None => expected == line,
        Some((before, after)) => line.strip_prefix(before).is_some_and(|rest| {
            let mut starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            starts.any(|at| matches_line(after, &rest[at..]))
        }),
    }
}

/// Runs `command` in `folder`.
fn run(command: &str, folder: &Path) -> (bool, String) {
    let programs = Path::new(env!("CARGO_BIN_EXE_diskarm")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("HOME", folder)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.success(), text)
}

/// Returns the commands of a block, each with its output.
fn commands(block: &Block) -> Vec<(String, Vec<&str>)> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    let mut is_continued = false;
    for line in &block.lines {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) if !is_continued => found.push((command.to_owned(), Vec::new())),
            (_, Some((command, _))) if is_continued => *command += &format!("\n{line}"),
            (_, Some((_, output))) => output.push(line),
            (_, None) => panic!("line {}: output before a command", block.line),
        }
        is_continued = line.ends_with('\\');
    }
    found
}

/// Returns the errors in the blocks of a page.
fn page_errors(page: &Path) -> Vec<String> {
    let name = page.display();
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let number = name.to_string().replace(['/', '.'], "-");
    let folder = std::env::temp_dir().join(format!("diskarm-{}-{number}", std::process::id()));
    std::fs::create_dir_all(folder.join("examples")).unwrap();
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let entry = entry.unwrap();
        let copy = folder.join("examples").join(entry.file_name());
        std::fs::copy(entry.path(), copy).unwrap();
    }
    std::os::unix::fs::symlink(root().join("data"), folder.join("data")).unwrap();
    let mut errors = Vec::new();
    for block in blocks(&text) {
        let at = |what: String| format!("{name}:{}: {what}", block.line);
        errors.extend(block_errors(&block, page, &folder).into_iter().map(at));
    }
    std::fs::remove_dir_all(&folder).unwrap();
    errors
}

fn block_errors(block: &Block, page: &Path, folder: &Path) -> Vec<String> {
    let (language, file) = match block.kind.split_once(" file=") {
        Some((language, file)) => (language, Some(file)),
        None => (block.kind.as_str(), None),
    };
    if let Some(file) = file {
        let path = folder.join(file);
        let above = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(path, above + &block.lines.join("\n") + "\n").unwrap();
        return Vec::new();
    }
    match language {
        "console" => {
            let ran = commands(block).into_iter();
            ran.filter_map(|(command, expected)| {
                let (is_well, text) = run(&command, folder);
                let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
                let is_documented = expected.is_empty() || matches_lines(&expected, &lines);
                (!is_well || !is_documented).then(|| format!("{command}\nprinted\n{text}"))
            })
            .collect()
        }
        "sh" => {
            let first = |line: &String| line.split_whitespace().next().map(str::to_owned);
            let strays = block.lines.iter().filter_map(first);
            let strays = strays.filter(|word| !ELSEWHERE.contains(&word.as_str()));
            strays
                .map(|word| format!("{word:?} can be run: make it a console block"))
                .collect()
        }
        "rust" if page == Path::new("README.md") => Vec::new(),
        // Read by the test of the reference itself.
        "toml" if page == Path::new("docs/specification.md") => Vec::new(),
        "python" | "text" => Vec::new(),
        other => vec![format!("{other:?} is not a kind of block that is tested")],
    }
}

#[test]
fn every_command_of_every_page_prints_the_documented_output() {
    let pages = pages();
    let errors: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = pages
            .iter()
            .map(|page| scope.spawn(move || page_errors(page)))
            .collect();
        runs.into_iter()
            .flat_map(|run| run.join().unwrap())
            .collect()
    });
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

#[test]
fn dots_match_anything() {
    let lines = ["a", "b 1 c", "d"];
    assert!(matches_lines(&["a", "b ... c", "d"], &lines));
    assert!(matches_lines(&["...", "d"], &lines) && matches_lines(&["a", "..."], &lines));
    assert!(
        !matches_lines(&["a", "d"], &lines) && !matches_lines(&["...", "b ... x", "..."], &lines)
    );
    assert!(!matches_lines(&["a"], &lines) && matches_lines(&["..."], &[]));
}

/// Checks that pages are found: otherwise the tests would pass without testing anything.
#[test]
fn the_book_and_the_readmes_are_found() {
    let pages: BTreeSet<PathBuf> = pages().into_iter().collect();
    for page in ["README.md", "docs/tutorial.md", "docs/how-to/own-trace.md"] {
        assert!(pages.contains(Path::new(page)), "{page}");
    }
}
