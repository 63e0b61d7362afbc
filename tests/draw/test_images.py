"""PNG and PDF, made by typst."""

from __future__ import annotations

import re
import struct

import pytest
from support.drawings import Drawing

from crossarc import CrossarcError
from crossarc.draw import images, pdf, png, svg
from crossarc.treebank import sample


def test_without_typst_there_is_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(images, "import_module", absent)
    with pytest.raises(CrossarcError, match=r'typst: pip install "crossarc\[images\]"'):
        png(svg(sample("nl")[0]))


@pytest.mark.parametrize("scale", [1, 2.5])
def test_png_has_the_size_of_the_drawing(scale: float) -> None:
    """Width and height are in the header (PNG specification, 11.2.2), each rounded."""
    pytest.importorskip("typst", reason="extra [images] is not installed")
    shown = svg(sample("cs")[0], theme="light")
    made = png(shown, scale=scale)
    assert made.startswith(b"\x89PNG\r\n\x1a\n")
    size = struct.unpack(">II", made[16:24])
    drawing = Drawing(shown)
    assert size == (
        pytest.approx(drawing.width * scale, abs=1),
        pytest.approx(drawing.height * scale, abs=1),
    )


def test_pdf_has_a_page_for_each_drawing() -> None:
    """Sizes are in points, 3/4 of a pixel; the same input gives the same file."""
    pytest.importorskip("typst", reason="extra [images] is not installed")
    shown = [svg(sentence, theme="light") for sentence in sample("ja")[:3]]
    made = pdf(shown)
    assert made.startswith(b"%PDF-")
    boxes = re.findall(rb"/MediaBox ?\[0 0 ([0-9.]+) ([0-9.]+)\]", made)
    expected = [(d.width * 0.75, d.height * 0.75) for d in map(Drawing, shown)]
    found = [tuple(map(float, box)) for box in boxes]
    assert sorted(found) == [pytest.approx(size, abs=0.1) for size in sorted(expected)]
    assert pdf(shown) == made
