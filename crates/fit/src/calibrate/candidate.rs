//! A specification being fitted, and the keys that a trace may determine.

use std::sync::{Arc, LazyLock};

use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::SeekTimes;
use diskarm_core::request::Op;
use diskarm_core::spec::{Key, KeyKind, Mechanics, SeekCurve, Spec, Value, Variation};
use diskarm_core::units::{Cylinder, Span};
use diskarm_drives::text::Edit;

/// A specification whose seek curves are the given ones plus corrections.
#[derive(Clone)]
pub struct Candidate {
    /// The specification without corrections to its seek curves.
    pub spec: Spec,
    pub layout: Arc<Layout>,
    /// The seek times of reads, and of writes if `write_seek` is `None`.
    pub read_seek: Curve,
    pub write_seek: Option<Curve>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinate {
    /// A key, by its index among the fitted keys.
    Parameter(usize),
    /// The correction to the seek time of reads, by knot.
    ReadSeek(usize),
    /// The correction to the seek time of writes, by knot.
    WriteSeek(usize),
}

/// The scale of the penalty for a seek time that falls from one knot to the next, in milliseconds.
const FALL_SCALE_MS: f64 = 0.05;

/// The overheads before the media access of a read and of a write.
const READ_MISS: [&str; 2] = [
    "overheads.read_miss_after_read",
    "overheads.read_miss_after_write",
];
const WRITE_MISS: [&str; 2] = [
    "overheads.write_miss_after_read",
    "overheads.write_miss_after_write",
];

/// Keys that a trace reveals only as sums, so that none can move alone, with their factors. If a
/// bus rate moves, the related overhead compensates for it in a request of eight sectors.
const KEY_GROUPS: &[&[(&str, f64)]] = &[
    &[
        ("overheads.read_hit_after_read", 1.0),
        ("overheads.read_hit_after_write", 1.0),
        ("overheads.read_completion", -1.0),
    ],
    &[
        ("overheads.read_miss_after_read", 1.0),
        ("overheads.read_miss_after_write", 1.0),
    ],
    &[
        ("overheads.write_hit_after_read", 1.0),
        ("overheads.write_hit_after_write", 1.0),
    ],
    &[
        ("overheads.write_hit_seek", 1.0),
        ("overheads.write_hit_after_read", -1.0),
        ("overheads.write_hit_after_write", -1.0),
    ],
    &[
        ("overheads.write_hit_zone", 1.0),
        ("overheads.write_hit_seek", -1.0),
    ],
    &[
        ("overheads.write_miss_after_read", 1.0),
        ("overheads.write_miss_after_write", 1.0),
    ],
    &[
        ("mechanics.track_settle", 1.0),
        ("mechanics.cylinder_settle", 1.0),
    ],
    &[
        ("mechanics.cylinder_settle", 1.0),
        ("mechanics.head_switch", -1.0),
    ],
    &[
        ("bus.read_sector", 1.0),
        ("overheads.read_completion", -8.0),
    ],
    &[
        ("bus.write_sector", 1.0),
        ("overheads.write_hit_after_read", -8.0),
        ("overheads.write_hit_after_write", -8.0),
    ],
];

/// Coordinates that move together, each by its factor times the distance.
pub type Direction = Vec<(Coordinate, f64)>;

/// The prior standard deviation of the seek time at a knot, in milliseconds.
const SEEK_PRIOR_MS: f64 = 1.0;

/// The prior standard deviation of the difference between neighbouring knots, in milliseconds.
const SEEK_STEP_MS: f64 = 0.2;

impl Candidate {
    pub fn new(spec: &Spec, layout: Arc<Layout>) -> Self {
        let cylinders = spec.geometry.cylinders;
        let write = spec.mechanics.write_seek.is_some();
        Self {
            spec: spec.clone(),
            layout,
            read_seek: Curve::new(&spec.mechanics, Op::Read, cylinders),
            write_seek: write.then(|| Curve::new(&spec.mechanics, Op::Write, cylinders)),
        }
    }

    /// Returns the starting points of a search: this candidate, and one whose writes wait for all
    /// their data before they access the media. Small steps do not lead from one to the other.
    pub fn starts(&self) -> Vec<Self> {
        let mut waiting = self.clone();
        let start = &mut waiting.spec.overheads.write_start;
        start.small = self.spec.buffer.segment;
        start.large = start.small;
        let mut starts = vec![self.clone(), waiting];
        starts.dedup_by(|waiting, given| waiting.spec == given.spec);
        starts
    }

    /// Separates the seek times of writes from those of reads, with equal values.
    pub fn split_write_seek(&mut self) {
        let mechanics = self.build().mechanics;
        let cylinders = self.spec.geometry.cylinders;
        self.write_seek = Some(Curve::new(&mechanics, Op::Write, cylinders));
    }

    pub fn build(&self) -> Spec {
        let mut spec = self.spec.clone();
        let mechanics = &mut spec.mechanics;
        if self.read_seek.added_ms.iter().any(|&ms| ms != 0.0) {
            mechanics.seek = self.read_seek.corrected();
        }
        if let Some(write) = &self.write_seek
            && (write.added_ms.iter().any(|&ms| ms != 0.0) || mechanics.write_seek.is_none())
        {
            mechanics.write_seek = Some(write.corrected());
        }
        // Settling and the difference between directions must not make a seek time negative.
        let reads = self.read_seek.shortest();
        let writes = self.write_seek.as_ref().map_or(reads, Curve::shortest);
        let switch = match mechanics.head_switch {
            Span::ZERO => writes,
            switch => switch,
        };
        mechanics.write_settle = mechanics.write_settle.max(-writes.min(switch));
        let even = reads.min(writes);
        mechanics.inward_seek = mechanics.inward_seek.clamp(-even, even);
        spec
    }

    pub fn coordinates(&self) -> Vec<Coordinate> {
        let has = |&i: &usize| PARAMETERS[i].get(&self.spec).is_some();
        let parameters = (0..PARAMETERS.len()).filter(has).map(Coordinate::Parameter);
        let reads = (0..self.read_seek.knots.len()).map(Coordinate::ReadSeek);
        let curve = self.write_seek.iter();
        let writes = curve.flat_map(|curve| 0..curve.knots.len());
        let seeks = reads.chain(writes.map(Coordinate::WriteSeek));
        parameters.chain(seeks).collect()
    }

    /// Returns the directions to search: each coordinate, and groups of coordinates. One group
    /// changes all inward seeks except those over one cylinder, whose seek time compensates for the
    /// change. Others move all seeks of reads or of writes.
    pub fn directions(&self) -> Vec<Direction> {
        let all = self.coordinates();
        let mut directions: Vec<Direction> = all.iter().map(|&at| vec![(at, 1.0)]).collect();
        for group in KEY_GROUPS {
            let step = |&(key, times): &(&str, f64)| Some((parameter(key)?, times));
            directions.extend(group.iter().map(step).collect::<Option<Direction>>());
        }
        if let Some(inward) = parameter("mechanics.inward_seek") {
            let mut first = vec![(inward, 1.0), (Coordinate::ReadSeek(0), -1.0)];
            if self.write_seek.is_some() {
                first.push((Coordinate::WriteSeek(0), -1.0));
            }
            directions.push(first);
        }
        let knots = |curve: fn(usize) -> Coordinate| -> Direction {
            let knots = (0..).map(curve).take_while(|at| all.contains(at));
            knots.map(|at| (at, 1.0)).collect()
        };
        let seeks = [knots(Coordinate::ReadSeek), knots(Coordinate::WriteSeek)];
        // Neighbouring knots move together, because the prior resists moves of single knots.
        for three in seeks.iter().flat_map(|knots| knots.windows(3)) {
            directions.push(three.to_vec());
        }
        for (seeks, overheads) in seeks.into_iter().zip([READ_MISS, WRITE_MISS]) {
            if seeks.is_empty() {
                continue;
            }
            // Moves time from the seek curve to the overheads.
            let mut moved: Direction = seeks.iter().map(|&(at, _)| (at, -1.0)).collect();
            let keys = overheads.iter();
            moved.extend(keys.filter_map(|key| Some((parameter(key)?, 1.0))));
            directions.extend([seeks, moved]);
        }
        directions
    }

    /// Returns the candidate moved by `ms` in a direction.
    pub fn moved(&self, direction: &Direction, ms: f64) -> Self {
        let mut moved = self.clone();
        for &(at, times) in direction {
            moved.set(at, self.get(at) + times * ms);
        }
        moved
    }

    /// Returns a coordinate's value, in milliseconds.
    pub fn get(&self, at: Coordinate) -> f64 {
        match at {
            Coordinate::Parameter(i) => PARAMETERS[i].get(&self.spec).unwrap_or(0.0),
            Coordinate::ReadSeek(k) => self.read_seek.added_ms[k],
            Coordinate::WriteSeek(k) => self.write_seek.as_ref().map_or(0.0, |c| c.added_ms[k]),
        }
    }

    pub fn set(&mut self, at: Coordinate, ms: f64) {
        match at {
            Coordinate::Parameter(i) => PARAMETERS[i].set(&mut self.spec, ms),
            Coordinate::ReadSeek(k) => self.read_seek.added_ms[k] = ms,
            Coordinate::WriteSeek(k) => {
                if let Some(curve) = &mut self.write_seek {
                    curve.added_ms[k] = ms;
                }
            }
        }
    }

    /// Returns the prior standard deviation of a coordinate, in milliseconds.
    pub fn prior_ms(at: Coordinate) -> f64 {
        match at {
            Coordinate::Parameter(i) => PARAMETERS[i].prior_ms,
            Coordinate::ReadSeek(_) | Coordinate::WriteSeek(_) => SEEK_PRIOR_MS,
        }
    }

    /// Returns the standard deviation of a coordinate from its value in `given`, in milliseconds:
    /// the prior of [`Self::ln_prior`] without its coupling of neighbouring seek times.
    pub fn prior_from_ms(at: Coordinate, given: &Spec) -> f64 {
        match at {
            Coordinate::Parameter(i) => {
                let parameter = &PARAMETERS[i];
                parameter.prior_ms(parameter.get(given).unwrap_or(0.0))
            }
            Coordinate::ReadSeek(_) | Coordinate::WriteSeek(_) => SEEK_PRIOR_MS,
        }
    }

    /// Returns the logarithm of the prior density, up to a constant: values are close to the
    /// `given` ones, and corrections to seek times change little from knot to knot.
    pub fn ln_prior(&self, given: &Spec) -> f64 {
        let mut sum = 0.0;
        for parameter in PARAMETERS.iter() {
            if let (Some(ms), Some(was)) = (parameter.get(&self.spec), parameter.get(given)) {
                sum += ((ms - was) / parameter.prior_ms(was)).powi(2);
            }
        }
        let curves = || std::iter::once(&self.read_seek).chain(&self.write_seek);
        for curve in curves() {
            let added = &curve.added_ms;
            let squares = added.iter().map(|ms| (ms / SEEK_PRIOR_MS).powi(2));
            sum += squares.sum::<f64>();
            let steps = added.windows(2).map(|w| (w[1] - w[0]) / SEEK_STEP_MS);
            // This is robust: a large step that the data clearly show costs only its logarithm.
            sum += steps.map(|step| 2.0 * (step * step).ln_1p()).sum::<f64>();
        }
        // A longer seek takes no less time, unless the trace clearly shows it: the RZ26 takes long
        // to settle before writes only after seeks of 160 to 700 cylinders, and the Cheetah 4LP
        // before any request only after seeks of 50 to 400.
        for curve in curves() {
            let squares = curve.falls_ms().map(|ms| (ms / FALL_SCALE_MS).powi(2));
            sum += squares.map(|square| 2.0 * square.ln_1p()).sum::<f64>();
        }
        -0.5 * sum
    }
}

/// A given seek curve, with corrections that are linear between knots.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The given curve, by distance.
    given: Vec<Span>,
    /// The distances of the knots, in ascending order.
    pub knots: Vec<u32>,
    pub added_ms: Vec<f64>,
}

const KNOTS_PER_OCTAVE: f64 = 2.0;

impl Curve {
    /// Returns the curve of `mechanics` for `op`, without corrections.
    pub fn new(mechanics: &Mechanics, op: Op, cylinders: u32) -> Self {
        let arm = Mechanics {
            head_switch: Span::ZERO,
            write_settle: Span::ZERO,
            inward_seek: Span::ZERO,
            ..mechanics.clone()
        };
        let times = SeekTimes::new(&arm, cylinders);
        let given = (0..cylinders).map(|d| times.total(op, (Cylinder(0), Cylinder(d)), false));
        let last = cylinders - 1;
        let octaves = (0..).map(|k| (f64::from(k) / KNOTS_PER_OCTAVE).exp2().round() as u32);
        let mut knots: Vec<u32> = octaves.take_while(|&d| d < last).collect();
        knots.push(last);
        knots.dedup();
        Self {
            given: given.collect(),
            added_ms: vec![0.0; knots.len()],
            knots,
        }
    }

    fn added(&self, d: u32) -> f64 {
        let above = self.knots.partition_point(|&k| k < d);
        match (self.knots.get(above), above.checked_sub(1)) {
            (Some(&k), Some(below)) if k != d => {
                let from = self.knots[below];
                let share = f64::from(d - from) / f64::from(k - from);
                self.added_ms[below] * (1.0 - share) + self.added_ms[above] * share
            }
            (Some(_), _) => self.added_ms[above],
            (None, below) => below.map_or(0.0, |below| self.added_ms[below]),
        }
    }

    fn time(&self, d: u32) -> Span {
        (self.given[d as usize] + Span::from_ms(self.added(d))).or_zero()
    }

    pub fn shortest(&self) -> Span {
        let times = (1..self.given.len() as u32).map(|d| self.time(d));
        times.min().unwrap_or(Span::ZERO)
    }

    /// Returns how much more the corrected curve falls from each knot to the next than the given
    /// curve, in milliseconds.
    pub fn falls_ms(&self) -> impl Iterator<Item = f64> {
        self.knots.windows(2).map(|knots| {
            let fall = |time: &dyn Fn(u32) -> Span| time(knots[0]).as_ms() - time(knots[1]).as_ms();
            let given = fall(&|d| self.given[d as usize]);
            (fall(&|d| self.time(d)) - given.max(0.0)).max(0.0)
        })
    }

    /// Returns the corrected curve, with all distances up to 32 cylinders and some of those beyond.
    pub fn corrected(&self) -> SeekCurve {
        let last = self.given.len() as u32 - 1;
        let mut points = Vec::new();
        let mut d = 1;
        while d < last {
            points.push((d, self.time(d)));
            d += (d / 16).max(1);
        }
        points.push((last, self.time(last)));
        SeekCurve::Table(points)
    }
}

/// The prior standard deviation of a bus rate, as a fraction of the given rate.
const BUS_PRIOR: f64 = 0.1;

/// A key whose value is a time.
pub struct Parameter {
    pub key: &'static Key,
    /// The prior standard deviation of its value, in milliseconds.
    prior_ms: f64,
}

impl Parameter {
    /// Returns the prior standard deviation of its value from `given_ms`, in milliseconds. A bus
    /// has a standard rate that data sheets give, so deviations in a trace have another cause.
    pub fn prior_ms(&self, given_ms: f64) -> f64 {
        if self.is_rate() && given_ms > 0.0 {
            BUS_PRIOR * given_ms
        } else {
            self.prior_ms
        }
    }

    /// Returns true if the key is the time that a sector takes on the bus.
    pub fn is_rate(&self) -> bool {
        matches!(self.key.path, "bus.read_sector" | "bus.write_sector")
    }

    /// Returns its value in milliseconds; `None` if the specification does not have the key.
    fn get(&self, spec: &Spec) -> Option<f64> {
        match self.key.get(spec) {
            Some(Value::Time(time)) => Some(time.as_ms()),
            _ => None,
        }
    }

    /// Sets its value within its bounds, if the specification has the key.
    fn set(&self, spec: &mut Spec, ms: f64) {
        let signed = matches!(self.key.kind, KeyKind::Time { signed: true });
        let ms = if signed { ms } else { ms.max(0.0) };
        if self.get(spec).is_some() {
            self.key.set(spec, Value::Time(Span::from_ms(ms)));
        }
    }
}

/// All keys that may vary, in the order in which they are fitted and written.
pub static VARIED: LazyLock<Vec<&'static Key>> = LazyLock::new(|| {
    let mut keys = Key::all();
    keys.retain(|key| key.vary != Variation::Fixed);
    keys.sort_by_key(|key| key.rank);
    keys
});

pub static PARAMETERS: LazyLock<Vec<Parameter>> = LazyLock::new(|| {
    let number = |key: &&'static Key| match key.vary {
        Variation::Number { prior_ms } => Some(Parameter { key, prior_ms }),
        _ => None,
    };
    VARIED.iter().filter_map(number).collect()
});

/// Returns the edits that turn the text of `given` into a specification of `fitted`.
pub fn edits(given: &Spec, fitted: &Spec) -> Vec<Edit> {
    let starts = given.overheads.write_start != fitted.overheads.write_start;
    let changed = VARIED.iter().filter_map(|key| {
        let fitted = key.get(fitted)?;
        // All three sizes must be given, or none.
        let together = starts && key.path.starts_with("overheads.write_start.");
        match fitted {
            Value::SeekCurve(ref curve) if !matches!(curve, SeekCurve::Table(_)) => None,
            fitted if together || key.get(given).as_ref() != Some(&fitted) => {
                Some(Edit::of(key, fitted))
            }
            _ => None,
        }
    });
    changed.collect()
}

pub fn parameter(path: &str) -> Option<Coordinate> {
    let at = PARAMETERS.iter().position(|p| p.key.path == path);
    at.map(Coordinate::Parameter)
}

#[cfg(test)]
mod curve_tests;
#[cfg(test)]
pub mod parameter_tests;
#[cfg(test)]
mod tests {
    use super::*;
    use diskarm_core::spec;

    /// A group with a misspelt key would be ignored silently.
    #[test]
    fn all_keys_of_groups_are_fitted() {
        let groups = KEY_GROUPS.iter().copied().flatten().map(|&(key, _)| key);
        for key in groups.chain(READ_MISS).chain(WRITE_MISS) {
            assert!(parameter(key).is_some(), "{key}");
        }
    }

    #[test]
    fn searches_also_start_with_writes_that_wait_for_all_their_data() {
        let text = diskarm_drives::find("hp-c2247").expect("a drive").text;
        let spec = spec::parse(text, "hp-c2247").expect("a specification");
        let layout = Arc::new(Layout::new(&spec.geometry).expect("a layout"));
        let given = Candidate::new(&spec, layout);
        let starts = given.starts();
        assert_eq!(starts.len(), 2);
        assert_eq!(starts[0].spec, spec);
        let start = starts[1].spec.overheads.write_start;
        assert_eq!([start.small, start.large], [spec.buffer.segment; 2]);
        assert_eq!(starts[1].starts().len(), 1, "its writes already wait");
    }
}
