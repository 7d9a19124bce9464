"""Measure how much of a smoke's wall time is not the simulator's: Meta-World's default smoke in its venv.

Run: .venv/bin/python bench/smoke_overhead.py
"""

import sys
import tempfile
from pathlib import Path

from robosmoke.catalog import find
from robosmoke.host.environments.backend import GuestCall
from robosmoke.host.environments.venv import VenvBackend
from robosmoke.schema import SmokeRequest, write

CALL = """
import sys
sys.path.insert(0, sys.argv[1])
from robosmoke.guest.smoke_run import main
sys.exit(main(["--", "-p", "simulator_share"]))
"""


def main() -> int:
    """Run the smoke with the measuring plugin, whose line is the result."""
    benchmark = find("metaworld")
    environment = benchmark.manifest.environment["default"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        tasks = tuple(f"{task.suite}/{task.name}" for task in benchmark.manifest.smoke_tasks)
        write(out / "request.json", SmokeRequest(manifest=benchmark.manifest, environment="default", tasks=tasks))
        prepared = VenvBackend().prepare(benchmark, environment, log=out / "install.log")
        call = GuestCall(
            arguments=(), out=out, log=out / "run.log", timeout_s=1800, memory_mb=environment.memory_mb, echo=True
        )
        end = prepared.execute(("-c", CALL, str(Path(__file__).parent.resolve())), call)
    return end.exit_code or 0


if __name__ == "__main__":
    sys.exit(main())
