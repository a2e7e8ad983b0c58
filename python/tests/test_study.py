"""Studies: run here, on pools, and on a cluster that loses a worker."""

import filecmp
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
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
most_waiting = 100
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
    """What the program makes of the study: the oracle of everything below."""
    command = [str(Path(sys.executable).with_name("diskarm")), "study", "run", str(small)]
    subprocess.run([*command, "--output", str(tmp_path / "cli")], check=True, capture_output=True)
    return tmp_path / "cli" / "small"


def assert_same(ours: Path, theirs: Path) -> None:
    """The same files with the same bytes, but for the lock."""
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
    """Loses every task the first time, as workers do that die."""

    def __init__(self) -> None:
        self.submitted = 0
        self.lost: set[Any] = set()

    def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.submitted += 1
        future: Future[Any] = Future()
        if args not in self.lost:
            self.lost.add(args)
            future.set_exception(RuntimeError("the worker is gone"))
        else:
            future.set_result(task(*args, **kwargs))
        return future


def test_a_cell_whose_worker_is_lost_is_handed_out_again(
    small: Path, whole: Path, tmp_path: Path
) -> None:
    executor = Unreliable()
    done = diskarm.Study(small).run(tmp_path / "lost", executor=executor)
    assert_same(done.folder, whole)
    assert executor.submitted == 30
    # What is kept is not handed out again.
    diskarm.Study(small).run(tmp_path / "lost", executor=executor)
    assert executor.submitted == 30


def test_a_cluster_that_loses_a_worker_loses_nothing(
    small: Path, whole: Path, tmp_path: Path
) -> None:
    """Two workers of dask.distributed, one of which is killed as soon as a run has been kept."""
    distributed = pytest.importorskip("distributed")
    # Some seconds of work, so that there is a middle.
    longer = small.read_text().replace("requests = 2_000", "requests = 150_000")
    small.write_text(longer)
    oracle = diskarm.Study(small).run(tmp_path / "oracle")
    folder = tmp_path / "cluster"
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = client.run(os.getpid)
        victim = sorted(workers.values())[0]
        killed = threading.Event()

        def kill() -> None:
            store = folder / "runs.jsonl"
            while not (store.exists() and store.read_bytes().count(b"\n") > 1):
                time.sleep(0.005)
            os.kill(victim, signal.SIGKILL)
            killed.set()

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        done = diskarm.Study(small).run(folder, executor=client.get_executor())
        killer.join(timeout=60)
        assert killed.is_set()
    assert_same(done.folder, oracle.folder)
    keys = [line.split('"')[3] for line in (folder / "runs.jsonl").read_text().splitlines()[1:]]
    assert len(keys) == len(set(keys)) == 3 * 4 * 3 + 3


def test_what_is_wrong_is_told(small: Path, tmp_path: Path) -> None:
    with pytest.raises(diskarm.Error, match="expected one of diskarm.studies"):
        diskarm.Study("worthington95")
    small.write_text(SMALL.replace('"{policy}"', '"{police}"'))
    with pytest.raises(diskarm.Error, match="police") as wrong:
        diskarm.Study(small)
    assert (wrong.value.file, wrong.value.line) == (str(small), 6)
    assert wrong.value.field == "cell.policy"
    small.write_text(SMALL.replace('"sptf"]', '"spft"]').replace('policy = "sptf"', 'policy = "spft"'))
    for executor in [None, ThreadPoolExecutor(1)]:
        with pytest.raises(diskarm.Error, match='expected "sptf"'):
            diskarm.Study(small).run(tmp_path / "x", executor=executor)
    small.write_text(SMALL)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        diskarm.Study(small).run(tmp_path / "file")


def test_every_study_that_comes_along_is_sound() -> None:
    for name in diskarm.studies():
        study = diskarm.Study(name, quick=True, traces=["x.spc"])
        assert study.title and study.source and study.cells, name
