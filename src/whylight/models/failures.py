"""Requests that were not answered: what to say of them, and whether to ask again.

    429, 408, 5xx, a dropped connection, no answer in time    may go better the next time
    401, 403, 404 and other refusals, a redirect              are told at once

No message holds a key, also where a service repeats it.
"""

import json
import socket
import ssl
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPException
from typing import Any

from whylight.core.endpoint import Endpoint
from whylight.core.errors import ModelError
from whylight.core.printable import one_line
from whylight.models.line import LARGEST, ElsewhereError, Reply

QUOTED = 160
"""Characters of what a service says that a message repeats."""
AGAIN = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.REQUEST_TIMEOUT)
FAULTS = (OSError, HTTPException, UnicodeError)
"""What goes wrong on the way; the last is of a name that no machine can have."""


class UnansweredError(ModelError):
    """A request that was not answered, however often it was repeated."""


class FailedError(Exception):
    """A request that was not answered.

    Args:
        what: What happened, as the end of a sentence about the endpoint.
        again: Whether to ask again.
        wait: Seconds that the service wants to be left alone for.
    """

    def __init__(self, what: str, *, again: bool, wait: float = 0.0) -> None:
        super().__init__(what)
        self.what, self.again, self.wait = what, again, wait


def on_the_way(error: Exception, *, has_answered: bool) -> FailedError:
    """Say what went wrong on the way, and whether it may go better.

    Args:
        error: What was raised.
        has_answered: Whether the endpoint has ever answered; else it is more likely named wrongly than down.
    """
    match error:
        case ElsewhereError():
            what = "leads to another machine, and text would travel to it unencrypted: use https://, or allow_http=True"
            again = False
        case ssl.SSLCertVerificationError():
            what, again = (
                f"has a certificate that cannot be verified ({one_line(error.verify_message).rstrip('.')})",
                False,
            )
        case ssl.SSLError():
            what, again = "does not speak HTTPS as it should", has_answered
        case socket.gaierror():
            what, again = "cannot be found: its machine has no address", error.errno == socket.EAI_AGAIN
        case UnicodeError():
            what, again = "cannot be found: no machine can have such a name", False
        case ConnectionRefusedError():
            what, again = "cannot be reached: nobody listens there", has_answered
        case OSError():
            what, again = f"dropped the connection ({one_line(error.strerror or str(error))[:QUOTED]})", True
        case _:
            what, again = f"broke off its answer, or does not speak HTTP ({type(error).__name__})", True
    return FailedError(what, again=again)


def content_of(reply: Reply, endpoint: Endpoint) -> Any:  # noqa: ANN401  JSON of any kind
    """Return the JSON of an answer, or say why there is none."""
    status, name = reply.status, f"answered {reply.status}"
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return _json(reply)
    if status in AGAIN or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise FailedError(f"{name}{_said(reply, endpoint)}", again=True, wait=seconds_of(reply.retry_after))
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        what = ", a redirect, which is not followed: name the address that it leads to"
    elif status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        what = ": it wants a key, or another one (key_variable names the variable that holds it)"
    elif status == HTTPStatus.NOT_FOUND:
        what = f": it has no such page, or no model '{endpoint.model}'{_said(reply, endpoint)}"
    else:
        what = f": it does not take the request{_said(reply, endpoint)}"
    raise FailedError(f"{name}{what}", again=False)


def _json(reply: Reply) -> Any:  # noqa: ANN401
    if len(reply.body) > LARGEST:
        raise FailedError(f"sent more than {LARGEST:,} bytes for one answer", again=False)
    try:
        return json.loads(reply.body)
    except (ValueError, RecursionError):
        # what ends with the connection may have been cut off
        what = "did not answer with JSON, so it may not be the URL of an API"
        raise FailedError(what, again=not reply.whole) from None


def _said(reply: Reply, endpoint: Endpoint) -> str:
    """Return what a service says about a refusal, as a part of a sentence."""
    try:
        found = json.loads(reply.body[:LARGEST])
    except (ValueError, RecursionError):
        return ""
    for name in ("error", "message", "detail"):
        found = found.get(name, found) if isinstance(found, dict) else found
    if not isinstance(found, str) or not found.strip():
        return ""
    key = endpoint.key()
    line = one_line(found if key is None else found.replace(key, "***"))
    return f" (it says: {line[:QUOTED].rstrip('. ')})"


def seconds_of(given: str | None) -> float:
    """Return the seconds that `Retry-After` asks for, in digits or as a date; 0 where it says neither."""
    if not given:
        return 0.0
    try:
        if given.strip().isdigit():
            return float(given)
        date = parsedate_to_datetime(given)
        date = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
        return max(0.0, (date - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return 0.0
