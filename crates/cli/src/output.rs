//! Standard output, standard error with colour on terminals, and output files.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;

use clap::ValueEnum;
use diskarm_results::output_file::{Files, OutputFile, PartialFile};
use serde::Serialize;

use crate::error::Error;

/// Prints a command's whole result. It is not an error if the reader stops early (`| head`).
///
/// # Errors
/// If standard output cannot be written, for example to a full disk.
pub fn print(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(cannot_write(error)),
        _ => Ok(()),
    }
}

/// Checks that a file can be written at `path`, before work that takes minutes.
pub fn check_writable(path: &str) -> Result<(), Error> {
    let folder = match Path::new(path).parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let found = std::fs::metadata(folder).and_then(|folder| {
        if !folder.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        if Path::new(path).is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(())
    });
    found.map_err(Error::io("write", path))
}

/// Prints notes that belong to a result on standard error.
pub fn print_notes(notes: &[String]) {
    for note in notes {
        print_error(&format!("{} {note}\n", on_errors("note:", Look::Remark)));
    }
}

/// Prints doubts about the input on standard error.
pub fn print_warnings(doubts: &[String]) {
    for doubt in doubts {
        print_error(&format!(
            "{} {doubt}\n",
            on_errors("warning:", Look::Doubtful)
        ));
    }
}

/// Prints on standard error. It is not an error if nothing reads it.
fn print_error(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Prints `value` as JSON, indented, fields in the order of their declaration. Numbers that are
/// not finite are printed as `null`.
///
/// # Errors
/// Like [`print()`].
pub fn print_json(value: &impl Serialize) -> Result<(), Error> {
    print(&as_json(value)?)
}

/// The results of a command that also writes files. They go to standard output or, if a file called
/// `-` goes there, to standard error.
#[derive(Debug, Default)]
pub struct Results {
    /// The option of the file that goes to standard output.
    taken: Option<&'static str>,
}

impl Results {
    /// Returns the target of an output file, the `path` given to `option`.
    ///
    /// # Errors
    /// If it may not be written there, or if a second file is called `-`.
    pub fn output_file(
        &mut self,
        files: &mut Files,
        option: &'static str,
        path: Option<&str>,
    ) -> Result<Option<Target>, Error> {
        match (path, self.taken) {
            (Some("-"), Some(other)) => Err(Error::Failed(format!(
                "`{option} -`: standard output is already used by `{other}`; give the path of a file"
            ))),
            (Some("-"), None) => {
                self.taken = Some(option);
                Ok(Some(Target::Standard))
            }
            (Some(path), _) => Ok(Some(Target::File(files.output(option, path)?))),
            (None, _) => Ok(None),
        }
    }

    pub fn print(&self, text: &str) -> Result<(), Error> {
        if self.taken.is_none() {
            return print(text);
        }
        print_error(text);
        Ok(())
    }

    pub fn print_json(&self, value: &impl Serialize) -> Result<(), Error> {
        self.print(&as_json(value)?)
    }
}

/// The destination of an output.
#[derive(Clone, Debug)]
pub enum Target {
    File(OutputFile),
    Standard,
}

impl Target {
    /// Writes the whole file.
    pub fn write(self, text: &str) -> Result<(), Error> {
        match self {
            Self::File(place) => Ok(place.write(text.as_bytes())?),
            Self::Standard => print(text),
        }
    }

    /// Creates the file, which is then written piece by piece.
    pub fn create(self) -> Result<OpenOutput, Error> {
        let Self::File(place) = self else {
            let out: Box<dyn Write + Send> = Box::new(io::stdout());
            let out = io::BufWriter::new(out);
            return Ok(OpenOutput { part: None, out });
        };
        let part = place.create()?;
        let file = part.file().try_clone();
        let out: Box<dyn Write + Send> = Box::new(file.map_err(|source| part.failed(source))?);
        let (part, out) = (Some(part), io::BufWriter::new(out));
        Ok(OpenOutput { part, out })
    }
}

/// An output that is being written.
pub struct OpenOutput {
    /// `None` on standard output.
    part: Option<PartialFile>,
    pub out: io::BufWriter<Box<dyn Write + Send>>,
}

impl OpenOutput {
    /// Flushes and renames the file, unless `written` is an error.
    ///
    /// # Errors
    /// If anything could not be written; the file of that name is then unchanged. As for everything
    /// printed, it is not an error if the reader of standard output stops early.
    pub fn finish(mut self, written: io::Result<()>) -> Result<(), Error> {
        let written = written.and_then(|()| self.out.flush());
        match (self.part, written) {
            (Some(part), Ok(())) => Ok(part.finish()?),
            (Some(part), Err(source)) => Err(part.failed(source).into()),
            (None, Err(source)) if source.kind() != io::ErrorKind::BrokenPipe => {
                Err(cannot_write(source))
            }
            (None, _) => Ok(()),
        }
    }
}

fn as_json(value: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(value);
    Ok(text.map_err(|error| cannot_write(error.into()))? + "\n")
}

fn cannot_write(source: io::Error) -> Error {
    Error::io("write", "standard output")(source)
}

/// The colour mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set or TERM is "dumb"
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The value of `--color`; unset until the command line is parsed.
static CHOSEN: OnceLock<When> = OnceLock::new();

/// Sets the colour mode. A second command line in one process, as in Python, keeps the first mode.
pub fn choose(when: When) {
    let _ = CHOSEN.set(when);
}

/// The styles of words, as colour codes of terminals.
#[derive(Clone, Copy)]
pub enum Look {
    Bad = 31,
    Good = 32,
    Doubtful = 33,
    Remark = 36,
}

/// Colours a word for standard error.
pub fn on_errors(word: &str, look: Look) -> String {
    colour(word, look, io::stderr().is_terminal())
}

/// Colours a word for standard output.
pub fn on_output(word: &str, look: Look) -> String {
    colour(word, look, io::stdout().is_terminal())
}

fn colour(word: &str, look: Look, is_terminal: bool) -> String {
    let is_unset = |name| std::env::var_os(name).is_none_or(|value| value.is_empty());
    let is_dumb = || std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    let is_on = match CHOSEN.get().copied().unwrap_or(When::Auto) {
        When::Always => true,
        When::Never => false,
        When::Auto => is_terminal && is_unset("NO_COLOR") && !is_dumb(),
    };
    if is_on {
        format!("\u{1b}[1;{}m{word}\u{1b}[0m", look as u8)
    } else {
        word.to_owned()
    }
}
