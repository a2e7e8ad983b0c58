"""The stub repeats the docstrings of the compiled part, and repeats them right."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import diskarm
from diskarm import _diskarm

STUB = Path(_diskarm.__file__).with_name("_diskarm.pyi").read_text(encoding="utf-8")


def documented(body: list[ast.stmt], within: object) -> Iterator[tuple[str, str, object]]:
    """The name, the docstring and the compiled thing of each class, method and function."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name != "__new__":
            compiled = inspect.getattr_static(within, node.name)
            if isinstance(compiled, staticmethod):
                compiled = compiled.__func__
            yield node.name, ast.get_docstring(node) or "", compiled
            if isinstance(node, ast.ClassDef):
                for name, text, part in documented(node.body, compiled):
                    yield f"{node.name}.{name}", text, part


# What users import from the compiled part; the module has its own `Study`, for example.
PUBLIC = {
    name for name in diskarm.__all__ if getattr(diskarm, name) is getattr(_diskarm, name, None)
}
DOCUMENTED = [
    row
    for row in documented(ast.parse(STUB).body, _diskarm)
    if row[0].partition(".")[0] in PUBLIC
]


@pytest.mark.parametrize(
    ("text", "compiled"), [pytest.param(*rest, id=name) for name, *rest in DOCUMENTED]
)
def test_docstrings_of_the_stub_are_those_of_the_compiled_part(text, compiled):
    # Lines may be broken elsewhere.
    assert text.split() == (inspect.getdoc(compiled) or "").split()


def test_all_classes_are_compared():
    names = {name for name, *_ in DOCUMENTED}
    assert names >= PUBLIC >= {"Completion", "Device", "Drive", "Pending"}
    assert names >= {"Completion.owed_us", "Drive.from_data_sheet"}
