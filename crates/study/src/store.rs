//! Stores finished runs, so that none is repeated: a line is appended when a run ends.
//!
//! A folder belongs to one process at a time. If the process is killed, the file may end in an
//! incomplete line, which the next process drops. Each line has a checksum; a run whose line was
//! changed is ignored. When the study is finished, damaged lines and runs of other builds of the
//! program are removed; runs that the study no longer needs are kept.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use diskarm_core::text::with_noun;
use diskarm_results::output_file::OutputFile;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{BUILD, StudyError, VERSION};
use crate::job::hex;
use crate::output::{Folder, LOCK, RUNS};

/// A finished run, as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRun {
    /// The build of the program, a hyphen, and a digest of everything else that the run depends on.
    pub key: String,
    /// A number for each column of its measure; `None` if it was saturated.
    pub figures: Option<Vec<Option<f64>>>,
}

pub(crate) type StoredRuns = BTreeMap<String, Option<Vec<Option<f64>>>>;

/// The runs in a folder, locked for this process.
pub struct Store {
    path: PathBuf,
    output: OutputFile,
    file: File,
    contents: Contents,
    /// Locked as long as the store exists.
    _lock: File,
}

impl Store {
    /// Opens the store in `folder`, which is created if necessary. Fails if the folder is in use,
    /// was written by another version, cannot be written, or has a file `runs.jsonl` that is not a
    /// store.
    pub fn open(folder: &Folder) -> Result<Self, StudyError> {
        let lock = lock_folder(folder.path())?;
        let path = folder.path().join(RUNS);
        let cannot_write = |e| StudyError::cannot_write(&path, e);
        let mut file = open_file(&path)?;
        let output = folder.output_file(RUNS)?;
        let bytes = fs::read(&path).map_err(|e| StudyError::cannot_read(&path, e))?;
        // An incomplete line may follow the last line end, or be the only line.
        let complete = bytes.iter().rposition(|byte| *byte == b'\n');
        let complete = complete.map_or(0, |end| end + 1);
        let is_new = complete == 0 && head().as_bytes().starts_with(&bytes);
        let lines = if complete == 0 {
            &bytes
        } else {
            &bytes[..complete]
        };
        let contents = if is_new {
            Contents::default()
        } else {
            // A line that is not UTF-8 does not match its checksum.
            Contents::read(&String::from_utf8_lossy(lines), &path)?
        };
        // The file is not changed before it is known to be a store of this version.
        truncate(&mut file, complete as u64).map_err(cannot_write)?;
        // The head may have lacked its line end and been truncated.
        if complete == 0 {
            file.write_all(head().as_bytes()).map_err(cannot_write)?;
        }
        Ok(Self {
            path,
            output,
            file,
            contents,
            _lock: lock,
        })
    }

    /// Returns the number of runs of other builds of the program, which must be repeated.
    pub fn foreign_count(&self) -> usize {
        self.contents.foreign
    }

    /// Returns a warning about the damaged lines, if any: their runs are ignored.
    pub fn damage(&self) -> Option<String> {
        let (first, others) = self.contents.damaged.split_first()?;
        let file = self.path.display();
        Some(match others.len() {
            0 => format!("{file}:{first}: damaged line: its run is ignored"),
            more => {
                let more = with_noun(more, "other line");
                format!("{file}:{first}: this and {more} are damaged: their runs are ignored")
            }
        })
    }

    pub(crate) fn known_runs(&self) -> &StoredRuns {
        &self.contents.known
    }

    /// Stores a run. If it cannot be written, for example to a full disk, earlier runs are kept.
    pub fn keep(&mut self, run: &StoredRun) -> Result<(), StudyError> {
        let end = self.file.stream_position();
        let written = end.and_then(|end| {
            let written = self.file.write_all(line(run).as_bytes());
            // Without this, the next run would be appended to an incomplete line.
            written.inspect_err(|_| drop(truncate(&mut self.file, end)))
        });
        written.map_err(|e| StudyError::cannot_write(&self.path, e))?;
        self.contents
            .known
            .insert(run.key.clone(), run.figures.clone());
        Ok(())
    }

    /// Rewrites the file in an order that does not depend on which run ended first: the runs of
    /// `keys`, then all others of this build. If that fails, the file is unchanged.
    pub(crate) fn put_in_order(&mut self, keys: &[String]) -> Result<(), StudyError> {
        let mut left = self.contents.known.clone();
        let needed = keys.iter().filter_map(|key| left.remove_entry(key));
        let needed: Vec<_> = needed.collect();
        let runs = needed.into_iter().chain(left);
        let lines = runs.map(|(key, figures)| line(&StoredRun { key, figures }));
        let text = head() + &lines.collect::<String>();
        self.output.clone().write(text.as_bytes())?;
        self.contents.foreign = 0;
        self.contents.damaged.clear();
        // The old handle belongs to the replaced file.
        self.file = open_file(&self.path)?;
        let end = self.file.seek(SeekFrom::End(0));
        end.map_err(|e| StudyError::cannot_write(&self.path, e))?;
        Ok(())
    }
}

/// Creates `folder` if necessary, and locks it for this process.
fn lock_folder(folder: &Path) -> Result<File, StudyError> {
    fs::create_dir_all(folder).map_err(|e| StudyError::cannot_write(folder, e))?;
    let path = folder.join(LOCK);
    let held = open_file(&path)?;
    match held.try_lock() {
        Ok(()) => Ok(held),
        Err(TryLockError::WouldBlock) => Err(StudyError::Busy(folder.to_owned())),
        Err(TryLockError::Error(e)) => Err(StudyError::cannot_write(&path, e)),
    }
}

fn open_file(path: &Path) -> Result<File, StudyError> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    let opened = options.open(path);
    let file = opened.map_err(|e| StudyError::cannot_write(path, e))?;
    // Reading a device may never end.
    if file.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let error = io::Error::other("found a device or a pipe, expected a file");
        return Err(StudyError::cannot_read(path, error));
    }
    Ok(file)
}

/// Truncates the file at `end` and continues writing there.
fn truncate(file: &mut File, end: u64) -> io::Result<u64> {
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end))
}

fn head() -> String {
    format!("{{\"version\":{VERSION:?}}}\n")
}

const CHECKSUM: &str = ",\"sha256\":\"";

/// Returns the line of a run: a JSON object whose last field is the checksum of all others.
fn line(run: &StoredRun) -> String {
    let mut line = serde_json::to_string(run).expect("plain data can be serialised");
    let sum = checksum(&line);
    // The closing brace comes after the checksum.
    line.pop();
    line + CHECKSUM + &sum + "\"}\n"
}

fn checksum(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..8])
}

/// Returns the run of a line, if its checksum matches.
fn run_of(line: &str) -> Option<StoredRun> {
    let (run, sum) = line.strip_suffix("\"}")?.rsplit_once(CHECKSUM)?;
    let run = format!("{run}}}");
    (checksum(&run) == sum).then(|| serde_json::from_str(&run).ok())?
}

/// Returns true if the line was written by another build, before lines had a checksum.
fn is_of_earlier_build(line: &str) -> bool {
    let own = |run: &StoredRun| run.key.starts_with(&format!("{}-", BUILD));
    !line.contains(CHECKSUM) && serde_json::from_str(line).is_ok_and(|run| !own(&run))
}

#[derive(Default)]
struct Contents {
    known: StoredRuns,
    foreign: usize,
    /// The numbers of the damaged lines.
    damaged: Vec<usize>,
}

impl Contents {
    fn read(text: &str, path: &Path) -> Result<Self, StudyError> {
        let mut lines = (1..).zip(text.lines());
        if let Some((line, first)) = lines.next() {
            #[derive(Deserialize)]
            struct Head {
                version: String,
            }
            let head: Head = serde_json::from_str(first).map_err(|error| StudyError::Store {
                path: path.to_owned(),
                line,
                why: format!("found something else ({error}), expected the runs of a study"),
            })?;
            if head.version != VERSION {
                return Err(StudyError::OtherVersion {
                    path: path.to_owned(),
                    found: head.version,
                });
            }
        }
        let mut contents = Self::default();
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
                Some((BUILD, _)) => {
                    contents.known.insert(run.key, run.figures);
                }
                _ => contents.foreign += 1,
            }
        }
        Ok(contents)
    }
}

#[cfg(test)]
mod tests;
