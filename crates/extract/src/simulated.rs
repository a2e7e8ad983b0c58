//! A drive of the model, in virtual time.

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;

use diskarm_core::request::{Op, Request};
use diskarm_core::spec::Spec;
use diskarm_core::text::InputError;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use diskarm_wire::capacity::Capacity10;
use diskarm_wire::command::{AddressFormat, Blocks, Caching};
use diskarm_wire::defect::{Address, Physical, Translate, Translated};
use diskarm_wire::sense::{Code, Format, Key, MAX_LENGTH};
use diskarm_wire::{Command, Sense};

use crate::{Broken, Data, Reply, Transport};

/// The status of a command that ends with sense data (SAM-5).
const CHECK_CONDITION: u8 = 2;

/// How long the host takes between the end of a command and the sending of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// At least.
    pub least: Span,
    /// At most; the delay is uniform between the two.
    pub most: Span,
}

/// A drive of the model, in virtual time: a second of the drive takes far less than a second.
pub struct Simulated {
    drive: Drive,
    now: Instant,
    host: Host,
    generator: Pcg64Mcg,
    /// What TRANSLATE ADDRESS was asked last.
    asked: Option<Translate>,
}

impl Simulated {
    /// A drive as `spec` describes it, which has turned by a random angle when the clock begins.
    ///
    /// # Errors
    /// The specification contradicts itself.
    pub fn new(spec: &Spec, host: Host, seed: u64) -> Result<Self, InputError> {
        let mut generator = Pcg64Mcg::seed_from_u64(seed);
        let origin = Angle::from_raw(generator.next_u64());
        Ok(Self {
            drive: Drive::new(spec, origin)?.seeded(seed),
            now: Instant::START,
            host,
            generator,
            asked: None,
        })
    }

    fn delay(&mut self) -> Span {
        let width = (self.host.most - self.host.least).as_ns() as u64 + 1;
        let random = (u128::from(self.generator.next_u64()) * u128::from(width)) >> 64;
        self.host.least + Span::from_ns(random as i64)
    }

    /// Serves a request; returns when it ended.
    fn serve(&mut self, op: Op, blocks: Blocks, caching: Caching) -> Result<Instant, Sense> {
        let sectors = SectorCount(u64::from(blocks.count));
        let mut request = Request::new(0, op, Lbn(blocks.at), sectors);
        request.force_unit_access = caching.force_unit_access;
        while self.drive.advance(self.now).is_some() {}
        self.drive
            .submit(self.now, request)
            .map_err(|_| refused(Code::OUT_OF_RANGE))?;
        loop {
            let next = self.drive.next_event().expect("a request is outstanding");
            if let Some(completion) = self.drive.advance(next) {
                return Ok(completion.at);
            }
        }
    }

    /// Answers TRANSLATE ADDRESS. Sectors count from the index mark.
    fn translated(&self) -> Result<Translated, Sense> {
        let asked = self.asked.ok_or(refused(Code::COMMAND_SEQUENCE))?;
        let block = match asked.address {
            Address::ShortBlock(block) => u64::from(block),
            Address::LongBlock(block) => block,
            _ => return Err(refused(Code::INVALID_PARAMETER)),
        };
        if block >= self.drive.capacity().0 || asked.wanted != AddressFormat::PhysicalSector {
            return Err(refused(Code::INVALID_PARAMETER));
        }
        let extent = self.drive.layout().extent(Lbn(block));
        let width = extent.sector_angle.as_raw().max(1);
        // Sums of rounded angles fall short of whole sectors by a few units of 2^-64.
        let start = extent.start + Angle::from_raw(1 << 32);
        Ok(Translated {
            supplied: asked.address.format(),
            reserved: false,
            alternate_sector: false,
            alternate_track: false,
            address: Address::PhysicalSector(Physical {
                cylinder: extent.cylinder.0,
                head: extent.head.0 as u8,
                offset: (start.as_raw() / width) as u32,
            }),
        })
    }

    /// What a command does; returns when it ended.
    fn run(&mut self, command: &[u8], data: &mut Data<'_>) -> Result<Instant, Sense> {
        let command = Command::parse(command).map_err(Sense::of_command)?;
        match (command, data) {
            (
                Command::Read {
                    blocks, caching, ..
                },
                Data::In(_),
            ) => self.serve(Op::Read, blocks, caching),
            (
                Command::Write {
                    blocks, caching, ..
                },
                Data::Out(_),
            ) => self.serve(Op::Write, blocks, caching),
            (Command::ReadCapacity10 { .. }, Data::In(data)) => {
                let last = self.drive.capacity().0 - 1;
                let capacity = Capacity10 {
                    last: u32::try_from(last).unwrap_or(u32::MAX),
                    block_bytes: self.drive.sector_size().0 as u32,
                };
                data.copy_from_slice(&capacity.emit());
                Ok(self.now)
            }
            (Command::SendDiagnostic { .. }, Data::Out(page)) => {
                let asked = Translate::parse(page);
                self.asked = Some(asked.map_err(|_| refused(Code::INVALID_PARAMETER))?);
                Ok(self.now)
            }
            (Command::ReceiveDiagnosticResults { .. }, Data::In(page)) => {
                page.copy_from_slice(&self.translated()?.emit());
                Ok(self.now)
            }
            _ => Err(refused(Code::INVALID_OPERATION)),
        }
    }
}

fn refused(code: Code) -> Sense {
    Sense::new(Key::IllegalRequest, code)
}

impl Transport for Simulated {
    fn execute(&mut self, command: &[u8], mut data: Data<'_>) -> Result<Reply, Broken> {
        let delay = self.delay();
        self.now += delay;
        let sent = self.now;
        let result = self.run(command, &mut data);
        let transferred = match (&result, &data) {
            (Err(_), _) | (_, Data::None) => 0,
            (_, Data::In(bytes)) => bytes.len(),
            (_, Data::Out(bytes)) => bytes.len(),
        };
        let (status, sense) = match result {
            Ok(ended) => {
                self.now = ended;
                (0, Vec::new())
            }
            Err(sense) => {
                let mut data = vec![0; MAX_LENGTH];
                let length = sense.emit(Format::Fixed, &mut data);
                data.truncate(length);
                (CHECK_CONDITION, data)
            }
        };
        Ok(Reply {
            status,
            sense,
            transferred,
            sent,
            ended: self.now,
        })
    }

    fn rest(&mut self, span: Span) {
        self.now += span;
    }

    fn now(&self) -> Instant {
        self.now
    }
}
