//! The formats, one file each. The table is [`crate::FORMATS`].

pub mod alibaba;
#[cfg(feature = "parquet")]
pub mod arrow;
pub mod blkparse;
pub mod blktrace;
pub mod disksim;
pub mod fio_iolog;
pub mod fio_latency;
pub mod measured;
pub mod mqsim;
pub mod msr;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod spc;
pub mod srt;
pub mod systor;
pub mod tencent;
pub mod vscsi;
