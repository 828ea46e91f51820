"""Functions of torch that another library replaces for a while, within and between blocks of `ls.override`."""

import pytest
import torch

import libsparse as ls


@pytest.fixture
def A():
    return torch.eye(4).to_sparse_csr()


@pytest.mark.parametrize("name", ["__getitem__", "argmax", "mean"])
def test_a_function_that_was_away_for_a_block_is_replaced_again(name, A):
    with ls.override():
        pass
    own, inherited = getattr(torch.Tensor, name), name not in vars(torch.Tensor)
    setattr(torch.Tensor, name, lambda *args: own(*args))
    try:
        with ls.override():
            pass
    finally:
        if inherited:
            delattr(torch.Tensor, name)
        else:
            setattr(torch.Tensor, name, own)
    with ls.override():
        assert A[0:2].shape == (2, 4)


def test_a_stand_in_that_was_put_back_after_a_block_is_no_function_of_torchs(A):
    own = torch.mm
    try:
        with ls.override():
            kept = torch.mm
            torch.mm = lambda *args: kept(*args)
        torch.mm = kept
        with ls.override():
            assert torch.equal(torch.mm(A, torch.ones(4, 1)), torch.ones(4, 1))
        assert torch.mm is own
        assert type(torch.add) is type(torch.sub)
    finally:
        torch.mm = own
