//! Standard output, standard error with colour on terminals, output files, and CSV rows.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;

use clap::ValueEnum;
use diskarm_core::device::{Breakdown, Completion};
use diskarm_core::request::{Op, Request};
use diskarm_results::output_file::{Files, OutputFile, PartialFile};
use diskarm_simulate::{OUTCOMES, Sink, outcome};
use serde::Serialize;

use crate::error::Error;

/// Prints a command's whole result. It is not an error if the reader stops early (`| head`).
pub fn print(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(cannot_write(error)),
        _ => Ok(()),
    }
}

/// Checks that a file can be written at `path` before work that takes minutes begins.
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

pub fn print_notes(notes: &[String]) {
    for note in notes {
        print_error(&format!("{} {note}\n", on_errors("note:", Look::Remark)));
    }
}

pub fn print_warnings(warnings: &[String]) {
    for warning in warnings {
        print_error(&format!(
            "{} {warning}\n",
            on_errors("warning:", Look::Doubtful)
        ));
    }
}

/// Prints on standard error, ignoring errors.
fn print_error(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Prints `value` as indented JSON, with fields in the order of their declaration. Numbers that are
/// not finite become `null`.
pub fn print_json(value: &impl Serialize) -> Result<(), Error> {
    print(&as_json(value)?)
}

pub fn print_as(
    is_json: bool,
    value: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Result<(), Error> {
    Results::default().print_as(is_json, value, text)
}

/// The results of a command that also writes files. Results go to standard output, or to standard
/// error if one of the files goes to standard output.
#[derive(Debug, Default)]
pub struct Results {
    /// The option of the file that goes to standard output.
    stdout_option: Option<&'static str>,
}

impl Results {
    /// Returns the target of the output file whose `path` was given to `option`.
    pub fn output_file(
        &mut self,
        files: &mut Files,
        option: &'static str,
        path: Option<&str>,
    ) -> Result<Option<Target>, Error> {
        match (path, self.stdout_option) {
            (Some("-"), Some(other)) => Err(Error::Failed(format!(
                "`{option} -`: standard output is already used by `{other}`; give the path of a \
                 file"
            ))),
            (Some("-"), None) => {
                self.stdout_option = Some(option);
                Ok(Some(Target::Standard))
            }
            (Some(path), _) => Ok(Some(Target::File(files.output(option, path)?))),
            (None, _) => Ok(None),
        }
    }

    pub fn print(&self, text: &str) -> Result<(), Error> {
        if self.stdout_option.is_none() {
            return print(text);
        }
        print_error(text);
        Ok(())
    }

    pub fn print_json(&self, value: &impl Serialize) -> Result<(), Error> {
        self.print(&as_json(value)?)
    }

    pub fn print_as(
        &self,
        is_json: bool,
        value: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        self.print(&if is_json { as_json(value)? } else { text() })
    }
}

#[derive(Clone, Debug)]
pub enum Target {
    File(OutputFile),
    Standard,
}

impl Target {
    pub fn write(self, text: &str) -> Result<(), Error> {
        match self {
            Self::File(file) => Ok(file.write(text.as_bytes())?),
            Self::Standard => print(text),
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set or TERM is "dumb"
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The value of `--color`; unset until it is parsed.
static CHOSEN: OnceLock<When> = OnceLock::new();

/// Sets the colour mode. Later calls in the same process, as from Python, have no effect.
pub fn choose(when: When) {
    let _ = CHOSEN.set(when);
}

/// Styles of words, with their terminal colour codes.
#[derive(Clone, Copy)]
pub enum Look {
    Bad = 31,
    Good = 32,
    Doubtful = 33,
    Remark = 36,
}

pub fn on_errors(word: &str, look: Look) -> String {
    colour(word, look, io::stderr().is_terminal())
}

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

/// A CSV file that is written row by row during a run, and gets its final name at the end.
pub struct RowFile {
    /// `None` for standard output.
    part: Option<PartialFile>,
    out: io::BufWriter<Box<dyn Write + Send>>,
    /// The first error; nothing is written after it.
    failure: Option<io::Error>,
}

impl RowFile {
    /// Creates the file and writes the names of its columns.
    pub fn create(target: Target, names: &str) -> Result<Self, Error> {
        let (part, out): (_, Box<dyn Write + Send>) = match target {
            Target::Standard => (None, Box::new(io::stdout())),
            Target::File(file) => {
                let part = file.create()?;
                let out = part
                    .file
                    .try_clone()
                    .map_err(|source| part.failed(source))?;
                (Some(part), Box::new(out))
            }
        };
        let mut rows = Self {
            part,
            out: io::BufWriter::new(out),
            failure: None,
        };
        rows.write(names.as_bytes());
        rows.write(b"\n");
        Ok(rows)
    }

    /// Creates the file of `simulate --per-request`: a row for each request.
    pub fn for_requests(target: Target) -> Result<Self, Error> {
        let parts = Breakdown::NAMES.map(|name| format!("{name}_us")).join(",");
        let first = "id,disk,op,lbn,sectors,outcome,arrived_us,completed_us,response_us";
        Self::create(target, &format!("{first},{parts}"))
    }

    pub fn write(&mut self, bytes: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.out.write_all(bytes).err();
        }
    }

    /// Renames the complete file.
    ///
    /// # Errors
    /// If anything could not be written; the file at the final path is then unchanged. It is not an
    /// error if the reader of standard output stops early.
    pub fn finish(mut self) -> Result<(), Error> {
        let written = match self.failure {
            Some(failure) => Err(failure),
            None => self.out.flush(),
        };
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

/// Appends a request between commas: operation (R, W or F), first block, number of blocks.
pub fn request_cells(row: &mut Vec<u8>, request: &Request) {
    row.extend(match request.op {
        Op::Read => b",R,",
        Op::Write => b",W,",
        Op::Flush => b",F,",
    });
    number(row, request.start.0);
    row.push(b',');
    number(row, request.sectors.0);
    row.push(b',');
}

/// Appends a number in decimal, three times as fast as `write!`.
pub fn number(row: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut remaining = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (remaining % 10) as u8;
        remaining /= 10;
        if remaining == 0 {
            break;
        }
    }
    row.extend(&digits[at..]);
}

/// Appends nanoseconds as microseconds with three decimals.
pub fn microseconds(row: &mut Vec<u8>, ns: i64) {
    if ns < 0 {
        row.push(b'-');
    }
    let ns = ns.unsigned_abs();
    number(row, ns / 1_000);
    let fraction = ns % 1_000;
    row.push(b'.');
    row.extend([fraction / 100, fraction / 10 % 10, fraction % 10].map(|digit| b'0' + digit as u8));
}

/// Enough for the longest row: 14 numbers of 20 digits and their separators.
const ROW_BYTES: usize = 512;

impl Sink for RowFile {
    fn take(&mut self, completion: &Completion) {
        let request = &completion.request;
        let mut row = Vec::with_capacity(ROW_BYTES);
        number(&mut row, request.id);
        row.push(b',');
        number(&mut row, request.unit.into());
        request_cells(&mut row, request);
        row.extend(OUTCOMES[outcome(completion)].as_bytes());
        let times = [
            completion.arrived.as_ns() as i64,
            completion.at.as_ns() as i64,
            completion.response().as_ns(),
        ];
        let parts = completion.breakdown.parts().map(|part| part.as_ns());
        for ns in times.into_iter().chain(parts) {
            row.push(b',');
            microseconds(&mut row, ns);
        }
        row.push(b'\n');
        self.write(&row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_match_the_standard_library() {
        for n in [0, 7, 10, 999, 1_000, 1_234_567_890, u64::MAX] {
            let mut row = Vec::new();
            number(&mut row, n);
            assert_eq!(row, n.to_string().as_bytes());
        }
        for (ns, text) in [
            (0, "0.000"),
            (1, "0.001"),
            (-483_000, "-483.000"),
            (-20, "-0.020"),
            (i64::MAX, "9223372036854775.807"),
        ] {
            let mut row = Vec::new();
            microseconds(&mut row, ns);
            assert_eq!(row, text.as_bytes());
        }
    }
}
