"""Every executor gives the same records, and a lost worker costs one retry of one episode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from robosmoke.errors import ExitCode, SetupError, UsageError
from robosmoke.evaluation.ledger import read_ledger
from robosmoke.evaluation.record import canonical
from robosmoke.evaluation.request import EvalRequest
from robosmoke.guest.engine.evaluate import EvalResult, run_evaluation
from robosmoke.guest.video import decode_video
from robosmoke.manifest import Manifest
from robosmoke.vocabulary import Blame, EpisodeStatus

POLICIES = Path(__file__).with_name("eval_policies.py")


@pytest.fixture
def evaluate(manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Give a function that evaluates a policy on the smallest benchmark, six episodes of two tasks."""
    monkeypatch.setenv("EVAL_POLICIES", str(tmp_path))

    def run(policy: str, **options: Any) -> EvalResult:
        spec = policy if policy in ("zero", "random", "expert") else f"python:{POLICIES}:{policy}"
        defaults = {"episodes": 3, "workers": 2} | ({} if "resume" in options else {"out": tmp_path / policy})
        return run_evaluation(manifest, EvalRequest(benchmark=manifest.name, policy=spec, **{**defaults, **options}))

    return run


@pytest.mark.parametrize("policy", ["expert", "random", "Global"])
def test_every_executor_and_number_of_workers_gives_the_same_bytes(evaluate, policy: str, tmp_path: Path) -> None:
    inline = evaluate(policy, executor="inline", out=tmp_path / "inline")
    assert len({record.steps for record in inline.records}) > 1 or policy != "expert", "it succeeds early on some"
    for workers in (1, 2, 3):
        assert evaluate(policy, workers=workers, out=tmp_path / str(workers)).canonical() == inline.canonical()
    assert canonical(read_ledger(tmp_path / "3")) == inline.canonical()


def test_a_worker_replaced_after_every_episode_changes_nothing(evaluate, tmp_path: Path) -> None:
    kept = evaluate("expert", workers=1, out=tmp_path / "kept")
    replaced = evaluate("expert", workers=1, recycle_after=1, out=tmp_path / "replaced")
    assert replaced.canonical() == kept.canonical()
    assert len({record.worker for record in kept.records}) == 1
    assert len({record.worker for record in replaced.records}) == 6


def test_a_chunk_limit_is_obeyed_and_recorded(evaluate, tmp_path: Path) -> None:
    whole = evaluate("Steady", executor="inline", out=tmp_path / "a")
    single = evaluate("Steady", executor="inline", chunk=1, out=tmp_path / "b")
    assert single.plan.n_action_steps == 1
    assert single.canonical() != whole.canonical()
    assert evaluate("Steady", executor="inline", chunk=9, out=tmp_path / "c").canonical() == whole.canonical()


def test_a_worker_that_dies_costs_one_retry_and_is_named(evaluate, tmp_path: Path) -> None:
    undisturbed = evaluate("Steady", out=tmp_path / "undisturbed")
    result = evaluate("CrashesOnce")
    (lost,) = result.records[2].lost
    assert "SIGSEGV" in lost.cause
    assert lost.worker != result.records[2].worker
    assert result.exit_code() is ExitCode.GREEN
    assert result.canonical().replace(b"CrashesOnce", b"Steady") == undisturbed.canonical()


def test_an_episode_that_kills_two_workers_is_errored_and_the_others_complete(evaluate) -> None:
    result = evaluate("CrashesAlways")
    bad = result.records[2]
    assert (bad.status, bad.blame, len(bad.lost)) == (EpisodeStatus.ERRORED, Blame.WORKER, 2)
    assert bad.success_any is None
    assert bad.error == "its worker was killed by SIGSEGV, 2 times"
    assert [record.status for record in result.records].count(EpisodeStatus.COMPLETED) == 5
    assert (result.exit_code(), result.summary.n_errored, result.summary.n_episodes) == (ExitCode.RED, 1, 5)


def test_a_worker_that_hangs_holding_the_interpreter_lock_is_ended_at_its_deadline(evaluate) -> None:
    bad = evaluate("Hangs", episode_timeout_s=1.0).records[2]
    assert bad.blame is Blame.WORKER
    assert bad.error == "its worker hung: it gave no result within 1 s, 2 times"


@pytest.mark.parametrize(("policy", "limit"), [("Grows", "ran out of memory (limit 250 MB)"), ("RunsOut", "ran out")])
def test_a_worker_without_memory_is_named_as_that(evaluate, policy: str, limit: str) -> None:
    bad = evaluate(policy, worker_memory_mb=250).records[2]
    assert bad.blame is Blame.WORKER
    assert limit in str(bad.error)


@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_actions_that_are_no_numbers_are_the_policys_error_and_never_a_failure(evaluate, executor: str) -> None:
    result = evaluate("NotANumber", executor=executor)
    bad = result.records[2]
    assert (bad.status, bad.blame, bad.success_any) == (EpisodeStatus.ERRORED, Blame.POLICY, None)
    assert (result.summary.n_episodes, result.summary.n_errored) == (5, 1)


def test_when_every_episode_errs_there_is_no_rate(evaluate) -> None:
    result = evaluate("WrongShape", executor="inline")
    assert result.summary.pc_success is None
    assert result.exit_code() is ExitCode.RED
    assert "shape (1, 3)" in str(result.records[0].error)


def test_what_workers_print_is_in_the_run_log(evaluate) -> None:
    assert "the policy speaks" in (evaluate("Speaks").out / "run.log").read_text()


def test_a_rate_of_zero_is_green_unless_more_is_asked_for(evaluate) -> None:
    result = evaluate("zero")
    assert (result.summary.pc_success, result.exit_code(), result.exit_code(0.5)) == (0.0, ExitCode.GREEN, ExitCode.RED)


@pytest.mark.parametrize(
    ("policy", "words"),
    [("raises", "RuntimeError: no weights"), ("absent", "AttributeError"), ("Nameless", "name 'a/b'")],
)
@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_a_policy_that_cannot_be_made_stops_everything_in_one_line(
    evaluate, policy: str, words: str, executor: str
) -> None:
    with pytest.raises(UsageError, match=r"\A.*\Z") as caught:
        evaluate(policy, executor=executor)
    assert words in str(caught.value)


def test_an_environment_that_lacks_the_simulator_is_named(
    manifest: Manifest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "lacking"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "env.py").write_text(
        "from robosmoke_mybenchmark.env import DiscTableEnv\nclass Lacking(DiscTableEnv):\n    preload = ('no_sim',)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    other = replace(manifest, package="lacking", env="env:Lacking")
    with pytest.raises(SetupError, match="No module named 'no_sim': run it in the benchmark's environment"):
        run_evaluation(other, EvalRequest(benchmark="mybenchmark", policy="zero", out=tmp_path / "out"))


def test_resuming_runs_the_rest_exactly_once_each(evaluate, tmp_path: Path) -> None:
    undisturbed = evaluate("random", executor="inline", out=tmp_path / "whole")
    result = evaluate("random", out=tmp_path / "cut")
    ledger = tmp_path / "cut" / "episodes.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:2]) + lines[2][:-30])
    resumed = evaluate("random", workers=3, resume=result.out)
    assert resumed.canonical() == undisturbed.canonical()
    assert sorted(record.episode.index for record in read_ledger(result.out)) == list(range(6))
    assert ledger.read_bytes().startswith(b"".join(lines[:2])), "what was done is not done again"
    sessions = json.loads((result.out / "provenance.json").read_bytes())["sessions"]
    assert [session["settings"]["pending"] for session in sessions] == [6, 4]


def test_resuming_another_plan_is_refused_with_the_place(evaluate) -> None:
    result = evaluate("zero")
    with pytest.raises(UsageError, match=r"episodes\[0\]\.seed: 0 there, 1 here"):
        evaluate("zero", resume=result.out, seed=1)


def test_resuming_in_other_versions_is_refused(evaluate) -> None:
    result = evaluate("zero")
    path = result.out / "provenance.json"
    facts = json.loads(path.read_bytes())
    before = facts["distributions"]["numpy"]["version"]
    facts["distributions"]["numpy"]["version"] = "0.1"
    path.write_text(json.dumps(facts))
    with pytest.raises(UsageError, match=f"numpy: '0.1' there, '{before}' here"):
        evaluate("zero", resume=result.out)


def test_a_folder_that_holds_an_evaluation_is_not_overwritten(evaluate) -> None:
    evaluate("zero")
    with pytest.raises(UsageError, match="holds an evaluation already"):
        evaluate("zero")


def test_review_videos_of_failures_only(evaluate, tmp_path: Path) -> None:
    steps = sorted(record.steps for record in evaluate("expert", executor="inline", out=tmp_path / "all").records)
    result = evaluate("expert", max_steps=steps[2], video="review", video_of="failures", video_px=32)
    filmed = {record.episode.index for record in result.records if record.video}
    assert 0 < len(filmed) < 6, "some fail in so few steps"
    assert filmed == {record.episode.index for record in result.records if record.success_any is False}
    assert len(list((result.out / "videos").iterdir())) == len(list((result.out / "posters").iterdir())) == len(filmed)


def test_a_killed_worker_leaves_no_part_of_a_video(evaluate) -> None:
    result = evaluate("CrashesAlways", video="review", video_px=32)
    assert sum(record.video is not None for record in result.records) == 5
    assert len(list((result.out / "videos").iterdir())) == 5


@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_a_review_video_shows_each_tasks_first_episode_to_its_end(evaluate, executor: str) -> None:
    result = evaluate("expert", executor=executor, video="review", video_of="first", video_px=32, video_fps=5.0)
    assert [record.episode.index for record in result.records if record.video] == [0, 3]
    video = result.records[3].video
    assert video is not None
    decoded = decode_video(result.out / video.path)
    assert (decoded.frames, decoded.width_px, video.fps) == (1 + -(-result.records[3].steps // 2), 32, 5.0)
    assert video.path.endswith("review.success.mp4")
    assert (result.out / video.poster).read_bytes().startswith(b"\x89PNG")


def test_a_policy_video_holds_exactly_one_frame_per_observation(evaluate) -> None:
    result = evaluate("Seeing", video="policy", picture_px=48, episodes=1)
    for record in result.records:
        assert record.video is not None
        assert record.video.kind == "policy"
        assert record.video.frames == -(-record.steps // 3)
        assert decode_video(result.out / record.video.path).width_px == 48


def test_filming_changes_no_result(evaluate, tmp_path: Path) -> None:
    plain = evaluate("expert", out=tmp_path / "plain")
    filmed = evaluate("expert", out=tmp_path / "filmed", video="review", video_px=32)
    figures = [[(record.steps, record.sum_reward) for record in result.records] for result in (plain, filmed)]
    assert figures[0] == figures[1]


def test_a_policy_without_pictures_has_no_policy_video(evaluate) -> None:
    with pytest.raises(UsageError, match="reads no picture: use --video review"):
        evaluate("expert", video="policy")
