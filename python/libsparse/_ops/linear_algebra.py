"""Products of other shapes than matrices, powers, and solutions of linear equations."""

from __future__ import annotations

import functools
import os
import string
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang.errors import DtypeError, ShapeError
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage.pattern import Pattern

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

    The factors are kept with the pattern of `a`, and serve equations with the same values, adjoint ones, too.

    Args:
        a: (n, n), sparse, of a floating or complex dtype.
        b: (n,) or (n, k), dense.

    Raises:
        ShapeError: `a` is not square, or `b` has other rows.
        DtypeError: SciPy is not installed, or `a` is not sparse.
    """
    return _solved("spsolve", a, b, False)


def solve_triangular(a: Any, b: Tensor, upper: bool, left: bool, unit: bool) -> Tensor:
    """The solution of equations with a triangle of a matrix; differentiable as `solve` is.

    Args:
        a: (n, n), sparse; entries outside of the triangle count as 0.
        b: (n, k) for `a @ x = b`, (k, n) for `x @ a = b`; dense.
        upper: Whether the triangle is the upper one.
        left: Whether `a` is on the left.
        unit: Whether the elements of the diagonal count as 1.

    Raises:
        ShapeError: `a` is not square, `b` does not fit, or an element of the diagonal is 0.
        DtypeError: SciPy is not installed, or `a` is not sparse.
    """
    if not is_sparse(a):
        raise DtypeError(f"solve_triangular: A is a {type(a).__name__}; expected a sparse matrix")
    matrix = to_operand(a, 0)
    matrix.need_zero_fill("solve_triangular")
    if is_sparse(b) or b.ndim != 2 or matrix.ndim != 2 or b.shape[0 if left else 1] != matrix.shape[0]:
        expected = "(n, k)" if left else "(k, n)"
        raise ShapeError(
            f"solve_triangular: A ({matrix}), B ({to_operand(b, 1)}); expected (n, n) sparse and {expected} dense"
        )
    row, col = matrix.sparsity.coordinates()
    first, second = (row, col) if upper else (col, row)
    inside = first < second if unit else first <= second
    if unit or not bool(inside.all()):
        row, col, values = row[inside], col[inside], matrix.sparsity.entries(matrix.values)[inside]
        if unit:
            diagonal = torch.arange(matrix.shape[0], device="cpu")
            row, col = torch.cat([row, diagonal]), torch.cat([col, diagonal])
            values = torch.cat([values, torch.ones(len(diagonal), dtype=values.dtype, device="cpu")])
        matrix = assemble([row, col], values, matrix.shape, "csc")
    if left:
        return _solved("solve_triangular", matrix, b, False)
    return _solved("solve_triangular", Operand(matrix.sparsity.transposed((1, 0)), matrix.values), b.mT, False).mT


def _solved(name: str, a: Any, b: Any, adjoint: bool) -> Tensor:
    """The solution of `a @ x = b`, or of `a.mH @ x = b`."""
    if not is_sparse(a):
        raise DtypeError(f"{name}: operand 0 is a {type(a).__name__}; expected a sparse matrix")
    matrix, right = to_operand(a, 0), to_operand(b, 1)
    matrix.need_zero_fill(name)
    fits = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and right.ndim in (1, 2)
    if not fits or right.pattern is not None or right.shape[0] != matrix.shape[0]:
        raise ShapeError(
            f"{name}: operand 0 ({matrix}), operand 1 ({right}); expected (n, n) sparse and (n, ...) dense"
        )
    dtype = torch.promote_types(matrix.dtype, right.dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = torch.get_default_dtype()
    plain = to_format(matrix, "csc")
    operands = [plain.with_data(plain.values.to(dtype)), Operand(None, right.values.to(dtype))]
    return tape.follow(_AdjointSolution if adjoint else _Solution, _equation(right.ndim - 1, adjoint), operands)[0]


@functools.cache
def _equation(columns: int, adjoint: bool) -> Problem:
    """Linear equations, for autograd: no sum of products, which transforms would take it for."""
    k = ("k",) * columns
    format = contraction.dense_format(1 + columns)
    text, given, found = ("x = solve(A^H, b)", "j", "i") if adjoint else ("x = solve(A, b)", "i", "j")
    return Problem(text, True, ("A", "b"), (("i", "j"), (given, *k)), (found, *k), format)


class _Solution(tape.Node):
    """The solution of linear equations; its gradients are solutions with the adjoint matrix."""

    __slots__ = ()
    adjoint = False

    def forward(self, datas: Sequence[Any]) -> tuple[Tensor, Tensor | None]:
        matrix, right = self.operands(datas)
        solution = _factors(matrix).solve(right.values, self.adjoint)
        return solution, solution

    def again(self, datas: Sequence[Any]) -> tuple[Tensor, None]:
        """The solution of other equations."""
        matrix, right = self.operands(datas)
        return _solved("spsolve", matrix, right.values, self.adjoint), None

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        matrix, right = self.operands(datas)
        change = _solved("spsolve", matrix, grad, not self.adjoint)
        if not wanted[0]:
            return [None, change]
        # Computed again where it is differentiated: the kept one is no function of the operands to autograd.
        if kept is None or torch.is_grad_enabled():
            kept = _solved("spsolve", matrix, right.values, self.adjoint)
        row, col = matrix.sparsity.coordinates()
        left, other = (kept, change) if self.adjoint else (change, kept)
        product = left.index_select(0, row) * other.conj().index_select(0, col)
        return [-(product.sum(1) if product.ndim == 2 else product), change if wanted[1] else None]


class _AdjointSolution(_Solution):
    """The solution of equations with the adjoint of a matrix, by the factors of the matrix itself."""

    __slots__ = ()
    adjoint = True


_MOST = 16_000_000  # numbers that kept factors have together, some 256 MB; the last ones may have more
_kept: weakref.WeakKeyDictionary[Pattern, _Factors] = weakref.WeakKeyDictionary()
_lock: Any = threading.Lock()
os.register_at_fork(after_in_child=_lock._at_fork_reinit)


class _Factors:
    """The LU factors of a matrix, or those of its transpose where it is a lower triangle.

    Triangles keep the order of their columns and take the diagonal for pivots: an upper one is the factor U itself.
    """

    def __init__(self, matrix: Operand) -> None:
        try:
            from scipy.sparse.linalg import splu  # optional, and slow to import
        except ImportError:
            raise DtypeError("spsolve needs SciPy's sparse LU: pip install scipy") from None
        self.values = matrix.values.detach().clone()
        row, col = matrix.sparsity.coordinates()
        self.is_lower = bool((row >= col).all())
        plain = to_scipy(matrix)
        order = {"permc_spec": "NATURAL", "diag_pivot_thresh": 0.0, "panel_size": 1}
        try:
            if self.is_lower:
                self.factors = splu(plain.T.tocsc(), **order)
            else:
                self.factors = splu(plain.tocsc(), **(order if bool((row <= col).all()) else {}))
        except RuntimeError as error:
            raise ShapeError(f"spsolve: {error}; operand 0 ({matrix}) has no inverse") from None

    def solve(self, right: Tensor, adjoint: bool) -> Tensor:
        """The solution of equations with the matrix, or with its adjoint."""
        array = right.detach().resolve_conj().resolve_neg().numpy()
        if not self.is_lower:
            return torch.from_numpy(self.factors.solve(array, "H" if adjoint else "N"))
        if not adjoint:
            return torch.from_numpy(self.factors.solve(array, "T"))
        return torch.from_numpy(self.factors.solve(array.conj()).conj())


def _factors(matrix: Operand) -> _Factors:
    """The factors of a matrix: those of an earlier call if it had the same pattern and equal values."""
    pattern = matrix.sparsity
    known = _kept.get(pattern)
    if known is not None and known.values.dtype == matrix.dtype and torch.equal(known.values, matrix.values):
        return known
    found = _Factors(matrix)
    with _lock:
        _kept.pop(pattern, None)
        _kept[pattern] = found
        while len(_kept) > 1 and sum(factors.factors.nnz for factors in list(_kept.values())) > _MOST:
            _kept.pop(next(iter(_kept)), None)
    return found
