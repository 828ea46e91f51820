"""Compressed levels of tensors of any order: built and walked in C and by torch's functions, with the same results."""

import pytest
import torch
from libsparse._storage import packing, sorting
from libsparse._storage import threads as worth
from libsparse._storage.format import Format

COUNT = 3000
SHAPES = [(7,), (50, 2000), (1, 60, 1), (40, 3, 500), (2, 3, 5, 7), (9, 1, 9, 1, 9), (2**20, 2**31, 2**40)]


@pytest.fixture(params=[1, 2, 3])
def threads(request, monkeypatch):
    monkeypatch.setattr(worth, "EACH", 7)
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def in_order(shape, count=COUNT):
    coords = [torch.randint(0, n, (count,)) for n in shape]
    return sorting.sort(coords, shape, packing.index_dtype(shape, count), 1).coords


def format_of(levels):
    return Format(levels).resolve(len(levels))


def without_c(monkeypatch, compute):
    with monkeypatch.context() as patch:
        patch.setattr(packing, "_in_c", lambda modes, arrays: False)
        return compute()


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_levels_are_those_that_torch_builds(shape, wide, threads, monkeypatch):
    coords = in_order(shape)
    given = [c.long() for c in coords] if wide else coords
    format = format_of("s" * len(shape))

    def build():
        return packing.build_levels(format, shape, given)

    found, wanted = build(), without_c(monkeypatch, build)
    assert found.size == wanted.size
    assert found.slots is wanted.slots is None
    for mine, other in zip([*found.pos, *found.crd], [*wanted.pos, *wanted.crd], strict=True):
        assert mine.dtype == other.dtype
        assert torch.equal(mine, other)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("outer", "shape"), [*(("s", n) for n in SHAPES), *(("d", n) for n in SHAPES[1:-1])])
def test_entries_have_the_coordinates_that_levels_were_built_of(shape, outer, turned, threads, monkeypatch):
    coords = in_order(shape)
    modes = list(range(len(shape)))[::-1] if turned else list(range(len(shape)))
    format = Format(outer + "s" * (len(shape) - 1) + ":" + ",".join(map(str, modes)))
    built = packing.build_levels(format, shape, coords)

    def expand():
        return packing.expand_levels(format, shape, built.pos, built.crd)

    (found, places), (wanted, others) = expand(), without_c(monkeypatch, expand)
    assert places is others is None
    assert torch.equal(found, wanted)
    for mode, coord in zip(modes, coords, strict=True):
        assert torch.equal(found[mode], coord.long())
    beside, _ = packing.expand_levels(format, shape, built.pos, built.crd, beside=True)
    assert torch.equal(beside, wanted)
    assert beside.t().is_contiguous()


def test_nodes_without_children_have_no_entries(threads):
    pos = [torch.tensor([0, 4]), torch.tensor([0, 0, 3, 3, 3]), torch.tensor([0, 1, 1, 20])]
    crd = [torch.tensor([1, 3, 4, 8]), torch.tensor([2, 5, 6]), torch.arange(20)]
    coords, _ = packing.expand_levels(format_of("sss"), (10, 10, 30), pos, crd)
    assert coords[0].tolist() == [3] * 20
    assert coords[1].tolist() == [2] + [6] * 19
    assert coords[2].tolist() == list(range(20))


@pytest.mark.parametrize("starts", [[0, 5, 2, 20], [0, -7, 30, 20], [9, 9, 1, 20], [2**31 - 1, -(2**31), 0, 20]])
def test_positions_that_nobody_checked_are_not_followed_out_of_the_arrays(starts, threads):
    for above in ([0, 2, 3], [0, 2**31 - 1, 3], [-5, -9, 3]):
        pos = [torch.tensor(p, dtype=torch.int32) for p in ([0, 2], above, starts)]
        crd = [torch.arange(n, dtype=torch.int32) for n in (2, 3, 20)]
        coords, _ = packing.expand_levels(format_of("sss"), (10, 10, 30), pos, crd)
        assert coords.shape == (3, 20)
        assert int(coords[0].max()) < 2
        assert int(coords[1].max()) < 3


def test_keys_that_words_have_no_room_for_are_sorted_by_torch():
    shape, count = (2**21, 2**21, 2**21), 1 << 15
    coords = [torch.randint(0, n, (count,)) for n in shape]
    found = sorting.sort(coords, shape, torch.int32, 1)
    numbers = (coords[0] * 2**21 + coords[1]) * 2**21 + coords[2]
    assert torch.equal(found.order.long(), torch.argsort(numbers, stable=True))


def test_more_modes_than_c_reads_are_left_to_torch():
    shape = (2,) * 20
    coords = in_order(shape, 300)
    built = packing.build_levels(format_of("s" * 20), shape, coords)
    found, _ = packing.expand_levels(format_of("s" * 20), shape, built.pos, built.crd)
    assert torch.equal(found, torch.stack(list(coords)).long())
    numbers, there = packing.locate(list(found), list(found), shape)
    assert torch.equal(numbers[there], torch.arange(found.shape[1]))
