"""Draws how many revolutions of the drive commits took.

    python3 plot_commits.py sqlite-commits.csv OUT.svg

The file has the journal mode and the time of each commit, measured at a tenth of the drive's speed
(`commits.py`, `on_a_slow_disk.sh`). Needs Matplotlib.
"""

import collections
import csv
import statistics
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

SPEED = 0.1
REVOLUTION_MS = 60_000 / 5400
# The first commits also make the file and its journal.
FIRST = 5


def main() -> None:
    source, out = sys.argv[1:]
    modes: dict[str, list[float]] = {}
    with open(source, newline="") as rows:
        for row in csv.DictReader(rows):
            time = float(row["commit_ms"]) * SPEED / REVOLUTION_MS
            modes.setdefault(row["journal_mode"], []).append(time)
    plt.rcParams.update({"svg.hashsalt": "commits", "svg.fonttype": "none"})
    figure, all_axes = plt.subplots(len(modes), sharex=True, figsize=(7, 4), layout="constrained")
    for axes, (mode, times) in zip(all_axes, modes.items()):
        bins = collections.Counter(round(time * 20) / 20 for time in times[FIRST:])
        median = statistics.median(times[FIRST:])
        axes.bar(bins.keys(), bins.values(), 0.05)
        axes.set_title(f"{mode}: median {median:.2f}", loc="left", fontsize="medium")
        axes.set_ylabel("commits")
        whole = sum(abs(time - round(time)) <= 0.1 for time in times[FIRST:])
        print(
            f"{mode}: {len(times) - FIRST} commits, median {median:.2f} revolutions; "
            f"{whole} within a tenth of a whole number of them"
        )
    all_axes[-1].set_xticks(range(0, 16))
    all_axes[-1].set_xlabel(f"revolutions of the drive ({REVOLUTION_MS:.1f} ms each)")
    figure.savefig(out, metadata={"Date": None})


main()
