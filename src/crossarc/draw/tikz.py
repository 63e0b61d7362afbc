"""A tree as LaTeX, for the package tikz-dependency, laid out as the SVG is.

By itself tikz-dependency lets edges overlap, so every width, height and offset is given, in em of
the font in use.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Unpack

from crossarc.draw.layout import FORM_SIZE, Arch, Layout, Line, Root
from crossarc.draw.picture import Contents, Drawable, Kind, Node, Picture, Token, picture

__all__ = ["document", "environment", "escaped", "latex"]

_LOWEST, _LEVEL = 2.1, 1.35
_SPECIAL = {
    **{character: f"\\{character}" for character in "{}$#_%"},
    # \\& separates the cells of a deptext.
    "&": "\\symbol{38}",
    "|": "\\textbar{}",
    "\\": "\\textbackslash{}",
    "^": "\\textasciicircum{}",
    "~": "\\textasciitilde{}",
    '"': "\\textquotedbl{}",
    "'": "\\textquotesingle{}",
    "`": "\\textasciigrave{}",
    "≠": "\\ensuremath{\\neq}",
    # Alone in its group, no character joins its neighbour to a dash, a quote or an inverted mark.
    **{character: f"{{{character}}}" for character in "-<>?!,"},
}
_ESCAPED = re.compile("[" + re.escape("".join(_SPECIAL)) + "]")
_LINES = {
    Kind.nonprojective: ("red!75!black", ",thick"),
    Kind.first: ("blue!70!black", ",very thick"),
    Kind.second: ("orange!80!black", ",thick,dashed"),
    Kind.relabelled: ("violet", ",thick"),
    Kind.candidate: ("black!55", ",densely dotted"),
    Kind.enhanced: ("teal", ",dashed"),
    Kind.same: ("black!55", ""),
}
_BEYOND_PDFTEX = re.compile("[^\u0000-\u024f\u1e00-\u1eff\u2010-\u203a]")
_ARABIC = re.compile("[\u0600-\u06ff]")
_EAST_ASIAN = re.compile("[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")


def latex(
    source: Drawable,
    *,
    document: bool = False,
    **contents: Unpack[Contents],
) -> str:
    r"""A sentence or tree as a `dependency` environment of the LaTeX package tikz-dependency.

    The words stand in one line; `\resizebox{\linewidth}{!}{...}` makes a long one fit. Words in
    right-to-left scripts are put into `\RL{...}`, which a document for LuaLaTeX defines.

    Args:
        source: what to draw.
        document: a whole document, whose page fits the drawing, rather than a piece of one. It
            says in its first line which LaTeX to use: pdflatex for Latin letters, else lualatex.
        contents: forms, tags, probabilities, candidates, against, multiword_tokens, empty_nodes
            and enhanced, as for `svg`.

    Raises:
        TreebankError: a word has no head, or the options do not fit the sentence.
    """
    drawn = environment(picture(source, **contents))
    return _document([drawn]) if document else drawn


def document(environments: Iterable[str]) -> str:
    """A document with a page for each drawing."""
    return _document(list(environments))


def _document(environments: list[str]) -> str:
    body = "\n".join(environments)
    lines = ["% !TeX program = pdflatex"]
    setup = ["\\usepackage[T1]{fontenc}"]
    if _BEYOND_PDFTEX.search(body):
        lines = ["% !TeX program = lualatex"]
        script = ",Script=Arabic" if _ARABIC.search(body) else ""
        font = f"{{DejaVuSans.ttf}}[Renderer=HarfBuzz{script}]"
        if _EAST_ASIAN.search(body):
            font = "{Noto Sans CJK JP}"
        setup = [
            "\\usepackage{fontspec}",
            "% Any font that has the letters will do.",
            f"\\setmainfont{font}",
            "\\newcommand{\\RL}[1]{\\bgroup\\textdir TRT #1\\egroup}",
        ]
    lines += ["\\documentclass[multi=dependency,border=6pt]{standalone}", *setup]
    lines += ["\\usepackage{tikz-dependency}", "\\begin{document}", body + "\\end{document}", ""]
    return "\n".join(lines)


def environment(content: Picture) -> str:
    """A picture as a `dependency` environment, ending in a line break."""
    nodes = content.nodes
    line = Layout(content, 1, len(nodes)).line()
    writer = _Writer(content, line)
    rows = [writer.row([_form(node) for node in nodes], first=True)]
    for shown, values in (
        (content.has_tags, [node.tag for node in nodes]),
        (content.has_probabilities, [node.probability_text for node in nodes]),
    ):
        if shown:
            rows.append(writer.row([f"\\scriptsize {escaped(value)}" for value in values]))
    # Higher edges first: where one passes the label of a lower one, the label stays on top.
    arches = sorted(line.arches, key=lambda arch: -arch.level)
    edges = [writer.root(root) for root in line.roots] + [writer.edge(arch) for arch in arches]
    edges += [writer.token(token, len(rows)) for token in content.tokens]
    return (
        "\\begin{dependency}[edge slant=0pt,edge horizontal padding=0pt,\n"
        "  text style={inner xsep=0pt},label style={draw=none,inner sep=.3ex}]\n"
        "  \\begin{deptext}[column sep=0pt]\n"
        + "".join(f"    {row} \\\\\n" for row in rows)
        + "  \\end{deptext}\n"
        + "".join(f"  {edge}\n" for edge in edges)
        + "\\end{dependency}\n"
    )


def escaped(text: str) -> str:
    """The text so that LaTeX shows it as it is."""
    return _ESCAPED.sub(lambda match: _SPECIAL[match[0]], text)


def _form(node: Node) -> str:
    return _directed(node.form) if node.arc else f"\\itshape {_directed(node.form)}"


def _directed(form: str) -> str:
    right_to_left = any(unicodedata.bidirectional(c) in ("R", "AL") for c in form)
    return f"\\RL{{{escaped(form)}}}" if right_to_left else escaped(form)


def _em(pixels: float) -> str:
    return f"{pixels / FORM_SIZE:.2f}em"


class _Writer:
    """Rows and edges of one drawing; columns run from right to left where the words do."""

    def __init__(self, content: Picture, line: Line) -> None:
        self.line = line
        self.mirrored = content.is_right_to_left
        self.n = len(content.nodes)
        self.height = _LOWEST + _LEVEL * line.levels - 0.4

    def row(self, cells: list[str], *, first: bool = False) -> str:
        """Cells of the matrix; the first row sets the widths of columns and gaps."""
        line = self.line
        words = list(range(self.n))[:: -1 if self.mirrored else 1]
        parts = []
        for index, word in enumerate(words):
            gap = ""
            if index and first:
                before = words[index - 1]
                middles = abs(line.centres[word] - line.centres[before])
                gap = f"[{_em(middles - (line.cells[word] + line.cells[before]) / 2)}]"
            width = f"|[minimum width={_em(line.cells[word])}]| " if first else ""
            parts.append(
                f"\\&{gap} {width}{{{cells[word]}}}" if index else f"{width}{{{cells[word]}}}"
            )
        return " ".join(parts)

    def column(self, word: int) -> int:
        """The column of a word."""
        return self.n + 1 - word if self.mirrored else word

    def offset(self, x: float, word: int) -> str:
        """The distance of a leg from the middle of its word."""
        away = x - self.line.centres[word - 1]
        return _em(-away if self.mirrored else away)

    def edge(self, arch: Arch) -> str:
        """An arc between words."""
        arc = arch.arc
        start, end = (
            (arch.left, arch.right) if arc.head < arc.dependent else (arch.right, arch.left)
        )
        options = [
            f"edge height={_LOWEST + _LEVEL * arch.level:.2f}em",
            f"edge start x offset={self.offset(start, arc.head)}",
            f"edge end x offset={self.offset(end, arc.dependent)}",
            "rounded corners=.5em",
            *_styles(arc.kind),
        ]
        if not arch.label_width:
            options.append("hide label")
        elif abs(shift := arch.label_x - (arch.left + arch.right) / 2) > 0.1:
            options.append(f"label style={{xshift={_em(-shift if self.mirrored else shift)}}}")
        ends = f"{{{self.column(arc.head)}}}{{{self.column(arc.dependent)}}}"
        return f"\\depedge[{','.join(options)}]{ends}{{{escaped(arc.shown)}}}"

    def root(self, root: Root) -> str:
        """An arc from the root; `\\deproot` would put it on the middle of the word, among legs."""
        word = f"\\wordref{{1}}{{{self.column(root.arc.dependent)}}}.north"
        shift = self.offset(root.x, root.arc.dependent)
        colour, line = _LINES.get(root.arc.kind, ("black", ""))
        return (
            f"\\draw[->,>=stealth,{colour}{line}] ([shift={{({shift},{self.height:.2f}em)}}]{word})"
            f" node[above,scale=.7,inner sep=.3ex]{{{escaped(root.arc.shown)}}}"
            f" -- ([xshift={shift}]{word});"
        )

    def token(self, token: Token, rows: int) -> str:
        """A bracket below the words of a multiword token, and its form."""
        ends = sorted((self.column(token.first), self.column(token.last)))
        left, right = (f"\\wordref{{{rows}}}{{{column}}}.south" for column in ends)
        return (
            f"\\draw[gray] ({left} west) -- ++(0,-.3em) -| ({right} east)"
            f" node[pos=.25,below,scale=.7,inner sep=.3ex,text=black]{{{_directed(token.form)}}};"
        )


def _styles(kind: Kind) -> list[str]:
    if kind not in _LINES:
        return []
    colour, line = _LINES[kind]
    return [f"edge style={{{colour}{line}}}", f"label style={{text={colour}}}"]
