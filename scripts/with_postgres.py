"""Run a command beside a PostgreSQL server of its own, on a Unix socket, which is gone afterwards.

    python scripts/with_postgres.py COMMAND...

The command finds the server's address in WHYLIGHT_TEST_POSTGRES. PostgreSQL refuses to run as root; root starts it as
the user `postgres`, whom Debian's package makes.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VARIABLE = "WHYLIGHT_TEST_POSTGRES"
USER = "postgres"
PLACES = "/usr/lib/postgresql"
"""Where Debian's programs lie, which are not on the path."""
SWITCHES = "-c listen_addresses='' -c fsync=off -c max_connections=100"


def main() -> int:
    """Start the server, run the command, stop the server; return the exit code of the command."""
    folder = Path(tempfile.mkdtemp(prefix="whylight-pg-", dir="/tmp"))
    as_user = ["runuser", "-u", USER, "--"] if os.geteuid() == 0 else []
    if as_user:
        shutil.chown(folder, USER)
    data, log = str(folder / "data"), str(folder / "log")

    def run(name: str, *given: str) -> None:
        subprocess.run([*as_user, program(name), *given], check=True, stdout=subprocess.DEVNULL, cwd="/")  # noqa: S603

    try:
        run("initdb", "--auth=trust", f"--username={USER}", "--encoding=UTF8", "--pgdata", data)
        run("pg_ctl", "--pgdata", data, "--log", log, "-w", "-o", f"{SWITCHES} -k {folder}", "start")
        try:
            own = {**os.environ, VARIABLE: f"postgresql+psycopg://{USER}@/postgres?host={folder}"}
            return subprocess.run(sys.argv[1:], check=False, env=own).returncode  # noqa: S603
        finally:
            run("pg_ctl", "--pgdata", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def program(name: str) -> str:
    """Return where a program of the server lies, the newest one."""
    found = sorted(Path(PLACES).glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3])) or [shutil.which(name)]
    if found[-1] is None:
        sys.exit(f"there is no {name}: install PostgreSQL.")
    return str(found[-1])


if __name__ == "__main__":
    sys.exit(main())
