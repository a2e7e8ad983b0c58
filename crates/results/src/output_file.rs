//! Output files, which never overwrite an input or each other.
//!
//! A file replaces another of its name when it is complete, and keeps the owner and permissions of
//! that. Links to it stay. No file is removed because of its name.

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
    pub fn with_input_file(mut self, field: &'static str, path: impl Into<PathBuf>) -> Self {
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

    /// Returns the output file or socket at `path`, which `field` names.
    ///
    /// # Errors
    /// If the path is that of a folder, empty or "-" (elsewhere, "-" means standard output, and
    /// "./-" a file), or if the command reads that file or writes another output to it, under
    /// whatever name.
    pub fn output(
        &mut self,
        field: &'static str,
        path: impl AsRef<Path>,
    ) -> Result<OutputFile, OutputError> {
        let path = path.as_ref();
        let refused = |expected: &str| {
            OutputError::Refused(InputError::new(field, &path.to_string_lossy(), expected))
        };
        let is_folder = path.to_string_lossy().ends_with(std::path::is_separator);
        if is_folder || ["", "-"].map(Path::new).contains(&path) {
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
        let path = path.to_owned();
        self.named.push(NamedFile {
            field,
            path: path.clone(),
            is_output: true,
        });
        Ok(OutputFile { path })
    }
}

impl NamedFile {
    /// Returns true if this is the file at `path`, even if it does not exist yet.
    fn is_at(&self, path: &Path) -> bool {
        let are_both_missing = !self.path.exists() && !path.exists();
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
    let target = target_of(path);
    Some(real_path(folder_of(&target))?.join(target.file_name()?))
}

/// Follows links at `path` to a path without a file or with one that is not a link. Links in
/// `/proc`, to which `/dev/stdout` leads, are not followed: they are open files, not paths.
fn target_of(path: &Path) -> PathBuf {
    let mut target = path.to_owned();
    // Linux follows as many before it reports a loop.
    for _ in 0..40 {
        let Ok(next) = fs::read_link(&target) else {
            break;
        };
        let folder = folder_of(&target);
        if real_path(folder).is_some_and(|folder| folder.starts_with("/proc")) {
            break;
        }
        target = folder.join(next);
    }
    target
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

/// Gives `file` the permissions of another and, if this user may, its owner.
fn keep_access(file: &File, other: &Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let _ = fchown(file, None, Some(other.gid()));
        let _ = fchown(file, Some(other.uid()), None);
    }
    // Some file systems have no permissions.
    let _ = file.set_permissions(other.permissions());
}

/// Creates a file without a name on the file system of `folder`.
#[cfg(target_os = "linux")]
fn create_unnamed(folder: &Path) -> io::Result<(Name, File)> {
    use std::os::{fd::AsRawFd, unix::fs::OpenOptionsExt};
    let flags = rustix::fs::OFlags::TMPFILE.bits().cast_signed();
    let file = File::options()
        .write(true)
        .custom_flags(flags)
        .open(folder)?;
    let handle = format!("/proc/self/fd/{}", file.as_raw_fd());
    // Without `/proc`, it could not get a name later.
    fs::metadata(&handle)?;
    Ok((Name::Missing(handle.into()), file))
}

#[cfg(not(target_os = "linux"))]
fn create_unnamed(_: &Path) -> io::Result<(Name, File)> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn give_name(handle: &Path, name: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, handle, CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn give_name(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A file that replaces another when it is complete. A device or a pipe, such as `/dev/stdout`, is
/// written directly.
pub struct PartialFile {
    path: PathBuf,
    /// The path of the complete file: that to which links at `path` lead.
    target: PathBuf,
    name: Name,
    pub file: File,
}

enum Name {
    /// The file has only this handle, so that a killed process leaves nothing.
    Missing(PathBuf),
    Temporary(PathBuf),
    Final,
}

impl OutputFile {
    /// Creates the file without a name or, if that is unsupported, under a temporary one.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn create(self) -> Result<PartialFile, OutputError> {
        self.begin(|target| {
            let unnamed = create_unnamed(folder_of(target));
            unnamed.or_else(|_| create_named(target))
        })
    }

    /// Creates the file under the temporary name `PATH.NUMBER.part`, which it keeps if this process
    /// is killed.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn create_named(self) -> Result<PartialFile, OutputError> {
        self.begin(create_named)
    }

    fn begin(
        self,
        create: impl FnOnce(&Path) -> io::Result<(Name, File)>,
    ) -> Result<PartialFile, OutputError> {
        let Self { path } = self;
        let target = target_of(&path);
        let created = match fs::symlink_metadata(&target) {
            Ok(existing) if existing.is_file() => {
                create(&target).inspect(|(_, file)| keep_access(file, &existing))
            }
            Ok(_) => File::create(&target).map(|file| (Name::Final, file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => create(&target),
            Err(error) => Err(error),
        };
        match created {
            Ok((name, file)) => Ok(PartialFile {
                path,
                target,
                name,
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
        let Self { path } = self;
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
            Ok(()) | Err(fs::TryLockError::Error(_)) => {
                sync_folder(&target_of(&path)).map_err(failed)?;
                Ok(file)
            }
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

fn create_named(target: &Path) -> io::Result<(Name, File)> {
    with_unused_name(target, |path| File::create_new(path))
}

/// Calls `create` with temporary names for `path` until one is unused. Files of other names stay:
/// they may be of another process or of the user.
fn with_unused_name<T>(
    path: &Path,
    create: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(Name, T)> {
    let mut number = std::process::id();
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}.part"));
        match create(name.as_ref()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            created => return Ok((Name::Temporary(name.into()), created?)),
        }
    }
}

/// Makes the name `path` survive a power failure, where that is supported.
fn sync_folder(path: &Path) -> io::Result<()> {
    let Ok(folder) = File::open(folder_of(path)) else {
        return Ok(());
    };
    match folder.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

impl PartialFile {
    /// Returns true if it would overwrite a non-empty file.
    pub fn replaces(&self) -> bool {
        let existing = fs::metadata(&self.target);
        !matches!(self.name, Name::Final) && existing.is_ok_and(|existing| existing.len() > 0)
    }

    pub fn failed(&self, source: io::Error) -> OutputError {
        OutputError::Io {
            path: self.path.clone(),
            source,
        }
    }

    /// Leaves the incomplete file under its temporary name, and returns that.
    pub fn keep(mut self) -> Option<PathBuf> {
        match std::mem::replace(&mut self.name, Name::Final) {
            Name::Temporary(path) => Some(path),
            Name::Missing(_) | Name::Final => None,
        }
    }

    /// Gives the complete file its name.
    ///
    /// # Errors
    /// If that is impossible; an existing file of that name is then unchanged.
    pub fn finish(mut self) -> Result<(), OutputError> {
        self.replace().map_err(|source| self.failed(source))
    }

    fn replace(&mut self) -> io::Result<()> {
        if matches!(self.name, Name::Final) {
            return Ok(());
        }
        // Otherwise a power failure could leave an empty file under the new name.
        self.file.sync_all()?;
        if let Name::Missing(handle) = &self.name {
            // A name that is not too long, whatever that of the file.
            let short = self.target.with_file_name("diskarm");
            (self.name, ()) = with_unused_name(&short, |name| give_name(handle, name))?;
        }
        if let Name::Temporary(path) = &self.name {
            fs::rename(path, &self.target)?;
            self.name = Name::Final;
        }
        sync_folder(&self.target)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if let Name::Temporary(path) = &self.name {
            // The first error matters more than a leftover file.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests;
