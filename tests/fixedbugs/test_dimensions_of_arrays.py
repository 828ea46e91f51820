"""Tensors whose values are arrays: results of functions along the arrays were dense, and moved entries numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

import libsparse as ls

INDICES = torch.tensor([[0, 2, 0, 1, 3], [1, 0, 2, 2, 1]])
WEIGHT = torch.linspace(-1, 1, 15, dtype=torch.float64).reshape(3, 5)

ALONG_ARRAYS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda A: A.sum(-1),
    "sum, kept": lambda A: A.sum(2, keepdim=True),
    "mean": lambda A: A.mean((-1,)),
    "prod": lambda A: A.prod(-1),
    "amax": lambda A: A.amax(-1),
    "max": lambda A: A.max(-1).values,
    "argmin": lambda A: A.argmin(-1),
    "any": lambda A: (A > 0).any(-1),
    "all": lambda A: (A < 1).all(-1),
    "count_nonzero": lambda A: torch.count_nonzero(A, -1),
    "norm": lambda A: A.norm(dim=-1),
    "greatest": lambda A: torch.linalg.vector_norm(A, float("inf"), -1),
    "var": lambda A: A.var(-1, unbiased=False),
    "std": lambda A: torch.std(A, -1, correction=0),
    "logsumexp": lambda A: A.logsumexp(-1),
    "cumsum": lambda A: A.cumsum(-1),
    "nansum": lambda A: torch.nansum(A, -1),
    "normalize": lambda A: F.normalize(A, dim=-1),
    "matmul": lambda A: A @ WEIGHT.to(A.dtype),
    "a vector": lambda A: A @ WEIGHT[:, 0].to(A.dtype),
    "linear": lambda A: F.linear(A, WEIGHT.T.to(A.dtype)),
}
MOVED: dict[str, Callable[[Any], Any]] = {
    "a row": lambda A: A[1],
    "rows": lambda A: A[torch.tensor([2, 0, 2])],
    "columns": lambda A: A.index_select(1, torch.tensor([1, 1, 0])),
    "a mask": lambda A: A[:, torch.tensor([True, False, True])],
    "a step": lambda A: A[::2, 1:],
    "places": lambda A: A[torch.tensor([2, 0, 1]), torch.tensor([0, 1, 1])],
    "a part of arrays": lambda A: A[1:, :, 1:],
    "every second": lambda A: A[..., ::2],
    "listed parts": lambda A: A[..., torch.tensor([[2, 0], [1, 1]])],
    "one more dimension": lambda A: A[:, None],
    "cat": lambda A: torch.cat([A, A * 2]),
    "beside": lambda A: torch.cat([A, A[:, :2]], 1),
    "longer arrays": lambda A: torch.cat([A, A[..., :1]], 2),
    "stack": lambda A: torch.stack([A, A]),
    "flatten": lambda A: A.flatten(0, 1),
    "unflatten": lambda A: A.unflatten(2, (3, 1)),
    "flip": lambda A: A.flip((0, 1)),
    "roll": lambda A: A.roll(1, 1),
    "split": lambda A: A.split(2, 1)[0],
    "transpose": lambda A: A.transpose(0, 1),
}


def same(function: Callable[[Any], Any], values: Tensor, indices: Tensor = INDICES, format: str = "csr") -> Any:
    """Compares a function and its gradient with those of the dense tensor; returns its result."""
    size = torch.Size((4, 3, *values.shape[1:]))
    own, other = values.detach().clone().requires_grad_(), values.detach().clone().requires_grad_()
    dense = torch.zeros(size, dtype=values.dtype).index_put((*indices,), other)
    found, want = function(ls.from_coo(indices, own, size, format=format)), function(dense)
    torch.testing.assert_close(found.to_dense(), want)
    if want.requires_grad:
        weights = torch.rand(want.shape, dtype=torch.float64).to(want.dtype)
        (wanted,) = torch.autograd.grad(want, other, weights)
        torch.testing.assert_close(torch.autograd.grad(found.to_dense(), own, weights)[0], wanted)
    return found


@pytest.mark.parametrize("format", ["csr", "coo", "csc"])
@pytest.mark.parametrize("name", ALONG_ARRAYS)
def test_functions_along_arrays_keep_the_entries(name: str, format: str) -> None:
    found = same(ALONG_ARRAYS[name], torch.rand(5, 3, dtype=torch.float64) - 0.5, format=format)
    assert isinstance(found, ls.SparseTensor)
    assert len(found.values()) == 5


@pytest.mark.parametrize("format", ["csr", "coo", "csc"])
@pytest.mark.parametrize("name", MOVED)
def test_whole_arrays_are_moved(name: str, format: str) -> None:
    found = same(MOVED[name], torch.rand(5, 3, dtype=torch.float64), format=format)
    assert found.dense_dim() > 0
    assert found.values().ndim == 1 + found.dense_dim()


@pytest.mark.parametrize("values", [torch.rand(5, 2, 2), torch.rand(2, 5).t(), torch.rand(5, 1).bfloat16()])
def test_other_arrays(values: Tensor) -> None:
    for function in ("sum", "amax", "softplus", "a row", "beside", "stack", "columns"):
        call = F.softplus if function == "softplus" else {**ALONG_ARRAYS, **MOVED}[function]
        if values.ndim == 3 or function != "longer arrays":
            same(call, values)


def test_arrays_of_nothing() -> None:
    A = ls.from_coo(INDICES, torch.empty(5, 0), (4, 3, 0))
    assert A.values().shape == (5, 0)  # "-1" could be anything, torch said
    assert A.with_values(A.values() * 2).sum(-1).to_dense().equal(torch.zeros(4, 3))
    assert A.to_torch(torch.sparse_coo).shape == (4, 3, 0)
    nothing = ls.from_coo(torch.empty(2, 0, dtype=torch.int64), torch.empty(0, 3), (4, 3, 3))
    assert nothing.amax(-1)._nnz() == nothing[1:].norm(dim=-1)._nnz() == 0


def test_nothing_of_the_dense_shape_is_made() -> None:
    n = 1 << 20  # a dense result would take terabytes
    A = ls.from_coo(torch.tensor([[0, 5, n - 1], [3, n - 1, 0]]), torch.ones(3, 4), (n, n, 4))
    for found in (A.sum(-1), A.norm(dim=-1), A.max(-1)[1], F.normalize(A, dim=-1), A @ torch.ones(4, 2), A[..., 0]):
        assert found.pattern.nnz in (3, 6, 12)
    weights = (A / (1 + A.norm(dim=-1, keepdim=True))).values()
    assert weights.equal(torch.full((3, 4), 1 / 3))
    assert torch.sparse.sum(A, 2).values().equal(torch.full((3,), 4.0))


@pytest.mark.parametrize("shared", [True, False])
def test_numbers_of_entries_beside_arrays(shared: bool) -> None:
    def weighted(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
        def call(A: Any) -> Any:
            numbers = A[..., 0]
            if isinstance(A, ls.SparseTensor) and not shared:
                numbers = ls.from_coo(numbers.indices(), numbers.values(), (4, 3))
            return function(A, numbers.unsqueeze(-1))

        return call

    for function in (
        lambda A, w: A * w,
        lambda A, w: w * A,
        lambda A, w: A / (2 + w),
        lambda A, w: A - w,
        lambda A, w: torch.maximum(A, w),
        lambda A, w: torch.where(w > 0.5, A, 2 * A),
    ):
        same(weighted(function), torch.rand(5, 3, dtype=torch.float64))


def test_unknown_arguments_are_named() -> None:
    A = ls.from_coo(INDICES, torch.rand(5, 3), (4, 3, 3))
    with pytest.raises(ls.DtypeError, match=r"std .*unexpected"):
        A.std(corection=0)
    with pytest.raises(ls.DtypeError, match=r"sum .*unexpected"):
        A.sum(-1, keepdims=True, kept=True)
    with pytest.raises(ls.IndexBoundsError, match="dim is 3"):
        A.sum(3)


def test_repeated_calls_read_their_own_values() -> None:
    A = ls.from_coo(INDICES, torch.rand(5, 3), (4, 3, 3))
    for _ in range(5):
        B = A.with_values(torch.rand(5, 3))
        torch.testing.assert_close(B.sum(-1).values(), B.values().sum(-1))
        torch.testing.assert_close(B.max(-1)[0].values(), B.values().amax(-1))
        divided = B / (1 + B.sum(-1, keepdim=True))
        torch.testing.assert_close(divided.values(), B.values() / (1 + B.values().sum(-1, keepdim=True)))
        torch.testing.assert_close(B[..., 1].values(), B.values()[:, 1])
        torch.testing.assert_close(torch.cat([B, B]).values(), torch.cat([B.values(), B.values()]))


def test_products_of_two_patterns_keep_blocks() -> None:
    values, numbers = torch.rand(5, 3), torch.rand(5)
    A, B = ls.from_coo(INDICES, values, (4, 3, 3)), ls.from_coo(INDICES.flip(0) % 3, numbers, (4, 3))
    found = ls.einsum("ij,ijk->ijk", B, A)
    torch.testing.assert_close(found.to_dense(), B.to_dense()[..., None] * A.to_dense())
    assert found.format.levels[-1] == "d"  # each number was listed by itself


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.complex64])
@pytest.mark.parametrize("block", [(), (3,)])
def test_gradients_of_entries_that_come_again(dtype: torch.dtype, block: tuple[int, ...]) -> None:
    indices = torch.tensor([[0, 2, 0, 1, 0, 2], [1, 0, 1, 2, 1, 0]])
    values = torch.randn(6, *block, dtype=torch.float64).to(dtype).requires_grad_()
    size = (4, 3, *block)
    found = ls.from_coo(indices, values, size).to_dense()
    want = torch.zeros(size, dtype=dtype).index_put((*indices,), values, accumulate=True)
    rounding = 2e-2 if dtype == torch.bfloat16 else 1e-6  # torch rounds each sum of halves
    torch.testing.assert_close(found, want, atol=rounding, rtol=rounding)
    weights = torch.rand(size).to(dtype)
    (wanted,) = torch.autograd.grad(want, values, weights)
    torch.testing.assert_close(torch.autograd.grad(found, values, weights)[0], wanted)


IN_GRAPHS: dict[str, Callable[[Any], Any]] = {
    "product": lambda A: A @ WEIGHT,
    "reduced": lambda A: A.amax(-1),
    "divided by norms": lambda A: A / (1 + A.norm(dim=-1, keepdim=True)),
    "moved": lambda A: A.flip(0),
    "joined": lambda A: torch.cat([A, 2 * A], 2),
    "reshaped": lambda A: A.reshape(2, -1, 3),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch says where it divides graphs
@pytest.mark.parametrize("name", IN_GRAPHS)
def test_arrays_in_graphs_of_torch(name: str) -> None:
    """Gradients of a graph's sparse results came in the arrays' shape; tracers were asked for fill values."""
    values = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    A = ls.from_coo(INDICES, values, (4, 3, 3))

    def computed(values: Tensor) -> Tensor:
        return IN_GRAPHS[name](A.with_values(values)).to_dense()

    wanted = values.clone().requires_grad_()
    given = values.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(computed(wanted).sin().sum(), wanted)
    torch._dynamo.reset()
    out = torch.compile(IN_GRAPHS[name], backend="aot_eager")(A.with_values(given)).to_dense()
    torch.testing.assert_close(out, computed(values))
    torch.testing.assert_close(torch.autograd.grad(out.sin().sum(), given)[0], gradient)
    # make_fx refuses products, as other functions of a kernel's whose results have entries of their own.
    if name != "product":
        torch.testing.assert_close(make_fx(computed)(values)(2 * values), computed(2 * values))
