"""The JSON Schema files are what the records say today, and real records keep them."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import jsonschema
import pytest

from robosmoke import journal, schema
from robosmoke.host.json_schema import FOLDER, RECORDS, documents
from robosmoke.host.report.build import build_report
from robosmoke.vocabulary import Blame, CheckOutcome, EpisodeStatus, Verdict

EPISODE = schema.EpisodeRecord(
    episode=schema.Episode(
        index=0, benchmark="mybenchmark", environment="default", suite="mybenchmark", task="reach-left", seed=0
    ),
    policy="expert",
    status=EpisodeStatus.COMPLETED,
    on_success="stop",
    steps=7,
    horizon=60,
    success_any=True,
    first_success_step=7,
    sum_reward=-1.5,
    max_reward=0.0,
    control="expert",
    video=schema.Video(
        kind="review", path="videos/a.mp4", poster="posters/a.png", frames=8, fps=10.0, width_px=64, height_px=64
    ),
)
CHECK = schema.CheckRecord(
    check="RS601",
    name="expert-succeeds",
    task=None,
    test="RS601",
    outcome=CheckOutcome.BROKEN,
    message="é\n",
    blame=Blame.MACHINE,
)
RUN = schema.Run(
    invocation="i",
    benchmark="mybenchmark",
    title="My Benchmark",
    environment="default",
    backend="venv",
    verdict=Verdict.PASSED,
    reason="fine",
    started="2030-01-01T00:00:00+00:00",
    wall_s=1.0,
    wheel_hashes={"robosmoke": "0"},
    tasks=("mybenchmark/reach-left",),
)
PLAN = schema.Plan(
    invocation="i",
    created="2030-01-01T00:00:00+00:00",
    pairs=(schema.Pair(benchmark="mybenchmark", environment="default"),),
    skipped={"metaworld": "not changed"},
)
EVENTS: list[journal.Event] = [
    journal.Planned(time=1.0, tests=(journal.PlannedTest(test="t", check="RS201", name="spaces", task="reach-left"),)),
    journal.Started(time=1.0, test="t", deadline_s=5.0),
    journal.Ended(time=2.0, test="t", outcome=CheckOutcome.FAILED, duration_s=1.0, blame=Blame.ENV),
    journal.EpisodeEnded(time=2.0, record=EPISODE),
    journal.Provenance(time=2.0, facts={"python": "3.11", "distributions": {"numpy": {"version": "2"}}}),
    journal.Finished(time=3.0, exit_code=1),
]


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")))


def report(folder: Path) -> object:
    """Write one invocation, report it with the real command, and give report.json."""
    pair = folder / "i" / PLAN.pairs[0].folder
    schema.write(folder / "i" / "plan.json", PLAN)
    schema.write(pair / "checks.json", schema.Checks(checks=(CHECK,)))
    schema.write_atomically(pair / "episodes.jsonl", schema.encode_line(EPISODE))
    schema.write(pair / "run.json", RUN)
    build_report([folder / "i"], out=folder / "out", include_older=False, now=datetime(2030, 1, 2, tzinfo=timezone.utc))
    return json.loads((folder / "out" / "report.json").read_text())


def test_the_shipped_files_are_what_the_records_say_today() -> None:
    found = {path: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert found == documents(), "run `nox -s schema`"


@pytest.mark.parametrize("name", RECORDS)
def test_every_file_is_a_valid_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(validator(name).schema)


@pytest.mark.parametrize(
    ("name", "record"),
    [("plan", PLAN), ("run", RUN), ("checks", schema.Checks(checks=(CHECK,))), ("episode", EPISODE)]
    + [("journal", event) for event in EVENTS],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_an_encoded_record_keeps_its_schema(name: str, record: object) -> None:
    validator(name).validate(json.loads(schema.encode(record)))


def test_the_journal_examples_hold_every_kind_of_event() -> None:
    assert {type(event) for event in EVENTS} == set(journal.Event.__args__)


def test_a_request_keeps_its_schema(manifest) -> None:
    request = schema.SmokeRequest(manifest=manifest, environment="default", tasks=("reach-left",))
    validator("request").validate(json.loads(schema.encode(request)))


def test_a_report_keeps_its_schema(tmp_path: Path) -> None:
    validator("report").validate(report(tmp_path))


def test_the_schema_refuses_what_the_reader_refuses() -> None:
    """Another major version, a word outside its vocabulary, a missing and a mistyped field."""
    good = json.loads(schema.encode(RUN))
    for change in ({"schema_version": "2.0"}, {"verdict": "fine"}, {"wall_s": "1"}, {"reason": None}):
        with pytest.raises(jsonschema.ValidationError):
            validator("run").validate({**good, **change})
    with pytest.raises(jsonschema.ValidationError):
        validator("run").validate({key: value for key, value in good.items() if key != "verdict"})


def test_the_schema_accepts_an_unknown_field_of_the_same_major_version() -> None:
    validator("run").validate({**json.loads(schema.encode(RUN)), "schema_version": "1.9", "colour": "red"})
