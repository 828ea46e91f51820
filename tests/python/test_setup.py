"""What building says where it can't be done."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_other_systems_are_refused_in_one_sentence():
    code = (
        "import runpy, setuptools.command.bdist_wheel, setuptools.command.build_ext, sys; sys.platform = 'darwin';"
        "sys.argv = ['setup.py', '--version']; runpy.run_path('setup.py', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "libsparse builds and runs on Linux only, not on darwin; on Windows, use WSL.\n"
