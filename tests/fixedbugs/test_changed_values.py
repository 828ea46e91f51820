"""Values that somebody else changed since are read as they are now."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("product", [lambda A, x: A @ x, lambda A, x: A.T @ x, lambda A, x: (A + A.T).to_dense() @ x])
def test_data_that_is_strided(dense, product, warm):
    x, values = torch.rand(3, 2), torch.rand(3)
    A = ls.tensor(dense).with_values(values)
    if warm:
        product(A, x)
    values.data = torch.arange(6.0)[::2]
    assert not values.is_contiguous()
    fresh = ls.tensor(dense).with_values(torch.tensor([0.0, 2, 4]))
    torch.testing.assert_close(product(A, x), product(fresh, x))


def test_strided_data_between_forward_and_backward(dense):
    x, values = torch.rand(3, 2, requires_grad=True), torch.rand(3, requires_grad=True)
    A = ls.tensor(dense).with_values(values)
    for _ in range(2):
        out = A @ x
    values.data = torch.arange(6.0)[::2]
    found = torch.autograd.grad(out.sum(), x)
    torch.testing.assert_close(found, torch.autograd.grad((A @ x).sum(), x))


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr", "batch"])
def test_indices_that_numpy_has_written(layout, written):
    """torch counts its own writes only, and `from_torch` knew arrays by these."""
    dense = torch.zeros(4, 6).index_put((torch.tensor([0, 2, 3]), torch.tensor([1, 3, 0])), torch.arange(1.0, 4.0))
    if layout == "batch":
        source = torch.stack([dense, dense]).to_sparse_csr()
    else:
        source = (
            dense.to_sparse()
            if layout == "coo"
            else getattr(dense, f"to_sparse_{layout}")(*[(2, 2)][: layout == "bsr"])
        )
    if written and layout != "batch":
        source = ls.from_torch(source).to_torch()
    assert ls.from_torch(source).pattern is ls.from_torch(source).pattern
    array = (
        source._indices()[1] if layout == "coo" else source.row_indices() if layout == "csc" else source.col_indices()
    )
    array.numpy().reshape(-1)[:1] = 2 if layout != "bsr" else 1
    assert ls.from_torch(source).to_dense().tolist() == source.to_dense().tolist()


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_length_that_changed(dense, warm, length):
    x, values = torch.rand(3, 2), torch.rand(3)
    A = ls.tensor(dense).with_values(values)
    if warm:
        A @ x
    values.resize_(length)
    for use in (lambda: A @ x, lambda: A.T @ x, A.to_dense, A.values, lambda: A + A, lambda: A * 2):
        with pytest.raises(ls.ShapeError, match="3 entries"):
            use()


def test_negated_views(dense):
    A, x = ls.tensor(dense), torch.rand(3, 2)
    negated = torch._neg_view(x)
    for _ in range(2):
        torch.testing.assert_close(A @ negated, -(dense @ x))
        torch.testing.assert_close(A @ x, dense @ x)
    B = A.with_values(torch._neg_view(A.values()))
    for _ in range(2):
        torch.testing.assert_close(B @ x, -(dense @ x))


@pytest.mark.parametrize(
    "view",
    [
        lambda X: X[:, 0],
        lambda X: X[:, 1:3],
        lambda X: X.T.contiguous().T,
        lambda X: X[:1].expand(3, 8),
        lambda X: X[:, ::2],
    ],
)
def test_strided_dense_operands_take_the_short_cut(dense, view):
    A, X = ls.tensor(dense), torch.rand(3, 8)
    x = view(X)
    A @ x, A @ x  # the second one prepares it
    known = dict(A.pattern.fast)
    assert (x.shape, x.stride()) in known
    torch.testing.assert_close(A @ x, dense @ x)
    assert dict(A.pattern.fast) == known
    leaf = X.clone().requires_grad_()
    (A @ view(leaf)).sum().backward()
    other = X.clone().requires_grad_()
    (dense @ view(other)).sum().backward()
    torch.testing.assert_close(leaf.grad, other.grad)
