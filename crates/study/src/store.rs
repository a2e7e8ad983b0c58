//! The runs of a study that are done: a line each, appended as it ends, never computed again.
//!
//! A folder belongs to one run of the program at a time. Killed at any instant, the file ends in
//! a whole line or in part of one, which the next run drops. Runs that the study no longer asks
//! for stay; those of another build of the program go when the study is done, as no key of this
//! build is like theirs.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::StudyError;
use crate::files::replace;

/// A run that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// The build that made it, a hyphen, and a digest of everything else that it depends on.
    pub key: String,
    /// A number to each column of its measure; `None` where it was saturated.
    pub figures: Option<Vec<Option<f64>>>,
}

/// The first line of a store.
#[derive(Serialize, Deserialize)]
struct Head {
    /// Of the program that wrote it.
    version: String,
}

/// Runs that are done, by their keys.
pub(crate) type Known = BTreeMap<String, Option<Vec<Option<f64>>>>;

/// The runs that a folder holds, for this run of the program alone.
pub struct Store {
    path: PathBuf,
    file: File,
    known: Known,
    /// How many more the file holds that another build made.
    foreign: usize,
    /// Held as long as the store is.
    _lock: File,
}

impl Store {
    /// The store in `folder`, which is made if it is absent.
    ///
    /// # Errors
    /// When the folder is in use, was written by another version, cannot be written, or holds
    /// something else.
    pub fn open(folder: &Path) -> Result<Self, StudyError> {
        fs::create_dir_all(folder).map_err(|e| StudyError::cannot_write(folder, e))?;
        let lock = folder.join("lock");
        let held = File::create(&lock).map_err(|e| StudyError::cannot_write(&lock, e))?;
        match held.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StudyError::Busy(folder.to_owned())),
            Err(TryLockError::Error(e)) => return Err(StudyError::cannot_write(&lock, e)),
        }
        let path = folder.join("runs.jsonl");
        let cannot_write = |e| StudyError::cannot_write(&path, e);
        let mut file = opened(&path)?;
        let text = fs::read_to_string(&path).map_err(|e| StudyError::cannot_read(&path, e))?;
        // What comes behind the last line's end is part of a line that was not finished, the first
        // one's too.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let is_new = whole == 0 && head().starts_with(&text);
        let (known, foreign) = match (is_new, whole) {
            (true, _) => (Known::new(), 0),
            (false, 0) => read(&text, &path)?,
            (false, _) => read(&text[..whole], &path)?,
        };
        // Nothing is cut before it is known to be a store of this version.
        cut(&mut file, whole as u64).map_err(cannot_write)?;
        if is_new {
            file.write_all(head().as_bytes()).map_err(cannot_write)?;
        }
        Ok(Self {
            path,
            file,
            known,
            foreign,
            _lock: held,
        })
    }

    /// How many runs are there that another build of the program made, and that this one makes
    /// again.
    pub fn foreign_count(&self) -> usize {
        self.foreign
    }

    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    /// Keeps a run.
    ///
    /// # Errors
    /// When it cannot be written, such as to a full disk; runs kept before stay.
    pub fn keep(&mut self, run: &Stored) -> Result<(), StudyError> {
        let end = self.file.stream_position();
        let written = end.and_then(|end| {
            let written = self.file.write_all(line(run).as_bytes());
            // Else what is kept next would be joined to a part of a line.
            written.inspect_err(|_| drop(cut(&mut self.file, end)))
        });
        written.map_err(|e| StudyError::cannot_write(&self.path, e))?;
        self.known.insert(run.key.clone(), run.figures.clone());
        Ok(())
    }

    /// Writes the runs again in an order that does not depend on which ended first: those of
    /// `keys`, then all others of this build.
    ///
    /// # Errors
    /// When that cannot be written; the store is then as it was.
    pub(crate) fn put_in_order(&mut self, keys: &[String]) -> Result<(), StudyError> {
        let mut left = self.known.clone();
        let mut text = head();
        for key in keys {
            if let Some(figures) = left.remove(key) {
                text += &line(&Stored {
                    key: key.clone(),
                    figures,
                });
            }
        }
        for (key, figures) in left {
            text += &line(&Stored { key, figures });
        }
        replace(&self.path, text.as_bytes())?;
        self.foreign = 0;
        // The handle was of the file that is replaced.
        self.file = opened(&self.path)?;
        let end = self.file.seek(SeekFrom::End(0));
        end.map_err(|e| StudyError::cannot_write(&self.path, e))?;
        Ok(())
    }
}

/// The file at `path`, made if it is absent.
fn opened(path: &Path) -> Result<File, StudyError> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.open(path);
    file.map_err(|e| StudyError::cannot_write(path, e))
}

/// Makes `end` the end of the file, and the place to write at.
fn cut(file: &mut File, end: u64) -> io::Result<u64> {
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end))
}

fn head() -> String {
    let version = crate::version::VERSION.to_owned();
    serde_json::to_string(&Head { version }).expect("plain data") + "\n"
}

fn line(run: &Stored) -> String {
    serde_json::to_string(run).expect("plain data") + "\n"
}

/// The runs of this build, and how many there are of others.
fn read(text: &str, path: &Path) -> Result<(Known, usize), StudyError> {
    let mut lines = text.lines().enumerate();
    let wrong = |line: usize, why: &serde_json::Error| StudyError::Store {
        path: path.to_owned(),
        line: line + 1,
        why: format!(
            "found no run of a study, expected one a line ({why}; without this line its run is \
             simulated again)"
        ),
    };
    if let Some((number, first)) = lines.next() {
        let head: Head = serde_json::from_str(first).map_err(|e| wrong(number, &e))?;
        if head.version != crate::version::VERSION {
            return Err(StudyError::OtherVersion {
                path: path.to_owned(),
                found: head.version,
            });
        }
    }
    let (mut known, mut foreign) = (Known::new(), 0);
    for (number, line) in lines {
        let run: Stored = serde_json::from_str(line).map_err(|e| wrong(number, &e))?;
        match run.key.split_once('-') {
            Some((crate::version::BUILD, _)) => drop(known.insert(run.key, run.figures)),
            _ => foreign += 1,
        }
    }
    Ok((known, foreign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("diskarm-store-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    fn key_of(name: &str) -> String {
        format!("{}-{name}", crate::version::BUILD)
    }

    fn run(key: &str, figure: f64) -> Stored {
        let figures = Some(vec![Some(figure), None]);
        Stored {
            key: key_of(key),
            figures,
        }
    }

    #[test]
    fn a_store_that_was_cut_anywhere_keeps_all_whole_lines() {
        let folder = folder("cut");
        let mut store = Store::open(&folder).unwrap();
        // A number that needs all its digits.
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
            let store = Store::open(&folder).unwrap();
            let kept: Vec<Stored> = store
                .known()
                .iter()
                .map(|(key, figures)| Stored {
                    key: key.clone(),
                    figures: figures.clone(),
                })
                .collect();
            assert_eq!(kept, runs[..lines.saturating_sub(1)], "{length}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_has_one_run_and_one_version() {
        let folder = folder("busy");
        let store = Store::open(&folder).unwrap();
        assert!(matches!(Store::open(&folder), Err(StudyError::Busy(_))));
        drop(store);
        let path = folder.join("runs.jsonl");
        fs::write(&path, "{\"version\":\"0.0.1\"}\n").unwrap();
        let error = Store::open(&folder).err().unwrap().to_string();
        assert!(error.contains("version: found \"0.0.1\""), "{error}");
        for other in ["my notes, not ended", "{\"version\":\"0.0.1\"}\npart"] {
            fs::write(&path, other).unwrap();
            Store::open(&folder).err().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
        }
        fs::write(&path, head() + "nonsense\n").unwrap();
        let error = Store::open(&folder).err().unwrap().to_string();
        assert!(error.contains("runs.jsonl:2: found no run"), "{error}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_order_of_runs_does_not_show() {
        let folder = folder("order");
        let keys = ["b", "a"].map(key_of);
        let mut texts = Vec::new();
        for order in [["a", "b", "x"], ["x", "b", "a"]] {
            let mut store = Store::open(&folder).unwrap();
            order
                .iter()
                .for_each(|key| store.keep(&run(key, 1.0)).unwrap());
            store.put_in_order(&keys).unwrap();
            texts.push(fs::read_to_string(folder.join("runs.jsonl")).unwrap());
            // What is kept afterwards goes behind them.
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
    fn runs_of_another_build_count_for_nothing_and_go_when_the_study_is_done() {
        let folder = folder("foreign");
        let mut store = Store::open(&folder).unwrap();
        store.keep(&run("a", 1.0)).unwrap();
        let mut other = run("b", 1.0);
        other.key = "0123456789abcdef-b".to_owned();
        store.keep(&other).unwrap();
        drop(store);
        let mut store = Store::open(&folder).unwrap();
        assert_eq!(store.foreign_count(), 1);
        let known: Vec<&String> = store.known().keys().collect();
        assert_eq!(known, [&key_of("a")]);
        store.put_in_order(&[key_of("a")]).unwrap();
        let text = fs::read_to_string(folder.join("runs.jsonl")).unwrap();
        assert_eq!(text, head() + &line(&run("a", 1.0)));
        fs::remove_dir_all(&folder).unwrap();
    }
}
