"""A small OpenID provider on loopback, which can be told to misbehave."""

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, parse_qsl, unquote_plus, urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

CLIENT, SECRET = "discreet", "a secret: of & the client %"


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class SigningKey:
    """An RSA key that signs tokens; written without the library that checks them."""

    def __init__(self, kid: str, bits: int = 2048) -> None:
        self.kid, self._key = kid, rsa.generate_private_key(65537, bits)

    @property
    def jwk(self) -> dict[str, str]:
        numbers = self._key.public_key().public_numbers()
        n = numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8, "big")
        exponent = numbers.e.to_bytes(3, "big")
        return {"kty": "RSA", "use": "sig", "kid": self.kid, "n": b64(n), "e": b64(exponent)}

    def token(self, claims: dict[str, Any], **header: Any) -> str:
        head = {"alg": "RS256", "typ": "JWT", "kid": self.kid, **header}
        signed = f"{b64(json.dumps(head).encode())}.{b64(json.dumps(claims).encode())}"
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{b64(signature)}"


@cache
def _first_key() -> SigningKey:
    return SigningKey("one")


class LoopbackProvider:
    """A provider with one user after the other.

    What tests change: `claims` (laid over those of tokens), `tokens` (makes the token), `answers`
    (path → status, headers, body), `keys`, `described` (laid over the description).
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self.key = _first_key()
        self.keys = [self.key]
        self.claims: dict[str, Any] = {}
        self.described: dict[str, Any] = {}
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.tokens: Callable[[dict[str, Any]], str] = lambda claims: self.key.token(claims)
        self.asked: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}

    def __enter__(self) -> Self:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._reply(*provider._get(self.path))

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", "0"))
                body = self.rfile.read(length).decode()
                given = self.headers.get("Authorization", "")
                self._reply(*provider._post(self.path, body, given))

            def _reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def let_in(
        self, address: str, subject: str = "42", name: str = "anna", groups: Any = ("staff",)
    ) -> dict[str, str]:
        """What the browser brings back after somebody logged in at an address."""
        asked = dict(parse_qsl(urlsplit(address).query))
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self._codes[code] = {
            **asked, "sub": subject, "name": name, "groups": json.dumps(groups)
        }  # fmt: skip
        return {"code": code, "state": asked["state"], "iss": self.issuer}

    def _get(self, path: str) -> tuple[int, dict[str, str], bytes]:
        self.asked.append(path)
        if path in self.answers:
            return self.answers[path]
        if path == "/.well-known/openid-configuration":
            return self._json(
                {
                    "issuer": self.issuer,
                    "authorization_endpoint": f"{self.issuer}/authorize",
                    "token_endpoint": f"{self.issuer}/token",
                    "jwks_uri": f"{self.issuer}/keys",
                    "authorization_response_iss_parameter_supported": True,
                    **self.described,
                }
            )
        if path == "/keys":
            return self._json({"keys": [key.jwk for key in self.keys]})
        return 404, {}, b""

    def _post(self, path: str, body: str, given: str) -> tuple[int, dict[str, str], bytes]:
        self.asked.append(path)
        if path in self.answers:
            return self.answers[path]
        form = {name: values[0] for name, values in parse_qs(body).items()}
        known = self._codes.pop(form.get("code", ""), None)
        if known is None or not self._is_right(known, form, given):
            return self._json({"error": "invalid_grant"}, 400)
        now = self._clock() // 1000
        claims = {
            "iss": self.issuer, "sub": known["sub"], "aud": CLIENT, "nonce": known["nonce"],
            "iat": now, "exp": now + 300, "preferred_username": known["name"],
            "groups": json.loads(known["groups"]), **self.claims,
        }  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not None}
        return self._json(
            {"access_token": "x", "token_type": "Bearer", "id_token": self.tokens(claims)}
        )

    def _is_right(self, known: dict[str, str], form: dict[str, str], given: str) -> bool:
        proof = b64(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        pair = base64.b64decode(given.removeprefix("Basic ")).decode().split(":")
        return (
            proof == known["code_challenge"]
            and form["redirect_uri"] == known["redirect_uri"]
            and [unquote_plus(each) for each in pair] == [CLIENT, SECRET]
        )

    def _json(self, told: Any, status: int = 200) -> tuple[int, dict[str, str], bytes]:
        return status, {"Content-Type": "application/json"}, json.dumps(told).encode()
