"""The command `diskarm`: the same program as in the Rust workspace."""

from __future__ import annotations

import signal
import sys

from . import _diskarm


def main() -> int:
    """Does what the command line says; returns the exit code."""
    # Ctrl-C ends the program; Python's own handler would wait for Python to continue.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _diskarm.main(["diskarm", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
