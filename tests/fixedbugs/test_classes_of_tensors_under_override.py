"""Classes that torch asks for the results of its functions, beside torch's own sparse tensors under `ls.override()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import libsparse as ls


class Named(Tensor):
    """A tensor whose class is that of results, and which knows what was called."""

    calls: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "mm": lambda a, x: torch.mm(a, x),
    "operator": lambda a, x: a @ x,
    "sparse.mm": lambda a, x: torch.sparse.mm(a, x),
    "mv": lambda a, x: torch.mv(a, x[:, 0]),
    "addmm": lambda a, x: torch.addmm(x, a, x),
    "linear": lambda a, x: F.linear(x.t(), a),
    "from the left": lambda a, x: x.t() @ a,
    "sum": lambda a, x: x @ x.t() + a,
}


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state:UserWarning")
def test_their_class_is_asked(name: str, layout: torch.layout) -> None:
    a = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0], [0.0, 0.0, 0.5]]).to_sparse(layout=layout)
    x = torch.arange(6.0).reshape(3, 2).as_subclass(Named)

    def compute() -> tuple[Tensor, list[str]]:
        Named.calls.clear()
        result = FUNCTIONS[name](a, x)
        return result, list(Named.calls)

    wanted, asked = compute()
    with ls.override():
        for _ in range(2):
            found, calls = compute()
            assert type(found) is Named
            assert calls == asked
            torch.testing.assert_close(found.as_subclass(Tensor), wanted.as_subclass(Tensor))
