//! A drive to simulate: from the catalogue, or from a specification in a file.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use diskarm_core::drive::Drive;
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::spec::{Document, Spec};
use diskarm_core::text::{InputError, quantity};
use diskarm_core::units::{Angle, Bytes, SectorCount};
use diskarm_core::workload::{Disk, Workload};
use diskarm_drives::text::{Edit, rewrite};

use crate::error::Error;

/// A drive's specification and everything derived from it alone.
#[derive(Clone, Debug)]
pub struct Model {
    /// The name that the caller used.
    pub name: String,
    /// Its specification, as written.
    pub text: Cow<'static, str>,
    /// Its specification, parsed.
    pub spec: Spec,
    /// The mechanism, with tables that all drives of this model share.
    pub mechanism: Mechanism,
}

/// Returns the name of a drive with `edits` to its specification.
pub fn changed_name(name: &str, edits: &[Edit]) -> String {
    if edits.is_empty() {
        return name.to_owned();
    }
    let edits: Vec<String> = edits.iter().map(Edit::to_string).collect();
    format!("{name} with {}", edits.join(", "))
}

impl Model {
    /// Finds the drive called `name` in the catalogue, or reads the file if `name` ends in `.toml`.
    /// Fails for an unknown name, an unreadable file or an invalid specification.
    pub fn find(name: &str) -> Result<Self, Error> {
        if name.ends_with(".toml") {
            return Self::read(read_text(name)?, name);
        }
        if name.contains('(') {
            return Err(not_single("drive", name));
        }
        let entry = diskarm_drives::find(name).ok_or_else(|| unknown(name))?;
        Self::read(entry.text, name)
    }

    /// Parses the specification of a drive called `name`; errors report `name` as the file.
    pub fn read(text: impl Into<Cow<'static, str>>, name: &str) -> Result<Self, Error> {
        let text = text.into();
        let document = Document::read(&text, name)?;
        let layout = Layout::new(&document.spec.geometry);
        let layout = layout.map_err(|error| document.locate(error))?;
        let spec = document.spec;
        Ok(Self {
            name: name.to_owned(),
            text,
            mechanism: Mechanism::new(&spec, Arc::new(layout), Angle::ZERO),
            spec,
        })
    }

    /// Finds the drive called `name` as a replacement for the drive `like`, whose blocks are as in
    /// `disk`. Fails if the name is unknown or the size differs; the error names `argument`.
    pub fn substitute(
        disk: Disk,
        like: &str,
        name: &str,
        argument: &'static str,
    ) -> Result<Self, Error> {
        let model = Self::find(name).map_err(|error| error.with_field(argument))?;
        if model.disk().sectors == disk.sectors {
            return Ok(model);
        }
        let expected = format!("a drive of {} blocks, like {like}", disk.sectors.0);
        Err(Error::argument(argument, name, expected))
    }

    /// Returns a drive of this model whose platter starts at angle zero.
    pub fn drive(&self) -> Drive {
        self.drive_starting_at(Angle::ZERO)
    }

    /// Returns a drive of this model whose platter starts at angle `origin`.
    pub fn drive_starting_at(&self, origin: Angle) -> Drive {
        Drive::with_mechanism(&self.spec, self.mechanism.at_angle(origin))
    }

    /// Returns the layout of its blocks.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.mechanism.layout
    }

    /// Returns the number and size of the drive's blocks.
    pub fn disk(&self) -> Disk {
        Disk {
            sectors: self.layout().sectors(),
            sector: Bytes(u64::from(self.spec.geometry.sector_bytes)),
        }
    }

    /// Parses `text` as a workload for this drive, like [`workload`].
    pub fn workload(&self, text: &str) -> Result<Workload, Error> {
        workload(text, self.disk())
    }

    /// Sets values in its specification. Errors attribute them to `origin`, which also becomes part
    /// of the name. Fails for a value that is invalid or inconsistent with the others.
    pub fn with_values(&self, edits: &[Edit], origin: &str) -> Result<Self, Error> {
        let text = rewrite(&self.text, edits).map_err(|error| error.in_argument(origin))?;
        let name = format!("{} with {origin}", self.name);
        Self::read(text, &name).map_err(|error| error.in_place_of(&name, origin))
    }

    /// Like [`Self::with_values`], but names the drive after the edits, if any.
    pub fn with_edits(self, edits: &[Edit], origin: &str) -> Result<Self, Error> {
        if edits.is_empty() {
            return Ok(self);
        }
        let name = changed_name(&self.name, edits);
        let changed = self.with_values(edits, origin)?;
        Ok(Self { name, ..changed })
    }
}

/// Parses a workload expression for `disk`, or reads the workload file if `text` ends in `.toml`.
/// Fails if the file is unreadable, or the workload is invalid or does not fit on the disk.
pub fn workload(text: &str, disk: Disk) -> Result<Workload, Error> {
    if Path::new(text).extension().is_none_or(|ext| ext != "toml") {
        let workload = Workload::parse(text, disk);
        return workload.map_err(|error| error.in_argument("workload").into());
    }
    Ok(Workload::parse_toml(&read_text(text)?, text, disk)?)
}

/// The size limit of a text file, in bytes, so that reading an endless file stops.
const MAX_TEXT: u64 = 16 << 20;

/// Reads a text file. Fails if it cannot be read, is not UTF-8, or is larger than 16 MiB.
pub fn read_text(path: &str) -> Result<String, Error> {
    let read = || {
        let mut text = String::new();
        let mut file = File::open(path)?.take(MAX_TEXT + 1);
        if file.read_to_string(&mut text)? as u64 > MAX_TEXT {
            let problem = "found more than 16 MiB, expected a smaller text file";
            return Err(io::Error::other(problem));
        }
        Ok(text)
    };
    read().map_err(|source| Error::ReadFailed {
        path: path.to_owned(),
        source,
    })
}

/// Returns the error for a stack of devices, `found`, where only a drive is accepted.
pub(crate) fn not_single(argument: &'static str, found: &str) -> Error {
    let expected = "a drive in the catalogue or a .toml file, without devices in front of it";
    Error::argument(argument, found, expected)
}

fn unknown(name: &str) -> Error {
    let nearest = diskarm_drives::nearest(name);
    let hint = if nearest.is_empty() {
        "`diskarm drives` lists them".to_owned()
    } else {
        format!("nearest: {}", nearest.join(", "))
    };
    let expected = format!("a drive in the catalogue ({hint}) or a .toml file");
    Error::argument("drive", name, expected)
}

/// Parses the size of a command for `disk`, given as `argument`.
pub fn size(argument: &'static str, text: &str, disk: Disk) -> Result<SectorCount, Error> {
    Ok(command_size(argument, text, disk)?)
}

/// Parses the size of a command for `disk`; errors call it `field`.
pub(crate) fn command_size(field: &str, text: &str, disk: Disk) -> Result<SectorCount, InputError> {
    let max = disk.max_sectors();
    let size = quantity::sectors(text, disk.sector);
    let size = size.filter(|size| (1..=max.0).contains(&size.0));
    size.ok_or_else(|| {
        let example = quantity::binary_size(text).unwrap_or_else(|| "8 KiB".to_owned());
        let (max, bytes) = (max.0, disk.sector.0);
        let expected =
            format!("1 to {max} sectors of {bytes} bytes, with a unit, such as {example:?}");
        InputError::new(field, text, expected)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_files_are_limited_to_16_mib() {
        let path = std::env::temp_dir().join(format!("diskarm-{}-text", std::process::id()));
        let name = path.to_str().expect("a path in UTF-8");
        let file = File::create(&path).expect("a temporary file");
        file.set_len(MAX_TEXT).expect("a sparse file");
        assert_eq!(read_text(name).expect("a text file").len() as u64, MAX_TEXT);
        file.set_len(MAX_TEXT + 1).expect("a sparse file");
        let error = read_text(name).expect_err("too long").to_string();
        let expected = "cannot read: found more than 16 MiB, expected a smaller text file";
        assert_eq!(error, format!("{name}: {expected}"));
        std::fs::remove_file(path).expect("a temporary file");
    }
}
