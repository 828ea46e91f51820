"""Arguments that are no ints, dtypes or numbers that a dtype holds, and extents of which none can be made a list."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import libsparse as ls


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.tril(1.5),
        lambda x: x.triu(1.5),
        lambda x: x.diagonal(1.5),
        lambda x: x[0].diag(1.5),
        lambda x: x.diag_embed(0.5),
        lambda x: x.rot90(1.5),
        lambda x: x.unfold(0, 1.5, 1),
        lambda x: x.unfold(0, 1, 1.5),
    ],
)
def test_fractions_are_no_ints(call: Callable[[Tensor], Tensor], dense: Tensor) -> None:
    with pytest.raises(TypeError):
        call(dense)
    with pytest.raises(ls.DtypeError, match=r"is [01]\.5; expected an int"):
        call(ls.tensor(dense))


def test_windows_and_copies_of_huge_extents() -> None:
    A = ls.from_coo([[1, 5], [2, 7]], torch.tensor([1.0, 2.0]), (2**40, 2**40), format="coo")
    for call in (lambda: A.repeat_interleave(2, 0), lambda: A.unfold(1, 3, 1)):
        with pytest.raises(ls.FormatError, match=r"new coordinates .* would take"):
            call()


@pytest.mark.parametrize(("dtype", "value"), [(torch.int64, float("nan")), (torch.float32, 1j), (torch.uint8, 300)])
def test_filled_by_what_the_dtype_cannot_hold(dtype: torch.dtype, value: Any, dense: Tensor) -> None:
    with pytest.raises(RuntimeError):
        dense.to(dtype).masked_fill(dense > 0, value)
    with pytest.raises(ls.DtypeError, match="masked_fill"):
        ls.tensor(dense).to(dtype).masked_fill(dense > 0, value)


def test_filled_by_a_number_and_a_tensor(dense: Tensor) -> None:
    for value in (7, 1.5, True, torch.tensor(2.5)):
        for dtype in (torch.int64, torch.float32):
            wanted = dense.to(dtype).masked_fill(dense > 1, value)
            found = ls.tensor(dense).to(dtype).masked_fill(dense > 1, value)
            assert found.dtype == dtype
            assert torch.equal(found.to_dense(), wanted)


def test_complex_numbers_have_no_nansum(dense: Tensor) -> None:
    for name in ("nansum", "nanmean"):
        with pytest.raises(NotImplementedError):
            getattr(dense * 1j, name)()
        with pytest.raises(ls.DtypeError, match=r"nansum of torch\.complex64"):
            getattr(ls.tensor(dense * 1j), name)()


def test_dtypes_of_python_and_numpy(dense: Tensor) -> None:
    A = ls.tensor(dense)
    assert A.mean(dtype=float).dtype == torch.float64
    assert A.sum(0, dtype=complex).dtype == torch.complex128
    for call in (lambda: np.mean(A, dtype=np.float64), lambda: A.sum(dtype="float32")):
        with pytest.raises(ls.DtypeError, match=r"dtype is .*; expected a torch\.dtype"):
            call()


INTS = [np.int8, np.int16, np.uint8, np.uint16, np.uint64]


@pytest.mark.parametrize("dtype", INTS)
def test_integers_of_numpy_are_indices(dtype: Any, dense: Tensor) -> None:
    A, one = ls.tensor(dense), dtype(1)  # one of uint8 was taken for a mask
    keys: list[Any] = [one, (slice(None), one), (one, one), slice(one, None), np.array(1, dtype)]
    if dtype is not np.uint8:
        keys += [np.array([1, 0, 1], dtype), (slice(None), np.array([1, 0], dtype))]
    else:
        keys.pop()
    for key in keys:
        found, wanted = A[key], dense[key]
        torch.testing.assert_close(found.to_dense() if isinstance(found, ls.SparseTensor) else found, wanted)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.uint16])
def test_tensors_of_small_integers_are_indices_where_they_are_one(dtype: torch.dtype, dense: Tensor) -> None:
    one = torch.tensor(1, dtype=dtype)
    torch.testing.assert_close(ls.tensor(dense)[one].to_dense(), dense[one])
    with pytest.raises(IndexError):
        dense[one.reshape(1)]
    with pytest.raises(ls.IndexBoundsError, match="not int8, int16"):
        ls.tensor(dense)[one.reshape(1)]


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_integers_of_numpy_are_numbers_of_pieces(dtype: Any, dense: Tensor) -> None:
    calls: list[Callable[[Tensor, Any], Any]] = [
        lambda x, n: torch.chunk(x, n),
        lambda x, n: torch.tensor_split(x, n),
        lambda x, n: (x.repeat_interleave(n, 0),),
        lambda x, n: (x.narrow(0, 0, n),),
        lambda x, n: (x.select(0, n),),
    ]
    for call in calls:
        for found, wanted in zip(call(ls.tensor(dense), dtype(2)), call(dense, dtype(2)), strict=True):
            torch.testing.assert_close(found.to_dense(), wanted)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, n: x.select(0, n),
        lambda x, n: x.narrow(0, n, 1),
        lambda x, n: x.narrow(0, 0, n),
        lambda x, n: torch.tensor_split(x, n[:, None]),
        lambda x, n: x.repeat_interleave(n * 0.5, 0),
    ],
)
def test_several_numbers_are_no_int(call: Callable[[Tensor, Tensor], Tensor], dense: Tensor) -> None:
    with pytest.raises(ls.DtypeError, match=r"expected (an int|ints|integers)"):
        call(ls.tensor(dense), torch.tensor([1, 0]))


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_integers_of_numpy_are_sizes_and_dimensions(dtype: Any, dense: Tensor) -> None:
    A, one, three = ls.tensor(dense), dtype(1), dtype(3)
    torch.testing.assert_close((A > 0).any(one), (dense > 0).any(one))
    torch.testing.assert_close((A > 0).all(one), (dense > 0).all(one))
    assert A.size(one) == 3
    assert A.pos(one).tolist() == A.pos(1).tolist()
    patterns = ls.nn.patterns
    made = [patterns.window(three, one), patterns.strided(three, one), patterns.blocks(three, one)]
    assert [mask.nnz for mask in made] == [7, 9, 3]
    assert patterns.global_tokens(three, one).to_dense()[0].all()  # how many tokens, not the place of one
    assert ls.mttkrp(A, [torch.ones(3, 2)] * 2, one).shape == (3, 2)
    assert [part.shape for part in torch.hsplit(A, three)] == [(3, 1)] * 3
    assert ls.linalg.eigsh(A @ A.T, one)[0].shape == (1,)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64])
def test_scalars_of_numpy_are_numbers(dtype: Any, dense: Tensor) -> None:
    A, number = ls.tensor(dense), dtype(2)
    found = ls.evaluate("y(i) = a * A(i,j)", A=A, a=number)
    torch.testing.assert_close(found, 2 * dense.sum(1))
    torch.testing.assert_close(A.set_diag(number).to_dense().diag(), torch.full((3,), 2.0))
    torch.testing.assert_close(torch.nn.functional.dropout(A, dtype(0)).to_dense(), dense)
    q, mask = torch.rand(1, 3, 4), ls.from_mask(torch.ones(3, 3, dtype=torch.bool))
    torch.testing.assert_close(ls.attention(q, q, q, mask, scale=number), ls.attention(q, q, q, mask, scale=2.0))


@pytest.mark.parametrize("number", [Fraction(1, 2), Decimal(2)])
def test_numbers_of_other_libraries_are_named_in_errors(number: Any, dense: Tensor) -> None:
    A, q, mask = ls.tensor(dense), torch.rand(1, 3, 4), ls.from_mask(torch.ones(3, 3, dtype=torch.bool))
    for call in (
        lambda: ls.evaluate("y(i) = a * A(i,j)", A=A, a=number),
        lambda: torch.nn.functional.dropout(A, number),
        lambda: ls.attention(q, q, q, mask, scale=number),
        lambda: ls.mttkrp(A, [torch.ones(3, 2)] * 2, number),
        lambda: A.norm(number),
    ):
        with pytest.raises(ls.DtypeError, match=f"{type(number).__name__}"):
            call()


def test_dimensions_that_are_several_numbers(dense: Tensor) -> None:
    for dim in (torch.tensor([0, 1]), np.array([0, 1])):
        with pytest.raises(ls.DtypeError, match=r"dim is .* expected an int"):
            ls.tensor(dense).softmax(dim)
