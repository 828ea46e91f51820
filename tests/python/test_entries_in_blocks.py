"""Entries that are dense blocks, such as one number for each head: products, gradients, softmax and conversions."""

from __future__ import annotations

import itertools

import pytest
import torch
from covering import pairs

import libsparse as ls

LEADING = ["ds", "ss", "uq", "ds:1,0", "ss:1,0"]


def scores(heads: int, shape: tuple[int, int] = (7, 9), dtype: torch.dtype = torch.float64) -> ls.SparseTensor:
    """Numbers of several heads at the entries of a matrix."""
    torch.manual_seed(0)
    dense = torch.randn(*shape, heads, dtype=dtype) * (torch.rand(shape) < 0.4)[..., None]
    return ls.from_torch(dense).to_format("dsd")


WEIGHTED = ["ijh,jhd->ihd", "ijh,ihd->jhd", "ijh,jhd->id", "ijh,jd->ihd", "ijh,jhd->hd"]


@pytest.mark.parametrize(("heads", "width", "spec"), pairs([1, 2, 3, 8, 40], [1, 7, 8, 16, 40], WEIGHTED))
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


def with_blocks(format: str, count: int) -> str:
    """The format with as many dense levels below."""
    levels, _, order = format.partition(":")
    return f"{levels}{'d' * count}:{','.join([order or '0,1', *map(str, range(2, 2 + count))])}"


PRODUCTS = [
    "ij,ih,jh->ijh",
    "ij,ihk,jhk->ijh",
    "ij,hik,hjk->ijh",
    "ijh->ij",
    "ijh,ij->ij",
    "ij,ijh->ijh",
    "ijh,ijh->ij",
    "ijh,hk->ijk",
    "ijh,hk->ijkh",
    "ijh,ijg->ijhg",
    "ijh,ijg->ijgh",
    "ijg,ijhk,hk->ij",
]


@pytest.mark.parametrize(
    ("leading", "spec", "heads"),
    [
        *pairs(LEADING[:2], PRODUCTS, [1, 3, 8]),
        *((LEADING[2 + n % 3], spec, (3, 8, 1)[n % 2]) for n, spec in enumerate(PRODUCTS)),
        *((LEADING[n % 5], spec, 0) for n, spec in enumerate(PRODUCTS)),
    ],
)
def test_products_share_the_arrays_of_their_entries(leading: str, heads: int, spec: str) -> None:
    torch.manual_seed(0)
    M = ls.from_torch(torch.randn(6, 5).double() * (torch.rand(6, 5) < 0.5)).to_format(leading)
    extents = {"i": 6, "j": 5, "h": heads, "g": 2, "k": 4}
    operands: list[torch.Tensor] = []
    inputs, output = spec.split("->")
    for term in inputs.split(","):
        numbers = torch.randn([extents[i] for i in term.removeprefix("ij")]).double()
        if not term.startswith("ij"):
            operands.append(numbers)
        elif term == "ij":
            operands.append(M)
        else:
            blocks = term.removeprefix("ij")
            E = ls.einsum(f"ij,{blocks}->{term}", M, numbers, format=with_blocks(leading, len(blocks)))
            operands.append(E.with_values(torch.randn_like(E.values()).requires_grad_()))
    found = ls.einsum(spec, *operands, format=with_blocks(leading, len(output) - 2))
    assert all(a is b for a, b in zip(found.pattern.tensors(), M.pattern.tensors(), strict=True))
    dense = [o.to_dense().detach().requires_grad_() if isinstance(o, ls.SparseTensor) else o for o in operands]
    expected = torch.einsum(spec, *dense)
    torch.testing.assert_close(found.to_dense(), expected)
    leaves = [n for n, o in enumerate(operands) if isinstance(o, ls.SparseTensor) and o.requires_grad]
    if leaves and heads:
        weights = torch.randn_like(expected)
        slopes = torch.autograd.grad((found.to_dense() * weights).sum(), [operands[n].values() for n in leaves])
        for n, slope in zip(leaves, slopes, strict=True):
            (want,) = torch.autograd.grad((expected * weights).sum(), dense[n], retain_graph=True)
            kept = dense[n] != 0
            torch.testing.assert_close(operands[n].detach().with_values(slope).to_dense()[kept], want[kept])


LATER = ["ij,hik,hjk->hij", "ij,hj->hij", "ij,i->ji", "ij,ih,jh->ihj", "ij,kh->kjhi", "ij,hik,hjk->ij"]
MATRICES = ["csr", "csc", "coo", "dcsr", "dn", "db", "dh", "ell", "sell(2)", "sell(2,4)", "bsr(2,2)", "dia"]


@pytest.mark.parametrize(
    ("spec", "stored"),
    [(spec, stored) for n, spec in enumerate(LATER) for stored in (MATRICES if n in (0, 2) else MATRICES[n % 2 :: 2])],
)
def test_products_with_modes_before_those_of_the_entries(stored: str, spec: str) -> None:
    torch.manual_seed(0)
    extents = {"i": 6, "j": 8, "h": 3, "k": 4}
    dense = torch.randn(6, 8).double() * (torch.rand(6, 8) < 0.5)
    M = ls.from_torch(dense).to_format(stored)
    others = [torch.randn([extents[i] for i in term]).double() for term in spec.split("->")[0].split(",")[1:]]
    values = M.values().clone().requires_grad_()
    dense.requires_grad_()
    leaves = [o.requires_grad_() for o in others]
    found, expected = ls.einsum(spec, M.with_values(values), *leaves), torch.einsum(spec, dense, *leaves)
    torch.testing.assert_close(found.to_dense(), expected)
    weights = torch.randn_like(expected)
    got = torch.autograd.grad((found.to_dense() * weights).sum(), [values, *leaves])
    want = torch.autograd.grad((expected * weights).sum(), [dense, *leaves])
    for a, b in zip(got[1:], want[1:], strict=True):
        torch.testing.assert_close(a, b)
    kept = dense != 0
    torch.testing.assert_close(M.with_values(got[0]).to_dense()[kept], want[0][kept])


def test_attention_of_several_heads() -> None:
    torch.manual_seed(0)
    M = ls.nn.patterns.window(12, 3)
    q, k, v = (torch.randn(2, 12, 5, dtype=torch.float64, requires_grad=True) for _ in range(3))
    scores = ls.einsum("ij,hik,hjk->hij", M, q, k)
    assert all(a is b for a, b in zip(scores.pattern.tensors(), M.pattern.tensors(), strict=True))
    found = ls.einsum("hij,hjd->hid", scores.softmax(2), v, format="dense")
    absent = M.to_dense() == 0
    expected = torch.einsum("hik,hjk->hij", q, k).masked_fill(absent, -torch.inf).softmax(2) @ v
    torch.testing.assert_close(found, expected)
    for a, b in zip(*(torch.autograd.grad(out.square().sum(), [q, k, v]) for out in (found, expected)), strict=True):
        torch.testing.assert_close(a, b)


def test_results_of_equal_products_are_of_one_pattern() -> None:
    M = ls.random((6, 5), 0.5)
    first, second = (ls.einsum("ij,ih,jh->ijh", M, torch.rand(6, 3), torch.rand(5, 3), format="dsd") for _ in range(2))
    assert first.pattern is second.pattern
    assert ls.einsum("ijh,hk->ijk", first, torch.rand(3, 3), format="dsd").pattern is first.pattern
    assert ls.einsum("ijh->ij", first, format="csr").pattern is M.pattern
    assert first.values().ndim == 1


@pytest.mark.parametrize("reduce", ["max", "min", "prod", "mean"])
def test_reductions_within_blocks(reduce: str) -> None:
    A = scores(3)
    found = ls.einsum("ijh->ij", A, reduce=reduce, format="csr")
    dense = A.to_dense()
    expected = {"max": dense.amax, "min": dense.amin, "prod": dense.prod, "mean": dense.mean}[reduce](2)
    kept = dense[..., 0] != 0  # elsewhere is what the reduction gives without terms
    torch.testing.assert_close(found.to_dense()[kept], expected[kept])
    assert found.nnz == kept.sum()


@pytest.mark.parametrize(
    ("old", "new", "blocks"),
    [
        *itertools.product(LEADING, LEADING, [(3,), (2, 4)]),
        *((old, new, (1,)) for old, new in itertools.pairwise(LEADING)),
    ],
    ids=str,
)
def test_conversions(old: str, new: str, blocks: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    dense = torch.randn(5, 4, *blocks) * (torch.rand(5, 4) < 0.5)[(..., *[None] * len(blocks))]
    A = ls.from_torch(dense).to_format(with_blocks(old, len(blocks)))
    B = A.to_format(with_blocks(new, len(blocks)))
    assert torch.equal(B.to_dense(), dense)
    assert B.values().numel() == A.values().numel()
    numbers = torch.arange(A.values().numel(), dtype=torch.float32)
    A = A.with_values(numbers)
    assert torch.equal(A.to_format(B.format).to_dense(), A.to_dense())


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
