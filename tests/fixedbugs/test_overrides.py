"""Under an override torch's names take what they take without it."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from libsparse._ops import layout_patterns

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
    assert C.grad.layout is layout
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
    assert len(layout_patterns._known) < 10


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_a_sparse_operands_gradient_is_undefined_where_the_results_is(layout: torch.layout) -> None:
    a = torch.eye(3, dtype=torch.float64).to_sparse(layout=layout).requires_grad_()
    x = torch.rand(3, 2, dtype=torch.float64, requires_grad=True)
    with ls.override():
        for product in (torch.sparse.mm(a, x), torch.sparse.mm(a, a.detach())):
            undefined = torch._C._functions.UndefinedGrad()(product)
            assert torch.autograd.grad(undefined, a, torch.zeros_like(product), allow_unused=True) == (None,)


def test_products_refuse_ranks_and_dtypes_that_torchs_refuse() -> None:
    a = torch.eye(2).to_sparse()
    batch = torch.stack([a, a])
    with ls.override():
        for call in (
            lambda: torch.sparse.mm(batch, batch),
            lambda: torch.sparse.mm(a, torch.ones(2, 2, dtype=torch.float64)),
            lambda: torch.mm(a.to_sparse_csr(), torch.ones(2, 2, dtype=torch.float64)),
            lambda: torch.sparse.mm(a.double(), a),
        ):
            with pytest.raises(RuntimeError):
                call()


def test_torch_addmm_takes_matrices_only() -> None:
    with pytest.raises(ls.ShapeError, match="addmm takes tensors of 2 and 2 dimensions"):
        torch.addmm(
            torch.ones(2, 2, 2), ls.from_mask(torch.ones(2, 2, 2, dtype=torch.bool)).float(), torch.ones(2, 2, 2)
        )


def test_addmm_has_the_layout_of_what_is_added_to() -> None:
    a = torch.eye(3)
    csc = a.to_sparse_csc()
    with ls.override():
        assert torch.addmm(csc, csc, csc).layout is torch.sparse_csc
        for beta in (0, 1):
            assert torch.addmm(a, a.to_sparse_csr(), a.to_sparse_csr(), beta=beta).layout is torch.strided
    assert torch.equal(torch.addmm(a, ls.from_torch(csc), ls.from_torch(csc), beta=0), a)


def test_sampled_addmm_keeps_compressed_batches_of_several_dimensions() -> None:
    mask = torch.ones(2, 3, 4, 4).to_sparse_csr()
    with ls.override():
        found = torch.sparse.sampled_addmm(mask, torch.ones(2, 3, 4, 5), torch.ones(2, 3, 5, 4))
    assert found.layout is torch.sparse_csr
    assert torch.equal(found.to_dense(), torch.full((2, 3, 4, 4), 6.0))


@pytest.mark.parametrize(
    "function", [torch.relu, torch.abs, torch.neg, lambda A: A * A, lambda A: A * 2, lambda A: A.double().float()]
)
def test_gradients_of_products_with_results_of_torchs_own_functions(function):
    dense = torch.where(torch.rand(6, 6) < 0.5, torch.randn(6, 6), 0)
    x, tensor, twin = torch.randn(6, 2), dense.to_sparse_csr().requires_grad_(), dense.clone().requires_grad_()
    with ls.override():
        (function(tensor) @ x).sum().backward()
    (function(twin) @ x).sum().backward()
    assert tensor.grad is not None
    torch.testing.assert_close(tensor.grad.to_dense(), twin.grad * (dense != 0))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_compiled_functions_switch():
    own, matrix, x = torch.mm, torch.eye(6).to_sparse_csr(), torch.randn(6, 3)

    def inside(matrix, x):
        with ls.override():
            return torch.mm(matrix, x) + 1

    def from_then_on(matrix, x):
        ls.enable()
        y = torch.mm(matrix, x)
        ls.disable()
        return y + 1

    for function in (inside, from_then_on):
        compiled = torch.compile(function, backend="eager")
        for operand in (matrix, matrix.to_dense()):
            torch.testing.assert_close(compiled(operand, x), x + 1)
            assert torch.mm is own


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_sparse_results_may_be_written_to(layout: torch.layout) -> None:
    dense = [torch.where(torch.rand(6, 6) < share, torch.randn(6, 6), 0) for share in (0.3, 0.5)]
    a, b = (matrix.to_sparse(layout=layout) for matrix in dense)
    product = dense[0] @ dense[0]
    with ls.override():
        for _ in range(3):
            result = a @ a
            torch.testing.assert_close(result.to_dense(), product)
            result += b
            torch.testing.assert_close(result.to_dense(), product + dense[1])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_index_arrays_of_results_have_the_dtype_of_the_operands(dtype: torch.dtype) -> None:
    eye, x = torch.eye(6).to_sparse_csr(), torch.randn(6, 6)
    matrix = torch.sparse_csr_tensor(eye.crow_indices().to(dtype), eye.col_indices().to(dtype), eye.values(), (6, 6))
    leaf = matrix.clone().requires_grad_()
    with ls.override():
        results = [matrix @ matrix, torch.sparse.sampled_addmm(matrix, x, x), leaf * 2, leaf.relu(), leaf.t().mT]
        results += [leaf.to_sparse_csr(), torch.autograd.grad((leaf @ x).sum(), leaf)[0]]
    for result in results:
        assert {result.crow_indices().dtype, result.col_indices().dtype} == {dtype}
        assert result is leaf or result.col_indices().data_ptr() != leaf.col_indices().data_ptr()


def test_sums_understand_axis() -> None:
    leaf = torch.eye(3).to_sparse().requires_grad_()
    with ls.override():
        assert leaf.sum(axis=1).layout is torch.sparse_coo


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_what_changes_nothing_returns_the_leaf(layout: torch.layout) -> None:
    leaf = torch.eye(4).to_sparse(layout=layout).requires_grad_()
    with ls.override():
        for same in (leaf.to("cpu"), leaf.float(), torch.nn.functional.dropout(leaf, 0.5, False), leaf.conj(), +leaf):
            assert same is leaf
        assert leaf.double() is not leaf
