//! A drive of the model, in virtual time.

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;

use diskarm_core::request::{Op, Request};
use diskarm_core::spec::Spec;
use diskarm_core::text::InputError;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{Broken, Data, Reply, Transport};

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
    translated: Option<Lbn>,
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
            translated: None,
        })
    }

    fn delay(&mut self) -> Span {
        let width = (self.host.most - self.host.least).as_ns() as u64 + 1;
        let random = (u128::from(self.generator.next_u64()) * u128::from(width)) >> 64;
        self.host.least + Span::from_ns(random as i64)
    }

    /// Serves a request; returns when it ended, or sense key and additional sense code.
    fn serve(&mut self, op: Op, block: &[u8]) -> Result<Instant, (u8, u8)> {
        let at = u32::from_be_bytes([block[2], block[3], block[4], block[5]]);
        let sectors = u16::from_be_bytes([block[7], block[8]]);
        let sectors = SectorCount(u64::from(sectors));
        let mut request = Request::new(0, op, Lbn(u64::from(at)), sectors);
        request.force_unit_access = block[1] & 0x08 != 0;
        while self.drive.advance(self.now).is_some() {}
        // LOGICAL BLOCK ADDRESS OUT OF RANGE.
        self.drive
            .submit(self.now, request)
            .map_err(|_| (5, 0x21))?;
        loop {
            let next = self.drive.next_event().expect("a request is outstanding");
            if let Some(completion) = self.drive.advance(next) {
                return Ok(completion.at);
            }
        }
    }

    /// The page that answers TRANSLATE ADDRESS. Sectors count from the index mark.
    fn translated(&self) -> Result<[u8; 14], (u8, u8)> {
        // COMMAND SEQUENCE ERROR.
        let at = self.translated.ok_or((5, 0x2c))?;
        let extent = self.drive.layout().extent(at);
        // Sums of rounded angles fall short of whole sectors by a few units of 2^-64.
        let start = extent.start + Angle::from_raw(1 << 32);
        let sector = start.as_raw() / extent.sector_angle.as_raw().max(1);
        let mut page = [0; 14];
        page[5..9].copy_from_slice(&extent.cylinder.0.to_be_bytes());
        page[..6].copy_from_slice(&[0x40, 0, 0, 10, 0, 5]);
        page[9] = extent.head.0 as u8;
        page[10..14].copy_from_slice(&(sector as u32).to_be_bytes());
        Ok(page)
    }

    fn capacity(&self) -> [u8; 8] {
        let last = self.drive.capacity().0 - 1;
        let size = self.drive.sector_size().0;
        let mut data = [0; 8];
        data[..4].copy_from_slice(&(last as u32).to_be_bytes());
        data[4..].copy_from_slice(&(size as u32).to_be_bytes());
        data
    }

    /// What a command does; returns when it ended.
    fn run(&mut self, command: &[u8], data: &mut Data<'_>) -> Result<Instant, (u8, u8)> {
        match (command[0], data) {
            (0x28, Data::In(_)) => self.serve(Op::Read, command),
            (0x2a, Data::Out(_)) => self.serve(Op::Write, command),
            (0x25, Data::In(data)) => {
                data.copy_from_slice(&self.capacity());
                Ok(self.now)
            }
            (0x1d, Data::Out(page)) => {
                let at = u32::from_be_bytes([page[6], page[7], page[8], page[9]]);
                self.translated = Some(Lbn(u64::from(at)));
                Ok(self.now)
            }
            (0x1c, Data::In(page)) => {
                page.copy_from_slice(&self.translated()?);
                Ok(self.now)
            }
            // INVALID COMMAND OPERATION CODE.
            _ => Err((5, 0x20)),
        }
    }
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
            Err((key, code)) => {
                let mut sense = vec![0; 18];
                (sense[0], sense[2], sense[7], sense[12]) = (0x70, key, 10, code);
                (2, sense)
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
