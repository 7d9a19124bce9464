"""On the real Meta-World no frame is rendered that nothing reads."""

import json
from pathlib import Path

from robosmoke.catalog import find
from robosmoke.host.environments.backend import GuestCall
from robosmoke.host.environments.venv import VenvBackend

COUNT_RENDERS = """
import json
import mujoco
from robosmoke.catalog import find
from robosmoke.guest.loading import make_env, make_expert
from robosmoke.guest.rollout import run_episode
from robosmoke.schema import Episode

renders = 0
draw = mujoco.mjr_render
def counted(*arguments):
    global renders
    renders += 1
    return draw(*arguments)
mujoco.mjr_render = counted

manifest = find("metaworld").manifest
task = manifest.task("reach-v3")
env = make_env(manifest, task)
episode = Episode(index=0, benchmark="metaworld", environment="default", suite="mt50", task="reach-v3", seed=0)
record = run_episode(env, make_expert(manifest, task), episode)
unread = renders
env.observe(("corner2",))
print(json.dumps({"solved": record.success_any, "unread": unread, "read": renders - unread}))
"""


def test_an_expert_episode_without_video_renders_nothing(tmp_path: Path) -> None:
    """MuJoCo's own render call is counted: none in a solved episode, one for one picture that is asked for."""
    benchmark = find("metaworld")
    environment = benchmark.manifest.environment["default"]
    prepared = VenvBackend().prepare(benchmark, environment, log=tmp_path / "install.log")
    log = tmp_path / "run.log"
    call = GuestCall(arguments=(), out=tmp_path, log=log, timeout_s=120, memory_mb=4096, echo=False)
    end = prepared.execute(("-c", COUNT_RENDERS), call)
    assert end.exit_code == 0, end.tail
    assert json.loads(log.read_text().splitlines()[-1]) == {"solved": True, "unread": 0, "read": 1}
