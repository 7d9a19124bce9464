"""The env base keeps its promises for any adapter: here a disc on a table, with single faults where one is needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import msgspec
import numpy as np
import pytest
from robosmoke_mybenchmark.env import DiscTableEnv

from robosmoke.catalog import find
from robosmoke.errors import EnvClosed, InvalidAction, ManifestError, NotInstalled, UsageError
from robosmoke.guest.env import EnvOptions, Tick
from robosmoke.guest.loading import make_env, make_expert
from robosmoke.manifest import Manifest, Task, Transform

REST = np.zeros(2)


class SolvedEnv(DiscTableEnv):
    """Be solved from the third step to the fifth."""

    def begin(self, seed: int, init_state: int | None) -> bool:
        self.ticks = 0
        return super().begin(seed, None)

    def tick(self, action: np.ndarray) -> Tick:
        self.ticks += 1
        return Tick(super().tick(action).reward, 3 <= self.ticks <= 5)


@pytest.fixture
def env(manifest: Manifest, task: Task) -> DiscTableEnv:
    """Give a started env without cameras."""
    made = DiscTableEnv(manifest, task)
    made.reset(seed=0)
    return made


def test_construction_loads_no_simulator(manifest: Manifest, task: Task) -> None:
    assert make_env(manifest, task)._sim is None


def test_an_episode_is_truncated_exactly_at_its_horizon(env: DiscTableEnv) -> None:
    outcome = env.advance(np.tile(REST, (100, 1)))
    assert (outcome.steps, outcome.truncated, outcome.terminated, outcome.done) == (60, True, False, True)
    assert outcome.rewards.dtype == np.float64
    assert outcome.successes.dtype == np.bool_


def test_the_step_before_the_horizon_is_not_the_last(env: DiscTableEnv) -> None:
    assert not env.advance(np.tile(REST, (59, 1))).done
    assert env.step(REST)[2:4] == (False, True)


def test_stop_ends_the_episode_at_the_first_success(manifest: Manifest, task: Task) -> None:
    env = SolvedEnv(manifest, task, EnvOptions(on_success="stop"))
    env.reset(seed=0)
    outcome = env.advance(np.tile(REST, (100, 1)))
    assert (outcome.steps, outcome.terminated, outcome.truncated) == (3, True, False)


def test_continue_runs_to_the_horizon_and_success_is_this_instants(manifest: Manifest, task: Task) -> None:
    env = SolvedEnv(manifest, task, EnvOptions(on_success="continue"))
    env.reset(seed=0)
    outcome = env.advance(np.tile(REST, (100, 1)))
    assert (outcome.steps, outcome.terminated, outcome.truncated) == (60, False, True)
    assert np.flatnonzero(outcome.successes).tolist() == [2, 3, 4]


def test_a_success_at_the_horizon_terminates_and_does_not_truncate(manifest: Manifest, task: Task) -> None:
    env = SolvedEnv(manifest, msgspec.structs.replace(task, horizon=3))
    env.reset(seed=0)
    assert env.advance(np.tile(REST, (3, 1))).terminated


def test_the_manifest_says_what_success_does_unless_the_options_do(manifest: Manifest, task: Task) -> None:
    assert DiscTableEnv(manifest, task).on_success == "stop"
    assert DiscTableEnv(manifest, task, EnvOptions(on_success="continue")).on_success == "continue"


def test_after_the_end_only_a_reset_is_accepted(env: DiscTableEnv) -> None:
    env.advance(np.tile(REST, (60, 1)))
    with pytest.raises(UsageError, match=r"call reset\(\) first"):
        env.step(REST)
    env.reset(seed=0)
    assert env.advance(REST[None]).steps == 1


@pytest.mark.parametrize("use", [lambda env: env.step(REST), lambda env: env.render(), lambda env: env.observe(())])
def test_before_the_first_reset_every_use_says_so(use, manifest: Manifest, task: Task) -> None:
    with pytest.raises(UsageError, match=r"call reset\(\) first"):
        use(DiscTableEnv(manifest, task))


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (np.zeros(2), r"shape \(2,\): expected \[H, 2\]"),
        (np.zeros((1, 3)), r"shape \(1, 3\)"),
        (np.zeros((0, 2)), r"shape \(0, 2\)"),
        (np.zeros((1, 1, 2)), r"shape \(1, 1, 2\)"),
        (np.array([[0.0, np.nan]]), "NaN or infinity"),
        (np.array([[np.inf, 0.0]]), "NaN or infinity"),
        (np.array([[0.0, 1.01]]), r"outside \[-1, 1\]"),
        (np.array([[0.0, 0.0], [0.0, -2.0]]), r"actions reach \[-2, 0\]"),
    ],
)
def test_a_malformed_chunk_is_refused_before_any_step(actions: np.ndarray, message: str, env: DiscTableEnv) -> None:
    before = env.physics_state()
    with pytest.raises(InvalidAction, match=message):
        env.advance(actions)
    assert np.array_equal(env.physics_state(), before)
    assert env.advance(np.tile(REST, (60, 1))).steps == 60


def test_a_float32_rounding_over_the_bound_is_clipped(env: DiscTableEnv) -> None:
    assert env.advance(np.array([[1.0 + 1e-7, 0.0]])).steps == 1


@pytest.mark.parametrize("success", [None, 1, 0.0, "yes"])
def test_a_success_that_is_no_bool_is_an_error_at_reset_and_at_a_step(
    success: object, manifest: Manifest, task: Task
) -> None:
    class AtReset(DiscTableEnv):
        def begin(self, seed, init_state):
            super().begin(seed, init_state)
            return success

    class AtStep(DiscTableEnv):
        def tick(self, action):
            return Tick(super().tick(action).reward, success)

    with pytest.raises(TypeError, match=r"begin\(\) gave success="):
        AtReset(manifest, task).reset(seed=0)
    env = AtStep(manifest, task)
    env.reset(seed=0)
    with pytest.raises(TypeError, match=r"tick\(\) gave success="):
        env.step(REST)


def test_numpys_bool_becomes_a_plain_one(manifest: Manifest, task: Task) -> None:
    class NumpyEnv(DiscTableEnv):
        def begin(self, seed, init_state):
            return np.bool_(super().begin(seed, init_state))

    info = NumpyEnv(manifest, task).reset(seed=0)[1]
    assert [type(value) for value in info.values()] == [bool, bool]
    assert set(info) == {"success", "is_success"}


def test_what_was_returned_never_changes_later(manifest: Manifest, task: Task) -> None:
    """Even where the adapter hands out the simulator's own array."""

    class LiveEnv(DiscTableEnv):
        def read_state(self, key):
            return self._sim.goal if key == "goal" else super().read_state(key)

    env = LiveEnv(manifest, task)
    first, info = env.reset(seed=0)
    env._sim.goal[:] = 0
    info["success"] = True
    second, later = env.reset(seed=0)[0], env.step(REST)[4]
    assert np.abs(first["goal"]).max() > 0.1
    assert not np.shares_memory(first["state"], second["state"])
    assert later["success"] is False


def test_a_camera_adds_one_picture_to_space_and_observation(manifest: Manifest, task: Task) -> None:
    env = DiscTableEnv(manifest, task, EnvOptions(cameras=("top",), width_px=20, height_px=10))
    observation, _ = env.reset(seed=0)
    assert list(observation) == ["state", "goal", "top"]
    assert observation["top"].shape == (10, 20, 3)
    assert observation in env.observation_space
    assert env.step(REST)[0] in env.observation_space


@pytest.mark.parametrize("declared", ["none", "rotate_180", "flip_vertical"])
def test_a_policys_transform_starts_from_the_raw_picture_and_leaves_the_review_upright(
    declared: Transform, manifest: Manifest, task: Task
) -> None:
    """A policy trained on raw pictures turned by 180 degrees gets those, whatever upright means for the camera."""
    (camera,) = manifest.camera
    turned = msgspec.structs.replace(manifest, camera=(msgspec.structs.replace(camera, transform=declared),))
    env = DiscTableEnv(turned, task, EnvOptions(cameras=("top",), transform="rotate_180"))
    picture = env.reset(seed=0)[0]["top"]
    upright = env.render()
    raw = {"none": upright, "rotate_180": upright[::-1, ::-1], "flip_vertical": upright[::-1]}[declared]
    assert np.array_equal(picture, raw[::-1, ::-1])
    assert env.observation_space.contains({**env.observe(tuple(env.state_spaces())), "top": picture})


def test_without_cameras_nothing_is_rendered(manifest: Manifest, task: Task) -> None:
    class Blind(DiscTableEnv):
        def picture(self, camera, width_px, height_px):
            raise AssertionError("a picture was rendered")

    env = Blind(manifest, task)
    env.reset(seed=0)
    env.step(REST)
    assert set(env.observe(("state",))) == {"state"}


def test_observe_reads_only_what_is_asked_for(env: DiscTableEnv) -> None:
    assert list(env.observe(("top", "goal"))) == ["top", "goal"]
    assert env.observe(()) == {}


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda env: env.observe(("sate",)), "unknown observation of mybenchmark 'sate': did you mean 'state'"),
        (
            lambda env: env.reset(options={"initstate": 1}),
            "unknown reset option 'initstate': did you mean 'init_state'",
        ),
        (lambda env: env.reset(options={"init_state": 3}), "init_state 3: suite mybenchmark has 3, counted from 0"),
        (lambda env: env.reset(options={"init_state": -1}), "init_state -1"),
    ],
)
def test_a_wrong_name_or_number_is_refused(use, message: str, env: DiscTableEnv) -> None:
    with pytest.raises(UsageError, match=message):
        use(env)


def test_the_whole_physical_state_is_observed_on_request_and_is_in_no_space(env: DiscTableEnv) -> None:
    """A privileged policy names it; nobody else is given it."""
    observation, _ = env.reset(seed=0)
    assert "physics_state" not in observation
    state = env.observe(("physics_state",))["physics_state"]
    assert np.array_equal(state, env.physics_state())
    state[:] = np.nan
    assert np.isfinite(env.physics_state()).all()


def test_an_unknown_camera_is_refused_at_construction(manifest: Manifest, task: Task) -> None:
    with pytest.raises(UsageError, match="unknown camera of mybenchmark 'topp': did you mean 'top'"):
        DiscTableEnv(manifest, task, EnvOptions(cameras=("topp",)))


def test_the_init_state_reaches_the_adapter(manifest: Manifest, task: Task) -> None:
    class Numbered(DiscTableEnv):
        def begin(self, seed, init_state):
            self.numbered = init_state
            return super().begin(seed, None)

    env = Numbered(manifest, task)
    env.reset(seed=0, options={"init_state": 2})
    assert env.numbered == 2
    env.reset(seed=0)
    assert env.numbered is None


def test_unseeded_resets_vary_and_a_seeded_history_repeats(manifest: Manifest, task: Task) -> None:
    def history() -> list[bytes]:
        env = DiscTableEnv(manifest, task)
        return [env.reset(seed=seed)[0]["goal"].tobytes() for seed in (5, None, None)]

    assert history() == history()
    assert len(set(history())) == 3


def test_a_closed_env_says_so_and_closing_again_is_fine(env: DiscTableEnv) -> None:
    env.close()
    env.close()
    for use in (env.reset, lambda: env.step(REST), lambda: env.observe(("state",)), env.render):
        with pytest.raises(EnvClosed, match="this mybenchmark env was closed: make a new one"):
            use()


def test_render_gives_the_review_camera_at_the_envs_size(manifest: Manifest, task: Task) -> None:
    env = DiscTableEnv(manifest, task, EnvOptions(width_px=32, height_px=16))
    env.reset(seed=0)
    assert np.array_equal(env.render(), env.picture("top", 32, 16))


def test_gymnasiums_own_checker_is_content(manifest: Manifest, task: Task) -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(DiscTableEnv(manifest, task, EnvOptions(cameras=("top",))), skip_render_check=True)


def test_a_reference_that_the_module_does_not_have_is_a_manifest_error(manifest: Manifest, task: Task) -> None:
    wrong = msgspec.structs.replace(manifest, env="env:Gone", expert="expert:Gone")
    with pytest.raises(ManifestError, match=r"mybenchmark: env:Gone: robosmoke_mybenchmark\.env has no 'Gone'"):
        make_env(wrong, task)
    with pytest.raises(ManifestError, match="has no 'Gone'"):
        make_expert(wrong, task)


def test_gymnasium_makes_a_third_partys_suite_by_its_id(tmp_path: Path) -> None:
    """In a new interpreter, from nothing but installed metadata; the simulator comes with the first reset."""
    template = Path(sys.modules[DiscTableEnv.__module__].__file__ or "").parents[1]
    record = tmp_path / "mybenchmark-1.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: mybenchmark\nVersion: 1\n")
    (record / "entry_points.txt").write_text("[robosmoke.benchmarks]\nmybenchmark = robosmoke_mybenchmark\n")
    script = """
import sys, gymnasium, robosmoke.envs
env = gymnasium.make("robosmoke/mybenchmark-v0", task="reach-right", cameras=("top",), width_px=16)
assert "robosmoke_mybenchmark.simulation" not in sys.modules
assert env.unwrapped.task.name == "reach-right" and env.spec.max_episode_steps is None
assert gymnasium.make("robosmoke/mybenchmark-v0", task=1).unwrapped.task.name == "reach-right"
observation, info = env.reset(seed=1)
assert observation["top"].shape == (128, 16, 3) and info["success"] is False
steps, done = 0, False
while not done:
    *_, terminated, truncated, info = env.step(env.action_space.sample() * 0)
    steps, done = steps + 1, terminated or truncated
print(steps, truncated)
"""
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(template), str(tmp_path)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.stdout == "60 True\n", child.stderr


@pytest.mark.parametrize("suite", ["mt50", "pusht"])
def test_gymnasium_makes_a_built_in_suite_without_its_simulator(suite: str) -> None:
    env = gymnasium.make(f"robosmoke.envs:robosmoke/{suite}-v0", task=0)
    assert env.spec is not None
    assert env.spec.max_episode_steps is None
    assert env.unwrapped.task.suite == suite
    assert not {"metaworld", "gym_pusht", "mujoco"} & set(sys.modules)


@pytest.mark.parametrize("side", ["width_px", "height_px"])
@pytest.mark.parametrize("size_px", [0, -1])
def test_a_picture_of_no_pixels_is_refused(side: str, size_px: int) -> None:
    with pytest.raises(UsageError, match=f"{side}={size_px}: a picture is at least 1 pixel"):
        EnvOptions(**{side: size_px})


@pytest.mark.parametrize(
    ("name", "module", "requirement"),
    [("pusht", "gym_pusht", "gym-pusht==0.1.8 "), ("metaworld", "metaworld", "metaworld==3.1.1 ")],
)
def test_a_benchmark_whose_simulator_is_not_installed_says_what_to_install(
    name: str, module: str, requirement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    manifest = find(name).manifest
    with pytest.raises(NotInstalled) as caught:
        make_env(manifest, manifest.tasks[0]).reset(seed=0)
    message = str(caught.value)
    assert f"{name} needs what is not installed here (" in message
    assert module in message
    assert f"pip install {requirement}" in message
    assert "\n" not in message
