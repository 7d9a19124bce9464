"""The guest's entry point: run pytest over the smoke tests with the host's request."""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Sequence
from pathlib import Path

import robosmoke
from robosmoke.journal import JOURNAL_LOST


def smoke_folder() -> Path:
    """Return the smoke tests: inside the installed package, or of a checkout."""
    installed = Path(robosmoke.__file__).parent / "smoke"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "tests" / "smoke"


def main(arguments: Sequence[str]) -> int:
    """Run the smoke; everything after ``--`` goes to pytest. Returns pytest's exit status."""
    parser = argparse.ArgumentParser(prog="python -m robosmoke run-smoke", description=main.__doc__)
    parser.add_argument("--request", type=Path, default=Path(os.environ.get("ROBOSMOKE_OUT", "."), "request.json"))
    parser.add_argument("pytest_arguments", nargs="*", metavar="-- PYTEST ARGUMENTS")
    chosen = parser.parse_args(arguments)
    import pytest

    folder = smoke_folder()
    fixed = [str(folder), f"--rootdir={folder}", f"--config-file={folder / 'pytest.ini'}"]
    try:
        return int(pytest.main([*fixed, f"--robosmoke-request={chosen.request}", *chosen.pytest_arguments]))
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        # The log lies on the journal's disk and may be the first to find it full; a plain exit would
        # flush it once more and lose this code.
        os._exit(JOURNAL_LOST)
