//! Carries SCSI commands to disk drives through Linux's SG_IO: the [`diskarm_extract::Transport`]
//! of `/dev/sgX` and of block devices such as `/dev/sdX`.
//!
//! [`Sg::open`] lets through what leaves data alone. [`Sg::allow_writes`] lets through the rest,
//! on a drive that is not in use, that nothing else may begin to use, and that is empty as far as
//! its first and last blocks tell. On other systems than Linux, [`Sg::open`] returns an error.

mod error;

#[cfg(not(target_os = "linux"))]
mod elsewhere;

#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod ioctl;
#[cfg(target_os = "linux")]
mod occupied;
#[cfg(target_os = "linux")]
mod packet;
#[cfg(target_os = "linux")]
mod sg;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::Sg;
pub use error::Error;
#[cfg(target_os = "linux")]
pub use sg::Sg;
