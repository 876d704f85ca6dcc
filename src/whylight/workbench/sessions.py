"""Who is there: signed cookies, and the token that a page sends back with whatever it changes.

    cookie = payload . HMAC(key, "session" payload)        payload: reviewer and a random number, in base64
    token  = HMAC(key, "page" payload)

The cookie is HttpOnly and SameSite=Strict: no script reads it, and no other site's request carries it. The token stands
in the page, and is sent as a header: another site can read neither. The key is made of that of the database and of the
password, so that a new password ends the sessions of an older one, and those that needed none.
"""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import unicodedata
from dataclasses import dataclass

from whylight.core.errors import InputError
from whylight.core.printable import clean

COOKIE = "whylight_session"
HEADER = "x-whylight-token"
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Session:
    """A reviewer's session.

    Attributes:
        reviewer: The name that was given.
        cookie: What the browser keeps.
        token: What its pages send back.
    """

    reviewer: str
    cookie: str
    token: str


class Sessions:
    """Makes sessions and knows its own again.

    Args:
        key: The key of the database.
        password: What must be given to sign in; None where everybody on this machine may.
    """

    def __init__(self, key: bytes, password: str | None) -> None:
        self._key = key if password is None else hmac.new(key, password.encode(), hashlib.sha256).digest()
        self._password = password

    @property
    def asks_for_password(self) -> bool:
        """Whether signing in needs the password."""
        return self._password is not None

    def start(self, reviewer: str, password: str | None) -> Session | None:
        """Start a session; None if the password is wrong.

        Raises:
            InputError: The name is none.
        """
        name = " ".join(unicodedata.normalize("NFC", reviewer).split())
        if not name or len(name) > LONGEST_NAME or clean(name) != name or not name.isprintable():
            raise InputError(f"a name has 1 to {LONGEST_NAME} visible characters.")
        given = (password or "").encode("utf-8", "surrogatepass")
        if self._password is not None and not hmac.compare_digest(given, self._password.encode()):
            return None
        told = json.dumps([name, secrets.token_hex(16)]).encode("ascii")
        payload = base64.urlsafe_b64encode(told).decode("ascii").rstrip("=")
        return Session(name, f"{payload}.{self._signed('session', payload)}", self._signed("page", payload))

    def of(self, cookie: str | None) -> Session | None:
        """Return the session of a cookie; None if it is not one of ours."""
        payload, dot, signature = (cookie or "").partition(".")
        if not dot or not payload.isascii() or not signature.isascii():
            return None
        if not hmac.compare_digest(signature, self._signed("session", payload)):
            return None
        try:
            name, _ = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        except (ValueError, binascii.Error):
            return None
        return Session(str(name), str(cookie), self._signed("page", payload))

    def _signed(self, purpose: str, payload: str) -> str:
        return hmac.new(self._key, f"{purpose} {payload}".encode(), hashlib.sha256).hexdigest()


def is_token(session: Session, given: str | None) -> bool:
    """Say whether a page's token belongs to a session."""
    return given is not None and given.isascii() and hmac.compare_digest(given, session.token)
