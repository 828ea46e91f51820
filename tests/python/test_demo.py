"""The demo's parts: the generated graph, the three implementations, the report, and the command line around them."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import torch
from libsparse.__main__ import main
from libsparse._tools.doctor import doctor
from libsparse.demo import CONTENDERS, run, svg
from libsparse.demo.graphs import Matrix, find_data, generate, load, normalised_adjacency
from libsparse.demo.models import ExpertGCN, LibsparseGCN, TorchGCN
from libsparse.demo.training import train

import libsparse as ls


def dense(m: Matrix) -> torch.Tensor:
    return torch.sparse_csr_tensor(m.crow, m.col, m.values, m.shape).to_dense()


@pytest.fixture(scope="module")
def graph():
    return generate(nodes=2000, words=200)


def test_adjacency_is_normalised_with_loops_and_without_duplicates():
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 2]])  # one edge twice, one loop
    plain = torch.tensor([[1.0, 1, 0], [1, 1, 1], [0, 1, 1]])
    scale = plain.sum(1).rsqrt()
    torch.testing.assert_close(dense(normalised_adjacency(edges, 3)), scale[:, None] * plain * scale)


def test_the_generated_graph_is_the_same_every_time(graph):
    again = generate(nodes=2000, words=200)
    assert torch.equal(graph.adjacency.col, again.adjacency.col)
    assert torch.equal(graph.features.col, again.features.col)
    assert torch.equal(graph.test, again.test)
    assert graph.train.numel() == 20 * graph.classes
    assert not set(graph.train.tolist()) & set(graph.validation.tolist() + graph.test.tolist())
    sums = dense(graph.features).sum(1)
    torch.testing.assert_close(sums, torch.ones_like(sums))


def test_every_implementation_computes_the_same_scores_and_gradients(graph):
    results = []
    for kind in (LibsparseGCN, TorchGCN, ExpertGCN):
        model = kind(graph, seed=0)
        torch.manual_seed(1)
        scores = model.train()()
        scores.square().sum().backward()
        results.append([scores.detach(), *(p.grad for p in model.parameters())])
    for others in results[1:]:
        for mine, theirs in zip(results[0], others, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def test_the_plain_script_runs_unchanged_under_override(graph):
    with torch.no_grad():
        plain = TorchGCN(graph, seed=0).eval()()
        with ls.override():
            ours = TorchGCN(graph, seed=0).eval()()
    assert ours.layout == plain.layout
    torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-5)


def test_training_learns_and_agrees(graph):
    runs = train(graph, CONTENDERS, seeds=1, epochs=60)
    assert [run.title for run in runs] == [c.title for c in CONTENDERS]
    for each in runs:
        assert each.losses[0][-1] < each.losses[0][0]
        assert abs(each.accuracy - runs[1].accuracy) <= 0.02  # 1000 nodes, few epochs
    assert runs[0].accuracy > 2 / graph.classes


def write_planetoid(folder: Path) -> None:
    small = generate(nodes=2000, words=100)
    rows = torch.repeat_interleave(torch.arange(2000), small.adjacency.crow.diff())
    lower = rows > small.adjacency.col
    lines = [f"{r + 1} {c + 1}" for r, c in zip(rows[lower].tolist(), small.adjacency.col[lower].tolist(), strict=True)]
    adjacency = (
        f"%%MatrixMarket matrix coordinate pattern symmetric\n2000 2000 {len(lines)}\n" + "\n".join(lines) + "\n"
    )
    (folder / "tiny_adj.mtx.gz").write_bytes(gzip.compress(adjacency.encode()))
    features = ls.from_csr(small.features.crow, small.features.col, small.features.values, small.features.shape)
    ls.write(folder / "tiny_feat.mtx.gz", features)
    split = dict.fromkeys(small.train.tolist(), "train")
    split |= dict.fromkeys(small.validation.tolist(), "val") | dict.fromkeys(small.test.tolist(), "test")
    text = "node\tlabel\tsplit\n"
    text += "".join(f"{n}\t{label}\t{split.get(n, '-')}\n" for n, label in enumerate(small.labels.tolist()))
    (folder / "tiny_labels.tsv.gz").write_bytes(gzip.compress(text.encode()))


def test_planetoid_files_are_read_and_found(tmp_path, monkeypatch):
    folder = tmp_path / "shared" / "data" / "gnn"
    folder.mkdir(parents=True)
    write_planetoid(folder)
    read, made = load(folder, "tiny"), generate(nodes=2000, words=100)
    torch.testing.assert_close(dense(read.adjacency), dense(made.adjacency))
    torch.testing.assert_close(dense(read.features), dense(made.features))
    assert torch.equal(read.test.sort().values, made.test.sort().values)
    (tmp_path / "clone").mkdir()
    monkeypatch.chdir(tmp_path / "clone")
    assert find_data(None) == folder
    with pytest.raises(ls.LibsparseError, match="no Planetoid graph"):
        find_data(str(tmp_path))


def test_the_report_holds_everything_and_loads_nothing(tmp_path, capsys):
    folder = tmp_path / "data"
    folder.mkdir()
    write_planetoid(folder)
    path = tmp_path / "report.html"
    run(data=str(folder), epochs=6, quick=True, report=path)
    printed = capsys.readouterr().out
    page = path.read_text(encoding="utf-8")
    for title in ("libsparse", "torch.sparse", "expert torch"):
        assert title in printed
        assert title in page
    assert "what the compiler chose" in printed
    assert page.count("<svg") == 5
    assert "http" not in page
    assert "<script" not in page
    for part in page.split("<svg")[1:]:
        ET.fromstring("<svg" + part.split("</svg>")[0] + "</svg>")


@pytest.mark.parametrize("values", [[0.0], [1.0, 1.0], [-3.0, 5.0], [1e-9, 2e-9], [1e12, 3e12]])
def test_plots_of_any_numbers_are_well_formed(values):
    ET.fromstring(svg.lines([("a & b", values), ("c", values[:1])], "x < y"))
    ET.fromstring(svg.bars([("a", abs(v)) for v in values], "ms"))


def test_ticks_span_the_data():
    for low, high in [(0, 1), (0.2, 0.83), (-5, 3), (0, 0), (7, 7), (0, 1e-7), (3, 1e6)]:
        ticks = svg._ticks(low, high)
        assert ticks[0] <= low
        assert ticks[-1] >= high
        assert 2 <= len(ticks) <= 8


def test_command_line_errors_are_one_line(capsys):
    assert main(["demo", "--data", "/nowhere"]) == 1
    assert main(["explain", "ij,jk->ik", "csr"]) == 1
    error = capsys.readouterr().err
    assert "Planetoid" in error
    assert "format:shape" in error
    assert "Traceback" not in error


def test_explain_prints_the_stages(capsys):
    assert main(["explain", "ij,jk->ik", "csr:200x100", "dense:100x16"]) == 0
    assert "kernel_compute" in capsys.readouterr().out


def test_doctor_finds_what_is_there_and_says_what_to_do_about_the_rest(tmp_path):
    assert doctor().ok, str(doctor())
    sick = {
        **os.environ,
        "PATH": "",
        "LIBSPARSE_CC": "",
        "CC": "",
        "LIBSPARSE_CACHE_DIR": "/proc/nowhere",
    }
    code = (
        "import libsparse._compiler.native as g, pathlib; g.LIBRARY = g.EXECUTABLE = pathlib.Path('/nowhere');"
        "from libsparse._tools.doctor import doctor; print(doctor())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=sick, capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.count("MISSING") == 4
    assert done.stdout.count("->") == 4
    assert "apt install gcc" in done.stdout
    assert "make build" in done.stdout
