"""torch's own sparse tensors within transforms of torch.func, under `ls.override()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.func import grad, jacrev, vmap

import libsparse as ls

_INDICES = torch.tensor([[0, 2, 1, 2], [1, 0, 2, 2]])
_VALUES = torch.tensor([2.0, -1.0, 3.0, 0.5])
_X = torch.tensor([[1.0, 2.0], [-1.0, 0.5], [3.0, 1.0]])

FUNCTIONS: dict[str, Callable[[Any, Tensor], Tensor]] = {
    "product": lambda a, x: a @ x,
    "transposed": lambda a, x: a.t() @ x,
    "from the left": lambda a, x: x.t() @ a,
    "scaled": lambda a, x: (a * 2.0) @ x,
    "sum": lambda a, x: (a + a) @ x,
    "coalesced": lambda a, x: a.coalesce() @ x,
    "addmm": lambda a, x: torch.addmm(x, a, x),
}


def _matrix(values: Tensor = _VALUES) -> Tensor:
    return torch.sparse_coo_tensor(_INDICES, values, (3, 3))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("which", ["constant", "argument", "values"])
def test_gradients_are_those_of_torch(name: str, which: str) -> None:
    def loss(a: Any, x: Tensor) -> Tensor:
        return FUNCTIONS[name](a, x).pow(2).sum()

    def compute() -> Tensor:
        a = _matrix()
        if which == "constant":
            return grad(lambda x: loss(a, x))(_X)
        if which == "argument":
            return grad(loss, argnums=1)(a, _X)
        return grad(lambda values: loss(_matrix(values), _X))(_VALUES)

    wanted = compute()
    with ls.override():
        torch.testing.assert_close(compute(), wanted)


def test_what_a_transform_has_seen_serves_later_calls() -> None:
    a = _matrix().coalesce()
    wanted = a.to_dense()
    with ls.override():
        torch.testing.assert_close(jacrev(lambda x: a @ x)(_X[:, 0]), wanted)
        torch.testing.assert_close(vmap(grad(lambda x: (a @ x).sum()))(_X.t()), wanted.sum(0).expand(2, 3))
        found = a @ _X
    assert not is_functorch_wrapped_tensor(found)
    torch.testing.assert_close(found, wanted @ _X)


def test_csr_constants() -> None:
    a = _matrix().to_sparse_csr()
    with ls.override():
        torch.testing.assert_close(jacrev(lambda x: a @ x)(_X[:, 0]), a.to_dense())
