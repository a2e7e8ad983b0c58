"""Every Python example on the front pages and in the book runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FRONT = [ROOT / "README.md", ROOT / "python" / "README.md"]
PAGES = [*FRONT, *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_example(
    example: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "example", "exec"), {})
    assert capsys.readouterr().out, "an example shows something"


@pytest.mark.parametrize(
    "page", ["README.md-0", "python/README.md-1", "docs/how-to/many-cells.md-0"]
)
def test_pages_that_must_have_one_do(page: str) -> None:
    assert page in {param.id for param in EXAMPLES}
