//! Where a command may write: never over what it reads, and never twice to one file. (A study
//! writes to a folder, which must not hold a trace of the study: `Runner` of the study crate.)

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The files of one command. All that it writes goes through [`Files::place`].
pub struct Files {
    taken: Vec<Taken>,
}

/// A file that is read or will be written.
struct Taken {
    /// The flag or argument that names it.
    flag: &'static str,
    path: String,
    is_output: bool,
}

/// A path at which the command may write.
#[derive(Clone)]
pub struct Place {
    path: String,
    /// The files that the command reads.
    inputs: Vec<String>,
}

impl Files {
    /// The files that a command reads: flag and path of each. `-` is standard input. Of drives
    /// and workloads, only names that end in `.toml` are files.
    pub fn reading<'a>(inputs: impl IntoIterator<Item = (&'static str, &'a str)>) -> Self {
        let is_file = |(flag, path): &(&str, &str)| {
            !matches!(*flag, "--drive" | "--workload") || path.ends_with(".toml")
        };
        let taken = inputs.into_iter().filter(is_file);
        let taken = taken.map(|(flag, path)| Taken {
            flag,
            path: path.to_owned(),
            is_output: false,
        });
        Self {
            taken: taken.collect(),
        }
    }

    /// The place for the output that `flag` names.
    ///
    /// # Errors
    /// If the file there is read by the command or is another output, under whatever name.
    pub fn place(&mut self, flag: &'static str, path: &str) -> Result<Place, Error> {
        if let Some(taken) = self.taken.iter().find(|taken| taken.is_at(path)) {
            let why = match taken.is_output {
                true => "which is written too",
                false => "which is read and would be lost",
            };
            let expected = format!("another file than {} {:?}, {why}", taken.flag, taken.path);
            return Err(Error::flag(flag, path, expected));
        }
        self.taken.push(Taken {
            flag,
            path: path.to_owned(),
            is_output: true,
        });
        let inputs = self.taken.iter().filter(|taken| !taken.is_output);
        Ok(Place {
            path: path.to_owned(),
            inputs: inputs.map(|taken| taken.path.clone()).collect(),
        })
    }
}

impl Taken {
    /// Whether it is the file at `path`. Outputs may not exist yet.
    fn is_at(&self, path: &str) -> bool {
        let is_future = |path: &str| !Path::new(path).exists();
        let will_be = self.is_output && is_future(&self.path) && is_future(path);
        is_same(&self.path, path)
            || will_be && future(&self.path).is_some_and(|place| future(path) == Some(place))
    }
}

/// Whether two paths lead to one regular file. (A device such as /dev/null may be both.)
fn is_same(a: &str, b: &str) -> bool {
    let seen = |path: &str| match path {
        "-" => fs::metadata("/dev/stdin"),
        path => fs::metadata(path),
    };
    match (seen(a), seen(b)) {
        (Ok(first), Ok(second)) if first.is_file() && second.is_file() => {
            is_one_file(&first, &second) || real(a).is_some_and(|a| real(b) == Some(a))
        }
        _ => false,
    }
}

fn real(path: &str) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// The place of a file that does not exist yet.
fn future(path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    Some(
        fs::canonicalize(folder_of(path))
            .ok()?
            .join(path.file_name()?),
    )
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Whether both describe the same file, which may have several names (hard links).
#[cfg(unix)]
fn is_one_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// The standard library does not tell; real paths are compared.
#[cfg(not(unix))]
fn is_one_file(_: &Metadata, _: &Metadata) -> bool {
    false
}

/// A file that is written under a temporary name next to its own, locked until it is renamed. A
/// link, a device or a pipe is written directly: a renamed file would replace it (`/dev/stdout` is
/// a link).
pub struct Part {
    path: String,
    /// The temporary path, if there is one and it has not been renamed.
    beside: Option<String>,
    file: File,
}

impl Place {
    /// Begins the file, and removes what killed processes have left of it.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn begin(self) -> Result<Part, Error> {
        let Self { path, inputs } = self;
        let is_replaceable = fs::symlink_metadata(&path).map_or(true, |found| found.is_file());
        let begun = match is_replaceable {
            true => {
                remove_leftovers(Path::new(&path), &inputs);
                let beside = format!("{path}.{}.part", std::process::id());
                File::create(&beside).map(|file| {
                    // Without a lock it could be taken for a leftover, no more.
                    let _ = file.try_lock();
                    (Some(beside), file)
                })
            }
            false => File::create(&path).map(|file| (None, file)),
        };
        match begun {
            Ok((beside, file)) => Ok(Part { path, beside, file }),
            Err(source) => Err(cannot_write(&path, source)),
        }
    }
}

impl Part {
    /// The file to write to.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The error that it cannot be written.
    pub fn failed(&self, source: io::Error) -> Error {
        cannot_write(&self.path, source)
    }

    /// Gives the complete file its name.
    ///
    /// # Errors
    /// If it cannot be renamed; the file of that name is then unchanged.
    pub fn finish(mut self) -> Result<(), Error> {
        if let Some(beside) = &self.beside {
            fs::rename(beside, &self.path).map_err(|source| self.failed(source))?;
            self.beside = None;
        }
        Ok(())
    }
}

/// Removes the remains of a failure.
impl Drop for Part {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            // The first error matters more than a leftover file.
            let _ = fs::remove_file(beside);
        }
    }
}

/// Removes the files `PATH.NUMBER.part` that no process has locked, except `inputs`.
fn remove_leftovers(path: &Path, inputs: &[String]) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Ok(entries) = fs::read_dir(folder_of(path)) else {
        return;
    };
    for entry in entries.flatten() {
        let found = entry.file_name();
        let number = found.to_str().and_then(|found| {
            let rest = found.strip_prefix(&*name)?.strip_prefix('.')?;
            rest.strip_suffix(".part")
        });
        let is_part = number.is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
        });
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        let at = entry.path().to_string_lossy().into_owned();
        let is_input = inputs.iter().any(|input| is_same(input, &at));
        // What cannot be removed does no harm.
        if is_part
            && is_file
            && !is_input
            && let Ok(left) = File::options().write(true).open(entry.path())
            && left.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn cannot_write(path: &str, source: io::Error) -> Error {
    Error::Io {
        doing: "write",
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_outputs_are_two_files() {
        let mut files = Files::reading([("--drive", "hp-c2247")]);
        let mut place = |flag, path| files.place(flag, path).err().map(|e| e.to_string());
        let error = "--b: found \"./no-such.csv\", expected another file than --a \
                     \"no-such.csv\", which is written too";
        assert_eq!(place("--a", "no-such.csv"), None);
        assert_eq!(place("--b", "./no-such.csv").as_deref(), Some(error));
        assert_eq!(place("--b", "no-such-2.csv"), None);
        // The name of a drive in the catalogue is no file.
        assert_eq!(place("--c", "hp-c2247"), None);
    }
}
