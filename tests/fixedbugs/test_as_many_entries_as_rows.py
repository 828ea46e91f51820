"""As many entries as places of a dense level: below it, a coordinate with several entries was stored several times."""

from __future__ import annotations

import torch

import libsparse as ls


def test_coordinates_are_stored_once():
    indices, values = [[0, 0, 2], [1, 1, 0], [1, 2, 0]], torch.tensor([1.0, 2.0, 3.0])
    A = ls.from_coo(indices, values, (3, 3, 3), format="dss")
    assert A.crd(1).tolist() == [1, 0]
    again = ls.from_levels("dss", A.shape, A.pattern.pos, A.pattern.crd, A.values())
    assert torch.equal(again.to_dense(), A.to_dense())
