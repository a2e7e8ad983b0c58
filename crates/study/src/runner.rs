//! The cells of a study on every processor.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use diskarm_core::workload::replication_seeds;

use crate::axis::describe;
use crate::cell::Cell;
use crate::error::StudyError;
use crate::file::Study;
use crate::job::{Job, Shared, cell_error};
use crate::measure::Figures;
use crate::results::{Estimate, Replicated, Results};
use crate::store::{Known, Store, Stored};

/// A study made ready to run.
pub struct Runner<'s> {
    study: &'s Study,
    jobs: Vec<Job>,
}

/// What came of one cell, before it is a part of results.
pub(crate) struct Done {
    seeds: Vec<u64>,
    keys: Vec<String>,
    replicated: Replicated,
}

impl<'s> Runner<'s> {
    /// Every drive, policy, workload and trace of `study` is read.
    ///
    /// # Errors
    /// The first that is wrong, and in which cell.
    pub fn new(study: &'s Study) -> Result<Self, StudyError> {
        let mut shared = Shared::default();
        let jobs = study.cells.iter().map(|cell| {
            let job = Job::new(&cell.inputs, &mut shared);
            job.map_err(cell_error(place(study, cell)))
        });
        let jobs = jobs.collect::<Result<_, _>>()?;
        Ok(Self { study, jobs })
    }

    /// Runs what `store` does not have yet, on so many threads, and keeps each run as it ends.
    /// `look` hears of how many cells are done, and says whether to go on; asked to stop, it
    /// gives `None`, and a later run goes on from there.
    ///
    /// # Errors
    /// When a cell cannot be simulated, or a run not kept.
    pub fn run(
        &self,
        store: &mut Store,
        threads: usize,
        look: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Option<Results<'s>>, StudyError> {
        let known = store.known().clone();
        let next = AtomicUsize::new(0);
        let is_over = AtomicBool::new(false);
        let cells = &self.study.cells;
        let mut done: Vec<Option<Done>> = cells.iter().map(|_| None).collect();
        let mut outcome: Result<(), StudyError> = Ok(());
        // Of several cells that have failed by the time that all threads have stopped, the first.
        let mut failed: Option<(usize, StudyError)> = None;
        thread::scope(|scope| {
            let (sender, news) = mpsc::channel();
            for _ in 0..threads.clamp(1, cells.len()) {
                let (sender, next, is_over, known) = (sender.clone(), &next, &is_over, &known);
                scope.spawn(move || self.work(next, is_over, known, &sender));
            }
            drop(sender);
            let mut count = 0;
            for news in news {
                match news {
                    News::Run(run) => {
                        if outcome.is_ok() {
                            outcome = store.keep(&run);
                        }
                    }
                    News::Cell(place, cell) => {
                        done[place] = Some(cell);
                        count += 1;
                    }
                    News::Failed(place, error) => {
                        if failed.as_ref().is_none_or(|(first, _)| place < *first) {
                            failed = Some((place, error));
                        }
                    }
                }
                if outcome.is_err() || failed.is_some() || look(count).is_break() {
                    is_over.store(true, Ordering::Relaxed);
                }
            }
        });
        outcome?;
        if let Some((_, error)) = failed {
            return Err(error);
        }
        let Some(done) = done.into_iter().collect::<Option<Vec<Done>>>() else {
            return Ok(None);
        };
        self.finished(store, done).map(Some)
    }

    /// What `store` has, if that is all; then its runs are in the order of the cells.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn stored(&self, store: &mut Store) -> Result<Option<Results<'s>>, StudyError> {
        let cells = (0..self.jobs.len()).map(|place| self.known(place, store.known()));
        match cells.collect::<Result<Option<Vec<Done>>, _>>()? {
            Some(done) => self.finished(store, done).map(Some),
            None => Ok(None),
        }
    }

    /// The places of the cells of which `store` lacks a run.
    ///
    /// # Errors
    /// None that [`Self::new`] has not found.
    pub fn missing(&self, store: &Store) -> Result<Vec<usize>, StudyError> {
        let mut missing = Vec::new();
        for place in 0..self.jobs.len() {
            if self.known(place, store.known())?.is_none() {
                missing.push(place);
            }
        }
        Ok(missing)
    }

    /// The cell at `place` if all its runs are `known`.
    fn known(&self, place: usize, known: &Known) -> Result<Option<Done>, StudyError> {
        self.cell(place, known, &|_, _| Ok(Figures::Stopped), &|_| ())
    }

    /// Puts the store in order.
    fn finished(&self, store: &mut Store, done: Vec<Done>) -> Result<Results<'s>, StudyError> {
        let keys: Vec<String> = done.iter().flat_map(|done| done.keys.clone()).collect();
        store.put_in_order(&keys)?;
        let cells = done.into_iter().map(|done| (done.seeds, done.replicated));
        let Study {
            axes,
            columns,
            cells: own,
            ..
        } = self.study;
        Ok(Results::new(axes, columns, own, cells.collect()))
    }

    /// Takes cells until none is left.
    fn work(
        &self,
        next: &AtomicUsize,
        is_over: &AtomicBool,
        known: &Known,
        sender: &mpsc::Sender<News>,
    ) {
        let stop = || match is_over.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        // The receiver lives as long as all who send.
        let tell = |news: News| drop(sender.send(news));
        let make = |job: &Job, seed| job.measure(seed, &stop);
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= self.jobs.len() || stop().is_break() {
                return;
            }
            match self.cell(place, known, &make, &|run| tell(News::Run(run))) {
                Ok(Some(done)) => tell(News::Cell(place, done)),
                Ok(None) => return,
                Err(error) => tell(News::Failed(place, error)),
            }
        }
    }

    fn cell(
        &self,
        place: usize,
        known: &Known,
        make: &dyn Fn(&Job, u64) -> Result<Figures, String>,
        keep: &dyn Fn(Stored),
    ) -> Result<Option<Done>, StudyError> {
        let cell = &self.study.cells[place];
        let done = replicated(cell, &self.jobs[place], known, make, keep);
        done.map_err(cell_error(self::place(self.study, cell)))
    }
}

/// All runs of the cell of `study` at `place`, for whoever keeps the store; `None` when `stop` said
/// so.
///
/// # Errors
/// When the cell cannot be simulated.
///
/// # Panics
/// Where there is no such cell.
pub fn compute(
    study: &Study,
    place: usize,
    stop: &(dyn Fn() -> ControlFlow<()> + Sync),
) -> Result<Option<Vec<Stored>>, StudyError> {
    let cell = &study.cells[place];
    let runs = RefCell::new(Vec::new());
    let keep = |run| runs.borrow_mut().push(run);
    let made = || {
        let job = Job::new(&cell.inputs, &mut Shared::default())?;
        let make = |job: &Job, seed| job.measure(seed, stop);
        replicated(cell, &job, &Known::new(), &make, &keep)
    };
    let done = made().map_err(cell_error(self::place(study, cell)))?;
    Ok(done.map(|_| runs.into_inner()))
}

/// The runs of a cell, as often as it needs: what is `known`, and else what `make` makes, which is
/// handed to `keep`; `None` when that was stopped.
fn replicated(
    cell: &Cell,
    job: &Job,
    known: &Known,
    make: &dyn Fn(&Job, u64) -> Result<Figures, String>,
    keep: &dyn Fn(Stored),
) -> Result<Option<Done>, String> {
    let wanted = cell.replications;
    let (mut seeds, mut keys, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    for seed in replication_seeds(wanted.seed).take(wanted.most as usize) {
        if runs.len() >= wanted.least as usize && is_narrow(&runs, wanted.until_ci95) {
            break;
        }
        let key = job.key(seed);
        let figures = match known.get(&key) {
            Some(figures) => figures.clone(),
            None => {
                let figures = match make(job, seed)? {
                    Figures::Measured(figures) => Some(figures),
                    Figures::Saturated => None,
                    Figures::Stopped => return Ok(None),
                };
                keep(Stored {
                    key: key.clone(),
                    figures: figures.clone(),
                });
                figures
            }
        };
        seeds.push(seed);
        keys.push(key);
        match figures {
            Some(figures) => runs.push(figures),
            None => {
                return Ok(Some(Done {
                    seeds,
                    keys,
                    replicated: Replicated::Saturated,
                }));
            }
        }
    }
    Ok(Some(Done {
        seeds,
        keys,
        replicated: Replicated::Measured(runs),
    }))
}

/// What a worker has to tell.
enum News {
    Run(Stored),
    Cell(usize, Done),
    Failed(usize, StudyError),
}

/// Where a cell stands, for errors.
fn place(study: &Study, cell: &Cell) -> String {
    match cell.point[..] {
        [] => study.name.clone(),
        _ => format!("{}: {}", study.name, describe(&study.axes, &cell.point)),
    }
}

/// Whether the interval of the first metric is as narrow as the study asks.
fn is_narrow(runs: &[Vec<Option<f64>>], until_ci95: Option<f64>) -> bool {
    let Some(share) = until_ci95 else { return true };
    let values = runs.iter().filter_map(|run| run[0]).collect();
    Estimate::of(values).is_some_and(|estimate| estimate.is_narrow(share))
}
