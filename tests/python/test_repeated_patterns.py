"""Sparse results of patterns that an earlier call had: only values are computed, with the bits of a first call."""

import gc
import threading
import weakref

import pytest
import torch

import libsparse as ls


def scattered(rows: int, columns: int, each: int, seed: int) -> torch.Tensor:
    """A dense matrix with so many entries a row, at any places."""
    generator = torch.Generator().manual_seed(seed)
    dense = torch.zeros(rows, columns)
    places = torch.rand(rows, columns, generator=generator).topk(each).indices
    return dense.scatter_(1, places, torch.randn(rows, each, generator=generator))


OPERATIONS = {
    "product": lambda a, b: a @ b,
    "difference of products": lambda a, b: ls.evaluate("C(i,k) = A(i,j) * B(j,k) - B(i,j) * A(j,k)", A=a, B=b),
    "largest": lambda a, b: ls.matmul(a, b, reduce="max"),
    "sum": lambda a, b: a + b,
    "elementwise": lambda a, b: a * b,
}


@pytest.mark.parametrize(
    ("name", "formats", "each"),
    [
        *((name, ("csr", "csr"), 20) for name in OPERATIONS),
        ("product", ("csr", "csr"), 2),
        ("product", ("coo", "csc"), 20),
        ("product", ("csc", "csc"), 20),
        ("sum", ("dcsr", "csr"), 20),
    ],
)
def test_other_values(name, formats, each) -> None:
    operation = OPERATIONS[name]
    A, B = (ls.tensor(scattered(300, 300, each, seed)).to_format(f) for seed, f in enumerate(formats))
    operation(A, B)
    for seed in range(2):
        generator = torch.Generator().manual_seed(seed)
        a, b = (torch.randn(m.nnz, generator=generator) for m in (A, B))
        again = operation(A.with_values(a), B.with_values(b))
        fresh = operation(*(ls.SparseTensor(anew(m.pattern), v) for m, v in ((A, a), (B, b))))
        assert torch.equal(again.indices(), fresh.indices())
        assert torch.equal(again.values(), fresh.values())
    assert operation(A, B).pattern is operation(A, B).pattern


def anew(pattern):
    """An equal pattern, of which nothing is known."""
    return type(pattern)(pattern.format, pattern.shape, pattern.pos, pattern.crd)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int32, torch.complex64, torch.bool])
def test_types(dtype) -> None:
    A = ls.tensor(scattered(60, 60, 6, 3)).to(dtype)
    first, second = A @ A, A @ A
    assert torch.equal(first.values(), second.values())
    assert first.pattern is second.pattern


def test_gradients_of_a_repeated_product() -> None:
    A, B = (ls.tensor(scattered(12, 12, 3, seed).double()) for seed in (5, 6))

    def product(a, b):
        return (A.with_values(a) @ B.with_values(b)).values()

    values = [m.values().clone().requires_grad_() for m in (A, B)]
    assert torch.autograd.gradcheck(product, values)
    assert torch.autograd.gradgradcheck(product, values)


def test_what_is_kept_goes_with_either_pattern() -> None:
    A, B = (ls.tensor(scattered(50, 50, 4, seed)) for seed in (7, 8))
    for _ in range(3):
        results = A @ B, A + B
    assert results[0].pattern is (A @ B).pattern
    gone = [weakref.ref(result.pattern) for result in results]
    del B, results
    A @ A  # what is gone is noticed with the next new call
    A + ls.eye(50)
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


@pytest.mark.filterwarnings("ignore::libsparse.DenseResultWarning")
@pytest.mark.parametrize("change", ["dtype", "gradient", "fill", "stride"])
def test_other_operands_go_the_long_way(change) -> None:
    A, B = (ls.tensor(scattered(50, 50, 4, seed)) for seed in (9, 10))
    for _ in range(3):
        expected = A @ B
    values = A.values()
    changed = {
        "dtype": lambda: A.with_values(values.double()),
        "gradient": lambda: A.with_values(values.clone().requires_grad_()),
        "fill": lambda: ls.SparseTensor(A.pattern, values, 1.0),
        "stride": lambda: A.with_values(torch.stack([values, values], 1)[:, 0]),
    }[change]()
    result = changed @ B
    dense = result if type(result) is torch.Tensor else result.to_dense()
    if change == "fill":
        assert torch.allclose(dense, changed.to_dense() @ B.to_dense(), atol=1e-5)
    else:
        assert torch.allclose(dense, expected.to_dense().to(dense.dtype), atol=1e-5)
    assert result.requires_grad == (change == "gradient")


def test_threads_repeat_at_once() -> None:
    A, B = (ls.tensor(scattered(200, 200, 20, seed)) for seed in (11, 12))
    for _ in range(3):
        expected = A @ B, A + B
    found = []

    def work() -> None:
        found.extend((A @ B, A + B) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert all(torch.equal(x.values(), y.values()) for pair in found for x, y in zip(pair, expected, strict=True))


def test_many_calls_that_come_once_leave_what_is_known() -> None:
    A, y = ls.random((300, 40), density=0.2), torch.rand(300, 3)
    for _ in range(3):
        torch.addmm(y, A, torch.rand(40, 3))
    known = [name for name, plan in A.pattern.repeated.items() if plan]
    assert known
    for start in range(250):
        assert torch.equal(A[start : start + 3].to_dense(), A.to_dense()[start : start + 3])
    assert len(A.pattern.repeated) <= 128
    assert [name for name, plan in A.pattern.repeated.items() if plan] == known


def test_slices_differ_by_their_parts() -> None:
    A = ls.random((9, 9), density=0.5)
    dense = A.to_dense()
    for _ in range(3):
        for key in (
            slice(1, 5),
            slice(1, None),
            slice(None, 5),
            slice(1, 5, 2),
            (1, slice(5)),
            (slice(1), 5),
            ...,
            None,
        ):
            assert torch.equal(A[key].to_dense(), dense[key])


def test_patterns_that_are_dropped_are_found_anew() -> None:
    A = ls.random((9, 9), density=0.5)
    dense = A.to_dense()
    for _ in range(3):
        for low in range(8):
            for high in range(low + 1, 9):  # more than a pattern keeps
                assert torch.equal(A[low:high].to_dense(), dense[low:high])
    with ls.options(derived_bytes=0):
        for _ in range(4):
            assert torch.equal(A[2:5].to_dense(), dense[2:5])
            assert torch.equal(A.reshape(27, 3).to_dense(), dense.reshape(27, 3))


def test_patterns_are_released() -> None:
    A, B = ls.random((40, 50), density=0.5), ls.random((40, 50), density=0.5)
    for _ in range(3):
        A + B, A * B, torch.softmax(A, 1), A.sum(1)
    released = weakref.ref(A.pattern), weakref.ref(B.pattern)
    gc.disable()
    try:
        del A, B
        assert released[1]() is None
        assert released[0]() is None
    finally:
        gc.enable()


def test_tensors_that_are_joined_again_have_the_same_pattern() -> None:
    A, B = ls.random((4, 5), density=0.5), ls.random((3, 5), density=0.5)
    for first, second in ((A, B), (A, A), (A, B), (A, B * 2), (A.double(), B)):
        joined = torch.cat([first, second])
        assert torch.equal(joined.to_dense(), torch.cat([first.to_dense(), second.to_dense()]))
        assert joined.pattern is torch.cat([first * 3, second]).pattern
        assert joined.dtype == first.dtype
    assert torch.cat([A, B]).pattern is not torch.cat([A, A]).pattern
    assert any(name.startswith("cat to (7, 5)") for name in A.pattern.derived)
    del B, joined, first, second
    for _ in range(3):  # another pattern at the same address
        other = ls.random((3, 5), density=0.5)
        found = torch.cat([A, other])
        assert torch.equal(found.to_dense(), torch.cat([A.to_dense(), other.to_dense()]))
        del other, found
    values = A.values().clone().requires_grad_()
    for _ in range(3):
        torch.cat([A.with_values(values), A]).sum().backward()
    assert torch.equal(values.grad, torch.full((A.nnz,), 3.0))
