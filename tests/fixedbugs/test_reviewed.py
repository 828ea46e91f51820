"""What a review found: shared prefixes, empty dimensions, whole numbers, many dimensions, long sums."""

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("format", ["uqd", "uqd:0,2,1", "ucq", "uqs", "duq", "suq"])
def test_prefixes_are_stored_once(format: str) -> None:
    dense = torch.tensor([[[2.0, 0, -2, 0], [0, 1, 1, 0]], [[0, 0, 0, 0], [0, 3, 0, 4]]])
    made, converted = ls.tensor(dense, format=format), ls.tensor(dense).to_format(format)
    assert torch.equal(made.to_dense(), dense)
    for a, b in zip(made.pattern.crd, converted.pattern.crd, strict=True):
        assert a is b is None or torch.equal(a, b)


def test_means_over_no_rows() -> None:
    y = ls.einsum("ij,i->i", ls.tensor(torch.zeros(0, 3)), ls.tensor(torch.zeros(0), format="s"), reduce="mean")
    assert y.shape == (0,)


def test_one_row_broadcasts_to_none() -> None:
    y = ls.einsum("ij,jk->ik", ls.tensor(torch.ones(2, 1)), torch.ones(0, 3))
    assert torch.equal(y, torch.zeros(2, 3))


def test_literals_are_exact() -> None:
    x = torch.tensor([1, 1])
    assert ls.evaluate("y(i) = x(i) * 9223372036854775807", x=x).tolist() == [2**63 - 1] * 2
    assert ls.evaluate("y(i) = x(i) * 9223372036854775808", x=x).dtype == torch.float32


def test_results_of_twelve_dimensions() -> None:
    y = ls.einsum("a,b,c,d,e,f,g,h,k,l,m,n->abcdefghklmn", *[ls.tensor([2.0])] * 12)
    assert y.to_dense().flatten().tolist() == [4096.0]


@pytest.mark.parametrize("count", [5, 6, 9, 16])
@pytest.mark.parametrize("format", ["csr", "coo"])
def test_sums_of_many(count: int, format: str) -> None:
    made = torch.Generator().manual_seed(count)
    terms = [torch.randn(7, 5, generator=made) * (torch.rand(7, 5, generator=made) < 0.3) for _ in range(count)]
    names = [f"a{n}" for n in range(count)]
    y = ls.evaluate(
        "y(i,j) = " + " + ".join(f"{name}(i,j)" for name in names),
        **{name: ls.tensor(x, format=format) for name, x in zip(names, terms, strict=True)},
    )
    assert y.format == format
    torch.testing.assert_close(y.to_dense(), sum(terms))
    held = sum((x != 0).int() for x in terms) > 0
    assert y.nnz == int(held.sum())
