"""What a distribution shows of itself: a line, and in notebooks a table and its marginals."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from crossarc.inference.distribution import TreeDistribution
    from crossarc.inference.runtime.batch import Batch

__all__ = ["ELSEWHERE", "facts", "html", "line"]

#: What users of torch-struct, SuPar, SynJax and networkx type first, and what it is called here.
ELSEWHERE = {
    "partition": "log_partition()",
    "log_z": "log_partition()",
    "logZ": "log_partition()",
    "inside": "log_partition()",
    "mode": "argmax()",
    "max": "argmax(), whose tree has a score",
    "best": "argmax()",
    "viterbi": "argmax()",
    "decode": "argmax()",
    "mbr": "min_risk()",
    "marginal": "marginals()",
    "marginals_for_template_variables": "marginals()",
    "topk": "kbest(k)",
    "top_k": "kbest(k)",
    "kmax": "kbest(k)",
    "prob": "log_prob(tree)",
    "rsample": "sample(k)",
    "condition": "given(heads)",
}

# Longer sentences have no picture, and those with factors only if it has been computed already.
_MOST_WORDS = 30
# Up to so many words, cells have room for their percentage.
_MOST_WITH_NUMBERS = 15
# Seen on light and on dark pages; the opacity is the probability.
_COLOUR = "70, 140, 235"


def line(trees: TreeDistribution[Any]) -> str:
    """`<SpanningTrees: 9 words, single root>`; log Z only where it has been computed."""
    return f"<{type(trees).__name__}: {', '.join(_about(trees))}>"


def html(trees: TreeDistribution[Any]) -> str:
    """The same, and for a short sentence log Z and a picture of the marginals."""
    batch = trees._batch
    is_short = not batch.is_batch and batch.sizes[0] <= _MOST_WORDS
    is_known = trees._known_totals is not None
    picture = ""
    if is_short and (is_known or not trees._factor_arguments(0)):
        if trees.log_partition() > -np.inf:
            picture = _heat_map(trees._head_probabilities(0))
        else:
            picture = "<p>No tree is possible.</p>"
    name, about = escape(type(trees).__name__), escape(", ".join(_about(trees)))
    return f"<p><b>{name}</b>: {about}</p>{picture}"


def _about(trees: TreeDistribution[Any]) -> list[str]:
    batch, known = trees._batch, trees._known_totals
    about = facts(batch, trees.root, trees._factor_arguments(0) if len(batch) else ())
    if known is not None and not batch.is_batch:
        about.append(f"log Z = {known[0]:.4f}")
    return about


def facts(batch: Batch, root: str, arguments: Iterable[str]) -> list[str]:
    """Of the sentences, and which other arguments were given."""
    words = int(batch.sizes.sum())
    about = [f"{words:,} word{'s' if words != 1 else ''}"]
    if batch.is_batch:
        about.insert(0, f"{len(batch):,} sentence{'s' if len(batch) != 1 else ''}")
    if batch.labelled:
        about.append(f"{batch.labelled[0].shape[2]} labels")
    return [*about, f"{root} root", *(name.replace("_", "-") for name in arguments)]


def _heat_map(marginals: NDArray[np.float64]) -> str:
    """Heads in rows, modifiers in columns; the darker, the more probable."""
    n = len(marginals) - 1
    side = "min-width:1.9em" if n <= _MOST_WITH_NUMBERS else "min-width:1.1em"
    style = f"{side};height:1.7em;padding:1px;text-align:center;font-size:85%"
    columns = "".join(f'<th style="{style}">{m}</th>' for m in range(1, n + 1))
    rows = [f'<tr><th style="{style};text-align:right">head</th>{columns}</tr>']
    for h in range(n + 1):
        cells = "".join(_cell(h, m, float(marginals[h, m]), n, style) for m in range(1, n + 1))
        name = str(h) if h else "root"
        rows.append(f'<tr><th style="{style};text-align:right">{name}</th>{cells}</tr>')
    return (
        '<table style="border-collapse:collapse">'
        '<caption style="text-align:left">Probability of each arc, in percent'
        f"</caption>{''.join(rows)}</table>"
    )


def _cell(head: int, modifier: int, probability: float, n: int, style: str) -> str:
    if head == modifier:
        return f'<td style="{style}">·</td>'
    percent = f"{100 * probability:.0f}"
    shown = percent if n <= _MOST_WITH_NUMBERS and percent != "0" else ""
    return (
        f'<td style="{style};background:rgba({_COLOUR}, {probability:.3f})" '
        f'title="{head} → {modifier}: {probability:.4f}">{shown}</td>'
    )
