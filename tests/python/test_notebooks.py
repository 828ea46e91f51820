"""What notebooks show: HTML that is balanced and escaped, pictures of matrices, plots."""

import base64
import html.parser
import re
import zlib

import pytest
import torch
from libsparse._ops import picture

import libsparse as ls


class Balanced(html.parser.HTMLParser):
    """Notes the words, and that every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.words = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.mark.parametrize(
    "tensor",
    [
        ls.random((50, 30), 0.1),
        ls.random((50, 30), 0.1, format="bsr(2,5)"),
        ls.random((1, 5000), 0.1, format="coo"),
        ls.random((0, 4), 0.5),
        ls.random((5, 4, 3), 0.2),
        ls.eye(3, dtype=torch.complex64),
        ls.from_mask(torch.eye(4) > 0),
        ls.random((9, 9), 0.2).exp().requires_grad_(),
    ],
    ids=lambda tensor: f"{tuple(tensor.shape)} {tensor.format}",
)
def test_tables_of_tensors(tensor):
    page = tensor._repr_html_()
    text = " ".join(Balanced(page).words)
    assert str(tuple(tensor.shape)) in text
    assert str(tensor.nnz) in text
    assert f"format {tensor.format}" in text
    assert ('<img class="spy"' in page) == (tensor.ndim == 2 and tensor.nnz > 0)


def test_the_picture_is_where_entries_are():
    A = ls.from_coo([[0, 0, 99], [0, 99, 50]], None, (100, 100))
    found = re.search(r'base64,([^"]*)"', A._repr_html_())
    data = base64.b64decode(found[1])
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    length = int.from_bytes(data[33:37], "big")
    scale = 2  # pixels a cell: 96 cells in 240 pixels
    lines = torch.frombuffer(bytearray(zlib.decompress(data[41 : 41 + length])), dtype=torch.uint8)
    pixels = lines.reshape(96 * scale, 96 * scale * 4 + 1)[:, 1:].reshape(96, scale, 96, scale, 4)
    opacity = pixels[..., 3].amin((1, 3))
    assert torch.equal(opacity, pixels[..., 3].amax((1, 3)))
    assert opacity.nonzero().tolist() == [[0, 0], [0, 95], [95, 48]]
    assert torch.equal(picture.counts(ls.eye(8).pattern), torch.eye(8))
    assert picture.counts(ls.random((1000, 10), 1.0).pattern).unique().tolist() == [1.0]


def test_explanations_fold_and_colour_c():
    explanation = ls.explain("ij,j->i", ls.eye(3), torch.ones(3))
    page = explanation._repr_html_()
    assert "".join(Balanced(page).words).count("for (int32_t") == str(explanation).count("for (int32_t")
    assert page.count("<details") == page.count("<summary>") == len(re.findall("^== ", explanation, re.MULTILINE))
    assert '<span class="c-keyword">for</span>' in page
    code = ls.explain("ij,j->i", ls.eye(3), torch.ones(3), stage="c")
    words = [word for word in Balanced(code._repr_html_()).words if not word.startswith("div.libsparse")]
    assert "".join(words) == code.strip("\n")


def test_reports_of_tuning():
    page = ls.tune("ij,j->i", ls.eye(3), torch.ones(3), budget=2)._repr_html_()
    assert "measured" in " ".join(Balanced(page).words)
    assert page.count("<circle") >= 1


def test_schedules():
    schedule = ls.schedule("ij,j->i", ls.eye(3), torch.ones(3)).parallelize("i")
    assert "parallelize(i" in " ".join(Balanced(schedule._repr_html_()).words)


def test_spy():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    axes = ls.random((200, 100), 0.1).spy(cmap="viridis")
    assert axes.get_title().startswith("200 x 100, 2000 entries")
    pyplot.close(axes.figure)


def test_spy_of_tensors():
    with pytest.raises(ls.ShapeError, match="expected a matrix"):
        ls.random((3, 3, 3), 0.5).spy()
