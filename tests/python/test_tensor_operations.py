"""A SparseTensor in arithmetic, copies, files and with torch's own layouts."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls

FORMATS = ["csr", "csc", "dcsr", "dcsc", "coo", "uq:1,0", "sd", "sd:1,0"]
CUBES = ["csf", "coo", "dss", "ssd", "sss:2,1,0", "dsd"]


@pytest.fixture
def dense():
    x = torch.randn(5, 6, dtype=torch.float64)
    return x * (torch.rand(5, 6) < 0.5)


@pytest.mark.parametrize("format", ["csr", "coo", "csc"])
def test_arithmetic(dense, format):
    a = ls.tensor(dense, format)
    b = ls.tensor(torch.randn(5, 6, dtype=torch.float64) * (torch.rand(5, 6) < 0.5))
    row, col, full = (torch.randn(*s, dtype=torch.float64) for s in ((6,), (5, 1), (5, 6)))
    db = b.to_dense()
    pairs = [
        (a * 2, dense * 2),
        (2 * a, dense * 2),
        (a / 4, dense / 4),
        (-a, -dense),
        (a * row, dense * row),
        (col * a, dense * col),
        (a * full, dense * full),
        (a * b, dense * db),
        (a + b, dense + db),
        (a - b, dense - db),
        (a + a, dense + dense),
        (a * torch.tensor(3.0), dense * 3),
        (torch.mul(a, row), dense * row),
        (torch.add(a, b, alpha=2), dense + 2 * db),
    ]
    for number, (mine, want) in enumerate(pairs):
        assert isinstance(mine, ls.SparseTensor), number
        torch.testing.assert_close(mine.to_dense(), want)
    for mine, want in [
        (a + full, dense + full),
        (full + a, dense + full),
        (full - a, full - dense),
        (a - full, dense - full),
    ]:
        assert type(mine) is torch.Tensor
        torch.testing.assert_close(mine, want)


def test_sum_of_sparse_differentiates(dense):
    a = ls.tensor(dense)
    b = ls.tensor(torch.randn(5, 6, dtype=torch.float64) * (torch.rand(5, 6) < 0.5))
    inputs = [a.values().clone().requires_grad_(), b.values().clone().requires_grad_()]

    def run(x, y):
        return (a.with_values(x) + b.with_values(y)).to_dense()

    def product(x, y):
        return (a.with_values(x) * b.with_values(y)).values()

    for f in (run, product):
        assert torch.autograd.gradcheck(f, inputs)
        assert torch.autograd.gradgradcheck(f, inputs)


def test_reductions(dense):
    a = ls.tensor(dense)
    for dim in (None, 0, 1, -1, (0, 1)):
        for keepdim in (False, True):
            want = dense.sum() if dim is None and not keepdim else dense.sum(dim=dim, keepdim=keepdim)
            torch.testing.assert_close(a.sum(dim, keepdim), want)
            if dim is not None:
                torch.testing.assert_close(a.mean(dim, keepdim), dense.mean(dim, keepdim))
    torch.testing.assert_close(torch.sum(a, 1), dense.sum(1))
    mask = ls.from_mask(dense != 0)
    assert torch.equal(mask.sum(1), (dense != 0).sum(1))
    assert mask.sum().item() == mask.nnz


def test_unary_functions(dense):
    a = ls.tensor(dense)
    for f in (torch.relu, torch.abs, torch.sin, torch.square, torch.sign, F.relu, F.gelu, F.leaky_relu, torch.tanh):
        torch.testing.assert_close(f(a).to_dense(), f(dense))
    torch.testing.assert_close(a.abs().sqrt().to_dense(), dense.abs().sqrt())
    assert torch.equal(a.map(torch.exp).values(), a.values().exp())
    assert F.dropout(a, 0.5, training=True).nnz == a.nnz


@pytest.mark.parametrize("call", [torch.linalg.inv, torch.fft.fft, lambda a: torch.cumprod(a, 0)])
def test_unsupported_is_said(dense, call):
    with pytest.raises(ls.UnsupportedError):
        call(ls.tensor(dense))


def test_torch_functions(dense):
    a, x = ls.tensor(dense), torch.randn(6, 3, dtype=torch.float64)
    y, v = torch.randn(2, 5, dtype=torch.float64), torch.randn(6, dtype=torch.float64)
    base = torch.randn(5, 3, dtype=torch.float64)
    pairs = [
        (torch.mm(a, x), dense @ x),
        (torch.matmul(a, x), dense @ x),
        (torch.sparse.mm(a, x), dense @ x),
        (a.mm(x), dense @ x),
        (a.matmul(v), dense @ v),
        (torch.mv(a, v), dense @ v),
        (torch.mm(y, a), y @ dense),
        (y @ a, y @ dense),
        (torch.einsum("ij,jk->ik", a, x), dense @ x),
        (torch.addmm(base, a, x, beta=2, alpha=3), 2 * base + 3 * dense @ x),
        (F.linear(x.T, a), F.linear(x.T, dense)),
        (F.linear(x.T, a, base[:, 0]), F.linear(x.T, dense, base[:, 0])),
        (F.linear(a, x.T), F.linear(dense, x.T)),
        (
            torch.sparse.sampled_addmm(a, x.new_ones(5, 2), x.new_ones(2, 6), beta=0.5).to_dense(),
            (0.5 * dense + 2) * (dense != 0),
        ),
    ]
    for number, (mine, want) in enumerate(pairs):
        torch.testing.assert_close(mine, want, msg=lambda m, n=number: f"{n}: {m}")


def test_copies(dense):
    a = ls.tensor(dense).requires_grad_()
    for b in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a)), a.clone(), a.detach()):
        assert isinstance(b, ls.SparseTensor)
        assert torch.equal(b.to_dense(), dense)
    b = pickle.loads(pickle.dumps((a, a * 2)))
    assert b[0].pattern is b[1].pattern
    assert b[0].requires_grad
    assert a.clone().grad_fn is not None


def test_save_and_load(dense):
    a, buffer = ls.tensor(dense), io.BytesIO()
    torch.save({"a": a, "mask": ls.from_mask(dense != 0)}, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=True)
    assert torch.equal(loaded["a"].to_dense(), dense)
    assert torch.equal(loaded["mask"].to_dense(), dense != 0)


def test_state_dict(dense):
    class Model(torch.nn.Module):
        def __init__(self, a):
            super().__init__()
            self.register_buffer("adj", a)
            self.weight = torch.nn.Parameter(a.values().clone())

        def forward(self, x):
            return self.adj.with_values(self.weight) @ x

    a = ls.tensor(dense)
    model, other = Model(a), Model(a * 3)
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    other.load_state_dict(torch.load(buffer, weights_only=True))
    assert torch.equal(other.adj.to_dense(), dense)
    x = torch.randn(6, 2, dtype=torch.float64)
    torch.testing.assert_close(model(x), dense @ x)
    model(x).sum().backward()
    torch.optim.Adam(model.parameters()).step()
    half = model.to(torch.float32)
    assert half.adj.dtype == torch.float32


def test_share_memory(dense):
    a, x = ls.tensor(dense), torch.randn(6, 2, dtype=torch.float64)
    before = a @ x
    a.share_memory_()
    assert a.is_shared()
    assert torch.equal(a @ x, before)


def test_options():
    with ls.options(num_threads=3):
        from libsparse._storage import threads

        assert threads.count() == 3
    assert threads.count() == torch.get_num_threads()


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_enabled(dense, layout):
    t = dense.to_sparse(layout=layout)
    x = torch.randn(6, 3, dtype=torch.float64)
    originals = torch.mm, torch.Tensor.__matmul__, torch.sparse.mm
    expected = torch.mm(t, dense.T.to_sparse(layout=layout))
    with ls.override():
        assert torch.mm is not originals[0]
        for out in (torch.mm(t, x), t @ x, torch.sparse.mm(t, x), torch.matmul(t, x), t.mm(x)):
            assert type(out) is torch.Tensor
            torch.testing.assert_close(out, dense @ x)
        product = torch.mm(t, dense.T.to_sparse(layout=layout))
        assert product.layout is expected.layout
        torch.testing.assert_close(product.to_dense(), dense @ dense.T)
        assert torch.equal(torch.mm(x.T, x), x.T @ x)
    assert (torch.mm, torch.Tensor.__matmul__, torch.sparse.mm) == originals


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_enabled_gradients(dense, layout):
    x = torch.randn(6, 3, dtype=torch.float64)
    grads = []
    for on in (False, True):
        t, y = dense.to_sparse(layout=layout).requires_grad_(), x.clone().requires_grad_()
        if on:
            ls.enable()
        try:
            torch.sparse.mm(t, y).square().sum().backward()
        finally:
            if on:
                ls.disable()
        grads.append((t.grad, y.grad))
    assert grads[0][0].layout is grads[1][0].layout
    torch.testing.assert_close(grads[1][0].to_dense(), grads[0][0].to_dense() * (dense != 0))
    torch.testing.assert_close(grads[1][1], grads[0][1])


def test_enabled_uncoalesced():
    index, values = torch.tensor([[1, 0, 1], [2, 0, 2]]), torch.tensor([1.0, 2.0, 3.0])
    t, x = torch.sparse_coo_tensor(index, values, (2, 3)), torch.randn(3, 2)
    with ls.override():
        torch.testing.assert_close(t @ x, t.to_dense() @ x)
