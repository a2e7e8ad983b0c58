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
use crate::tower::{self, Tower, Written};

/// A drive's specification and everything derived from it alone.
#[derive(Clone, Debug)]
pub struct Model {
    /// The name that the caller used.
    pub name: String,
    /// Its specification, as written.
    pub text: Cow<'static, str>,
    /// The parsed specification.
    pub spec: Spec,
    /// The mechanism, with tables that all its drives share.
    pub mechanism: Mechanism,
    /// The devices in front of it, if any.
    pub tower: Option<Arc<Tower>>,
    /// The blocks that requests may address: those of the drive, or of the devices in front of it.
    pub sectors: SectorCount,
}

/// The name of a drive in whose specification values are set.
pub fn changed_name(name: &str, edits: &[Edit]) -> String {
    if edits.is_empty() {
        return name.to_owned();
    }
    let edits: Vec<String> = edits.iter().map(Edit::to_string).collect();
    format!("{name} with {}", edits.join(", "))
}

impl Model {
    /// The name of the drive alone, without the devices in front of it.
    pub fn drive_name(&self) -> &str {
        let tower = self.tower.as_ref();
        tower.map_or(&self.name, |tower| tower.drive())
    }

    /// The other models of the disks behind the devices in front of it, which cycle through this
    /// model and those.
    pub fn others(&self) -> &[Self] {
        self.tower.as_ref().map_or(&[], |tower| tower.others())
    }

    /// A drive of this model, its platter at angle zero at the start.
    pub fn drive(&self) -> Drive {
        self.drive_at(Angle::ZERO)
    }

    /// The same, its platter at angle `origin` at the start.
    pub fn drive_at(&self, origin: Angle) -> Drive {
        Drive::with_mechanism(&self.spec, self.mechanism.at_angle(origin))
    }

    /// The layout of its blocks.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.mechanism.layout
    }

    /// Whether runs depend on their seeds even if they replay the same requests.
    pub fn is_random(&self) -> bool {
        self.tower.is_some() || self.spec.is_random()
    }

    /// The drive called `name` in the catalogue. If `name` ends in `.toml`, the drive that this
    /// file specifies.
    ///
    /// # Errors
    /// An unknown name, reported for the field `drive`; a file that cannot be read; an invalid
    /// specification.
    pub fn find(name: &str) -> Result<Self, Error> {
        if name.ends_with(".toml") {
            return Self::read(read_text(name)?, name);
        }
        if tower::is_tower(name) {
            return Err(not_alone("drive", name));
        }
        let entry = diskarm_drives::find(name).ok_or_else(|| unknown(name))?;
        Self::read(entry.text, name)
    }

    /// The drive that the specification in `text` describes, called `name`, which errors also
    /// report as the file.
    ///
    /// # Errors
    /// If the specification is invalid.
    pub fn read(text: impl Into<Cow<'static, str>>, name: &str) -> Result<Self, Error> {
        let text = text.into();
        let document = Document::read(&text, name)?;
        let layout = Layout::new(&document.spec.geometry);
        let layout = layout.map_err(|error| document.locate(error))?;
        let spec = document.spec;
        Ok(Self {
            name: name.to_owned(),
            text,
            sectors: layout.sectors(),
            mechanism: Mechanism::new(&spec, Arc::new(layout), Angle::ZERO),
            spec,
            tower: None,
        })
    }

    /// The drive called `text`, as [`Self::find`] finds it. If `text` is a tower such as
    /// `throttle(rate=100/s, drive=hp-c2247)`, the drive and the devices in front of it.
    ///
    /// # Errors
    /// The errors of [`Self::find`]; an unknown device or parameter; a policy in the tower that
    /// needs to know more than the device behind it provides.
    pub fn assemble(text: &str) -> Result<Self, Error> {
        if !tower::is_tower(text) {
            return Self::find(text);
        }
        let written = read_tower(text)?;
        Self::find(written.drive)?.under(written)
    }

    /// This drive, and what stands in front of it, with values set in the drive's specification.
    /// `origin` is where they come from, in errors and in its name.
    ///
    /// # Errors
    /// A value that is wrong or does not fit the others; a tower with drives of several models.
    pub fn with_values(&self, edits: &[Edit], origin: &str) -> Result<Self, Error> {
        let text = rewrite(&self.text, edits).map_err(|error| error.in_argument(origin))?;
        let name = format!("{} with {origin}", self.name);
        let drive = Self::read(text, &name);
        let drive = drive.map_err(|error| error.in_place_of(&name, origin))?;
        let drive = match &self.tower {
            Some(tower) => drive.with_tower(tower)?,
            None => drive,
        };
        Ok(Self { name, ..drive })
    }

    /// The same, if any, with a name that tells all of them.
    ///
    /// # Errors
    /// See [`Self::with_values`].
    pub fn changed(self, edits: &[Edit], origin: &str) -> Result<Self, Error> {
        if edits.is_empty() {
            return Ok(self);
        }
        let name = changed_name(&self.name, edits);
        let changed = self.with_values(edits, origin)?;
        Ok(Self { name, ..changed })
    }

    /// This drive with the devices of `tower` in front of it, in place of that tower's drive.
    ///
    /// # Errors
    /// If the devices do not fit the drive, or the tower has drives of several models.
    pub fn with_tower(self, tower: &Tower) -> Result<Self, Error> {
        if !tower.others().is_empty() {
            let expected = "drives of one model, so that its specification can be changed";
            return Err(Error::argument("drive", tower.to_string(), expected));
        }
        self.with_devices(&tower.to_string())
    }

    /// The same with the devices of the tower in `text`.
    ///
    /// # Errors
    /// If that is no tower, or its devices do not fit the drive.
    pub fn with_devices(self, text: &str) -> Result<Self, Error> {
        self.under(read_tower(text)?)
    }

    fn under(self, written: Written<'_>) -> Result<Self, Error> {
        let others = written.others.iter().map(|name| Self::find(name));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        let tower = written
            .over(&self, others)
            .map_err(|error| error.in_argument("drive"))?;
        Ok(Self {
            name: tower.to_string(),
            sectors: tower.capacity(self.layout().sectors()),
            tower: Some(Arc::new(tower)),
            ..self
        })
    }

    /// Returns itself if it is a single drive.
    ///
    /// # Errors
    /// If there are devices in front of it; the error calls it `argument`.
    pub fn alone(&self, argument: &'static str) -> Result<&Self, Error> {
        match self.tower {
            None => Ok(self),
            Some(_) => Err(not_alone(argument, &self.name)),
        }
    }

    /// Whether it is one drive, perhaps one with faults.
    pub fn is_one_drive(&self) -> bool {
        let tower = self.tower.as_ref();
        tower.is_none_or(|tower| tower.is_one_drive())
    }

    /// The single drive called `name`, which somebody takes for `drive`: it has as many blocks.
    ///
    /// # Errors
    /// If there is none, or it has not; the error calls it `argument`.
    pub fn instead_of(drive: &Self, name: &str, argument: &'static str) -> Result<Self, Error> {
        let model = Self::find(name).map_err(|error| error.calling(argument))?;
        model.alone(argument)?;
        let blocks = |model: &Self| model.layout().sectors().0;
        if blocks(&model) == blocks(drive) {
            return Ok(model);
        }
        let expected = format!("a drive of {} blocks, as {}", blocks(drive), drive.name);
        Err(Error::argument(argument, name, expected))
    }

    /// The limits for requests on the drive, or on the devices in front of it.
    pub fn disk(&self) -> Disk {
        Disk {
            sectors: self.sectors,
            sector: Bytes(u64::from(self.spec.geometry.sector_bytes)),
        }
    }

    /// The workload that `text` describes for this drive: a workload expression, or the name of a
    /// file that ends in `.toml`.
    ///
    /// # Errors
    /// A workload that is invalid or does not fit on the drive, reported for `workload` or for
    /// the file; a file that cannot be read.
    pub fn workload(&self, text: &str) -> Result<Workload, Error> {
        if Path::new(text).extension().is_none_or(|end| end != "toml") {
            let workload = Workload::parse(text, self.disk());
            return workload.map_err(|error| error.in_argument("workload").into());
        }
        Ok(Workload::parse_toml(&read_text(text)?, text, self.disk())?)
    }
}

/// The largest text file that is read, in bytes: far more than any specification, workload or study
/// has, and it ends files without an end.
const MAX_TEXT: u64 = 16 << 20;

/// The text of a file that a person may have written: a specification, a workload, a study.
///
/// # Errors
/// If it cannot be read, is not UTF-8, or is larger than 16 MiB.
pub fn read_text(path: &str) -> Result<String, Error> {
    let read = || {
        let mut text = String::new();
        let mut file = File::open(path)?.take(MAX_TEXT + 1);
        match file.read_to_string(&mut text)? {
            size if size as u64 <= MAX_TEXT => Ok(text),
            _ => Err(io::Error::other(
                "found more, expected at most 16 MiB of text",
            )),
        }
    };
    read().map_err(|source| Error::Unread {
        path: path.to_owned(),
        source,
    })
}

fn read_tower(text: &str) -> Result<Written<'_>, Error> {
    Written::read(text, "drive").map_err(|error| error.in_argument("drive").into())
}

fn not_alone(argument: &'static str, found: &str) -> Error {
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

/// The size of a command for `disk`, given as `argument`.
///
/// # Errors
/// If `text` is not such a size.
pub fn size(argument: &'static str, text: &str, disk: Disk) -> Result<SectorCount, Error> {
    Ok(largest(argument, text, disk)?)
}

/// The same; errors call it `field`.
pub(crate) fn largest(field: &str, text: &str, disk: Disk) -> Result<SectorCount, InputError> {
    let max = disk.max_sectors();
    let size = quantity::sectors(text, disk.sector);
    size.filter(|size| (1..=max.0).contains(&size.0))
        .ok_or_else(|| {
            let example = quantity::binary_size(text).unwrap_or_else(|| "8 KiB".to_owned());
            let expected = format!(
                "1 to {} sectors of {} bytes, with a unit, such as {example:?}",
                max.0, disk.sector.0
            );
            InputError::new(field, text, expected)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_at_most_16_mebibytes() {
        let path = std::env::temp_dir().join(format!("diskarm-{}-text", std::process::id()));
        let name = path.to_str().expect("a path in UTF-8");
        let file = File::create(&path).expect("a temporary file");
        file.set_len(MAX_TEXT).expect("a sparse file");
        assert_eq!(read_text(name).expect("a text").len() as u64, MAX_TEXT);
        file.set_len(MAX_TEXT + 1).expect("a sparse file");
        let error = read_text(name).expect_err("too long").to_string();
        let expected = "cannot read: found more, expected at most 16 MiB of text";
        assert_eq!(error, format!("{name}: {expected}"));
        std::fs::remove_file(path).expect("a file");
    }
}
