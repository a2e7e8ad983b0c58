//! The call into the kernel, and the only unsafe code of the workspace.

use std::fs::File;

use rustix::ioctl::{Opcode, Updater, ioctl};

use crate::packet::{Header, Packet};

/// `SG_IO` of Linux's header `scsi/sg.h`.
const SG_IO: Opcode = 0x2285;

/// Executes a command and waits until it ended, or until its time is over.
///
/// # Errors
/// The file is none that takes SCSI commands, or the kernel does not accept this one.
#[expect(
    unsafe_code,
    reason = "SG_IO takes a structure of pointers, for which there is no safe call"
)]
pub fn submit(file: &File, packet: &mut Packet<'_>) -> rustix::io::Result<()> {
    // SAFETY: SG_IO is an opcode whose argument is a pointer to `struct sg_io_hdr`, which the
    // kernel reads and writes, and nothing beyond the structure and what it points to. `Header` has
    // that structure's layout (`repr(C)`, with a test of the offsets). A file that does not know
    // SG_IO returns an error; that another driver gives this number another meaning is excluded by
    // `device::block_name`, which accepts nothing but SCSI generic devices and block devices.
    //
    // The pointers are those of `Packet::new`, whose borrows last as long as `packet`:
    // * `cmdp`, of which the kernel reads `cmd_len` bytes, is a slice of that length.
    // * `dxferp` is null with a length of 0; or it is a unique slice of `dxfer_len` bytes, to which
    //   the kernel writes; or a shared one with direction TO_DRIVE, which the kernel only reads.
    // * `sbp`, to which the kernel writes up to `mx_sb_len` bytes, is a unique array of that size.
    // * `usr_ptr` is never followed by the kernel, and `iovec_count` is 0.
    // Nothing can change them in between: the fields are private to `packet`, which sets them there
    // only. The kernel is done with them when the call returns: SG_IO waits for the end of the
    // command. A signal can end the wait on /dev/sgX early; without the flag for direct I/O, which
    // `Packet::new` does not set, the driver then drops the data instead of writing them later.
    unsafe { ioctl(file, Updater::<SG_IO, Header>::new(packet.header())) }
}
