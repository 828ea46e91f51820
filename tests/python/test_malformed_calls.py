"""Malformed calls, from the tables in `malformed/`: the type of the error, and what its message has to say.

A table has two lines for each call: the call, then the error and fragments of its message, separated by ` | `. Messages
name the operand as the user wrote it, its shape and format, what was expected and what to do.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
import scipy.sparse
import torch
import torch.nn.functional as F

import libsparse as ls

TABLES = Path(__file__).parent / "malformed"
V = [1.0, 2.0, 3.0]
INTERNAL = re.compile(
    r"_held|_operand\b|_pattern\b|\bA0\b|\bpos\[|\bcrd\[|object has no attribute|subscriptable|\.py\b"
)
"""Names that the package has inside, and that no user wrote."""


class Row(NamedTuple):
    """A line of a table."""

    call: str
    error: str
    fragments: list[str]


def rows(table: Path) -> list[Row]:
    """The calls of a table."""
    lines = [line for line in table.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [Row(call, *_answer(answer)) for call, answer in zip(lines[::2], lines[1::2], strict=True)]


def _answer(line: str) -> tuple[str, list[str]]:
    error, *fragments = line.strip().split(" | ")
    return error, fragments


ROWS = [
    pytest.param(row, id=f"{table.stem}: {row.call}") for table in sorted(TABLES.glob("*.txt")) for row in rows(table)
]


def wrong_indices() -> Any:
    """A CSR array of SciPy with a column that it doesn't have."""
    matrix = scipy.sparse.csr_array(numpy.eye(2))
    matrix.indices[0] = 7
    return matrix


def names() -> dict[str, Any]:
    """The operands of the calls, by the names that they have there."""
    a = ls.from_csr([0, 2, 3], [0, 2, 1], V, (2, 3))
    return {
        **{"ls": ls, "torch": torch, "numpy": numpy, "scipy": scipy, "F": F, "V": V, "wrong_indices": wrong_indices},
        "A": a,
        "P": a.with_values(None),  # only a pattern
        "Ag": a.detach().clone().requires_grad_(),
        "F1": torch.exp(a),  # with fill value 1
        "I": a.to(torch.int64),
        "S": ls.eye(3),
        "T": ls.from_coo([[0, 0, 1], [0, 2, 1], [3, 0, 1]], V, (2, 3, 4)),
        "big": ls.from_coo([[0], [1]], [1.0], (2**40, 2**21), format="coo"),
        "empty": ls.from_coo(torch.empty(2, 0, dtype=torch.int64), [], (0, 3)),
        "v3": torch.ones(3),
        "v3s": ls.tensor([1.0, 0, 2.0]),
        "x": torch.ones(3, 2),
    }


@pytest.fixture(autouse=True)
def _torchs_own_functions(monkeypatch):
    """Undoes what PyG does when it is imported: two functions of torch are then its own, with other errors."""
    for name in ("index_select", "select"):
        monkeypatch.setattr(torch, name, getattr(torch._C._VariableFunctions, name))


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.filterwarnings("ignore")
def test_message(row):
    expected = getattr(ls, row.error, None) or getattr(__builtins__, row.error, None) or __builtins__[row.error]
    with pytest.raises(expected) as caught:
        eval(row.call, names())
    message = str(caught.value)
    for fragment in row.fragments:
        assert fragment in message
    assert "from_levels" in row.call or not INTERNAL.search(message)
    assert expected is TypeError or isinstance(caught.value, ls.LibsparseError)


def test_tables_are_large():
    assert len(ROWS) >= 150


def test_what_is_left_is_usable():
    """Errors leave nothing behind."""
    a = names()["A"]
    for wrong in ("a @ torch.ones(4, 2)", "a.sum(5)", "ls.einsum('ij,jk', a, None)", "a.nonexistent"):
        with pytest.raises(ls.LibsparseError):
            eval(wrong, {**names(), "a": a})
    torch.testing.assert_close(a @ torch.ones(3, 2), a.to_dense() @ torch.ones(3, 2))
