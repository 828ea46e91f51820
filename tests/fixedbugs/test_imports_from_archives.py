"""A wheel on Python's path as the archive that it is: one sentence says what to do."""

from __future__ import annotations

import zipfile
from pathlib import Path

from processes import PACKAGE, run


def test_an_archive_on_the_path_is_refused_in_one_sentence(tmp_path: Path) -> None:
    archive = tmp_path / "libsparse-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(archive, "w") as file:
        for source in PACKAGE.glob("libsparse/**/*.py"):
            file.write(source, source.relative_to(PACKAGE))
    program = f"""
        import sys
        sys.path.insert(0, {str(archive)!r})
        try:
            import libsparse
        except ImportError as error:
            print(error)
    """
    assert "install the wheel with pip" in run(program)
