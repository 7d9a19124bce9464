"""An episode is run to its end, looked at only when somebody reads, and its faults get the right blame."""

from __future__ import annotations

import re
from pathlib import Path

import gymnasium
import msgspec
import numpy as np
import pytest
from robosmoke_mybenchmark.env import DiscTableEnv
from robosmoke_mybenchmark.expert import DiscTableExpert

from robosmoke.guest.env import EnvOptions, Tick
from robosmoke.guest.policies.control import RandomPolicy, ZeroPolicy
from robosmoke.guest.rollout import run_episode
from robosmoke.guest.video import VideoPlan, VideoWriter, decode_video
from robosmoke.manifest import Manifest, Task
from robosmoke.schema import Episode, EpisodeRecord, encode_line
from robosmoke.vocabulary import Blame, EpisodeStatus

EPISODE = Episode(
    index=0, benchmark="mybenchmark", environment="default", suite="mybenchmark", task="reach-left", seed=0
)


class CountingEnv(DiscTableEnv):
    """Count what is asked of the env."""

    pictures = 0
    observations = 0
    chunks: tuple[int, ...] = ()

    def picture(self, camera, width_px, height_px):
        self.pictures += 1
        return super().picture(camera, width_px, height_px)

    def observe(self, keys):
        self.observations += 1
        return super().observe(keys)

    def advance(self, actions):
        self.chunks = (*self.chunks, len(actions))
        return super().advance(actions)


class ChunkPolicy:
    """Send chunks of zeros [H, A]."""

    name = "chunks"

    def __init__(self, length: int, observation_keys: tuple[str, ...] = ("state",)) -> None:
        self.observation_keys = observation_keys
        self.length = length
        self.seen: list[dict[str, np.ndarray]] = []

    def start(self, episode: Episode, action_space) -> ChunkPolicy:
        return self

    def act(self, observation):
        self.seen.append(observation)
        return np.zeros((self.length, 2))


class FaultyPolicy(ChunkPolicy):
    """Do one wrong thing."""

    name = "faulty"

    def __init__(self, answer: object, after: int = 0) -> None:
        super().__init__(1)
        self.answer, self.after = answer, after

    def act(self, observation):
        super().act(observation)
        if len(self.seen) <= self.after:
            return np.zeros((1, 2))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def env_of(kind: type[DiscTableEnv], manifest: Manifest, task: Task, **options) -> DiscTableEnv:
    return kind(manifest, task, EnvOptions(**options))


def test_the_expert_solves_and_its_record_says_when(manifest: Manifest, task: Task) -> None:
    record = run_episode(env_of(DiscTableEnv, manifest, task), DiscTableExpert(task), EPISODE, control="expert")
    assert (record.status, record.success_any, record.blame, record.error) == (
        EpisodeStatus.COMPLETED,
        True,
        None,
        None,
    )
    assert record.first_success_step == record.steps < record.horizon == 60
    assert record.success_end is None, "under stop the end is the success itself"
    assert (record.policy, record.control, record.episode) == ("expert", "expert", EPISODE)


def test_doing_nothing_lasts_exactly_to_the_horizon(manifest: Manifest, task: Task) -> None:
    record = run_episode(env_of(DiscTableEnv, manifest, task), ZeroPolicy(), EPISODE)
    assert (record.steps, record.success_any, record.first_success_step) == (60, False, None)


def test_under_continue_both_figures_are_kept(manifest: Manifest, task: Task) -> None:
    class LeavesAgain(DiscTableEnv):
        def tick(self, action):
            return Tick(1.0, self._steps == 4)

    record = run_episode(env_of(LeavesAgain, manifest, task, on_success="continue"), ZeroPolicy(), EPISODE)
    assert (record.steps, record.success_any, record.success_end, record.first_success_step) == (60, True, False, 5)
    assert (record.sum_reward, record.max_reward) == (60.0, 1.0)


def test_a_task_that_is_solved_at_reset_succeeds_at_step_0(manifest: Manifest, task: Task) -> None:
    class Solved(DiscTableEnv):
        def begin(self, seed, init_state):
            super().begin(seed, init_state)
            return True

    record = run_episode(env_of(Solved, manifest, task), ZeroPolicy(), EPISODE)
    assert (record.first_success_step, record.success_any) == (0, True)


@pytest.mark.parametrize("length", [1, 7, 50, 60, 100])
def test_the_env_is_observed_once_per_chunk(length: int, manifest: Manifest, task: Task) -> None:
    env, policy = env_of(CountingEnv, manifest, task), ChunkPolicy(length)
    record = run_episode(env, policy, EPISODE)
    needed = -(-60 // length)
    assert record.steps == 60
    assert len(policy.seen) == needed
    assert env.observations == needed + 1, "one more at reset"


def test_without_a_video_and_without_camera_keys_no_picture_is_rendered(manifest: Manifest, task: Task) -> None:
    env = env_of(CountingEnv, manifest, task)
    run_episode(env, DiscTableExpert(task), EPISODE)
    assert env.pictures == 0


def test_a_policy_that_reads_a_camera_pays_for_one_picture_per_chunk(manifest: Manifest, task: Task) -> None:
    env, policy = env_of(CountingEnv, manifest, task), ChunkPolicy(20, ("top",))
    run_episode(env, policy, EPISODE)
    assert env.pictures == 3
    assert [set(observation) for observation in policy.seen] == [{"top"}] * 3


@pytest.mark.parametrize("length", [1, 3, 7, 60, 100])
@pytest.mark.parametrize("control_hz", [10.0, 20.0, 33.0, 80.0])
def test_a_video_holds_the_planned_frames_whatever_the_chunks(
    length: int, control_hz: float, manifest: Manifest, task: Task, tmp_path: Path
) -> None:
    plan = VideoPlan(control_hz=control_hz, width_px=32, height_px=32)
    env = env_of(CountingEnv, manifest, task)
    record = run_episode(env, ChunkPolicy(length), EPISODE, video=VideoWriter(tmp_path, plan))
    assert record.video is not None
    assert record.video.frames == env.pictures == plan.frames(60)
    assert decode_video(tmp_path / record.video.path).frames == plan.frames(60)
    assert sum(env.chunks) >= 60
    assert max(env.chunks) <= plan.stride


def test_filming_changes_nothing_of_the_episode(manifest: Manifest, task: Task, tmp_path: Path) -> None:
    plan = VideoPlan(control_hz=33.0, width_px=32, height_px=32)
    plain, filmed = (
        run_episode(env_of(DiscTableEnv, manifest, task), RandomPolicy(), EPISODE, video=video)
        for video in (None, VideoWriter(tmp_path, plan))
    )
    assert canonical(plain) == canonical(filmed)


def canonical(record: EpisodeRecord) -> tuple:
    return record.steps, record.sum_reward, record.max_reward, record.success_any


def test_a_videos_name_tells_task_policy_seed_kind_and_outcome(manifest: Manifest, task: Task, tmp_path: Path) -> None:
    plan = VideoPlan(control_hz=10.0, width_px=32, height_px=32)
    record = run_episode(
        env_of(DiscTableEnv, manifest, task), DiscTableExpert(task), EPISODE, video=VideoWriter(tmp_path, plan)
    )
    assert record.video is not None
    assert record.video.path == "videos/mybenchmark.reach-left.expert.seed0.review.success.mp4"
    assert (tmp_path / record.video.poster).read_bytes().startswith(b"\x89PNG")


FAULTY_POLICIES = {
    "NaN": (np.full((1, 2), np.nan), "NaN or infinity"),
    "out of space": (np.full((1, 2), 7.0), "outside"),
    "flat": (np.zeros(2), r"a chunk is \[H, A\]"),
    "empty": (np.zeros((0, 2)), r"a chunk is \[H, A\]"),
    "wrong width": (np.zeros((1, 3)), r"expected \[H, 2\]"),
    "raises": (KeyError("state"), "KeyError: 'state'"),
    "words": ("left", "act"),
}


@pytest.mark.parametrize("after", [0, 5])
@pytest.mark.parametrize("fault", FAULTY_POLICIES)
def test_a_faulty_action_is_the_policys_blame(fault: str, after: int, manifest: Manifest, task: Task) -> None:
    answer, message = FAULTY_POLICIES[fault]
    record = run_episode(env_of(DiscTableEnv, manifest, task), FaultyPolicy(answer, after), EPISODE)
    assert (record.status, record.blame, record.steps) == (EpisodeStatus.ERRORED, Blame.POLICY, after)
    assert re.search(message, record.error or "")


def test_a_policy_that_cannot_start_is_the_policys_blame(manifest: Manifest, task: Task) -> None:
    class Unready(ChunkPolicy):
        def start(self, episode, action_space):
            raise RuntimeError("no weights")

    record = run_episode(env_of(DiscTableEnv, manifest, task), Unready(1), EPISODE)
    assert (record.blame, record.error) == (Blame.POLICY, "RuntimeError: no weights")


def broken_env(hook: str, fault: object) -> type[DiscTableEnv]:
    """Make an env one of whose hooks raises, or gives a wrong value, from its sixth step on."""

    class Broken(DiscTableEnv):
        pass

    def broken(self, *arguments):
        if hook == "tick" and self._steps < 5:
            return DiscTableEnv.tick(self, *arguments)
        if isinstance(fault, Exception):
            raise fault
        return fault

    setattr(Broken, hook, broken)
    return Broken


@pytest.mark.parametrize(
    ("hook", "fault", "steps", "message"),
    [
        ("begin", RuntimeError("no model"), 0, "RuntimeError: no model"),
        ("begin", None, 0, "TypeError: begin() gave success=None"),
        ("tick", RuntimeError("unstable"), 5, "RuntimeError: unstable"),
        ("tick", Tick(0.0, None), 5, "TypeError: tick() gave success=None"),
        ("tick", Tick(float("nan"), False), 6, "ValueError: reward is nan"),
        ("tick", Tick(float("inf"), False), 6, "ValueError: reward is inf"),
        ("read_state", RuntimeError("no state"), 0, "RuntimeError: no state"),
        ("picture", RuntimeError("no GL"), 0, "RuntimeError: no GL"),
    ],
)
def test_a_faulty_env_is_the_envs_blame_and_success_is_unknown(
    hook: str, fault: object, steps: int, message: str, manifest: Manifest, task: Task, tmp_path: Path
) -> None:
    video = VideoWriter(tmp_path, VideoPlan(control_hz=10.0, width_px=32, height_px=32))
    record = run_episode(env_of(broken_env(hook, fault), manifest, task), ChunkPolicy(1), EPISODE, video=video)
    assert (record.status, record.blame, record.steps) == (EpisodeStatus.ERRORED, Blame.ENV, steps)
    assert (record.error or "").startswith(message)
    assert (record.success_any, record.success_end, record.sum_reward, record.max_reward) == (None, None, None, None)
    assert record.video is None
    assert not list((tmp_path / "videos").iterdir())
    assert encode_line(record)


def test_an_interruption_is_not_an_errored_episode(manifest: Manifest, task: Task) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_episode(env_of(DiscTableEnv, manifest, task), FaultyPolicy(KeyboardInterrupt()), EPISODE)


def test_the_planned_init_state_reaches_the_env(manifest: Manifest, task: Task) -> None:
    class Numbered(DiscTableEnv):
        def begin(self, seed, init_state):
            assert (seed, init_state) == (9, 2)
            return super().begin(seed, None)

    episode = msgspec.structs.replace(EPISODE, seed=9, init_state=2)
    assert run_episode(env_of(Numbered, manifest, task), ZeroPolicy(), episode).error is None


def test_the_random_control_depends_on_the_episode_alone(manifest: Manifest, task: Task) -> None:
    env = env_of(DiscTableEnv, manifest, task)
    first, again = (run_episode(env, RandomPolicy(), EPISODE).sum_reward for _ in range(2))
    other = run_episode(env, RandomPolicy(), msgspec.structs.replace(EPISODE, index=1)).sum_reward
    assert first == again != other


def test_the_zero_control_sends_the_nearest_action_in_the_space() -> None:
    space = gymnasium.spaces.Box(np.array([-1.0, 2.0]), np.array([1.0, 3.0]), dtype=np.float64)
    assert ZeroPolicy().start(EPISODE, space).act({}).tolist() == [[0.0, 2.0]]
