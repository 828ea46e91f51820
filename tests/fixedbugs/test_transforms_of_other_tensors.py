"""Transforms of torch.func see every operation, whatever they follow: sparse computations of constants in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.autograd import forward_ad

import libsparse as ls


def _matrix() -> ls.SparseTensor:
    dense = torch.rand(6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    return ls.tensor(dense * (dense < 0.4))


pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:FutureWarning")  # torch.func.jvp itself

_X = torch.rand(8, 3, dtype=torch.float64)
_V = torch.rand(6, 3, dtype=torch.float64)
CONSTANTS: dict[str, Callable[[Any], Tensor]] = {
    "product": lambda a: a @ _X,
    "transposed": lambda a: a.T @ _V,
    "sum": lambda a: a.sum(1),
    "amax": lambda a: a.amax(0),
    "sparse product": lambda a: (a @ a.T).sum(),
    "another format": lambda a: a.to_format("coo").T @ _V,
    "rows": lambda a: a[torch.tensor([2, 0, 0])] @ _X,
    "slices": lambda a: a[1:4, ::2].sum(),
    "union": lambda a: (a + a.to_format("csc")).sum(),
    "cat": lambda a: torch.cat([a, a]) @ _X,
    "block_diag": lambda a: torch.block_diag(a, a)[:6, :8] @ _X,
    "one row": lambda a: a[3] * _X[:, 0],
    "rows one by one": lambda a: sum((row * _X[:, 0]).sum() for row in a),
    "rows stacked": lambda a: torch.stack([a[1], a[2]]) @ _X,
    "one more dimension": lambda a: (a[None] * 2)[0] @ _X,
    "softmax": lambda a: torch.softmax(a, 1) @ _X,
    "of a dense tensor": lambda a: ls.diag(_V[:, 0]) @ a @ _X,
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_in_a_transform(name: str) -> None:
    compute = CONSTANTS[name]
    matrix = _matrix()
    wanted = compute(_matrix()).sum()

    def scaled(v: Tensor) -> Tensor:
        return (compute(matrix).sum() * v**2).sum()

    torch.testing.assert_close(torch.func.grad(scaled)(_V), 2 * wanted * _V)
    torch.testing.assert_close(torch.func.jvp(scaled, (_V,), (_V,))[1], 2 * wanted * (_V**2).sum())
    torch.testing.assert_close(torch.func.hessian(scaled)(_V[0, :1]), 2 * wanted.reshape(1, 1))
    # What the transform has left with the pattern serves ordinary calls.
    torch.testing.assert_close(compute(matrix).sum(), wanted)
    assert not is_functorch_wrapped_tensor(matrix.pattern.coordinates())


def test_a_product_inside_of_functionalize() -> None:
    matrix = _matrix()
    matrix @ _X
    found = torch.func.functionalize(lambda v: (matrix.sum(1).sum() + (matrix @ _X).sum()) * v)(_V)
    torch.testing.assert_close(found, (matrix.sum() + (matrix @ _X).sum()) * _V)


MOVES: dict[str, Callable[[Any], Any]] = {
    "cat": lambda a: torch.cat([a, a], 1),
    "rows": lambda a: a[_LISTED],
    "columns": lambda a: a[:, _LISTED],
    "repeat": lambda a: a.repeat(2, 1),
    "flip": lambda a: a.flip(1),
    "places": lambda a: a[_LISTED, _LISTED],
}
_LISTED = torch.tensor([3, 0, 2, 2])


@pytest.mark.parametrize("format", ["csr", "dcsr", "coo"])
@pytest.mark.parametrize("name", MOVES)
def test_moves_inside_of_functionalize(name: str, format: str) -> None:
    """C wrote to arrays that torch had wrapped, which ended the process."""
    matrix = _matrix().to_format(format)

    def moved(values: Tensor) -> Any:
        found = MOVES[name](matrix.with_values(values))
        return found.to_dense() if isinstance(found, ls.SparseTensor) else found

    found = torch.func.functionalize(moved)(matrix.values())
    torch.testing.assert_close(found, moved(matrix.values()))


def test_matrices_that_autograd_follows_in_a_transform_of_something_else() -> None:
    matrix = _matrix()
    followed = matrix.with_values(matrix.values().clone().requires_grad_())
    found = torch.func.grad(lambda v: ((followed @ _X) * v).sum())(_V)
    torch.testing.assert_close(found, matrix @ _X)


@pytest.mark.parametrize("name", ["amax", "amin", "max"])
def test_extrema_in_forward_mode(name: str) -> None:
    matrix = _matrix()

    def extrema(a: Any) -> Tensor:
        found = getattr(a, name)(1)
        return (found if isinstance(found, Tensor) else found[0]).sum()

    tangent = torch.rand_like(matrix.values())
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(extrema(matrix.with_values(forward_ad.make_dual(matrix.values(), tangent))))
        changed = matrix.with_values(tangent).to_dense()
        wanted = forward_ad.unpack_dual(extrema(forward_ad.make_dual(matrix.to_dense(), changed)))
    torch.testing.assert_close(found.tangent, wanted.tangent)


def test_means_of_terms_in_forward_mode() -> None:
    matrix = _matrix()

    def means(x: Tensor) -> Tensor:
        return ls.matmul(matrix, x, reduce="mean").sum()

    found = torch.func.jvp(means, (_X,), (_V.new_ones(8, 3),))[1]
    torch.testing.assert_close(found, torch.func.grad(means)(_X).sum())


@pytest.mark.parametrize("which", ["values", "operand"])
def test_arrays_whose_memory_was_freed(which: str) -> None:
    matrix, x = _matrix(), _X.clone()
    computations = [lambda: matrix @ x, lambda: ls.einsum("ij,jk->ik", matrix, x), lambda: torch.mm(matrix, x)]
    for compute in computations:
        compute()
    freed = matrix.values() if which == "values" else x
    freed.untyped_storage().resize_(0)
    for compute in computations:
        with pytest.raises(RuntimeError, match="has no memory: its storage has been freed"):
            compute()
