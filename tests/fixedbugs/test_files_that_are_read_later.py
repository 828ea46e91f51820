"""Files whose arrays torch.load reads after it has made the tensors, or never: patterns were made of any memory."""

from __future__ import annotations

import io
import pickle

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import libsparse as ls


def saved(**options) -> io.BytesIO:
    file = io.BytesIO()
    torch.save({"A": ls.tensor([[1.0, 0.0], [2.0, 3.0]])}, file, **options)
    file.seek(0)
    return file


@pytest.mark.parametrize("weights_only", [True, False])
def test_old_files_are_refused(weights_only):
    with pytest.raises(ls.UnsupportedError, match="_use_new_zipfile_serialization"):
        torch.load(saved(_use_new_zipfile_serialization=False), weights_only=weights_only)


def test_nothing_is_loaded_without_elements():
    with pytest.raises(ls.UnsupportedError, match=r'load it on the CPU, then A.to\("meta"\)'):
        torch.load(saved(), map_location="meta")
    file = saved()
    with FakeTensorMode(), pytest.raises(ls.UnsupportedError, match=r"mode.from_tensor\(A\)"):
        torch.load(file)
    assert torch.load(saved())["A"].to("meta").device.type == "meta"


def test_pickles_hold_what_torch_has_read():
    A = ls.tensor([[1.0, 0.0], [2.0, 3.0]])
    assert torch.equal(pickle.loads(pickle.dumps(A)).to_dense(), A.to_dense())
