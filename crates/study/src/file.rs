//! A study as read from its file.

use std::collections::{BTreeMap, BTreeSet};

use diskarm_core::text::InputError;
use serde::Deserialize;
use toml::Spanned;

use crate::axis::{Axis, AxisValue, axis_of, indices, names, points};
use crate::cell::{Cell, KEYS, Keys};
use crate::claim::{Claim, JudgedClaim, RawClaim};
use crate::expression::{Scalar, StudyText, names as names_in, placeholders};
use crate::figure::{Density, Figure, Map, RawDensity, RawFigure, RawMap, RawTable, Table};
use crate::metric::{Column, Scope};
use crate::results::Results;

/// The requested form of a study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StudyOptions {
    /// True if it is the short form that `[quick]` describes.
    pub quick: bool,
    /// The traces of an axis whose values come from the command line.
    pub traces: Vec<String>,
}

/// A study: what it varies, what it simulates at each point, what it draws and what it claims.
#[derive(Clone, Debug)]
pub struct Study {
    /// Its name, which is also the name of its results folder.
    pub name: String,
    /// The text of its file.
    pub text: String,
    /// The form that was requested.
    pub options: StudyOptions,
    /// Its title, which identifies it.
    pub title: String,
    /// Its origin: paper, section, figure.
    pub source: String,
    /// A description of the experiment, and of departures from its source.
    pub about: String,
    /// The differences of the short form from the full study: `requests 1000 instead of 5000`.
    pub differences: Vec<String>,
    /// True if the values of an axis are traces from the command line.
    pub takes_traces: bool,
    /// Its axes; the last axis varies fastest.
    pub axes: Vec<Axis>,
    /// Its cells, in the order of their points.
    pub cells: Vec<Cell>,
    /// The columns of its results.
    pub columns: Vec<Column>,
    /// Its line charts.
    pub figures: Vec<Figure>,
    pub(crate) densities: Vec<Density>,
    pub(crate) maps: Vec<Map>,
    pub(crate) tables: Vec<Table>,
    /// Its claims, in order.
    pub claims: Vec<Claim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    title: String,
    source: String,
    #[serde(default)]
    about: String,
    cell: Spanned<Keys>,
    quick: Option<Keys>,
    #[serde(default)]
    axis: Vec<Spanned<RawAxis>>,
    #[serde(default)]
    columns: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    figure: Vec<Spanned<RawFigure>>,
    #[serde(default)]
    density: Vec<Spanned<RawDensity>>,
    #[serde(default)]
    map: Vec<Spanned<RawMap>>,
    #[serde(default)]
    table: Vec<Spanned<RawTable>>,
    #[serde(default)]
    claim: Vec<Spanned<RawClaim>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAxis {
    name: Spanned<String>,
    title: Option<String>,
    unit: Option<String>,
    values: Spanned<toml::Value>,
}

/// The `values` of an axis that takes them from the command line.
const FROM_FLAGS: &str = "--trace";

impl RawAxis {
    fn takes_traces(axis: &Spanned<Self>) -> bool {
        axis.get_ref().values.get_ref().as_str() == Some(FROM_FLAGS)
    }
}

impl Study {
    /// Reads the study `name` from `text`, the content of `file`. Fails with the first error in any
    /// cell of the full or the short form, or if the requested short form does not exist.
    pub fn read(
        name: &str,
        text: &str,
        file: &str,
        options: StudyOptions,
    ) -> Result<Self, InputError> {
        let source = StudyText { file, text };
        if !is_folder_name(name) {
            let expected = "a name for the results folder, not a path";
            return Err(InputError::new("study", name, expected));
        }
        let parsed = || toml::from_str(text).map_err(|error| source.syntax_error(&error));
        let [raw, raw_short]: [Raw; 2] = [parsed()?, parsed()?];
        if options.quick && raw.quick.is_none() {
            let expected = "a [quick] table, which describes the short form";
            return Err(source.location(&(0..0), "quick").error("nothing", expected));
        }
        let axes = raw.axis.iter();
        let axes = axes.map(|axis| read_axis(axis, &options, source));
        let axes: Vec<Axis> = axes.collect::<Result<_, _>>()?;
        let form = Form::new(&raw, axes, raw.cell.get_ref(), source)?;
        let claims = form.each("claim", raw.claim, RawClaim::read);
        let full = Self {
            name: name.to_owned(),
            text: text.to_owned(),
            options,
            title: raw.title,
            source: raw.source,
            about: raw.about.trim().to_owned(),
            differences: Vec::new(),
            takes_traces: raw.axis.iter().any(RawAxis::takes_traces),
            figures: form.all("figure", raw.figure, RawFigure::read)?,
            densities: form.all("density", raw.density, RawDensity::read)?,
            maps: form.all("map", raw.map, RawMap::read)?,
            tables: form.all("table", raw.table, RawTable::read)?,
            claims: claims.into_iter().collect::<Result<_, _>>()?,
            axes: form.axes,
            cells: form.cells,
            columns: form.columns,
        };
        let Some(quick) = raw_short.quick.clone() else {
            return Ok(full);
        };
        let short = full.clone().into_short_form(quick, raw_short, source)?;
        Ok(if full.options.quick { short } else { full })
    }

    fn into_short_form(
        self,
        quick: Keys,
        raw: Raw,
        text: StudyText<'_>,
    ) -> Result<Self, InputError> {
        let (mut keys, mut axes) = (raw.cell.get_ref().clone(), self.axes);
        let mut differences = shorten(quick, &mut keys, &mut axes, text)?;
        let mut form = Form::new(&raw, axes, &keys, text)?;
        form.is_short = true;
        if form.cells.len() != self.cells.len() {
            let (few, all) = (form.cells.len(), self.cells.len());
            differences.insert(0, format!("{few} of its {all} cells"));
        }
        let claims = form.each("claim", raw.claim, RawClaim::read).into_iter();
        let claims = claims.zip(&self.claims);
        let claims = claims.map(|(short, full)| short.unwrap_or_else(|_| full.without_cells()));
        Ok(Self {
            differences,
            figures: form.all("figure", raw.figure, RawFigure::read)?,
            densities: form.all("density", raw.density, RawDensity::read)?,
            maps: form.all("map", raw.map, RawMap::read)?,
            tables: form.all("table", raw.table, RawTable::read)?,
            claims: claims.collect(),
            axes: form.axes,
            cells: form.cells,
            columns: form.columns,
            ..self
        })
    }

    /// Judges the claims by the results.
    pub fn judge(&self, results: &Results<'_>) -> Vec<JudgedClaim<'_>> {
        let judged = self.claims.iter().map(|claim| {
            let judged = claim.judge(results);
            JudgedClaim { claim, judged }
        });
        judged.collect()
    }

    /// Returns true if no cell can have a second run, so that there are no intervals.
    pub fn has_single_runs(&self) -> bool {
        self.cells.iter().all(|cell| cell.replications.max == 1)
    }
}

/// Returns true if `name` can be the name of a folder: it is not empty, `..` or a path.
fn is_folder_name(name: &str) -> bool {
    let mut parts = std::path::Path::new(name).components();
    let first = parts.next();
    // The path `a/.` has the same parts as `a`.
    let is_single_part = first.is_some_and(|part| part.as_os_str() == name);
    is_single_part
        && parts.next().is_none()
        && matches!(first, Some(std::path::Component::Normal(_)))
}

/// The experiment of a study, in its full or its short form.
struct Form<'a> {
    axes: Vec<Axis>,
    cells: Vec<Cell>,
    columns: Vec<Column>,
    text: StudyText<'a>,
    is_short: bool,
}

impl<'a> Form<'a> {
    fn new(
        raw: &Raw,
        axes: Vec<Axis>,
        keys: &Keys,
        text: StudyText<'a>,
    ) -> Result<Self, InputError> {
        check_names(&axes, &raw.axis, keys, text)?;
        let cells = cells(&axes, keys, text)?;
        let columns = columns(&cells, &axes, &raw.columns, text)?;
        Ok(Self {
            axes,
            cells,
            columns,
            text,
            is_short: false,
        })
    }

    /// Reads all figures, maps or tables. One that is invalid only in the short form refers to
    /// values that are left out, and is left out too.
    fn all<R, T>(
        &self,
        kind: &str,
        raws: Vec<Spanned<R>>,
        read: impl Fn(R, &Scope<'_>) -> Result<T, InputError>,
    ) -> Result<Vec<T>, InputError> {
        let parts = self.each(kind, raws, read).into_iter();
        parts
            .filter(|part| part.is_ok() || !self.is_short)
            .collect()
    }

    fn each<R, T>(
        &self,
        kind: &str,
        raws: Vec<Spanned<R>>,
        read: impl Fn(R, &Scope<'_>) -> Result<T, InputError>,
    ) -> Vec<Result<T, InputError>> {
        let parts = raws.into_iter().enumerate().map(|(number, raw)| {
            let (axes, columns) = (&self.axes[..], &self.columns[..]);
            let at = self.text.location(&raw.span(), format!("{kind}[{number}]"));
            read(raw.into_inner(), &Scope { axes, columns, at })
        });
        parts.collect()
    }
}

fn read_axis(
    raw: &Spanned<RawAxis>,
    options: &StudyOptions,
    text: StudyText<'_>,
) -> Result<Axis, InputError> {
    let is_given = RawAxis::takes_traces(raw);
    let raw = raw.get_ref();
    let name = raw.name.get_ref();
    let at = text.location(&raw.values.span(), format!("axis.{name}.values"));
    let values: Vec<AxisValue> = match raw.values.get_ref() {
        toml::Value::String(word) if word == FROM_FLAGS => {
            let traces = options.traces.iter().map(|trace| AxisValue {
                value: Scalar::Text(trace.clone()),
                label: file_name(trace),
                fields: BTreeMap::new(),
            });
            traces.collect()
        }
        toml::Value::Array(values) => {
            let values = values.iter().map(|value| {
                let expected = "a single value, or a table with value, label and other keys";
                axis_value(value).ok_or_else(|| at.error(value, expected))
            });
            values.collect::<Result<_, _>>()?
        }
        other => return Err(at.error(other, "a list of values")),
    };
    if values.is_empty() {
        let expected = if is_given {
            "one or more traces: give --trace FILE"
        } else {
            "at least one value"
        };
        return Err(at.error("none", expected));
    }
    let mut labels = BTreeSet::new();
    if let Some(value) = values.iter().find(|value| !labels.insert(&value.label)) {
        return Err(at.error(format!("{:?} twice", value.label), "labels that differ"));
    }
    Ok(Axis {
        name: name.clone(),
        title: raw.title.clone().unwrap_or_else(|| name.clone()),
        unit: raw.unit.clone(),
        values,
        is_given,
        left_out: Vec::new(),
    })
}

fn file_name(path: &str) -> String {
    let name = std::path::Path::new(path).file_name();
    name.map_or(path.into(), |name| name.to_string_lossy())
        .into_owned()
}

fn axis_value(value: &toml::Value) -> Option<AxisValue> {
    let toml::Value::Table(table) = value else {
        return Scalar::new(value).map(AxisValue::plain);
    };
    let value = Scalar::new(table.get("value")?)?;
    let label = match table.get("label") {
        Some(label) => Scalar::new(label)?.to_string(),
        None => value.to_string(),
    };
    let is_field = |(key, _): &(&String, _)| *key != "value" && *key != "label";
    let others = table.iter().filter(is_field);
    let fields = others.map(|(key, value)| Some((key.clone(), Scalar::new(value)?)));
    Some(AxisValue {
        value,
        label,
        fields: fields.collect::<Option<_>>()?,
    })
}

/// Replaces the keys and the values of axes that `[quick]` lists, and returns the changes.
fn shorten(
    mut quick: Keys,
    keys: &mut Keys,
    axes: &mut [Axis],
    text: StudyText<'_>,
) -> Result<Vec<String>, InputError> {
    if let Some(kept) = quick.remove("axes") {
        let at = text.location(&kept.span(), "quick.axes");
        let toml::Value::Table(kept) = kept.into_inner() else {
            return Err(at.error("no table", "a table of axes"));
        };
        for (name, values) in kept {
            let at = at.part(&name);
            let number = axis_of(&name, axes, &at)?;
            let axis = &mut axes[number];
            let indices = indices(&values, axis, &at)?;
            for (index, value) in std::mem::take(&mut axis.values).into_iter().enumerate() {
                if indices.contains(&index) {
                    axis.values.push(value);
                } else {
                    axis.left_out.push(value);
                }
            }
        }
    }
    let format_value = |value: &toml::Value| match Scalar::new(value) {
        Some(single) => single.to_string(),
        None => value.to_string(),
    };
    let mut differences = Vec::new();
    for (key, value) in &quick {
        let new = format_value(value.get_ref());
        match keys.get(key).map(|old| format_value(old.get_ref())) {
            Some(old) if old == new => {}
            Some(old) => differences.push(format!("{key} {new} instead of {old}")),
            None => differences.push(format!("{key} {new}")),
        }
    }
    keys.extend(quick);
    Ok(differences)
}

/// Checks that all keys are known, all placeholders name an axis or a field, and all axes are used.
fn check_names(
    axes: &[Axis],
    raw: &[Spanned<RawAxis>],
    keys: &Keys,
    text: StudyText<'_>,
) -> Result<(), InputError> {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for (axis, raw) in axes.iter().zip(raw) {
        let at = text.location(&raw.get_ref().name.span(), format!("axis.{}", axis.name));
        let fields: BTreeSet<&String> = axis.values.iter().flat_map(|v| v.fields.keys()).collect();
        for name in fields.into_iter().chain([&axis.name]) {
            if owners.insert(name, &axis.name).is_some() {
                return Err(at.error(format!("{name:?} again"), "names that differ"));
            }
        }
    }
    let mut used = BTreeSet::new();
    for (key, value) in keys {
        let at = text.location(&value.span(), format!("cell.{key}"));
        if !KEYS.contains(&key.as_str()) {
            return Err(at.unknown(key, "a known key", KEYS));
        }
        for string in strings(value.get_ref()) {
            let wrong = || at.error(format!("{string:?}"), "pairs of { and }");
            let found = placeholders(string).ok_or_else(wrong)?;
            for name in found.into_iter().flat_map(names_in) {
                let owner = owners.get(name).ok_or_else(|| {
                    let known: Vec<&str> = owners.keys().copied().collect();
                    at.unknown(name, "an axis or a field of one", &known)
                })?;
                used.insert(*owner);
            }
        }
    }
    for (axis, raw) in axes.iter().zip(raw) {
        if !used.contains(axis.name.as_str()) {
            let at = text.location(&raw.get_ref().name.span(), format!("axis.{}", axis.name));
            let expected = format!("{{{}}} somewhere in [cell]", axis.name);
            return Err(at.error("an axis that changes nothing", expected));
        }
    }
    Ok(())
}

fn strings(value: &toml::Value) -> Vec<&str> {
    match value {
        toml::Value::String(text) => vec![text],
        toml::Value::Table(table) => table.values().flat_map(strings).collect(),
        toml::Value::Array(values) => values.iter().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

const MAX_CELLS: usize = 100_000;

fn cells(axes: &[Axis], keys: &Keys, text: StudyText<'_>) -> Result<Vec<Cell>, InputError> {
    let values = axes.iter().map(|axis| axis.values.len());
    let count = values.fold(1, usize::saturating_mul);
    if count > MAX_CELLS {
        let expected = format!("at most {MAX_CELLS}");
        return Err(text
            .location(&(0..0), "axis")
            .error(format!("{count} cells"), expected));
    }
    let points = points(axes).into_iter();
    let cells = points.map(|point| Cell::read(text, axes, keys, point));
    let cells: Vec<Cell> = cells.collect::<Result<_, _>>()?;
    let measure = cells[0].inputs.measure;
    if cells.iter().any(|cell| cell.inputs.measure != measure) {
        let span = keys.get("measure").map_or(0..0, Spanned::span);
        let at = text.location(&span, "cell.measure");
        return Err(at.error("several", "one measure for all cells"));
    }
    Ok(cells)
}

fn columns(
    cells: &[Cell],
    axes: &[Axis],
    derived: &BTreeMap<String, Spanned<String>>,
    text: StudyText<'_>,
) -> Result<Vec<Column>, InputError> {
    let mut columns = (cells[0].inputs.measure.info().columns)();
    let names = names(axes, &cells[0].point);
    let fields: Vec<&str> = names.keys().copied().collect();
    for (name, expression) in derived {
        let at = text.location(&expression.span(), format!("columns.{name}"));
        let column = Column::derived(name, expression.get_ref(), &columns, &fields, &at)?;
        columns.push(column);
    }
    Ok(columns)
}
