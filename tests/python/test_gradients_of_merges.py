"""Gradients of functions of two sparse tensors with different patterns, beside those of dense torch."""

from __future__ import annotations

import operator

import pytest
import torch
from libsparse._ops import alignment
from libsparse._runtime import likes

import libsparse as ls

MANY = alignment.MANY + 1000
CASES = [
    *(("csr", dtype) for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64)),
    *((format, torch.float32) for format in ("csc", "dcsr", "coo", "csf", "bsr(2,2)")),
]


def chosen(a, b):
    """Elements of two tensors, by a condition with the entries of the first one."""
    return torch.where(a > 0, a, b)


def chosen_apart(a, b):
    """The same by a condition with the entries of the second one."""
    return torch.where(b < 0, a, b)


ORDERED = [torch.maximum, torch.minimum, chosen, chosen_apart]
FUNCTIONS = [operator.add, operator.sub, *ORDERED]


def drawn(dtype=torch.float32, shape=(300, 400), nnz=MANY, format="csr", seed=0):
    """A matrix with entries at random places."""
    generator = torch.Generator().manual_seed(seed)
    places = torch.randperm(shape[0] * shape[1], generator=generator)[:nnz]
    values = torch.randn(nnz, generator=generator).to(dtype)
    return ls.from_coo((places // shape[1], places % shape[1]), values, shape).to_format(format)


def leaves(*tensors):
    """Tensors whose values autograd follows, and these values."""
    values = [t.values().clone().requires_grad_() for t in tensors]
    return [t.with_values(v) for t, v in zip(tensors, values, strict=True)], values


def dense_gradients(function, weight, *tensors):
    """The gradients of dense tensors, at the entries of sparse ones."""
    dense = [t.to_dense().requires_grad_() for t in tensors]
    found = torch.autograd.grad((function(*dense) * weight).sum().real, dense)
    return [g[tuple(t.indices())] for g, t in zip(found, tensors, strict=True)]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("format", "dtype"), CASES)
def test_gradients_are_those_of_dense_tensors_also_when_patterns_come_again(function, format, dtype):
    if function in ORDERED and dtype.is_complex:
        return
    A, B = (drawn(dtype, format=format, seed=seed) for seed in (1, 2))
    weight = torch.randn(300, 400).to(dtype)
    wanted = dense_gradients(function, weight, A, B)
    for _ in range(4):
        sparse, values = leaves(A, B)
        (function(*sparse).to_dense() * weight).sum().real.backward()
        for found, want, tensor in zip(values, wanted, (A, B), strict=True):
            torch.testing.assert_close(tensor.pattern.entries(found.grad), want, rtol=0, atol=0)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_have_gradients(function):
    A, B = (drawn(torch.float64, seed=seed) for seed in (1, 2))
    weight = torch.randn(300, 400, dtype=torch.float64)
    for _ in range(2):
        sparse, values = leaves(A, B)
        first = torch.autograd.grad((function(*sparse).to_dense().pow(3) * weight).sum(), values, create_graph=True)
        found = torch.autograd.grad(sum((g * g).sum() for g in first), values)
        dense = [t.to_dense().requires_grad_() for t in (A, B)]
        whole = torch.autograd.grad((function(*dense).pow(3) * weight).sum(), dense, create_graph=True)
        at = [g[tuple(t.indices())] for g, t in zip(whole, (A, B), strict=True)]
        wanted = torch.autograd.grad(sum((g * g).sum() for g in at), dense)
        for mine, theirs, tensor in zip(found, wanted, (A, B), strict=True):
            torch.testing.assert_close(mine, theirs[tuple(tensor.indices())])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("function", ORDERED)
def test_equal_elements_share_gradients_and_lesser_ones_get_none_of_infinite_ones(function, dtype):
    A, B = (drawn(dtype, seed=seed).map(lambda v: (2 * v).round()) for seed in (1, 2))
    special = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0, 1.0], dtype=dtype)
    A, B = (
        t.with_values(torch.where(torch.rand(t.nnz) < 0.3, special[torch.randint(6, (t.nnz,))], t.values()))
        for t in (A, B)
    )
    weight = torch.where(torch.rand(300, 400) < 0.2, torch.inf, torch.randn(300, 400)).to(dtype)
    weight[torch.rand(300, 400) < 0.1] = torch.nan
    sparse, values = leaves(A, B)
    dense = [t.to_dense().requires_grad_() for t in (A, B)]
    for found, want, tensor in zip(
        torch.autograd.grad(function(*sparse).to_dense(), values, weight),
        torch.autograd.grad(function(*dense), dense, weight),
        (A, B),
        strict=True,
    ):
        torch.testing.assert_close(found, want[tuple(tensor.indices())], rtol=0, atol=0, equal_nan=True)


def test_conditions_with_other_entries_and_arguments_by_name():
    C, A, B = (drawn(seed=seed) for seed in (1, 2, 3))
    C, dense = C > 0.5, [t.to_dense().requires_grad_() for t in (A, B)]
    for _ in range(3):
        sparse, values = leaves(A, B)
        for call in (
            lambda c, a, b: torch.where(c, a, b),
            lambda c, a, b: torch.where(c, input=a, other=b),
            lambda c, a, b: torch.where(other=b, condition=c, input=a),
        ):
            weight = torch.randn(300, 400)
            found = torch.autograd.grad(call(C, *sparse).to_dense(), values, weight)
            wanted = torch.autograd.grad(torch.where(C.to_dense(), *dense), dense, weight)
            for mine, theirs, tensor in zip(found, wanted, (A, B), strict=True):
                assert torch.equal(mine, theirs[tuple(tensor.indices())])


def test_only_what_needs_a_gradient_has_one():
    A, B = (drawn(seed=seed) for seed in (1, 2))
    (A,), (values,) = leaves(A)
    torch.maximum(A, B).sum().backward()
    want = (A.to_dense() > B.to_dense()).float() + 0.5 * (A.to_dense() == B.to_dense())
    assert torch.equal(values.grad, want[tuple(A.indices())])
    with torch.no_grad():
        assert not torch.maximum(A, B).requires_grad
    assert not (A > B).requires_grad


@pytest.fixture
def located(monkeypatch):
    """How often entries of a pattern were looked for among those of another."""
    calls = []
    find = ls.Pattern._found_in

    def counted(self, other):
        if self._located is None or self._located.get(other) is None:
            calls.append((self, other))
        return find(self, other)

    monkeypatch.setattr(ls.Pattern, "_found_in", counted)
    return calls


def test_entries_are_looked_for_from_the_second_use_of_patterns_on(located):
    A, B = (drawn(seed=seed) for seed in (1, 2))
    counts = []
    for _ in range(4):
        sparse, _ = leaves(A, B)
        operator.add(*sparse).sum().backward()
        counts.append(len(located))
    assert counts == [0, 2, 2, 2]
    for _ in range(3):
        torch.maximum(*leaves(A, B)[0]).sum().backward()
        counts.append(len(located))
    assert counts[4:] == [2, 6, 6]  # operands among each other, and among the entries of the result


def test_few_entries_are_looked_for_until_a_kernel_pays(located, monkeypatch):
    monkeypatch.setattr(likes, "_on_few", {})
    counts = []
    for seed in range(60):
        A, B = (drawn(shape=(30, 40), nnz=200, seed=2 * seed + n) for n in range(2))
        sparse, values = leaves(A, B)
        weight = torch.randn(30, 40)
        (operator.sub(*sparse).to_dense() * weight).sum().backward()
        for found, want in zip(values, dense_gradients(operator.sub, weight, A, B), strict=True):
            assert torch.equal(found.grad, want)
        counts.append(len(located))
    assert counts[49:] == [100] * 11
