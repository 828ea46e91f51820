"""The expressions by which schedules are judged, on operands derived from a matrix."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from libsparse._compiler import native
from libsparse._storage.pattern import Pattern
from method.operands import Matrix

import libsparse as ls

WIDTH = 32  # columns of dense operands
_DENSE_LIMIT = 1 << 27  # elements of a dense result or of an operand


class Expression(NamedTuple):
    """An expression over a matrix.

    Attributes:
        title: What tables call it.
        text: An einsum.
        operands: Makes the operands of a matrix.
        format: Of the result, None to let the compiler choose.
        square: Whether rows and columns have to be as many.
        combine: As in einsum.
    """

    title: str
    text: str
    operands: Callable[[Matrix], tuple[Any, ...]]
    format: str | None = None
    square: bool = False
    combine: str = "mul"

    def prepared(self, matrix: Matrix, commands: str = "") -> Any:
        """A schedule of this expression with these commands, to be prepared or run."""
        schedule = ls.schedule(self.text, *self.operands(matrix), format=self.format, combine=self.combine)
        return schedule.then(commands) if commands else schedule

    def steps(self, matrix: Matrix) -> list[str]:
        """The assignments that the compiler makes of it."""
        return native.explain_request(self.prepared(matrix).request(), "steps").splitlines()

    def in_double(self, matrix: Matrix, *, absolute: bool) -> Any:
        """The same on operands in float64, or on their absolute values."""

        def double(operand: Any) -> Any:
            change = (lambda v: v.double().abs()) if absolute else (lambda v: v.double())
            return operand.map(change) if isinstance(operand, ls.SparseTensor) else change(operand)

        operands = map(double, self.operands(matrix))
        return ls.schedule(self.text, *operands, format=self.format, combine=self.combine)

    def conversion_seconds(self, matrix: Matrix, commands: str) -> float:
        """What the conversions of a schedule cost, which are paid once a pattern."""
        taken = 0.0
        for operand, wanted in re.findall(r"convert\(A(\d+), ([^)]*)\)", commands):
            stored = self.operands(matrix)[int(operand)].pattern
            fresh = Pattern(stored.format, stored.shape, stored.pos, stored.crd)
            start = time.perf_counter()
            fresh.converted(ls.Format(wanted))
            taken += time.perf_counter() - start
        return taken


def _csr(m: Matrix) -> Any:
    return _kept(m, "csr", lambda: ls.from_csr(m.crow, m.col, m.values, m.shape))


def _csc(m: Matrix) -> Any:
    return _kept(m, "csc", lambda: _csr(m).to_format("csc"))


def _dense(m: Matrix, rows: int, columns: int) -> Any:
    random = torch.Generator().manual_seed(rows)
    return _kept(m, f"dense {rows} {columns}", lambda: torch.rand(rows, columns, generator=random) - 0.5)


def _vector(m: Matrix, n: int) -> Any:
    return _dense(m, n, 1).reshape(-1)


def _shifted(m: Matrix) -> Any:
    """The same matrix with its columns moved on by one: about as full, with another pattern."""

    def make() -> Any:
        rows = torch.repeat_interleave(torch.arange(m.shape[0]), m.crow.diff().long())
        coords = torch.stack([rows, (m.col.long() + 1) % m.shape[1]])
        return ls.from_coo(coords, m.values, m.shape, format="csr")

    return _kept(m, "shifted", make)


def _tensor(m: Matrix) -> Any:
    """A tensor of order 3: the columns by their high and low digits."""

    def make() -> Any:
        low = max(2, round(m.shape[1] ** 0.5))
        rows = torch.repeat_interleave(torch.arange(m.shape[0]), m.crow.diff().long())
        coords = torch.stack([rows, m.col.long() // low, m.col.long() % low])
        return ls.from_coo(coords, m.values, (m.shape[0], -(-m.shape[1] // low), low), format="csf")

    return _kept(m, "tensor", make)


_operands: dict[tuple[str, str], Any] = {}


def _kept(m: Matrix, what: str, make: Callable[[], Any]) -> Any:
    key = (m.name, what)
    if key not in _operands:
        _operands[key] = make()
    return _operands[key]


def forget() -> None:
    """Frees the operands of matrices that are done with."""
    _operands.clear()


def _factors(m: Matrix) -> tuple[Any, ...]:
    t = _tensor(m)
    return t, _dense(m, t.shape[1], WIDTH), _dense(m, t.shape[2], WIDTH)


def _sides(m: Matrix) -> tuple[Any, Any]:
    return _dense(m, m.shape[0], WIDTH), _dense(m, m.shape[1], WIDTH)


EXPRESSIONS = (
    Expression("SpMV", "ij,j->i", lambda m: (_csr(m), _vector(m, m.shape[1]))),
    Expression("SpMM", "ij,jk->ik", lambda m: (_csr(m), _dense(m, m.shape[1], WIDTH))),
    Expression(
        "SDDMM", "ij,ik,jk->ij", lambda m: (_csr(m), _dense(m, m.shape[0], WIDTH), _dense(m, m.shape[1], WIDTH))
    ),
    Expression("SpGEMM", "ij,jk->ik", lambda m: (_csr(m), _csr(m)), "csr", square=True),
    Expression("SpMV CSC", "ij,j->i", lambda m: (_csc(m), _vector(m, m.shape[1]))),
    Expression("SpMM CSC", "ij,jk->ik", lambda m: (_csc(m), _dense(m, m.shape[1], WIDTH))),
    Expression("SpGEMM CSR CSC", "ij,jk->ik", lambda m: (_csr(m), _csc(m)), "csr", square=True),
    Expression("A @ A.T", "ij,kj->ik", lambda m: (_csr(m), _csr(m)), "csr"),
    Expression("A.T @ x", "ij,i->j", lambda m: (_csr(m), _vector(m, m.shape[0]))),
    Expression("A + B", "ij,ij->ij", lambda m: (_csr(m), _shifted(m)), "csr", combine="add"),
    Expression("A * B", "ij,ij->ij", lambda m: (_csr(m), _shifted(m)), "csr"),
    Expression("MTTKRP", "ikl,kr,lr->ir", _factors),
    Expression(
        "SDDMM and SpMM",
        "ij,ik,jk,jl->il",
        lambda m: (_csr(m), *_sides(m), _dense(m, m.shape[1], WIDTH)),
    ),
)


def fits(expression: Expression, matrix: Matrix) -> bool:
    """Whether the expression is defined on the matrix and its result isn't too large to measure."""
    rows, columns = matrix.shape
    if expression.square and rows != columns:
        return False
    return max(rows, columns) * WIDTH <= _DENSE_LIMIT
