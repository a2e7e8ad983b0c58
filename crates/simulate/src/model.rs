//! A drive to simulate: a name of the catalogue, or a specification in a file.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{Document, Spec};
use diskarm_core::text::quantity;
use diskarm_core::units::{Bytes, SectorCount};
use diskarm_core::workload::{Disk, Workload};

use crate::error::Error;

/// A drive's specification and all that follows from it alone.
#[derive(Clone, Debug)]
pub struct Model {
    /// As the caller named it.
    pub name: String,
    /// Its specification, as written.
    pub text: Cow<'static, str>,
    /// What the drive is.
    pub spec: Spec,
    /// Where its blocks lie.
    pub layout: Arc<Layout>,
}

impl Model {
    /// The drive called `name` in the catalogue; with a name that ends in `.toml`, the one that
    /// this file specifies.
    ///
    /// # Errors
    /// An unknown name, an error of `drive`; a file that cannot be read; a specification that is
    /// wrong.
    pub fn find(name: &str) -> Result<Self, Error> {
        if name.ends_with(".toml") {
            return Self::read(read_file(name)?, name);
        }
        let entry = diskarm_drives::find(name).ok_or_else(|| unknown(name))?;
        Self::read(entry.text, name)
    }

    /// The drive that the specification in `text` describes, called `name`, which is also the file
    /// that errors give.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: impl Into<Cow<'static, str>>, name: &str) -> Result<Self, Error> {
        let text = text.into();
        let document = Document::read(&text, name)?;
        let layout = Layout::new(&document.spec.geometry);
        let layout = layout.map_err(|error| document.locate(error))?;
        let spec = document.spec;
        Ok(Self {
            name: name.to_owned(),
            text,
            spec,
            layout: Arc::new(layout),
        })
    }

    /// What requests on the drive can be.
    pub fn disk(&self) -> Disk {
        Disk {
            sectors: self.layout.sectors(),
            sector: Bytes(u64::from(self.spec.geometry.sector_bytes)),
        }
    }

    /// The workload that `text` gives for this drive: in the file of a name that ends in `.toml`,
    /// or itself.
    ///
    /// # Errors
    /// A workload that is wrong, or that the drive has no room for, an error of `workload` or of
    /// the file; a file that cannot be read.
    pub fn workload(&self, text: &str) -> Result<Workload, Error> {
        if Path::new(text).extension().is_none_or(|end| end != "toml") {
            let workload = Workload::parse(text, self.disk());
            return workload.map_err(|error| error.in_argument("workload").into());
        }
        Ok(Workload::parse_toml(&read_file(text)?, text, self.disk())?)
    }
}

fn read_file(path: &str) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Unread {
        path: path.to_owned(),
        source,
    })
}

fn unknown(name: &str) -> Error {
    let nearest = diskarm_drives::nearest(name);
    let hint = if nearest.is_empty() {
        "`diskarm drives` lists them".to_owned()
    } else {
        format!("nearest: {}", nearest.join(", "))
    };
    let expected = format!("a drive of the catalogue ({hint}) or a .toml file");
    Error::argument("drive", name, expected)
}

/// The size that `argument` gives, of a command for `disk`.
///
/// # Errors
/// When `text` is no such size.
pub fn size(argument: &'static str, text: &str, disk: Disk) -> Result<SectorCount, Error> {
    let most = disk.max_sectors();
    let size = quantity::sectors(text, disk.sector);
    size.filter(|size| (1..=most.0).contains(&size.0))
        .ok_or_else(|| {
            let expected = format!(
                "1 to {} sectors of {} bytes, with a unit, such as \"8 KiB\"",
                most.0, disk.sector.0
            );
            Error::argument(argument, text, expected)
        })
}
