"""torch.func's transforms and forward mode over dense operands and values."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.flop_counter import FlopCounterMode

import libsparse as ls

pytestmark = [  # torch's own: on the first use of forward mode, and of linearize
    pytest.mark.filterwarnings("ignore:`torch.jit"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node"),
]

A = ls.random((6, 7), 0.4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
DENSE = A.to_dense()
ROWS, COLUMNS = A.indices()

# Functions of values and a dense operand, with the same in torch.
FUNCTIONS: dict[str, Callable[[Any, Tensor], Tensor]] = {
    "product": lambda A, x: A @ x,
    "einsum": lambda A, x: ls.einsum("ij,jk->ki", A, x) if isinstance(A, ls.SparseTensor) else (A @ x).T,
    "twice": lambda A, x: torch.sin(A @ torch.tanh(x)) + A @ x,
    "sddmm": lambda A, x: ls.sddmm(A, A @ x, x.T) @ x if isinstance(A, ls.SparseTensor) else (A * ((A @ x) @ x.T)) @ x,
    "expression": lambda A, x: (
        ls.evaluate("y(i,k) = A(i,j) * exp(x(j,k))", A=A, x=x) if isinstance(A, ls.SparseTensor) else A @ torch.exp(x)
    ),
    "elementwise": lambda A, x: (A * A + A).sum(1) + x.sum(),
    "factors": lambda A, x: A[1:2].prod(1) + A.amax(1) + x.sum(),
}


def both(name: str) -> tuple[Callable[[Tensor, Tensor], Tensor], Callable[[Tensor, Tensor], Tensor]]:
    function = FUNCTIONS[name]

    def sparse(values: Tensor, x: Tensor) -> Tensor:
        return function(A.with_values(values), x)

    def dense(values: Tensor, x: Tensor) -> Tensor:
        return function(torch.zeros_like(DENSE).index_put((ROWS, COLUMNS), values), x)

    return sparse, dense


def inputs() -> tuple[Tensor, Tensor]:
    return A.values().clone(), torch.randn(7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("transform", ["grad", "jacrev", "jacfwd", "hessian", "vmap of grad"])
def test_transforms(name: str, number: int, transform: str) -> None:
    func: Any = torch.func

    def apply(f: Callable[..., Tensor]) -> Any:
        given = inputs()
        if transform in ("jacrev", "jacfwd"):
            return getattr(func, transform)(f, argnums=number)(*given)
        total = lambda *args: f(*args).square().sum()  # noqa: E731
        if transform == "hessian":
            return func.jacrev(func.grad(total, argnums=number), argnums=number)(*given)
        if transform == "grad":
            return func.grad(total, argnums=number)(*given)
        batch = [torch.stack([t, t * 2]) if n == number else t for n, t in enumerate(given)]
        dims = tuple(0 if n == number else None for n in range(2))
        return func.vmap(func.grad(total, argnums=number), dims)(*batch)

    sparse, dense = both(name)
    torch.testing.assert_close(apply(sparse), apply(dense))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dims", [(0, None), (None, 0), (None, 2), (0, 0)])
def test_vmap(name: str, dims: tuple[int | None, int | None]) -> None:
    values, x = inputs()
    batch = [
        t if dim is None else torch.stack([t, t + 1, t * 2]).movedim(0, dim if t.ndim > 1 else 0)
        for t, dim in zip((values, x), dims, strict=True)
    ]
    sparse, dense = both(name)
    torch.testing.assert_close(torch.vmap(sparse, dims)(*batch), torch.vmap(dense, dims)(*batch))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_forward_mode(name: str) -> None:
    def derivative(f: Callable[..., Tensor]) -> Tensor | None:
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(t, torch.cos(t)) for t in inputs()]
            return forward_ad.unpack_dual(f(*duals)).tangent

    sparse, dense = both(name)
    torch.testing.assert_close(derivative(sparse), derivative(dense))
    torch.autograd.gradcheck(sparse, [t.requires_grad_() for t in inputs()], check_forward_ad=True)


@pytest.mark.parametrize("name", ["product", "sddmm", "expression"])
@pytest.mark.parametrize("function", ["vjp", "jvp", "hvp"])
def test_functional(name: str, function: str) -> None:
    def apply(f: Callable[..., Tensor]) -> Any:
        given = inputs()
        call = getattr(torch.autograd.functional, function)
        if function == "vjp":
            return call(f, given, torch.ones(6, 3, dtype=torch.float64))
        return call(f if function == "jvp" else lambda *args: f(*args).square().sum(), given, given)

    sparse, dense = both(name)
    torch.testing.assert_close(apply(sparse), apply(dense))


SPARSE_RESULTS: dict[str, Callable[[Any], Any]] = {
    "scaled": lambda A: A * 2,
    "relu": torch.relu,
    "exp": torch.exp,
    "transposed": lambda A: A.T,
    "rows": lambda A: A[1:4],
    "product": lambda A: A @ A.T,
    "softmax": lambda A: torch.softmax(A, 1),
}


@pytest.mark.parametrize("name", SPARSE_RESULTS)
def test_vmap_returns_a_batch_of_sparse_results(name: str) -> None:
    values = torch.rand(3, A.nnz, dtype=torch.float64)

    def function(values: Tensor) -> Any:
        return SPARSE_RESULTS[name](A.with_values(values))

    found = torch.func.vmap(function)(values)
    assert isinstance(found, ls.SparseTensor)
    torch.testing.assert_close(found.to_dense(), torch.stack([function(v).to_dense() for v in values]))


def torch_places_batches() -> bool:
    """Whether torch puts what is the same for a whole batch where `out_dims` says; that of version 2.6 does not."""
    try:
        return torch.vmap(lambda v: torch.ones(2), out_dims=1)(torch.ones(3)).shape == (2, 3)
    except RuntimeError:
        return False


@pytest.mark.skipif(not torch_places_batches(), reason="torch does not say which dimension out_dims names")
def test_gradients_of_a_batch_of_sparse_results() -> None:
    values = torch.rand(3, A.nnz, dtype=torch.float64, requires_grad=True)
    found = torch.func.vmap(lambda v: A.with_values(v) * 2, out_dims=1)(values)
    assert found.shape == (6, 3, 7)
    found.values().square().sum().backward()
    torch.testing.assert_close(values.grad, 8 * values.detach())
    with pytest.raises(ls.UnsupportedError, match=r"return its values\(\) instead"):
        torch.func.vmap(torch.func.vmap(lambda v: A.with_values(v)))(values[None])


def test_vmap_over_extrema_and_their_places() -> None:
    values = torch.randn(3, A.nnz, dtype=torch.float64)
    found = torch.func.vmap(lambda v: tuple(A.with_values(v).max(1)))(values)
    dense = torch.stack([A.with_values(v).to_dense() for v in values]).max(2)
    assert torch.equal(found[0], dense.values)
    assert torch.equal(found[1], dense.indices)


TRANSFORMED = {
    "grad": (lambda f, v, w: torch.func.grad(lambda u: (f(u) ** 2).sum())(v)),
    "jvp": (lambda f, v, w: torch.func.jvp(f, (v,), (w,))[1]),
    "vmap": (lambda f, v, w: torch.func.vmap(f)(torch.stack([v, w]))),
    "linearize": (lambda f, v, w: torch.func.linearize(f, v)[1](w)),
}


@pytest.mark.parametrize("transform", TRANSFORMED)
@pytest.mark.parametrize("way", ["traced", "counted"])
def test_transforms_while_torch_watches_each_operation(transform: str, way: str) -> None:
    """Derivatives of forward mode were zero in graphs, other transforms were refused by torch."""
    A = ls.random((6, 5), density=0.4)
    x, v, w = torch.rand(5, 3), torch.rand(A.nnz), torch.rand(A.nnz)
    rows, columns = A.indices()
    run = TRANSFORMED[transform]
    expected = run(lambda u: torch.zeros(6, 3).index_add(0, rows, u[:, None] * x[columns]), v, w)

    def found(v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return run(lambda u: A.with_values(u) @ x, v, w)

    if way == "traced" and transform != "linearize":  # which traces by itself
        torch.testing.assert_close(make_fx(found)(w, v)(v, w), expected)
    else:
        with FlopCounterMode(display=False) if way == "counted" else contextlib.nullcontext():
            torch.testing.assert_close(found(v, w), expected)


def test_forward_mode_of_expressions_in_graphs_is_refused() -> None:
    A = ls.random((6, 5), density=0.4)
    with pytest.raises(ls.UnsupportedError, match="reverse mode"):
        torch.func.linearize(lambda v: A.with_values(v).prod(1), torch.rand(A.nnz))


@pytest.mark.parametrize("transform", ["jvp", "vjp", "grad", "jacfwd", "jacrev", "vmap"])
def test_transforms_over_tensors_say_that_they_take_values(transform: str) -> None:
    A = ls.random((6, 5), density=0.4)
    over = getattr(torch.func, transform)
    arguments = {"jvp": ((A,), (A,)), "vjp": (A,)}.get(transform)
    with pytest.raises(ls.UnsupportedError, match=r"A\.with_values\(v\)"):
        over(lambda M: (M @ torch.ones(5)).sum(), *arguments) if arguments else over(lambda M: M.sum())(A)
