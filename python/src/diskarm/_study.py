"""Studies: experiments as files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from . import _diskarm
from ._error import Error, unknown

# The number of cells submitted to an executor at a time: enough for a cluster, and few enough that
# ten thousand cells do not queue up there.
_AHEAD = 512

# The arguments of a study: its text, its name, its file, whether it is quick, its traces.
_Arguments = tuple[str, str, str, bool, tuple[str, ...]]

# How often a cell is submitted before the executor's error is reported.
_ATTEMPTS = 4


def studies() -> list[str]:
    """The names of the studies that come with the package.

    >>> "worthington94-fig3" in studies()
    True
    """
    return [name for name, _ in _diskarm.study_texts()]


@dataclass(frozen=True)
class Claim:
    """A claim of a study, and its verdict."""

    says: str
    """The claim."""
    source: str
    """Where the claim is made."""
    theirs: str
    """The paper's own number or wording."""
    bounds: str
    """Whose the bounds are: source or ours."""
    at_least: float | None
    """The lower bound of its check; None without one."""
    at_most: float | None
    """The upper bound."""
    model_check: bool
    """True if it only repeats an input of the model."""
    known: dict[str, Any] | None
    """Why it fails, if that was investigated: why, cause, evidence, command, at_least, at_most,
    saturated and traces."""
    not_measured: str | None
    """Why it may remain unmeasured; None if it may not."""
    verdict: str
    """holds, unsure (an interval contains a bound), fails, or not_measured."""
    ours: str
    """The numbers measured here."""
    explained: bool
    """True if the study explains why it fails or is not measured."""
    numbers: list[dict[str, Any]]
    """The same one by one: at (the cell), low and high (the ends of its interval, None where the
    cell is saturated), and verdict."""


@dataclass(frozen=True)
class Outcome:
    """The results of a study, as in its results.json."""

    folder: Path
    """The folder of results.csv, results.json, report.html and the figures."""
    cells: list[dict[str, Any]]
    """For each cell: at (the value of every axis), inputs, seeds, saturated, and figures: the
    metrics, each with its mean, the half width of its 95 % interval, and the value of each
    replication."""
    claims: list[Claim]
    """The claims, judged."""
    metrics: list[str]
    """The names of the metrics."""

    def column(self, metric: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The means of a metric, cell by cell; NaN if a cell is saturated or lacks the metric.

        Raises:
            Error: If the study has no metric of this name.
        """
        if metric not in self.metrics:
            raise unknown("metric", metric, "a metric that is measured", self.metrics)
        figures = (cell["figures"].get(metric) for cell in self.cells)
        means = (float("nan") if figure is None else figure["mean"] for figure in figures)
        return np.fromiter(means, dtype=np.float64, count=len(self.cells))

    def to_arrow(self) -> Any:
        """A table with a row for each cell and metric, as in results.csv, for pandas, Polars and
        Parquet. Needs pyarrow."""
        import pyarrow.csv

        return pyarrow.csv.read_csv(self.folder / "results.csv")


class Study:
    """An experiment: what is varied, what each cell simulates, what is plotted and claimed.

    >>> study = Study("worthington94-fig3", quick=True)
    >>> study.cells[0]["policy"]
    'fcfs'

    Args:
        name: The name of a study that comes with the package, or a path that ends in .toml. Paths
            of drives, workloads and traces within the file are relative to the working directory of
            the process that simulates.
        quick: Whether to use its short form.
        traces: The traces for a study that takes some; their paths are made absolute.

    Raises:
        Error: If there is no such study, or if its file cannot be read or is invalid.
    """

    def __init__(
        self,
        name: str | os.PathLike[str],
        *,
        quick: bool = False,
        traces: Iterable[str | os.PathLike[str]] = (),
    ) -> None:
        name = os.fspath(name)
        if name.endswith(".toml"):
            toml, stem = _text_of(name), Path(name).stem
        else:
            texts = dict(_diskarm.study_texts())
            if name not in texts:
                what = "a .toml file or one of diskarm.studies()"
                raise unknown("name", name, what, texts)
            toml, stem = texts[name], name
        # Workers may have other working directories.
        paths = tuple(os.path.abspath(trace) for trace in traces)
        self._arguments: _Arguments = (toml, stem, name, quick, paths)
        self._study = _read(*self._arguments)
        self.name: str = stem
        """Its name."""

    @property
    def title(self) -> str:
        """Its title."""
        return self._study.title

    @property
    def source(self) -> str:
        """Its source: paper, section, figure."""
        return self._study.source

    @property
    def about(self) -> str:
        """What is simulated, and how that differs from the source."""
        return self._study.about

    @property
    def cells(self) -> list[Mapping[str, Any]]:
        """The value of every axis, cell by cell."""
        return self._study.cells

    def run(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        executor: Executor | None = None,
        jobs: int | None = None,
    ) -> Outcome:
        """Simulates what the folder lacks, stores each run as it ends, and writes results, figures
        and a report to it.

        After any interruption, the same call resumes from there, and the same study produces the
        same bytes.

        Args:
            folder: The folder of its results: by default results/NAME, or results/NAME-quick.
            executor: What simulates the cells: a pool of concurrent.futures, the get_executor() of
                a dask.distributed Client, anything with submit. A cell whose worker or connection
                is lost is submitted again, if the executor continues without that worker. A
                ProcessPoolExecutor does not: it breaks, which is an Error whose field is
                "executor". Finished cells are kept, and the same call with a new
                pool continues from there. Paths within the study's file must be absolute
                unless workers start in the same folder as this process. Without an executor, this
                process simulates on all processors.
            jobs: Without an executor, the number of cells to simulate at a time.

        Raises:
            Error: If a cell cannot be simulated, the folder belongs to another version or is in
                use, a result would replace a file that the study reads, or the executor lost its
                workers or its workers have another build of diskarm.
            OSError: If the folder cannot be written.
        """
        if folder is None:
            folder = Path("results") / (f"{self.name}-quick" if self._arguments[3] else self.name)
        folder = os.fspath(folder)
        if executor is None:
            said = self._study.run(folder, jobs)
        else:
            said = self._run_on(executor, folder)
        claims = [Claim(**claim) for claim in said["claims"]]
        metrics = self._study.metrics
        return Outcome(folder=Path(folder), cells=said["cells"], claims=claims, metrics=metrics)

    def _run_on(self, executor: Executor, folder: str) -> dict[str, Any]:
        with closing(_diskarm.CheckpointWriter(self._study, folder)) as writer:
            try:
                _submit_all(executor, self._arguments, writer)
            except _Lost as lost:
                count = len(self.cells)
                kept = count - len(writer.missing())
                raise Error(
                    f"executor: {lost} ({lost.__cause__!r}); {kept} of {count} cells are kept in "
                    f'"{folder}", and the same call with a new executor continues from there',
                    field="executor",
                ) from lost.__cause__
            said = writer.finish()
        if said is None:
            # The key of a run covers all its inputs, which the worker must share.
            raise Error(
                "executor: found runs that do not belong to the submitted cells, expected workers "
                f"with this build of diskarm {_diskarm.VERSION} and the same traces",
                field="executor",
            )
        return said


class _Lost(Exception):
    """The executor failed to compute cells; its own exception is the cause."""


def _submit_all(
    executor: Executor, arguments: _Arguments, writer: _diskarm.CheckpointWriter
) -> None:
    """Submits every cell that the writer lacks, and stores its runs."""
    places: Iterator[int] = iter(writer.missing())
    waiting: dict[Future[list[str]], tuple[int, int]] = {}

    def submit(place: int, attempt: int) -> None:
        waiting[executor.submit(_compute, *arguments, place)] = (place, attempt)

    try:
        for place in islice(places, _AHEAD):
            submit(place, 1)
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                place, attempt = waiting.pop(future)
                try:
                    lines = future.result()
                except (Error, BrokenExecutor):
                    raise
                except Exception as lost:
                    # The worker was lost, and perhaps the cell kills every worker. An OSError
                    # comes from the connection: a file that a cell cannot read is an Error.
                    if attempt == _ATTEMPTS:
                        raise _Lost(f"lost cell {place} {attempt} times") from lost
                    submit(place, attempt + 1)
                    continue
                writer.keep(lines)
                for following in islice(places, 1):
                    submit(following, 1)
    except BrokenExecutor as broken:
        # Nothing is cancelled: the pool is ending each of its futures itself, and fails at one
        # that is cancelled meanwhile.
        _keep_finished(waiting, writer)
        raise _Lost("the pool broke") from broken
    except BaseException as failure:
        for future in waiting:
            future.cancel()
        # An OSError may have truncated a line; another line after it would corrupt the file.
        if not isinstance(failure, OSError):
            _keep_finished(waiting, writer)
        raise


def _keep_finished(
    futures: Iterable[Future[list[str]]], writer: _diskarm.CheckpointWriter
) -> None:
    """Stores the cells that were finished when another one failed."""
    for future in futures:
        if future.done() and not future.cancelled() and future.exception() is None:
            writer.keep(future.result())


def _text_of(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise Error(f"{file}: cannot read: {error.strerror}", file=file) from error
    except UnicodeDecodeError as error:
        what = f"found text that is not UTF-8 ({error.reason} at byte {error.start})"
        raise Error(f"{file}: cannot read: {what}", file=file) from error


def _read_uncached(
    toml: str, name: str, file: str, quick: bool, traces: tuple[str, ...]
) -> _diskarm.Study:
    return _diskarm.Study(toml, name, file, quick, list(traces))


# Not as a decorator: stubtest would see other parameters.
_read = lru_cache(maxsize=8)(_read_uncached)


def _compute(
    toml: str, name: str, file: str, quick: bool, traces: tuple[str, ...], place: int
) -> list[str]:
    """Runs one cell, in a worker."""
    return _read(toml, name, file, quick, traces).compute(place)
