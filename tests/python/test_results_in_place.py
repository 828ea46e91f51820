"""`out=` of products: the kernel writes to the tensor itself where it is like the result; elsewhere as torch has it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from libsparse._torch import registry, routed_calls

import libsparse as ls

ROWS, COLUMNS, WIDTH = 30, 20, 8
A = ls.random((ROWS, COLUMNS), density=0.2)
PRODUCTS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "mm": (torch.mm, (COLUMNS, WIDTH)),
    "matmul": (torch.matmul, (COLUMNS, WIDTH)),
    "matmul of a vector": (torch.matmul, (COLUMNS,)),
    "mv": (torch.mv, (COLUMNS,)),
}


@pytest.fixture(params=PRODUCTS)
def product(request: pytest.FixtureRequest) -> tuple[Callable[..., Any], torch.Tensor, torch.Tensor]:
    """A function that has been called, its dense operand, and the product."""
    function, shape = PRODUCTS[request.param]
    x = torch.randn(shape)
    for _ in range(2):  # the first product of a pattern is not prepared
        function(A, x)
    return function, x, A.to_dense() @ x


@pytest.fixture
def no_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that are copied are errors."""

    def refuse(*_: Any) -> None:
        raise AssertionError("a result was computed elsewhere and copied")

    monkeypatch.setattr(registry, "_copied", refuse)
    monkeypatch.setattr(routed_calls, "_run_into", refuse)


def test_written_by_the_kernel(product: Any, no_copies: None) -> None:
    """The kernel writes to the tensor, whose version says so."""
    function, x, wanted = product
    out = torch.full(wanted.shape, float("nan"))
    version = out._version
    assert function(A, x, out=out) is out
    torch.testing.assert_close(out, wanted)
    assert out._version > version
    whole = torch.full((3, *wanted.shape), float("nan"))
    function(A, x, out=whole[1])  # a part of a larger tensor
    torch.testing.assert_close(whole[1], wanted)
    assert whole[0].isnan().all()
    assert whole[2].isnan().all()


@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc])
def test_written_for_layouts_of_torch(layout: torch.layout, no_copies: None) -> None:
    """The same of torch's own sparse tensors."""
    matrix, x, out = A.to_dense().to_sparse(layout=layout), torch.randn(COLUMNS, WIDTH), torch.empty(ROWS, WIDTH)
    with ls.override():
        for _ in range(2):
            torch.mm(matrix, x)
        assert torch.mm(matrix, x, out=out) is out
    torch.testing.assert_close(out, A.to_dense() @ x)


def test_kept_values_are_read(no_copies: None) -> None:
    """Also where the kernel reads values in another order, which are kept once they come again."""
    turned, x, out = A.T, torch.randn(ROWS, WIDTH), torch.empty(COLUMNS, WIDTH)
    turned @ x  # the first product of a pattern is not prepared where others of its kind came before
    for _ in range(4):
        turned @ x
        torch.mm(turned, x, out=out)
        torch.testing.assert_close(out, A.to_dense().T @ x)


@pytest.fixture
def others() -> Iterator[dict[str, torch.Tensor]]:
    """Tensors for results that a kernel does not write to, by what is special about them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "An output with one or more elements was resized", UserWarning)
        yield {
            "another dtype": torch.empty(ROWS, WIDTH, dtype=torch.float64),
            "transposed": torch.empty(WIDTH, ROWS).T,
            "another shape": torch.empty(2, 2),
            "empty": torch.empty(0),
        }


def test_what_is_not_like_the_result(others: dict[str, torch.Tensor]) -> None:
    """Tensors of other dtypes, orders and shapes get the result as torch's products write it."""
    x = torch.randn(COLUMNS, WIDTH)
    wanted = A.to_dense() @ x
    for title, out in others.items():
        dtype, strides = out.dtype, out.stride()
        assert torch.mm(A, x, out=out) is out, title
        torch.testing.assert_close(out.to(wanted.dtype), wanted, msg=title)
        assert out.dtype is dtype
        assert title != "transposed" or out.stride() == strides


def test_operands_in_the_same_memory() -> None:
    """A result that takes the place of an operand, or of its part, is computed before."""
    square = ls.random((COLUMNS, COLUMNS), density=0.3)
    x = torch.randn(COLUMNS)
    wanted = square.to_dense() @ x
    square @ x
    torch.testing.assert_close(torch.mv(square, x, out=x), wanted)
    memory = torch.randn(2 * COLUMNS)
    x, out = memory[:COLUMNS], memory[COLUMNS // 2 : COLUMNS // 2 + COLUMNS]
    wanted = square.to_dense() @ x
    torch.testing.assert_close(torch.mv(square, x, out=out), wanted)
    few = ls.random((4, 4), density=0.5)  # the values themselves
    x, values = torch.randn(4), few.values()
    wanted = few.to_dense() @ x
    few @ x
    torch.testing.assert_close(torch.mv(few, x, out=values[:4]), wanted)


def test_autograd() -> None:
    """Autograd follows no call with `out=`, and learns of what was overwritten."""
    x, out = torch.randn(COLUMNS, WIDTH, requires_grad=True), torch.empty(ROWS, WIDTH)
    A @ x
    with pytest.raises(RuntimeError, match="autograd does not follow"):
        torch.mm(A, x, out=out)
    with torch.no_grad():
        torch.mm(A, x, out=out)
    weight = torch.randn(ROWS, WIDTH, requires_grad=True)
    loss = (weight * out).sum()
    with torch.no_grad():
        torch.mm(A, x, out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_autocast_leaves_out_alone() -> None:
    A, x, out = ls.random((40, 30), 0.3), torch.rand(30), torch.empty(40)
    with torch.autocast("cpu"):
        torch.mv(A, x, out=out)
    torch.testing.assert_close(out, A.to_dense() @ x)
