"""Products of other shapes than matrices, powers, and solutions of linear equations."""

from __future__ import annotations

import functools
import string
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang.errors import DtypeError, ShapeError
from libsparse._runtime.problem import Operand, Problem

from . import contraction, products
from .assemble import assemble, to_format
from .einsum import einsum
from .export import to_scipy
from .indexing.entries import check_extents
from .indexing.reshaping import reshape
from .operands import is_sparse, to_operand


def contract_dimensions(a: Any, b: Any, left: Sequence[int], right: Sequence[int]) -> Operand:
    """The sum of products over pairs of dimensions, as `torch.tensordot`, in which an extent of 1 stands for any.

    Raises:
        ShapeError: Extents of a pair differ, or a dimension is out of range.
    """
    first, second = to_operand(a, 0), to_operand(b, 1)
    if len(left) != len(right):
        raise ShapeError(
            f"tensordot: {len(left)} dimensions of operand 0 and {len(right)} of operand 1; expected pairs"
        )
    letters = iter(string.ascii_letters)
    own = [next(letters) for _ in range(first.ndim)]
    other = [next(letters) for _ in range(second.ndim)]
    for i, j in zip(left, right, strict=True):
        if not (-first.ndim <= i < first.ndim and -second.ndim <= j < second.ndim):
            raise ShapeError(f"tensordot: dimensions {i} of operand 0 ({first}) and {j} of operand 1 ({second})")
        if first.shape[i] != second.shape[j] and 1 not in (first.shape[i], second.shape[j]):
            raise ShapeError(
                f"tensordot: dimension {i} of operand 0 ({first}) and {j} of operand 1 ({second}) differ in extent"
            )
        other[j] = own[i]
    summed = {own[i] for i in left}
    kept = [letter for letter in (*own, *other) if letter not in summed]
    return einsum(f"{''.join(own)},{''.join(other)}->{''.join(kept)}", first, second)


def kron(a: Any, b: Any) -> Operand:
    """The Kronecker product of two tensors: sparse where both are, dense where one is.

    One of fewer dimensions has further ones of extent 1 in front.

    Raises:
        ShapeError: An extent of the result is 2^63 or more.
    """
    first, second = to_operand(a, 0), to_operand(b, 1)
    for operand in (first, second):
        operand.need_zero_fill("kron")
    if first.pattern is None or second.pattern is None:
        dense = [to_format(o, "d" * o.ndim).values if o.pattern is not None else o.values for o in (first, second)]
        return Operand(None, torch.kron(*dense))
    ndim = max(first.ndim, second.ndim)
    first, second = (reshape(o, [1] * (ndim - o.ndim) + list(o.shape)) for o in (first, second))
    shape = [n * m for n, m in zip(first.shape, second.shape, strict=True)]
    check_extents(shape, f"kron of shapes {tuple(first.shape)} and {tuple(second.shape)}")
    left, right = first.sparsity, second.sparsity
    outer, inner = left.coordinates(), right.coordinates()
    coords = [(outer[mode][:, None] * second.shape[mode] + inner[mode]).reshape(-1) for mode in range(first.ndim)]
    values = (left.entries(first.values)[:, None] * right.entries(second.values)).reshape(-1)
    return assemble(coords, values, shape, None if left.format.pads else left.format.fitting(shape))


def matrix_power(a: Any, n: int) -> Any:
    """A square matrix multiplied `n` times, by repeated squaring.

    Raises:
        ShapeError: It is not square.
    """
    source = to_operand(a)
    if source.ndim != 2 or source.shape[0] != source.shape[1]:
        raise ShapeError(f"matrix_power takes a square matrix, got {source}")
    if n < 0:
        raise ShapeError(f"matrix_power: n={n}; the inverse of a sparse matrix is dense, see torch.sparse.spsolve")
    result: Any = None
    square: Any = source
    while n:
        if n & 1:
            result = square if result is None else products.matmul(result, square)
        n >>= 1
        square = products.matmul(square, square) if n else square
    if result is None:
        diagonal = torch.arange(source.shape[0], device="cpu")
        ones = torch.ones(source.shape[0], dtype=source.dtype, device="cpu")
        if source.values.requires_grad:  # the gradient is 0, and not that of nothing
            ones = torch.where(ones == 0, source.values.sum(), ones)
        return assemble([diagonal, diagonal], ones, source.shape, "csr")
    return result


def solve(a: Any, b: Tensor) -> Tensor:
    """The solution x of `a @ x = b` by SciPy's sparse LU; differentiable in the values of `a` and in `b`, twice.

    Args:
        a: (n, n), sparse, of a floating or complex dtype.
        b: (n,) or (n, k), dense.

    Raises:
        ShapeError: `a` is not square, or `b` has other rows.
        DtypeError: SciPy is not installed, or `a` is not sparse.
    """
    if not is_sparse(a):
        raise DtypeError(f"spsolve: operand 0 is a {type(a).__name__}; expected a sparse matrix")
    matrix, right = to_operand(a, 0), to_operand(b, 1)
    matrix.need_zero_fill("spsolve")
    fits = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and right.ndim in (1, 2)
    if not fits or right.pattern is not None or right.shape[0] != matrix.shape[0]:
        raise ShapeError(
            f"spsolve: operand 0 ({matrix}), operand 1 ({right}); expected (n, n) sparse and (n, ...) dense"
        )
    dtype = torch.promote_types(matrix.dtype, right.dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = torch.get_default_dtype()
    plain = to_format(matrix, "csc")
    operands = [plain.with_data(plain.values.to(dtype)), Operand(None, right.values.to(dtype))]
    return tape.follow(_Solution, _equation(right.ndim - 1), operands)[0]


@functools.cache
def _equation(columns: int) -> Problem:
    """Linear equations, for autograd: no sum of products, which transforms would take it for."""
    left, k = ("i", "j"), ("k",) * columns
    format = contraction.dense_format(1 + columns)
    return Problem("x = solve(A, b)", True, ("A", "b"), (left, ("i", *k)), ("j", *k), format)


class _Solution(tape.Node):
    """The solution of linear equations; its gradients are solutions with the adjoint matrix."""

    __slots__ = ()

    def forward(self, datas: Sequence[Any]) -> tuple[Tensor, Tensor | None]:
        matrix, right = self.operands(datas)
        solution = _factored(matrix, right.values)
        return solution, solution

    def again(self, datas: Sequence[Any]) -> tuple[Tensor, None]:
        """The solution of other equations."""
        matrix, right = self.operands(datas)
        return solve(matrix, right.values), None

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        matrix, right = self.operands(datas)
        adjoint = Operand(matrix.sparsity.transposed((1, 0)), matrix.values.conj().resolve_conj())
        change = solve(adjoint, grad)
        if not wanted[0]:
            return [None, change]
        # Computed again where it is differentiated: the kept one is no function of the operands to autograd.
        solution = solve(matrix, right.values) if torch.is_grad_enabled() or kept is None else kept
        row, col = matrix.sparsity.coordinates()
        product = change.index_select(0, row) * solution.conj().index_select(0, col)
        return [-(product.sum(1) if product.ndim == 2 else product), change if wanted[1] else None]


def _factored(matrix: Operand, right: Tensor) -> Tensor:
    try:
        from scipy.sparse.linalg import splu  # optional, and slow to import
    except ImportError:
        raise DtypeError("spsolve needs SciPy's sparse LU: pip install scipy") from None
    try:
        factors = splu(to_scipy(matrix).tocsc())
    except RuntimeError as error:
        raise ShapeError(f"spsolve: {error}; operand 0 ({matrix}) has no inverse") from None
    return torch.from_numpy(factors.solve(right.detach().numpy()))
