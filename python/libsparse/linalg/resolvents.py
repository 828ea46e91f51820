"""How vectors change with their matrix: equations with `value - A`, outside of the vector itself, where it has none."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from . import krylov
from .convergence import ConvergenceError

_Method = Callable[[krylov.System, Tensor], Tensor]

_EXACT = 0.75  # the power of the precision to which equations are solved
_RESTART = 30  # steps of GMRES whose vectors are kept


def hermitian(name: str, multiply: krylov.Map, vectors: Tensor, values: Tensor, sign: int, right: Tensor) -> Tensor:
    """The pseudoinverses of `value - A` times columns, one a value.

    Outside of the vectors all values are smaller (or greater), so that the equations there are definite.

    Args:
        name: The function that an error names.
        multiply: The product with A.
        vectors: (n, k), orthonormal, of the k largest values (smallest, if `sign` is -1).
        values: (k,).
        sign: 1 or -1.
        right: (n, k).
    """
    inside = vectors.mH @ right
    gaps = (values - values[:, None]).fill_diagonal_(torch.inf)

    def outside(columns: Tensor) -> Tensor:
        return columns - vectors @ (vectors.mH @ columns)

    def definite(columns: Tensor) -> Tensor:
        return outside(sign * (columns * values - multiply(columns)))

    inside = torch.where(inside == 0, 0, inside / gaps)  # equal values matter where they are mixed
    return vectors @ inside + sign * outside(_solved(name, definite, outside(right), right, krylov.cg))


def general(name: str, multiply: krylov.Map, own: Tensor, other: Tensor, value: Tensor, right: Tensor) -> Tensor:
    """The group inverse of `value - A` times a column.

    Args:
        name: The function that an error names.
        multiply: The product with A.
        own: (n, 1), the right eigenvector.
        other: (n, 1), the left one, with `other^H own = 1`.
        value: (1,).
        right: (n, 1).
    """

    def outside(columns: Tensor) -> Tensor:
        return columns - own @ (other.mH @ columns)

    def shifted(columns: Tensor) -> Tensor:
        return outside(columns * value - multiply(columns))

    def gmres(system: krylov.System, start: Tensor) -> Tensor:
        return krylov.gmres(system, start, _RESTART)

    return outside(_solved(name, shifted, outside(right), right, gmres))


def _solved(name: str, multiply: krylov.Map, b: Tensor, whole: Tensor, method: _Method) -> Tensor:
    """The solutions for columns, to a precision that is relative to what they are a part of."""
    sizes = torch.linalg.vector_norm(whole, dim=0)
    sizes = torch.where((sizes > 0) & sizes.isfinite(), sizes, 1)
    within = torch.full_like(sizes, torch.finfo(b.dtype).eps ** _EXACT)
    most = 10 * len(b)
    try:
        return method(krylov.System(multiply, None, b / sizes, within, most), torch.zeros_like(b)) * sizes
    except ConvergenceError:
        raise ConvergenceError(
            f"{name}: how vectors change was not found in {most} products, which gradients of gradients need; other "
            "values are as large as the last, or nearly, or it is 0: ask for more values, or for fewer"
        ) from None
