"""``python -m robosmoke``: guest entries need no host packages, everything else is the host's CLI."""

from __future__ import annotations

import sys


def main() -> int:
    """Dispatch to a guest entry by its name, or to the host's command line."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["run-smoke"]:
        from robosmoke.guest.smoke_run import main as run_smoke

        return run_smoke(arguments[1:])
    try:
        from robosmoke.host.cli import main as host_main
    except ModuleNotFoundError as error:
        advice = "install the host side with `pip install 'robosmoke[host]'`"
        print(f"robosmoke: {error.name} is missing: {advice}", file=sys.stderr)
        return 3
    return host_main(arguments)


if __name__ == "__main__":
    sys.exit(main())
