//! Failing drives and transports: which commands are repeated, and how errors are reported.

use std::collections::VecDeque;

use diskarm_core::spec::{self, Spec};
use diskarm_core::units::{Instant, Lbn, Span};
use diskarm_extract::layout::{timing, translate};
use diskarm_extract::{
    Cost, Data, Disk, Effort, Error, HostDelay, Reply, SimulatedDrive, Transport, TransportError,
    rotation,
};
use diskarm_wire::Sense;
use diskarm_wire::sense::{Code, Format, Key};

const HOST: HostDelay = HostDelay {
    min: Span::from_ns(100_000),
    max: Span::from_ns(100_000),
};

const BUSY: u8 = 0x08;
const CHECK_CONDITION: u8 = 0x02;

fn drive() -> SimulatedDrive {
    let name = "hp-c2247";
    let spec: Spec = spec::parse(diskarm_drives::find(name).unwrap().text, name).unwrap();
    SimulatedDrive::new(&spec, HOST, 1).unwrap()
}

fn sense(key: Key, code: Code) -> Vec<u8> {
    let mut sense = Sense::new(key, code);
    sense.information = Some(1234);
    sense.emit(Format::Fixed)
}

/// A drive that answers some commands with another status.
struct Troubled {
    drive: SimulatedDrive,
    /// Number of commands before the trouble begins.
    good: u64,
    /// The status and sense data of the following commands; the last one repeats if `repeats`.
    trouble: VecDeque<(u8, Vec<u8>)>,
    repeats: bool,
    /// True if failing commands are executed anyway.
    executes: bool,
}

impl Troubled {
    fn new(good: u64, trouble: &[(u8, Vec<u8>)]) -> Self {
        Self {
            drive: drive(),
            good,
            trouble: trouble.iter().cloned().collect(),
            repeats: false,
            executes: false,
        }
    }
}

impl Transport for Troubled {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError> {
        if self.good > 0 || self.trouble.is_empty() {
            self.good = self.good.saturating_sub(1);
            return self.drive.execute(command, data);
        }
        let trouble = match self.trouble.len() {
            1 if self.repeats => self.trouble.front().cloned(),
            _ => self.trouble.pop_front(),
        };
        let (status, sense) = trouble.expect("the trouble has not ended");
        let at = self.drive.now();
        let mut reply = Reply {
            status,
            sense: Vec::new(),
            transferred: 0,
            sent: at,
            ended: at,
        };
        if self.executes {
            reply = self.drive.execute(command, data)?;
        }
        Ok(Reply {
            status,
            sense,
            ..reply
        })
    }

    fn sleep(&mut self, span: Span) {
        self.drive.sleep(span);
    }

    fn now(&self) -> Instant {
        self.drive.now()
    }
}

/// Reads a block after READ CAPACITY.
fn read(troubled: &mut Troubled) -> (Result<(), Error>, Cost) {
    let mut disk = Disk::new(troubled).unwrap();
    let result = disk.read(Lbn(1000), 1);
    (result.map(|_| ()), disk.cost())
}

#[test]
fn commands_to_a_busy_drive_are_repeated() {
    let (result, cost) = read(&mut Troubled::new(
        1,
        &[(BUSY, Vec::new()), (BUSY, Vec::new())],
    ));
    assert_eq!(result, Ok(()));
    assert_eq!((cost.commands, cost.repeated), (4, 2));
    assert!(cost.time > Span::from_ms(200.0), "{cost:?}");
}

#[test]
fn repeating_ends_if_a_drive_stays_busy() {
    let mut troubled = Troubled::new(1, &[(BUSY, Vec::new())]);
    troubled.repeats = true;
    let (result, cost) = read(&mut troubled);
    let error = result.unwrap_err().to_string();
    assert_eq!(error, "READ(10) ended with BUSY");
    assert!(cost.commands < 20, "{cost:?}");
}

#[test]
fn a_reset_attention_is_not_the_result_of_a_command() {
    let reset = (
        CHECK_CONDITION,
        sense(Key::UnitAttention, Code::POWER_ON_OR_RESET),
    );
    let (result, cost) = read(&mut Troubled::new(1, &[reset]));
    assert_eq!(result, Ok(()));
    assert_eq!((cost.commands, cost.repeated), (3, 1));
    let becoming = (CHECK_CONDITION, sense(Key::NotReady, Code::BECOMING_READY));
    let (result, cost) = read(&mut Troubled::new(1, &[becoming]));
    assert_eq!(result, Ok(()));
    assert!(cost.time > Span::from_s(1.0), "{cost:?}");
}

/// Results from before and after a change do not mix. Changes before the first command do no harm.
#[test]
fn changing_parameters_end_a_measurement() {
    let changed = (
        CHECK_CONDITION,
        sense(Key::UnitAttention, Code::MODE_PARAMETERS_CHANGED),
    );
    let (result, _) = read(&mut Troubled::new(0, std::slice::from_ref(&changed)));
    assert_eq!(result, Ok(()));
    let (result, cost) = read(&mut Troubled::new(1, &[changed]));
    let error = result.unwrap_err().to_string();
    let expected = "READ(10) ended with CHECK CONDITION, UNIT ATTENTION, MODE PARAMETERS CHANGED";
    assert!(error.starts_with(expected), "{error}");
    assert_eq!(cost.repeated, 0);
}

#[test]
fn a_deferred_write_error_ends_a_measurement() {
    let mut deferred = sense(Key::MediumError, Code::WRITE_ERROR);
    // Response code 0x71: deferred, fixed format.
    deferred[0] |= 1;
    let (result, cost) = read(&mut Troubled::new(1, &[(CHECK_CONDITION, deferred)]));
    let error = result.unwrap_err().to_string();
    assert!(
        error.ends_with("MEDIUM ERROR, WRITE ERROR, block 1234 (from an earlier command)"),
        "{error}"
    );
    assert_eq!(cost.repeated, 0);
}

#[test]
fn a_medium_error_is_described() {
    let error = (
        CHECK_CONDITION,
        sense(Key::MediumError, Code::UNRECOVERED_READ_ERROR),
    );
    let (result, cost) = read(&mut Troubled::new(1, &[error]));
    assert_eq!(
        result.unwrap_err().to_string(),
        "READ(10) ended with CHECK CONDITION, MEDIUM ERROR, UNRECOVERED READ ERROR, block 1234"
    );
    assert_eq!(cost.repeated, 0);
}

#[test]
fn recovered_errors_are_successes() {
    let recovered = (
        CHECK_CONDITION,
        sense(Key::RecoveredError, Code::RECOVERED_WITH_RETRIES),
    );
    let mut troubled = Troubled::new(1, &[recovered]);
    troubled.executes = true;
    let (result, cost) = read(&mut troubled);
    assert_eq!(result, Ok(()));
    assert_eq!(cost.repeated, 0);
}

/// A drive with arbitrary command durations, as a function of the command's number.
struct Lying {
    drive: SimulatedDrive,
    service: fn(u64) -> Span,
    sent: u64,
}

impl Transport for Lying {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError> {
        let reply = self.drive.execute(command, data)?;
        self.sent += 1;
        Ok(Reply {
            ended: reply.sent + (self.service)(self.sent),
            ..reply
        })
    }

    fn sleep(&mut self, span: Span) {
        self.drive.sleep(span);
    }

    fn now(&self) -> Instant {
        self.drive.now()
    }
}

/// If commands end too early, all after the same time, or at random times, no layout is found, and
/// measurements report it after a few thousand commands.
#[test]
fn false_command_times_yield_no_layout() {
    let services: [fn(u64) -> Span; 3] = [
        |_| Span::ZERO,
        |_| Span::from_ms(5.0),
        |sent| Span::from_us((sent * 7919 % 20_011) as f64),
    ];
    for (k, service) in services.into_iter().enumerate() {
        let mut lying = Lying {
            drive: drive(),
            service,
            sent: 0,
        };
        let mut disk = Disk::new(&mut lying).unwrap();
        let rotation = rotation::measure(&mut disk, Effort::Quick, 1);
        assert!(
            k == 1 || matches!(rotation, Err(Error::Undecided(_))),
            "{k}: {rotation:?}"
        );
        let of_rotation = disk.cost().commands;
        assert!(of_rotation < 1_000, "{k}: {of_rotation}");
        let error = timing::measure(&mut disk, 11_092_626.0, 1).unwrap_err();
        assert!(matches!(error, Error::Undecided(_)), "{k}: {error}");
        let of_layout = disk.cost().commands - of_rotation;
        println!("{k}: {of_rotation} commands for the rotation, {of_layout} for the layout");
        assert!(of_layout < 10_000, "{k}: {of_layout}");
    }
}

/// A transport that fails after a number of commands.
struct Breaks(SimulatedDrive, u64);

impl Transport for Breaks {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError> {
        if self.1 == 0 {
            return Err(TransportError::Lost("the cable is gone".to_owned()));
        }
        self.1 -= 1;
        self.0.execute(command, data)
    }

    fn sleep(&mut self, span: Span) {
        self.0.sleep(span);
    }

    fn now(&self) -> Instant {
        self.0.now()
    }
}

#[test]
fn a_broken_transport_ends_a_measurement() {
    for good in [1, 10, 100, 300] {
        let mut broken = Breaks(drive(), good);
        let mut disk = Disk::new(&mut broken).unwrap();
        let result = translate::measure(&mut disk, &[]);
        assert!(matches!(result, Err(Error::Transport(_))), "{result:?}");
        let mut broken = Breaks(drive(), good);
        let mut disk = Disk::new(&mut broken).unwrap();
        let result = timing::measure(&mut disk, 11_092_626.0, 1);
        assert!(matches!(result, Err(Error::Transport(_))), "{result:?}");
    }
}
