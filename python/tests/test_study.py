"""Studies: run here, on pools, and on a cluster that loses a worker."""

import errno
import filecmp
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from pathlib import Path
from typing import Any

import diskarm
import numpy as np
import pytest

SMALL = """
title = "Small"
source = "none"
[cell]
drive = "hp-c2247"
policy = "{policy}"
workload = "poisson(rate={rate}/s) uniform"
requests = 2_000
warm_up = 50
replications = 3
max_waiting = 100
[[axis]]
name = "policy"
values = ["fcfs", "clook", "sptf"]
[[axis]]
name = "rate"
values = [10, 20, 30, 40, 200]
[[figure]]
name = "a"
title = "A"
x = "rate"
y = "response_ms_mean"
series = "policy"
[[claim]]
says = "SPTF is faster than FCFS where the drive is busy"
source = "everybody"
theirs = "faster"
check = "order"
metric = "response_ms_mean"
ascending = [{ policy = "sptf" }, { policy = "fcfs" }]
where = { rate = { from = 30 } }
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def whole(small: Path, tmp_path: Path) -> Path:
    """The program's results of the study: the oracle of everything below."""
    command = [str(Path(sys.executable).with_name("diskarm")), "study", "run", str(small)]
    subprocess.run([*command, "--output", str(tmp_path / "cli")], check=True, capture_output=True)
    return tmp_path / "cli" / "small"


def assert_same(ours: Path, theirs: Path) -> None:
    """The same files with the same bytes, except the lock."""
    files = sorted(str(path.relative_to(theirs)) for path in theirs.rglob("*") if path.is_file())
    assert "report.html" in files and "runs.jsonl" in files
    own = sorted(str(path.relative_to(ours)) for path in ours.rglob("*") if path.is_file())
    assert own == files
    _, differ, missing = filecmp.cmpfiles(ours, theirs, files, shallow=False)
    assert (differ, missing) == ([], [])


def test_a_study_gives_what_the_program_gives(small: Path, whole: Path, tmp_path: Path) -> None:
    study = diskarm.Study(small)
    assert len(study.cells) == 15
    assert study.cells[1] == {"policy": "fcfs", "rate": 20}
    done = study.run(tmp_path / "here")
    assert_same(done.folder, whole)
    assert [claim.verdict for claim in done.claims] == ["holds"]
    means = done.column("response_ms_mean")
    assert means.shape == (15,)
    saturated = [cell["saturated"] for cell in done.cells]
    assert saturated == [cell["at"]["rate"] == 200 for cell in done.cells]
    np.testing.assert_array_equal(np.isnan(means), saturated)
    with pytest.raises(diskarm.Error) as unknown:
        done.column("response_ms_maen")
    expected = 'expected a metric that is measured, perhaps "response_ms_mean"'
    assert str(unknown.value) == f'metric: found "response_ms_maen", {expected}'
    assert unknown.value.field == "metric"
    with pytest.raises(diskarm.Error, match=", ".join(done.metrics)):
        done.column("nope")
    alone = diskarm.simulate(
        "hp-c2247",
        workload="poisson(rate=20/s) uniform",
        requests=2_000,
        warm_up=50,
    )
    assert done.cells[1]["figures"]["response_ms_mean"]["runs"][0] == alone.response_ms.mean
    table = done.to_arrow().to_pandas()
    rows = table[(table.policy == "fcfs") & (table.metric == "response_ms_mean")]
    np.testing.assert_array_equal(rows["mean"], means[:4])


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_pools_leave_the_same_bytes(
    pool: Callable[..., Executor], small: Path, whole: Path, tmp_path: Path
) -> None:
    with pool(max_workers=2) as executor:
        done = diskarm.Study(small).run(tmp_path / "pool", executor=executor)
        assert_same(done.folder, whole)


class Unreliable(Executor):
    """Loses every task the first time, like workers that die."""

    def __init__(self, loss: Exception) -> None:
        self.loss = loss
        self.submitted = 0
        self.lost: set[Any] = set()

    def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.submitted += 1
        future: Future[Any] = Future()
        if args not in self.lost:
            self.lost.add(args)
            future.set_exception(self.loss)
        else:
            future.set_result(task(*args, **kwargs))
        return future


@pytest.mark.parametrize(
    "loss",
    [RuntimeError("gone"), ConnectionResetError("gone"), TimeoutError("gone"), OSError("gone")],
    ids=lambda loss: type(loss).__name__,
)
def test_a_cell_whose_worker_is_lost_is_handed_out_again(
    loss: Exception, small: Path, whole: Path, tmp_path: Path
) -> None:
    executor = Unreliable(loss)
    done = diskarm.Study(small).run(tmp_path / "lost", executor=executor)
    assert_same(done.folder, whole)
    assert executor.submitted == 30
    # Stored cells are not submitted again.
    diskarm.Study(small).run(tmp_path / "lost", executor=executor)
    assert executor.submitted == 30


def test_a_cell_whose_connection_to_dask_is_closed_is_handed_out_again(
    small: Path, tmp_path: Path
) -> None:
    core = pytest.importorskip("distributed.comm.core")
    executor = Unreliable(core.CommClosedError("gone"))
    diskarm.Study(small).run(tmp_path / "closed", executor=executor)
    assert executor.submitted == 30


class Deadly(Executor):
    """Submits to a pool, and kills one of its workers after a number of tasks.

    With two tasks at a time, the fifth is submitted when the runs of three cells have been kept.
    """

    def __init__(self, pool: Executor, victim: int, at: int) -> None:
        self.pool, self.victim, self.at = pool, victim, at
        self.submitted = 0

    def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.submitted += 1
        if self.submitted == self.at:
            os.kill(self.victim, signal.SIGKILL)
        return self.pool.submit(task, *args, **kwargs)


@pytest.fixture
def two_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diskarm._study, "_AHEAD", 2)


def kept(folder: Path) -> list[str]:
    """The keys of the runs in a folder."""
    lines = (folder / "runs.jsonl").read_text().splitlines()
    return [json.loads(line)["key"] for line in lines[1:]]


@pytest.mark.usefixtures("two_at_a_time")
def test_a_pool_that_loses_a_worker_breaks_and_keeps_what_was_finished(
    small: Path, whole: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "broken"
    with ProcessPoolExecutor(max_workers=2) as pool:
        executor = Deadly(pool, victim=pool.submit(os.getpid).result(), at=5)
        with pytest.raises(diskarm.Error) as broken:
            diskarm.Study(small).run(folder, executor=executor)
    assert broken.value.field == "executor"
    assert isinstance(broken.value.__cause__, BrokenExecutor)
    assert len(kept(folder)) == len(set(kept(folder)))
    message = str(broken.value)
    assert message.startswith("executor: the pool broke") and "continues from there" in message
    (cells,) = re.findall(r"; (\d+) of 15 cells are kept in " + re.escape(f'"{folder}"'), message)
    cells = int(cells)
    assert 3 <= cells < 15
    with ProcessPoolExecutor(max_workers=2) as pool:
        executor = Deadly(pool, victim=0, at=0)
        diskarm.Study(small).run(folder, executor=executor)
    # Stored cells are not submitted again.
    assert executor.submitted == 15 - cells
    assert_same(folder, whole)


class Failing(Executor):
    """Runs two tasks at once, one of which fails as requested."""

    def __init__(self, failure: BaseException) -> None:
        self.failure = failure
        self.submitted: list[Future[Any]] = []

    def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.submitted.append(Future())
        first, *others = self.submitted
        if others:
            others[-1].set_result(task(*args, **kwargs))
        else:
            first.set_exception(self.failure)
        return self.submitted[-1]


@pytest.mark.usefixtures("two_at_a_time")
@pytest.mark.parametrize(
    "failure",
    [BrokenExecutor("gone"), diskarm.Error("wrong"), KeyboardInterrupt()],
)
def test_what_was_finished_beside_a_failure_is_kept(
    failure: BaseException, small: Path, tmp_path: Path
) -> None:
    expected = diskarm.Error if isinstance(failure, BrokenExecutor) else type(failure)
    executor = Failing(failure)
    with pytest.raises(expected):
        diskarm.Study(small).run(tmp_path / "kept", executor=executor)
    assert len(kept(tmp_path / "kept")) == 3 * (len(executor.submitted) - 1) > 0


@pytest.mark.usefixtures("two_at_a_time")
def test_a_full_disk_ends_a_study_at_once(small: Path, whole: Path, tmp_path: Path) -> None:
    """runs.jsonl may grow by only ten bytes once a cell has been stored, and without limit again
    after the next one could not be: cells that finish then must not be appended to half a line."""
    folder = tmp_path / "full"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    class Emptied(Future[Any]):
        def cancel(self) -> bool:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            return super().cancel()

    class Full(Executor):
        submitted = 0

        def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            self.submitted += 1
            future = Emptied()
            future.set_result(task(*args, **kwargs))
            if self.submitted == 3:
                most = (folder / "runs.jsonl").stat().st_size + 10
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
            return future

    executor = Full()
    try:
        with pytest.raises(OSError, match="cannot write") as full:
            diskarm.Study(small).run(folder, executor=executor)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert full.value.errno == errno.EFBIG
    assert executor.submitted == 3
    diskarm.Study(small).run(folder)
    assert_same(folder, whole)


@pytest.mark.parametrize("loss", [RuntimeError, ConnectionResetError])
def test_a_cell_that_no_worker_survives_is_an_error(
    loss: type[Exception], small: Path, tmp_path: Path
) -> None:
    class Lost(Executor):
        def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(loss("the worker is gone"))
            return future

    with pytest.raises(diskarm.Error, match=r"^executor: lost cell \d+ 4 times .*gone") as lost:
        diskarm.Study(small).run(tmp_path / "lost", executor=Lost())
    assert isinstance(lost.value.__cause__, loss)


def test_a_changed_run_is_made_again(small: Path, whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    diskarm.Study(small).run(folder)
    runs = folder / "runs.jsonl"
    lines = runs.read_text().splitlines(keepends=True)
    lines[2] = lines[2].replace("[", "[1", 1)
    runs.write_text("".join(lines))
    with pytest.warns(UserWarning, match=r"runs\.jsonl:3: damaged line: its run is ignored$"):
        diskarm.Study(small).run(folder)
    assert_same(folder, whole)


def test_a_cell_of_which_some_runs_are_known_is_handed_out_whole(
    small: Path, whole: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "partly"
    diskarm.Study(small).run(folder)
    lines = (folder / "runs.jsonl").read_text().splitlines(keepends=True)
    (folder / "runs.jsonl").write_text("".join(lines[:1] + lines[2:]))
    given: list[list[str]] = []

    class Counting(ThreadPoolExecutor):
        def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            given.append(task(*args, **kwargs))
            return super().submit(lambda: given[-1])

    with Counting(1) as executor:
        diskarm.Study(small).run(folder, executor=executor)
    assert [len(runs) for runs in given] == [3]
    assert_same(folder, whole)


def test_workers_of_another_build_are_rejected(small: Path, tmp_path: Path) -> None:
    class Other(Executor):
        def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            runs = [json.loads(line) for line in task(*args, **kwargs)]
            future: Future[Any] = Future()
            future.set_result([json.dumps({**run, "key": run["key"][::-1]}) for run in runs])
            return future

    this = f"expected workers with this build of diskarm {diskarm.__version__}"
    with pytest.raises(diskarm.Error, match=this) as other:
        diskarm.Study(small).run(tmp_path / "other", executor=Other())
    assert other.value.field == "executor"


@pytest.mark.usefixtures("two_at_a_time")
def test_a_cluster_that_loses_a_worker_loses_nothing(
    small: Path, whole: Path, tmp_path: Path
) -> None:
    """Two workers of dask.distributed, one of which is killed once runs have been stored."""
    distributed = pytest.importorskip("distributed")
    folder = tmp_path / "cluster"
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        victim = min(client.run(os.getpid).values())
        executor = Deadly(client.get_executor(), victim, at=5)
        diskarm.Study(small).run(folder, executor=executor)
    assert executor.submitted >= 15
    assert_same(folder, whole)
    assert len(kept(folder)) == len(set(kept(folder))) == 3 * 4 * 3 + 3


def test_errors_are_described(small: Path, tmp_path: Path) -> None:
    with pytest.raises(diskarm.Error, match='diskarm.studies.*, perhaps "worthington94-fig3"$'):
        diskarm.Study("worthington94-fgi3")
    absent, latin = str(tmp_path / "absent.toml"), tmp_path / "latin.toml"
    latin.write_bytes(b'title = "\xe9"')
    not_text = "found text that is not UTF-8"
    for file, why in [(absent, "No such file or directory"), (str(latin), not_text)]:
        with pytest.raises(diskarm.Error, match=f"^{file}: cannot read: {why}") as unread:
            diskarm.Study(file)
        assert unread.value.file == file
    small.write_text(SMALL.replace('"{policy}"', '"{police}"'))
    with pytest.raises(diskarm.Error, match="police") as wrong:
        diskarm.Study(small)
    assert (wrong.value.file, wrong.value.line) == (str(small), 6)
    assert wrong.value.field == "cell.policy"
    small.write_text(SMALL.replace('"sptf"', '"spft"'))
    for executor in [None, ThreadPoolExecutor(1)]:
        with pytest.raises(diskarm.Error, match='expected "sptf"'):
            diskarm.Study(small).run(tmp_path / "x", executor=executor)
    small.write_text(SMALL)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        diskarm.Study(small).run(tmp_path / "file")


def test_results_do_not_replace_what_is_read(tmp_path: Path) -> None:
    study, drive = tmp_path / "small.toml", tmp_path / "d.toml"
    drive.write_text(diskarm.Drive("hp-c2247").toml)
    study.write_text(SMALL.replace("hp-c2247", str(drive)))
    folder = tmp_path / "out"
    folder.mkdir()
    for file, field in [(study, "name"), (drive, "cell.drive")]:
        before = file.read_text()
        (folder / "runs.jsonl").hardlink_to(file)
        for executor in [None, ThreadPoolExecutor(1)]:
            with pytest.raises(diskarm.Error, match=f"a different file from {field} ") as refused:
                diskarm.Study(study).run(folder, executor=executor)
            assert refused.value.field == "folder"
        assert file.read_text() == before
        (folder / "runs.jsonl").unlink()


def test_every_study_that_comes_along_is_sound() -> None:
    # They replay a trace, which is short enough.
    without_short_form = {"lumb01-database", "lumb01-errors"}
    for name in diskarm.studies():
        quick = name not in without_short_form
        study = diskarm.Study(name, quick=quick, traces=["x.spc"])
        assert study.title and study.source and study.cells, name
