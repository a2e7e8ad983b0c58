//! The formats, one file each, and the table that lists them.
//!
//! Unless its description says otherwise, a format is read in one pass, without an allocation per
//! row and with memory for one line.

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

use crate::format::FormatEntry;

/// All formats, in the order in which help lists them.
pub static FORMATS: &[FormatEntry] = &[
    FormatEntry::new::<measured::Measured>(),
    FormatEntry::new::<disksim::DiskSim>(),
    FormatEntry::new::<mqsim::MqSim>(),
    FormatEntry::new::<spc::Spc>(),
    FormatEntry::new::<msr::Msr>(),
    FormatEntry::new::<systor::Systor>(),
    FormatEntry::new::<alibaba::Alibaba>(),
    FormatEntry::new::<tencent::Tencent>(),
    FormatEntry::new::<srt::Srt>(),
    FormatEntry::new::<vscsi::Vscsi>(),
    FormatEntry::new::<blktrace::BlkTrace>(),
    FormatEntry::new::<blkparse::BlkParse>(),
    FormatEntry::new::<fio_iolog::Iolog>(),
    FormatEntry::new::<fio_latency::Latency>(),
    #[cfg(feature = "parquet")]
    FormatEntry::new::<parquet::Parquet>(),
    #[cfg(feature = "parquet")]
    FormatEntry::new::<arrow::Arrow>(),
];
