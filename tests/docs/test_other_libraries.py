"""The tables of calls of other libraries: what serves in their place runs, gives the same, and is what errors say."""

from __future__ import annotations

import re
from typing import Any

import pages
import pytest
import torch
from libsparse._tensor.missing import _ELSEWHERE, _FUNCTIONS_ELSEWHERE

PAGE = pages.ROOT / "docs/guide/from-torch-sparse.md"
_ROW = re.compile(r"^\| (`.*`) \| (`[^|]*`) \| [^|]*\|$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")


def rows() -> list[tuple[str, str]]:
    """The calls of each row, theirs and ours."""
    return _ROW.findall(PAGE.read_text())


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    """What the blocks of the page define."""
    found: dict[str, Any] = {}
    torch.manual_seed(0)
    for language, text in pages.fences(PAGE):
        if language == "python":
            exec(text, found)
    return found


def test_all_rows_are_read() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    titles = [line for line in lines if line.endswith("| libsparse | difference |")]
    assert len(rows()) == len(lines) - len(titles)


@pytest.mark.parametrize("ours", [ours for _, ours in rows()])
def test_calls_run(ours: str, known: dict[str, Any]) -> None:
    for code in _CODE.findall(ours):
        eval(code, known)


@pytest.mark.parametrize(("theirs", "ours"), [row for row in rows() if re.search(r"\bT\b|torch\.sparse", row[0])])
def test_calls_give_what_torch_gives(theirs: str, ours: str, known: dict[str, Any]) -> None:
    (code,) = _CODE.findall(ours)
    for their in _CODE.findall(theirs):
        found, expected = (eval(text, known) for text in (code, their))
        torch.testing.assert_close(found.to_dense(), expected.to_dense(), check_dtype=expected.is_floating_point())


@pytest.mark.parametrize("theirs", [theirs for theirs, _ in rows() if re.match(r"`A\.\w+\(", theirs)])
def test_errors_for_methods_say_the_same(theirs: str) -> None:
    told = _ELSEWHERE.get(theirs[3:].partition("(")[0])
    if told is not None:
        (ours,) = (ours for other, ours in rows() if other == theirs)
        assert ours.strip("`").partition(", A.")[0] in told


@pytest.mark.parametrize("name", ["scatter", "scatter_mean", "scatter_max", "segment_csr"])
def test_errors_for_functions_say_the_same(name: str) -> None:
    (ours,) = (ours for theirs, ours in rows() if theirs.startswith(f"`{name}("))
    matrix, _, rest = ours.strip("`").removeprefix("ls.matmul(").partition(", ")
    assert matrix in "GP"
    assert _FUNCTIONS_ELSEWHERE[name].startswith("matmul(ls.from_")
    assert _FUNCTIONS_ELSEWHERE[name].endswith(rest)
