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

use crate::format::Entry;

/// Every format, in the order in which help lists them.
pub static FORMATS: &[Entry] = &[
    Entry::of::<measured::Measured>(),
    Entry::of::<disksim::DiskSim>(),
    Entry::of::<mqsim::MqSim>(),
    Entry::of::<spc::Spc>(),
    Entry::of::<msr::Msr>(),
    Entry::of::<systor::Systor>(),
    Entry::of::<alibaba::Alibaba>(),
    Entry::of::<tencent::Tencent>(),
    Entry::of::<srt::Srt>(),
    Entry::of::<vscsi::Vscsi>(),
    Entry::of::<blktrace::BlkTrace>(),
    Entry::of::<blkparse::BlkParse>(),
    Entry::of::<fio_iolog::Iolog>(),
    Entry::of::<fio_latency::Latency>(),
    #[cfg(feature = "parquet")]
    Entry::of::<parquet::Parquet>(),
    #[cfg(feature = "parquet")]
    Entry::of::<arrow::Arrow>(),
];
