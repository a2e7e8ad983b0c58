//! SCSI commands over Linux's SG_IO, to `/dev/sgX` and to block devices such as `/dev/sdX`.
//!
//! A [`Sg`] first allows only commands that leave data alone. [`Sg::allow_writes`] allows the rest
//! on a drive that is not in use, that the system is kept from using, and that looks empty. On
//! systems other than Linux, [`Sg::open`] returns an error.

mod error;

#[cfg(target_os = "linux")]
mod block_device;
#[cfg(target_os = "linux")]
mod ioctl;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unsupported;

pub use error::Error;
#[cfg(target_os = "linux")]
pub use linux::Sg;
#[cfg(not(target_os = "linux"))]
pub use unsupported::Sg;
