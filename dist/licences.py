"""Prints the licences of all crates that are built into the program and the Python module: a list,
then the texts that come with the crates, each once."""

import json
import pathlib
import subprocess
import sys

PACKAGE = ["--package", "diskarm-python", "--features", "diskarm-python/program"]
CODE = (".c", ".h", ".json", ".py", ".rs", ".toml", ".yaml", ".yml")
NAMES = ("licen", "copying", "copyright", "notice", "unlicense")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def built_in():
    """Names and versions of the crates, without those that only build others."""
    edges = "normal,no-proc-macro"
    tree = output(
        "cargo", "tree", "--locked", *PACKAGE, "--edges", edges, "--prefix", "none",
        "--format", "{p}",
    )  # fmt: skip
    return {tuple(line.split()[:2]) for line in tree.splitlines() if line}


def texts(folder):
    """The licence texts in a crate's folder, third-party code included."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in files if path.name.lower().startswith(NAMES) and is_text(path)]


def is_text(path):
    return path.suffix.lower() not in CODE


def main():
    packages = json.loads(output("cargo", "metadata", "--locked", "--format-version", "1"))
    wanted = built_in()
    print("The programs contain these packages, the standard library of Rust (MIT OR Apache-2.0)")
    print("and, where static, musl (MIT).\n")
    users = {}
    for package in sorted(packages["packages"], key=lambda package: package["name"]):
        name, version = package["name"], package["version"]
        if (name, f"v{version}") not in wanted:
            continue
        if not package["license"]:
            sys.exit(f"{name} {version} does not name its licence")
        # Of our own crates, only what they bundle has licences of its own.
        if package["source"] is not None:
            print(f"{name} {version}: {package['license']}")
        for path in texts(pathlib.Path(package["manifest_path"]).parent):
            users.setdefault(path.read_text(errors="replace").strip(), []).append(
                f"{name} {version}"
            )
    for text, names in users.items():
        print("\n" + "-" * 80)
        print(", ".join(dict.fromkeys(names)) + ":\n")
        print(text)


main()
