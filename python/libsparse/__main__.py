"""The command line as `python -m libsparse`; an installed package has the command `libsparse`."""

import sys

from libsparse._cli.main import main

if __name__ == "__main__":
    sys.exit(main())
