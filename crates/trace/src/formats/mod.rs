//! The formats, one file each, and the table of them.

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

/// All formats, in the order of help.
pub static FORMATS: &[FormatEntry] = &[
    FormatEntry::of::<measured::Measured>(),
    FormatEntry::of::<disksim::DiskSim>(),
    FormatEntry::of::<mqsim::MqSim>(),
    FormatEntry::of::<spc::Spc>(),
    FormatEntry::of::<msr::Msr>(),
    FormatEntry::of::<systor::Systor>(),
    FormatEntry::of::<alibaba::Alibaba>(),
    FormatEntry::of::<tencent::Tencent>(),
    FormatEntry::of::<srt::Srt>(),
    FormatEntry::of::<vscsi::Vscsi>(),
    FormatEntry::of::<blktrace::BlkTrace>(),
    FormatEntry::of::<blkparse::BlkParse>(),
    FormatEntry::of::<fio_iolog::Iolog>(),
    FormatEntry::of::<fio_latency::Latency>(),
    #[cfg(feature = "parquet")]
    FormatEntry::of::<parquet::Parquet>(),
    #[cfg(feature = "parquet")]
    FormatEntry::of::<arrow::Arrow>(),
];
