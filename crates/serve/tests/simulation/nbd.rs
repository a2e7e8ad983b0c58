//! The bytes that an NBD client sends, and the replies that it receives.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use diskarm_serve::nbd::{Nbd, NbdSession, NegotiatedExport};
use diskarm_serve::{Export, ExportSpec, Facts, Pace, Protocol as _, Waker};
use diskarm_wire::nbd::message::Simple;
use diskarm_wire::nbd::{Command, CommandFlags, Headers, Request};

use super::protocol::{Access, Answer, Client, Protocol, SECTOR, sector_content, sector_value};

impl Protocol for Nbd {
    type Service = <Self as diskarm_serve::Protocol>::Service;
    type Device = Box<dyn diskarm_core::device::Device>;

    const TRIMS: bool = true;

    fn build(spec: &ExportSpec, pace: Pace) -> Export<Self::Device> {
        spec.build(pace, 1).expect("a valid export")
    }

    fn start(&self, export: Export<Self::Device>, waker: Waker) -> io::Result<Self::Service> {
        self.serve(export, waker)
    }

    fn connect(&self, facts: &Facts, _: usize) -> (NbdSession, Box<dyn Client>) {
        let negotiated = NegotiatedExport {
            export: 0,
            headers: Headers::Simple,
            has_status: false,
            rest: Vec::new(),
        };
        let session = NbdSession::new(facts.clone(), &negotiated, &[]);
        (session, Box::new(NbdClient::default()))
    }
}

#[derive(Default)]
struct NbdClient {
    /// The lengths of the data of outstanding reads.
    reads: BTreeMap<u64, usize>,
}

impl Client for NbdClient {
    fn send(&mut self, id: u64, access: &Access, output: &mut VecDeque<u8>) {
        let mut flags = CommandFlags::default();
        let (command, sector, count) = match access {
            Access::Read { sector, count } => (Command::Read, *sector, *count),
            Access::Write {
                sector,
                values,
                is_durable,
            } => {
                flags.force_unit_access = *is_durable;
                (Command::Write, *sector, values.len())
            }
            Access::Zero {
                sector,
                count,
                is_durable,
            } => {
                flags.force_unit_access = *is_durable;
                (Command::WriteZeroes, *sector, *count)
            }
            Access::Trim { sector, count } => (Command::Trim, *sector, *count),
            Access::Flush => (Command::Flush, 0, 0),
        };
        let request = Request {
            flags: u16::from_be_bytes(flags.emit()),
            command,
            cookie: id,
            offset: (sector * SECTOR) as u64,
            length: (count * SECTOR) as u64,
        };
        let mut header = [0; Request::MAX_LENGTH];
        let length = request.emit(Headers::Simple, &mut header);
        output.extend(&header[..length]);
        match access {
            Access::Read { .. } => _ = self.reads.insert(id, count * SECTOR),
            Access::Write { values, .. } => {
                values
                    .iter()
                    .for_each(|value| output.extend(sector_content(*value)));
            }
            _ => {}
        }
    }

    fn receive(&mut self, input: &mut VecDeque<u8>, _: &mut VecDeque<u8>) -> Option<(u64, Answer)> {
        let header: Vec<u8> = input.iter().take(Simple::LENGTH).copied().collect();
        if header.len() < Simple::LENGTH {
            return None;
        }
        let reply = Simple::parse(&header).expect("a whole header");
        assert_eq!(reply.magic, Simple::MAGIC);
        let is_good = reply.error == 0;
        let read = self.reads.get(&reply.cookie).copied();
        let length = read.filter(|_| is_good).unwrap_or(0);
        if input.len() < Simple::LENGTH + length {
            return None;
        }
        self.reads.remove(&reply.cookie);
        input.drain(..Simple::LENGTH);
        let data: Vec<u8> = input.drain(..length).collect();
        let answer = if is_good {
            Ok(data.chunks(SECTOR).map(sector_value).collect())
        } else {
            Err(reply.error)
        };
        Some((reply.cookie, answer))
    }
}
