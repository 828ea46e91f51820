"""What can't fit into memory is refused by name."""

from __future__ import annotations

import sys
from pathlib import Path

import processes
import pytest
import torch
from libsparse._storage import memory

import libsparse as ls

HUGE = 2**40


def test_levels_of_a_format():
    indices, values = [[0, HUGE // 2], [1, HUGE - 1]], [1.0, 2.0]
    with pytest.raises(ls.FormatError, match=r"csr.*dcsr.*coo"):
        ls.from_coo(indices, values, (HUGE, HUGE))
    with pytest.raises(ls.FormatError, match=r"csc.*dcsc.*coo"):
        ls.from_coo(indices, values, (HUGE, HUGE), format="csc")
    A = ls.from_coo(indices, values, (HUGE, HUGE), format="dcsr")
    with pytest.raises(ls.FormatError, match="csr"):
        A.to_format("csr")


def test_dense_results():
    A = ls.from_coo([[0, HUGE // 2], [1, 2]], [1.0, 2.0], (HUGE, 3), format="dcsr")
    for use in (lambda: A @ torch.ones(3, 2), A.to_dense):
        with pytest.raises(ls.FormatError, match="GiB"):
            use()


def test_extents_beyond_64_bits():
    with pytest.raises(ls.ShapeError, match="64 bits"):
        ls.from_coo([[0], [0]], [1.0], (2**70, 2), format="dcsr")


def test_shapes_that_torch_has_no_numbers_for():
    A = ls.from_coo([[0, HUGE // 2], [1, HUGE - 1]], [1.0, 2.0], (HUGE, HUGE), format="dcsr")
    assert A.mean().item() == pytest.approx(3.0 / HUGE**2)
    with pytest.raises(ls.FormatError, match="GiB"):
        A.to_dense()
    with pytest.raises(ls.UnsupportedError, match="no tensors of shape"):
        A.to_torch()


def test_slices_with_more_places_than_32_bits_number():
    """One long row makes its slice of 2^15 rows as wide: the places were counted in the type of the index."""
    row = torch.stack([torch.zeros(2**20, dtype=torch.int64), torch.arange(2**20)])
    with pytest.raises(ls.FormatError, match="GiB"):
        ls.from_coo(row, torch.ones(2**20), (2**20, 2**20), format="sell(32768)")


def test_a_small_file_of_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Fifteen bytes of a .tns file asked for three arrays of 16 GB, and the process was killed."""
    monkeypatch.setattr(memory, "available", lambda: 1 << 30)
    path = tmp_path / "h.tns"
    path.write_text("2000000000 1 1\n", encoding="ascii")
    with pytest.raises(ls.FormatError, match=r"h\.tns.*csr would take 7\.\d+ GiB, 1 GiB.*format='dcsr'.*format='coo'"):
        ls.read(path)
    for format in ("dcsr", "csf", "coo"):
        A = ls.read(path, format=format)
        assert A.shape == (2_000_000_000, 1)
        assert A.indices().tolist() == [[1_999_999_999], [0]]


@pytest.mark.parametrize("format", ["csr", "dds", "bs", "sd", "db"])
def test_every_level_is_weighed(format: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "available", lambda: 1 << 20)
    ndim = ls.Format(format).ndim or 0
    with pytest.raises(ls.FormatError, match=r"GiB.*format='coo'"):
        ls.from_coo([[0]] * ndim, [1.0], (2**27,) * ndim, format=format)


_PEAK = """
import libsparse as ls
def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) << 10
rows = 50_000_000
ls.from_coo([[1], [0]], [1.0], (2, 1), format=FORMAT)
before = peak()
A = ls.from_coo([[rows - 1, 5], [0, 0]], [1.0, 2.0], (rows, 1), format=FORMAT)
if FORMAT == "csr":
    assert A.indices().tolist() == [[5, rows - 1], [0, 0]]
print((peak() - before) / sum(array.nbytes for array in [*A.pattern.tensors(), A.values()]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("format", ["csr", "db"])
def test_positions_are_the_only_array_as_long(format: str):
    program = _PEAK.replace("FORMAT", repr(format))
    assert float(processes.run(program)) < 1.2


_LIMITED = """
import resource
import libsparse as ls
ls.from_coo([[1], [0]], [1.0], (2, 1))
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29), resource.RLIM_INFINITY))
try:
    ls.from_coo([[1], [0]], [1.0], (300_000_000, 1))
except ls.FormatError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_limit_of_the_process():
    assert "1.118 GiB, 0.5 GiB are available now" in processes.run(_LIMITED)


@pytest.mark.parametrize(
    ("own", "files"),
    [
        (
            "0::/pod/job\n",
            {
                "pod/memory.max": "5000",
                "pod/memory.current": "4000",
                "pod/memory.stat": "anon 1\ninactive_file 200\nactive_file 34\n",
                "pod/job/memory.max": "max",
                "pod/job/memory.current": "3000",
            },
        ),
        (
            "3:cpu,memory:/job\n2:pids:/job\n",
            {
                "memory/memory.limit_in_bytes": "9223372036854771712",
                "memory/memory.usage_in_bytes": "5000",
                "memory/job/memory.limit_in_bytes": "5000",
                "memory/job/memory.usage_in_bytes": "3866",
                "memory/job/memory.stat": "total_inactive_file 100\n",
            },
        ),
    ],
)
def test_limits_of_cgroups(own: str, files: dict[str, str], tmp_path: Path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    (tmp_path / "own").write_text(own, encoding="ascii")
    assert min(memory.cgroups(tmp_path / "own", tmp_path)) == 1234
    assert list(memory.cgroups(tmp_path / "nothing", tmp_path)) == []


def test_reductions_of_more_elements_than_integers_count():
    A = ls.from_coo([[0], [5]], torch.full((1,), 2.0), (HUGE, HUGE), format="coo")
    assert [A.amax(), A.amin(), A.prod(), A.sum()] == [2, 0, 0, 2]
    assert not A.all()
    torch.testing.assert_close(A.var(), torch.tensor(4 / 2.0**80))
    torch.testing.assert_close(torch.logsumexp(A, (0, 1)), torch.tensor(80 * 0.6931472))
    with pytest.raises(ls.ShapeError, match="fit 64 bits"):
        torch.kron(A, A)


@pytest.mark.parametrize("shape", [(0, HUGE, HUGE), (HUGE, HUGE, 0), (HUGE, 0, HUGE)])
def test_no_elements_of_extents_that_torch_can_not_count(shape):
    A = ls.from_coo(torch.zeros((3, 0), dtype=torch.long), torch.zeros(0), shape, format="coo")
    assert (A.shape, A.numel(), A.nnz) == (shape, 0, 0)


def test_rows_of_an_empty_list():
    A = ls.from_coo([[0], [HUGE // 2], [HUGE - 1]], [1.0], (3, HUGE, HUGE), format="coo")
    assert A[[]].shape == (0, HUGE, HUGE)
    assert A[:, :, HUGE:].shape == (3, HUGE, 0)


def test_slices_of_few_entries_have_no_array_as_long_as_their_rows():
    rows = 2**31 - 2
    A = ls.from_coo([[0, 1, 0], [5, rows - 1, 7], [3, 4, rows - 2]], torch.tensor([1.0, 2.0, 3.0]), (3, rows, rows))
    assert (A.format, A[0].format, A[0].nnz) == ("csf", "dcsr", 2)
    assert A[:, :, 4].indices().tolist() == [[1], [rows - 1]]
