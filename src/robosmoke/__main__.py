"""``python -m robosmoke``: guest entries run in this Python, everything else is the host's command line.

``eval`` is both: ``python -m robosmoke eval`` runs here, the command ``robosmoke eval`` in the benchmark's own
environment, or here where the host side is not installed; so is ``merge``, which does the same in both.
"""

from __future__ import annotations

import importlib.util
import sys


def main() -> int:
    """Run the command ``robosmoke``."""
    arguments = sys.argv[1:]
    if arguments[:1] in (["eval"], ["merge"]) and importlib.util.find_spec("typer") is not None:
        return _host(arguments)
    return module_main()


def module_main() -> int:
    """Run ``python -m robosmoke``: a guest entry by its name, or the host's command line."""
    name, arguments = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    if name == "run-smoke":
        from robosmoke.guest.smoke_run import main as run_smoke

        return run_smoke(arguments)
    if name == "eval":
        from robosmoke.guest.engine.entry import main as run_eval

        return run_eval(arguments)
    if name == "merge":
        from robosmoke.guest.engine.entry import merge_main

        return merge_main(arguments)
    return _host(sys.argv[1:])


def _host(arguments: list[str]) -> int:
    try:
        from robosmoke.host.cli import main as host_main
    except ModuleNotFoundError as error:
        advice = "install the host side with `pip install 'robosmoke[host]'`"
        print(f"robosmoke: {error.name} is missing: {advice}", file=sys.stderr)
        return 3
    return host_main(arguments)


if __name__ == "__main__":
    sys.exit(module_main())
