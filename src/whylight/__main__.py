"""`python -m whylight`: the command line where the script is not on the path."""

from whylight.cli.main import run

run()
