"""What tuning keeps is read as far as it is what tuning writes, and tuning leaves random numbers alone."""

from __future__ import annotations

import json

import pytest
import torch
from libsparse._compiler import request
from libsparse._runtime import tuned
from libsparse._tools import limits

import libsparse as ls

TRIAL = [{"a": "1"}, "parallelize(i, threads)", 1.1, ""]
PATTERN = {"schedule": None, "formats": "csr", "gain": 1.0, "when": "2026-11-27 20:00", "trials": [TRIAL]}


def record(tmp_path, **changed):
    file = tmp_path / "record.json"
    about = {"expression": "y(i) = A(i,j) * x(j)", "threads": 2, "class": None}
    file.write_text(json.dumps({**about, "patterns": {"digest": {**PATTERN, **changed}}}))
    return request._record(file)


def test_a_whole_record(tmp_path):
    assert record(tmp_path) is not None
    assert record(tmp_path, trials=[[{}, "", None, "it was refused"]]) is not None


@pytest.mark.parametrize(
    "changed",
    [
        {"formats": 5},
        {"gain": "large"},
        {"gain": None},
        {"when": 7},
        {"schedule": 1},
        {"trials": ["abcd"]},
        {"trials": [TRIAL[:3]]},
        {"trials": [[3, *TRIAL[1:]]]},
        *({"trials": [[*TRIAL[:2], ratio, ""]]} for ratio in ("fast", float("nan"), -1.0, 0)),
    ],
)
def test_a_record_with_something_else(changed, tmp_path):
    assert record(tmp_path, **changed) is None


def test_the_rate_of_the_machine_is_measured_without_random_numbers():
    before = torch.get_rng_state()
    limits._rate.__wrapped__(torch.float32, 1)
    assert torch.equal(torch.get_rng_state(), before)


def test_schedules_that_are_refused_since_they_were_kept(tmp_path):
    A, x = ls.random((30, 20), 0.3), torch.rand(20)
    with ls.options(cache_dir=str(tmp_path)):
        ls.tune("ij,j->i", A, x, budget=3)
        (file,) = tmp_path.glob("v*/tuned/*.json")
        kept = json.loads(file.read_text())
        for pattern in kept["patterns"].values():
            pattern["schedule"] = "turn(i, j)"
            pattern["trials"] = [pattern["trials"][0], *([t[0], "turn(i, j)", 0.1, ""] for t in pattern["trials"][1:])]
        file.write_text(json.dumps(kept))
        tuned._changed()
        report = ls.tune("ij,j->i", A, x, budget=3)
        assert report[0].winner is None
        torch.testing.assert_close(A @ x, A.to_dense() @ x)
