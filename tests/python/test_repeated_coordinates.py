"""Coordinates that come again are sorted once, from the third time on; numbers stay right, and patterns apart."""

from __future__ import annotations

from typing import Any

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


@pytest.fixture
def sorted_lists(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the lists that were sorted."""
    found: list[int] = []
    arranged = arranging._arranged

    def noted(levels: list[torch.Tensor], *rest: Any) -> Any:
        found.append(len(levels[0]))
        return arranged(levels, *rest)

    monkeypatch.setattr(arranging, "_arranged", noted)
    return found


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "ell", "hs", "bsr(2,2)"])
def test_lists_are_sorted_twice_at_most(format: str, sorted_lists: list[int]) -> None:
    indices, values = triplets()
    found = [ls.from_coo(indices.clone(), n * values, SHAPE, format) for n in range(1, 5)]
    for n, A in enumerate(found):
        torch.testing.assert_close(A.to_dense(), (n + 1) * dense(indices, values))
        assert A.format == format
        torch.testing.assert_close((A @ torch.ones(SHAPE[1], dtype=torch.float64)), A.to_dense().sum(1))
    assert sorted_lists == [COUNT, COUNT]


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


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr"])
@pytest.mark.parametrize("write", ["version", "numpy", "data", "derived", "result", "shared"])
def test_what_is_written_to_arrays_of_one_tensor_is_in_no_other(format: str, write: str) -> None:
    indices, values = triplets()
    A = [ls.from_coo(indices, values, SHAPE, format) for _ in range(3)][-1]
    array = next(a for a in reversed(A.pattern.crd) if a is not None)
    if write == "version":
        array[0] += 1
    elif write == "numpy":
        array.numpy()[:] = 0
    elif write == "data":
        array.data[0] += 1
    elif write == "derived":
        A.indices().zero_()
        A.pattern.linear().zero_()
    elif write == "result":
        (A + ls.from_coo(indices, values, SHAPE, format)).indices().zero_()
    else:
        A.share_memory_()
    B = ls.from_coo(indices, values, SHAPE, format)
    torch.testing.assert_close(B.to_dense(), dense(indices, values))
    torch.testing.assert_close((B + B).to_dense(), 2 * dense(indices, values))
    assert not any(a.is_shared() for a in B.pattern.crd if a is not None)


def test_indices_out_of_range_are_refused_after_right_ones() -> None:
    indices, values = triplets()
    for _ in range(3):
        ls.from_coo(indices, values, SHAPE)
    wrong = indices.clone()
    wrong[0, 17] = SHAPE[0]
    with pytest.raises(ls.IndexBoundsError, match="17"):
        ls.from_coo(wrong, values, SHAPE)


def test_few_lists_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arranging, "_KEPT", 5 * 6 * COUNT)
    for seed in range(20):
        for _ in range(2):
            ls.from_coo(*triplets(seed), SHAPE)
    kept = [seen.made for seen in arranging._seen.values() if seen.made is not None]
    assert 5 <= len(kept) <= 10
    assert sum(made.numbers() + 2 * COUNT for made in kept) <= 5 * 6 * COUNT
    for seed in range(100, 200):
        ls.from_coo(*triplets(seed), SHAPE)
    assert len(arranging._seen) == arranging._SEEN


def test_patterns_that_are_far_longer_than_their_lists_are_not_kept() -> None:
    indices = torch.tensor([[0, 5], [1, 0]])
    for _ in range(4):
        A = ls.from_coo(indices, torch.ones(2), (arranging._KEPT, 3), format="csr")
    assert A.nnz == 2
    assert all(seen.made is None for seen in arranging._seen.values())


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
