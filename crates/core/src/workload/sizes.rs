//! How large requests are.

mod exponential;
mod fixed;
mod mixed;

pub use exponential::Exponential;
pub use fixed::Fixed;
pub use mixed::Mixed;

use super::draw::Generator;
use super::family::{GeneratorInfo, family};
use super::{Args, Disk};
use crate::text::{Call, InputError};
use crate::units::SectorCount;

/// A distribution of sizes.
pub(super) trait Size: Sized {
    /// What it says about itself.
    const INFO: GeneratorInfo;

    /// It, ready to be drawn from.
    type Draw;

    /// Reads its parameters.
    fn read(args: &mut Args<'_>) -> Result<Self, InputError>;

    /// Its bounds.
    fn bounds(&self) -> Bounds;

    /// Makes it ready; it draws sizes in units of its bounds.
    fn ready(&self, bounds: Bounds) -> Self::Draw;
}

/// What sizes can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// All sizes are multiples of this, and requests begin at multiples of it.
    pub(super) unit: SectorCount,
    /// None is larger.
    pub(super) max: SectorCount,
}

family! {
    /// Sizes of requests, independent of one another.
    Sizes: Size [Fixed, Exponential, Mixed]
    fn bounds() -> Bounds { () }
    fn ready(bounds: Bounds) -> SizeDraw { (bounds) }
    fn next(generator: &mut Generator) -> u64 { (generator) }
}

impl Sizes {
    /// Reads a size, or a call that names a distribution. `field` is what errors call it.
    pub(super) fn of_text(text: &str, disk: Disk, field: &str) -> Result<Self, InputError> {
        let call = Call::read(text, field)?;
        let mut args = Args::of(&call, disk);
        if let Some(read) = Self::read(&call, &mut args) {
            let read = read?;
            args.finish()?;
            return Ok(read);
        }
        if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            let sectors = disk.size(text, disk.max_sectors());
            let expected = disk.size_expected(disk.max_sectors());
            let sectors = sectors.ok_or_else(|| InputError::new(field, text, expected))?;
            return Ok(Self::Fixed(Fixed { sectors }));
        }
        let known: Vec<&str> = Self::INFOS.iter().map(|info| info.name).collect();
        let what = "a size such as 8KiB, or a distribution of sizes";
        Err(InputError::unknown(field, call.name, what, &known))
    }
}
