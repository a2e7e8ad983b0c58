//! Output files, which never overwrite an input or each other.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use diskarm_core::text::InputError;

/// The files of one command. Everything that it writes goes through [`Files::output`].
#[derive(Clone, Debug, Default)]
pub struct Files {
    named: Vec<NamedFile>,
}

#[derive(Clone, Debug)]
struct NamedFile {
    /// The flag, argument or field that names it.
    field: &'static str,
    path: PathBuf,
    is_output: bool,
}

/// A path at which the command may write.
#[derive(Clone, Debug)]
pub struct OutputFile {
    path: PathBuf,
    files: Files,
}

/// The reason why an output was not written. Displays as one line.
#[derive(Debug)]
pub enum OutputError {
    /// The path names no file, or the file there is an input or another output.
    Refused(InputError),
    Io {
        path: PathBuf,
        source: io::Error,
    },
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Io { path, source } => write!(f, "{}: cannot write: {source}", path.display()),
        }
    }
}

impl std::error::Error for OutputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(error) => Some(error),
            Self::Io { source, .. } => Some(source),
        }
    }
}

impl Files {
    /// Adds a drive, a workload or a study that the command reads, if its name ends in `.toml`.
    #[must_use]
    pub fn with_input(mut self, field: &'static str, name: &str) -> Self {
        if name.ends_with(".toml") {
            self.add_input(field, name.into());
        }
        self
    }

    #[must_use]
    pub fn with_input_file(mut self, field: &'static str, path: &str) -> Self {
        self.add_input(field, path.into());
        self
    }

    /// Adds a trace that the command reads, with all its files. `-` is standard input.
    #[must_use]
    pub fn with_input_trace(mut self, field: &'static str, path: &str) -> Self {
        if self.add_input(field, path.into()) {
            for part in diskarm_trace::files(path) {
                self.add_input(field, part);
            }
        }
        self
    }

    /// Adds an input. Returns true if it is new.
    fn add_input(&mut self, field: &'static str, path: PathBuf) -> bool {
        let is_new = self.named.iter().all(|named| named.path != path);
        if is_new {
            self.named.push(NamedFile {
                field,
                path,
                is_output: false,
            });
        }
        is_new
    }

    /// Returns the output file at `path`, which `field` names.
    ///
    /// # Errors
    /// If the path is empty or "-" (elsewhere, "-" means standard output, and "./-" a file), or if
    /// the command reads that file or writes another output to it, under whatever name.
    pub fn output(
        &mut self,
        field: &'static str,
        path: impl AsRef<Path>,
    ) -> Result<OutputFile, OutputError> {
        let path = path.as_ref();
        let refused = |expected: &str| {
            OutputError::Refused(InputError::new(field, &path.to_string_lossy(), expected))
        };
        if ["", "-"].map(Path::new).contains(&path) {
            return Err(refused("the path of a file"));
        }
        if let Some(other) = self.named.iter().find(|named| named.is_at(path)) {
            let use_of_file = if other.is_output {
                "which is also written"
            } else {
                "which is read and would be lost"
            };
            let (field, path) = (other.field, other.path.to_string_lossy());
            let expected = format!("a different file from {field} {path:?}, {use_of_file}");
            return Err(refused(&expected));
        }
        let files = self.clone();
        let path = path.to_owned();
        self.named.push(NamedFile {
            field,
            path: path.clone(),
            is_output: true,
        });
        Ok(OutputFile { path, files })
    }

    /// Removes the unfinished outputs that killed processes left in `folder`: files called
    /// `NAME.part` for which `is_ours(NAME)` is true, unless they are inputs or locked.
    pub fn remove_leftovers(&self, folder: &Path, is_ours: impl Fn(&str) -> bool) {
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        for entry in entries.flatten() {
            let (found, path) = (entry.file_name(), entry.path());
            let name = found.to_str().and_then(|found| found.strip_suffix(".part"));
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            // A file that cannot be removed does no harm.
            if is_file
                && name.is_some_and(&is_ours)
                && !self.named.iter().any(|named| named.is_at(&path))
                && let Ok(leftover) = File::options().write(true).open(&path)
                && leftover.try_lock().is_ok()
            {
                let _ = fs::remove_file(&path);
            }
        }
    }
}

impl NamedFile {
    /// Returns true if this is the file at `path`, even if it does not exist yet.
    fn is_at(&self, path: &Path) -> bool {
        let is_missing = |path: &Path| !path.exists();
        let are_both_missing = self.is_output && is_missing(&self.path) && is_missing(path);
        is_same(&self.path, path)
            || are_both_missing
                && future_path(path).is_some_and(|p| future_path(&self.path) == Some(p))
    }
}

/// Returns true if both paths lead to the same regular file. (Devices may be used twice.)
fn is_same(a: &Path, b: &Path) -> bool {
    let standard_input = Path::new("/dev/stdin");
    let metadata = |path| {
        fs::metadata(if path == Path::new("-") {
            standard_input
        } else {
            path
        })
    };
    match (metadata(a), metadata(b)) {
        (Ok(first), Ok(second)) if first.is_file() && second.is_file() => {
            is_one_file(&first, &second) || real_path(a).is_some_and(|a| real_path(b) == Some(a))
        }
        _ => false,
    }
}

fn real_path(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

fn future_path(path: &Path) -> Option<PathBuf> {
    Some(real_path(folder_of(path))?.join(path.file_name()?))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Returns true if both describe the same file, which may have several names (hard links).
#[cfg(unix)]
fn is_one_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// The standard library cannot compare files here; real paths are compared instead.
#[cfg(not(unix))]
fn is_one_file(_: &Metadata, _: &Metadata) -> bool {
    false
}

/// A file that is written under a temporary name in the same folder, locked until it is renamed. A
/// link (such as `/dev/stdout`), a device or a pipe is written directly: a rename would replace it.
pub struct PartialFile {
    path: PathBuf,
    /// The temporary path until the file is renamed.
    temporary: Option<PathBuf>,
    pub file: File,
}

impl OutputFile {
    /// Resolves a link to a regular file, so that the file is replaced as a whole.
    #[must_use]
    pub fn following_links(self) -> Self {
        let is_file = fs::metadata(&self.path).is_ok_and(|found| found.is_file());
        let target = real_path(&self.path).filter(|_| is_file && self.path.is_symlink());
        Self {
            path: target.unwrap_or(self.path),
            files: self.files,
        }
    }

    /// Creates the file under a temporary name. Removes temporary files left by killed processes.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn create(self) -> Result<PartialFile, OutputError> {
        let Self { path, files } = self;
        let is_replaceable = fs::symlink_metadata(&path).map_or(true, |found| found.is_file());
        let created = if is_replaceable {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            files.remove_leftovers(folder_of(&path), |file| unnumbered(file) == Some(&name));
            let temporary = numbered(&path);
            File::create_new(&temporary).map(|file| {
                // Without a lock, another program may delete it as a leftover.
                let _ = file.try_lock();
                (Some(temporary), file)
            })
        } else {
            File::create(&path).map(|file| (None, file))
        };
        match created {
            Ok((temporary, file)) => Ok(PartialFile {
                path,
                temporary,
                file,
            }),
            Err(source) => Err(OutputError::Io { path, source }),
        }
    }

    /// Opens the file itself and keeps its contents, for an output that is written over several
    /// runs. Creates it if it does not exist, and locks it while it is open.
    ///
    /// # Errors
    /// If it cannot be written, is not a regular file, or is being written by another process.
    pub fn open_in_place(self) -> Result<File, OutputError> {
        let Self { path, .. } = self;
        let failed = |source| OutputError::Io {
            path: path.clone(),
            source,
        };
        if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(failed(io::Error::other("it is not a regular file")));
        }
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) => {
                Err(failed(io::Error::other("another process is writing to it")))
            }
            // Not all file systems have locks.
            Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(file),
        }
    }

    /// Writes the complete file.
    ///
    /// # Errors
    /// If it cannot be written; an existing regular file is then unchanged.
    pub fn write(self, bytes: &[u8]) -> Result<(), OutputError> {
        let part = self.create()?;
        let written = (&part.file).write_all(bytes);
        written.map_err(|source| part.failed(source))?;
        part.finish()
    }
}

/// Returns the temporary path of this process for `path`.
fn numbered(path: &Path) -> PathBuf {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.part", std::process::id()));
    temporary.into()
}

/// Returns the NAME of a temporary file, given as `NAME.NUMBER`, without `.part`.
pub fn unnumbered(file: &str) -> Option<&str> {
    let (name, number) = file.rsplit_once('.')?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then_some(name)
}

impl PartialFile {
    /// Returns true if it would overwrite a non-empty file.
    pub fn replaces(&self) -> bool {
        let existing = fs::metadata(&self.path);
        self.temporary.is_some() && existing.is_ok_and(|existing| existing.len() > 0)
    }

    pub fn failed(&self, source: io::Error) -> OutputError {
        OutputError::Io {
            path: self.path.clone(),
            source,
        }
    }

    /// Renames the complete file.
    ///
    /// # Errors
    /// If it cannot be renamed; an existing file of that name is then unchanged.
    pub fn finish(mut self) -> Result<(), OutputError> {
        if let Some(temporary) = &self.temporary {
            // Otherwise a power failure could leave an empty file under the new name.
            let renamed = self.file.sync_all();
            let renamed = renamed.and_then(|()| fs::rename(temporary, &self.path));
            renamed.map_err(|source| self.failed(source))?;
            self.temporary = None;
        }
        Ok(())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // The first error matters more than a leftover file.
            let _ = fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_outputs_cannot_be_the_same_file() {
        let mut files = Files::default().with_input("--drive", "hp-c2247");
        let mut error_of = |flag, path| files.output(flag, path).err().map(|e| e.to_string());
        let error = "--b: found \"./no-such.csv\", expected a different file from --a \
                     \"no-such.csv\", which is also written";
        assert_eq!(error_of("--a", "no-such.csv"), None);
        assert_eq!(error_of("--b", "./no-such.csv").as_deref(), Some(error));
        assert_eq!(error_of("--b", "no-such-2.csv"), None);
        // The name of a drive in the catalogue is not a file.
        assert_eq!(error_of("--c", "hp-c2247"), None);
    }

    #[test]
    fn an_abandoned_output_leaves_the_earlier_file() {
        let path = std::env::temp_dir().join(format!("diskarm-{}-kept", std::process::id()));
        let output = || Files::default().output("--a", &path).unwrap();
        let part = || output().create().unwrap();
        assert!(!part().replaces());
        fs::write(&path, "").unwrap();
        assert!(!part().replaces());
        fs::write(&path, "earlier").unwrap();
        let abandoned = part();
        (&abandoned.file).write_all(b"later").unwrap();
        assert!(abandoned.replaces());
        drop(abandoned);
        assert_eq!(fs::read(&path).unwrap(), b"earlier");
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn temporary_names_end_in_a_number() {
        assert_eq!(unnumbered("rows.csv.123"), Some("rows.csv"));
        for other in ["rows.csv", "rows.csv.", "rows.csv.7a", "123"] {
            assert_eq!(unnumbered(other), None, "{other}");
        }
        let temporary = numbered(Path::new("a/rows.csv"));
        let temporary = temporary.to_str().unwrap().strip_suffix(".part").unwrap();
        assert_eq!(unnumbered(temporary), Some("a/rows.csv"));
    }
}
