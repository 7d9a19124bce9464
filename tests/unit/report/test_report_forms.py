"""What the three forms of the report hold, and what they never let through."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from robosmoke.host.report.markdown import LIMIT_BYTES, escape
from robosmoke.schema import Pair
from robosmoke.vocabulary import CheckOutcome, Verdict

HOSTILE = "<script>alert(1)</script> | x |\n## h `c` [a](javascript:b) **b** @everyone ![i](http://e.org/p) \x1b[31mred"


class Page(HTMLParser):
    """Collect every tag with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


@pytest.fixture
def filmed(invocation, pair, make):
    """A green pair whose expert left a video and a poster."""
    invocation.plan(pair)
    folder = invocation.run(pair, episodes=[make.episode("expert", video=make.video()), make.episode("zero", 1)])
    for path in (folder / "videos" / "a.mp4", folder / "posters" / "a.png"):
        path.parent.mkdir()
        path.write_bytes(b"x")
    return invocation


@pytest.fixture
def hostile(invocation, make):
    """A pair in which every free text is an attack."""
    pair = Pair(benchmark="arm", environment=f"default[{HOSTILE}]")
    invocation.plan(pair)
    check = make.check("RS201", HOSTILE, HOSTILE, outcome=CheckOutcome.FAILED, message=HOSTILE)
    folder = invocation.run(
        pair,
        checks=[check],
        episodes=[make.episode(task=HOSTILE, policy=HOSTILE, error=HOSTILE)],
        title=HOSTILE,
        reason=HOSTILE,
        advice=HOSTILE,
        backend=HOSTILE,
        verdict=Verdict.FAILED,
    )
    facts = {"distributions": {HOSTILE: {"version": "\ud800" + HOSTILE}}, "gl_renderer": HOSTILE, "commit": HOSTILE}
    (folder / "provenance.json").write_text(json.dumps(facts))
    return invocation.report()


def test_report_json_is_strict_and_versioned(green):
    green.report()
    text = (green.root / "report" / "report.json").read_text()

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} in strict JSON")

    value = json.loads(text, parse_constant=refuse)
    assert value["schema_version"] == "1.0"
    assert value["pairs"][0]["controls"][0]["tally"]["interval"]["high"] == 1.0


def test_the_same_folders_give_the_same_bytes(green):
    def forms() -> list[bytes]:
        green.report()
        return [path.read_bytes() for path in sorted((green.root / "report").iterdir())]

    assert forms() == forms()


def test_nothing_is_left_in_the_folder_but_the_three_forms(green):
    green.report()
    assert {path.name for path in (green.root / "report").iterdir()} == {"report.json", "report.md", "report.html"}


def test_both_texts_show_verdict_rate_interval_counts_versions_and_commit(green):
    reported = green.report()
    for text in (reported.markdown, reported.html):
        for shown in ("passed", "100 %", "[20.7, 100.0]", "[0.0, 79.3]", "1 of 1 planned", "numpy 2.4.6", "abc1234"):
            assert shown in text


def test_losses_stand_beside_the_rate(invocation, pair, make):
    invocation.plan(pair)
    lost = make.episode("expert", 1, status="errored", success_any=None)
    invocation.run(pair, episodes=[make.episode("expert"), lost])
    reported = invocation.report()
    for text in (reported.markdown, reported.html):
        assert "1 errored, 0 skipped, 0 missing of 2 planned" in text


def test_no_completed_episode_is_no_rate_and_not_zero_percent(invocation, pair, make):
    invocation.plan(pair)
    invocation.run(pair, verdict=Verdict.FAILED, episodes=[make.episode(status="errored", success_any=None)])
    reported = invocation.report()
    for text in (reported.markdown, reported.html):
        assert "no episode completed" in text
        assert "0 %" not in text


def test_every_check_that_did_not_pass_is_listed_with_its_message(invocation, pair, make):
    invocation.plan(pair)
    odd = [make.check(f"RS30{n}", "odd", outcome=outcome, message=f"why {n}") for n, outcome in enumerate(CheckOutcome)]
    invocation.run(pair, checks=odd)
    reported = invocation.report()
    for text in (reported.markdown, reported.html):
        for number, outcome in enumerate(CheckOutcome):
            assert (f"why {number}" in text) is (outcome is not CheckOutcome.PASSED)


def test_the_page_fetches_nothing_and_runs_nothing(filmed):
    page = Page(filmed.report().html)
    assert not page.all("script")
    assert not page.all("link")
    sources = [
        value for _, attributes in page.tags for key, value in attributes.items() if key in ("src", "href", "poster")
    ]
    assert sources
    assert all(source and not re.match(r"[a-z]+:|/", source) for source in sources)


def test_videos_and_posters_are_linked_relative_to_the_report(filmed):
    [video] = Page(filmed.report().html).all("video")
    assert (video["src"], video["poster"]) == ("../arm--default/videos/a.mp4", "../arm--default/posters/a.png")


def test_tables_have_scoped_headers_and_pictures_have_words(filmed):
    page = Page(filmed.report().html)
    assert page.all("th")
    assert all(header.get("scope") in ("row", "col") for header in page.all("th"))
    assert all(image.get("alt") for image in page.all("img"))
    assert all(video.get("aria-label") for video in page.all("video"))
    assert all(picture.get("aria-label") for picture in page.all("svg"))


@pytest.mark.parametrize("path", ["../../secret.mp4", "/etc/passwd", "videos/../../x.mp4", "a\\b.mp4", "linked/a.mp4"])
def test_a_path_that_leaves_the_run_folder_is_refused_and_named(invocation, pair, make, path, tmp_path):
    (tmp_path / "secret.mp4").write_bytes(b"x")
    invocation.plan(pair)
    folder = invocation.run(pair, episodes=[make.episode("expert", video=make.video(path, path))])
    (folder / "linked").symlink_to(tmp_path)
    (tmp_path / "a.mp4").write_bytes(b"x")
    reported = invocation.report()
    [episode] = reported.row().episodes
    assert (episode.video, episode.poster) == (None, None)
    [note] = reported.row().notes
    assert "refused" in note
    assert repr(path) in note
    assert not Page(reported.html).all("video")


def test_a_video_that_is_not_there_is_named_and_not_linked(green, pair, make):
    green.run(pair, episodes=[make.episode("expert", video=make.video("videos/gone.mp4", ""))])
    row = green.report().row()
    assert row.episodes[0].video is None
    assert "'videos/gone.mp4'" in row.notes[0]


def test_a_file_name_is_never_read_as_an_address(invocation, pair, make):
    name = 'javascript:alert(1)"#?.mp4'
    invocation.plan(pair)
    folder = invocation.run(pair, episodes=[make.episode("expert", video=make.video(name, ""))])
    (folder / name).write_bytes(b"x")
    reported = invocation.report(out=folder)
    assert reported.row().episodes[0].video == "javascript%3Aalert%281%29%22%23%3F.mp4"


def test_hostile_text_adds_no_element_to_the_page(hostile):
    page = Page(hostile.html)
    assert not page.all("script")
    assert not page.all("img")
    assert "\x1b" not in hostile.html


def test_hostile_text_adds_no_line_cell_or_markup_to_the_markdown(hostile):
    assert "<script" not in hostile.markdown
    assert "\x1b" not in hostile.markdown
    assert "@everyone" not in hostile.markdown
    assert "http://" not in hostile.markdown
    assert not re.search(r"\]\(|\*\*b|`|^## h", hostile.markdown, re.MULTILINE)
    rows = [line for line in hostile.markdown.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {10, 5}


@pytest.mark.parametrize("text", ["- item", "+ item", "= rule", "1. item", "# head", "> quote", "~~~", "www.e.org"])
def test_escaped_text_starts_no_block_and_no_link(text):
    assert not re.match(r"[-+=#>~]|\d\.|www\.", escape(text))


def test_a_huge_report_is_cut_below_the_limit_with_a_note_and_its_table_whole(invocation, make):
    pairs = [Pair(benchmark="arm", environment=f"e{number}") for number in range(12)]
    invocation.plan(*pairs)
    bulk = [make.check("RS201", "spaces", outcome=CheckOutcome.FAILED, message="ä" * 5000) for _ in range(60)]
    for pair in pairs:
        invocation.run(pair, checks=bulk, verdict=Verdict.FAILED)
    markdown = invocation.report().markdown
    assert 0.9 * LIMIT_BYTES < len(markdown.encode()) < LIMIT_BYTES
    assert "**Truncated**" in markdown
    assert all(f"| e{number} (venv) |" in markdown for number in range(12))
    assert markdown.count("<details") == markdown.count("</details>")


def test_reds_come_first_in_the_table(green, pair):
    green.plan(pair, Pair(benchmark="leg", environment="default"))
    markdown = green.report().markdown
    assert markdown.index("| leg |") < markdown.index("| arm |")


def test_the_terminal_summary_ends_with_the_whole_and_where_to_read_on(green):
    lines = green.report().summary.describe().splitlines()
    assert lines[0] == "passed  arm in default: all checks passed"
    assert lines[-2:] == ["GREEN: 1 of 1 planned pair passed", f"report: {green.root / 'report' / 'report.html'}"]
