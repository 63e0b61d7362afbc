"""The linear arc-factored model: prototype."""
from __future__ import annotations
import numpy as np
from crossarc.learning.tables import GROUPS, WeightTable
from crossarc.models import features as F
from crossarc.models.encode import Encoder, Encoded
from crossarc.models.arcs import score_arcs, gather_arcs
from crossarc.models.labels import score_labels, gather_labels, log_softmax
from crossarc.models.vocabulary import Vocabulary
from crossarc.parallel import over_ranges


class LinearModel:
    def __init__(self, encoder, labels, arc_bits=21, label_bits=21, threads=None):
        self.encoder, self.labels = encoder, labels
        at, ats = encoder.atoms, encoder.attributes
        a = F.compile_plan(F.ARC_PAIRS_DISTANCE + F.ARC_PAIRS, at, ats, len(F.ARC_PAIRS_DISTANCE))
        b = F.compile_plan(F.ARC_BETWEEN, at, ats, 0)
        w = F.compile_plan([f"{x} | {x}" for x in F.ARC_WORDS], at, ats, 0)
        most = max(p.atoms.shape[2] for p in (a, b, w))
        def widen(p):
            out = np.full((p.count, 2, most), F.MISSING)
            out[:, :, :p.atoms.shape[2]] = p.atoms
            return out
        self.plan = np.concatenate([widen(a), widen(b), widen(w)])
        self.shape = np.cumsum([0, a.count, b.count, w.count]); self.shape[0] = a.with_distance
        self.label_plan = F.compile_plan(F.LABEL_PAIRS_DISTANCE + F.LABEL_PAIRS, at, ats, len(F.LABEL_PAIRS_DISTANCE))
        self.arc_bits = arc_bits - 2
        self.arcs = WeightTable(1 << self.arc_bits)
        self.label_bits = label_bits - 2
        self.label_part = (1 << self.label_bits) + 8 * (-(-len(labels.strings) // 8))
        self.label_table = WeightTable(self.label_part)
        self.upos = at.index("upos")
        self.threads = threads

    @classmethod
    def build(cls, sentences, **k):
        return cls(Encoder.build(sentences, cutoff=k.pop("cutoff", 2)), Vocabulary.build(d for s in sentences for d in s.deprels), **k)

    def encode(self, sentences):
        return self.encoder.encode(sentences, self.labels)

    def flat_scores(self, e):
        sq = e.squares
        out = np.zeros(int(sq[-1]))
        codes = e.codes.reshape(-1)
        def work(b, en):
            score_arcs(codes, e.codes.shape[1], e.sizes, e.starts, sq, self.plan, self.shape, self.upos, self.arcs.weights, self.arc_bits, out, b, en)
        over_ranges(work, (e.sizes ** 2 + 20).tolist(), self.threads)
        return out

    def arc_scores(self, e):
        out = self.flat_scores(e)
        return views(out, e)

    def update(self, e, slopes, rule):
        codes = e.codes.reshape(-1)
        sq = e.squares
        rule.advance()
        t = self.arcs
        def work(b, en):
            for g in range(b, en):
                t.counts[g] = gather_arcs(codes, e.codes.shape[1], e.sizes, e.starts, sq, self.plan, self.shape, self.upos, slopes, self.arc_bits, g, t.gradient, t.touched[g])
                rule.step(g)
        over_ranges(work, [1] * GROUPS, self.threads)

    def arcs_of(self, e, heads):
        rows = np.repeat(e.starts, e.sizes)
        ends = np.cumsum(e.sizes)
        mods = np.arange(ends[-1]) - np.repeat(ends - e.sizes, e.sizes) + 1
        return rows, heads, mods

    def label_scores(self, e, rows, heads, mods):
        out = np.empty((len(heads), len(self.labels.strings)))
        codes = e.codes.reshape(-1)
        def work(b, en):
            score_labels(codes, e.codes.shape[1], rows, heads, mods, self.label_plan.atoms, self.label_plan.with_distance, self.label_table.weights, self.label_bits, self.label_part, out, b, en)
        n = len(heads)
        cuts = np.linspace(0, n, 9).astype(int)
        over_ranges(lambda b, en: work(cuts[b], cuts[en]), [1] * 8, self.threads)
        return out

    def update_labels(self, e, rows, heads, mods, slopes, rule):
        codes = e.codes.reshape(-1)
        rule.advance()
        t = self.label_table
        def work(b, en):
            for g in range(b, en):
                t.counts[g] = gather_labels(codes, e.codes.shape[1], rows, heads, mods, self.label_plan.atoms, self.label_plan.with_distance, slopes, self.label_bits, self.label_part, g, t.gradient, t.touched[g])
                rule.step(g)
        over_ranges(work, [1] * GROUPS, self.threads)


def views(out, e):
    sq = e.squares.tolist()
    return [out[a:b].reshape(n + 1, n + 1) for a, b, n in zip(sq, sq[1:], e.sizes.tolist())]
