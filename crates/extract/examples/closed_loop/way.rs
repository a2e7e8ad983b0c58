//! The ways in which a drive answers, and in which its answers are seen.

use diskarm_core::spec::Spec;
use diskarm_core::units::{Instant, Span};
use diskarm_extract::{
    Data, HostDelay, NoisyTransport, Reply, SimulatedDrive, Transport, TransportError,
};
use diskarm_wire::Sense;
use diskarm_wire::sense::{Code, Format, Key, MAX_LENGTH};

/// How a drive is measured.
pub struct Way {
    pub name: &'static str,
    /// Operations that the drive does not know.
    unknown: &'static [u8],
    /// Standard deviation of the noise of the host's clock.
    noise: Span,
}

const SEND_DIAGNOSTIC: u8 = 0x1d;
const MODE_SENSE: [u8; 2] = [0x1a, 0x5a];
const READ_DEFECT_DATA: [u8; 2] = [0x37, 0xb7];

/// What tells where blocks are.
const TELLING: &[u8] = &[
    SEND_DIAGNOSTIC,
    MODE_SENSE[0],
    MODE_SENSE[1],
    READ_DEFECT_DATA[0],
    READ_DEFECT_DATA[1],
];

/// All ways: the drive translates addresses; it tells its notches and cylinders (Quantum's way); it
/// tells nothing; and the first and the last through a clock that is not exact.
pub const WAYS: [Way; 5] = [
    Way {
        name: "translate",
        unknown: &[],
        noise: Span::ZERO,
    },
    Way {
        name: "notches",
        unknown: &[SEND_DIAGNOSTIC],
        noise: Span::ZERO,
    },
    Way {
        name: "timing",
        unknown: TELLING,
        noise: Span::ZERO,
    },
    Way {
        name: "translate-noise",
        unknown: &[],
        noise: NOISE,
    },
    Way {
        name: "timing-noise",
        unknown: TELLING,
        noise: NOISE,
    },
];

const NOISE: Span = Span::from_ns(100_000);

/// The host between commands.
const HOST: HostDelay = HostDelay {
    min: Span::from_ns(50_000),
    max: Span::from_ns(150_000),
};

impl Way {
    /// How much wider the bounds are.
    pub fn wider(&self) -> f64 {
        match self.noise {
            Span::ZERO => 1.0,
            _ => 3.0,
        }
    }

    /// Whether nothing but times tells where blocks are.
    pub fn is_by_timing(&self) -> bool {
        self.unknown == TELLING
    }

    /// A drive as `spec` describes it.
    pub fn connect(&self, spec: &Spec, seed: u64) -> Result<Box<dyn Transport>, TransportError> {
        let drive = SimulatedDrive::new(spec, HOST, seed)
            .map_err(|error| TransportError::Lost(error.to_string()))?;
        let mut drive: Box<dyn Transport> = Box::new(drive);
        if !self.unknown.is_empty() {
            drive = Box::new(Reticent {
                drive,
                unknown: self.unknown,
            });
        }
        if self.noise > Span::ZERO {
            drive = Box::new(NoisyTransport::new(drive, self.noise, seed));
        }
        Ok(drive)
    }
}

/// A drive that does not know some operations.
struct Reticent {
    drive: Box<dyn Transport>,
    unknown: &'static [u8],
}

const CHECK_CONDITION: u8 = 2;

impl Transport for Reticent {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError> {
        let is_known = |code| !self.unknown.contains(code);
        if command.first().is_none_or(is_known) {
            return self.drive.execute(command, data);
        }
        let mut sense = vec![0; MAX_LENGTH];
        let refused = Sense::new(Key::IllegalRequest, Code::INVALID_OPERATION);
        let length = refused.emit(Format::Fixed, &mut sense);
        sense.truncate(length);
        let now = self.drive.now();
        Ok(Reply {
            status: CHECK_CONDITION,
            sense,
            transferred: 0,
            sent: now,
            ended: now,
        })
    }

    fn rest(&mut self, span: Span) {
        self.drive.rest(span);
    }

    fn now(&self) -> Instant {
        self.drive.now()
    }
}
