"""torch's reductions and softmax on sparse tensors: elements that are not stored count as in a dense tensor."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck, gradgradcheck

import libsparse as ls

FLOATING = {
    "mean": torch.mean,
    "var": torch.var,
    "std": torch.std,
    "norm": torch.norm,
    "logsumexp": torch.logsumexp,
    "norm1": lambda x, *a, **k: torch.linalg.vector_norm(x, 1, *a, **k),
    "norm3": lambda x, *a, **k: torch.linalg.vector_norm(x, 3, *a, **k),
    "norm0": lambda x, *a, **k: torch.linalg.vector_norm(x, 0, *a, **k),
    "norminf": lambda x, *a, **k: torch.linalg.vector_norm(x, float("inf"), *a, **k),
    "var0": lambda x, *a, **k: torch.var(x, *a, correction=0, **k),
}
ANY = {
    "sum": torch.sum,
    "amax": torch.amax,
    "amin": torch.amin,
    "any": torch.any,
    "all": torch.all,
    "count_nonzero": torch.count_nonzero,
}
ONE = {"prod": torch.prod, "argmax": torch.argmax, "argmin": torch.argmin, "max": torch.max, "min": torch.min}


def drawn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.where(torch.rand(shape) < 0.5, torch.randint(-4, 9, shape) / 2, 0).to(dtype)


def same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        for f, w in zip(found, wanted, strict=True):
            same(f, w)
        return
    assert type(found) is torch.Tensor
    assert found.dtype == wanted.dtype
    torch.testing.assert_close(found, wanted, equal_nan=True)


def tensors(dtype: torch.dtype) -> list[tuple[ls.SparseTensor, torch.Tensor]]:
    """Tensors of several ranks and formats, with and without a fill value."""
    found = []
    kinds = [((5, 6), "csr"), ((5, 6), "bsr(2,4)"), ((6, 3), "coo"), ((3, 4, 5), "csf"), ((7,), "s")]
    for shape, format in kinds if dtype == torch.float32 else kinds[:1]:
        dense = drawn(*shape, dtype=dtype)
        dense[0] = 0
        dense[-1] = 3
        sparse = ls.tensor(dense, format=format)
        found += [(sparse, dense), (sparse + 2, dense + 2) if dtype != torch.bool else (~sparse, ~dense)]
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.bool, torch.uint8], ids=str)
def test_values(dtype: torch.dtype) -> None:
    for sparse, dense in tensors(dtype):
        pairs = [(0, 1), (0,)] if dense.ndim > 1 else [(0,)]
        for dims in [None, *range(-dense.ndim, dense.ndim), *pairs]:
            given = {} if dims is None else {"dim": dims}
            for name, function in {**ANY, **ONE, **FLOATING}.items():
                if (name in ONE and isinstance(dims, tuple)) or (name == "logsumexp" and dims is None):
                    continue
                try:
                    wanted = function(dense, **given)
                except (RuntimeError, TypeError):
                    with pytest.raises((RuntimeError, TypeError, ValueError)):
                        function(sparse, **given)
                    continue
                same(function(sparse, **given), wanted)
                if dims is not None and name != "count_nonzero":
                    same(function(sparse, **given, keepdim=True), function(dense, **given, keepdim=True))


def test_methods_and_other_signatures() -> None:
    dense = drawn(5, 6)
    A = ls.tensor(dense)
    for call in (
        lambda x: x.sum(),
        lambda x: x.sum(0, dtype=torch.float64),
        lambda x: x.mean((0, 1), keepdim=True),
        lambda x: x.max(),
        lambda x: x.max(1).indices,
        lambda x: x.min(dim=0),
        lambda x: x.std(0, False),
        lambda x: x.var(unbiased=False),
        lambda x: torch.var_mean(x, 1),
        lambda x: torch.std_mean(x, 0, correction=2),
        lambda x: x.norm(p=2, dim=1),
        lambda x: x.norm("fro"),
        lambda x: torch.linalg.norm(x),
        lambda x: torch.linalg.norm(x, 1),
        lambda x: torch.linalg.matrix_norm(x, float("inf")),
        lambda x: torch.aminmax(x),
        lambda x: torch.nansum(x / x, 1),
        lambda x: x.cumsum(1),
        lambda x: x.any(1).sum(),
    ):
        same(call(A), call(dense))
    same(F.normalize(A).to_dense(), F.normalize(dense))
    same(torch.maximum(A, A * 2).to_dense(), torch.max(dense, dense * 2))
    assert torch.equal(A, A.to_format("coo"))
    assert not torch.equal(A, A + 1)
    assert torch.allclose(A, dense + 1e-9)


def test_nothing_is_stored() -> None:
    empty = ls.tensor(torch.zeros(3, 4))
    same(empty.amax(1), torch.zeros(3))
    same(empty.prod(0), torch.zeros(4))
    same(empty.argmax(), torch.tensor(0))
    same(empty.var(), torch.tensor(0.0))
    same(torch.softmax(empty, 1).to_dense(), torch.zeros(3, 4))
    nothing = ls.tensor(torch.zeros(0, 4))
    same(nothing.sum(0), torch.zeros(4))
    same(nothing.prod(0), torch.ones(4))
    with pytest.raises(IndexError, match="no elements"):
        nothing.amax(0)


@pytest.mark.parametrize(
    ("shape", "format"), [((5, 6), "csr"), ((5, 6), "csc"), ((4, 6), "bsr(2,2)"), ((3, 4, 5), "coo")]
)
def test_softmax_of_what_is_stored(shape: tuple[int, ...], format: str) -> None:
    dense = drawn(*shape)
    A = ls.tensor(dense, format=format)
    stored = torch.zeros(shape, dtype=torch.bool)
    stored[tuple(A.indices())] = True
    for dim in range(-len(shape), len(shape)):
        wanted = torch.where(stored, dense, -torch.inf).softmax(dim).nan_to_num()
        for found in (A.softmax(dim), F.softmax(A, dim), torch.softmax(A, dim), torch.sparse.softmax(A, dim)):
            assert found.pattern is A.pattern
            torch.testing.assert_close(found.to_dense(), wanted)
        wanted = torch.where(stored, torch.where(stored, dense, -torch.inf).log_softmax(dim), 0)
        torch.testing.assert_close(A.log_softmax(dim).to_dense(), wanted)


def test_gradients() -> None:
    torch.manual_seed(1)
    dense = torch.where(torch.rand(4, 5) < 0.6, torch.rand(4, 5, dtype=torch.float64) + 0.5, 0)
    dense[0] = torch.rand(5) + 1
    A = ls.tensor(dense)
    for function in (
        lambda x: x.sum(1),
        lambda x: x.mean(0),
        lambda x: x.prod(1),
        lambda x: x.amax(1),
        lambda x: x.amin(1),
        lambda x: x.var(1),
        lambda x: x.std(),
        lambda x: x.norm(dim=1),
        lambda x: torch.linalg.vector_norm(x, 3, 0),
        lambda x: x.logsumexp(1),
        lambda x: x.softmax(1).values(),
        lambda x: x.log_softmax(0).values(),
        lambda x: F.normalize(x, dim=0).values(),
    ):
        values = A.values().clone().requires_grad_()
        assert gradcheck(lambda v, f=function: f(A.with_values(v)), values)
        assert gradgradcheck(lambda v, f=function: f(A.with_values(v)), values)
    full = A.to_dense().requires_grad_()
    (full * torch.arange(5)).amax(1).sum().backward()
    A.requires_grad_()
    (A * torch.arange(5)).amax(1).sum().backward()
    torch.testing.assert_close(A.grad.to_dense(), torch.where(dense != 0, full.grad, 0))


def test_messages() -> None:
    A = ls.tensor(drawn(4, 5))
    with pytest.raises(IndexError, match="dim is 2"):
        A.sum(2)
    with pytest.raises(ls.DtypeError, match="mean of"):
        A.int().mean()
    with pytest.raises(ls.UnsupportedError, match="nuc"):
        torch.norm(A, "nuc")
    with pytest.raises(ls.UnsupportedError, match="not stored"):
        torch.softmax(A + 1, 1)


def test_logsumexp_of_bools_and_of_nothing() -> None:
    dense = torch.tensor([[True, False], [False, False]])
    same((~ls.tensor(dense)).logsumexp(0), (~dense).logsumexp(0))
    same(ls.tensor(torch.zeros(0, 2)).logsumexp(0), torch.zeros(0, 2).logsumexp(0))


def test_keepdim_is_a_bool() -> None:
    with pytest.raises(TypeError, match="keepdim is 3; expected a bool"):
        ls.eye(3).sum(None, 3)


@pytest.mark.parametrize("format", ["csr", "ell", "bsr(2,2)"])
def test_softmax_of_many_entries(format: str) -> None:
    torch.manual_seed(0)
    A = ls.random((200, 400), density=0.5).to_format(format)
    values = A.values().clone().requires_grad_()
    dense = A.with_values(values).to_dense()
    stored = A.with_values(torch.ones_like(values)).to_dense() != 0
    want = torch.softmax(dense.masked_fill(~stored, -torch.inf), 1)
    found = A.with_values(values).softmax(1).to_dense()
    torch.testing.assert_close(found, want)
    weights = torch.rand(200, 400)
    (wanted,) = torch.autograd.grad((want * weights).sum(), values, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad((found * weights).sum(), values)[0], wanted)
