"""What is tested two at a time is."""

from __future__ import annotations

import itertools

import pytest
from covering import pairs


@pytest.mark.parametrize("extents", [(4, 3), (5, 5, 5), (2, 7, 3), (3, 3, 2, 2), (0, 4)])
def test_each_two_values_meet(extents: tuple[int, ...]) -> None:
    axes = [[f"{axis}{n}" for n in range(extent)] for axis, extent in zip("abcd", extents, strict=False)]
    found = pairs(*axes)
    assert len(found) <= len([*itertools.product(*axes)])
    for a, b in itertools.combinations(range(len(axes)), 2):
        assert {(one[a], one[b]) for one in found} == {*itertools.product(axes[a], axes[b])}


def test_they_are_few() -> None:
    assert len(pairs(range(5), range(5), range(5))) < 30
