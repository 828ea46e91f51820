"""SparseTensor as a tensor: attributes, conversions, arithmetic, copies, torch's functions."""

from __future__ import annotations

import itertools
import pickle

import pytest
import torch
from libsparse._ops import assemble

import libsparse as ls

FORMATS = ["csr", "csc", "dcsr", "dcsc", "coo", "uq:1,0", "sd", "sd:1,0"]
CUBES = ["csf", "coo", "dss", "ssd", "sss:2,1,0", "dsd"]


@pytest.fixture
def dense():
    x = torch.randn(5, 6, dtype=torch.float64)
    return x * (torch.rand(5, 6) < 0.5)


@pytest.mark.parametrize(("format", "other"), [*itertools.combinations_with_replacement(FORMATS, 2)])
def test_conversions(dense, format, other):
    a = ls.tensor(dense, format)
    assert a.format == format
    assert torch.equal(a.to_dense(), dense)
    b = a.to_format(other)
    assert b.format == other
    assert torch.equal(b.to_dense(), dense)
    assert torch.equal(b.to_format(format).to_dense(), dense)


@pytest.mark.parametrize("format", CUBES)
def test_cubes(format):
    x = torch.randn(3, 4, 2) * (torch.rand(3, 4, 2) < 0.5)
    a = ls.tensor(x, format)
    assert torch.equal(a.to_dense(), x)
    assert torch.equal(a.permute(2, 0, 1).to_dense(), x.permute(2, 0, 1))
    assert torch.equal(a.to_format("coo").to_dense(), x)


def test_attributes(dense):
    a = ls.tensor(dense)
    assert isinstance(a, torch.Tensor)
    assert a.shape == dense.shape
    assert (a.ndim, a.dim(), a.numel(), len(a), a.size(1)) == (2, 2, 30, 5, 6)
    assert a.dtype == torch.float64
    assert a.device.type == "cpu"
    assert a.is_floating_point()
    assert a.nnz == a._nnz() == int((dense != 0).sum())
    assert a.fill_value == 0
    assert a.format == "csr" == ls.Format("ds")
    assert a.layout is torch.strided
    assert a.is_coalesced()
    assert a.coalesce() is a
    assert "nnz=" in repr(a)
    assert "format=csr" in str(a)


def test_parts_as_torch_names_them(dense):
    a, t = ls.tensor(dense), dense.to_sparse_csr()
    assert torch.equal(a.crow_indices(), t.crow_indices())
    assert torch.equal(a.col_indices(), t.col_indices())
    assert torch.equal(a.values(), t.values())
    c, t = a.to_format("csc"), dense.to_sparse_csc()
    assert torch.equal(c.ccol_indices(), t.ccol_indices())
    assert torch.equal(c.row_indices(), t.row_indices())
    coo = dense.to_sparse_coo()
    assert torch.equal(a.indices(), coo.coalesce().indices())
    assert torch.equal(torch.stack([a.row, a.col]), a.indices())
    assert torch.equal(a.csc()[2], c.values())
    with pytest.raises(ls.FormatError, match="csc"):
        c.crow_indices()


def test_index_dtypes():
    small = ls.from_coo([[0], [0]], torch.ones(1), (10, 10))
    large = ls.from_coo([[0], [2**31]], torch.ones(1), (10, 2**31 + 1))
    assert small.col_indices().dtype == torch.int32
    assert large.col_indices().dtype == torch.int64


def test_transposes_are_free_and_shared(dense):
    a = ls.tensor(dense)
    assert a.T.format == "csc"
    assert a.T.values() is a.values()
    assert a.T.T.pattern is a.pattern
    assert torch.equal(a.T.to_dense(), dense.T)
    assert torch.equal(a.t().to_dense(), dense.T)
    assert torch.equal(a.mT.to_dense(), dense.T)
    assert torch.equal(torch.transpose(a, 0, -1).to_dense(), dense.T)


def test_values_carry_gradients(dense):
    a = ls.tensor(dense).requires_grad_()
    assert a.requires_grad
    assert a.is_leaf
    a.to_dense().square().sum().backward()
    assert isinstance(a.grad, ls.SparseTensor)
    assert a.grad.pattern is a.pattern
    torch.testing.assert_close(a.grad.to_dense(), 2 * dense)
    a.grad = None
    assert a.grad is None
    (g,) = torch.autograd.grad((a * a).sum(), a)
    torch.testing.assert_close(g.to_dense(), 2 * dense)


def test_from_coo_reduces_and_differentiates():
    index = torch.tensor([[2, 0, 2, 1], [1, 3, 1, 0]])
    values = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    a = ls.from_coo(index, values, (3, 4))
    assert a.nnz == 3
    weight = torch.randn(3, 4)
    (a.to_dense() * weight).sum().backward()
    assert torch.equal(values.grad, weight[tuple(index)])
    for reduce, want in (("mean", 2.0), ("max", 3.0), ("min", 1.0), ("prod", 3.0)):
        assert ls.from_coo(index, values, (3, 4), reduce=reduce).to_dense()[2, 1].item() == want


def test_from_coo_in_shapes_too_large_to_number():
    shape = (2**40, 2**40, 2**40)
    index = torch.tensor([[2**39, 5, 2**39, 5], [7, 2**38, 7, 1], [1, 2, 1, 2**37]])
    a = ls.from_coo(index, torch.tensor([1.0, 2.0, 3.0, 4.0]), shape)
    assert a.nnz == 3
    assert a.values().tolist() == [4.0, 2.0, 4.0]
    b = a.to_format("sss:2,1,0")
    assert a.pattern.locate(b.pattern)[1].all()
    with pytest.raises(ls.FormatError, match="GiB"):
        a.to_dense()


def test_constructors(dense):
    t = dense.to_sparse_csr()
    assert torch.equal(ls.from_csr(t.crow_indices(), t.col_indices(), t.values(), (5, 6)).to_dense(), dense)
    t = dense.to_sparse_csc()
    assert torch.equal(ls.from_csc(t.ccol_indices(), t.row_indices(), t.values(), (5, 6)).to_dense(), dense)
    assert torch.equal(
        ls.from_levels("coo", (3,), [[0, 2]], [[0, 2]], [1.0, 2.0]).to_dense(), torch.tensor([1.0, 0, 2])
    )
    for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        a = ls.from_torch(dense.to_sparse(layout=layout))
        assert torch.equal(a.to_dense(), dense)
        assert a.to_torch().layout is layout
        assert torch.equal(a.to_torch().to_dense(), dense)
    assert ls.from_edge_index(torch.tensor([[0, 1], [2, 0]])).shape == (3, 3)
    top = torch.topk(dense, 2)
    assert torch.equal(ls.from_topk(top.indices, top.values, 6).to_dense().sum(1), top.values.sum(1))
    assert torch.equal(ls.from_mask(dense != 0).to_dense(), dense != 0)
    assert torch.equal(ls.eye(3, 4).to_dense(), torch.eye(3, 4))
    assert torch.equal(ls.diag(torch.tensor([1.0, 0.0, 2.0])).to_dense(), torch.tensor([1.0, 0.0, 2.0]).diag())
    assert ls.diag(torch.zeros(3)).nnz == 3
    assert ls.random((20, 30), 0.1).nnz == 60
    assert ls.tensor([[0, 1], [2, 0]]).dtype == torch.int64
    assert ls.tensor([0.0, 1.0]).format == "s"


@pytest.mark.parametrize(("rows", "k", "n"), [(4, 3, 9), (1, 1, 1), (3, 0, 5), (0, 2, 5)])
def test_top_elements(rows, k, n):
    """Rows of k elements in any order are those that scatter writes, also without values; gradients are followed."""
    generator = torch.Generator().manual_seed(rows)
    columns = torch.rand(rows, n, generator=generator).argsort(1)[:, :k]
    numbers = torch.rand(rows, k, dtype=torch.float64, generator=generator)
    for values in (numbers, numbers > 0.5, numbers.half(), numbers.to(torch.complex64)):
        expected = torch.zeros(rows, n, dtype=values.dtype).scatter(1, columns, values)
        assert torch.equal(ls.from_topk(columns, values, n).to_dense(), expected)
    pattern = ls.from_topk(columns, None, n)
    assert pattern.format == "csr"
    assert torch.equal(pattern.to_dense(), torch.zeros(rows, n, dtype=torch.bool).scatter(1, columns, True))
    weight = torch.rand(n, 2, dtype=torch.float64, generator=generator)
    numbers.requires_grad_()
    assert torch.autograd.gradcheck(lambda v: ls.from_topk(columns, v, n) @ weight, numbers)


def test_scipy(dense):
    sp = pytest.importorskip("scipy.sparse")
    for name in ("csr", "csc", "coo"):
        a = ls.from_scipy(sp.coo_array(dense.numpy()).asformat(name))
        assert a.format == name
        assert torch.equal(a.to_dense(), dense)
        assert (a.to_scipy().toarray() == dense.numpy()).all()


def test_arrays_of_indices_are_copied(dense):
    t = dense.to_sparse_csr()
    crow, col = t.crow_indices().int(), t.col_indices().int()
    a = ls.from_csr(crow, col, t.values(), (5, 6))
    col.zero_()
    assert torch.equal(a.to_dense(), dense)


_ARRAYS = [
    ([0, 2, 3], [0, 3, 1]),
    ([0, 0, 3], [0, 1, 3]),
    ([0, 0, 0], []),
    ([0, 2, 3], [3, 0, 1]),
    ([0, 2, 3], [1, 1, 1]),
    ([0, 2, 3], [0, 4, 1]),
    ([0, 2, 3], [0, -1, 1]),
    ([0, 2, 3], [0, 2**32, 1]),
    ([1, 2, 3], [0, 3, 1]),
    ([0, 4, 3], [0, 3, 1]),
    ([0, -1, 3], [0, 1, 2]),
    ([0, 2, 2], [0, 3, 1]),
    ([0, 2, 4], [0, 3, 1]),
    ([0, 3], [0, 3, 1]),
    ([0, 2, 3, 3], [0, 3, 1]),
    ([0, 2**32, 3], [0, 3, 1]),
]


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_arrays_are_copied_in_c_as_in_python(dtype, check, monkeypatch):
    def made(function, shape, pos, crd):
        try:
            tensor = function(pos, crd, torch.rand(len(crd)), shape, check=check)
        except ls.LibsparseError as error:
            return type(error), str(error)
        return tensor.format, tensor.nnz, tensor.indices().tolist() if check else None

    for pos, crd in _ARRAYS:
        if dtype == torch.int32 and max(pos + crd) >= 2**31:
            continue
        for function, shape in ((ls.from_csr, (2, 4)), (ls.from_csc, (4, 2))):
            arrays = torch.tensor(pos, dtype=dtype), torch.tensor(crd, dtype=dtype)
            if check or max(pos + crd) < 2**31:
                found = made(function, shape, *arrays)
                with monkeypatch.context() as patched:
                    patched.setattr(assemble, "native", None)
                    assert made(function, shape, *arrays) == found


def test_formats_are_equal_by_meaning():
    assert ls.Format("csr") == ls.Format("ds") == ls.Format("ds:0,1")
    assert ls.Format("csc") == "ds:1,0"
    assert len({ls.Format("csr"), ls.Format("ds"), ls.Format("csc")}) == 2
    assert ls.Format("coo").resolve(3) == "ucq"
    assert ls.Format("csf").resolve(2) == ls.Format("dcsr")
    assert ls.Format("coo").resolve(2) == "coo"
    assert str(ls.Format("uq")) == "coo"
    assert pickle.loads(pickle.dumps(ls.Format("csc"))) == "csc"


def test_evaluate(dense):
    a = ls.tensor(dense)
    x, b = torch.randn(6, dtype=torch.float64), torch.randn(5, dtype=torch.float64)
    out = ls.evaluate("y(i) = A(i,j) * x(j)", A=a, x=x)
    torch.testing.assert_close(out, dense @ x)
    values = a.values().clone().requires_grad_()
    out = ls.evaluate("y(i) = A(i,j) * x(j) + b(i)", A=a.with_values(values), x=x, b=b)
    torch.testing.assert_close(out.detach(), dense @ x + b)
    out.sum().backward()
    torch.testing.assert_close(values.grad, x[a.col.long()])
