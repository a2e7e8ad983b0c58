//! Measures the request rate of a server whose requests take no time, compared with nbdkit's memory
//! plugin if it is installed, and the lateness of timed replies. Run it on an idle machine.
//!
//! `cargo run --release --package diskarm-serve --example speed`

use std::error::Error;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command as Program, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use diskarm_core::units::{Bytes, Span};
use diskarm_serve::nbd::Nbd;
use diskarm_serve::store::StoreSpec;
use diskarm_serve::{Address, ExportSpec, ExportStatistics, Listener, Pace, Server, Speed};
use diskarm_wire::nbd::message::Simple;
use diskarm_wire::nbd::option::{AnswerHeader, Choice, OptionHeader, answer, code};
use diskarm_wire::nbd::{Command, Greeting, Headers, Request};

/// Size of the export, in bytes.
const SIZE: u64 = 256 << 20;
/// Size of a request, in bytes.
const BLOCK: u64 = 4096;
/// Number of outstanding requests.
const DEPTH: usize = 32;
/// Duration of each measurement.
const DURATION: Duration = Duration::from_secs(5);

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let socket = std::env::temp_dir().join(format!("diskarm-{}-speed", std::process::id()));
    for command in [Command::Read, Command::Write] {
        let statistics = serve(&socket, None, false, &mut |socket| {
            let rate = rate(socket, command, DEPTH, DURATION)?;
            println!("{command:?}, untimed, depth {DEPTH}: {rate:.0} requests/s");
            Ok(())
        })?;
        drop(statistics);
        match nbdkit(&socket) {
            Some(mut child) => {
                let rate = rate(&socket, command, DEPTH, DURATION);
                child.kill()?;
                child.wait()?;
                std::fs::remove_file(&socket)?;
                println!("{command:?}, nbdkit memory: {:.0} requests/s", rate?);
            }
            None => println!("skipped: nbdkit is not installed"),
        }
    }
    for (spins, depth) in [(false, 1), (true, 1), (false, DEPTH), (true, DEPTH)] {
        let statistics = serve(&socket, Some(Speed::REAL), spins, &mut |socket| {
            rate(socket, Command::Read, depth, DURATION).map(|_| ())
        })?;
        let mode = if spins { "spinning" } else { "sleeping" };
        println!("{mode}, depth {depth}: {}", statistics.line());
    }
    println!("A thread that does nothing but wait, for comparison:");
    for spins in [false, true] {
        let mut late: Vec<Duration> = (0..1000).map(|_| late(spins)).collect();
        late.sort_unstable();
        let us = |index: usize| late[index].as_secs_f64() * 1e6;
        let mode = if spins { "spinning" } else { "sleeping" };
        println!(
            "{mode}: late by {:.1} us (median), {:.1} us (99 %)",
            us(500),
            us(990)
        );
    }
    Ok(())
}

/// Returns the lateness of a thread that waits in the same way as the server.
fn late(spins: bool) -> Duration {
    let due = Instant::now() + Duration::from_millis(5);
    if !spins {
        thread::sleep(Duration::from_micros(4800));
    }
    loop {
        let now = Instant::now();
        if now >= due {
            return now - due;
        }
    }
}

/// Runs `client` against a server; returns its statistics.
fn serve(
    socket: &Path,
    speed: Option<Speed>,
    spins: bool,
    client: &mut dyn FnMut(&Path) -> Outcome<()>,
) -> Outcome<ExportStatistics> {
    let spec = ExportSpec {
        name: String::new(),
        drive: "quantum-atlas-10k".to_owned(),
        changes: Vec::new(),
        policy: "fcfs".to_owned(),
        size: Some(format!("{SIZE} B")),
        store: StoreSpec::Memory,
        is_read_only: false,
        record: None,
        bound: None,
    };
    let pace = Pace {
        speed,
        spins,
        bound: Span::from_us(100.0),
    };
    let export = spec.build(pace, 1)?;
    let listener = Listener::bind(&Address::Unix(socket.to_owned()))?;
    let server = Server::start(Nbd::default(), vec![export], vec![listener], 4)?;
    client(socket)?;
    server.stopper()?.stop();
    let statistics = server.wait();
    Ok(spec.statistics(pace, Bytes(SIZE), &statistics[0]))
}

/// Starts nbdkit and waits until it listens; returns `None` if that fails.
fn nbdkit(socket: &Path) -> Option<Child> {
    let size = SIZE.to_string();
    let mut child = Program::new("nbdkit")
        .args(["--foreground", "--unix"])
        .arg(socket)
        .args(["memory", &size])
        .stdin(Stdio::null())
        // It logs an error for each client that only tests whether it listens.
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    for _ in 0..500 {
        if UnixStream::connect(socket).is_ok() {
            return Some(child);
        }
        thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    None
}

/// Returns the number of requests per second at random offsets, with `depth` outstanding.
fn rate(socket: &Path, command: Command, depth: usize, duration: Duration) -> Outcome<f64> {
    let mut stream = connect(socket)?;
    let is_write = command == Command::Write;
    let reply = Simple::LENGTH + if is_write { 0 } else { BLOCK as usize };
    let mut seed = 1_u64;
    let mut add_requests = |count: usize, output: &mut Vec<u8>| {
        output.clear();
        for _ in 0..count {
            // xorshift (Marsaglia 2003)
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let request = Request {
                flags: 0,
                command,
                cookie: 0,
                offset: seed % (SIZE / BLOCK) * BLOCK,
                length: BLOCK,
            };
            let mut data = [0; Request::MAX_LENGTH];
            let length = request.emit(Headers::Simple, &mut data);
            output.extend_from_slice(&data[..length]);
            if is_write {
                output.resize(output.len() + BLOCK as usize, 1);
            }
        }
    };
    let mut output = Vec::new();
    let mut input = vec![0; depth * reply];
    let (mut filled, mut done) = (0, 0_u64);
    add_requests(depth, &mut output);
    stream.write_all(&output)?;
    let begin = Instant::now();
    while begin.elapsed() < duration {
        let count = stream.read(&mut input[filled..])?;
        if count == 0 {
            return Err("the server has closed the connection".into());
        }
        filled += count;
        let complete = filled / reply;
        for start in (0..complete).map(|number| number * reply) {
            let header = Simple::parse(&input[start..]).map_err(|_| "a short reply")?;
            if (header.magic, header.error) != (Simple::MAGIC, 0) {
                return Err("the server sent an error or an invalid reply".into());
            }
        }
        input.copy_within(complete * reply..filled, 0);
        filled -= complete * reply;
        done += complete as u64;
        add_requests(complete, &mut output);
        stream.write_all(&output)?;
    }
    Ok(done as f64 / begin.elapsed().as_secs_f64())
}

/// Connects to the server and chooses the default export.
fn connect(socket: &Path) -> Outcome<UnixStream> {
    let mut stream = UnixStream::connect(socket)?;
    stream.read_exact(&mut [0; Greeting::LENGTH])?;
    let data = Choice::emit("", &[]);
    let header = OptionHeader {
        magic: Greeting::MAGIC,
        option: code::GO,
        length: data.len() as u32,
    };
    stream.write_all(&[0, 0, 0, 3])?;
    stream.write_all(&header.emit())?;
    stream.write_all(&data)?;
    loop {
        let mut header = [0; AnswerHeader::LENGTH];
        stream.read_exact(&mut header)?;
        let header = AnswerHeader::parse(&header).map_err(|_| "a short answer")?;
        let mut data = vec![0; header.length as usize];
        stream.read_exact(&mut data)?;
        match header.answer {
            answer::INFO => {}
            answer::ACK => return Ok(stream),
            other => return Err(format!("the server refused the export: {other:#x}").into()),
        }
    }
}
