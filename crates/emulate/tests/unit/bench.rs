//! A test bench for a unit, which runs one command at a time.

use diskarm_core::request::Op;
use diskarm_core::spec::{self, Spec};
use diskarm_core::units::{Angle, Instant};
use diskarm_emulate::{Attribute, Realism, Response, Single, Status, Task, Unit};
use diskarm_wire::command::{Blocks, Caching, Size, Values};
use diskarm_wire::mode::Page;
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

pub fn catalogue_spec(name: &str) -> Spec {
    spec::parse(diskarm_drives::find(name).unwrap().text, name).unwrap()
}

/// A unit and its clock, for one task at a time.
pub struct Bench {
    pub unit: Unit<Single>,
    pub now: Instant,
    pub initiator: u64,
    id: u64,
}

impl Bench {
    pub fn new(spec: &Spec) -> Self {
        Self::with_realism(spec, Realism::default())
    }

    pub fn with_realism(spec: &Spec, realism: Realism) -> Self {
        let single = Single::new(spec, Angle::ZERO, 0).unwrap();
        Self::with_unit(Unit::new(single).with_realism(realism))
    }

    pub fn with_unit(unit: Unit<Single>) -> Self {
        let mut bench = Self {
            unit,
            now: Instant::START,
            initiator: 7,
            id: 0,
        };
        let response = bench.run(&Command::TestUnitReady, &[]);
        let attention = Sense::new(Key::UnitAttention, Code::POWER_ON_OR_RESET);
        assert_eq!(Sense::parse(&response.sense), Ok(attention));
        bench
    }

    pub fn run_block(&mut self, command: &[u8], data_out: &[u8]) -> Response {
        self.id += 1;
        let task = Task {
            id: self.id,
            initiator: self.initiator,
            attribute: Attribute::Simple,
            command,
            data_out,
        };
        self.unit.submit(self.now, task);
        loop {
            let next = self.unit.next_event().expect("a task is outstanding");
            if let Some(response) = self.unit.advance(next) {
                assert_eq!(response.id, self.id);
                self.now = next;
                return response;
            }
        }
    }

    pub fn run(&mut self, command: &Command, data_out: &[u8]) -> Response {
        let mut block = [0; 16];
        let length = command.emit(&mut block);
        self.run_block(&block[..length], data_out)
    }

    pub fn data(&mut self, command: &Command, data_out: &[u8]) -> Vec<u8> {
        let response = self.run(command, data_out);
        let sense = Sense::parse(&response.sense);
        assert_eq!(response.status, Status::Good, "{command:?}: {sense:?}");
        response.data_in
    }

    /// Returns the data of MODE SENSE(10) for a page.
    pub fn mode_sense(&mut self, page: u8, values: Values) -> Vec<u8> {
        let sense = Command::ModeSense {
            size: Size::Ten,
            page,
            subpage: 0,
            values,
            no_block_descriptors: true,
            long_addresses: false,
            length: 1000,
        };
        self.data(&sense, &[])
    }

    pub fn page(&mut self, page: u8, values: Values) -> Vec<u8> {
        let data = self.mode_sense(page, values);
        let (page, rest) = Page::parse(&data[8..]).unwrap();
        assert!(rest.is_empty());
        page.content.to_vec()
    }

    pub fn select(&mut self, code: u8, content: &[u8]) -> Response {
        let page = Page {
            saveable: false,
            code,
            subpage: None,
            content,
        };
        let list = [vec![0; 8], page.emit()].concat();
        let select = Command::ModeSelect {
            size: Size::Ten,
            page_format: true,
            save: false,
            length: list.len() as u16,
        };
        self.run(&select, &list)
    }
}

pub fn transfer(op: Op, at: u64, count: u32) -> Command {
    let (size, caching) = (Size::Ten, Caching::default());
    let blocks = Blocks { at, count };
    match op {
        Op::Read => Command::Read {
            size,
            blocks,
            caching,
        },
        _ => Command::Write {
            size,
            blocks,
            caching,
        },
    }
}
