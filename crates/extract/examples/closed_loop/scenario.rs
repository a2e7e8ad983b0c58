//! Scenarios: the commands that a drive answers, and the clock with which its answers are timed.

use diskarm_core::spec::Spec;
use diskarm_core::units::{Instant, Span};
use diskarm_extract::{
    Data, HostDelay, NoisyTransport, Reply, SimulatedDrive, Transport, TransportError,
};
use diskarm_wire::Sense;
use diskarm_wire::sense::{Code, Format, Key};

/// A scenario of a run.
pub struct Scenario {
    pub name: &'static str,
    /// Operations that the drive does not support.
    unknown: &'static [u8],
    /// Standard deviation of the noise of the host's clock.
    noise: Span,
}

const SEND_DIAGNOSTIC: u8 = 0x1d;
const MODE_SENSE: [u8; 2] = [0x1a, 0x5a];
const READ_DEFECT_DATA: [u8; 2] = [0x37, 0xb7];

/// The operations that report block locations.
const LOCATING: &[u8] = &[
    SEND_DIAGNOSTIC,
    MODE_SENSE[0],
    MODE_SENSE[1],
    READ_DEFECT_DATA[0],
    READ_DEFECT_DATA[1],
];

/// All scenarios: the drive translates addresses; it reports notches and cylinders, like Quantum's
/// drives; it reports nothing; and the first and the last of these with a noisy clock.
pub const SCENARIOS: [Scenario; 5] = [
    Scenario {
        name: "translate",
        unknown: &[],
        noise: Span::ZERO,
    },
    Scenario {
        name: "notches",
        unknown: &[SEND_DIAGNOSTIC],
        noise: Span::ZERO,
    },
    Scenario {
        name: "timing",
        unknown: LOCATING,
        noise: Span::ZERO,
    },
    Scenario {
        name: "translate-noise",
        unknown: &[],
        noise: NOISE,
    },
    Scenario {
        name: "timing-noise",
        unknown: LOCATING,
        noise: NOISE,
    },
];

const NOISE: Span = Span::from_ns(100_000);

/// The host's delay between commands.
const HOST: HostDelay = HostDelay {
    min: Span::from_ns(50_000),
    max: Span::from_ns(150_000),
};

impl Scenario {
    /// Returns the factor by which the bounds are widened.
    pub fn tolerance_factor(&self) -> f64 {
        match self.noise {
            Span::ZERO => 1.0,
            _ => 3.0,
        }
    }

    /// Returns true if times alone determine block locations.
    pub fn is_by_timing(&self) -> bool {
        self.unknown == LOCATING
    }

    /// Creates the drive that `spec` describes.
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

/// A drive that does not support some operations.
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
        let refused = Sense::new(Key::IllegalRequest, Code::INVALID_OPERATION);
        let now = self.drive.now();
        Ok(Reply {
            status: CHECK_CONDITION,
            sense: refused.emit(Format::Fixed),
            transferred: 0,
            sent: now,
            ended: now,
        })
    }

    fn sleep(&mut self, span: Span) {
        self.drive.sleep(span);
    }

    fn now(&self) -> Instant {
        self.drive.now()
    }
}
