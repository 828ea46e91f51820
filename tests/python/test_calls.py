"""Prepared calls by themselves: slots, conversions, two phases, overflow, and what is remembered; with the stand-in."""

from __future__ import annotations

import gc
import weakref

import pytest
import reference
import torch
from libsparse._compiler import kernel
from libsparse._storage.format import Format

import libsparse as ls

pytestmark = pytest.mark.usefixtures("stand_in")


@pytest.mark.parametrize("format", ["csc", "dcsr", "coo", "sd"])
def test_a_kernel_may_ask_for_another_format(monkeypatch, format):
    monkeypatch.setattr(
        kernel,
        "find",
        reference.finder(lambda request: {0: Format(format).resolve(2)} if len(request.operands) == 2 else {}),
    )
    a = ls.random((5, 6), 0.4, dtype=torch.float64).requires_grad_()
    x = torch.randn(6, 3, dtype=torch.float64)
    out = ls.einsum("ij,jk->ik", a, x, format="dense")
    torch.testing.assert_close(out, a.to_dense() @ x)
    converted = a.pattern.converted(Format(format).resolve(2)).pattern
    assert a.pattern.converted(Format(format).resolve(2)).pattern is converted


def test_dense_operands_may_be_asked_for_in_another_order(monkeypatch):
    monkeypatch.setattr(kernel, "find", reference.finder(lambda request: {1: Format("dd:1,0")}))
    a, x = ls.random((5, 6), 0.4, dtype=torch.float64), torch.randn(6, 3, dtype=torch.float64)
    torch.testing.assert_close(ls.einsum("ij,jk->ik", a, x, format="dense"), a.to_dense() @ x)


@pytest.mark.parametrize("format", ["csr", "dcsr", "csc"])
def test_results_in_two_phases(format):
    a, b = ls.random((5, 6), 0.4, dtype=torch.float64), ls.random((6, 4), 0.4, dtype=torch.float64)
    first = ls.einsum("ij,jk->ik", a, b, format=format)
    torch.testing.assert_close(first.to_dense(), a.to_dense() @ b.to_dense())
    again = ls.einsum("ij,jk->ik", a * 2, b, format=format)
    assert again.pattern is first.pattern
    torch.testing.assert_close(again.to_dense(), 2 * first.to_dense())


def test_results_that_overflow_are_asked_for_with_wide_indices(monkeypatch):
    asked = []
    find = reference.finder()

    def narrow(request):
        asked.append(request.output.index)
        made = find(request)
        return made if request.output.index == "i64" else made._replace(assemble=lambda address: 2)

    monkeypatch.setattr(kernel, "find", narrow)
    a = ls.random((5, 6), 0.4, dtype=torch.float64)
    out = ls.einsum("ij,jk->ik", a, a.T, format="csr")
    assert asked == ["i32", "i64"]
    torch.testing.assert_close(out.to_dense(), a.to_dense() @ a.to_dense().T)


def test_calls_are_prepared_once(monkeypatch):
    asked = []
    find = reference.finder()
    monkeypatch.setattr(kernel, "find", lambda request: asked.append(request) or find(request))
    a, x = ls.random((5, 6), 0.4), torch.randn(6, 3)
    for _ in range(3):
        ls.einsum("ij,jk->ik", a, x)
        ls.einsum("ab, bc", a * 2, x + 1)
        a @ x
    assert len(asked) == 1


def test_sizes_of_a_class_share_a_request():
    requests = set()
    for n in (70, 90, 100):
        a = ls.random((n, n), 0.5, generator=torch.Generator().manual_seed(0))
        for _ in range(2):  # the first may be by what is prepared for another pattern, which this one doesn't keep
            torch.testing.assert_close(a @ torch.ones(n, 3), a.to_dense() @ torch.ones(n, 3))
        requests.add(next(iter(a.pattern.calls.values()))[0].kernel.compute.__self__)
    assert len(requests) <= 2  # the numbers of entries may be of two classes


def test_patterns_are_freed_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        a, b = ls.random((5, 6), 0.4), ls.random((6, 5), 0.4)
        x = torch.randn(6, 3, requires_grad=True)
        (a @ x).sum().backward()
        ls.einsum("ij,jk->ik", a, b, format="csr")
        a.T, a.to_format("csc"), a * torch.ones(6)
        seen = weakref.ref(a.pattern), weakref.ref(b.pattern)
        del a, b
        assert [ref() for ref in seen] == [None, None]
    finally:
        gc.enable()


def test_a_new_partner_at_an_old_address_is_noticed():
    a = ls.random((5, 6), 0.4, dtype=torch.float64)
    for seed in range(20):
        b = ls.random((6, 4), 0.4, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        torch.testing.assert_close(ls.einsum("ij,jk->ik", a, b, format="csr").to_dense(), a.to_dense() @ b.to_dense())
    assert len(a.pattern.calls) <= 3


def test_computations_in_several_steps(monkeypatch):
    find = reference.finder()
    steps = (
        kernel.Step("t1", ("j",), "t1(j) = A1(j,k) * A2(k)", ("A1", "A2"), "f64"),
        kernel.Step("out", ("i",), "out(i) = A0(i,j) * t1(j)", ("A0", "t1"), "f64"),
    )

    def split(request):
        if request.is_expr:
            inner = {"t1(j) = A1(j,k) * A2(k)": "jk,k->j", "out(i) = A0(i,j) * t1(j)": "ij,j->i"}
            return find(request._replace(text=inner[request.text], is_expr=False))
        return find(request) if len(request.operands) < 3 else find(request)._replace(steps=steps)

    monkeypatch.setattr(kernel, "find", split)
    a = ls.random((5, 6), 0.4, dtype=torch.float64)
    b, v = torch.randn(6, 4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    torch.testing.assert_close(ls.einsum("ij,jk,k->i", a, b, v), a.to_dense() @ b @ v)
