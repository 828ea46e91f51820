"""Results that are written before they are counted, to room for as many entries as there may be."""

import gc
import threading
import weakref

import pytest
import torch
from covering import pairs
from libsparse._compiler import kernel
from libsparse._runtime import discovery, rooms

import libsparse as ls


def matrix(rows: int, columns: int, density: float, seed: int, dtype=torch.float32, format="csr"):
    generator = torch.Generator().manual_seed(seed)
    dense = torch.randint(1, 9, (rows, columns), generator=generator).to(dtype)
    return ls.tensor(dense * (torch.rand(rows, columns, generator=generator) < density), format=format)


CASES = {
    "sum": (lambda A, B, C: A + B, lambda A, B, C: A + B),
    "sum of three": (
        lambda A, B, C: ls.evaluate("D(i,j) = A(i,j) + B(i,j) - C(i,j)", A=A, B=B, C=C, format="csr"),
        lambda A, B, C: A + B - C,
    ),
    "product of elements": (lambda A, B, C: A * B, lambda A, B, C: A * B),
    "product": (lambda A, B, C: A @ C.T, lambda A, B, C: A @ C.T),
}


@pytest.mark.parametrize(
    ("shape", "case", "threads"), pairs([(0, 7), (7, 0), (1, 1), (40, 30), (700, 900)], list(CASES), [1, 2])
)
def test_values_and_exact_lengths(case: str, shape: tuple[int, int], threads: int) -> None:
    function, dense = CASES[case]
    operands = [matrix(*shape, density, seed) for seed, density in enumerate((0.2, 0.3, 0.1))]
    with ls.options(num_threads=threads):
        first, again = function(*operands), function(*operands)
    torch.testing.assert_close(first.to_dense(), dense(*(o.to_dense() for o in operands)))
    assert torch.equal(first.values(), again.values())
    assert first.pattern is again.pattern
    for factor in (2, -1, 3):  # the first repeated call leaves what those after it read
        scaled = [ls.SparseTensor(o.pattern, o.values() * factor) for o in operands]
        with ls.options(num_threads=threads):
            result = function(*scaled)
        assert result.pattern is first.pattern
        torch.testing.assert_close(result.to_dense(), dense(*(o.to_dense() for o in scaled)))
    for array in (first.values(), first.pattern.crd[1]):
        assert array.untyped_storage().nbytes() == first.nnz * array.element_size()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [30, 900])
def test_patterns_are_found_in_c_as_in_python(case: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    function, _ = CASES[case]
    results = []
    for in_c in (True, False):
        kernel.forget()
        if not in_c:
            monkeypatch.setattr(discovery, "_finder", lambda kernel: None)
        operands = [matrix(size, size, density, seed) for seed, density in enumerate((0.2, 0.3, 0.1))]
        results.append(function(*operands))
        ways = [found.slots.finder for _, found in kernel.known() if found.bound is not None]
        assert ways
        assert all((way is not None) == (in_c and discovery.native is not None) for way in ways)
    first, second = results
    assert torch.equal(first.values(), second.values())
    assert first.pattern.index_dtype == second.pattern.index_dtype
    for ours, other in zip(first.pattern.tensors(), second.pattern.tensors(), strict=True):
        assert torch.equal(ours, other)


@pytest.mark.parametrize("case", CASES)
def test_patterns_keep_no_values_of_their_first_result(case: str) -> None:
    function, _ = CASES[case]
    A, B, C = [matrix(60, 60, density, seed) for seed, density in enumerate((0.2, 0.3, 0.1))]
    values = A.values().clone().requires_grad_()
    result = function(ls.SparseTensor(A.pattern, values), B, C)
    references = [weakref.ref(values), weakref.ref(result.values())]
    del values, result
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_rows_of_products_with_one_entry_are_multiples_of_another() -> None:
    A = ls.from_csr([0, 1, 1, 3, 4], [2, 0, 1, 1], [-1.0, 2.0, 3.0, 0.5], (4, 3))
    B = ls.from_csr([0, 2, 2, 4], [0, 4, 1, 3], [0.0, torch.inf, 0.0, torch.nan], (3, 5))
    C = A @ B
    assert C.pattern.pos[1].tolist() == [0, 2, 2, 4, 4]
    assert C.pattern.crd[1].tolist() == [1, 3, 0, 4]
    torch.testing.assert_close(C.values(), torch.tensor([0.0, torch.nan, 0.0, torch.inf]), equal_nan=True)
    assert not C.values()[0].signbit()  # 0 + -0, as sums of several terms
    again = A.with_values(A.values().clone()) @ B
    assert again.values()[0].signbit() == C.values()[0].signbit()


@pytest.mark.parametrize("dtype", [torch.float16, torch.int32, torch.bool])
@pytest.mark.parametrize("text", ["maximum(A(i,j), B(i,j))", "A(i,j) + B(i,j) + C(i,j)"])
def test_repeated_unions_of_any_dtype(text: str, dtype: torch.dtype) -> None:
    A, B, C = (matrix(40, 30, density, seed, dtype) for seed, density in enumerate((0.2, 0.3, 0.0)))
    operands = {name: tensor for name, tensor in zip("ABC", (A, B, C), strict=True) if f"{name}(" in text}
    results = [ls.evaluate(f"D(i,j) = {text}", **operands, format="csr") for _ in range(4)]
    for again in results[1:]:
        assert torch.equal(results[0].values(), again.values())
    a, b, c = A.to_dense(), B.to_dense(), C.to_dense()
    want = torch.maximum(a, b) if "max" in text else a + b + c
    torch.testing.assert_close(results[-1].to_dense(), want)


def counted() -> int:
    return sum(found.assemble is not None and found.bound is None for _, found in kernel.known())


def test_entries_are_counted_where_room_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    A, B = matrix(50, 60, 0.3, 1, torch.float64), matrix(50, 60, 0.3, 2, torch.float64)
    monkeypatch.setattr(rooms.memory, "is_small", lambda *_: False)
    monkeypatch.setattr(rooms.memory, "available", lambda: 1 << 30)
    want = A.to_dense() + B.to_dense()
    before = counted()
    assert torch.equal((A + B).to_dense(), want)
    assert counted() == before
    monkeypatch.setattr(rooms.memory, "available", lambda: 100_000)
    monkeypatch.setattr(rooms, "_kept", [])
    A, B = matrix(50, 60, 0.3, 3, torch.float64), matrix(50, 60, 0.3, 4, torch.float64)
    for _ in range(3):
        assert torch.equal((A + B).to_dense(), A.to_dense() + B.to_dense())
    assert counted() == before + 1


def test_rooms_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list = []
    monkeypatch.setattr(rooms, "_kept", kept)
    large = matrix(400, 400, 0.5, 1)
    large + matrix(400, 400, 0.5, 2)
    size = kept[0].bytes
    small = matrix(3, 3, 0.5, 3)
    small + matrix(3, 3, 0.5, 4)
    assert kept[0].bytes == size
    for seed in range(40):
        small + matrix(3, 3, 0.5, seed)
    assert kept[0].bytes < size


def test_threads_have_rooms_of_their_own() -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        for seed in range(20):
            A, B = matrix(60, 50, 0.3, 100 * number + seed), matrix(60, 50, 0.3, 100 * number + seed + 50)
            if not torch.equal((A + B).to_dense(), A.to_dense() + B.to_dense()):
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
