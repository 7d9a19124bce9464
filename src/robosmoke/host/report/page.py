"""Write the report as one self-contained HTML page."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from robosmoke.host.report.family import families, not_passed
from robosmoke.host.report.markdown import reds_first
from robosmoke.host.report.record import Report
from robosmoke.host.report.wording import SYMBOLS, clean, duration, losses, percent, rate

TEMPLATE = "report.html.j2"


def page(report: Report) -> str:
    """Return the page: every string from a record is escaped, and nothing is fetched from elsewhere."""
    environment = Environment(
        loader=PackageLoader("robosmoke.host.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Every string passes here on its way out, so that no template line can forget it.
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
    environment.globals.update(losses=losses, percent=percent, rate=rate)
    environment.filters.update(duration=duration, families=families, not_passed=not_passed)
    return environment.get_template(TEMPLATE).render(report=report, rows=reds_first(report.pairs), symbols=SYMBOLS)
