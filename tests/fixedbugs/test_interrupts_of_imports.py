"""An import of the package that Ctrl-C has ended can be done again."""

from __future__ import annotations

import pytest
from processes import run

PROGRAM = """
    import torch
    defined, name, count = torch.library.Library.{method}, {name!r}, 0

    def interrupted(library, *arguments, **options):
        global count
        defined(library, *arguments, **options)
        if arguments[0].partition("(")[0] == name:
            raise KeyboardInterrupt

    torch.library.Library.{method} = interrupted
    try:
        import libsparse
    except KeyboardInterrupt as error:
        kept = error  # as a notebook keeps it, with all names of the modules
    torch.library.Library.{method} = defined
    import libsparse as ls
    arrays = torch.ops.libsparse.assemble(torch.tensor([[2, 0], [1, 1]]), [3, 3], "csr")
    print(kept.__traceback__ is not None, [a.tolist() for a in arrays], (ls.eye(3) @ torch.ones(3)).tolist())
"""


@pytest.mark.parametrize(("method", "name"), [("define", "part"), ("impl", "compute"), ("define", "assemble")])
def test_operators_of_torch_are_defined_again(method, name):
    assert run(PROGRAM.format(method=method, name=name)) == "True [[1, 0], [0, 1, 1, 2], [1, 1]] [1.0, 1.0, 1.0]"
