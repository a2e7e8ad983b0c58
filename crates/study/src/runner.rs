//! Runs the cells of a study on all processors.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use diskarm_core::workload::replication_seeds;
use diskarm_results::output_file::Files;
use diskarm_simulate::parallel;

use crate::axis::describe;
use crate::cell::Cell;
use crate::error::StudyError;
use crate::file::Study;
use crate::job::{Job, SharedInputs, cell_error};
use crate::metric::RunOutcome;
use crate::results::{Estimate, Replicated, Results};
use crate::store::{Store, StoredRun, StoredRuns};

/// A study prepared to run.
pub struct Runner<'s> {
    study: &'s Study,
    jobs: Vec<Job>,
}

struct FinishedCell {
    seeds: Vec<u64>,
    keys: Vec<String>,
    replicated: Replicated,
}

impl<'s> Runner<'s> {
    /// Reads every drive, policy, workload and trace of `study`. Fails with the first error.
    pub fn new(study: &'s Study) -> Result<Self, StudyError> {
        let mut shared = SharedInputs::default();
        let jobs = study.cells.iter().map(|cell| {
            let job = Job::new(&cell.inputs, &mut shared);
            job.map_err(cell_error(describe_cell(study, cell)))
        });
        let jobs = jobs.collect::<Result<_, _>>()?;
        Ok(Self { study, jobs })
    }

    /// Returns the files of drives, workloads and traces that it reads.
    pub fn inputs(&self) -> Files {
        let jobs = self.jobs.iter();
        jobs.fold(Files::default(), |files, job| job.add_inputs(files))
    }

    /// Simulates the runs that `store` lacks on `threads` threads, and stores each when it ends.
    /// `progress` is called with the number of finished cells and returns whether to continue; if
    /// not, the result is `None`, and a later call resumes the run. Fails if a cell cannot be
    /// simulated or a run cannot be stored. Panics if the system cannot start threads.
    pub fn run(
        &self,
        store: &mut Store,
        threads: usize,
        progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Option<Results<'s>>, StudyError> {
        let known = store.known_runs().clone();
        let is_over = AtomicBool::new(false);
        let cells = &self.study.cells;
        let mut finished: Vec<Option<FinishedCell>> = cells.iter().map(|_| None).collect();
        let mut stored: Result<(), StudyError> = Ok(());
        // If cells fail before all threads have stopped, the error of the first cell is returned.
        let mut failed: Option<(usize, StudyError)> = None;
        let threads = threads.clamp(1, cells.len());
        parallel::pool(threads).in_place_scope_fifo(|scope| {
            let (sender, messages) = mpsc::channel();
            for index in 0..cells.len() {
                let (sender, is_over, known) = (sender.clone(), &is_over, &known);
                scope.spawn_fifo(move |_| self.work(index, is_over, known, &sender));
            }
            drop(sender);
            let mut count = 0;
            for message in messages {
                match message {
                    Message::Run(run) if stored.is_ok() => stored = store.keep(&run),
                    Message::Run(_) => {}
                    Message::Cell(index, cell) => {
                        finished[index] = Some(cell);
                        count += 1;
                    }
                    Message::Failed(index, error) => {
                        if failed.as_ref().is_none_or(|(first, _)| index < *first) {
                            failed = Some((index, error));
                        }
                    }
                }
                if stored.is_err() || failed.is_some() || progress(count).is_break() {
                    is_over.store(true, Ordering::Relaxed);
                }
            }
        });
        stored?;
        if let Some((_, error)) = failed {
            return Err(error);
        }
        self.results(store, finished.into_iter().collect())
    }

    /// Returns the results and puts `store` in order, if it has every run. Fails if writing fails.
    pub fn stored_results(&self, store: &mut Store) -> Result<Option<Results<'s>>, StudyError> {
        let cells = (0..self.jobs.len()).map(|index| self.stored_cell(index, store));
        self.results(store, cells.collect::<Result<_, _>>()?)
    }

    /// Returns the indices of the cells for which `store` lacks a run. Fails like [`Self::new`].
    pub fn missing_cells(&self, store: &Store) -> Result<Vec<usize>, StudyError> {
        let mut missing = Vec::new();
        for index in 0..self.jobs.len() {
            if self.stored_cell(index, store)?.is_none() {
                missing.push(index);
            }
        }
        Ok(missing)
    }

    fn stored_cell(&self, index: usize, store: &Store) -> Result<Option<FinishedCell>, StudyError> {
        self.cell(
            index,
            store.known_runs(),
            &|_, _| Ok(RunOutcome::Stopped),
            &|_| (),
        )
    }

    /// Returns the results if all cells are finished, and puts the store in order.
    fn results(
        &self,
        store: &mut Store,
        finished: Option<Vec<FinishedCell>>,
    ) -> Result<Option<Results<'s>>, StudyError> {
        let Some(finished) = finished else {
            return Ok(None);
        };
        let keys: Vec<String> = finished.iter().flat_map(|cell| cell.keys.clone()).collect();
        store.put_in_order(&keys)?;
        let cells = finished.into_iter();
        let replicated = cells.map(|cell| (cell.seeds, cell.replicated)).collect();
        let Study { axes, columns, .. } = self.study;
        let results = Results::new(axes, columns, &self.study.cells, replicated);
        Ok(Some(results))
    }

    /// Runs the cell at `index`, unless the study has ended.
    fn work(
        &self,
        index: usize,
        is_over: &AtomicBool,
        known: &StoredRuns,
        sender: &mpsc::Sender<Message>,
    ) {
        let stop = || {
            if is_over.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        if stop().is_break() {
            return;
        }
        // The receiver outlives all senders.
        let send = |message: Message| drop(sender.send(message));
        let simulate = |job: &Job, seed| job.measure(seed, &stop);
        match self.cell(index, known, &simulate, &|run| send(Message::Run(run))) {
            Ok(Some(finished)) => send(Message::Cell(index, finished)),
            Ok(None) => {}
            Err(error) => send(Message::Failed(index, error)),
        }
    }

    fn cell(
        &self,
        index: usize,
        known: &StoredRuns,
        simulate: &dyn Fn(&Job, u64) -> Result<RunOutcome, String>,
        keep: &dyn Fn(StoredRun),
    ) -> Result<Option<FinishedCell>, StudyError> {
        let cell = &self.study.cells[index];
        let done = replicate(cell, &self.jobs[index], known, simulate, keep);
        done.map_err(cell_error(describe_cell(self.study, cell)))
    }
}

/// Computes all runs of the cell of `study` at `index`, for the caller to store; `None` if `stop`
/// stopped them. Fails if the cell cannot be simulated. Panics if the study has no cell at `index`.
pub fn compute(
    study: &Study,
    index: usize,
    stop: &(dyn Fn() -> ControlFlow<()> + Sync),
) -> Result<Option<Vec<StoredRun>>, StudyError> {
    let cell = &study.cells[index];
    let runs = RefCell::new(Vec::new());
    let keep = |run| runs.borrow_mut().push(run);
    let made = || {
        let job = Job::new(&cell.inputs, &mut SharedInputs::default())?;
        let simulate = |job: &Job, seed| job.measure(seed, stop);
        replicate(cell, &job, &StoredRuns::new(), &simulate, &keep)
    };
    let done = made().map_err(cell_error(describe_cell(study, cell)))?;
    Ok(done.map(|_| runs.into_inner()))
}

/// Returns the runs that a cell needs: the `known` runs, and new ones from `simulate`, which are
/// passed to `keep`. Returns `None` if a run was stopped.
fn replicate(
    cell: &Cell,
    job: &Job,
    known: &StoredRuns,
    simulate: &dyn Fn(&Job, u64) -> Result<RunOutcome, String>,
    keep: &dyn Fn(StoredRun),
) -> Result<Option<FinishedCell>, String> {
    let replications = cell.replications;
    let (mut seeds, mut keys, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_saturated = false;
    for seed in replication_seeds(replications.seed).take(replications.max as usize) {
        if runs.len() >= replications.min as usize && is_narrow(&runs, replications.until_ci95) {
            break;
        }
        let key = job.key(seed);
        let figures = if let Some(figures) = known.get(&key) {
            figures.clone()
        } else {
            let figures = match simulate(job, seed)? {
                RunOutcome::Measured(figures) => Some(figures),
                RunOutcome::Saturated => None,
                RunOutcome::Stopped => return Ok(None),
            };
            keep(StoredRun {
                key: key.clone(),
                figures: figures.clone(),
            });
            figures
        };
        seeds.push(seed);
        keys.push(key);
        is_saturated = figures.is_none();
        runs.extend(figures);
        if is_saturated {
            break;
        }
    }
    Ok(Some(FinishedCell {
        seeds,
        keys,
        replicated: if is_saturated {
            Replicated::Saturated
        } else {
            Replicated::Measured(runs)
        },
    }))
}

enum Message {
    Run(StoredRun),
    Cell(usize, FinishedCell),
    Failed(usize, StudyError),
}

fn describe_cell(study: &Study, cell: &Cell) -> String {
    match cell.point[..] {
        [] => study.name.clone(),
        _ => format!("{}: {}", study.name, describe(&study.axes, &cell.point)),
    }
}

/// Returns true if the interval of the first metric is as narrow as requested.
fn is_narrow(runs: &[Vec<Option<f64>>], until_ci95: Option<f64>) -> bool {
    let Some(share) = until_ci95 else { return true };
    let values = runs.iter().filter_map(|run| run[0]).collect();
    Estimate::from_runs(values).is_some_and(|estimate| estimate.is_narrow(share))
}
