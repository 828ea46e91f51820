"""Coordinates that come again: from the third time on the pattern is the one of the second, and numbers stay right."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from libsparse._ops import arranging

import libsparse as ls

COUNT, SHAPE = 300, (40, 30)


def triplets(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(SHAPE[0], (COUNT,), generator=generator)
    columns = torch.randint(SHAPE[1], (COUNT,), generator=generator)
    return torch.stack([rows, columns]), torch.rand(COUNT, generator=generator, dtype=torch.float64)


def dense(indices: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return torch.zeros(SHAPE, dtype=values.dtype).index_put(tuple(indices), values, accumulate=True)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "ell", "hs", "bsr(2,2)"])
def test_the_pattern_is_that_of_the_last_time(format: str) -> None:
    indices, values = triplets()
    found = [ls.from_coo(indices.clone(), n * values, SHAPE, format) for n in range(1, 5)]
    for n, A in enumerate(found):
        torch.testing.assert_close(A.to_dense(), (n + 1) * dense(indices, values))
    assert found[0].pattern is not found[1].pattern
    assert found[2].pattern is found[3].pattern
    if format in ("csr", "csc", "coo", "dcsr"):
        assert found[1].pattern is found[2].pattern


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
def test_duplicates_are_reduced_each_time(reduce: str) -> None:
    indices, values = triplets()
    names = {"max": "amax", "min": "amin"}
    place = indices[0] * SHAPE[1] + indices[1]
    wanted = torch.zeros(SHAPE[0] * SHAPE[1], dtype=torch.float64)
    wanted = wanted.scatter_reduce(0, place, values, names.get(reduce, reduce), include_self=False).reshape(SHAPE)
    for dtype in (torch.float64, torch.float32, torch.float64):
        A = ls.from_coo(indices, values.to(dtype), SHAPE, reduce=reduce)
        torch.testing.assert_close(A.to_dense(), wanted.to(dtype))


def test_gradients_reach_all_duplicates() -> None:
    indices, values = triplets()
    for _ in range(4):
        followed = values.clone().requires_grad_()
        (ls.from_coo(indices, followed, SHAPE) @ torch.ones(SHAPE[1], dtype=torch.float64)).square().sum().backward()
        wanted = values.clone().requires_grad_()
        dense(indices, wanted).sum(1).square().sum().backward()
        torch.testing.assert_close(followed.grad, wanted.grad)


def test_what_is_written_into_an_array_of_the_user_is_seen() -> None:
    array = triplets()[0].numpy()
    values = torch.ones(COUNT, dtype=torch.float64)
    for step in range(6):
        A = ls.from_coo(array, values, SHAPE)
        torch.testing.assert_close(A.to_dense(), dense(torch.from_numpy(array.copy()), values))
        if step % 2:
            array[:, 150] = np.array([step, step])  # between those that are looked at first


def test_arrays_of_a_pattern_that_somebody_wrote_to_are_not_used_again() -> None:
    indices, values = triplets()
    A = [ls.from_coo(indices, values, SHAPE) for _ in range(3)][-1]
    A.col_indices()[0] += 1
    torch.testing.assert_close(ls.from_coo(indices, values, SHAPE).to_dense(), dense(indices, values))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_rows_that_come_again_have_one_pattern(dtype: torch.dtype) -> None:
    indices, values = triplets()
    A = ls.from_coo(indices, values, SHAPE)
    starts, columns = A.crow_indices().to(dtype, copy=True), A.col_indices().to(dtype, copy=True)
    found = [ls.from_csr(starts.clone(), columns.clone(), n * A.values(), SHAPE) for n in range(1, 5)]
    for n, B in enumerate(found):
        torch.testing.assert_close(B.to_dense(), (n + 1) * A.to_dense())
    assert found[1].pattern is found[3].pattern is not found[0].pattern
    columns[0] = 99
    with pytest.raises(ls.IndexBoundsError):
        ls.from_csr(starts, columns, A.values(), SHAPE)
    assert ls.from_csc(starts, A.col_indices(), A.values(), SHAPE[::-1]).format == "csc"


def test_indices_out_of_range_are_refused_after_right_ones() -> None:
    indices, values = triplets()
    for _ in range(3):
        ls.from_coo(indices, values, SHAPE)
    wrong = indices.clone()
    wrong[0, 17] = SHAPE[0]
    with pytest.raises(ls.IndexBoundsError, match="17"):
        ls.from_coo(wrong, values, SHAPE)


def test_few_lists_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arranging, "_KEPT", 5 * 2 * COUNT)
    for seed in range(20):
        for _ in range(2):
            ls.from_coo(*triplets(seed), SHAPE)
    assert sum(seen.made is not None for seen in arranging._seen.values()) == 5
    for seed in range(100, 200):
        ls.from_coo(*triplets(seed), SHAPE)
    assert len(arranging._seen) == arranging._SEEN


def test_nothing_of_inference_is_kept() -> None:
    indices, values = triplets()
    with torch.inference_mode():
        for _ in range(3):
            ls.from_coo(indices, values, SHAPE)
    followed = values.clone().requires_grad_()
    ls.from_coo(indices, followed, SHAPE).sum().backward()
    torch.testing.assert_close(followed.grad, torch.ones_like(values))


@pytest.mark.parametrize("format", ["csr", "coo", "ell", "bsr(2,2)", "dd"])
@pytest.mark.parametrize("order", ["any", "sorted", "distinct"])
def test_compiled_functions_find_the_places_of_values(format: str, order: str) -> None:
    indices, values = triplets()
    if order == "sorted":
        indices = indices[:, torch.argsort(indices[0] * SHAPE[1] + indices[1], stable=True)]
    if order == "distinct":
        indices = torch.unique(indices, dim=1)
        values = values[: indices.shape[1]]

    def loss(v: torch.Tensor) -> torch.Tensor:
        A = ls.from_coo(indices, v, SHAPE, format)
        return (A @ torch.ones(SHAPE[1], dtype=v.dtype)).square().sum()

    followed = values.clone().requires_grad_()
    torch.compiler.reset()  # each case is another function to torch
    torch.compile(loss, backend="eager", fullgraph=True)(followed).backward()
    wanted = values.clone().requires_grad_()
    dense(indices, wanted).sum(1).square().sum().backward()
    torch.testing.assert_close(followed.grad, wanted.grad)
