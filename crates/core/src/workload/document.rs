//! A workload in a TOML file: the keys of one stream, or a list of tables `[[stream]]`.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::arrivals::Arrivals;
use super::places::PlaceMix;
use super::sizes::Sizes;
use super::{Disk, Stream, Workload, check_streams, parse_read_share};
use crate::text::{InputError, line_of, words};

/// Parses the contents of a workload file; errors include its name and the line.
pub(super) fn read(text: &str, file: &str, disk: Disk) -> Result<Workload, InputError> {
    let document = Document { text, file, disk };
    let tree = match DeTable::parse(text) {
        Ok(tree) => tree.into_inner(),
        Err(error) => {
            let offset = error.span().map_or(0, |span| span.start);
            let expected = format!("TOML ({})", error.message().replace('\n', " "));
            return Err(
                document.error_at(offset, InputError::missing("syntax".to_owned(), expected))
            );
        }
    };
    let streams = match tree.get("stream") {
        None => vec![document.stream(&tree, "", 0)?],
        Some(listed) => {
            if let Some(key) = tree.keys().find(|key| key.get_ref() != "stream") {
                let field: &str = key.get_ref();
                let expected = "only [[stream]] tables, or only the keys of one stream";
                let error = InputError::new(field, field, expected);
                return Err(document.error_at(key.span().start, error));
            }
            document.streams(listed)?
        }
    };
    Ok(Workload { streams })
}

struct Document<'t> {
    text: &'t str,
    file: &'t str,
    disk: Disk,
}

const KEYS: [&str; 4] = ["arrivals", "places", "size", "reads"];

impl Document<'_> {
    fn streams(&self, listed: &Spanned<DeValue<'_>>) -> Result<Vec<Stream>, InputError> {
        let tables = listed.get_ref().as_array();
        let Some(tables) = tables.filter(|tables| !tables.is_empty()) else {
            let error = InputError::missing("stream".to_owned(), "[[stream]] tables");
            return Err(self.error_at(listed.span().start, error));
        };
        check_streams(tables.len()).map_err(|error| self.error_at(listed.span().start, error))?;
        let read = |(number, value): (usize, &Spanned<DeValue<'_>>)| {
            let path = format!("stream[{number}]");
            let offset = value.span().start;
            match value.get_ref() {
                DeValue::Table(table) => self.stream(table, &format!("{path}."), offset),
                _ => Err(self.error_at(offset, InputError::missing(path, "a table"))),
            }
        };
        tables.iter().enumerate().map(read).collect()
    }

    fn stream(&self, table: &DeTable<'_>, path: &str, offset: usize) -> Result<Stream, InputError> {
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&&**key.get_ref())) {
            let error = InputError::unknown("key", key.get_ref(), "a known key", &KEYS);
            return Err(self.error_at(key.span().start, error));
        }
        let disk = self.disk;
        let mut stream = Stream::worthington94();
        let arrivals = |text: &str, field: &str| Arrivals::read(text, disk, field);
        let Some(arrivals) = self.value(table, path, "arrivals", arrivals)? else {
            let field = format!("{path}arrivals");
            let expected = "arrivals, such as \"poisson(rate=60/s)\"";
            return Err(self.error_at(offset, InputError::missing(field, expected)));
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
        if let Some(share) = self.value(table, path, "reads", parse_read_share)? {
            stream.read_share = share;
        }
        stream
            .error(disk)
            .map_or(Ok(stream), |error| Err(self.error_at(offset, error)))
    }

    /// Returns the text under `key`, parsed by `read`, if present.
    fn value<T>(
        &self,
        table: &DeTable<'_>,
        path: &str,
        key: &str,
        read: impl Fn(&str, &str) -> Result<T, InputError>,
    ) -> Result<Option<T>, InputError> {
        let Some(value) = table.get(key) else {
            return Ok(None);
        };
        let field = format!("{path}{key}");
        let parsed = match value.get_ref().as_str() {
            Some(text) => read(text.trim(), &field),
            None => {
                let found = self.text.get(value.span()).unwrap_or_default();
                Err(InputError::new(&field, found, "a string in quotes"))
            }
        };
        let with_line = |error| self.error_at(value.span().start, error);
        parsed.map(Some).map_err(with_line)
    }

    fn error_at(&self, offset: usize, error: InputError) -> InputError {
        error.in_file(self.file, line_of(self.text, offset))
    }
}
