"""Under an override torch's names take what they take without it."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from libsparse._ops import layouts

import libsparse as ls


def test_out(dense):
    C, x = dense.to_sparse_csr(), torch.rand(3, 2)
    with ls.override():
        out = torch.empty(3, 2)
        assert torch.mm(C, x, out=out) is out
        assert torch.equal(out, torch.mm(C, x))
        for wrong in (torch.empty(3, 2, dtype=torch.float64), torch.empty(4, 4)):
            with pytest.raises(RuntimeError) as inside:
                torch.mm(C, x, out=wrong)
            assert not isinstance(inside.value, ls.LibsparseError)
        with pytest.raises(RuntimeError, match="automatic differentiation"):
            torch.mm(C, x.clone().requires_grad_(), out=out)


def test_what_libsparse_refuses_is_left_to_torch():
    crow, col, values = torch.tensor([0, 2, 3]), torch.tensor([2, 0, 1]), torch.tensor([1.0, 2, 3])
    unsorted = torch.sparse_csr_tensor(crow, col, values, (2, 3))
    want = torch.mm(unsorted, torch.eye(3))
    with ls.override():
        assert torch.equal(torch.mm(unsorted, torch.eye(3)), want)


def test_errors_are_those_of_torch(dense):
    C = dense.to_sparse_csr()
    for call in (
        lambda: torch.mm(C, torch.ones(4, 2)),
        lambda: torch.mm(C, torch.ones(3)),
        lambda: torch.mm(C, torch.ones(3, 2), nonsense=1),
        lambda: torch.matmul(C, 2),
    ):
        with pytest.raises((RuntimeError, TypeError, IndexError)) as plain:
            call()
        with ls.override(), pytest.raises(type(plain.value)) as inside:
            call()
        assert str(inside.value) == str(plain.value)


def test_keywords_are_understood(dense):
    C, x = dense.to_sparse_csr(), torch.ones(3, 2)
    with ls.override():
        assert torch.equal(torch.mm(C, mat2=x), dense @ x)
        assert torch.equal(torch.mm(input=C, mat2=x), dense @ x)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_leaves_of_every_layout_train(dense, layout):
    x = torch.rand(3, 2)
    C = dense.to_sparse(layout=layout).requires_grad_()
    with ls.override():
        for _ in range(2):
            torch.mm(C, x).sum().backward()
    assert C.grad.layout is (torch.sparse_coo if layout is torch.sparse_csc else layout)
    torch.testing.assert_close(C.grad.to_dense(), 2 * (dense != 0) * x.sum(1))


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_gradients_through_transposes_and_conversions(dense, layout):
    x = torch.rand(3, 2)
    for make in (lambda t: t.t(), lambda t: t.t().t(), lambda t: t):
        C = dense.to_sparse(layout=layout).requires_grad_()
        D = dense.clone().requires_grad_()
        with ls.override():
            (make(C) @ x).sum().backward()
            (make(D.to_sparse(layout=layout)) @ x).sum().backward()
        twin = dense.clone().requires_grad_()
        (make(twin) @ x).sum().backward()
        torch.testing.assert_close(C.grad.to_dense(), twin.grad * (dense != 0))
        torch.testing.assert_close(D.grad, twin.grad * (dense != 0))


def test_layouts_do_not_depend_on_density():
    for density in (0.02, 0.1, 0.9):
        matrix = (torch.rand(50, 50) * (torch.rand(50, 50) < density)).to_sparse_csr()
        want = torch.mm(matrix, matrix)
        with ls.override():
            made = torch.mm(matrix, matrix)
        assert made.layout is want.layout
        torch.testing.assert_close(made.to_dense(), want.to_dense())


def test_patterns_live_as_long_as_the_tensors_they_were_read_from(dense):
    x = torch.rand(3, 2)
    C = dense.to_sparse_csr()
    with ls.override():
        first = weakref.ref(ls.from_torch(C).pattern)
        assert ls.from_torch(C).pattern is first()
        for n in range(1, 40):
            torch.testing.assert_close(torch.mm((n * dense.roll(n, 0)).to_sparse_csr(), x), n * dense.roll(n, 0) @ x)
        assert ls.from_torch(C).pattern is first()
        del C
        torch.mm(dense.to_sparse_coo(), x)
    gc.collect()
    assert first() is None
    assert len(layouts._known) < 10
