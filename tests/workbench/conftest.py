"""A fresh database for every test: SQLite, and PostgreSQL where `make test-postgres` starts a server; a browser."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, make_url, text

import browsing
import workbench_app

SERVER = "WHYLIGHT_TEST_POSTGRES"
"""Where the address of the server stands."""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database that nobody has used."""
    if request.param == "sqlite":
        yield workbench_app.sqlite(tmp_path)
        return
    server = make_url(os.environ[SERVER])
    name = f"test_{uuid4().hex}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield server.set(database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A real browser."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  of `make test-browser` alone

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browsing.CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
