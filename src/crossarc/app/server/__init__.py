"""The web server: parsing over HTTP, with UDPipe's parameters or as JSON, and the page."""

from __future__ import annotations

from crossarc.app.server.application import make_application
from crossarc.app.server.limits import Limits

__all__ = ["Limits", "make_application"]
