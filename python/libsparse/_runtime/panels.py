"""Products of a transposed dense matrix, computed by panels of its rows whose copies stay in a near cache."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Final

from torch import Tensor

from libsparse._compiler import target
from libsparse._compiler.kernel import Kernel

from . import blocks, layout
from .call import Call
from .problem import Operand, Problem

_CACHES: Final = 4  # near caches that the copies of all rows may take: those of a panel, a power of 2 of rows, take one
_LEAST: Final = 64  # bytes of a panel's rows as a kernel reads them: a line of a cache
_ROWS: Final = 16  # of a panel at least: the entries are read for each one, and with 8 take half of the time or more


class Panels:
    """A call whose kernel reads a copy of a dense matrix, transposed, and whose result is transposed again.

    Of large matrices the copies leave the caches before the kernel reads them. The rows of the operand, which are rows
    of the result, are computed by panels: `X @ A` and `F.linear(X, A)` take 0.4 to 0.9 of the time.
    """

    __slots__ = ("_call", "_kernel", "_number", "_rest", "_shape", "_width")
    direct = None

    def __init__(self, whole: Call, number: int, width: int, call: Call, rest: Call) -> None:
        """Compute panels in the place of all rows.

        Args:
            whole: The call of all rows.
            number: Which operand is read transposed.
            width: The number of rows of a panel.
            call: The call of a panel.
            rest: That of the rows that are left, fewer than a panel's.
        """
        self._kernel, self._shape, self._number, self._width = whole.kernel, whole.shape, number, width
        self._call, self._rest = _unlaid(call), _unlaid(rest)

    @property
    def kernel(self) -> Kernel:
        """The kernel of all rows at once."""
        return self._kernel

    @property
    def divided(self) -> tuple[int, int]:
        """Which operand goes by panels, and how many rows these have."""
        return self._number, self._width

    def __call__(self, operands: Sequence[Operand]) -> tuple[Tensor, None]:
        """Run on operands like those that this was prepared for."""
        rows, columns = self._shape
        out = blocks.empty(self._shape, (columns, 1), operands[self._number].values.dtype)
        for begin in range(0, rows, self._width):
            end = min(begin + self._width, rows)
            call = self._call if end - begin == self._width else self._rest
            layout.copy(call(_panel(operands, self._number, begin, end))[0], out[begin:end])
        return out, None


def _unlaid(call: Call) -> Call:
    """A call like another one, which leaves its result in the order that the kernel writes."""
    call = call.anew()
    call.is_relaid = False
    return call


def _panel(operands: Sequence[Operand], number: int, begin: int, end: int) -> list[Operand]:
    """The operands with some rows of one of them."""
    parts = [*operands]
    parts[number] = Operand(None, operands[number].values[begin:end])
    return parts


def divided(whole: Call, problem: Problem, operands: Sequence[Operand], build: Callable[..., object]) -> Call | Panels:
    """A call by panels where that pays, the call itself elsewhere.

    Args:
        whole: The call.
        problem: Its problem.
        operands: Its operands.
        build: Prepares a problem on operands.
    """
    if not whole.is_relaid or problem.is_expr or problem.schedule or problem.windows or len(problem.output) != 2:
        return whole
    index = problem.output[0]
    having = [number for number, indices in enumerate(problem.inputs) if index in indices]
    if len(having) != 1 or whole.orders[having[0]] != (1, 0):
        return whole
    (number,) = having
    rows = operands[number].values
    if problem.inputs[number][0] != index or rows.dtype != whole.dtype or not rows.is_contiguous():
        return whole
    count, row = rows.shape[0], (rows.shape[1] + whole.shape[1]) * rows.dtype.itemsize
    near = target.caches()[0] if target.caches() else 1 << 20
    width = max(1 << max(1, near // row).bit_length() - 1, _LEAST // rows.dtype.itemsize, _ROWS)
    if count < 2 * width or count * row < _CACHES * near or any(map(_is_beyond_caches, operands)):
        return whole
    call = build(problem, _panel(operands, number, 0, width))
    rest = build(problem, _panel(operands, number, count - count % width, count)) if count % width else call
    if not isinstance(call, Call) or not isinstance(rest, Call) or call.plain is not None or rest.plain is not None:
        return whole  # one that takes several steps, or keeps values
    return Panels(whole, number, width, call, rest)


def _is_beyond_caches(operand: Operand) -> bool:
    """Whether each panel would wait for the entries of a sparse operand, whose values are read in another order."""
    pattern = operand.pattern
    if pattern is None:
        return False
    read = pattern.size * (2 * pattern.index_dtype.itemsize + operand.dtype.itemsize)  # with places of values
    return read >= max(target.caches(), default=sys.maxsize) and pattern.statistics.scattered
