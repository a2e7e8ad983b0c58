"""The scripts in examples/ run from any folder, and write the files that they name."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
LEFT = {
    "commits": ["db.sqlite"],
    "compare_policies": ["service.png"],
    "fit_a_drive": ["mine.toml"],
    "own_study": ["aging.parquet", "aging/report.html"],
    "plot_commits": ["commits.svg"],
    "power_cuts": [],
    "step_asyncio": [],
    "step_simpy": [],
}
ARGUMENTS = {
    "commits": ["db.sqlite", "wal", "3"],
    "plot_commits": [str(EXAMPLES / "sqlite-commits.csv"), "commits.svg"],
}


def test_every_script_is_named() -> None:
    assert sorted(LEFT) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("script", sorted(LEFT))
def test_a_script_runs(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    command = [sys.executable, str(EXAMPLES / f"{script}.py"), *ARGUMENTS.get(script, [])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    for name in LEFT[script]:
        assert (tmp_path / name).stat().st_size > 0, name
