//! The packet of a command that the kernel takes and fills in: `struct sg_io_hdr` of Linux's header
//! `scsi/sg.h`, interface version 3.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;
use std::time::Duration;

use diskarm_extract::{Broken, Data};

/// Sense data are at most this long (SPC-4).
pub const SENSE_LENGTH: usize = 252;

/// `interface_id` of version 3.
const INTERFACE: i32 = b'S' as i32;

const NO_DATA: i32 = -1;
const TO_DRIVE: i32 = -2;
const FROM_DRIVE: i32 = -3;

/// `driver_status` that only says that there is sense data.
const DRIVER_SENSE: u16 = 0x08;

/// The lower part of `driver_status`; the upper one suggests what to do.
const DRIVER_STATUS: u16 = 0x0f;

/// `struct sg_io_hdr`, with the kernel's names.
#[repr(C)]
#[derive(Debug)]
pub struct Header {
    interface_id: i32,
    dxfer_direction: i32,
    cmd_len: u8,
    mx_sb_len: u8,
    iovec_count: u16,
    dxfer_len: u32,
    dxferp: *mut c_void,
    cmdp: *const u8,
    sbp: *mut u8,
    timeout: u32,
    flags: u32,
    pack_id: i32,
    usr_ptr: *mut c_void,
    status: u8,
    masked_status: u8,
    msg_status: u8,
    sb_len_wr: u8,
    host_status: u16,
    driver_status: u16,
    resid: i32,
    duration: u32,
    info: u32,
}

/// A command with its data and room for sense data, which it borrows: its pointers are valid, and
/// their lengths right, as long as it lives.
#[derive(Debug)]
pub struct Packet<'a> {
    header: Header,
    borrowed: PhantomData<(&'a [u8], &'a mut [u8])>,
}

/// What the kernel says of a command that ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub status: u8,
    /// How many bytes of sense data there are.
    pub sense_length: usize,
    /// How many bytes of data were transferred.
    pub transferred: usize,
}

impl<'a> Packet<'a> {
    /// A command that may take this long.
    ///
    /// # Panics
    /// If the command block or the data are longer than the interface can say: 255 bytes and
    /// 4 GiB.
    pub fn new(
        command: &'a [u8],
        data: Data<'a>,
        sense: &'a mut [u8; SENSE_LENGTH],
        timeout: Duration,
    ) -> Self {
        let (direction, pointer, length) = match data {
            Data::None => (NO_DATA, ptr::null_mut(), 0),
            Data::In(bytes) => (FROM_DRIVE, bytes.as_mut_ptr(), bytes.len()),
            // The kernel only reads what goes to the drive.
            Data::Out(bytes) => (TO_DRIVE, bytes.as_ptr().cast_mut(), bytes.len()),
        };
        let header = Header {
            interface_id: INTERFACE,
            dxfer_direction: direction,
            cmd_len: u8::try_from(command.len()).expect("a command block of SCSI"),
            mx_sb_len: SENSE_LENGTH as u8,
            iovec_count: 0,
            dxfer_len: u32::try_from(length).expect("less than 4 GiB of data"),
            dxferp: pointer.cast(),
            cmdp: command.as_ptr(),
            sbp: sense.as_mut_ptr(),
            timeout: u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX),
            flags: 0,
            pack_id: 0,
            usr_ptr: ptr::null_mut(),
            status: 0,
            masked_status: 0,
            msg_status: 0,
            sb_len_wr: 0,
            host_status: 0,
            driver_status: 0,
            resid: 0,
            duration: 0,
            info: 0,
        };
        Self {
            header,
            borrowed: PhantomData,
        }
    }

    /// What the kernel takes and fills in.
    pub fn header(&mut self) -> &mut Header {
        &mut self.header
    }

    /// Fills in what the kernel would: the status byte, the length of sense data, the host's status
    /// and how many bytes are missing.
    #[cfg(test)]
    pub fn end(&mut self, status: u8, sense_length: u8, host_status: u16, missing: i32) {
        self.header.status = status;
        self.header.sb_len_wr = sense_length;
        self.header.host_status = host_status;
        self.header.resid = missing;
    }

    /// What the kernel filled in.
    ///
    /// # Errors
    /// The command did not reach the drive, or its end did not reach the host.
    pub fn outcome(&self) -> Result<Outcome, Broken> {
        let header = &self.header;
        if header.host_status != 0 {
            return Err(host_status(header.host_status));
        }
        let driver = header.driver_status & DRIVER_STATUS;
        if driver != 0 && driver != DRIVER_SENSE {
            let status = header.driver_status;
            let why = format!("the driver failed (driver status 0x{status:02x})");
            return Err(Broken::Transport(why));
        }
        // A negative residual count says that the drive had more than was asked for.
        let missing = usize::try_from(header.resid).unwrap_or(0);
        Ok(Outcome {
            status: header.status,
            sense_length: usize::from(header.sb_len_wr),
            transferred: (header.dxfer_len as usize).saturating_sub(missing),
        })
    }
}

/// The values that `host_status` has in Linux's `scsi/scsi_status.h`. After some of them the next
/// command may be answered.
fn host_status(status: u16) -> Broken {
    let means = match status {
        0x01 => "no connection to the drive",
        0x02 => "the bus stayed busy",
        0x03 => "no end in time",
        0x04 => "no such target",
        0x05 => "aborted",
        0x06 => "parity error",
        0x07 => "internal error",
        0x08 => "the bus or the drive was reset",
        0x0e | 0x0f => "the transport was disrupted",
        _ => "the host adapter failed",
    };
    let why = format!("{means} (host status 0x{status:02x})");
    match status {
        0x02 | 0x03 | 0x05..=0x08 => Broken::Command(why),
        _ => Broken::Transport(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    const READ: [u8; 10] = [0x28, 0, 0, 0, 0, 9, 0, 0, 1, 0];

    /// What `outcome` makes of a read of 512 bytes that the kernel ended so.
    fn ended(fill: impl FnOnce(&mut Header)) -> Result<Outcome, Broken> {
        let mut data = [0; 512];
        let mut sense = [0; SENSE_LENGTH];
        let timeout = Duration::from_secs(1);
        let mut packet = Packet::new(&READ, Data::In(&mut data), &mut sense, timeout);
        fill(packet.header());
        packet.outcome()
    }

    /// Offsets that a C compiler gives `struct sg_io_hdr` with pointers of 64 bits.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn the_header_is_laid_out_as_in_c() {
        assert_eq!(size_of::<Header>(), 88);
        assert_eq!(offset_of!(Header, cmd_len), 8);
        assert_eq!(offset_of!(Header, iovec_count), 10);
        assert_eq!(offset_of!(Header, dxfer_len), 12);
        assert_eq!(offset_of!(Header, dxferp), 16);
        assert_eq!(offset_of!(Header, cmdp), 24);
        assert_eq!(offset_of!(Header, sbp), 32);
        assert_eq!(offset_of!(Header, timeout), 40);
        assert_eq!(offset_of!(Header, usr_ptr), 56);
        assert_eq!(offset_of!(Header, status), 64);
        assert_eq!(offset_of!(Header, sb_len_wr), 67);
        assert_eq!(offset_of!(Header, host_status), 68);
        assert_eq!(offset_of!(Header, resid), 72);
        assert_eq!(offset_of!(Header, info), 80);
    }

    #[test]
    fn a_packet_says_what_goes_where() {
        let mut data = [7; 512];
        let mut sense = [0; SENSE_LENGTH];
        let [data_at, sense_at] = [data.as_ptr().addr(), sense.as_ptr().addr()];
        let timeout = Duration::from_millis(1500);
        let mut packet = Packet::new(&READ, Data::In(&mut data), &mut sense, timeout);
        let header = packet.header();
        assert_eq!(header.interface_id, 0x53);
        assert_eq!(header.dxfer_direction, -3);
        assert_eq!(
            (header.cmd_len, header.cmdp.addr()),
            (10, READ.as_ptr().addr())
        );
        assert_eq!((header.dxfer_len, header.dxferp.addr()), (512, data_at));
        assert_eq!((header.mx_sb_len, header.sbp.addr()), (252, sense_at));
        assert_eq!(header.timeout, 1500);

        let mut sense = [0; SENSE_LENGTH];
        let out = [1; 3];
        let mut packet = Packet::new(&READ, Data::Out(&out), &mut sense, timeout);
        let header = packet.header();
        assert_eq!((header.dxfer_direction, header.dxfer_len), (-2, 3));
        let mut packet = Packet::new(&READ, Data::None, &mut sense, timeout);
        let header = packet.header();
        assert_eq!((header.dxfer_direction, header.dxfer_len), (-1, 0));
        assert!(header.dxferp.is_null());
    }

    #[test]
    fn what_did_not_come_is_not_counted() {
        let transferred = |resid| ended(|header| header.resid = resid).unwrap().transferred;
        assert_eq!(transferred(0), 512);
        assert_eq!(transferred(12), 500);
        assert_eq!(transferred(512), 0);
        assert_eq!(transferred(600), 0);
        assert_eq!(transferred(-4), 512);
    }

    #[test]
    fn a_check_condition_is_an_answer() {
        // Kernels before 5.14 set the driver status too.
        for driver_status in [0, 0x08, 0x28] {
            let outcome = ended(|header| {
                header.status = 2;
                header.sb_len_wr = 18;
                header.driver_status = driver_status;
                header.resid = 512;
            });
            let expected = Outcome {
                status: 2,
                sense_length: 18,
                transferred: 0,
            };
            assert_eq!(outcome, Ok(expected));
        }
    }

    #[test]
    fn a_lost_command_is_an_error() {
        let lost = ended(|header| header.host_status = 3);
        let expected = "no end in time (host status 0x03)".to_owned();
        assert_eq!(lost, Err(Broken::Command(expected)));
        let reset = ended(|header| header.host_status = 8);
        assert!(matches!(reset, Err(Broken::Command(_))), "{reset:?}");
        let gone = ended(|header| header.host_status = 1);
        assert!(matches!(gone, Err(Broken::Transport(_))), "{gone:?}");
        let other = ended(|header| header.host_status = 0x55);
        let expected = "the host adapter failed (host status 0x55)".to_owned();
        assert_eq!(other, Err(Broken::Transport(expected)));
        let driver = ended(|header| header.driver_status = 6);
        let expected = "the driver failed (driver status 0x06)".to_owned();
        assert_eq!(driver, Err(Broken::Transport(expected)));
    }
}
