"""Attention in one pass: means weighted by an online softmax, against dense torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from covering import pairs
from libsparse._ops import pooled_gradient, softmax_mean
from libsparse._ops.mean_notation import Mean, problem
from libsparse._runtime import dispatch
from libsparse._runtime.problem import Operand
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

import libsparse as ls


@pytest.fixture(autouse=True)
def passes(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each of the means so far was computed in one pass; rows of any length are."""
    found: list[bool] = []
    compute = softmax_mean.compute

    def noted(*args: Any) -> Tensor | None:
        out = compute(*args)
        found.append(out is not None)
        return out

    monkeypatch.setattr(softmax_mean, "compute", noted)
    monkeypatch.setattr(softmax_mean, "_LONG_ROW", 0)
    monkeypatch.setattr(softmax_mean, "_LONG_ROW_IN_TILES", 0)
    torch.manual_seed(0)
    return found


def chosen(n: int = 40, m: int = 50) -> Tensor:
    where = torch.rand(n, m) < 0.7
    where[3] = False
    return where


def drawn(*shape: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    *heads, n, m, d, e = shape
    return [torch.randn(*heads, *size, dtype=dtype, requires_grad=True) for size in ((n, d), (m, d), (m, e))]


def dense(q: Tensor, k: Tensor, v: Tensor, where: Tensor, added: Any = 0) -> Tensor:
    scores = torch.where(where, q @ k.mT / q.shape[-1] ** 0.5 + added, -1e30)
    return (scores.softmax(-1) * where) @ v


@pytest.mark.parametrize(
    ("format", "heads"),
    [("csr", ()), ("csr", (2, 3)), ("coo", ()), ("csc", (2, 3)), ("dcsr", ()), ("ell", (2, 3))],
)
def test_values_and_gradients(format: str, heads: tuple[int, ...], passes: list[bool]) -> None:
    where, (q, k, v) = chosen(), drawn(*heads, 40, 50, 3, 70)
    v = v[..., :5]
    added = torch.randn(40, 50, dtype=torch.float64)
    mask = ls.tensor(torch.where(where, added, 0)).to_format(format).requires_grad_()
    for given, more in ((ls.from_mask(where).to_format(format), torch.zeros(())), (mask, added.requires_grad_())):
        found, wanted = ls.attention(q, k, v, given), dense(q, k, v, where, more)
        torch.testing.assert_close(found, wanted)
        upstream = torch.randn_like(found)
        torch.testing.assert_close(
            *(torch.autograd.grad(o, (q, k, v), upstream, retain_graph=True) for o in (found, wanted))
        )
    slopes = torch.autograd.grad(found, mask, upstream)[0].to_dense()
    torch.testing.assert_close(slopes, torch.autograd.grad(wanted, added, upstream)[0])
    assert passes == [True, True]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_dtypes(dtype: torch.dtype, passes: list[bool]) -> None:
    where = chosen()
    q, k, v = (t.detach() for t in drawn(40, 50, 4, 5, dtype=dtype))
    for mask, added in ((ls.from_mask(where), 0), (ls.tensor(where.int() * 3), 3)):
        wanted = dense(q.double(), k.double(), v.double(), where, added).to(dtype)
        tolerance = {} if dtype.itemsize > 2 else {"atol": 2e-2, "rtol": 2e-2}
        torch.testing.assert_close(F.scaled_dot_product_attention(q, k, v, mask), wanted, **tolerance)
    assert passes == [True, True]


def test_scores_that_are_large_or_infinite(passes: list[bool]) -> None:
    where = chosen()
    q, k, v = (t.detach().float() for t in drawn(40, 50, 4, 5))
    torch.testing.assert_close(
        ls.attention(q * 1e3, k * 1e3, v, ls.from_mask(where)), dense(q * 1e3, k * 1e3, v, where)
    )
    added = torch.where(torch.rand(40, 50) < 0.3, -torch.inf, 1.0)
    added[5] = -torch.inf  # a row whose weights are 0 / 0
    added[6, where[6].nonzero()[0]] = torch.nan
    mask = ls.from_mask(where).float()
    mask = mask.with_values(added[where])
    wanted = torch.where(where, q @ k.mT / 2 + added, -torch.inf).softmax(-1) @ v
    wanted[3] = 0
    torch.testing.assert_close(ls.attention(q, k, v, mask), wanted, equal_nan=True)
    assert passes == [True, True]


def test_second_gradients(passes: list[bool]) -> None:
    where = torch.ones(6, 7, dtype=torch.bool)
    where[2], where[:, 3] = False, False
    mask = ls.from_mask(where).double()
    inputs = (*drawn(6, 7, 1, 1), torch.randn(mask.nnz, dtype=torch.float64, requires_grad=True))

    def function(q: Tensor, k: Tensor, v: Tensor, values: Tensor) -> Tensor:
        return ls.attention(q, k, v, mask.with_values(values))

    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)
    assert all(passes)


CHAINS: dict[str, Callable[..., Tensor]] = {
    "masked": lambda M, q, k, v: torch.softmax(M * (q @ k.T) * 0.3, -1) @ v,
    "sddmm": lambda M, q, k, v: torch.softmax(ls.sddmm(M, q, k.T) / -2, -1) @ v,
    "followed": lambda M, q, k, v: torch.relu(torch.softmax(M * (q @ k.T), 1) @ v) + 1,
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains_are_one_kernel(name: str, passes: list[bool]) -> None:
    function = CHAINS[name]
    M, (q, k, v) = ls.tensor(torch.where(chosen(), torch.rand(40, 50).double(), 0)), drawn(40, 50, 4, 5)
    M.requires_grad_()
    found, wanted = ls.compile(function)(M, q, k, v), function(M, q, k, v)
    torch.testing.assert_close(found, wanted)
    upstream = torch.randn_like(found)
    for one, two in zip(*(torch.autograd.grad(o, (M, q, k, v), upstream) for o in (found, wanted)), strict=True):
        torch.testing.assert_close(*(t.to_dense() if isinstance(t, ls.SparseTensor) else t for t in (one, two)))
    assert passes == [True]
    assert "softmax_mean(" in ls.explain(function, M, q, k, v)


def test_no_scores_are_stored() -> None:
    n, w, heads = 4000, 1000, 8
    mask = ls.from_csr(torch.arange(n + 1) * w, torch.arange(w).repeat(n), None, (n, n)).pattern
    q = torch.randn(heads, n, 4)
    given = ls.SparseTensor(mask, None)
    ls.attention(q, q, q, given)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
        ls.attention(q, q, q, given)
    largest = max(event.cpu_memory_usage for event in profiler.events())
    assert largest < heads * n * w  # a byte for each score


@pytest.mark.usefixtures("without_trials")
@pytest.mark.parametrize("format", ["csr", "csc", "dcsr", "coo", "ell"])
def test_compiled_functions_take_masks_of_other_formats(format: str, passes: list[bool]) -> None:
    where, (q, k, v) = chosen(), drawn(40, 50, 3, 5)
    M = ls.tensor(torch.where(where, torch.randn(40, 50, dtype=torch.float64), 0)).to_format(format).requires_grad_()

    def attend(M: Any, q: Tensor, k: Tensor, v: Tensor) -> Any:
        return torch.softmax(M * (q @ k.T), 1) @ v

    compiled = ls.compile(attend)
    for _ in range(4):  # the later ones follow a trace where nothing needs a gradient
        with torch.no_grad():
            torch.testing.assert_close(compiled(M, q, k, v), attend(M, q, k, v))
    assert passes == [True] * 4
    found, wanted = compiled(M, q, k, v), attend(M, q, k, v)
    torch.testing.assert_close(found, wanted)
    leaves = [M.values(), q, k, v]
    grads = [torch.autograd.grad(t.square().sum(), leaves) for t in (found, wanted)]
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other)


def band(n: int, reach: int) -> Tensor:
    """Rows that have most of their columns in common, which kernels compute in tiles, but for some rows."""
    where = torch.ones(n, n).tril(reach).triu(-reach).bool()
    where[0], where[-1] = True, False
    where[-2] = torch.rand(n) < 0.1
    return where


@pytest.mark.parametrize(
    ("widths", "dtype", "heads"), pairs([(8, 8), (5, 20), (3, 40)], [torch.float32, torch.float64], [(), (2, 3)])
)
def test_bands_are_computed_in_tiles(widths: tuple[int, int], dtype: torch.dtype, heads: tuple[int, ...]) -> None:
    d, e = widths
    where, (q, k, v) = band(101, 30), drawn(*heads, 101, 101, d, e, dtype=dtype)
    found, wanted = ls.attention(q, k, v, ls.from_mask(where)), dense(q, k, v, where)
    torch.testing.assert_close(found, wanted)
    upstream = torch.randn_like(found)
    mask = ls.from_mask(where)
    assert pooled_gradient._waste(mask.pattern) < pooled_gradient._WASTE
    grads = [torch.autograd.grad(o, (q, k, v), upstream, retain_graph=True) for o in (found, wanted)]
    torch.testing.assert_close(*grads)
    some = torch.autograd.grad(found, (q, v), upstream)  # those of some operands alone
    torch.testing.assert_close(some, grads[1][::2])


def test_gradients_of_scaled_scores_of_bands() -> None:
    where, (q, k, v) = band(64, 20), drawn(64, 64, 4, 9)
    M = ls.from_mask(where)

    def attend(M: Any, q: Tensor, k: Tensor, v: Tensor) -> Any:
        return torch.softmax(ls.sddmm(M, q, k.T) * -0.7, -1) @ v

    found, wanted = ls.compile(attend)(M, q, k, v), dense(q * -1.4, k, v, where)
    torch.testing.assert_close(found, wanted)
    upstream = torch.randn_like(found)
    torch.testing.assert_close(*(torch.autograd.grad(o, (q, k, v), upstream) for o in (found, wanted)))


def test_what_is_not_attended_does_not_count() -> None:
    """A value that is infinite, or a score beyond all others, is nothing to rows without an entry for it."""
    where, (q, k, v) = band(64, 20), (t.detach().float() for t in drawn(64, 64, 4, 9))
    where[:, 10] = False
    mask, upstream = ls.from_mask(where), torch.randn(64, 9)
    with_leaves = [[t.clone().requires_grad_() for t in (q, k, v)] for _ in range(2)]
    other = with_leaves[1]
    with torch.no_grad():
        other[1][10], other[2][10] = 1e20, torch.inf
    outs = [ls.attention(*leaves, mask) for leaves in with_leaves]
    torch.testing.assert_close(*outs)
    torch.testing.assert_close(
        *(torch.autograd.grad(out, leaves, upstream) for out, leaves in zip(outs, with_leaves, strict=True))
    )


@pytest.mark.parametrize(  # columns: entry by entry, and in tiles
    ("columns", "dtype", "heads"), pairs([3, 16, 300], [torch.float32, torch.float64], [(), (3,)])
)
def test_what_gives_the_weights_is_stored(heads: tuple[int, ...], columns: int, dtype: torch.dtype) -> None:
    where = chosen()
    q, k, v = (torch.randn(*heads, *size, dtype=dtype) for size in ((40, 5), (50, 5), (50, columns)))
    at = ("h",) * len(heads)
    mean = Mean((("n", "m"), (*at, "n", "d"), (*at, "m", "d")), (*at, "m", "e"), (*at, "n", "e"), (0.5,))
    most, share = torch.full((2, *heads, 40), torch.nan, dtype=dtype)
    operands = [Operand(ls.from_mask(where).pattern, None), *(Operand(None, x) for x in (q, k, v))]
    stored = [Operand(None, most), Operand(None, share)]
    found = dispatch.run(problem(mean, storing=True), [*operands, *stored])[0]
    assert torch.equal(found, dispatch.run(problem(mean), operands)[0])
    scores = torch.where(where, q @ k.mT / 2, -torch.inf)
    torch.testing.assert_close(most, torch.where(where.any(1), scores.amax(-1), 0))
    sums = (scores - most[..., None]).exp().sum(-1)
    torch.testing.assert_close(share, torch.where(where.any(1), 1 / sums, 0))


@pytest.mark.parametrize("factor", [1e4, 1e8])
def test_gradients_of_large_scores(factor: float) -> None:
    i = torch.arange(200)
    where = (i[:, None] - i).abs() <= 60
    # Equal keys: the weights of a row are equal, however large the scores are.
    q, k, v = torch.randn(200, 16) * factor, torch.randn(1, 16).expand(200, 16).clone(), torch.randn(200, 16)
    inputs = [x.requires_grad_() for x in (q, k, v)]
    upstream = torch.randn(200, 16)
    found = torch.autograd.grad(ls.attention(*inputs, ls.from_mask(where)), inputs, upstream)
    wanted = torch.autograd.grad(dense(*inputs, where), inputs, upstream)
    for one, other in zip(found[1:], wanted[1:], strict=True):  # that of the queries is zero but for rounding
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4 * float(other.abs().max()))


def test_what_is_kept_is_autograds() -> None:
    inputs = drawn(2, 200, 200, 16, 16, dtype=torch.float32)
    i = torch.arange(200)
    saved: list[Tensor] = []

    def pack(x: Tensor) -> Tensor:
        saved.append(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        ls.attention(*inputs, ls.from_mask((i[:, None] - i).abs() <= 60))
    assert [tuple(x.shape) for x in saved if x.shape == (2, 200)] == [(2, 200)] * 2


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The right sides of what gradients compute."""
    found: list[str] = []
    run = pooled_gradient._Text.run

    def noted(self: Any, output: Any, right: str) -> Tensor:
        found.append(right.split("(")[0])
        return run(self, output, right)

    monkeypatch.setattr(pooled_gradient._Text, "run", noted)
    return found


@pytest.mark.parametrize(  # in tiles, and entry by entry; one matrix, and more than threads divide evenly
    ("widths", "dtype", "heads"), pairs([(8, 40), (3, 9), (40, 5)], [torch.float32, torch.float64], [1, 3, 8])
)
def test_one_kernel_computes_all_gradients(
    widths: tuple[int, int], dtype: torch.dtype, heads: int, kernels: list[str]
) -> None:
    where, inputs = band(101, 30), drawn(heads, 101, 101, *widths, dtype=dtype)
    mask, upstream = ls.from_mask(where), torch.randn(heads, 101, widths[1], dtype=dtype)
    wanted = torch.autograd.grad(dense(*inputs, where), inputs, upstream)
    for count in (1, 2, 4):
        kernels.clear()
        with ls.options(num_threads=count):
            found = torch.autograd.grad(ls.attention(*inputs, mask), inputs, upstream)
        torch.testing.assert_close(found, wanted)
        busy = heads / (count * -(-heads // count))
        assert kernels == (["weighted_sum_into"] if busy >= 0.7 else ["weighted_sum"] * 3)


def test_gradients_of_one_kernel_have_the_same_bits_with_any_number_of_threads(kernels: list[str]) -> None:
    inputs = drawn(4, 300, 300, 16, 24, dtype=torch.float32)
    mask, upstream = ls.from_mask(band(300, 60)), torch.randn(4, 300, 24)
    found = []
    for count in (1, 2, 4):
        with ls.options(num_threads=count):
            found.append(torch.autograd.grad(ls.attention(*inputs, mask), inputs, upstream))
    assert all(torch.equal(x, y) for others in found[1:] for x, y in zip(found[0], others, strict=True))
    assert kernels == ["weighted_sum_into"] * 3


def test_rows_that_attend_to_nothing_add_nothing(kernels: list[str]) -> None:
    """An infinite query, or an infinite gradient, of a row without entries is in the same tile as others."""
    where, (q, k, v) = band(64, 20), drawn(2, 64, 64, 8, 9)
    upstream = torch.randn(2, 64, 9, dtype=torch.float64)
    wanted = torch.autograd.grad(dense(q, k, v, where), (k, v), upstream)
    with torch.no_grad():
        q[:, -1], upstream[:, -1] = torch.inf, torch.nan
    found = torch.autograd.grad(ls.attention(q, k, v, ls.from_mask(where)), (q, k, v), upstream)
    torch.testing.assert_close(found[1:], wanted)
    assert kernels == ["weighted_sum_into"]
