"""`solve`: linear equations with a sparse matrix, with gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

import libsparse as ls

from . import krylov, single
from .batches import Function, is_batch, of_each, one_by_one
from .checks import count, scaled, square_matrix, taken, tolerance, vector

_Method = Callable[[krylov.System, Tensor], Tensor]
_RESTART = 30  # steps of GMRES whose vectors are kept

_METHODS = ("cg", "gmres", "bicgstab", "direct")


@dataclass(frozen=True)
class _Setting:
    """What is no tensor to torch: its transforms take tuples apart, and wrap what they find."""

    pattern: ls.Pattern
    method: str
    inverse: Any  # M
    rtol: float
    atol: float
    maxiter: int


def solve(
    A: ls.SparseTensor,
    b: Tensor,
    method: str = "cg",
    M: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    x0: Tensor | None = None,
) -> Tensor:
    """The solution x of A x = b, differentiable in the values of A and in b, twice and more often.

    Gradients are solutions with the adjoint of A to the same tolerance. Arrays of NumPy and SciPy are taken, too.

    Args:
        A: (n, n), of a floating or complex dtype, in any format.
        b: (n,), or (n, k) for k right-hand sides, each of which is solved to its own tolerance.
        method: `cg` (Hestenes and Stiefel 1952), for Hermitian positive definite A; `gmres` (Saad and Schultz 1986) or
            `bicgstab` (van der Vorst 1992), for any; `direct`, SciPy's sparse LU, whose factors A's pattern keeps.
        M: An approximate inverse of A, as a matrix (n, n), sparse or dense, or as a function of (n, k). The adjoint
            equations take the adjoint of a matrix; a function is taken for its own adjoint by `cg`, and left out by
            others. `cg` needs M to be Hermitian positive definite. There is no gradient in M: it changes no solution.
        rtol: A solution has `|b - A x| <= max(rtol * |b|, atol)`, of 2-norms.
        atol: See `rtol`.
        maxiter: The most products with A; 10 n by default.
        x0: Where to start, in the shape of b; 0 by default.

    Returns:
        x, in the shape of b and the common dtype.

    Raises:
        ShapeError: A is not square, or b or M don't fit; `direct`: A is singular.
        DtypeError: A is not sparse, or a dtype is neither floating nor complex.
        FormatError: An unknown method, or a negative tolerance or number of products.
        ls.linalg.ConvergenceError: The tolerance was not reached.

    Example:
        >>> A = ls.tensor([[4.0, 1.0], [1.0, 3.0]])
        >>> [round(x, 3) for x in ls.linalg.solve(A, torch.tensor([1.0, 2.0])).tolist()]
        [0.091, 0.636]
    """
    if method not in _METHODS:
        raise ls.FormatError(f"solve: method={method!r}; expected one of {', '.join(_METHODS)}")
    A, b, x0 = taken(A), taken(b), taken(x0)
    square_matrix("solve", A)
    _check_right("b", b, A, (1, 2))
    if x0 is not None:
        _check_right("x0", x0, A, (b.ndim,))
    dtype, wide = _dtypes(A, b)
    matrix, right = A.to(wide).to_format("csr"), b.to(wide)
    rtol, atol = tolerance("solve", "rtol", rtol), tolerance("solve", "atol", atol)
    most = 10 * len(b) if maxiter is None else count("solve", "maxiter", maxiter)
    if method == "direct":
        return _direct(matrix, right).to(dtype)
    setting = _Setting(matrix.pattern, method, _inverse(M, matrix, dtype), rtol, atol, most)
    columns = right if right.ndim == 2 else right[:, None]
    start = torch.zeros_like(columns) if x0 is None else x0.detach().to(wide).reshape(columns.shape)
    x: Tensor = _Solution.apply(matrix.values(), columns, start, setting)
    return x.reshape(b.shape).to(dtype)


def _direct(A: Any, b: Tensor) -> Tensor:
    solution: Tensor = torch.sparse.spsolve(A, b)
    return solution


def _dtypes(A: ls.SparseTensor, b: Tensor) -> tuple[torch.dtype, torch.dtype]:
    """The dtype of a solution, and the one to compute in: neither torch's nor SciPy's solvers have half precision."""
    common = torch.promote_types(A.dtype, b.dtype)
    return common, torch.promote_types(common, torch.float32)


@one_by_one
class _Solution(Function):
    """Equations by iteration; the gradients are equations with the adjoint."""

    @staticmethod
    def forward(values: Tensor, b: Tensor, start: Tensor, setting: _Setting) -> Tensor:
        return _iterate(ls.SparseTensor(setting.pattern, values.detach()), b.detach(), start.clone(), setting)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        values, _, _, ctx.setting = inputs
        ctx.save_for_backward(values, output)
        ctx.save_for_forward(values, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        if is_batch(grad):
            each: tuple[Tensor | None, ...] = of_each(functools.partial(_Solution.backward, ctx), grad)
            return each
        values, x = ctx.saved_tensors
        setting: _Setting = ctx.setting
        matrix: Any = ls.SparseTensor(setting.pattern, values)
        adjoint = matrix.mH.to_format("csr")
        change = _Solution.apply(adjoint.values(), grad, torch.zeros_like(grad), _adjoint(setting, adjoint.pattern))
        mask = ls.SparseTensor(setting.pattern)
        own = -ls.sddmm(mask, change, x.mH).values() if ctx.needs_input_grad[0] else None
        return own, change, None, None

    @staticmethod
    def jvp(ctx: Any, values_change: Tensor | None, b_change: Tensor | None, *_: None) -> Tensor:
        if is_batch(values_change) or is_batch(b_change):
            each: Tensor = of_each(functools.partial(_Solution.jvp, ctx), values_change, b_change)
            return each
        values, x = ctx.saved_tensors
        right = torch.zeros_like(x) if b_change is None else b_change
        if values_change is not None:
            right = right - ls.SparseTensor(ctx.setting.pattern, values_change) @ x
        change: Tensor = _Solution.apply(values, right, torch.zeros_like(x), ctx.setting)
        return change


def _iterate(matrix: ls.SparseTensor, b: Tensor, start: Tensor, setting: _Setting) -> Tensor:
    # Of columns around 1, squares are neither 0 nor infinite.
    sizes = b.abs().amax(0) if len(b) else b.real.new_ones(b.shape[1])
    sizes = torch.where((sizes > 0) & sizes.isfinite(), sizes, 1)
    matrix, factor = scaled(matrix)
    b, start = b / sizes, start / sizes / factor
    within = (setting.rtol * torch.linalg.vector_norm(b, dim=0)).maximum(setting.atol / sizes)
    inverse = None if setting.inverse is None else (lambda x: setting.inverse(x) / factor)
    if b.shape[1] == 1:
        one = None if inverse is None else (lambda x: inverse(x[:, None])[:, 0])
        system = krylov.System(lambda x: matrix @ x, one, b[:, 0], within, setting.maxiter)
        return _ONE[setting.method](system, start[:, 0])[:, None] * factor * sizes
    system = krylov.System(lambda x: matrix @ x, inverse, b, within, setting.maxiter)
    return _SEVERAL[setting.method](system, start) * factor * sizes


_ONE: dict[str, _Method] = {
    "cg": single.cg,
    "bicgstab": single.bicgstab,
    "gmres": lambda system, x: single.gmres(system, x, _RESTART),
}
_SEVERAL: dict[str, _Method] = {
    "cg": krylov.cg,
    "bicgstab": krylov.bicgstab,
    "gmres": lambda system, x: krylov.gmres(system, x, _RESTART),
}


class _Called:
    """A function that is the user's, of columns in the dtype of the user's tensors."""

    def __init__(self, function: Callable[[Tensor], Tensor], dtype: torch.dtype) -> None:
        self.function, self.dtype = function, dtype

    def __call__(self, columns: Tensor) -> Tensor:
        result = self.function(columns.to(self.dtype))
        vector("solve", "what M returns", result)
        if result.shape != columns.shape:
            raise ls.ShapeError(
                f"solve: what M returns has shape {tuple(result.shape)}; expected that of what it gets, "
                f"{tuple(columns.shape)}"
            )
        return _converted("what M returns", result, columns.dtype)


class _Product:
    """A matrix as a function of columns."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    def __call__(self, columns: Tensor) -> Tensor:
        product: Tensor = self.matrix @ columns
        return product


def _converted(name: str, value: Tensor, dtype: torch.dtype) -> Tensor:
    """A tensor in the dtype that the equations are solved in, which may not lose its imaginary part."""
    if value.dtype.is_complex and not dtype.is_complex:
        raise ls.DtypeError(f"solve: {name} has dtype {value.dtype}; expected a real one, as A and b have")
    return value.to(dtype)


def _adjoint(setting: _Setting, pattern: ls.Pattern) -> _Setting:
    inverse = setting.inverse
    if isinstance(inverse, _Product):
        inverse = _Product(inverse.matrix.mH)
    elif setting.method != "cg":
        inverse = None
    return replace(setting, pattern=pattern, inverse=inverse)


def _inverse(M: Any, A: ls.SparseTensor, dtype: torch.dtype) -> Callable[[Tensor], Tensor] | None:
    M = taken(M)
    if M is None:
        return None
    if callable(M) and not isinstance(M, Tensor):
        return _Called(M, dtype)
    if not isinstance(M, Tensor):
        raise ls.DtypeError(f"solve: M is a {type(M).__name__}; expected a matrix or a function")
    if M.shape != A.shape:
        raise ls.ShapeError(f"solve: M has shape {tuple(M.shape)}; expected that of A ({A._facts()})")
    return _Product(_converted("M", M.detach(), A.dtype))


def _check_right(name: str, b: Any, A: ls.SparseTensor, ranks: tuple[int, ...]) -> None:
    vector("solve", name, b)
    if b.ndim not in ranks or b.shape[0] != A.shape[0]:
        raise ls.ShapeError(
            f"solve: {name} has shape {tuple(b.shape)}; with A ({A._facts()}) expected ({A.shape[0]},) or "
            f"({A.shape[0]}, k)"
        )
