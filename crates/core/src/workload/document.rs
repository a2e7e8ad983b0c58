//! A workload in a TOML file: the keys of a stream at its top, or a list of tables `[[stream]]`.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::arrivals::Arrivals;
use super::places::PlaceMix;
use super::sizes::Sizes;
use super::{Disk, Stream, Workload, read_reads};
use crate::text::{Fault, words};

/// Reads the text of such a file; faults have their line.
pub(super) fn read(text: &str, disk: Disk) -> Result<Workload, Fault> {
    let document = Document { text, disk };
    let tree = match DeTable::parse(text) {
        Ok(tree) => tree.into_inner(),
        Err(error) => {
            let offset = error.span().map_or(0, |span| span.start);
            let expected = format!("TOML ({})", error.message().replace('\n', " "));
            return Err(document.at(offset, Fault::missing("syntax".to_owned(), expected)));
        }
    };
    let streams = match tree.get("stream") {
        None => vec![document.stream(&tree, "", 0)?],
        Some(listed) => {
            if let Some(key) = tree.keys().find(|key| key.get_ref() != "stream") {
                let field: &str = key.get_ref();
                let expected = "[[stream]] alone, or the keys of one stream alone";
                let fault = Fault::new(field, field, expected);
                return Err(document.at(key.span().start, fault));
            }
            document.streams(listed)?
        }
    };
    Ok(Workload { streams })
}

struct Document<'t> {
    text: &'t str,
    disk: Disk,
}

const KEYS: [&str; 4] = ["arrivals", "places", "size", "reads"];

impl Document<'_> {
    fn streams(&self, listed: &Spanned<DeValue<'_>>) -> Result<Vec<Stream>, Fault> {
        let tables = listed.get_ref().as_array();
        let is_some = tables.is_some_and(|tables| !tables.is_empty());
        let Some(tables) = tables.filter(|_| is_some) else {
            let fault = Fault::missing("stream".to_owned(), "tables, each [[stream]]");
            return Err(self.at(listed.span().start, fault));
        };
        let read = |(number, value): (usize, &Spanned<DeValue<'_>>)| {
            let path = format!("stream[{number}]");
            let offset = value.span().start;
            match value.get_ref() {
                DeValue::Table(table) => self.stream(table, &format!("{path}."), offset),
                _ => Err(self.at(offset, Fault::missing(path, "a table"))),
            }
        };
        tables.iter().enumerate().map(read).collect()
    }

    fn stream(&self, table: &DeTable<'_>, path: &str, offset: usize) -> Result<Stream, Fault> {
        let unknown = table.keys().find(|key| !KEYS.contains(&&**key.get_ref()));
        if let Some(key) = unknown {
            let fault = Fault::unknown("key", key.get_ref(), "a known key", &KEYS);
            return Err(self.at(key.span().start, fault));
        }
        let disk = self.disk;
        let mut stream = Stream::worthington94();
        let arrivals = self.value(table, path, "arrivals", |text, field| {
            Arrivals::read(text, disk, field)
        })?;
        let Some(arrivals) = arrivals else {
            let field = format!("{path}arrivals");
            let expected = "when requests come, such as \"poisson(rate=60/s)\"";
            return Err(self.at(offset, Fault::missing(field, expected)));
        };
        stream.arrivals = arrivals;
        let places = |text: &str, field: &str| PlaceMix::read(&words(text), disk, field);
        if let Some(places) = self.value(table, path, "places", places)? {
            stream.places = places;
        }
        let size = |text: &str, field: &str| Sizes::of_text(text, disk, field);
        if let Some(sizes) = self.value(table, path, "size", size)? {
            stream.sizes = sizes;
        }
        if let Some(share) = self.value(table, path, "reads", read_reads)? {
            stream.read_share = share;
        }
        stream
            .fault(disk)
            .map_or(Ok(stream), |fault| Err(self.at(offset, fault)))
    }

    /// What `read` makes of the text under `key`, if there is one.
    fn value<T>(
        &self,
        table: &DeTable<'_>,
        path: &str,
        key: &str,
        read: impl Fn(&str, &str) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        let Some(value) = table.get(key) else {
            return Ok(None);
        };
        let field = format!("{path}{key}");
        let meant = match value.get_ref().as_str() {
            Some(text) => read(text.trim(), &field),
            None => {
                let found = self.text.get(value.span()).unwrap_or_default();
                Err(Fault::new(&field, found, "text in quotes"))
            }
        };
        meant
            .map(Some)
            .map_err(|fault| self.at(value.span().start, fault))
    }

    /// `fault` with the line of a byte offset.
    fn at(&self, offset: usize, fault: Fault) -> Fault {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        Fault {
            line: Some(line),
            ..fault
        }
    }
}
