"""Rows that users hand over are checked in C, by vectors; what is wrong anywhere in them is found."""

import pytest
import torch

import libsparse as ls

ROWS, COLUMNS = 40, 70


def arrays(index: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    lengths = torch.arange(ROWS) % 7
    crow = torch.cat((torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)))
    col = torch.cat([torch.arange(n) * 9 + n for n in lengths.tolist()])
    return crow.to(index), col.to(index)


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_every_wrong_coordinate_is_found(index):
    crow, col = arrays(index)
    assert ls.from_csr(crow, col, None, (ROWS, COLUMNS)).nnz == len(col)
    begins = set(crow.tolist())
    for place in range(len(col)):
        for value, error in ((COLUMNS, ls.IndexBoundsError), (-1, ls.IndexBoundsError)):
            wrong = col.clone()
            wrong[place] = value
            with pytest.raises(error):
                ls.from_csr(crow, wrong, None, (ROWS, COLUMNS))
        if place not in begins:
            for value in (int(col[place - 1]), int(col[place - 1]) - 1):
                wrong = col.clone()
                wrong[place] = value
                with pytest.raises(ls.FormatError):
                    ls.from_csr(crow, wrong, None, (ROWS, COLUMNS))


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_every_wrong_position_is_found(index):
    crow, col = arrays(index)
    for place in range(ROWS + 1):
        for value in (-1, len(col) + 1, torch.iinfo(index).max, torch.iinfo(index).min):
            wrong = crow.clone()
            wrong[place] = value
            with pytest.raises(ls.FormatError):
                ls.from_csr(wrong, col, None, (ROWS, COLUMNS))


def test_rows_without_columns_or_entries():
    assert ls.from_csr([0, 0], torch.zeros(0, dtype=torch.int32), None, (1, 0)).nnz == 0
    assert ls.from_csr([0], torch.zeros(0, dtype=torch.int64), None, (0, 5)).nnz == 0
    with pytest.raises(ls.IndexBoundsError):
        ls.from_csr([0, 1], [0], None, (1, 0))
    with pytest.raises(ls.IndexBoundsError):
        ls.from_csr([0, 1], [2**40], None, (1, 2**40))
    assert ls.from_csr([0, 1], [2**40 - 1], None, (1, 2**40)).nnz == 1
