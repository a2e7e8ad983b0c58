//! The parameters of one call, read one by one.

use std::fmt::Display;
use std::ops::RangeInclusive;

use super::call::Call;
use super::error::{InputError, nearest};
use super::quantity;
use crate::units::Span;

/// The parameters of one call and the keys read so far. All errors name the parameter.
pub struct Args<'t, C = ()> {
    /// Further input of the reader.
    pub context: C,
    name: &'t str,
    given: Vec<(&'t str, &'t str)>,
    known: Vec<&'static str>,
}

pub(crate) const NO_PARAMETERS: &str = "no parameters";

const TIME: &str = "a time above 0, up to an hour, with its unit, such as \"31.2 ms\"";
const TIME_OR_NONE: &str = "a time from 0 to an hour with its unit, such as \"5 ms\"";
const RATE: &str = "a rate from one per hour to 1000000000/s, such as \"32/s\"";
const SHARE: &str = "a percentage from 0 % to 100 %, with its sign, such as \"67 %\"";

impl<'t, C> Args<'t, C> {
    /// Creates the parameters of `call`, for a reader that needs `context`.
    pub fn new(call: &Call<'t>, context: C) -> Self {
        Self {
            context,
            name: call.name,
            given: call.given.clone(),
            known: Vec::new(),
        }
    }

    /// Returns the value of `key`, parsed by `read`; `None` if it is not given.
    pub fn maybe<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, InputError> {
        self.maybe_read(key, |value, field| {
            read(value).ok_or_else(|| InputError::new(field, value, expected))
        })
    }

    /// Returns the value of `key`, or `None` if it is not given. `read` takes the value and the
    /// name of the field, and returns its own errors.
    pub fn maybe_read<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&str, &str) -> Result<T, InputError>,
    ) -> Result<Option<T>, InputError> {
        self.known.push(key);
        let mut values = self.given.iter().filter(|(given, _)| *given == key);
        let Some((_, value)) = values.next() else {
            return Ok(None);
        };
        if let Some((_, second)) = values.next() {
            let found = format_args!("{value:?} and {second:?}");
            return Err(InputError::shown(self.field(key), found, "a single value"));
        }
        read(value, &self.field(key)).map(Some)
    }

    /// Like [`Self::maybe`], for a required key.
    pub fn need<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, InputError> {
        let meant = self.maybe(key, expected, read)?;
        meant.ok_or_else(|| match self.misspelt(key) {
            Some(written) => InputError::unknown(self.name, written, "a known parameter", &[key]),
            None => InputError::missing(self.field(key), expected),
        })
    }

    /// Returns the mean time between events, given as `mean` or as `rate`.
    pub fn mean_or_rate(&mut self) -> Result<Span, InputError> {
        let mean = self.maybe("mean", TIME, positive_span)?;
        let rate = self.maybe("rate", RATE, quantity::interval)?;
        match (mean, rate) {
            (Some(pause), None) | (None, Some(pause)) => Ok(pause),
            (Some(_), Some(_)) => {
                let expected = "a rate or a mean, not both";
                Err(InputError::new(self.field("rate"), "both", expected))
            }
            (None, None) => self.need("rate", RATE, quantity::interval),
        }
    }

    /// Returns a time above zero.
    pub fn time(&mut self, key: &'static str) -> Result<Span, InputError> {
        self.need(key, TIME, positive_span)
    }

    /// Returns a time that may be zero; zero if not given.
    pub fn time_or_none(&mut self, key: &'static str) -> Result<Span, InputError> {
        Ok(self.maybe_time(key)?.unwrap_or_default())
    }

    /// Returns an optional time that may be zero.
    pub fn maybe_time(&mut self, key: &'static str) -> Result<Option<Span>, InputError> {
        let read = |text: &str| quantity::span(text).filter(|span| *span >= Span::ZERO);
        self.maybe(key, TIME_OR_NONE, read)
    }

    /// Returns a share from 0 to 1.
    pub fn share(&mut self, key: &'static str) -> Result<f64, InputError> {
        self.need(key, SHARE, share)
    }

    /// Returns a share that is neither nothing nor all.
    pub(crate) fn part(&mut self, key: &'static str) -> Result<f64, InputError> {
        let part = |text: &str| share(text).filter(|share| *share > 0.0 && *share < 1.0);
        self.need(key, "a share above 0 % and below 100 %", part)
    }

    /// Like [`Self::share`], for an optional key.
    pub fn maybe_share(&mut self, key: &'static str) -> Result<Option<f64>, InputError> {
        self.maybe(key, SHARE, share)
    }

    /// Returns a whole number within `range`.
    pub fn count(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<u64, InputError> {
        self.need(key, &within("a whole number", &range), |text| {
            whole(text, &range)
        })
    }

    /// Like [`Self::count`], for an optional key.
    pub fn maybe_count(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, InputError> {
        self.maybe(key, &within("a whole number", &range), |text| {
            whole(text, &range)
        })
    }

    pub(crate) fn number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<f64, InputError> {
        self.need(key, &within("a number", &range), |text| {
            number(text, &range)
        })
    }

    pub(crate) fn maybe_number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<Option<f64>, InputError> {
        self.maybe(key, &within("a number", &range), |text| {
            number(text, &range)
        })
    }

    /// Returns an optional `yes` or `no`.
    pub fn maybe_yes(&mut self, key: &'static str) -> Result<Option<bool>, InputError> {
        self.maybe(key, "yes or no", |text| match text {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        })
    }

    /// Returns the values of a key that may be given several times.
    pub fn several<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, InputError> {
        self.known.push(key);
        let values = self.given.iter().filter(|(given, _)| *given == key);
        values
            .map(|(_, value)| {
                read(value).ok_or_else(|| InputError::new(self.field(key), value, expected))
            })
            .collect()
    }

    /// Returns the shares of a key that is given at least once.
    pub(crate) fn shares(&mut self, key: &'static str) -> Result<Vec<f64>, InputError> {
        match self.several(key, SHARE, share)? {
            shares if shares.is_empty() => Err(InputError::missing(self.field(key), SHARE)),
            shares => Ok(shares),
        }
    }

    /// Returns all pairs as given, for calls whose keys are themselves values.
    pub fn pairs(&mut self) -> Vec<(&'t str, &'t str)> {
        std::mem::take(&mut self.given)
    }

    /// Returns the name of the parameter `key` in errors.
    pub fn field(&self, key: &str) -> String {
        format!("{}.{key}", self.name)
    }

    /// Ends reading: a key that was not read is an error.
    pub fn finish(&self) -> Result<(), InputError> {
        let mut keys = self.given.iter().map(|(key, _)| *key);
        let Some(strange) = keys.find(|key| !self.known.contains(key)) else {
            return Ok(());
        };
        let expected = match (nearest(strange, &self.known), self.known.join(", ")) {
            (_, known) if known.is_empty() => NO_PARAMETERS.to_owned(),
            (Some(near), known) => format!("a known parameter: \"{near}\" or one of {known}"),
            (None, known) => format!("a known parameter: {known}"),
        };
        Err(InputError::new(self.name, strange, expected))
    }

    /// Returns a given key that is probably a misspelt `key`, which then is not just missing.
    fn misspelt(&self, key: &str) -> Option<&'t str> {
        let mut keys = self.given.iter().map(|(given, _)| *given);
        keys.find(|given| !self.known.contains(given) && nearest(given, &[key]).is_some())
    }
}

fn positive_span(text: &str) -> Option<Span> {
    quantity::span(text).filter(|span| *span > Span::ZERO)
}

fn within<T: Display>(kind: &str, range: &RangeInclusive<T>) -> String {
    format!("{kind} from {} to {}", range.start(), range.end())
}

fn number(text: &str, range: &RangeInclusive<f64>) -> Option<f64> {
    text.parse().ok().filter(|number| range.contains(number))
}

fn whole(text: &str, range: &RangeInclusive<u64>) -> Option<u64> {
    quantity::count(text).filter(|number| range.contains(number))
}

pub(crate) fn share(text: &str) -> Option<f64> {
    quantity::typed_fraction(text).filter(|share| (0.0..=1.0).contains(share))
}

/// Returns a share as a percentage, without the rounding error of binary fractions.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", (share * 1e8).round() / 1e6)
}

/// Returns the error that `found` is not a share.
pub(crate) fn no_share(field: &str, found: &str) -> InputError {
    InputError::new(field, found, SHARE)
}
