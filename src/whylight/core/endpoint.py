"""Endpoints: where a language model answers over HTTP, and how often and how long it may be asked.

An endpoint speaks the protocol of OpenAI (`/chat/completions`, `/completions`) and returns log-probabilities. Only the
address that a user names is ever spoken to. Its key is the value of an environment variable that the user names; it is
read when a request goes out, and kept nowhere.
"""

import ipaddress
import math
import os
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any
from urllib.parse import SplitResult, urlsplit

from whylight.core.errors import SettingError, unknown
from whylight.core.setting import Setting

LOOKS = "give it up to its version, e.g. https://host/v1 or http://127.0.0.1:8000/v1"
PATHS = ("/chat/completions", "/completions")
"""What is asked: a message, or the words that a text goes on with."""
LOCAL = "localhost"
MOST_RETRIES, MOST_IN_FLIGHT, MOST_RETURNED, LONGEST_WAIT = 100, 64, 1000, 3600.0
_VISIBLE = re.compile(r"[!-~]+")
"""A URL and a key are made of these."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A service that answers prompts, as `wl.load(endpoint, prompt=...)` takes it.

    Attributes:
        url: Its address up to the version, e.g. `https://host/v1`.
        model: Which of its models is asked.
        key_variable: The environment variable that holds the key; None where the service needs none.
        top_logprobs: How many of the likeliest tokens it is to return.
        retries: How often a request is repeated that was dropped, not answered in time or put off (429, 5xx).
        per_minute: Requests per minute, at most; None for no bound.
        timeout: Seconds that one request may take, to its last byte.
        in_flight: Requests that are under way at the same time, at most.
        wait: Seconds before a request is repeated for the first time; they double from there, up to a minute.
        allow_http: Whether text and key may travel unencrypted to another machine.

    Example:
        >>> import whylight as wl
        >>> wl.Endpoint("http://127.0.0.1:8000/v1/", model="my-llm").url
        'http://127.0.0.1:8000/v1'
    """

    url: str
    _: KW_ONLY
    model: str
    key_variable: str | None = field(default=None, repr=False)
    top_logprobs: int = 20
    retries: int = 5
    per_minute: float | None = None
    timeout: float = 60.0
    in_flight: int = 4
    wait: float = 0.5
    allow_http: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be an endpoint; no message repeats a URL or a key, which may hold a secret."""
        object.__setattr__(self, "url", _checked_url(self.url))
        if not isinstance(self.model, str) or not self.model.strip():
            raise SettingError("an endpoint needs the name of the model that it is to ask: model='...'.")
        for name, lowest, highest, whole in (
            ("top_logprobs", 1, MOST_RETURNED, True),
            ("retries", 0, MOST_RETRIES, True),
            ("in_flight", 1, MOST_IN_FLIGHT, True),
            ("timeout", 0.001, LONGEST_WAIT, False),
            ("wait", 0.0, LONGEST_WAIT, False),
            ("per_minute", 0.001, math.inf, False),
        ):
            _check_number(name, getattr(self, name), lowest, highest, whole=whole)
        if not isinstance(self.allow_http, bool):
            raise SettingError(f"allow_http is {self.allow_http!r}; it must be true or false.")
        if not self.encrypted and not self.loopback and not self.allow_http:
            raise SettingError(
                f"'{self.host}' is another machine, and text and key would travel to it unencrypted; use https://, or "
                "say allow_http=True."
            )
        self.key()

    @property
    def _parts(self) -> SplitResult:
        return urlsplit(self.url)

    @property
    def encrypted(self) -> bool:
        """Whether it is spoken to by HTTPS."""
        return self._parts.scheme == "https"

    @property
    def host(self) -> str:
        """Its machine."""
        return self._parts.hostname or ""

    @property
    def port(self) -> int:
        """Its port."""
        return self._parts.port or (443 if self.encrypted else 80)

    @property
    def path(self) -> str:
        """What stands behind host and port."""
        return self._parts.path

    @property
    def loopback(self) -> bool:
        """Whether it is on this machine."""
        return self.host == LOCAL or is_loopback(self.host)

    def key(self) -> str | None:
        """Return the key from the environment, or None where none is needed."""
        if self.key_variable is None:
            return None
        if not isinstance(self.key_variable, str):
            raise SettingError("key_variable is the name of the environment variable that holds the key.")
        found = os.environ.get(self.key_variable, "").strip()
        if not found:
            raise SettingError(
                "the environment variable that key_variable names is not set; key_variable is the name of a variable, "
                "not the key itself."
            )
        if not _VISIBLE.fullmatch(found):
            raise SettingError("the key of the endpoint holds a blank or a character beyond ASCII; set it anew.")
        return found


def parse_endpoint(url: str, model: str | None, given: Mapping[str, str]) -> Endpoint:
    """Return the endpoint that options of the command line name.

    Args:
        url: Its address.
        model: Which of its models is asked.
        given: Other settings, by name, as texts.
    """
    known = {one.name: one for one in fields(Endpoint) if one.name not in ("url", "model")}
    for name in given:
        if name not in known:
            raise unknown("setting of an endpoint", name, known)
    settings: dict[str, Any] = {
        name: Setting(name, known[name].type, None).parse(value) for name, value in given.items()
    }
    if model is None:
        raise SettingError("--endpoint needs the name of the model that it is to ask: --endpoint-model NAME.")
    return Endpoint(url, model=model, **settings)


def is_loopback(address: str) -> bool:
    """Say whether an address in digits is of this machine."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return bool((mapped or found).is_loopback)


def _checked_url(given: object) -> str:
    if not isinstance(given, str) or not _VISIBLE.fullmatch(given):
        raise SettingError(f"the URL of an endpoint is a text of ASCII characters without blanks; {LOOKS}.")
    try:
        parts = urlsplit(given)
        port = parts.port
    except ValueError:
        raise SettingError(f"the URL of the endpoint cannot be read; {LOOKS}.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise SettingError(f"the URL of an endpoint begins with https:// or http:// and names a machine; {LOOKS}.")
    if "@" in parts.netloc:
        raise SettingError(
            "the URL of the endpoint holds a name or password; leave them out, and name the environment variable that "
            "holds the key (key_variable)."
        )
    if parts.query or parts.fragment or given.endswith(("?", "#")):
        raise SettingError(f"the URL of the endpoint holds a '?' or '#'; {LOOKS}.")
    path = parts.path.rstrip("/")
    if path.endswith(PATHS):
        raise SettingError(f"the URL of the endpoint names one of its pages; {LOOKS}.")
    return f"{parts.scheme}://{parts.netloc.lower()}{path}"


def _check_number(name: str, value: object, lowest: float, highest: float, *, whole: bool) -> None:
    if name == "per_minute" and value is None:
        return
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not lowest <= number <= highest or (whole and not isinstance(number, int)):
        kind = "a whole number" if whole else "a number"
        most = f" and at most {highest:g}" if math.isfinite(highest) else ""
        raise SettingError(f"{name} of an endpoint is {value!r}; it must be {kind}, at least {lowest:g}{most}.")
