//! The bytes that an iSCSI initiator sends, and the responses that it receives.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use diskarm_core::units::Angle;
use diskarm_emulate::Single;
use diskarm_serve::iscsi::{Connection, Disk, Iscsi, IscsiTarget, MAX_RECEIVE, target_name};
use diskarm_serve::{
    Exchange as _, ExchangeStep, Export, ExportSpec, Facts, Handshake as _, Pace, Protocol as _,
    Session as _, Waker,
};
use diskarm_wire::command::{Blocks, Caching, Command as Scsi, Size};
use diskarm_wire::iscsi::text::Writer;
use diskarm_wire::iscsi::{
    Command, DataOut, Lengths, LoginRequest, Lun, Message, NopOut, ReadyToTransfer, Serial, Tag,
    attribute, padded, stage,
};

use super::protocol::{Access, Answer, Client, Protocol, SECTOR, sector_content, sector_value};

/// The largest part of a write that is sent with its command.
const IMMEDIATE: usize = 1 << 12;

impl Protocol for Iscsi {
    type Service = IscsiTarget;
    type Device = Disk;

    const TRIMS: bool = false;

    /// Without a queue in front of it, the unit has the write cache of its drive.
    fn build(spec: &ExportSpec, pace: Pace) -> Export<Disk> {
        let mut export = spec.build_unit(pace, 1).expect("a valid export");
        let drive = spec.system().expect("a drive").drive;
        let build = move || {
            let single = Single::new(&drive.spec, Angle::ZERO, 1);
            Disk::from_drive(single.expect("a valid drive"))
        };
        if let (Some(timing), true) = (&mut export.timing, spec.policy == "fcfs") {
            timing.device = build();
            let power = export.power.as_mut().expect("a drive reports persistence");
            power.device = Some(Box::new(build));
        }
        export
    }

    fn start(&self, export: Export<Disk>, waker: Waker) -> io::Result<IscsiTarget> {
        self.serve(export, waker)
    }

    fn connect(&self, facts: &Facts, number: usize) -> (Connection, Box<dyn Client>) {
        let request = LoginRequest {
            transit: true,
            continues: false,
            current: stage::OPERATIONAL,
            next: stage::FULL_FEATURE,
            version_max: 0,
            version_min: 0,
            isid: [0x80, 0, 0, 0, 0, number as u8],
            tsih: 0,
            tag: Tag(1),
            connection: 0,
            command: Serial(1),
            expected_status: Serial(0),
        };
        let mut text = vec![0; 8192];
        let mut writer = Writer::new(&mut text);
        let initiator = format!("iqn.2026-01.test:{number}");
        writer.put("InitiatorName", &initiator).expect("room");
        writer.put("TargetName", target_name("")).expect("room");
        let length = writer.length();
        let mut output = VecDeque::new();
        put(
            &mut output,
            &Message::LoginRequest(request),
            &text[..length],
        );
        let mut login = self.login("127.0.0.1:3260".to_owned());
        login.received(output.make_contiguous());
        let ExchangeStep::Chosen(_, mut session) = login.step(std::slice::from_ref(facts), false)
        else {
            panic!("the login failed");
        };
        // The login response.
        let count = session.output().len();
        session.sent(count);
        (*session, Box::new(Initiator::default()))
    }
}

#[derive(Default)]
struct Initiator {
    command: u32,
    /// The data of outstanding writes, and of reads so far, by tag.
    data: BTreeMap<u32, Vec<u8>>,
    has_no_write_cache: bool,
}

/// Tags of commands that the initiator sends by itself.
const READY: u32 = u32::MAX - 1;
const MODE_SENSE: u32 = u32::MAX - 2;

fn put(output: &mut VecDeque<u8>, message: &Message, data: &[u8]) {
    output.extend(message.emit(Lengths::of_data(data.len())));
    output.extend(data);
    output.extend(&[0; 3][..padded(data.len()) - data.len()]);
}

impl Initiator {
    fn command(
        &mut self,
        tag: u32,
        block: &[u8],
        reads: usize,
        data: &[u8],
        output: &mut VecDeque<u8>,
    ) {
        self.command += 1;
        let mut padded_block = [0; 16];
        padded_block[..block.len()].copy_from_slice(block);
        let command = Command {
            immediate: false,
            is_final: true,
            reads: reads > 0,
            writes: !data.is_empty(),
            attribute: attribute::SIMPLE,
            lun: Lun::new(0),
            tag: Tag(tag),
            length: reads.max(data.len()) as u32,
            command: Serial(self.command),
            expected_status: Serial(0),
            block: padded_block,
        };
        let immediate = &data[..data.len().min(IMMEDIATE)];
        put(output, &Message::Command(command), immediate);
        let kept = if reads > 0 { &[] } else { data };
        self.data.insert(tag, kept.to_vec());
    }

    fn send_data(&self, request: &ReadyToTransfer, output: &mut VecDeque<u8>) {
        let data = &self.data[&request.tag.0];
        let end = (request.offset + request.length) as usize;
        let mut offset = request.offset as usize;
        let mut number = Serial(0);
        while offset < end {
            let count = (end - offset).min(MAX_RECEIVE);
            let message = DataOut {
                is_final: offset + count == end,
                lun: request.lun,
                tag: request.tag,
                transfer: request.transfer,
                expected_status: Serial(0),
                data: number,
                offset: offset as u32,
            };
            put(
                output,
                &Message::DataOut(message),
                &data[offset..offset + count],
            );
            number = number.next();
            offset += count;
        }
    }

    fn end(&mut self, tag: Tag, status: u8) -> Option<(u64, Answer)> {
        let data = self.data.remove(&tag.0).expect("an outstanding command");
        if tag.0 == MODE_SENSE && status == 0 {
            self.has_no_write_cache = data[6] & 4 == 0;
        }
        if tag.0 >= MODE_SENSE {
            return None;
        }
        let answer = if status == 0 {
            Ok(data.chunks(SECTOR).map(sector_value).collect())
        } else {
            Err(status.into())
        };
        Some((tag.0.into(), answer))
    }
}

impl Client for Initiator {
    fn start(&mut self, output: &mut VecDeque<u8>) {
        // The first command reports the power-on.
        self.command(READY, &[0; 6], 0, &[], output);
        self.command(MODE_SENSE, &[0x1a, 8, 8, 0, 255, 0], 255, &[], output);
    }

    fn acknowledges_durably(&self) -> bool {
        self.has_no_write_cache
    }

    fn send(&mut self, id: u64, access: &Access, output: &mut VecDeque<u8>) {
        let size = Size::Ten;
        let caching = Caching {
            disable_page_out: false,
            force_unit_access: access.is_durable(),
        };
        let blocks = |at: usize, count: usize| Blocks {
            at: at as u64,
            count: count as u32,
        };
        let mut data = Vec::new();
        let mut reads = 0;
        let command = match access {
            Access::Read { sector, count } => {
                reads = count * SECTOR;
                let blocks = blocks(*sector, *count);
                Scsi::Read {
                    size,
                    blocks,
                    caching,
                }
            }
            Access::Write { sector, values, .. } => {
                data = values
                    .iter()
                    .flat_map(|value| sector_content(*value))
                    .collect();
                let blocks = blocks(*sector, values.len());
                Scsi::Write {
                    size,
                    blocks,
                    caching,
                }
            }
            Access::Flush => Scsi::SynchronizeCache {
                size,
                blocks: blocks(0, 0),
                immediate: false,
            },
            Access::Zero { .. } | Access::Trim { .. } => panic!("there are no trims"),
        };
        let mut block = [0; 16];
        let length = command.emit(&mut block);
        self.command(id as u32, &block[..length], reads, &data, output);
    }

    fn receive(
        &mut self,
        input: &mut VecDeque<u8>,
        output: &mut VecDeque<u8>,
    ) -> Option<(u64, Answer)> {
        loop {
            let header: Vec<u8> = input.iter().take(Message::LENGTH).copied().collect();
            if header.len() < Message::LENGTH {
                return None;
            }
            let lengths = Lengths::parse(&header).expect("a header");
            if input.len() < Message::LENGTH + lengths.padded() {
                return None;
            }
            input.drain(..Message::LENGTH);
            let mut data: Vec<u8> = input.drain(..lengths.padded()).collect();
            data.truncate(lengths.data_length as usize);
            let answer = match Message::parse(&header).expect("a message") {
                Message::ReadyToTransfer(request) => {
                    self.send_data(&request, output);
                    None
                }
                Message::DataIn(message) => {
                    let read = self.data.get_mut(&message.tag.0).expect("a read");
                    read.extend_from_slice(&data);
                    let has_status = message.has_status;
                    has_status
                        .then(|| self.end(message.tag, message.scsi_status))
                        .flatten()
                }
                Message::Response(response) => {
                    let data = self.data.get_mut(&response.tag.0).expect("a command");
                    data.clear();
                    self.end(response.tag, response.scsi_status)
                }
                Message::NopIn(ping) => {
                    let answer = NopOut {
                        immediate: true,
                        lun: ping.lun,
                        tag: Tag::NONE,
                        transfer: ping.transfer,
                        command: Serial(self.command + 1),
                        expected_status: Serial(0),
                    };
                    put(output, &Message::NopOut(answer), &[]);
                    None
                }
                other => panic!("{other:?}"),
            };
            if answer.is_some() {
                return answer;
            }
        }
    }
}
