"""The example that mypy checks runs, too."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest


@pytest.mark.compiler
def test_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names = runpy.run_path(str(Path(__file__).with_name("user_example.py")), run_name="__main__")
    assert callable(names["train"])
    assert capsys.readouterr().out
