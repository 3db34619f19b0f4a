"""What goes wrong, as clients learn of it: a code for programs and a message for people."""

from __future__ import annotations

STATUS = {
    "bad": 422,  # the request makes no sense
    "illegal": 409,  # the rules do not allow it, or it is not this seat's turn
    "unknown": 404,  # there is no such thing
    "refused": 403,  # there is, but not for this client
    "closed": 410,  # it is over
    "limit": 429,  # too much or too often
    "busy": 429,  # try again later
}


class Refusal(Exception):
    """An answer that is not what the client asked for."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code, self.message = code, message

    @property
    def status(self) -> int:
        return STATUS[self.code]

    def to_dict(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message}
