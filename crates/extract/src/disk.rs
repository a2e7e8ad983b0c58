//! The commands that measurements need.

use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount, Span};

use crate::{Broken, Data, Error, Reply, Transport};

/// When a command was sent, and when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// When it was sent.
    pub sent: Instant,
    /// When it ended.
    pub ended: Instant,
}

impl Timed {
    /// From its sending to its end.
    pub fn service(&self) -> Span {
        self.ended - self.sent
    }
}

/// What measurements have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Commands sent.
    pub commands: u64,
    /// From the first command to the end of the last, with all pauses.
    pub time: Span,
}

/// A place on the media in physical sector format (SBC-3 section 5.2.2.4.5), as TRANSLATE ADDRESS
/// and READ DEFECT DATA give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Cylinder, 24 bits.
    pub cylinder: u32,
    /// Head.
    pub head: u8,
    /// Sector of the track, as the drive counts them: from the index mark on most drives.
    pub sector: u32,
}

/// A drive under test.
pub struct Disk<'a> {
    transport: &'a mut dyn Transport,
    sectors: SectorCount,
    sector_size: Bytes,
    buffer: Vec<u8>,
    commands: u64,
    began: Instant,
}

impl<'a> Disk<'a> {
    /// Asks the drive for its capacity (READ CAPACITY).
    ///
    /// # Errors
    /// The command failed.
    pub fn new(transport: &'a mut dyn Transport) -> Result<Self, Error> {
        let began = transport.now();
        let mut disk = Self {
            transport,
            sectors: SectorCount(0),
            sector_size: Bytes(0),
            buffer: Vec::new(),
            commands: 0,
            began,
        };
        let mut capacity = [0; 8];
        disk.data_in(
            "READ CAPACITY",
            &[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &mut capacity,
        )?;
        disk.sectors = SectorCount(u64::from(word(&capacity, 0)) + 1);
        disk.sector_size = Bytes(u64::from(word(&capacity, 4)));
        Ok(disk)
    }

    /// Number of blocks.
    pub fn sectors(&self) -> SectorCount {
        self.sectors
    }

    /// Size of a block.
    pub fn sector_size(&self) -> Bytes {
        self.sector_size
    }

    /// What all commands so far have cost.
    pub fn cost(&self) -> Cost {
        Cost {
            commands: self.commands,
            time: self.transport.now() - self.began,
        }
    }

    /// Lets the drive idle.
    pub fn rest(&mut self, span: Span) {
        self.transport.rest(span);
    }

    /// Reads blocks, from the buffer if the drive has them there.
    ///
    /// # Errors
    /// The command failed, as with all that follow.
    pub fn read(&mut self, at: Lbn, sectors: u16) -> Result<Timed, Error> {
        self.transfer_in("READ", 0x28, 0, at, sectors)
    }

    /// Reads blocks from the media, whatever the buffer holds (force unit access).
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn read_media(&mut self, at: Lbn, sectors: u16) -> Result<Timed, Error> {
        self.transfer_in("READ", 0x28, 0x08, at, sectors)
    }

    /// Writes zeros: what the blocks held is lost.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn write(&mut self, at: Lbn, sectors: u16) -> Result<Timed, Error> {
        let length = usize::from(sectors) * self.sector_size.0 as usize;
        self.buffer.clear();
        self.buffer.resize(length, 0);
        let command = ten(0x2a, 0, at, sectors);
        let reply = self.transport.execute(&command, Data::Out(&self.buffer));
        self.ended("WRITE", reply)
    }

    /// Writes zeros to the media before it ends, whatever the write cache does (force unit access).
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn write_media(&mut self, at: Lbn, sectors: u16) -> Result<Timed, Error> {
        let length = usize::from(sectors) * self.sector_size.0 as usize;
        self.buffer.clear();
        self.buffer.resize(length, 0);
        let command = ten(0x2a, 0x08, at, sectors);
        let reply = self.transport.execute(&command, Data::Out(&self.buffer));
        self.ended("WRITE", reply)
    }

    /// Moves the arm to the place of a block (SEEK).
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn seek(&mut self, at: Lbn) -> Result<Timed, Error> {
        self.no_data("SEEK", &ten(0x2b, 0, at, 0))
    }

    /// Where a block is (SEND DIAGNOSTIC and RECEIVE DIAGNOSTIC RESULTS, translate address).
    ///
    /// # Errors
    /// See [`Self::read`]; drives that cannot tell end it with ILLEGAL REQUEST.
    pub fn place(&mut self, at: Lbn) -> Result<Place, Error> {
        let mut page = [0; 14];
        page[0] = 0x40;
        page[3] = 10;
        // From a short block address to the physical sector.
        page[5] = 5;
        let at = u32::try_from(at.0).map_err(|_| Error::Malformed {
            command: "SEND DIAGNOSTIC",
            reason: format!("block {} does not fit a short address", at.0),
        })?;
        page[6..10].copy_from_slice(&at.to_be_bytes());
        let send = [0x1d, 0x10, 0, 0, page.len() as u8, 0];
        let reply = self.transport.execute(&send, Data::Out(&page));
        self.ended("SEND DIAGNOSTIC", reply)?;
        let mut found = [0; 14];
        let receive = [0x1c, 1, 0x40, 0, found.len() as u8, 0];
        self.data_in("RECEIVE DIAGNOSTIC RESULTS", &receive, &mut found)?;
        Ok(Place {
            cylinder: word(&found, 5) & 0x00ff_ffff,
            head: found[9],
            sector: word(&found, 10),
        })
    }

    fn transfer_in(
        &mut self,
        name: &'static str,
        code: u8,
        flags: u8,
        at: Lbn,
        sectors: u16,
    ) -> Result<Timed, Error> {
        let length = usize::from(sectors) * self.sector_size.0 as usize;
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(length, 0);
        let timed = self.data_in(name, &ten(code, flags, at, sectors), &mut buffer);
        self.buffer = buffer;
        timed
    }

    fn data_in(
        &mut self,
        name: &'static str,
        command: &[u8],
        data: &mut [u8],
    ) -> Result<Timed, Error> {
        let expected = data.len();
        let reply = self.transport.execute(command, Data::In(data));
        let transferred = reply.as_ref().map_or(expected, |reply| reply.transferred);
        let timed = self.ended(name, reply)?;
        if transferred < expected {
            let reason = format!("returned {transferred} bytes, expected {expected}");
            return Err(Error::Malformed {
                command: name,
                reason,
            });
        }
        Ok(timed)
    }

    fn no_data(&mut self, name: &'static str, command: &[u8]) -> Result<Timed, Error> {
        let reply = self.transport.execute(command, Data::None);
        self.ended(name, reply)
    }

    fn ended(
        &mut self,
        command: &'static str,
        reply: Result<Reply, Broken>,
    ) -> Result<Timed, Error> {
        let reply = reply?;
        self.commands += 1;
        match reply.status {
            0 => Ok(Timed {
                sent: reply.sent,
                ended: reply.ended,
            }),
            status => Err(Error::Status {
                command,
                status,
                sense: reply.sense,
            }),
        }
    }
}

/// The four bytes at `at`, most significant first.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// A command block of ten bytes for blocks.
fn ten(code: u8, flags: u8, at: Lbn, sectors: u16) -> [u8; 10] {
    let at = u32::try_from(at.0).expect("a block within the capacity that READ CAPACITY gave");
    let mut block = [0; 10];
    block[0] = code;
    block[1] = flags;
    block[2..6].copy_from_slice(&at.to_be_bytes());
    block[7..9].copy_from_slice(&sectors.to_be_bytes());
    block
}
