"""Commits small transactions to SQLite, and prints how long each took.

    python3 commits.py FILE MODE COUNT

MODE is SQLite's journal mode: delete, wal, persist or truncate. A line has the time of a commit in
milliseconds.
"""

import sqlite3
import sys
import time


def main() -> None:
    path, mode, count = sys.argv[1:]
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(f"pragma journal_mode = {mode}")
    db.execute("pragma synchronous = full")
    db.execute("create table entry (number integer primary key, text)")
    for number in range(int(count)):
        start = time.perf_counter()
        db.execute("insert into entry (text) values (?)", (f"entry {number}",))
        print(f"{(time.perf_counter() - start) * 1e3:.3f}")


main()
