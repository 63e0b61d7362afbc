"""What a client sends: the body, within limits, and the parameters in it or in the address."""

from __future__ import annotations

import asyncio
import re
from email.message import Message
from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from crossarc.app.server.limits import Limits, RefusalError

__all__ = ["read_body", "read_parameters"]

# More parameters than any client has.
_MOST_PARAMETERS = 100
_FORM, _MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"


async def read_body(request: Request, limits: Limits) -> bytes:
    """The body of a request.

    Raises:
        RefusalError: it is too large, or comes too slowly.
    """
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit():
        limits.check_body(int(length))
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for piece in request.stream():
                size += len(piece)
                limits.check_body(size)
                pieces.append(piece)
    except TimeoutError:
        raise RefusalError(
            f"the body was not received within the limit of {limits.seconds:g} s",
            HTTPStatus.REQUEST_TIMEOUT,
        ) from None
    except ClientDisconnect:
        raise RefusalError("the body ended early") from None
    return b"".join(pieces)


async def read_parameters(request: Request, limits: Limits) -> dict[str, str]:
    """The parameters of a form, in the address or in the body.

    Raises:
        RefusalError: another type of content, or one that cannot be read.
    """
    query = request.scope["query_string"]
    limits.check_body(len(query))
    parameters = _form(query)
    body = await read_body(request, limits)
    if not body:
        return parameters
    content = Message()
    content["content-type"] = request.headers.get("content-type", _FORM)
    kind = content.get_content_type()
    if kind == _FORM:
        return {**parameters, **_form(body)}
    if kind == _MULTIPART:
        return {**parameters, **_multipart(body, str(content.get_param("boundary") or ""))}
    raise RefusalError(
        f"the content type must be {_FORM} or {_MULTIPART}", HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    )


def _form(data: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            data.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
        )
    except UnicodeError:
        raise RefusalError("the form is not percent-encoded UTF-8") from None
    except ValueError:
        raise RefusalError(f"the form has more than {_MOST_PARAMETERS} parameters") from None
    return dict(pairs)


def _multipart(body: bytes, boundary: str) -> dict[str, str]:
    """The fields of multipart/form-data (RFC 7578)."""
    if not boundary or not boundary.isascii():
        raise RefusalError(f"{_MULTIPART} needs a boundary in its content type")
    delimiter = b"\r\n--" + boundary.encode()
    # The first delimiter may begin the body; the last part is what follows the closing one.
    _, *parts = (b"\r\n" + body).split(delimiter, _MOST_PARAMETERS + 1)
    if len(parts) < 2 or not parts[-1].startswith(b"--"):
        raise RefusalError(
            f"the parts of {_MULTIPART} do not end, or are more than {_MOST_PARAMETERS}"
        )
    fields = {}
    for part in parts[:-1]:
        head, blank, content = part.partition(b"\r\n\r\n")
        name = re.search(rb'(?i)content-disposition:[^\r\n]*[; ]name="?([^"\r\n;]+)', head)
        if not blank or name is None:
            raise RefusalError(f"a part of {_MULTIPART} has no name")
        try:
            fields[name[1].decode()] = content.decode()
        except UnicodeError:
            raise RefusalError(f"a part of {_MULTIPART} is not UTF-8") from None
    return fields
