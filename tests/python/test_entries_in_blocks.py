"""Entries that are dense blocks, such as one number for each head: products, gradients, softmax and conversions."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

LEADING = ["ds", "ss", "uq", "ds:1,0", "ss:1,0"]


def scores(heads: int, shape: tuple[int, int] = (7, 9), dtype: torch.dtype = torch.float64) -> ls.SparseTensor:
    """Numbers of several heads at the entries of a matrix."""
    torch.manual_seed(0)
    dense = torch.randn(*shape, heads, dtype=dtype) * (torch.rand(shape) < 0.4)[..., None]
    return ls.from_torch(dense).to_format("dsd")


@pytest.mark.parametrize("heads", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("width", [1, 7, 8, 16, 40])
@pytest.mark.parametrize("spec", ["ijh,jhd->ihd", "ijh,ihd->jhd", "ijh,jhd->id", "ijh,jd->ihd", "ijh,jhd->hd"])
def test_products(heads: int, width: int, spec: str) -> None:
    A = scores(heads)
    extents = {"i": 7, "j": 9, "h": heads, "d": width}
    X = torch.randn([extents[index] for index in spec.split(",")[1].split("->")[0]], dtype=torch.float64)
    values = A.values().clone().requires_grad_()
    dense = A.to_dense().requires_grad_()
    X.requires_grad_()
    found = ls.einsum(spec, A.with_values(values), X, format="dense")
    expected = torch.einsum(spec, dense, X)
    torch.testing.assert_close(found, expected)
    weights = torch.randn_like(expected)
    got = torch.autograd.grad((found * weights).sum(), [values, X])
    want = torch.autograd.grad((expected * weights).sum(), [dense, X])
    torch.testing.assert_close(got[1], want[1])
    kept = A.to_dense() != 0
    torch.testing.assert_close(A.with_values(got[0]).to_dense()[kept], want[0][kept])


@pytest.mark.parametrize("heads", [1, 3, 8, 16, 65])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64], ids=str)
def test_results_in_blocks(heads: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    M = ls.random((6, 5), 0.5).to(dtype)
    left, right = torch.randn(6, heads).to(dtype), torch.randn(5, heads).to(dtype)
    found = ls.evaluate("e(i,j,h) = M(i,j) * (l(i,h) + r(j,h))", M=M, l=left, r=right, format="dsd")
    expected = M.to_dense()[..., None] * (left[:, None] + right[None])
    torch.testing.assert_close(found.to_dense(), expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("old", LEADING)
@pytest.mark.parametrize("new", LEADING)
@pytest.mark.parametrize("blocks", [(3,), (2, 4), (1,)], ids=str)
def test_conversions(old: str, new: str, blocks: tuple[int, ...]) -> None:
    def format_of(leading: str) -> str:
        levels, _, order = leading.partition(":")
        behind = range(2, 2 + len(blocks))
        return f"{levels}{'d' * len(blocks)}:{','.join([order or '0,1', *map(str, behind)])}"

    torch.manual_seed(0)
    dense = torch.randn(5, 4, *blocks) * (torch.rand(5, 4) < 0.5)[(..., *[None] * len(blocks))]
    A = ls.from_torch(dense).to_format(format_of(old))
    B = A.to_format(format_of(new))
    assert torch.equal(B.to_dense(), dense)
    assert B.values().numel() == A.values().numel()
    numbers = torch.arange(A.values().numel(), dtype=torch.float32)
    assert torch.equal(A.with_values(numbers).to_format(format_of(new)).to_dense(), A.with_values(numbers).to_dense())


def test_conversions_of_modes_that_stand_elsewhere() -> None:
    dense = torch.randn(3, 2, 4) * (torch.rand(3, 4) < 0.5)[:, None]
    A = ls.from_torch(dense).to_format("dsd:0,2,1")
    assert torch.equal(A.to_format("dsd:2,0,1").to_dense(), dense)
    assert torch.equal(A.to_format("csf").to_dense(), dense)
    assert torch.equal(A.to_format("csf").to_format("dsd:2,0,1").to_dense(), dense)


def test_empty_conversions() -> None:
    for shape in ((0, 3, 2), (3, 0, 2), (3, 4, 0), (3, 4, 2)):
        A = ls.from_torch(torch.zeros(shape)).to_format("dsd")
        assert A.to_format("dsd:1,0,2").to_dense().shape == shape


def test_softmax_converts_nothing() -> None:
    A = scores(4)
    found = A.softmax(1)
    dense = A.to_dense().masked_fill(A.to_dense() == 0, -torch.inf)
    torch.testing.assert_close(found.to_dense(), dense.softmax(1).nan_to_num(0))
    assert not [name for name in A.pattern.derived if name.startswith("format")]


def test_softmax_leaves_its_operand() -> None:
    for heads in (1, 4):
        A = scores(heads, (300, 200), torch.float32)
        before = A.values().clone()
        with torch.no_grad():
            weights = A.softmax(1)
        assert torch.equal(A.values(), before)
        values = before.clone().requires_grad_()
        A.with_values(values).softmax(1).values().square().sum().backward()
        kept = weights.values().clone()
        again = A.softmax(1).values()
        assert torch.equal(kept, again)
        dense = A.to_dense().masked_fill(A.to_dense() == 0, -torch.inf).requires_grad_()
        dense.softmax(1).nan_to_num(0).square().sum().backward()
        slopes = A.with_values(values.grad).to_dense()
        torch.testing.assert_close(slopes[A.to_dense() != 0], dense.grad[A.to_dense() != 0], rtol=1e-4, atol=1e-5)
