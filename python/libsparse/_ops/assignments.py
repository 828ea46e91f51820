"""One assignment of an evaluated text: its problem, and what its old elements and its fill value add to that."""

from __future__ import annotations

import cmath
from collections.abc import Mapping
from typing import Any

import torch

from libsparse._autograd import tape
from libsparse._lang import assignment, dtypes, operations
from libsparse._lang.assignment import Access, Call, Expr, Statement
from libsparse._lang.errors import FormatError, ShapeError
from libsparse._runtime.problem import Operand
from libsparse._storage.format import Format, default_format
from libsparse._storage.pattern import Pattern

from . import assemble, background, statements, updates
from .einsum_reader import REDUCTIONS
from .operands import is_sparse, to_operand


class Job:
    """One assignment with the operands and results before it, as a problem and its operands."""

    def __init__(
        self,
        text: str,
        statement: Statement,
        known: Mapping[str, Any],
        format: str | Format | None,
        reduce: str,
        combine: str,
    ) -> None:
        self.text, self.format = text, format
        self.target, sign, value = statement
        self.old = known.get(self.target.name)
        self.sign = operations.REDUCTIONS.get(sign, sign)
        reduce = self.sign if self.sign in REDUCTIONS else reduce
        self.placed = bool(self.target.windows)
        self._check()
        # The old elements are a term of a sum wherever that is possible.
        if self.old is not None and not self.placed and sign in ("+", "-"):
            value = Call(sign, (self.target, value))
            self.sign, reduce = "", "sum"
        self.alone = not self.placed and not (self.sign and self.old is not None)
        if not self.alone and not assignment.indices(value).issuperset(self.target.indices):
            # The old elements say how long the indices are; where there is none, nothing is to be multiplied.
            value = Call("first", (value, self.target), "0 & 1" if self.sign in ("prod", "/") else "0")
        names = {node.name for node in assignment.walk(value) if isinstance(node, Access)}
        self.read = names | ({self.target.name} if self.sign or self.placed else set())
        if not self.alone:
            # Elements without a term keep their old values.
            sparse = any(is_sparse(known.get(name)) for name in self.read - {self.target.name})
            kept = is_sparse(self.old) and self.sign and self.target.indices and sparse
            format = "s" * len(self.target.indices) if kept else None
        self.background = background.Background(value)
        self.wanted: str | Format | None = None  # the format of a result that is computed in another
        self._prepare(value, dict(known), format, reduce, combine)

    def _prepare(
        self, value: Expr, known: dict[str, Any], format: str | Format | None, reduce: str, combine: str
    ) -> None:
        """Finds the problem, with functions that act where nothing is stored, too."""
        target = self.target._replace(windows=())
        summed = (reduce, combine) == ("sum", "mul")
        neutral = reduce if statements.is_product(value) else "sum"
        filled, known, definitions = background.filled(value, known, neutral)
        if filled is not value:
            value, combine = background.combined(filled, combine), "mul"
        if summed or (combine == "mul" and assignment.indices(value) <= set(target.indices)):
            found = background.of(target, value, known, definitions, summed and self.sign in ("", "sum"))
            if found.densified is not None and format is None:
                background.warn(self.text, found.densified)
            if found.dense and format is None and self.alone:
                format = "dense"
            known_format = None if format is None else Format(format).resolve(max(len(target.indices), 1))
            dense = known_format is not None and known_format.is_dense
            if found.fill and self.alone:  # kernels leave out what no operand stores
                if dense and background.is_quotient(value) and cmath.isnan(found.fill):  # 0 / 0
                    self.wanted, format, dense = format, "s" if found.dense else None, False
                elif known_format is not None and known_format.pads:
                    self.wanted, format = format, known_format.compressed
                elif known_format is None and _pads_differ(value, known):
                    format = default_format(len(target.indices))
            if found.fill is None or (self.alone and not dense):
                self.background = found
                value, known = found.value, {**known, **background.counts(found, known)}
                for step, rest in found.steps:
                    problem, operands = statements.prepare(self.text, step, rest, known)
                    dtype = None if problem.dtype is None else dtypes.accumulator(problem.dtype)
                    data, pattern = tape.compute(problem._replace(dtype=dtype), operands)
                    known[step.name] = Operand(pattern, data)
        self.problem, self.operands = statements.prepare(
            self.text, target, value, known, format, reduce, combine, definitions=definitions
        )
        if self.background.dtype is not None:
            self.problem = self.problem._replace(dtype=self.background.dtype)

    def _check(self) -> None:
        name, kind = self.target.name, f"{self.sign}="
        if self.old is None and self.placed:
            raise ShapeError(
                f"evaluate {self.text!r}: {assignment.text(self.target)} is a part of {name!r}, which is not given; "
                f"pass {name}=..., of which the rest stays as it is"
            )
        if self.old is None and self.sign in ("-", "/"):
            raise FormatError(f"evaluate {self.text!r}: {name!r} has no old elements for {kind!r}; pass {name}=...")
        if self.old is not None and self.sign == "mean":
            raise FormatError(f"evaluate {self.text!r}: 'mean=' can't take old elements; assign it to another name")

    def _fill(self, dtype: torch.dtype) -> Any:
        """The value of elements that the result does not store."""
        if self.background.fill is not None:
            fill = self.background.fill
            exact = torch.float64 if isinstance(fill, float) else torch.int64
            exact = torch.complex128 if isinstance(fill, complex) else exact
            return torch.tensor(fill, dtype=exact, device="cpu").to(dtype).item()
        # Elements without a term keep their old values.
        return 0 if self.sign and not self.alone else dtypes.identity(self.problem.reduce, dtype)

    def result(self) -> Operand:
        """The value of the assignment."""
        return self.finished(*tape.compute(self.problem, self.operands))

    def finished(self, data: torch.Tensor, pattern: Pattern | None) -> Operand:
        """The value of the assignment, from what its problem computes."""
        new = Operand(pattern, data, self._fill(data.dtype) if pattern is not None else 0)
        if self.wanted is not None:
            new = assemble.to_format(new, self.wanted)
        if self.placed:
            return updates.place(self.text, self.old, self.target, new, self.sign)
        return new if self.alone else updates.update(self.sign, self.old, new, self.target.indices, self.format)


def _pads_differ(value: Expr, known: Mapping[str, Any]) -> bool:
    """Whether some sparse operand has dense levels or blocks where another one has entries alone, or other blocks."""
    read = {node for node in assignment.walk(value) if isinstance(node, Access) and is_sparse(known.get(node.name))}
    formats = {access: to_operand(known[access.name]).sparsity.format for access in read}
    ways = {(access.indices, format) for access, format in formats.items()}
    return len(ways) > 1 and any(format.pads for _, format in ways)
