"""Studies: experiments that are files."""

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

# Cells that are handed to an executor at a time: enough for a cluster, and few enough that ten
# thousand of them do not wait there all at once.
_AHEAD = 512

# A study as it was asked for: its text, its name, its file, whether it is quick, its traces.
_Asked = tuple[str, str, str, bool, tuple[str, ...]]

# How often a cell is handed out before what the executor says of it is believed.
_ATTEMPTS = 4


def studies() -> list[str]:
    """The names of the studies that come with the package.

    >>> "worthington94-fig3" in studies()
    True
    """
    return [name for name, _ in _diskarm.study_texts()]


@dataclass(frozen=True)
class Claim:
    """A claim of a study, and what came of it."""

    says: str
    """The claim."""
    source: str
    """Where it is made."""
    theirs: str
    """What is claimed."""
    known: str | None
    """Why it does not come out, where that was looked into."""
    verdict: str
    """holds, unsure (an interval reaches over a bound), fails, or not_measured."""
    ours: str
    """Our own numbers."""


@dataclass(frozen=True)
class Outcome:
    """What came of a study, as its results.json has it."""

    folder: Path
    """Where results.csv, results.json, report.html and the figures lie."""
    cells: list[dict[str, Any]]
    """Of each cell: at (the value of every axis), inputs, seeds, saturated, and figures, each with
    its mean, the half width of its 95 % interval, and the figure of each replication."""
    claims: list[Claim]
    """The claims, judged."""
    metrics: list[str]
    """The names of what was measured."""

    def column(self, metric: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The means of a metric, cell by cell; NaN where a cell is saturated or has none.

        Raises:
            Error: When the study measures nothing of this name.
        """
        if metric not in self.metrics:
            raise unknown("metric", metric, "a metric that is measured", self.metrics)
        figures = (cell["figures"].get(metric) for cell in self.cells)
        means = (float("nan") if figure is None else figure["mean"] for figure in figures)
        return np.fromiter(means, dtype=np.float64, count=len(self.cells))

    def to_arrow(self) -> Any:
        """A table of one row to each cell and metric, as results.csv has it: pandas, Polars and
        Parquet take it from there. Needs pyarrow."""
        import pyarrow.csv

        return pyarrow.csv.read_csv(self.folder / "results.csv")


class Study:
    """An experiment: what is varied, what each cell simulates, what is drawn and claimed.

    >>> study = Study("worthington94-fig3", quick=True)
    >>> study.cells[0]["policy"]
    'fcfs'

    Args:
        name: The name of a study that comes with the package, or a path that ends in .toml. Paths
            of drives, workloads and traces within the file count from the folder of the process
            that simulates.
        quick: Its short form.
        traces: The traces of a study that wants some; their paths are made absolute.

    Raises:
        Error: When there is no such study, or its file cannot be read or is wrong.
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
        # Workers have folders of their own.
        paths = tuple(os.path.abspath(trace) for trace in traces)
        self._asked: _Asked = (toml, stem, name, quick, paths)
        self._study = _read(*self._asked)
        self.name: str = stem
        """What it is called."""

    @property
    def title(self) -> str:
        """What it is about, in a line."""
        return self._study.title

    @property
    def source(self) -> str:
        """Where it comes from."""
        return self._study.source

    @property
    def about(self) -> str:
        """What is simulated, and where it departs from its source."""
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
        """Simulates what the folder lacks, keeps each run as it ends, and writes results, figures
        and report there.

        Whatever ends it, the same call goes on from there, and the same study ends with the same
        bytes.

        Args:
            folder: Where its results are kept: results/NAME, or results/NAME-quick.
            executor: Simulates the cells: a pool of concurrent.futures, the get_executor() of a
                dask.distributed Client, anything with submit. A cell whose worker or connection
                is lost is handed out again, where the executor goes on without that worker. A
                ProcessPoolExecutor does not: it breaks, which is an Error whose field is
                "executor". The cells that were finished are kept, and the same call with a new
                pool goes on from there. Paths within the study's file must be absolute
                unless workers start in the same folder as this process. Without an executor, this
                process does it on every processor.
            jobs: Without an executor, so many cells at a time.

        Raises:
            Error: When a cell cannot be simulated, the folder is another version's or in use, or
                the executor lost its workers or has those of another build of diskarm.
            OSError: When the folder cannot be written.
        """
        if folder is None:
            folder = Path("results") / (f"{self.name}-quick" if self._asked[3] else self.name)
        folder = os.fspath(folder)
        if executor is None:
            said = self._study.run(folder, jobs)
        else:
            said = self._run_on(executor, folder)
        claims = [Claim(**claim) for claim in said["claims"]]
        metrics = self._study.metrics
        return Outcome(folder=Path(folder), cells=said["cells"], claims=claims, metrics=metrics)

    def _run_on(self, executor: Executor, folder: str) -> dict[str, Any]:
        with closing(_diskarm.Keeper(self._study, folder)) as keeper:
            try:
                _hand_out(executor, self._asked, keeper)
            except _Lost as lost:
                count = len(self.cells)
                kept = count - len(keeper.missing())
                raise Error(
                    f"executor: {lost} ({lost.__cause__!r}); {kept} of {count} cells are kept in "
                    f'"{folder}", and the same call with a new executor goes on from there',
                    field="executor",
                ) from lost.__cause__
            said = keeper.finish()
        if said is None:
            # A run is known by all that it depends on, which the worker must have as we have it.
            raise Error(
                "executor: found runs that are not those of the cells handed out, expected workers "
                f"with this build of diskarm {_diskarm.VERSION} and the same traces",
                field="executor",
            )
        return said


class _Lost(Exception):
    """The executor does not get cells computed; its own exception is the cause."""


def _hand_out(executor: Executor, asked: _Asked, keeper: _diskarm.Keeper) -> None:
    """Has every cell computed that the keeper lacks."""
    places: Iterator[int] = iter(keeper.missing())
    waiting: dict[Future[list[str]], tuple[int, int]] = {}

    def submit(place: int, attempt: int) -> None:
        waiting[executor.submit(_compute, *asked, place)] = (place, attempt)

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
                    # The worker was lost, and perhaps the cell kills whoever takes it. An OSError
                    # is the connection's: what a cell itself cannot read is an Error.
                    if attempt == _ATTEMPTS:
                        raise _Lost(f"lost cell {place} {attempt} times") from lost
                    submit(place, attempt + 1)
                    continue
                keeper.keep(lines)
                for following in islice(places, 1):
                    submit(following, 1)
    except BrokenExecutor as broken:
        # Nothing is cancelled: the pool ends each of its futures itself just now, and fails at one
        # that is cancelled meanwhile.
        _keep_finished(waiting, keeper)
        raise _Lost("the pool broke") from broken
    except BaseException as failure:
        for future in waiting:
            future.cancel()
        # An OSError may have cut a line short, and one more behind it would spoil the file.
        if not isinstance(failure, OSError):
            _keep_finished(waiting, keeper)
        raise


def _keep_finished(futures: Iterable[Future[list[str]]], keeper: _diskarm.Keeper) -> None:
    """Keeps what was computed beside that which failed."""
    for future in futures:
        if future.done() and not future.cancelled() and future.exception() is None:
            keeper.keep(future.result())


def _text_of(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise Error(f"{file}: cannot read: {error.strerror}", file=file) from error
    except UnicodeDecodeError as error:
        what = f"found no UTF-8 ({error.reason} at byte {error.start})"
        raise Error(f"{file}: cannot read: {what}", file=file) from error


def _read_anew(
    toml: str, name: str, file: str, quick: bool, traces: tuple[str, ...]
) -> _diskarm.Study:
    return _diskarm.Study(toml, name, file, quick, list(traces))


# Not as a decorator: stubtest takes the parameters of what that makes for others.
_read = lru_cache(maxsize=8)(_read_anew)


def _compute(
    toml: str, name: str, file: str, quick: bool, traces: tuple[str, ...], place: int
) -> list[str]:
    """What a worker does: the runs of one cell."""
    return _read(toml, name, file, quick, traces).compute(place)
