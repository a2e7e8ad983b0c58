"""Shared by tests: the program as the oracle of the module."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import pytest

matplotlib.use("Agg")

ROOT = Path(__file__).parents[2]


def program(*arguments: str) -> str:
    """The output of the command that was installed with the module."""
    command = [str(Path(sys.executable).with_name("diskarm")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def cli() -> Callable[..., str]:
    return program


@pytest.fixture
def cli_json() -> Callable[..., Any]:
    return lambda *arguments: json.loads(program(*arguments, "--json"))


@pytest.fixture
def measured() -> str:
    """The synthetic trace with responses that ships with the project."""
    return str(ROOT / "examples" / "synthetic-hp-c2247.csv")


@pytest.fixture
def two_devices(tmp_path: Path) -> str:
    """A trace of two devices, in the format spc."""
    def row(n: int) -> str:
        return f"{n % 2},{n * 7919 % 2_000_000},4096,{'RW'[n % 3 == 0]},{n * 0.011:.6f}\n"

    path = tmp_path / "two.spc"
    path.write_text("".join(map(row, range(2000))))
    return str(path)
