"""What a kernel is: a name that peers have a method for, operands derived from a matrix, and a reference."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from method import checking
from method.operands import Matrix, Problem, SparseTensor, Triplets
from scipy.sparse import coo_array, csr_array
from torch import Tensor

DENSE_LIMIT = 1 << 27  # elements of a dense operand or result


def _no_flops(_: Problem) -> float:
    return 0.0


@dataclass(frozen=True)
class Kernel:
    """A computation that is measured.

    Attributes:
        name: Of the method by which a peer prepares it.
        title: For tables.
        operands: Makes the operands of a matrix (or tensor) and a width, or None where it isn't defined on them.
        reference: The result in float64, of operands as SciPy's matrices and NumPy's arrays.
        widths: Columns of dense operands that are measured; 0 where there are none.
        flops: Operations that it takes at least.
        new: Whether it is also measured on operands that were never seen before, prepared within the call.
        linear: Whether rounding is judged by the same computation on absolute values, else by the largest value.
        tensor: Whether it is of tensors of order 3.
        beside: A kernel that it should take little longer than.
    """

    name: str
    title: str
    operands: Callable[[Any, int], dict[str, Any] | None]
    reference: Callable[[Any], Any]
    widths: tuple[int, ...] = (0,)
    flops: Callable[[Problem], float] = _no_flops
    new: bool = False
    linear: bool = True
    tensor: bool = False
    beside: str = ""

    def problem(self, matrix: Matrix | SparseTensor, width: int) -> Problem | None:
        """The problem on a matrix, None where there is none."""
        operands = self.operands(matrix, width)
        if operands is None or any(isinstance(o, Tensor) and o.numel() > DENSE_LIMIT for o in operands.values()):
            return None
        return Problem(self.name, operands)

    def expected(self, problem: Problem) -> tuple[checking.Result, checking.Result]:
        """The result in float64, and what errors are relative to."""
        result = checking.read(self.reference(_Exact(problem, absolute=False)))
        if self.linear:
            return result, checking.read(self.reference(_Exact(problem, absolute=True)))
        return result, largest(result)


class _Exact:
    """The operands of a problem in float64 for SciPy and NumPy, or their absolute values."""

    def __init__(self, problem: Problem, *, absolute: bool) -> None:
        self._problem, self._absolute = problem, absolute

    def __getattr__(self, name: str) -> Any:
        operand = getattr(self._problem, name)
        if isinstance(operand, Matrix):
            values = self._exact(operand.values)
            return csr_array((values, operand.col.numpy(), operand.crow.numpy()), shape=operand.shape)
        if isinstance(operand, SparseTensor):
            return operand.coords.numpy(), self._exact(operand.values), operand.shape
        if isinstance(operand, Triplets):
            return coo_array((self._exact(operand.values), (operand.i.numpy(), operand.j.numpy())), shape=operand.shape)
        if isinstance(operand, Tensor):
            return self._exact(operand) if operand.is_floating_point() else operand.numpy()
        return operand

    def _exact(self, values: Tensor) -> np.ndarray:
        exact = values.double().numpy()
        return np.abs(exact) if self._absolute else exact


def largest(result: checking.Result) -> checking.Result:
    """The greatest absolute value, in the place of each value."""
    if not isinstance(result, (checking.Dense, checking.Sparse)):
        return tuple(largest(item) for item in result)
    greatest = np.abs(result.values).max() if result.values.size else 1.0
    return result._replace(values=np.full_like(result.values, greatest))


def dense(name: str, *shape: int) -> Tensor:
    """Uniform values in [-.5, .5), the same for the same name and shape."""
    random = torch.Generator().manual_seed(zlib.crc32(f"{name} {shape}".encode()))
    return torch.rand(*shape, generator=random) - 0.5


def small(*extents: int) -> bool:
    """Whether a dense array of these extents may be allocated."""
    total = 1
    for extent in extents:
        total *= extent
    return total <= DENSE_LIMIT
