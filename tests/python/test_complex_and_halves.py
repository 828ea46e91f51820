"""Complex numbers and halves in products, sums, training and gradients."""

from __future__ import annotations

import pytest
import torch
from by_dtype import COMPLEX, FLOATS, HALVES, masked, numbers, same
from torch.autograd import gradcheck, gradgradcheck

import libsparse as ls


class TestComplex:
    @pytest.mark.parametrize(
        ("spec", "format"),
        [
            *((spec, "csr") for spec in ("ij,jk->ik", "ij,j->i", "ij,ik->jk", "ij,ik,jk->ij", "ij->i")),
            *((spec, "csc") for spec in ("ij,jk->ik", "ij,ik,jk->ij")),
        ],
    )
    def test_gradcheck(self, spec, format):
        dtype = torch.complex128
        a = ls.tensor(masked((3, 4), dtype, 1), format)
        shapes = {"i": 3, "j": 4, "k": 2}
        terms = spec.split("->")[0].split(",")[1:]
        others = [numbers([shapes[i] for i in term], dtype, n).requires_grad_() for n, term in enumerate(terms)]
        wish = a.format if spec.endswith("->ij") else "dense"

        def run(values, *rest):
            out = ls.einsum(spec, a.with_values(values), *rest, format=wish)
            return out.values() if isinstance(out, ls.SparseTensor) else out

        inputs = [a.values().clone().requires_grad_(), *others]
        assert gradcheck(run, inputs)
        assert gradgradcheck(run, inputs)

    def test_gradcheck_of_operators(self):
        dtype = torch.complex128
        a, b = ls.tensor(masked((3, 4), dtype, 1)), ls.tensor(masked((3, 4), dtype, 2))
        x = numbers((4, 2), dtype, 3).requires_grad_()
        va, vb = a.values().clone().requires_grad_(), b.values().clone().requires_grad_()
        assert gradcheck(lambda v, w: (a.with_values(v) + b.with_values(w)).values(), [va, vb])
        assert gradcheck(lambda v, w: (a.with_values(v) * b.with_values(w)).values(), [va, vb])
        for _ in range(3):  # the short cut of an operator takes over
            assert gradcheck(lambda v, y: a.with_values(v) @ y, [va, x])
        assert gradcheck(lambda v, y: (a.with_values(v) @ y.conj()).conj(), [va, x])
        assert gradcheck(lambda v: a.with_values(v).sum(0), [va])
        expression = "y(i) = 2 * A(i,j) * x(j) + b(i)"
        vector, b = numbers((4,), dtype, 4).requires_grad_(), numbers((3,), dtype, 5).requires_grad_()
        assert gradcheck(lambda v, y, c: ls.evaluate(expression, A=a.with_values(v), x=y, b=c), [va, vector, b])

    def test_gradients_of_real_operands_are_real(self):
        a = ls.tensor(masked((3, 4), torch.float64, 1))
        values = a.values().clone().requires_grad_()
        x = numbers((4, 2), torch.complex128, 3).requires_grad_()
        assert gradcheck(lambda v, y: ls.einsum("ij,jk->ik", a.with_values(v), y), [values, x])

    def test_lazy_conjugates(self):
        a, x = masked((5, 4), torch.complex64, 1), numbers((4, 3), torch.complex64, 2)
        t = ls.tensor(a)
        for _ in range(4):
            same(t @ x.conj(), a @ x.conj())
            same(t.conj() @ x, a.conj() @ x)
        same(t.with_values(t.values().conj()) @ x, a.conj() @ x)
        same(t.mH @ numbers((5, 2), torch.complex64, 3), a.mH @ numbers((5, 2), torch.complex64, 3))

    def test_parts(self):
        a, x = masked((5, 4), torch.complex64, 1), numbers((4,), torch.float32, 2)
        t = ls.tensor(a)
        same(ls.evaluate("B(i,j) = abs(A(i,j)) * x(j)", A=t, x=x), a.abs() * x)
        same(ls.evaluate("y(i) = real(A(i,j)) * x(j)", A=t, x=x), a.real @ x)
        same(ls.evaluate("y(i) = imag(A(i,j)) * x(j)", A=t, x=x), a.imag @ x)
        same(ls.evaluate("B(i,j) = conj(A(i,j)) * A(i,j)", A=t), a.conj() * a)
        same(t.real, a.real)
        same(t.imag, a.imag)
        same(abs(t), a.abs())

    def test_functions_of_real_operands_stay_real(self):
        x = torch.tensor([-1.0, 4.0])
        got = ls.evaluate("B(i,j) = A(i,j) * sqrt(x(j))", A=ls.tensor(torch.ones(2, 2, dtype=torch.complex64)), x=x)
        same(got, torch.ones(2, 2, dtype=torch.complex64) * torch.sqrt(x))

    @pytest.mark.parametrize("dtype", COMPLEX, ids=str)
    def test_infinities_and_nan(self, dtype):
        inf, nan = float("inf"), float("nan")
        parts = [0.0, 1.0, -2.0, inf, -inf, nan]
        every = torch.tensor([complex(x, y) for x in parts for y in parts], dtype=dtype)
        line = torch.arange(every.numel())[None]
        for shift in range(0, every.numel(), 5):
            other = every.roll(shift)
            t = ls.from_coo(line, every, (every.numel(),), "s")
            got = ls.einsum("i,i->i", t, other, format="s").values()
            want = torch.stack([x * y for x, y in zip(every, other, strict=True)])
            torch.testing.assert_close(torch.view_as_real(got), torch.view_as_real(want), equal_nan=True)
            got = ls.evaluate("y(i) = A(i) / x(i)", A=t, x=other, format="s").values()
            want = torch.stack([x / y for x, y in zip(every, other, strict=True)])
            torch.testing.assert_close(torch.view_as_real(got), torch.view_as_real(want), equal_nan=True)

    def test_no_order(self):
        t = ls.tensor(torch.eye(3, dtype=torch.complex64))
        for call in (
            lambda: ls.einsum("ij->i", t, reduce="max"),
            lambda: ls.einsum("ij,ij->ij", t, t, combine="min"),
            lambda: ls.evaluate("B(i,j) = max(A(i,j), 1)", A=t),
            lambda: ls.evaluate("B(i,j) = floor(A(i,j))", A=t),
            lambda: ls.matmul(t, torch.ones(3, 2, dtype=torch.complex64), reduce="max"),
        ):
            with pytest.raises(ls.DtypeError, match="not defined"):
                call()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_min_and_max_pass_nan_on(dtype):
    a = torch.tensor(
        [[1.0, float("nan"), 3.0], [float("inf"), 2.0, -float("inf")], [float("nan"), float("inf"), 0.5]]
    ).to(dtype)
    t = ls.tensor(a)
    for reduce in ("amax", "amin"):
        same(ls.einsum("ij->i", t, reduce=reduce), getattr(a, reduce)(1))
        same(ls.einsum("ij->j", t, reduce=reduce), getattr(a, reduce)(0))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_training_in_halves(dtype):
    g = torch.Generator().manual_seed(0)
    a = ls.random((40, 30), 0.2, generator=g)
    x = torch.randn(30, 8, generator=g).to(dtype)
    want = torch.randn(40, 8, generator=g).to(dtype)
    weight = torch.nn.Parameter(a.values().to(dtype))
    dense = a.with_values(weight.detach()).to_dense().float().requires_grad_()
    optimizer = torch.optim.SGD([weight], lr=0.5)
    losses = []
    for step in range(6):
        optimizer.zero_grad()
        out = a.with_values(weight) @ x
        assert out.dtype == dtype
        loss = (out.float() - want.float()).square().mean()
        loss.backward()
        assert weight.grad.dtype == dtype
        if step == 0:
            (dense @ x.float() - want.float()).square().mean().backward()
            expected = dense.grad[tuple(a.indices())]
            torch.testing.assert_close(weight.grad.float(), expected, rtol=0.05, atol=2e-3)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_mean_of_halves_counts_beyond_their_range():
    a = torch.full((2, 70000), 0.5, dtype=torch.float16)
    t = ls.tensor(a)
    same(t.mean(1), a.mean(1))
    same(ls.matmul(t, torch.ones(70000, 1, dtype=torch.float16), reduce="mean"), torch.full((2, 1), 0.5).half())


def test_duplicates_of_halves_are_summed_in_floats():
    ones = torch.ones(1000, dtype=torch.bfloat16)
    t = ls.from_coo(torch.zeros(1, 1000, dtype=torch.int64), ones, (1,), "s")
    assert t.values().tolist() == [1000.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_means_of_halves_round_once(dtype: torch.dtype):
    dense = torch.randn(60, 50) * (torch.rand(60, 50) < 0.3)
    t, x = ls.tensor(dense.to(dtype)).requires_grad_(), torch.randn(50, 24, dtype=dtype, requires_grad=True)
    counts = (dense.to(dtype) != 0).sum(1, keepdim=True).clamp(min=1).double()
    wide, wide_x = (a.detach().double().requires_grad_() for a in (t.to_dense(), x))
    upstream = torch.randn(60, 24, dtype=dtype)
    wanted = (wide @ wide_x) / counts
    wanted_grads = torch.autograd.grad(wanted, (wide, wide_x), upstream.double())
    for _ in range(3):  # the later ones are repeated calls
        found = ls.matmul(t, x, reduce="mean")
        grads = torch.autograd.grad(found, (t, x), upstream)
        close = {"rtol": torch.finfo(dtype).eps / 2, "atol": 1e-3, "check_dtype": False}
        torch.testing.assert_close(found.double(), wanted, **close)
        torch.testing.assert_close(grads[0].to_dense().double(), torch.where(dense != 0, wanted_grads[0], 0), **close)
        torch.testing.assert_close(grads[1].double(), wanted_grads[1], **close)
        assert [found.dtype, *(grad.dtype for grad in grads)] == [dtype] * 3
