//! Servers that run during tests.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::Value;

/// A server, killed when it is dropped.
pub struct Running {
    child: Child,
    /// Its first line on standard error.
    pub line: String,
}

impl Running {
    /// Starts `program`, and waits until it reports that it serves.
    pub fn start(program: &mut Command) -> Self {
        let program = program.stdin(Stdio::null()).stdout(Stdio::piped());
        let child = program.stderr(Stdio::piped()).spawn();
        let mut child = child.expect("the program was built with this test");
        let stderr = child.stderr.take().expect("piped");
        let mut line = String::new();
        let read = BufReader::new(stderr).read_line(&mut line);
        read.expect("a line");
        assert!(line.starts_with("serving "), "{line}");
        Self { child, line }
    }

    /// Returns the URI that it has printed.
    pub fn uri(&self) -> String {
        let uri = self.line.trim_end().split(" at ").nth(1);
        uri.unwrap_or_else(|| panic!("{}", self.line)).to_owned()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it ends, in whatever way.
    pub fn wait_for_end(&mut self) -> ExitStatus {
        self.child.wait().expect("an exit status")
    }

    /// Stops it with SIGTERM; returns the printed statistics of its first export.
    pub fn stop(&mut self) -> Value {
        let id = self.id().to_string();
        let killed = Command::new("kill").args(["-TERM", &id]).status();
        assert!(killed.expect("kill").success());
        self.wait()
    }

    /// Waits until it exits; returns the printed statistics of its first export.
    pub fn wait(&mut self) -> Value {
        let mut text = String::new();
        let stdout = self.child.stdout.as_mut().expect("piped");
        stdout.read_to_string(&mut text).expect("text");
        assert!(self.child.wait().expect("an exit status").success());
        let all: Value = serde_json::from_str(&text).expect("JSON");
        all["exports"][0].clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
