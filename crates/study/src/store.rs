//! Finished runs: one line each, appended when the run ends, never simulated again.
//!
//! A folder belongs to one process at a time. If the process is killed, the file may end in an
//! incomplete line, which the next process drops. Each line has a checksum; a run whose line was
//! changed does not count. Runs that the study no longer needs stay; damaged ones and those of
//! another build of the program are removed when the study is finished.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use diskarm_results::output_file::OutputFile;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::StudyError;
use crate::output::{Folder, LOCK, RUNS};
use crate::verdicts::counted;

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRun {
    /// The build of the program, a hyphen, and a digest of everything else that it depends on.
    pub key: String,
    /// A number for each column of its measure; `None` if it was saturated.
    pub figures: Option<Vec<Option<f64>>>,
}

/// The first line of a store.
#[derive(Serialize, Deserialize)]
struct Head {
    /// The version of the program that wrote it.
    version: String,
}

/// The results of finished runs, by key.
pub(crate) type StoredRuns = BTreeMap<String, Option<Vec<Option<f64>>>>;

/// The runs in a folder, locked for this process.
pub struct Store {
    path: PathBuf,
    place: OutputFile,
    file: File,
    known: StoredRuns,
    /// The number of further runs in the file, made by another build.
    foreign: usize,
    /// The numbers of the lines whose checksum is wrong or missing.
    damaged: Vec<usize>,
    /// Locked as long as the store exists.
    _lock: File,
}

impl Store {
    /// Opens the store in `folder`, which is created if necessary, and removes what killed
    /// processes have left there.
    ///
    /// # Errors
    /// If the folder is in use, was written by another version, cannot be written, or holds
    /// something else.
    pub fn open(folder: &Folder) -> Result<Self, StudyError> {
        let held = locked(folder.path())?;
        folder.remove_leftovers();
        let path = folder.path().join(RUNS);
        let cannot_write = |e| StudyError::cannot_write(&path, e);
        let mut file = opened(&path)?;
        // The runs may be on another disk, if the file is a link.
        let place = folder.place(RUNS)?.following_links();
        let bytes = fs::read(&path).map_err(|e| StudyError::cannot_read(&path, e))?;
        // Whatever follows the last line end is an incomplete line, even if it is the first line.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        let whole = whole.map_or(0, |end| end + 1);
        let is_new = whole == 0 && head().as_bytes().starts_with(&bytes);
        let lines = if whole == 0 { &bytes } else { &bytes[..whole] };
        let contents = match is_new {
            true => Contents::default(),
            // What is not UTF-8 does not have its checksum any more.
            false => read(&String::from_utf8_lossy(lines), &path)?,
        };
        // The file is changed only now that it is known to be a store of this version.
        cut(&mut file, whole as u64).map_err(cannot_write)?;
        // Also where the head lacked its line end and was cut.
        if whole == 0 {
            file.write_all(head().as_bytes()).map_err(cannot_write)?;
        }
        Ok(Self {
            path,
            place,
            file,
            known: contents.known,
            foreign: contents.foreign,
            damaged: contents.damaged,
            _lock: held,
        })
    }

    /// The number of runs made by another build of the program, which have to be repeated.
    pub fn foreign_count(&self) -> usize {
        self.foreign
    }

    /// Names the damaged lines, if any: their runs do not count.
    pub fn damage(&self) -> Option<String> {
        let (first, others) = self.damaged.split_first()?;
        let place = self.path.display();
        Some(match others.len() {
            0 => format!("{place}:{first}: damaged line, its run does not count"),
            more => {
                let more = counted(more, "other line");
                format!("{place}:{first}: this and {more} are damaged, their runs do not count")
            }
        })
    }

    pub(crate) fn known(&self) -> &StoredRuns {
        &self.known
    }

    /// Stores a run.
    ///
    /// # Errors
    /// If it cannot be written, for example to a full disk; earlier runs stay.
    pub fn keep(&mut self, run: &StoredRun) -> Result<(), StudyError> {
        let end = self.file.stream_position();
        let written = end.and_then(|end| {
            let written = self.file.write_all(line(run).as_bytes());
            // Otherwise the next run would be appended to an incomplete line.
            written.inspect_err(|_| drop(cut(&mut self.file, end)))
        });
        written.map_err(|e| StudyError::cannot_write(&self.path, e))?;
        self.known.insert(run.key.clone(), run.figures.clone());
        Ok(())
    }

    /// Rewrites the file in an order that does not depend on which run ended first: the runs of
    /// `keys`, then all others of this build.
    ///
    /// # Errors
    /// If the file cannot be written; the store is then unchanged.
    pub(crate) fn put_in_order(&mut self, keys: &[String]) -> Result<(), StudyError> {
        let mut left = self.known.clone();
        let mut text = head();
        for key in keys {
            if let Some(figures) = left.remove(key) {
                text += &line(&StoredRun {
                    key: key.clone(),
                    figures,
                });
            }
        }
        for (key, figures) in left {
            text += &line(&StoredRun { key, figures });
        }
        self.place.clone().write(text.as_bytes())?;
        self.foreign = 0;
        self.damaged.clear();
        // The old handle belongs to the replaced file.
        self.file = opened(&self.path)?;
        let end = self.file.seek(SeekFrom::End(0));
        end.map_err(|e| StudyError::cannot_write(&self.path, e))?;
        Ok(())
    }
}

/// Creates `folder` if necessary, and locks it for this process.
fn locked(folder: &Path) -> Result<File, StudyError> {
    fs::create_dir_all(folder).map_err(|e| StudyError::cannot_write(folder, e))?;
    let path = folder.join(LOCK);
    let held = opened(&path)?;
    match held.try_lock() {
        Ok(()) => Ok(held),
        Err(TryLockError::WouldBlock) => Err(StudyError::Busy(folder.to_owned())),
        Err(TryLockError::Error(e)) => Err(StudyError::cannot_write(&path, e)),
    }
}

/// Opens the file at `path`, which is created if necessary.
fn opened(path: &Path) -> Result<File, StudyError> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.open(path);
    let file = file.map_err(|e| StudyError::cannot_write(path, e))?;
    // A device may have no end.
    if file.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let error = io::Error::other("found a device or a pipe, expected a file");
        return Err(StudyError::cannot_read(path, error));
    }
    Ok(file)
}

/// Truncates the file at `end` and continues writing there.
fn cut(file: &mut File, end: u64) -> io::Result<u64> {
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end))
}

fn head() -> String {
    let version = crate::error::VERSION.to_owned();
    serde_json::to_string(&Head { version }).expect("plain data") + "\n"
}

/// The separator between a run and its checksum.
const CHECKSUM: &str = ",\"sha256\":\"";

/// The line of a run: a JSON object whose last field is the checksum of the object without it.
fn line(run: &StoredRun) -> String {
    let mut line = serde_json::to_string(run).expect("plain data");
    let sum = checksum(&line);
    // The closing brace comes after the checksum.
    line.pop();
    line + CHECKSUM + &sum + "\"}\n"
}

/// The first 16 hexadecimal digits of SHA-256.
fn checksum(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The run of a line, if the line is as it was written.
fn run_of(line: &str) -> Option<StoredRun> {
    let (run, sum) = line.strip_suffix("\"}")?.rsplit_once(CHECKSUM)?;
    let run = format!("{run}}}");
    (checksum(&run) == sum).then(|| serde_json::from_str(&run).ok())?
}

/// Returns true if a line is that of another build, from before lines had a checksum.
fn is_of_earlier_build(line: &str) -> bool {
    let own = |run: &StoredRun| run.key.starts_with(&format!("{}-", crate::error::BUILD));
    !line.contains(CHECKSUM) && serde_json::from_str(line).is_ok_and(|run| !own(&run))
}

/// The contents of a store.
#[derive(Default)]
struct Contents {
    /// The runs of this build.
    known: StoredRuns,
    /// The number of runs of other builds.
    foreign: usize,
    /// The numbers of the damaged lines.
    damaged: Vec<usize>,
}

fn read(text: &str, path: &Path) -> Result<Contents, StudyError> {
    let mut lines = (1..).zip(text.lines());
    if let Some((line, first)) = lines.next() {
        let head: Head = serde_json::from_str(first).map_err(|error| StudyError::Store {
            path: path.to_owned(),
            line,
            why: format!("found something else ({error}), expected the runs of a study"),
        })?;
        if head.version != crate::error::VERSION {
            return Err(StudyError::OtherVersion {
                path: path.to_owned(),
                found: head.version,
            });
        }
    }
    let mut contents = Contents::default();
    for (number, line) in lines {
        let Some(run) = run_of(line) else {
            if is_of_earlier_build(line) {
                contents.foreign += 1
            } else {
                contents.damaged.push(number)
            }
            continue;
        };
        match run.key.split_once('-') {
            Some((crate::error::BUILD, _)) => {
                contents.known.insert(run.key, run.figures);
            }
            _ => contents.foreign += 1,
        }
    }
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Files;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("diskarm-store-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    fn open(path: &Path) -> Result<Store, StudyError> {
        Store::open(&Folder::new(path, "folder", Files::default())?)
    }

    fn key_of(name: &str) -> String {
        format!("{}-{name}", crate::error::BUILD)
    }

    fn run(key: &str, figure: f64) -> StoredRun {
        let figures = Some(vec![Some(figure), None]);
        StoredRun {
            key: key_of(key),
            figures,
        }
    }

    #[test]
    fn a_truncated_store_keeps_all_complete_lines() {
        let folder = folder("cut");
        let mut store = open(&folder).unwrap();
        // Numbers that need all their digits.
        let runs = [run("a", 0.1 + 0.2), run("b", 1e300), run("c", -5e-324)];
        runs.iter().for_each(|run| store.keep(run).unwrap());
        drop(store);
        let path = folder.join("runs.jsonl");
        let whole = fs::read(&path).unwrap();
        for length in 0..=whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let lines = whole[..length]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count();
            let store = open(&folder).unwrap();
            let kept: Vec<StoredRun> = store
                .known()
                .iter()
                .map(|(key, figures)| StoredRun {
                    key: key.clone(),
                    figures: figures.clone(),
                })
                .collect();
            assert_eq!(kept, runs[..lines.saturating_sub(1)], "{length}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    /// Such as `/dev/zero`, which would be read without an end.
    #[cfg(unix)]
    #[test]
    fn a_store_that_is_a_device_is_refused() {
        let folder = folder("device");
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink("/dev/null", folder.join("runs.jsonl")).unwrap();
        let error = open(&folder).err().expect("refused").to_string();
        let expected = "runs.jsonl: cannot read: found a device or a pipe, expected a file";
        assert!(error.ends_with(expected), "{error}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_head_without_its_line_end_is_written_again() {
        let folder = folder("head");
        fs::create_dir_all(&folder).unwrap();
        // Not a prefix of what the program writes, and yet a head.
        fs::write(
            folder.join("runs.jsonl"),
            format!("\t{}", head().trim_end()),
        )
        .unwrap();
        open(&folder).unwrap().keep(&run("a", 1.0)).unwrap();
        let text = fs::read_to_string(folder.join("runs.jsonl")).unwrap();
        assert_eq!(text, head() + &line(&run("a", 1.0)));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_has_one_process_and_one_version() {
        let folder = folder("busy");
        let store = open(&folder).unwrap();
        assert!(matches!(open(&folder), Err(StudyError::Busy(_))));
        drop(store);
        let path = folder.join("runs.jsonl");
        fs::write(&path, "{\"version\":\"0.0.1\"}\n").unwrap();
        let error = open(&folder).err().unwrap().to_string();
        assert!(error.contains("version: found \"0.0.1\""), "{error}");
        for other in ["my notes, not ended", "{\"version\":\"0.0.1\"}\npart"] {
            fs::write(&path, other).unwrap();
            open(&folder).err().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
        }
        fs::write(&path, "nonsense\n").unwrap();
        let error = open(&folder).err().unwrap().to_string();
        assert!(
            error.contains("runs.jsonl:1: found something else ("),
            "{error}"
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    /// Whichever bit of a line is changed, its run does not count and the others do. A changed line
    /// end spoils the next line too.
    #[test]
    fn a_changed_run_does_not_count() {
        let folder = folder("damaged");
        let mut store = open(&folder).unwrap();
        for name in ["a", "b", "c"] {
            store.keep(&run(name, 12.5)).unwrap();
        }
        drop(store);
        let path = folder.join("runs.jsonl");
        let whole = fs::read(&path).unwrap();
        let size = line(&run("a", 12.5)).len();
        let second = head().len() + size;
        for at in second..second + size {
            for bit in [0, 3, 7] {
                let mut changed = whole.clone();
                changed[at] ^= 1 << bit;
                fs::write(&path, &changed).unwrap();
                let store = open(&folder).unwrap();
                let known: Vec<&String> = store.known().keys().collect();
                let is_end = at == second + size - 1;
                let kept = if is_end { &["a"][..] } else { &["a", "c"] };
                let kept: Vec<String> = kept.iter().map(|name| key_of(name)).collect();
                assert_eq!(
                    known,
                    kept.iter().collect::<Vec<_>>(),
                    "byte {at}, bit {bit}"
                );
                let warning = store.damage().unwrap();
                assert!(warning.contains("runs.jsonl:3: damaged line"), "{warning}");
            }
        }
        fs::write(&path, head() + "nonsense\n\n{}\n").unwrap();
        let mut store = open(&folder).unwrap();
        let warning = store.damage().unwrap();
        let expected = "runs.jsonl:2: this and 2 other lines are damaged, their runs do not count";
        assert!(warning.ends_with(expected), "{warning}");
        store.put_in_order(&[]).unwrap();
        assert_eq!(store.damage(), None);
        assert_eq!(fs::read_to_string(&path).unwrap(), head());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn runs_without_a_checksum_are_those_of_earlier_builds() {
        let folder = folder("earlier");
        drop(open(&folder).unwrap());
        let path = folder.join("runs.jsonl");
        let earlier = "{\"key\":\"0123-a\",\"figures\":[12.5,null]}\n";
        fs::write(&path, head() + earlier).unwrap();
        let store = open(&folder).unwrap();
        assert_eq!((store.foreign_count(), store.damage()), (1, None));
        drop(store);
        // One of this build lost its checksum.
        fs::write(&path, head() + &earlier.replace("0123-a", &key_of("a"))).unwrap();
        let store = open(&folder).unwrap();
        assert!(store.known().is_empty() && store.damage().is_some());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_file_does_not_depend_on_the_order_of_runs() {
        let folder = folder("order");
        let keys = ["b", "a"].map(key_of);
        let mut texts = Vec::new();
        for order in [["a", "b", "x"], ["x", "b", "a"]] {
            let mut store = open(&folder).unwrap();
            order
                .iter()
                .for_each(|key| store.keep(&run(key, 1.0)).unwrap());
            store.put_in_order(&keys).unwrap();
            texts.push(fs::read_to_string(folder.join("runs.jsonl")).unwrap());
            // Later runs are appended.
            store.keep(&run("y", 2.0)).unwrap();
            let text = fs::read_to_string(folder.join("runs.jsonl")).unwrap();
            assert_eq!(text, texts[0].clone() + &line(&run("y", 2.0)));
            fs::remove_dir_all(&folder).unwrap();
        }
        assert_eq!(texts[0], texts[1]);
        let expected = ["b", "a", "x"].map(|key| line(&run(key, 1.0))).concat();
        assert_eq!(texts[0], head() + &expected);
    }

    #[test]
    fn runs_of_another_build_are_ignored_and_then_removed() {
        let folder = folder("foreign");
        let mut store = open(&folder).unwrap();
        store.keep(&run("a", 1.0)).unwrap();
        let mut other = run("b", 1.0);
        other.key = "0123456789abcdef-b".to_owned();
        store.keep(&other).unwrap();
        drop(store);
        let mut store = open(&folder).unwrap();
        assert_eq!(store.foreign_count(), 1);
        let known: Vec<&String> = store.known().keys().collect();
        assert_eq!(known, [&key_of("a")]);
        store.put_in_order(&[key_of("a")]).unwrap();
        let text = fs::read_to_string(folder.join("runs.jsonl")).unwrap();
        assert_eq!(text, head() + &line(&run("a", 1.0)));
        fs::remove_dir_all(&folder).unwrap();
    }
}
