"""Laws of what goes in: infeasible scores, untouched inputs, batches, padding, threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from crossarc import InfeasibleError, Tree
from support.law_base import LawBase, assert_close, key_of, law
from support.score_strategies import EVERY_KIND, NORMAL, SINGLE_PRECISION, Case, cases

#: Everything that is asked of one distribution alone; an iterator becomes a list.
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "marginals": lambda d: d.marginals(),
    "log_marginals": lambda d: d.log_marginals(),
    "argmax": lambda d: d.argmax(),
    "kbest": lambda d: d.kbest(4),
    "within": lambda d: d.within(1.0),
    "entropy": lambda d: d.entropy(),
    "min_risk": lambda d: d.min_risk(),
    "max_marginals": lambda d: d.max_marginals(),
    "entropy_drop": lambda d: d.entropy_drop(),
    "mutual_information": lambda d: d.mutual_information(),
}

#: The same for draws, which differ between the sentences of a batch.
DRAWS: dict[str, Callable[[Any], Any]] = {
    "sample": lambda d: d.sample(3, seed=1),
    "sample without replacement": lambda d: d.sample(3, seed=1, replace=False),
}


def plain(answer: Any) -> Any:
    """An answer as something that compares bit by bit."""
    if isinstance(answer, np.ndarray):
        return answer.shape, answer.tobytes()
    if isinstance(answer, Tree):
        return key_of(answer), answer.score
    if isinstance(answer, float | int):
        return float(answer).hex()
    return [plain(item) for item in answer]


class InputLaws(LawBase):
    @law(examples=40)
    def test_infeasible_scores(self, data: st.DataObject) -> None:
        case = self.case(data)
        scores = case.scores.copy()
        lonely = data.draw(st.integers(1, case.n))
        scores[:, lonely] = -np.inf
        self._assert_infeasible(scores, case.root)

    def test_cycles_that_the_root_cannot_enter_are_infeasible(self) -> None:
        scores = np.full((5, 5), -np.inf)
        scores[[0, 1, 3, 4], [1, 2, 4, 3]] = 0.0
        for root in ("single", "multi"):
            self._assert_infeasible(scores, root)

    def test_two_words_that_only_the_root_can_head_are_infeasible_with_one_root(self) -> None:
        scores = np.full((4, 4), -np.inf)
        scores[[0, 0, 1], [1, 3, 2]] = 0.0
        self._assert_infeasible(scores, "single")
        assert self.distribution(scores, "multi").log_partition() == 0.0

    def test_a_batch_without_sentences_has_empty_answers(self) -> None:
        nobody = self.distribution([])
        assert nobody.log_partition() == []
        for ask in (QUESTIONS | DRAWS).values():
            assert ask(nobody) == []

    def _assert_infeasible(self, scores: Any, root: str) -> None:
        distribution = self.distribution(scores, root)
        assert distribution.log_partition() == -np.inf
        tree = Tree(range(len(scores) - 1))
        questions = {
            **QUESTIONS,
            **DRAWS,
            "log_prob": lambda d: d.log_prob(tree),
            "log_prob of heads": lambda d: d.log_prob(heads={1: 0}),
            "joint": lambda d: d.joint((0, 1), (0, 1)),
            "conditional": lambda d: d.conditional((0, 1), (0, 1)),
            "kl": lambda d: d.kl(d),
            "cross_entropy": lambda d: d.cross_entropy(d),
            "expected_attachment": lambda d: d.expected_attachment(tree),
        }
        for name, ask in questions.items():
            with pytest.raises(InfeasibleError) as caught:
                plain(ask(distribution))
            assert len(str(caught.value).splitlines()) == 1, name

    @law(examples=40)
    def test_inputs_are_not_modified(self, data: st.DataObject) -> None:
        _, _, case = self.feasible_case(data)
        before = case.scores.copy()
        case.scores.flags.writeable = False
        distribution = self.distribution(case.scores, case.root)
        distribution.log_partition()
        for ask in (*QUESTIONS.values(), *DRAWS.values()):
            plain(ask(distribution))
        assert case.scores.tobytes() == before.tobytes()

    @law(examples=30)
    def test_answers_do_not_follow_later_changes(self, data: st.DataObject) -> None:
        """What a distribution says first and last agrees, whatever the caller does with arrays."""
        _, truth, case = self.feasible_case(data, (NORMAL,))
        distribution = self.distribution(case.scores, case.root)
        marginals = distribution.marginals()
        first = marginals.copy()
        if marginals.flags.writeable:
            marginals[:] = -1.0
        np.testing.assert_array_equal(distribution.marginals(), first)
        assert_close(distribution.log_partition(), truth.log_partition(), 1e-12)

    @law(examples=40)
    def test_the_order_in_memory_does_not_matter(self, data: st.DataObject) -> None:
        _, _, case = self.feasible_case(data)
        original = self.distribution(case.scores, case.root)
        strided = np.repeat(case.scores, 2, axis=0)[::2]
        for scores in (np.asfortranarray(case.scores), strided):
            other = self.distribution(scores, case.root)
            for name, ask in {**QUESTIONS, **DRAWS}.items():
                assert plain(ask(other)) == plain(ask(original)), name

    @law(examples=30)
    def test_single_precision_is_widened_first(self, data: st.DataObject) -> None:
        _, _, case = self.feasible_case(data, (SINGLE_PRECISION,))
        narrow = self.distribution(case.scores, case.root)
        wide = self.distribution(case.scores.astype(np.float64), case.root)
        for name, ask in QUESTIONS.items():
            assert plain(ask(narrow)) == plain(ask(wide)), name

    def _batch(self, data: st.DataObject) -> tuple[list[Case], str]:
        """Feasible sentences of several lengths, all labelled alike."""
        labelled = self.takes_labels and data.draw(st.booleans())
        drawn = data.draw(st.lists(cases(EVERY_KIND, 4, 3, labels=False), min_size=1, max_size=4))
        root = data.draw(st.sampled_from(["single", "multi"]))
        batch = []
        for case in drawn:
            scores = np.stack([case.scores, case.scores + 0.5], axis=2) if labelled else case.scores
            if self.enumerate(scores, root).feasible:
                batch.append(Case(scores, root, case.kind))
        return batch, root

    @law(examples=25)
    def test_a_batch_is_its_sentences_one_by_one(self, data: st.DataObject) -> None:
        batch, root = self._batch(data)
        arrays = [case.scores for case in batch]
        alone = [self.distribution(scores, root) for scores in arrays]
        for threads in (None, 1, 2):
            together = self.distribution(arrays, root, threads=threads)
            for name, ask in {"log_partition": lambda d: d.log_partition(), **QUESTIONS}.items():
                answers = ask(together)
                assert isinstance(answers, list), name
                assert plain(answers) == [plain(ask(one)) for one in alone], name

    @law(examples=25)
    def test_padded_arrays_with_lengths(self, data: st.DataObject) -> None:
        batch, root = self._batch(data)
        if not batch:
            return
        arrays = [case.scores.astype(np.float64) for case in batch]
        lengths = [len(scores) - 1 for scores in arrays]
        size = max(lengths) + 1
        padded = np.full((len(arrays), size, size, *arrays[0].shape[2:]), np.nan)
        for place, scores in enumerate(arrays):
            padded[place, : len(scores), : len(scores)] = scores
        together = self.distribution(padded, root, lengths=lengths)
        apart = self.distribution(arrays, root)
        assert together.log_partition() == apart.log_partition()
        assert plain(together.argmax()) == plain(apart.argmax())
        assert plain(together.kbest(3)) == plain(apart.kbest(3))
        for wide, narrow in zip(together.marginals(), apart.marginals(), strict=True):
            words = len(narrow)
            np.testing.assert_array_equal(wide[:words, :words], narrow)
            assert np.count_nonzero(wide) == np.count_nonzero(narrow)

    def test_an_error_in_a_batch_names_the_sentence(self) -> None:
        bad = np.zeros((3, 3))
        bad[:, 2] = -np.inf
        batch = self.distribution([np.zeros((4, 4)), np.zeros((2, 2)), bad])
        assert batch.log_partition()[2] == -np.inf
        with pytest.raises(InfeasibleError, match=r"\b2\b"):
            batch.marginals()
