"""Products that read a dense operand across its rows, as F.linear does with a sparse weight: strips and no copies."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from covering import pairs
from libsparse._compiler import target

import libsparse as ls


@pytest.fixture(autouse=True)
def _near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "caches", lambda: (1 << 20, 1 << 25))
    torch.manual_seed(0)


def weight(rows: int, columns: int, dtype: torch.dtype = torch.float32) -> ls.SparseTensor:
    return ls.tensor(torch.where(torch.rand(rows, columns) < 0.1, torch.randn(rows, columns), 0).to(dtype))


@pytest.mark.parametrize(  # whole strips, and a rest that is shifted inwards
    ("rows", "dtype", "threads"), pairs([64, 200, 256, 1000], [torch.float32, torch.float64], [1, 2])
)
def test_values_and_gradients(rows: int, dtype: torch.dtype, threads: int) -> None:
    W, bias = weight(150, 90, dtype), torch.randn(150, dtype=dtype)
    dense = W.to_dense()
    with ls.options(num_threads=threads):
        x, y = (torch.randn(rows, n, dtype=dtype, requires_grad=True) for n in (90, 150))
        torch.testing.assert_close(F.linear(x, W, bias), F.linear(x, dense, bias))
        torch.testing.assert_close(y @ W, y @ dense)
        found = torch.autograd.grad(F.linear(x, W).square().sum(), x)
        torch.testing.assert_close(found, torch.autograd.grad(F.linear(x, dense).square().sum(), x))


@pytest.mark.parametrize("rows", [256, 1000])
def test_neither_operand_nor_result_is_copied(rows: int) -> None:
    with ls.options(num_threads=2):
        plan = ls.explain("ij,kj->ik", torch.randn(rows, 90), weight(150, 90), stage="schedule")
    assert "is turned to a panel" in plan
    assert "copied in each call" not in plan


@pytest.mark.parametrize(
    ("rows", "across", "others", "entries", "size", "team", "wanted"),
    [
        (256, 784, 1024, 80_000, 4, 2, 64),
        (256, 784, 1024, 80_000, 8, 2, 0),  # entries fill the near cache
        (256, 784, 1024, 50_000, 4, 8, 32),
        (256, 784, 1024, 20_000, 4, 16, 0),  # fewer strips than threads
        (64, 784, 1024, 20_000, 4, 2, 32),
        (200, 784, 1024, 20_000, 4, 2, 32),
        (100, 784, 1024, 20_000, 4, 2, 0),
        (1000, 784, 1024, 20_000, 4, 2, 64),
        (256, 100, 100, 20_000, 4, 2, 0),  # copies take little of the time
        (256, 4096, 1024, 20_000, 4, 2, 32),  # a wider panel would take half of the near cache
        (256, 10_000, 1024, 20_000, 4, 2, 0),  # so would the narrower one
        (3, 784, 1024, 20_000, 4, 1, 0),
        (0, 0, 0, 0, 4, 2, 0),
    ],
)
def test_widths_of_strips(
    rows: int,
    across: int,
    others: int,
    entries: int,
    size: int,
    team: int,
    wanted: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(target, "caches", lambda: (1 << 21, 1 << 25) if size == 4 else (1 << 20, 1 << 25))
    assert target.strip(rows, across, others, entries, size, team) == wanted
    monkeypatch.setattr(target, "caches", tuple)
    assert target.strip(rows, across, others, entries, size, team) == 0


def test_operands_of_other_layouts_and_shapes() -> None:
    W = weight(150, 90)
    dense = W.to_dense()
    for x in (torch.randn(90, 256).T, torch.randn(256, 180)[:, ::2], torch.randn(1, 90).expand(256, 90)):
        torch.testing.assert_close(F.linear(x, W), F.linear(x, dense))
    x = torch.randn(4, 64, 90)
    torch.testing.assert_close(F.linear(x, W), F.linear(x, dense))
    for n in (0, 1, 63):
        x = torch.randn(n, 90)
        torch.testing.assert_close(F.linear(x, W), F.linear(x, dense))


@pytest.mark.parametrize("near", [1 << 20, 1 << 14])  # entries are in the near cache, as strips need, or aren't
def test_what_comes_after_the_product(near: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "caches", lambda: (near, 1 << 25))
    W, x, b = weight(150, 90), torch.randn(256, 90), torch.randn(150)
    text = "y(i,k) = max(sum(x(i,j) * W(k,j)) + b(k), 0)"
    with ls.options(num_threads=2):
        found = ls.evaluate(text, x=x, W=W, b=b)
        plan = ls.explain(text, x=x, W=W, b=b, stage="schedule")
    torch.testing.assert_close(found, F.relu(F.linear(x, W.to_dense(), b)))
    assert ("is turned to a panel" in plan) == (near == 1 << 20)
    assert "gather" not in plan


def test_a_bias_is_added_in_place() -> None:
    W, x = weight(150, 90), torch.randn(64, 90)
    b = torch.randn(150, requires_grad=True)
    for dtype in (torch.float32, torch.float64):
        bias = b.to(dtype)
        outs = [F.linear(x, W, bias) for _ in range(5)]
        wanted = torch.einsum("ni,oi->no", x, W.to_dense()) + bias
        for out in outs:
            torch.testing.assert_close(out, wanted)
        found = torch.autograd.grad(outs[-1].square().sum(), b, retain_graph=True)
        torch.testing.assert_close(found, torch.autograd.grad(wanted.square().sum(), b, retain_graph=True))
    several = torch.func.vmap(lambda bias: F.linear(x, W, bias))(torch.stack([b, b]))
    torch.testing.assert_close(several[1], F.linear(x, W, b))
