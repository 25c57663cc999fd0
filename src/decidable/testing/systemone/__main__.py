"""Serves the faux endpoint by hand, for clients and checkers in other processes."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress

from decidable.testing.systemone.endpoint import FauxSystemOne


def main() -> None:
    """Serve until interrupted, or until stdin is closed."""
    parser = argparse.ArgumentParser(prog="python -m decidable.testing.systemone", description=main.__doc__)
    parser.add_argument("--port", type=int, default=8901, help="where, on 127.0.0.1; 0 for any that is free")
    parser.add_argument("--key", help="the only key that is accepted; any or none without it")
    given = parser.parse_args()
    with FauxSystemOne(given.key).serve(given.port) as url, suppress(KeyboardInterrupt):
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        while sys.stdin.readline():
            pass


if __name__ == "__main__":
    main()
