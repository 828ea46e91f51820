"""New patterns: a kernel is found and filled in C for all operands of the same classes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from libsparse._compiler import kernel
from libsparse._runtime import bindings, dispatch, likes, requests, rooms
from libsparse._runtime.direct import native
from libsparse._runtime.outlines import outline_of
from libsparse._runtime.problem import Einsum, Operand, product
from libsparse._runtime.status import BoundError
from torch import Tensor

import libsparse as ls

pytestmark = pytest.mark.skipif(native is None, reason="this torch has no path in C")
TERMS = {
    "product": ((("i", "j"), ("j", "k")), ("i", "k"), None),
    "product with a transpose": ((("i", "j"), ("i", "k")), ("j", "k"), None),
    "product with a vector": ((("i", "j"), ("j",)), ("i",), None),
    "rows": ((("i", "j"),), ("i",), None),
    "sampled": ((("i", "j"), ("i", "k"), ("j", "k")), ("i", "j"), 0),
    "of two": ((("i", "j"), ("j", "k")), ("i", "k"), None),
    "at both": ((("i", "j"), ("i", "j")), ("i", "j"), None),
}
SEVERAL = {"of two", "at both"}


def matrix(rows: int, columns: int, entries: int, dtype: torch.dtype = torch.float32, format: str = "csr") -> Tensor:
    coords = torch.stack([torch.randint(rows, (entries,)), torch.randint(columns, (entries,))])
    return ls.from_coo(coords, torch.randn(entries, dtype=dtype), (rows, columns), format=format)


def operands(kind: str, extents: dict[str, int], entries: int, format: str) -> list[Operand]:
    found = []
    for number, term in enumerate(TERMS[kind][0]):
        shape = [extents[index] for index in term]
        if number == 0 or kind in SEVERAL:
            A = matrix(*shape, entries, format=format)
            found.append(Operand(A.pattern, A.values()))
        else:
            found.append(Operand(None, torch.randn(shape)))
    return found


def problem(kind: str, format: str):  # type: ignore[no-untyped-def]
    inputs, output, of = TERMS[kind]
    wanted = ls.Format(format) if of is not None or kind in SEVERAL else None
    return product(Einsum(inputs, output, wanted, pattern_of=of), True)


def classes(kind: str, given: list[Operand], format: str) -> object:
    asked = problem(kind, format)
    name = requests.signature(asked, given, wide=False, counted=False, few=None)
    assert name is not None
    return requests.of_classes(name, asked, given, asked.extents(given))


EXTENTS = st.one_of(st.integers(1, 70), st.sampled_from([63, 64, 65, 127, 128, 129, 255, 257, 1023, 1025, 4095, 4097]))
SIZES = st.fixed_dictionaries({"i": EXTENTS, "j": EXTENTS, "k": st.integers(1, 70)})
ENTRIES = st.one_of(st.integers(0, 60), st.sampled_from([200, 900, 3000, 5000, 9000]))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([*TERMS]), SIZES, ENTRIES, SIZES, ENTRIES, st.sampled_from(["csr", "csc"]))
def test_a_binding_takes_only_operands_of_its_classes(kind, first, few, second, others, format):
    before, after = operands(kind, first, few, format), operands(kind, second, others, format)
    asked = problem(kind, format)
    call = dispatch.build(asked, before)
    if not isinstance(call, dispatch.Call):
        return
    outline = outline_of(asked, before)
    if not bindings._may_bind(outline, call, asked, before):
        return
    binding = bindings._bound(outline, call, asked, before)
    if binding is None:
        return
    same = classes(kind, before, format) == classes(kind, after, format)
    taken = native.bind([binding], after, 1) is not None
    if likes.bindings_of(asked, before) == likes.bindings_of(asked, after):
        assert taken == same
    else:
        assert not same


OPERATIONS: dict[str, Callable[..., Tensor]] = {
    "A @ x": lambda A, B, X: A @ X[:, 0].contiguous(),
    "A @ X": lambda A, B, X: A @ X,
    "A @ column-major": lambda A, B, X: A @ X.t().contiguous().t(),
    "A.T @ X": lambda A, B, X: A.T @ X,
    "A + B": lambda A, B, X: A + B,
    "A + A.T": lambda A, B, X: A + A.T,
    "A * B": lambda A, B, X: A * B,
    "A @ B": lambda A, B, X: A @ B,
    "A * x": lambda A, B, X: A * X[:, :1],
    "sum": lambda A, B, X: A.sum(1),
    "evaluate": lambda A, B, X: ls.evaluate("Y(i,k) = A(i,j) * B(j,l) * X(l,k)", A=A, B=B, X=X),
}


def evaluated(name: str, A: Tensor, B: Tensor, X: Tensor) -> Tensor:
    return A @ B @ X if name == "evaluate" else OPERATIONS[name](A, B, X)


SQUARES = [(20, 30), (20, 35), (21, 31), (20, 40), (50, 300), (30, 300), (20, 40), (3, 0), (45, 290), (60, 290)]
KINDS = [("csr", torch.float32), ("csc", torch.float64), ("coo", torch.int64), ("dcsr", torch.bfloat16)]


@pytest.mark.parametrize(("format", "dtype"), KINDS)
def test_results_are_those_of_dense_torch_for_one_pattern_after_another(format, dtype):
    torch.manual_seed(0)
    for n, entries in SQUARES:
        real = matrix(n, n, entries, torch.float32, format), matrix(n, n, entries, torch.float32, format)
        A, B = (M.to(dtype) for M in real)
        X = (torch.randn(n, 4) * 3).to(dtype)
        for name, operation in OPERATIONS.items():
            found = operation(A, B, X)
            found = found.to_dense() if isinstance(found, ls.SparseTensor) else found
            wide = torch.float64 if dtype.is_floating_point else dtype
            wanted = evaluated(
                name, *(t.to_dense().to(wide) if isinstance(t, ls.SparseTensor) else t.to(wide) for t in (A, B, X))
            )
            close = {"rtol": 0.06, "atol": 0.3} if dtype is torch.bfloat16 else {"rtol": 1e-4, "atol": 1e-4}
            torch.testing.assert_close(found.to(wide), wanted, **close, msg=lambda m, name=name: f"{name}: {m}")


def bound_count(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What bindings take from now on."""
    found: list[object] = []
    take = bindings.Bindings.take

    def noted(self, operands):  # type: ignore[no-untyped-def]
        result = take(self, operands)
        found.append(result)
        return result

    monkeypatch.setattr(bindings.Bindings, "take", noted)
    return found


def test_later_patterns_are_served(monkeypatch):
    kernel.prepared.clear()
    found = bound_count(monkeypatch)
    for _ in range(7):
        A, B, X = matrix(40, 40, 90), matrix(40, 40, 90), torch.randn(40, 8)
        A @ X, A + B, ls.sddmm(A, X, X.t())
    assert len([x for x in found if x is not None]) >= 6


def test_larger_patterns_are_served(monkeypatch):
    found = bound_count(monkeypatch)
    for _ in range(7):
        A, B = matrix(900, 900, 6000), matrix(900, 900, 6000)
        torch.testing.assert_close((A + B).to_dense(), A.to_dense() + B.to_dense())
        torch.testing.assert_close((A @ B).to_dense(), A.to_dense() @ B.to_dense())
    assert len([x for x in found if x is not None and x[0].finder is not None]) >= 6


def test_entries_are_counted_where_a_binding_has_too_little_room(monkeypatch):
    for _ in range(7):
        A, B = matrix(300, 300, 6000), matrix(300, 300, 6000)
        A @ B, A + B
    refused, take = [], bindings.Bindings.take

    def noted(self, operands):
        try:
            return take(self, operands)
        except BoundError:
            refused.append(self)
            raise

    A, B = matrix(300, 300, 6000), matrix(300, 300, 6000)
    with monkeypatch.context() as little:
        little.setattr(bindings.Bindings, "take", noted)
        little.setattr(rooms.memory, "is_small", lambda *_: False)
        little.setattr(rooms.memory, "available", lambda: 1000)
        little.setattr(rooms, "_kept", [])
        multiplied, added = A @ B, A + B
    assert len(refused) == 2
    torch.testing.assert_close(multiplied.to_dense(), A.to_dense() @ B.to_dense())
    torch.testing.assert_close(added.to_dense(), A.to_dense() + B.to_dense())


def test_operands_that_are_not_as_they_seem_go_the_other_way():
    for _ in range(6):
        A, X = matrix(40, 40, 90), torch.randn(40, 8)
        A @ X, A + A.T, A * A.T
    A, D = matrix(40, 40, 90), torch.randn(40, 16)
    torch.testing.assert_close(A @ D[:, ::2], A.to_dense() @ D[:, ::2])
    A, negative = matrix(40, 40, 90), torch._neg_view(torch.randn(40, 8))
    torch.testing.assert_close(A @ negative, A.to_dense() @ negative.clone())
    with pytest.raises(ls.LibsparseError, match="41"):
        matrix(40, 40, 90) @ torch.randn(41, 8)
    C = matrix(40, 40, 90)
    torch.testing.assert_close((C + C.T).to_dense(), C.to_dense() + C.to_dense().t())
    B = matrix(40, 40, 90)
    B.values().resize_(3)
    with pytest.raises(ls.LibsparseError, match=r"values has shape \(3,\)"):
        B + matrix(40, 40, 90)
    with torch.inference_mode():
        S = matrix(40, 40, 90) + matrix(40, 40, 90)
        assert not S.pattern.pos[1].is_inference()


def test_other_settings_make_other_bindings():
    for _ in range(6):
        matrix(40, 40, 90) + matrix(40, 40, 90)
    assert any(isinstance(value, bindings.Bindings) for value in kernel.prepared.values())
    kernel.prepared.clear()
    A, B = matrix(40, 40, 90), matrix(40, 40, 90)
    torch.testing.assert_close((A + B).to_dense(), A.to_dense() + B.to_dense())


def test_the_second_computation_has_the_pattern_of_the_first():
    for _ in range(6):
        A, B = matrix(40, 40, 90), matrix(40, 40, 90)
        first = A + B
    again = A + B
    assert again.pattern is first.pattern
    torch.testing.assert_close(again, first)


def test_patterns_at_the_address_of_one_that_is_gone():
    A, results, addresses = matrix(40, 40, 90), [], set()
    again = 0
    for _ in range(60):
        B = matrix(40, 40, 90)
        again += id(B.pattern) in addresses
        addresses.add(id(B.pattern))
        results.append(A + B)
        torch.testing.assert_close(results[-1].to_dense(), A.to_dense() + B.to_dense())
        if len(results) % 2:
            torch.testing.assert_close((A + B).to_dense(), A.to_dense() + B.to_dense())
        del B
    assert again


@pytest.mark.parametrize("ndim", [3, 8, 9, 12])
def test_tensors_of_many_dimensions_go_the_other_way(ndim):
    shape = (2,) * ndim
    for _ in range(6):
        A, B = (ls.from_coo(torch.randint(0, 2, (ndim, 20)), torch.randn(20), shape) for _ in range(2))
        torch.testing.assert_close((A + B).to_dense(), A.to_dense() + B.to_dense())
        torch.testing.assert_close((A * B).to_dense(), A.to_dense() * B.to_dense())
        torch.testing.assert_close(A.sum(-1), A.to_dense().sum(-1))
        csf = A.to_format("csf")
        torch.testing.assert_close((csf + B.to_format("csf")).to_dense(), A.to_dense() + B.to_dense())


def test_problems_of_many_operands_go_the_other_way():
    names = "abcdefghijklmnopqrs"
    for count in (7, 8, 9, 18):
        for _ in range(6):
            A = matrix(4, 4, 9)
            vectors = [torch.rand(3) for _ in range(count - 1)]
            inputs = ["ab", *names[2 : count + 1]]
            found = ls.einsum(",".join(inputs) + "->a", A, *vectors)
            wanted = A.to_dense().sum(1) * torch.stack([v.sum() for v in vectors]).prod()
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
