"""`python -m interlock`, and the program `interlock`: the command line."""

from __future__ import annotations

import sys
from importlib.util import find_spec

MISSING = "interlock: the command line needs click and rich: pip install 'interlock[cli]'\n"


def main() -> None:
    """Run the command line, if what it needs is installed."""
    if not (find_spec("click") and find_spec("rich")):
        sys.stderr.write(MISSING)
        sys.exit(69)
    from .cli.main import leave
    from .cli.main import main as run

    leave(run())


if __name__ == "__main__":
    main()
