# %% [markdown]
# # SQLite through power cuts
# Serves a disk without time, and lets SQLite commit on it until the power goes at some write, which
# the seed chooses. Then the disk has what an adversary leaves of the writes that were not flushed.
# SQLite recovers, and everything that it had committed must be there. With `synchronous = OFF` it
# does not flush, and loses data.
#
# `apsw` lets SQLite use files of our own: here each is a part of the disk, reached over NBD.

# %%
import itertools
import json
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

import apsw

SECTOR = 512
ROOM = 8 << 20  # for each file, with its size in the first sector
FILES = ["db", "db-journal"]
READ, WRITE, FLUSH, FUA = 0, 1, 3, 1


class Gone(Exception):
    """The power is off."""


class Server:
    """A disk, and its control socket."""

    def __init__(self, folder: str) -> None:
        self.disk, self.control = f"{folder}/disk.sock", f"{folder}/disk.ctl"
        installed = Path(sys.executable).with_name("diskarm")
        program = str(installed) if installed.exists() else shutil.which("diskarm") or "diskarm"
        arguments = ["--instant", "--listen", f"unix:{self.disk}", "--control", self.control]
        drive = ["--drive", "sata-4tb-7200", "--size", "16 MiB"]
        self.child = subprocess.Popen(
            [program, "serve", "nbd", *drive, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert self.child.stderr
        assert self.child.stderr.readline().startswith(b"serving ")

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.child.terminate()
        self.child.communicate()

    def ask(self, command: str) -> dict[str, object]:
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(self.control)
            control.sendall(command.encode() + b"\n")
            answer: dict[str, object] = json.loads(control.makefile().readline())
            return answer


class Disk:
    """A connection by NBD that waits for each reply."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.exactly(18)
        choice = struct.pack(">IH", 0, 0)  # the export without a name
        go = struct.pack(">IQII", 3, 0x49484156454F5054, 7, len(choice))
        self.socket.sendall(go + choice)
        while (header := struct.unpack(">QIII", self.exactly(20)))[2] != 1:
            self.exactly(header[3])

    def exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                part = self.socket.recv(count - len(data))
            except ConnectionError:
                part = b""
            if not part:
                raise Gone
            data += part
        return data

    def request(
        self, command: int, at: int, count: int, data: bytes = b"", flags: int = 0
    ) -> bytes:
        header = struct.pack(">IHHQQI", 0x25609513, flags, command, 0, at, count)
        try:
            self.socket.sendall(header + data)
        except ConnectionError:
            raise Gone from None
        error = struct.unpack(">IIQ", self.exactly(16))[1]
        assert error == 0, error
        return self.exactly(count) if command == READ else b""

    def read(self, at: int, count: int) -> bytes:
        start, end = at // SECTOR * SECTOR, -(-(at + count) // SECTOR) * SECTOR
        return self.request(READ, start, end - start)[at - start :][:count]

    def write(self, at: int, data: bytes, flags: int = 0) -> None:
        start, end = at // SECTOR * SECTOR, -(-(at + len(data)) // SECTOR) * SECTOR
        if (start, end) != (at, at + len(data)):
            whole = bytearray(self.request(READ, start, end - start))
            whole[at - start : at - start + len(data)] = data
            data = bytes(whole)
        self.request(WRITE, start, len(data), data, flags)


class File:
    """A file of SQLite: a part of the disk. Its first sector has one more than its size, or 0."""

    def __init__(self, disk: Disk, name: str) -> None:
        self.disk, self.at = disk, FILES.index(name) * ROOM

    def size(self) -> int | None:
        stored: int = struct.unpack(">Q", self.disk.read(self.at, 8))[0]
        return stored - 1 if stored else None

    def resize(self, size: int | None, flags: int = 0) -> None:
        stored = 0 if size is None else size + 1
        self.disk.write(self.at, struct.pack(">Q", stored).ljust(SECTOR, b"\0"), flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        left = max((self.size() or 0) - offset, 0)
        return self.disk.read(self.at + SECTOR + offset, min(amount, left)) if left else b""

    def xWrite(self, data: bytes, offset: int) -> None:
        self.disk.write(self.at + SECTOR + offset, data)
        if offset + len(data) > (self.size() or 0):
            self.resize(offset + len(data))

    def xTruncate(self, size: int) -> None:
        self.resize(size)

    def xSync(self, _: int) -> None:
        self.disk.request(FLUSH, 0, 0)

    def xFileSize(self) -> int:
        return self.size() or 0

    def xSectorSize(self) -> int:
        return SECTOR

    def xDeviceCharacteristics(self) -> int:
        return 0

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, *_: int) -> bool:
        return False

    def xLock(self, _: int) -> None: ...

    def xUnlock(self, _: int) -> None: ...

    def xClose(self) -> None: ...


class Files(apsw.VFS):
    """The files of a disk."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        super().__init__("disk", base="")

    def xOpen(self, name: str | apsw.URIFilename | None, _: list[int]) -> File:
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        file = File(self.disk, Path(path).name)
        if file.size() is None:
            # A new file shows nothing of an older one, also after a power cut.
            self.disk.write(file.at + SECTOR, bytes(SECTOR), FUA)
            file.resize(0)
        return file

    def xAccess(self, path: str, _: int) -> bool:
        return Path(path).name in FILES and File(self.disk, Path(path).name).size() is not None

    def xDelete(self, path: str, _: bool) -> None:
        File(self.disk, Path(path).name).resize(None, FUA)

    def xFullPathname(self, name: str) -> str:
        return name


# %%
def opened(disk: Disk, synchronous: str) -> tuple[Files, apsw.Connection]:
    files = Files(disk)
    connection = apsw.Connection("db", vfs="disk")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    return files, connection


def failure(server: Server, synchronous: str, seed: int) -> str | None:
    """What is wrong after a power cut, if anything is."""
    disk = Disk(server.disk)
    for file in FILES:
        File(disk, file).resize(None, FUA)
    files, connection = opened(disk, "FULL")
    connection.execute("CREATE TABLE accounts (id INTEGER PRIMARY KEY, held INTEGER)")
    connection.execute("CREATE TABLE commits (number INTEGER, filler BLOB)")
    accounts = [(account, 100) for account in range(1, 51)]
    with connection:
        connection.executemany("INSERT INTO accounts VALUES (?, ?)", accounts)
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    torn = "yes" if seed % 2 else "no"
    nth = 20 + seed * 13 % 100
    server.ask(f"trigger(before=write, nth={nth}, worst=yes, torn={torn}, seed={seed})")
    committed = 0
    try:
        for number in itertools.count(1):
            with connection:
                a, b = number * 7 % 50 + 1, (number * 7 + 25) % 50 + 1
                connection.execute("UPDATE accounts SET held = held - 1 WHERE id = ?", (a,))
                connection.execute("UPDATE accounts SET held = held + 1 WHERE id = ?", (b,))
                connection.execute("INSERT INTO commits VALUES (?, zeroblob(1000))", (number,))
            committed = number
    except (Gone, apsw.Error):
        pass
    del connection, files
    server.ask("power-restore")
    try:
        files, connection = opened(Disk(server.disk), "FULL")
        (check,) = connection.execute("PRAGMA integrity_check").fetchone()
        held = connection.execute("SELECT sum(held) FROM accounts").get
        numbers = [number for (number,) in connection.execute("SELECT number FROM commits")]
    except apsw.Error as error:
        return str(error)
    if check != "ok":
        return "the database is damaged"
    if held != 5000:
        return f"the accounts hold {held}, not 5000"
    if numbers != list(range(1, len(numbers) + 1)) or len(numbers) < committed:
        return f"{committed} were committed, and {len(numbers)} are there"
    return None


# %%
SEEDS = int(sys.argv[1]) if len(sys.argv) > 1 else 30

with tempfile.TemporaryDirectory() as folder, Server(folder) as server:
    for synchronous in ["FULL", "OFF"]:
        failures = {seed: failure(server, synchronous, seed) for seed in range(SEEDS)}
        wrong = {seed: what for seed, what in failures.items() if what}
        print(f"synchronous = {synchronous}: {len(wrong)} of {SEEDS} power cuts do harm")
        for seed, what in itertools.islice(wrong.items(), 3):
            print(f"  seed {seed}: {what}")
        assert bool(wrong) == (synchronous == "OFF")
