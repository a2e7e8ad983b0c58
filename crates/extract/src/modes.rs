//! Mode pages of a drive (MODE SENSE and MODE SELECT).

use diskarm_wire::Command;
use diskarm_wire::command::{Size, Values};
use diskarm_wire::mode::{Header6, Page};

use crate::{Data, Disk, Error};

/// No page is longer than the length of its data can tell.
const LONGEST: usize = 255;

impl Disk<'_> {
    /// What a mode page says currently, after its header.
    ///
    /// # Errors
    /// The drive has no such page, or returns another one.
    pub fn mode_page(&mut self, code: u8) -> Result<Vec<u8>, Error> {
        let command = Command::ModeSense {
            size: Size::Six,
            page: code,
            subpage: 0,
            values: Values::Current,
            no_block_descriptors: true,
            long_addresses: false,
            length: LONGEST as u16,
        };
        let mut data = [0; LONGEST];
        let (_, transferred) = self.data_up_to(&command, &mut data)?;
        let page = Header6::parse(&data[..transferred])
            .ok()
            .and_then(|header| {
                let begin = Header6::LENGTH + usize::from(header.descriptors_length);
                let end = transferred.min(usize::from(header.data_length) + 1);
                let (page, _) = Page::parse(data.get(begin..end)?).ok()?;
                (page.code == code && page.subpage.is_none()).then(|| page.content.to_vec())
            });
        page.ok_or_else(|| Error::Malformed {
            command: command.operation().name,
            reason: format!("returned no mode page 0x{code:02x}"),
        })
    }

    /// Changes a mode page until the next reset.
    ///
    /// # Errors
    /// The drive refuses the content.
    ///
    /// # Panics
    /// If the content is longer than a page can be.
    pub fn select_mode_page(&mut self, code: u8, content: &[u8]) -> Result<(), Error> {
        let page = Page {
            saveable: false,
            code,
            subpage: None,
            content,
        };
        let mut list = vec![0; Header6::LENGTH + 2 + content.len()];
        page.emit(&mut list[Header6::LENGTH..]);
        let command = Command::ModeSelect {
            size: Size::Six,
            page_format: true,
            save: false,
            length: u8::try_from(list.len()).expect("a page").into(),
        };
        self.execute(&command, Data::Out(&list)).map(|_| ())
    }
}
