"""`ls.tune`: what it finds is used at once and later, nothing of the user's is written, and it says what it did."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import processes
import pytest
import torch
from libsparse._cli import tuned_table
from libsparse._compiler import kernel, request
from libsparse._runtime import dispatch, tuned
from libsparse._tools import brief, trials, tune
from libsparse._tools.brief import Brief
from torch import nn

import libsparse as ls


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path) -> Iterator[None]:
    """What is kept about schedules would be found by other tests."""
    with ls.options(cache_dir=tmp_path):
        kernel.forget()
        yield
    kernel.forget()


@pytest.fixture
def easy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best of the other schedules wins, and times are what it takes to be quick."""
    monkeypatch.setattr(trials, "_WINS", 0)
    monkeypatch.setattr(trials, "_GAIN", 0.0)
    monkeypatch.setattr(trials.Subject, "length", 1e-6)
    monkeypatch.setattr(trials, "FINAL", 3)
    monkeypatch.setattr(trials, "_FINALISTS", 1)
    monkeypatch.setattr(tune, "_LEAST", 2)


def variants(A: ls.SparseTensor) -> dict[str, Any]:
    """The variants of what is prepared on a pattern, by the text of the problem."""
    return {name[0].text: prepared.variant for name, (prepared, _) in A.pattern.calls.items()}


def is_tuned(variant: Any) -> bool:
    return "the schedule is the caller's" in variant.kernel.notes


@pytest.mark.usefixtures("easy")
def test_the_winner_is_used_by_every_way_to_the_same_computation(tmp_path: Path) -> None:
    A, x = ls.random((60, 50), 0.2), torch.rand(50, 8)
    expected = A.to_dense() @ x
    for _ in range(3):  # repeated calls have plans
        A @ x, ls.spmm(A, x), ls.einsum("ij,jk->ik", A, x)
    report = ls.tune("ab,bc->ac", A, x, budget=3)
    assert len(report) == 1
    assert report[0].winner is not None
    assert len(report[0].trials) == 3
    (variant,) = variants(A).values()
    assert is_tuned(variant)
    for result in (A @ x, ls.spmm(A, x), ls.einsum("ij,jk->ik", A, x), torch.mm(A, x)):
        torch.testing.assert_close(result, expected)
    assert variants(A)["ij,jk->ik"] is variant
    assert ls.cache.info().tuned == 1
    shown = str(ls.explain("ij,jk->ik", A, x, stage="schedule"))
    assert all(command.strip() in shown for command in report[0].winner.schedule.split(";"))
    # a matrix with the same class of sizes has the schedule, too, if that converts nothing
    other = ls.random((60, 50), 0.2)
    torch.testing.assert_close(other @ x, other.to_dense() @ x)
    assert is_tuned(variants(other)["ij,jk->ik"]) == ("convert(A0" not in report[0].winner.schedule)
    ls.cache.clear()
    third = ls.random((60, 50), 0.2)
    third @ x
    assert not is_tuned(variants(third)["ij,jk->ik"])
    assert ls.cache.info().tuned == 0


@pytest.mark.usefixtures("easy")
def test_a_second_process_uses_what_was_found(tmp_path: Path) -> None:
    indices = torch.stack([torch.arange(40), (torch.arange(40) * 7) % 30])
    A = ls.from_coo(indices, torch.rand(40), (40, 30))
    report = ls.tune("ij,j->i", A, torch.rand(30), budget=2)
    assert report[0].winner is not None
    program = f"""
import sys, torch, libsparse as ls
ls.options(cache_dir={str(tmp_path)!r}, num_threads={torch.get_num_threads()})
indices = torch.stack([torch.arange(40), (torch.arange(40) * 7) % 30])
A, x = ls.from_coo(indices, torch.rand(40), (40, 30)), torch.rand(30)
torch.testing.assert_close(ls.einsum("ij,j->i", A, x), A.to_dense() @ x)
(prepared, _), = A.pattern.calls.values()
print("the schedule is the caller's" in prepared.variant.kernel.notes)
print("libsparse._tools.tune" in sys.modules)
"""
    assert processes.run(program).split() == ["True", "False"]


@pytest.mark.usefixtures("easy")
def test_functions_are_tuned_with_their_gradients_and_nothing_is_written() -> None:
    A, x = ls.random((40, 40), 0.2).requires_grad_(), torch.rand(40, 8, requires_grad=True)
    norm = nn.BatchNorm1d(8)
    kept = [A.values().detach().clone(), x.detach().clone(), norm.running_mean.clone()]

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = norm

        def forward(self, A: Any, x: torch.Tensor) -> torch.Tensor:
            return self.norm(A @ x)

    layer, state = Layer(), torch.get_rng_state()
    versions = A.values()._version, x._version
    layer(A, x).sum().backward()
    gradients = A.grad.to_dense(), x.grad.clone()
    norm.running_mean.copy_(kept[2])
    A.grad = x.grad = None
    report = ls.tune(layer, A, x, budget=6)
    assert {t.expression for t in report} == {"ij,jk->ik", "ij,ik->jk", "ij,ik,jk->ij"} or len(report) == 3
    assert A.grad is None
    assert x.grad is None
    assert versions == (A.values()._version, x._version)
    assert torch.equal(A.values().detach(), kept[0])
    assert torch.equal(x.detach(), kept[1])
    assert torch.equal(norm.running_mean, kept[2])
    assert torch.equal(torch.get_rng_state(), state)
    assert not [name for name in A.pattern.derived if name.startswith("format s")]
    layer(A, x).sum().backward()
    torch.testing.assert_close(A.grad.to_dense(), gradients[0], atol=1e-4, rtol=1e-3)
    torch.testing.assert_close(x.grad, gradients[1], atol=1e-4, rtol=1e-3)
    assert sum(map(is_tuned, variants(A).values())) >= sum(t.winner is not None for t in report)


@pytest.mark.usefixtures("easy")
def test_compiled_functions_use_the_winner() -> None:
    A, s, x = ls.random((40, 40), 0.2), torch.rand(40, 1), torch.rand(40, 8)
    layer = ls.compile(lambda A, s, x: (A * s) @ x)
    expected = (A.to_dense() * s) @ x
    for _ in range(3):
        layer(A, s, x)
    before = set(map(id, variants(A).values()))
    report = ls.tune(layer, A, s, x, budget=2)
    assert any(t.winner for t in report)
    for _ in range(3):
        torch.testing.assert_close(layer(A, s, x), expected)
    assert any(is_tuned(v) and id(v) not in before for v in variants(A).values())


def test_a_search_goes_on_from_what_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    A, x = ls.random((30, 30), 0.2), torch.rand(30)
    measured = []
    original = trials.measured

    def interrupted(subject: Any, asked: dict[str, Any]) -> trials.Trial:
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append(asked["schedule"])
        return original(subject, asked)

    monkeypatch.setattr(trials, "measured", interrupted)
    report = ls.tune("ij,j->i", A, x, budget=4)
    assert report[0].stopped
    assert [t.schedule for t in report[0].trials] == measured
    monkeypatch.setattr(trials, "measured", original)
    again = ls.tune("ij,j->i", A, x, budget=4)
    assert list(again[0].trials[:2]) == list(report[0].trials)
    assert len({t.schedule for t in again[0].trials}) == 4
    (file,) = (kernel.store() / "tuned").glob("*.json")
    (kept,) = json.loads(file.read_text())["patterns"].values()
    assert len(kept["trials"]) == 4
    assert tuned.remove(file.stem[:8]) == 1
    assert not file.exists()


def test_a_busy_machine_drops_no_winner(easy: None, monkeypatch: pytest.MonkeyPatch) -> None:
    A, x = ls.random((40, 40), 0.2), torch.rand(40, 8)
    first = ls.tune("ij,jk->ik", A, x, budget=3)
    assert first[0].winner is not None
    monkeypatch.setattr(trials, "_WINS", 4)  # of three rounds: nothing is beyond doubt
    again = ls.tune("ij,jk->ik", A, x, budget=3)
    assert again[0].winner == first[0].winner
    times = iter([[[1e-3] * 3, [1e-6] * 3]])
    monkeypatch.setattr(trials, "_WINS", 3)
    monkeypatch.setattr(trials, "_GAIN", 1.02)
    monkeypatch.setattr(trials.Subject, "compare", lambda *_: next(times))
    subject = trials.Subject(*_problem(A, x))
    assert (
        trials.decide(subject, first[0].trials[:2], first[0].trials[1].schedule)[0] is None
    )  # the compiler's is faster


def test_the_time_has_the_last_comparison_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    A, x = ls.random((40, 40), 0.2), torch.rand(40, 8)
    monkeypatch.setattr(trials.Subject, "comparison", lambda _: 1e9)
    report = ls.tune("ij,jk->ik", A, x, budget=3, seconds=1000)
    assert len(report[0].trials) == 0


@pytest.mark.usefixtures("easy")
def test_what_is_kept_is_listed_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    A, x = ls.random((40, 40), 0.2), torch.rand(40, 8)
    assert tuned_table.text({}) == "nothing has been tuned"
    report = ls.tune("ij,jk->ik", A, x, budget=3)
    table = tuned_table.text(request.tuned()).splitlines()
    assert table[0].split() == ["name", "expression", "threads", "patterns", "tried", "gain", "when", "schedule"]
    assert report[0].winner is not None
    assert table[-1].endswith(report[0].winner.schedule)
    assert f"{report[0].speedup:.2f}" in table[-1]


def test_wrong_results_and_compilers_errors_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    A, x = ls.random((30, 30), 0.2), torch.rand(30)
    monkeypatch.setattr(trials, "_same", lambda *_: False)
    report = ls.tune("ij,j->i", A, x, budget=3)
    assert report[0].winner is None
    assert [t.ratio is None for t in report[0].trials] == [False, True, True]
    assert "differs" in report[0].trials[1].error
    assert not is_tuned(dispatch.prepare(*_problem(A, x)).variant)


def _problem(A: ls.SparseTensor, x: torch.Tensor) -> tuple[Any, Any]:
    A @ x
    ((name, *_),) = A.pattern.calls
    return name, [trials.Operand(A.pattern, A.values()), trials.Operand(None, x)]


def test_the_report_prints_as_text_and_html(easy: None) -> None:
    A, x = ls.random((30, 30), 0.2), torch.rand(30)
    report = ls.tune("y(i) = 2 * A(i,j) * x(j)", A=A, x=x, budget=3)
    text = str(report)
    assert "3 measured" in text
    assert "times faster" in text
    assert "machine's limit" in text
    assert "<svg" in report._repr_html_()
    B = ls.random((30, 30), 0.2)
    sums = ls.tune("ij,jk->ik", A, B, budget=3)  # the result's pattern is found
    assert all(t.ratio is not None for t in sums[0].trials)


def record(schedule: object, patterns: dict[str, Any]) -> str:
    return json.dumps({"expression": "ij,j->i", "threads": 1, "class": schedule, "patterns": patterns})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 100_000,
        record(3, {}),
        record("reorder(j", {}),
        record("bound(j,8)", {}),
        record(None, {"a": {"schedule": None, "trials": [[1]]}}),
    ],
    ids=range(7),
)
def test_files_that_nobody_has_written(text: str) -> None:
    A, x = ls.random((30, 30), 0.2), torch.rand(30)
    ls.tune("ij,j->i", A, x, budget=1)
    (file,) = (kernel.store() / "tuned").glob("*.json")
    file.write_text(text)
    kernel.forget()
    B = ls.random((30, 30), 0.2)
    torch.testing.assert_close(B @ x, B.to_dense() @ x)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("ij,j->i",), ls.LibsparseError, "operand"),
        ((3,), ls.DtypeError, "first argument is a int"),
        (("ij,j->i", torch.rand(2, 2), torch.rand(2)), ls.UnsupportedError, "sparse operand"),
    ],
)
def test_errors(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ls.tune(*arguments)


@pytest.mark.usefixtures("easy")
def test_the_learned_model_proposes_ten_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "_EXPECTED", 0.0)
    A, x = ls.random((300, 200), 0.1), torch.rand(200, 32)
    report = ls.tune("ij,jk->ik", A, x, method="learned")
    assert len(report[0].trials) == 11
    assert report[0].trials[0].ratio == 1
    assert len({trial.schedule for trial in report[0].trials}) == 11
    assert all(trial.point["parallel"] == "auto" for trial in report[0].trials)
    torch.testing.assert_close(A @ x, A.to_dense() @ x)
    again = ls.tune("ij,jk->ik", A, x, method="learned")  # goes on from there, and has nothing left to measure
    assert [t.schedule for t in again[0].trials] == [t.schedule for t in report[0].trials]
    more = ls.tune("ij,jk->ik", A, x, method="learned", budget=13)
    assert len({trial.schedule for trial in more[0].trials}) == 13


@pytest.mark.usefixtures("easy")
def test_each_computation_of_a_function_is_ranked_by_the_model() -> None:
    A, x = ls.random((200, 200), 0.1), torch.rand(200, 32, requires_grad=True)
    report = ls.tune(lambda A, x: A @ (A @ x), A, x, method="learned")
    assert len(report) > 1
    assert all(len(found.trials) <= 11 for found in report)


@pytest.mark.usefixtures("easy")
def test_nothing_is_measured_where_the_model_expects_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "_EXPECTED", 100.0)
    A, x = ls.random((300, 200), 0.1), torch.rand(200, 32)
    report = ls.tune("ij,jk->ik", A, x, method="learned")
    assert len(report[0].trials) == 1
    assert report[0].winner is None
    assert len(ls.tune("ij,jk->ik", A, x, method="learned", budget=4)[0].trials) == 4


def test_schedules_that_compute_something_else_do_not_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Brief, "agrees", lambda *_: False)
    monkeypatch.setattr(brief, "_PROMISING", 2.0)  # all that may come into the last comparison are looked at
    monkeypatch.setattr(brief, "_LOST", 2.0)  # where calls wait for a core, those that take so long are not
    A, x = ls.random((300, 200), 0.1), torch.rand(200, 32)
    report = ls.tune("ij,jk->ik", A, x, method="learned", budget=4)
    assert all(trial.ratio is None or trial.ratio >= 2 for trial in report[0].trials[1:])
    assert report[0].winner is None


def test_settings_are_checked() -> None:
    A, x = ls.eye(3), torch.rand(3)
    with pytest.raises(ls.FormatError, match="'bayesian' or 'learned'"):
        ls.tune("ij,j->i", A, x, method="other")
    with pytest.raises(ls.FormatError, match="budget"):
        ls.tune("ij,j->i", A, x, budget=0)
    with pytest.raises(ls.FormatError, match="seconds"):
        ls.tune("ij,j->i", A, x, seconds=-1)
