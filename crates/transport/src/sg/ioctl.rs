//! The SG_IO system call, and its argument: `struct sg_io_hdr` of Linux's header `scsi/sg.h`,
//! interface version 3. This is the only unsafe code in the crate.
#![expect(
    unsafe_code,
    reason = "SG_IO takes a structure of pointers, for which there is no safe wrapper"
)]

use std::ffi::c_void;
use std::fs::File;
use std::marker::PhantomData;
use std::ptr;
use std::time::Duration;

use rustix::ioctl::{Opcode, Updater, ioctl};

use crate::transport::{Data, TransportError};

const SG_IO: Opcode = 0x2285;

/// Maximum length of sense data (SPC-4).
pub const SENSE_LENGTH: usize = 252;

/// `interface_id` of version 3.
const INTERFACE: i32 = b'S' as i32;

const NO_DATA: i32 = -1;
const TO_DRIVE: i32 = -2;
const FROM_DRIVE: i32 = -3;

/// The `driver_status` if there are sense data.
const DRIVER_SENSE: u16 = 0x08;

/// Mask of the status in `driver_status`; the upper bits are suggestions.
const DRIVER_STATUS: u16 = 0x0f;

/// `struct sg_io_hdr`, with the kernel's names.
#[repr(C)]
#[derive(Debug)]
struct Header {
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

/// A command with borrowed data and a borrowed buffer for sense data. The borrows keep the pointers
/// of the header valid.
#[derive(Debug)]
pub struct Packet<'a> {
    header: Header,
    borrowed: PhantomData<(&'a [u8], &'a mut [u8])>,
}

/// The outcome of a completed command, as reported by the kernel.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub status: u8,
    pub sense_length: usize,
    pub transferred: usize,
}

impl<'a> Packet<'a> {
    /// Creates a packet. Panics if the command block has more than 255 bytes, or there are 4 GiB of
    /// data or more.
    pub fn new(
        command: &'a [u8],
        data: Data<'a>,
        sense: &'a mut [u8; SENSE_LENGTH],
        timeout: Duration,
    ) -> Self {
        let (direction, pointer, length) = match data {
            Data::None => (NO_DATA, ptr::null_mut(), 0),
            Data::In(bytes) => (FROM_DRIVE, bytes.as_mut_ptr(), bytes.len()),
            // The kernel only reads data for the drive.
            Data::Out(bytes) => (TO_DRIVE, bytes.as_ptr().cast_mut(), bytes.len()),
        };
        let header = Header {
            interface_id: INTERFACE,
            dxfer_direction: direction,
            cmd_len: u8::try_from(command.len()).expect("a SCSI command block"),
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

    /// Executes the command and waits until it has completed or timed out. Fails if the file
    /// accepts no SCSI commands, or the kernel rejects this command.
    pub fn submit(&mut self, file: &File) -> rustix::io::Result<()> {
        // SAFETY: SG_IO is an opcode whose argument is a pointer to `struct sg_io_hdr`. The kernel
        // accesses that structure and what it points to, and nothing else. `Header` has the layout
        // of that structure (`repr(C)`, with a test of the offsets). A file that does not support
        // SG_IO returns an error. No other driver can use this number for something else, because
        // `block_device::name` accepts only SCSI generic devices and block devices.
        //
        // `Packet::new` sets the pointers, and its borrows last as long as `self`:
        // * `cmdp`, of which the kernel reads `cmd_len` bytes, is a slice of that length.
        // * `dxferp` is null with a length of 0, a unique slice of `dxfer_len` bytes, which the
        //   kernel writes, or a shared slice with direction TO_DRIVE, which the kernel only reads.
        // * `sbp`, of which the kernel writes up to `mx_sb_len` bytes, is a unique array of that
        //   size.
        // * The kernel never dereferences `usr_ptr`, and `iovec_count` is 0.
        // The fields are private to this module, and only `Packet::new` sets them. The kernel no
        // longer uses them when the call returns: SG_IO waits for the completion of the command.
        // A signal can end the wait on /dev/sgX early; without the flag for direct I/O, which
        // `Packet::new` does not set, the driver then drops the data instead of writing them later.
        unsafe { ioctl(file, Updater::<SG_IO, Header>::new(&mut self.header)) }
    }

    /// Completes the command as the kernel would; `missing` is the residual count of the data.
    #[cfg(test)]
    pub fn end(&mut self, status: u8, sense_length: u8, host_status: u16, missing: i32) {
        self.header.status = status;
        self.header.sb_len_wr = sense_length;
        self.header.host_status = host_status;
        self.header.resid = missing;
    }

    /// Returns the outcome that the kernel has filled in. Fails if the command did not reach the
    /// drive, or its completion did not reach the host.
    pub fn outcome(&self) -> Result<Outcome, TransportError> {
        let header = &self.header;
        if header.host_status != 0 {
            return Err(host_status(header.host_status));
        }
        let driver = header.driver_status & DRIVER_STATUS;
        if driver != 0 && driver != DRIVER_SENSE {
            let status = header.driver_status;
            let reason = format!("the driver failed (driver status 0x{status:02x})");
            return Err(TransportError::Lost(reason));
        }
        // The residual count is negative if the drive had more data than requested.
        let missing = usize::try_from(header.resid).unwrap_or(0);
        Ok(Outcome {
            status: header.status,
            sense_length: usize::from(header.sb_len_wr),
            transferred: (header.dxfer_len as usize).saturating_sub(missing),
        })
    }
}

/// Converts a `host_status` (Linux's `scsi/scsi_status.h`) to an error.
fn host_status(status: u16) -> TransportError {
    let meaning = match status {
        0x01 => "no connection to the drive",
        0x02 => "the bus stayed busy",
        0x03 => "timed out",
        0x04 => "no such target",
        0x05 => "aborted",
        0x06 => "parity error",
        0x07 => "internal error",
        0x08 => "the bus or the drive was reset",
        0x0e | 0x0f => "the transport was disrupted",
        _ => "the host adapter failed",
    };
    let reason = format!("{meaning} (host status 0x{status:02x})");
    match status {
        0x02 | 0x03 | 0x05..=0x08 => TransportError::Unanswered(reason),
        _ => TransportError::Lost(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    const READ: [u8; 10] = [0x28, 0, 0, 0, 0, 9, 0, 0, 1, 0];

    /// Returns the outcome of a read of 512 bytes; `fill` fills in the header in place of the
    /// kernel.
    fn outcome(fill: impl FnOnce(&mut Header)) -> Result<Outcome, TransportError> {
        let mut data = [0; 512];
        let mut sense = [0; SENSE_LENGTH];
        let timeout = Duration::from_secs(1);
        let mut packet = Packet::new(&READ, Data::In(&mut data), &mut sense, timeout);
        fill(&mut packet.header);
        packet.outcome()
    }

    /// The offsets of `struct sg_io_hdr` in C with 64-bit pointers.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn the_header_has_the_layout_of_the_c_structure() {
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
    fn a_packet_points_to_its_buffers() {
        let mut data = [7; 512];
        let mut sense = [0; SENSE_LENGTH];
        let [data_at, sense_at] = [data.as_ptr().addr(), sense.as_ptr().addr()];
        let timeout = Duration::from_millis(1500);
        let packet = Packet::new(&READ, Data::In(&mut data), &mut sense, timeout);
        let header = &packet.header;
        assert_eq!(header.interface_id, 0x53);
        assert_eq!(header.dxfer_direction, -3);
        let command = (10, READ.as_ptr().addr());
        assert_eq!((header.cmd_len, header.cmdp.addr()), command);
        assert_eq!((header.dxfer_len, header.dxferp.addr()), (512, data_at));
        assert_eq!((header.mx_sb_len, header.sbp.addr()), (252, sense_at));
        assert_eq!(header.timeout, 1500);

        let mut sense = [0; SENSE_LENGTH];
        let out = [1; 3];
        let packet = Packet::new(&READ, Data::Out(&out), &mut sense, timeout);
        let header = &packet.header;
        assert_eq!((header.dxfer_direction, header.dxfer_len), (-2, 3));
        let packet = Packet::new(&READ, Data::None, &mut sense, timeout);
        let header = &packet.header;
        assert_eq!((header.dxfer_direction, header.dxfer_len), (-1, 0));
        assert!(header.dxferp.is_null());
    }

    #[test]
    fn missing_data_are_not_counted() {
        let transferred = |resid| outcome(|header| header.resid = resid).unwrap().transferred;
        for (missing, expected) in [(0, 512), (12, 500), (512, 0), (600, 0), (-4, 512)] {
            assert_eq!(transferred(missing), expected, "{missing}");
        }
    }

    #[test]
    fn a_check_condition_is_an_answer() {
        // Kernels before 5.14 also set the driver status.
        for driver_status in [0, 0x08, 0x28] {
            let outcome = outcome(|header| {
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
        let lost = outcome(|header| header.host_status = 3);
        let expected = "timed out (host status 0x03)".to_owned();
        assert_eq!(lost, Err(TransportError::Unanswered(expected)));
        let reset = outcome(|header| header.host_status = 8);
        assert!(
            matches!(reset, Err(TransportError::Unanswered(_))),
            "{reset:?}"
        );
        let gone = outcome(|header| header.host_status = 1);
        assert!(matches!(gone, Err(TransportError::Lost(_))), "{gone:?}");
        let other = outcome(|header| header.host_status = 0x55);
        let expected = "the host adapter failed (host status 0x55)".to_owned();
        assert_eq!(other, Err(TransportError::Lost(expected)));
        let driver = outcome(|header| header.driver_status = 6);
        let expected = "the driver failed (driver status 0x06)".to_owned();
        assert_eq!(driver, Err(TransportError::Lost(expected)));
    }
}
