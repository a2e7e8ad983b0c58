//! What the sectors of a disk may contain, as a client knows it from its requests and the replies.

use std::collections::BTreeSet;

/// The content of a sector: a number that no other write uses, or zeroes.
pub type Value = u64;
pub const ZERO: Value = 0;

#[derive(Clone, Debug)]
struct Sector {
    /// The values that the sector has had, with the number of the acknowledgement of their writes;
    /// `None` for writes that have not been acknowledged.
    values: Vec<(Value, Option<u64>)>,
    /// Index of the last value that survives a power cut.
    cut: usize,
    /// Index of the last value that survives a crash of the host.
    crash: usize,
    /// The content; `None` if it is not known until the sector is read.
    current: Option<Value>,
    /// Indices below this one cannot be the content.
    possible_from: usize,
    /// True if the power was cut or the host crashed since the content was last known.
    was_cut: bool,
    has_crashed: bool,
    /// Number of values at that time, and at the last crash.
    count_then: usize,
    count_at_crash: usize,
}

pub struct Expected {
    sectors: Vec<Sector>,
    /// The sectors of which several values are possible now or after a power cut or a crash.
    uncertain: BTreeSet<usize>,
    acknowledgements: u64,
    /// A sector whose events are printed.
    watched: Option<usize>,
}

impl Expected {
    pub fn new(sectors: usize, watched: Option<usize>) -> Self {
        let sector = Sector {
            values: vec![(ZERO, Some(0))],
            cut: 0,
            crash: 0,
            current: Some(ZERO),
            possible_from: 0,
            was_cut: false,
            has_crashed: false,
            count_then: 0,
            count_at_crash: 0,
        };
        Self {
            sectors: vec![sector; sectors],
            uncertain: BTreeSet::new(),
            acknowledgements: 0,
            watched,
        }
    }

    fn report(&self, event: std::fmt::Arguments<'_>, sector: Option<usize>) {
        if let Some(watched) = self.watched
            && sector.is_none_or(|sector| sector == watched)
        {
            println!("{event}: {:?}", self.sectors[watched]);
        }
    }

    /// Records that a write of `value` to a sector has been sent.
    pub fn sent(&mut self, sector: usize, value: Value) {
        self.report(format_args!("write of {value}"), Some(sector));
        self.uncertain.insert(sector);
        let sector = &mut self.sectors[sector];
        sector.values.push((value, None));
        sector.current = None;
    }

    /// Records that the last write to a sector has been acknowledged.
    pub fn acknowledged(&mut self, sector: usize, is_durable: bool) {
        self.report(format_args!("acknowledged, {is_durable}"), Some(sector));
        self.acknowledgements += 1;
        let sector = &mut self.sectors[sector];
        let index = sector.values.len() - 1;
        let (value, acknowledged) = &mut sector.values[index];
        *acknowledged = Some(self.acknowledgements);
        sector.current = Some(*value);
        sector.possible_from = index;
        (sector.was_cut, sector.has_crashed) = (false, false);
        if is_durable {
            (sector.cut, sector.crash) = (index, index);
            sector.forget();
        }
    }

    /// Returns the mark to pass to [`Self::flushed`] for a flush that is sent now.
    pub fn mark(&self) -> u64 {
        self.acknowledgements
    }

    /// Records that a flush that was sent at `mark` has been acknowledged.
    pub fn flushed(&mut self, mark: u64) {
        self.report(format_args!("flushed up to {mark}"), None);
        let sectors = &mut self.sectors;
        self.uncertain.retain(|sector| {
            let sector = &mut sectors[*sector];
            let is_covered = |(_, at): &(Value, Option<u64>)| at.is_some_and(|at| at <= mark);
            let last = sector.values.iter().rposition(is_covered).unwrap_or(0);
            sector.cut = sector.cut.max(last);
            sector.crash = sector.crash.max(last);
            sector.forget();
            sector.values.len() > 1
        });
    }

    /// Records a power cut: the content is the last durable one or a later one.
    pub fn power_was_cut(&mut self) {
        self.report(format_args!("power cut"), None);
        for sector in &self.uncertain {
            let sector = &mut self.sectors[*sector];
            sector.current = None;
            sector.possible_from = sector.cut;
            sector.was_cut = true;
            sector.forget_acknowledgements();
        }
    }

    pub fn host_has_crashed(&mut self) {
        self.report(format_args!("crash"), None);
        for sector in &self.uncertain {
            let sector = &mut self.sectors[*sector];
            sector.current = None;
            sector.possible_from = sector.crash;
            sector.cut = sector.crash;
            sector.has_crashed = true;
            sector.count_at_crash = sector.values.len();
            sector.forget_acknowledgements();
        }
    }

    /// Checks the content of a sector that no write is changing. What is read first after a power
    /// cut or a crash is there to stay.
    ///
    /// # Errors
    /// The values that were possible.
    pub fn read(&mut self, sector: usize, found: Value) -> Result<(), Vec<Value>> {
        self.report(format_args!("read {found}"), Some(sector));
        let sector = &mut self.sectors[sector];
        if let Some(current) = sector.current {
            return if current == found {
                Ok(())
            } else {
                Err(vec![current])
            };
        }
        let possible = &sector.values[sector.possible_from..];
        if !possible.iter().any(|(value, _)| *value == found) {
            return Err(possible.iter().map(|(value, _)| *value).collect());
        }
        sector.current = Some(found);
        // The values of writes that were not acknowledged cannot appear later.
        let index = sector.values.iter().rposition(|(value, _)| *value == found);
        let index = index.expect("a possible value");
        let is_old = index < sector.count_then;
        if (sector.was_cut || sector.has_crashed) && is_old {
            // What was written since the crash may survive the next one.
            let is_durable = sector.has_crashed && sector.count_at_crash == sector.values.len();
            sector.values.push((found, Some(0)));
            sector.cut = sector.values.len() - 1;
            if is_durable {
                sector.crash = sector.cut;
            }
        } else if index + 1 < sector.values.len() {
            // Lost without a power cut or a crash: only an unacknowledged write can be.
            let later = sector.values.split_off(index + 1);
            assert!(later.iter().all(|(_, at)| at.is_none()), "lost {later:?}");
        }
        (sector.was_cut, sector.has_crashed) = (false, false);
        sector.possible_from = sector.values.len() - 1;
        sector.forget();
        Ok(())
    }
}

impl Sector {
    /// Forgets which of the writes that may be lost were acknowledged: no flush covers them now.
    fn forget_acknowledgements(&mut self) {
        self.count_then = self.values.len();
        for (_, acknowledged) in &mut self.values[self.possible_from + 1..] {
            *acknowledged = None;
        }
    }

    /// Drops the values that can never be the content again.
    fn forget(&mut self) {
        let count = self.cut.min(self.crash).min(self.possible_from);
        if count > 0 {
            self.values.drain(..count);
            self.cut -= count;
            self.crash -= count;
            self.possible_from -= count;
            self.count_then = self.count_then.saturating_sub(count);
            self.count_at_crash = self.count_at_crash.saturating_sub(count);
        }
    }
}
