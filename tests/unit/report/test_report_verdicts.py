"""What the report concludes from a plan and the run folders that were left."""

from __future__ import annotations

import pytest

from robosmoke.errors import ExitCode, RecordError, UsageError
from robosmoke.host.report.discovery import latest_invocation
from robosmoke.schema import Pair
from robosmoke.vocabulary import Blame, CheckOutcome, EpisodeStatus, Verdict


def test_a_pair_that_passed_with_its_positive_control_is_green(green):
    reported = green.report()
    assert reported.summary.verdicts == {"arm--default": Verdict.PASSED}
    assert not reported.summary.red
    assert reported.summary.exit_code is ExitCode.GREEN
    assert reported.report.reason == "1 of 1 planned pair passed"


def test_a_planned_pair_without_a_run_is_missing_and_red(green, pair):
    green.plan(pair, Pair(benchmark="lost", environment="default"))
    reported = green.report()
    assert reported.summary.verdicts["lost--default"] is Verdict.MISSING
    assert reported.summary.exit_code is ExitCode.RED
    assert "no run.json was left" in reported.row("lost").reason


def test_a_run_folder_without_run_json_is_missing_and_says_that_the_run_did_not_end(green, pair):
    (green.root / pair.folder / "run.json").unlink()
    row = green.report().row()
    assert (row.verdict, row.red) == (Verdict.MISSING, True)
    assert "did not end" in row.reason
    assert row.folder == "../arm--default"


def test_a_green_run_of_another_invocation_never_stands_in(invocation, pair):
    invocation.plan(pair)
    invocation.run(pair, invocation="last-week")
    row = invocation.report().row()
    assert (row.verdict, row.red) == (Verdict.MISSING, True)
    assert "last-week" in row.reason


@pytest.mark.parametrize("name", ["run.json", "checks.json", "episodes.jsonl", "provenance.json", "journal.jsonl"])
@pytest.mark.parametrize("damage", ["truncated", "not an object", "not UTF-8", "a link"])
def test_a_damaged_record_is_broken_and_names_the_file(green, pair, name, damage, tmp_path):
    path = green.root / pair.folder / name
    if damage == "a link":
        (tmp_path / "elsewhere").write_bytes(path.read_bytes())
        path.unlink()
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.write_bytes(
            {"truncated": path.read_bytes()[:40], "not an object": b"[]", "not UTF-8": b'{"\xff":1}'}[damage]
        )
    reported = green.report()
    row = reported.row()
    assert (row.verdict, row.red, reported.summary.exit_code) == (Verdict.BROKEN, True, ExitCode.RED)
    assert name in row.reason
    assert "\n" not in row.reason


def test_a_record_of_another_major_version_is_broken(green, pair):
    path = green.root / pair.folder / "run.json"
    path.write_text(path.read_text().replace('"schema_version": "1.0"', '"schema_version": "2.0"'))
    row = green.report().row()
    assert row.verdict is Verdict.BROKEN
    assert "2.0" in row.reason


@pytest.mark.parametrize("name", ["checks.json", "episodes.jsonl", "journal.jsonl"])
def test_a_pass_without_the_records_that_bear_it_out_is_broken(green, pair, name):
    (green.root / pair.folder / name).unlink()
    row = green.report().row()
    assert row.verdict is Verdict.BROKEN
    assert f"{name} is not there" in row.reason


def test_a_journal_with_a_damaged_line_is_broken_and_names_the_line(green, pair):
    path = green.root / pair.folder / "journal.jsonl"
    first, second, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first, second[:20] + b"\n", *rest]))
    row = green.report().row()
    assert (row.verdict, row.red) == (Verdict.BROKEN, True)
    assert "journal.jsonl:2: is not a journal event" in row.reason


def test_a_journal_that_is_a_folder_is_broken(green, pair):
    path = green.root / pair.folder / "journal.jsonl"
    path.unlink()
    path.mkdir()
    assert "journal.jsonl: cannot be read: Is a directory" in green.report().row().reason


@pytest.mark.parametrize(
    ("line", "change", "said"),
    [
        (1, (b'"passed"', b'"failed"'), "ended RS201[reach] as failed, and checks.json says passed"),
        (1, (b"ended", b"unknown to this version"), "is not a journal event"),
        (2, (b"RS301[reach]", b"RS999[reach]"), "holds no outcome of RS301[reach], and checks.json says passed"),
        (0, (b"RS201[reach]", b"RS202[reach]"), "planned RS202[reach], which checks.json lacks"),
    ],
)
def test_a_journal_that_contradicts_the_checks_is_broken(green, pair, line, change, said):
    path = green.root / pair.folder / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace(*change)
    path.write_bytes(b"".join(lines))
    row = green.report().row()
    assert (row.verdict, row.red) == (Verdict.BROKEN, True)
    assert said in row.reason


def test_a_pass_without_the_positive_control_check_is_red(invocation, pair, make):
    invocation.plan(pair)
    invocation.run(pair, checks=[make.check("RS201", "spaces"), make.check("RS601", "expert-succeeds")])
    row = invocation.report().row()
    assert (row.verdict, row.claimed, row.red) == (Verdict.FAILED, Verdict.PASSED, True)
    assert "no passed positive control" in row.reason


@pytest.mark.parametrize("expert", ["absent", "unsolved", "placed"])
def test_a_pass_whose_episodes_show_no_expert_success_is_red(invocation, pair, make, expert):
    episodes = {
        "absent": [make.episode("zero")],
        "unsolved": [make.episode("expert", success_any=False), make.episode("zero", 1)],
        "placed": [make.episode("placed", success_any=True)],
    }[expert]
    invocation.plan(pair)
    invocation.run(pair, episodes=episodes)
    row = invocation.report().row()
    assert (row.verdict, row.red) == (Verdict.FAILED, True)
    assert "positive control" in row.reason


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (CheckOutcome.FAILED, Verdict.FAILED),
        (CheckOutcome.UNEXPECTEDLY_PASSED, Verdict.FAILED),
        (CheckOutcome.BROKEN, Verdict.BROKEN),
        (CheckOutcome.MISSING, Verdict.MISSING),
        (CheckOutcome.EXPECTED, Verdict.PASSED),
        (CheckOutcome.SKIPPED, Verdict.PASSED),
    ],
)
def test_a_check_that_contradicts_a_pass_decides(invocation, pair, make, outcome, verdict):
    control = make.check("RS601", "expert-succeeds", None)
    odd = make.check("RS304", "reuse-equals-fresh", outcome=outcome, message="drifts", blame=Blame.ENV)
    invocation.plan(pair)
    invocation.run(pair, checks=[control, odd])
    row = invocation.report().row()
    assert row.verdict is verdict
    if row.red:
        assert "RS304" in row.reason
        assert row.blame is Blame.ENV


@pytest.mark.parametrize("status", [EpisodeStatus.ERRORED, EpisodeStatus.MISSING])
def test_an_episode_that_was_lost_contradicts_a_pass(invocation, pair, make, status):
    invocation.plan(pair)
    lost = make.episode("zero", 1, status=status, success_any=None, error="NaN reward")
    invocation.run(pair, episodes=[make.episode("expert"), lost])
    row = invocation.report().row()
    assert row.red
    assert "NaN reward" in row.reason


def test_an_episode_without_a_success_flag_counts_as_errored_and_not_as_zero(invocation, pair, make):
    invocation.plan(pair)
    invocation.run(pair, episodes=[make.episode("expert"), make.episode("expert", 1, success_any=None)])
    row = invocation.report().row()
    [expert] = row.controls
    assert (expert.tally.successes, expert.tally.completed, expert.tally.errored) == (1, 1, 1)
    assert row.red


def test_an_episode_recorded_twice_is_broken(invocation, pair, make):
    invocation.plan(pair)
    invocation.run(pair, episodes=[make.episode("expert"), make.episode("expert")])
    row = invocation.report().row()
    assert row.verdict is Verdict.BROKEN
    assert "recorded 2 times" in row.reason


def test_an_episode_of_another_benchmark_is_broken(invocation, pair, make):
    invocation.plan(pair)
    episode = make.episode("zero", 1)
    foreign = make.replace(episode, episode=make.replace(episode.episode, benchmark="leg"))
    invocation.run(pair, episodes=[make.episode("expert"), foreign])
    assert invocation.report().row().verdict is Verdict.BROKEN


def test_a_red_run_keeps_its_own_reason_blame_and_advice(invocation, pair):
    invocation.plan(pair)
    folder = invocation.run(
        pair, verdict=Verdict.BROKEN, reason="out of memory", blame=Blame.MACHINE, advice="raise memory_mb", checks=()
    )
    for name in ("checks.json", "episodes.jsonl", "provenance.json"):
        (folder / name).unlink()
    row = invocation.report().row()
    assert (row.verdict, row.reason, row.blame, row.advice) == (
        Verdict.BROKEN,
        "out of memory",
        Blame.MACHINE,
        "raise memory_mb",
    )
    assert row.notes == ()


def test_an_empty_plan_is_red(invocation):
    invocation.plan()
    reported = invocation.report()
    assert (reported.summary.exit_code, reported.report.reason) == (ExitCode.RED, "nothing was planned")


def test_a_skip_with_a_reason_is_green_and_shown(green, pair):
    green.plan(pair, skipped={"leg--default": "no file of it changed"})
    reported = green.report()
    assert reported.summary.verdicts["leg--default"] is Verdict.SKIPPED
    assert reported.row("leg").reason == "no file of it changed"
    assert not reported.summary.red


def test_a_skip_without_a_reason_is_red(green, pair):
    green.plan(pair, skipped={"leg--default": " "})
    assert green.report().row("leg").verdict is Verdict.MISSING


def test_an_unplanned_run_is_shown_and_turns_nothing_green(invocation, pair):
    invocation.plan(Pair(benchmark="leg", environment="default"))
    invocation.run(pair)
    reported = invocation.report()
    assert not reported.row().planned
    assert "not in the plan" in reported.row().notes[0]
    assert reported.report.verdicts == {Verdict.MISSING: 1}
    assert reported.summary.red


def test_an_unplanned_run_beside_an_empty_plan_stays_red(invocation, pair):
    invocation.plan()
    invocation.run(pair)
    assert invocation.report().summary.red


def test_an_unplanned_run_that_failed_is_red(green):
    green.run(Pair(benchmark="leg", environment="default"), verdict=Verdict.FAILED, reason="upside down")
    reported = green.report()
    assert reported.summary.red
    assert reported.report.reason == "0 of 1 planned pair red, and 1 unplanned"


def test_an_unreadable_run_in_a_folder_of_no_pair_is_red(green):
    (green.root / "odd").mkdir()
    (green.root / "odd" / "run.json").write_text("{")
    reported = green.report()
    assert reported.row("odd").verdict is Verdict.BROKEN
    assert reported.summary.red


def test_downloaded_artefacts_are_matched_by_what_they_hold(green, pair, tmp_path):
    downloads = tmp_path / "downloads"
    (downloads / "plan").mkdir(parents=True)
    (green.root / "plan.json").rename(downloads / "plan" / "plan.json")
    (green.root / pair.folder).rename(downloads / "artifact-7")
    reported = green.report(downloads, out=tmp_path / "out")
    assert reported.summary.exit_code is ExitCode.GREEN
    assert reported.row().folder == "../downloads/artifact-7"


def test_copies_of_one_plan_are_one_plan(green, pair):
    (green.root / pair.folder / "plan.json").write_bytes((green.root / "plan.json").read_bytes())
    assert not green.report().summary.red


def test_plans_of_one_invocation_that_disagree_are_refused(green, pair, other_invocation, tmp_path):
    twin = other_invocation("twin")
    twin.name = green.name
    twin.plan(pair, Pair(benchmark="leg", environment="default"))
    with pytest.raises(UsageError, match="disagrees"):
        green.report(green.root, twin.root)


def test_two_run_folders_of_one_pair_are_broken(green, pair):
    green.run(pair).rename(green.root / "again")
    green.run(pair)
    row = green.report().row()
    assert row.verdict is Verdict.BROKEN
    assert "2 run folders" in row.reason


def test_several_invocations_are_refused_without_include_older(green, pair, other_invocation, tmp_path):
    other_invocation().plan(pair)
    with pytest.raises(UsageError, match=r"2 invocations \(inv-1, inv-2\)"):
        green.report(tmp_path)


@pytest.mark.parametrize("named", ["both", "the invocation folder"])
def test_older_runs_are_marked_stale_and_never_count(invocation, pair, other_invocation, tmp_path, named):
    older = other_invocation()
    older.plan(pair)
    older.run(pair)
    invocation.plan(pair)
    folder = tmp_path if named == "both" else invocation.root
    reported = invocation.report(folder, out=tmp_path / "out", include_older=True)
    assert reported.row().verdict is Verdict.MISSING
    assert [(row.invocation, row.verdict) for row in reported.report.pairs if row.stale] == [("inv-1", Verdict.PASSED)]
    assert reported.report.verdicts == {Verdict.MISSING: 1}
    assert reported.summary.exit_code is ExitCode.RED
    assert "stale" in reported.markdown
    assert "stale" in reported.html


def test_an_older_red_run_does_not_make_today_red(green, pair, other_invocation, tmp_path):
    older = other_invocation()
    older.plan(pair)
    older.run(pair, verdict=Verdict.FAILED, reason="broke")
    reported = green.report(tmp_path, out=tmp_path / "out", include_older=True)
    assert not reported.summary.red
    assert [row.red for row in reported.report.pairs if row.stale] == [False]


DAMAGED = {
    "half a plan": lambda path: path.write_bytes(path.read_bytes()[:30]),
    "no time": lambda path: path.write_text(path.read_text().replace("2029-12-31", "yesterday")),
    "a plan of this invocation": lambda path: path.write_text(path.read_text().replace("inv-1", "inv-2")),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_older_invocation_is_listed_and_never_blocks(green, pair, other_invocation, damage):
    """Its runs, one of them unreadable too, count neither for nor against this invocation."""
    older = other_invocation()
    older.plan(pair)
    older.run(pair)
    (older.run(Pair(benchmark="leg", environment="default")) / "run.json").write_text("{")
    DAMAGED[damage](older.root / "plan.json")
    reported = green.report(include_older=True)
    assert not reported.summary.red
    assert [(row.benchmark, row.invocation) for row in reported.report.pairs] == [("arm", "inv-2")]
    (note,) = reported.report.notes
    assert note.startswith("inv-1 (stale): an unreadable invocation")
    assert "inv-1/plan.json: " in note
    assert "inv-1 (stale): an unreadable invocation" in reported.html
    assert "an unreadable invocation" in reported.markdown


def test_a_damaged_plan_beneath_the_named_folder_is_never_passed_over(green, pair, other_invocation, tmp_path):
    other_invocation().plan(pair)
    (green.root / "plan.json").write_text("{")
    with pytest.raises(RecordError, match=r"inv-2/plan\.json"):
        green.report(tmp_path, out=tmp_path / "out", include_older=True)


def test_a_folder_without_a_plan_is_a_usage_error(tmp_path, invocation):
    with pytest.raises(UsageError, match=r"holds no plan\.json"):
        invocation.report(tmp_path)


def test_a_damaged_plan_is_a_record_error(green):
    (green.root / "plan.json").write_text("{}")
    with pytest.raises(RecordError, match=r"plan\.json"):
        green.report()


def test_the_latest_invocation_is_the_one_planned_last(green, pair, other_invocation, tmp_path):
    other_invocation("zzz").plan(pair)
    assert latest_invocation(tmp_path) == green.root


def test_no_invocation_at_all_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="run a smoke first"):
        latest_invocation(tmp_path)


def test_a_damaged_plan_is_never_passed_over_for_an_older_one(green, pair, other_invocation, tmp_path):
    other_invocation().plan(pair)
    (green.root / "plan.json").write_text("{")
    with pytest.raises(RecordError):
        latest_invocation(tmp_path)
