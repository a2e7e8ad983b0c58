//! Standard output and output files.

use std::io::{self, Write};

use diskarm_results::output_file::{Files, OutputFile, PartialFile};
use serde::Serialize;

use crate::color::{Look, on_errors};
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

/// Prints notes that belong to a result on standard error.
pub fn warn(notes: &[String]) {
    for note in notes {
        say(&format!("{} {note}\n", on_errors("note:", Look::Remark)));
    }
}

/// Prints doubts about the input on standard error.
pub fn doubt(notes: &[String]) {
    for note in notes {
        say(&format!(
            "{} {note}\n",
            on_errors("warning:", Look::Doubtful)
        ));
    }
}

/// Prints on standard error. It is not an error if nobody reads it.
fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Prints `value` as JSON, indented, fields in the order of their declaration. Numbers that are
/// not finite are printed as `null`.
///
/// # Errors
/// The same as [`print()`].
pub fn print_json(value: &impl Serialize) -> Result<(), Error> {
    print(&as_json(value)?)
}

/// The results of a command that also writes files. They go to standard output; if a file that is
/// called `-` goes there, to standard error.
#[derive(Debug, Default)]
pub struct Results {
    /// The flag of that file.
    taken: Option<&'static str>,
}

impl Results {
    /// The place of the file that `flag` calls `path`, if it is given.
    ///
    /// # Errors
    /// If it may not be written there, or if a second file is called `-`.
    pub fn beside(
        &mut self,
        files: &mut Files,
        flag: &'static str,
        path: Option<&str>,
    ) -> Result<Option<Target>, Error> {
        match (path, self.taken) {
            (Some("-"), Some(other)) => {
                let expected = format!("the path of a file, as {other} is written there");
                Err(Error::flag(flag, "-", expected))
            }
            (Some("-"), None) => {
                self.taken = Some(flag);
                Ok(Some(Target::Standard))
            }
            (Some(path), _) => Ok(Some(Target::File(files.output(flag, path)?))),
            (None, _) => Ok(None),
        }
    }

    /// Prints them.
    ///
    /// # Errors
    /// The same as [`print()`].
    pub fn print(&self, text: &str) -> Result<(), Error> {
        match self.taken {
            None => print(text),
            Some(_) => {
                say(text);
                Ok(())
            }
        }
    }

    /// Prints them as JSON.
    ///
    /// # Errors
    /// The same as [`print()`].
    pub fn print_json(&self, value: &impl Serialize) -> Result<(), Error> {
        self.print(&as_json(value)?)
    }
}

/// Where a file goes.
#[derive(Clone, Debug)]
pub enum Target {
    /// To its place.
    File(OutputFile),
    /// To standard output.
    Standard,
}

impl Target {
    /// Writes the whole file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(self, text: &str) -> Result<(), Error> {
        match self {
            Self::File(place) => Ok(place.write(text.as_bytes())?),
            Self::Standard => print(text),
        }
    }

    /// Begins the file, which is written part by part.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn begin(self) -> Result<Begun, Error> {
        let Self::File(place) = self else {
            let out: Box<dyn Write + Send> = Box::new(io::stdout());
            let out = io::BufWriter::new(out);
            return Ok(Begun { part: None, out });
        };
        let part = place.begin()?;
        let file = part.file().try_clone();
        let out: Box<dyn Write + Send> = Box::new(file.map_err(|source| part.failed(source))?);
        let (part, out) = (Some(part), io::BufWriter::new(out));
        Ok(Begun { part, out })
    }
}

/// A file that is being written.
pub struct Begun {
    /// `None` on standard output.
    part: Option<PartialFile>,
    /// What is written so far.
    pub out: io::BufWriter<Box<dyn Write + Send>>,
}

impl Begun {
    /// Ends the file, which gets its name, unless something could not be written.
    ///
    /// # Errors
    /// That; the file of that name is then unchanged. As for everything printed, it is no error if
    /// the reader of standard output stops early.
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

/// `value` as JSON, as [`print_json`] prints it.
fn as_json(value: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(value);
    Ok(text.map_err(|error| cannot_write(error.into()))? + "\n")
}

fn cannot_write(source: io::Error) -> Error {
    Error::Io {
        doing: "write",
        path: "standard output".to_owned(),
        source,
    }
}
