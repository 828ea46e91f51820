"""Code written for DGL's sparse matrices, beside the same in dense torch."""

from __future__ import annotations

import libsparse.dglsp as dglsp
import pytest
import torch
import torch.nn.functional as F

import libsparse as ls

torch.manual_seed(0)
N, HEADS, WIDTH = 12, 3, 4
INDICES = (torch.rand(N, N) < 0.3).nonzero().T
X = torch.randn(N, 8)


def close(found, expected):
    found = found.to_dense() if isinstance(found, ls.SparseTensor) else found
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def dense(indices, val, shape):
    return torch.zeros(*shape, *val.shape[1:]).index_put(tuple(indices), val)


def test_a_graph_convolution():
    A = dglsp.spmatrix(INDICES, shape=(N, N))
    A_hat = A + dglsp.identity(A.shape)
    D = dglsp.diag(A_hat.sum(1)).map(lambda v: v**-0.5)
    out = D @ A_hat @ D @ X
    full = dense(INDICES, torch.ones(INDICES.shape[1]), (N, N)) + torch.eye(N)
    scale = full.sum(1) ** -0.5
    close(out, scale[:, None] * full * scale @ X)


def test_graph_attention_with_heads():
    A = dglsp.spmatrix(INDICES, shape=(N, N))
    weight = torch.randn(8, HEADS * WIDTH, requires_grad=True)
    left, right = torch.randn(WIDTH, HEADS), torch.randn(WIDTH, HEADS)
    Z = (X @ weight).view(N, WIDTH, HEADS)
    e_l, e_r = (Z * left).sum(1), (Z * right).sum(1)
    e = F.leaky_relu(e_l[A.row] + e_r[A.col])
    out = dglsp.bspmm(dglsp.softmax(dglsp.val_like(A, e)), Z)
    scores = F.leaky_relu(e_l[:, None] + e_r[None])
    masked = scores.masked_fill(A.to_dense()[..., None] == 0, -torch.inf).softmax(1).nan_to_num(0)
    expected = torch.einsum("ijh,jdh->idh", masked, Z)
    close(out, expected)
    own, theirs = (torch.autograd.grad(each.square().sum(), weight, retain_graph=True)[0] for each in (out, expected))
    close(own, theirs)


def test_a_graph_transformer():
    A = dglsp.spmatrix(INDICES, shape=(N, N))
    q, k, v = (torch.randn(N, WIDTH, HEADS) for _ in range(3))
    out = dglsp.bspmm(dglsp.bsddmm(A, q, k.transpose(1, 0)).softmax(1), v)
    scores = torch.einsum("idh,jdh->ijh", q, k).masked_fill(A.to_dense()[..., None] == 0, -torch.inf)
    close(out, torch.einsum("ijh,jdh->idh", scores.softmax(1).nan_to_num(0), v))


def test_constructors():
    val = torch.rand(INDICES.shape[1], 2)
    A = dglsp.spmatrix(INDICES, val, (N, N))
    close(A, dense(INDICES, val, (N, N)))
    close(dglsp.from_coo(*INDICES, val, (N, N)), A.to_dense())
    B = dglsp.spmatrix(INDICES, val[:, 0], (N, N))
    for arrays, make in ((B.csr(), dglsp.from_csr), (B.csc(), dglsp.from_csc)):
        indptr, indices, order = arrays
        close(make(indptr, indices, B.val if order is None else B.val[order], (N, N)), B.to_dense())
    close(dglsp.diag(torch.arange(1.0, 4), (4, 3)), torch.eye(4, 3) * torch.arange(1.0, 4))
    close(dglsp.identity((3, 4), d=2), torch.eye(3, 4)[..., None].expand(3, 4, 2))
    assert dglsp.spmatrix(torch.empty(2, 0, dtype=torch.int64)).shape == (0, 0)
    with pytest.raises(ls.ShapeError, match="stores"):
        dglsp.val_like(A, torch.ones(1, 2))


def test_products():
    A = dglsp.spmatrix(INDICES, torch.rand(INDICES.shape[1]), (N, N))
    close(dglsp.spmm(A, X[:, 0]), A.to_dense() @ X[:, 0])
    close(dglsp.spspmm(A, A.T), A.to_dense() @ A.to_dense().T)
    close(dglsp.matmul(A, X), A.to_dense() @ X)
    close(dglsp.sddmm(A, X, X.T), A.to_dense() * (X @ X.T))
    close(dglsp.sddmm(A, X[:, 0], X[:, 1]), A.to_dense() * torch.outer(X[:, 0], X[:, 1]))


@pytest.mark.parametrize("width", [(), (3,)])
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_reductions_of_stored_values(dim, width):
    """Rows 0 and columns 5 store nothing."""
    places = torch.tensor([[1, 1, 2, 4, 4, 4], [0, 3, 3, 0, 1, 2]])
    val = torch.randn(6, *width, requires_grad=True)
    A = dglsp.spmatrix(places, val, (5, 6))
    for name, function in (("smax", torch.amax), ("smin", torch.amin), ("smean", torch.mean), ("sprod", torch.prod)):
        found = getattr(dglsp, name)(A, dim)
        if dim is None:
            expected = function(val, 0)
        else:
            groups = [val[places[1 - dim] == n] for n in range(A.shape[1 - dim])]
            expected = torch.stack([function(group, 0) if len(group) else torch.zeros(width) for group in groups])
        close(found, expected)
        given = torch.randn_like(found)
        close(*(torch.autograd.grad(result, val, given, retain_graph=True)[0] for result in (found, expected)))
    close(dglsp.sum(A, dim), A.to_dense().sum((0, 1) if dim is None else dim))
    with pytest.raises(ls.UnsupportedError, match="rtype is 'max'"):
        dglsp.reduce(A, dim, "max")
    with pytest.raises(ls.ShapeError, match="dim is 2"):
        dglsp.smax(A, 2)
    with pytest.raises(AttributeError, match=r"dglsp\.smean"):
        ls.SparseTensor(A.pattern, A.values()).smean(1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64])
@pytest.mark.parametrize("dim", [None, 0, 1])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "bsr(2,2)"])
def test_sums_and_means_in_any_format(format, dim, dtype):
    """Means are of what is stored, which in blocks are zeros, too."""
    dense = torch.zeros(6, 4, dtype=dtype)
    dense[[0, 1, 3, 3], [2, 0, 0, 3]] = torch.tensor([6, 2, -4, 8], dtype=dtype)
    A = ls.tensor(dense, format=format)
    stored = torch.zeros(6, 4, dtype=dtype)
    stored[tuple(A.indices())] = 1
    axis = (0, 1) if dim is None else dim
    total, count = dense.sum(axis), stored.sum(axis).clamp(min=1)
    assert torch.equal(dglsp.sum(A, dim), total)
    means = total / count if dtype.is_floating_point else total // count
    assert torch.equal(dglsp.smean(A, dim), means)


@pytest.mark.parametrize("width", [(), (3,)])
def test_elementwise_operations(width):
    count = INDICES.shape[1]
    A, B = (dglsp.spmatrix(INDICES, torch.rand(count, *width) + 1, (N, N)) for _ in range(2))
    close(dglsp.add(A, B), A.to_dense() + B.to_dense())
    close(dglsp.sub(A, B), A.to_dense() - B.to_dense())
    close(dglsp.mul(A, 2), A.to_dense() * 2)
    close(dglsp.div(A, B).val, A.val / B.val)
    close(dglsp.div(A, 2), A.to_dense() / 2)
    close(dglsp.power(A, -0.5).val, A.val**-0.5)
    close(dglsp.neg(A), -A.to_dense())
    with pytest.raises(ls.ShapeError, match="store other entries"):
        dglsp.div(A, dglsp.spmatrix(INDICES[:, 1:], torch.ones(count - 1, *width), (N, N)))
    row, col = INDICES
    for v, picked in ((X[:, 0], X[col, 0]), (X[:, :1].T, X[col, 0]), (X[:, :1], X[row, 0])):
        picked = picked[:, None] if width else picked
        close(dglsp.sp_add_v(A, v).val, A.val + picked)
        close(dglsp.sp_sub_v(A, v).val, A.val - picked)
        close(dglsp.sp_mul_v(A, v).val, A.val * picked)
        close(dglsp.sp_div_v(A, v).val, A.val / picked)
    with pytest.raises(ls.ShapeError, match=r"v has shape \(3,\)"):
        dglsp.sp_add_v(A, torch.ones(3))
    with pytest.raises(ls.UnsupportedError, match="op is 'pow'"):
        dglsp.sp_broadcast_v(A, X[:, 0], "pow")


@pytest.mark.parametrize("width", [(), (3,)])
def test_torchs_layouts_and_parts(width):
    A = dglsp.spmatrix(torch.tensor([[4, 1, 1], [0, 3, 5]]), torch.rand(3, *width), (6, 6))
    for layout in ("coo", "csr", "csc"):
        found = getattr(dglsp, f"to_torch_sparse_{layout}")(A)
        assert found.layout == getattr(torch, f"sparse_{layout}")
        close(found.to_dense(), A.to_dense())
        close(dglsp.from_torch_sparse(found), A.to_dense())
    for dim, used, first in ((0, [1, 4], [2, 4, 1]), (1, [0, 3, 5], [2, 4, 0, 3, 5])):
        for leading, expected in ((None, used), (torch.tensor([2, 4]), first)):
            rest, kept = dglsp.compact(A, dim, leading)
            assert kept.tolist() == expected
            close(rest, A.to_dense().index_select(dim, kept))
    with pytest.raises(ls.ShapeError, match="dim is 2"):
        dglsp.compact(A, 2)
    for method in ("compact", "sample", "range_select"):
        with pytest.raises(AttributeError, match="use "):
            getattr(ls.SparseTensor(A.pattern, A.values()), method)
