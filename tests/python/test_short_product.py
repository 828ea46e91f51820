"""`A @ x` by the short way, in C and in Python: both take the same operands, and leave the same ones alone."""

import gc
import threading
import weakref

import pytest
import torch
from covering import pairs
from libsparse._runtime import direct
from libsparse._tensor import short_product

import libsparse as ls

WAYS = [short_product.multiply_in_python, short_product.multiply_in_c]


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.no_grad():
        yield


def prepared(dtype=torch.float32, shape=(5, 3), format="csr"):
    """A matrix whose pattern keeps the product with an operand of a shape, and that operand."""
    dense = torch.arange(20.0).reshape(4, 5)
    dense = (dense * (dense % 3 == 0)).to(dtype)
    matrix, x = ls.tensor(dense, format=format), torch.ones(shape).to(dtype)
    for _ in range(2):
        matrix @ x
    return matrix, x


def test_c_is_there():
    assert direct.native is not None, "built without the C module: is there a C compiler and Python.h?"


DTYPES = [torch.float32, torch.float64, torch.complex64, torch.bfloat16, torch.int64]


@pytest.mark.parametrize(
    ("format", "dtype", "way", "shape"),
    pairs(["csr", "csc", "coo", "bsr(2,2)", "ell"], DTYPES, WAYS, [(5, 3), (5,)]),
)
def test_the_product_is_that_of_dense_torch(way, format, dtype, shape):
    matrix, x = prepared(dtype, shape, format)
    out = way(matrix, x)
    if out is not None:  # some formats take no short way
        assert type(out) is torch.Tensor
        assert out.dtype is dtype
        torch.testing.assert_close(out, matrix.to_dense() @ x)
    assert out is not None or format not in ("csr", "coo")


@pytest.mark.parametrize(
    ("format", "dtype", "way", "shape"),
    pairs(["csr", "csc", "coo", "dcsr"], [*DTYPES, torch.float16, torch.uint8], WAYS, [(5, 3), (5,)]),
)
def test_a_matrix_without_values_is_one_at_its_entries(way, format, dtype, shape):
    valued, x = prepared(dtype, shape, format)
    matrix, wanted = valued.with_values(None), (valued.to_dense() != 0).to(dtype) @ x
    for _ in range(2):
        torch.testing.assert_close(matrix @ x, wanted)
    out = way(matrix, x)
    assert out is not None
    assert out.dtype is dtype
    torch.testing.assert_close(out, wanted)
    torch.testing.assert_close(valued @ x, valued.to_dense() @ x)  # of the same pattern and shape
    assert way(matrix, x.to(torch.bool)) is None


@pytest.mark.parametrize("transposed", [False, True])
def test_gradients_through_a_matrix_without_values(transposed):
    matrix = ls.random((6, 6), 0.4).with_values(None)
    matrix = matrix.T if transposed else matrix
    dense = matrix.to_dense().double()
    with torch.enable_grad():
        for _ in range(5):
            x, grad = torch.rand(6, 3, dtype=torch.float64, requires_grad=True), torch.rand(6, 3, dtype=torch.float64)
            (matrix @ x).backward(grad)
            torch.testing.assert_close(x.grad, dense.T @ grad)
        assert torch.autograd.gradcheck(lambda x: matrix @ x, x, check_forward_ad=True, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(lambda x: (matrix @ x) ** 2, x)


def test_strides_of_the_operand_of_a_matrix_without_values():
    matrix, x = ls.random((6, 5), 0.5).with_values(None), torch.rand(3, 5)
    for _ in range(4):
        torch.testing.assert_close(matrix @ x.T, matrix.to_dense().float() @ x.T)


def _resized(matrix, x):
    matrix.values().resize_(1)
    return matrix, x


LEFT_ALONE = {
    "a shape that is new": lambda a, x: (a, torch.ones(5, 4)),
    "another dtype": lambda a, x: (a, x.double()),
    "another dtype of the values": lambda a, x: (a.double(), x),
    "sparse": lambda a, x: (a, x.to_sparse()),
    "on another device": lambda a, x: (a, x.to("meta")),
    "a negated view": lambda a, x: (a, torch._neg_view(x)),
    "values of another length": _resized,
    "a fill value": lambda a, x: (ls.SparseTensor(a.pattern, a.values(), fill=1), x),
    "no values": lambda a, x: (ls.SparseTensor(a.pattern), x),
    "a subclass": lambda a, x: (a, x.as_subclass(type("Other", (torch.Tensor,), {}))),
    "no tensor": lambda a, x: (a, 3),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", LEFT_ALONE)
def test_operands_that_are_left_to_others(way, case):
    assert way(*LEFT_ALONE[case](*prepared())) is None


@pytest.mark.parametrize("way", WAYS)
def test_conjugated_operands_are_left_to_others(way):
    matrix, x = prepared(torch.complex64)
    assert way(matrix, x.conj()) is None


@pytest.mark.parametrize("way", WAYS)
def test_what_watches_operations_sees_the_product(way):
    matrix, x = prepared()
    with torch.autocast("cpu"):
        assert way(matrix, x) is None
    with torch.profiler.profile():
        assert way(matrix, x) is None
    with torch.enable_grad():
        assert short_product.multiply_in_c(matrix, x.requires_grad_()) is None


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:FutureWarning")
def test_transforms_of_torch_func():
    matrix, x = prepared()
    batch = torch.stack([x, 2 * x])
    expected = torch.stack([matrix @ x, matrix @ (2 * x)])
    torch.testing.assert_close(torch.func.vmap(lambda one: matrix @ one)(batch), expected)
    tangent = torch.func.jvp(lambda one: matrix @ one, (x,), (x,))[1]
    torch.testing.assert_close(tangent, expected[0])


@pytest.mark.parametrize("way", WAYS)
def test_values_and_arrays_that_move(way):
    matrix, x = prepared()
    expected = matrix @ x
    matrix.share_memory_()
    torch.testing.assert_close(way(matrix, x), expected)
    matrix.values().mul_(2)
    torch.testing.assert_close(way(matrix, x), 2 * expected)


@pytest.mark.parametrize("format", ["csr", "coo"])
def test_gradients_of_a_sum_and_of_a_product_in_coordinates(format):
    matrix, x = prepared(torch.float64, format=format)
    values, dense = matrix.values().clone().requires_grad_(), x.clone().requires_grad_()
    with torch.enable_grad():
        for _ in range(3):  # the first prepares what the others run
            values.grad = dense.grad = None
            (matrix.with_values(values) @ dense).sum().backward()
            rows, columns = matrix.indices()
            torch.testing.assert_close(values.grad, x.sum(1)[columns])
            torch.testing.assert_close(dense.grad, matrix.to_dense().sum(0)[:, None].expand(x.shape))
            assert len(rows) == matrix.nnz


def test_threads():
    matrix, x = prepared()
    expected, found = matrix @ x, []
    workers = [threading.Thread(target=lambda: found.append(short_product.multiply_in_c(matrix, x))) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 8
    assert all(torch.equal(out, expected) for out in found)
    with ls.options(num_threads=1):
        torch.testing.assert_close(short_product.multiply_in_c(matrix, x), expected)


def test_a_pattern_is_released():
    matrix, _ = prepared()
    array = weakref.ref(matrix.pattern.crd[1])
    del matrix
    gc.collect()
    assert array() is None
