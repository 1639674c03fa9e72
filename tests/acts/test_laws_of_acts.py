"""The laws of acts, over random sequences of them, with a save and a load in the middle of each sequence.

`pytest -m slow tests/acts` tries 1,000 sequences.
"""

import tempfile

import numpy as np
import pytest
from by_hand import fitted_by_hand
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from newfound.acts import perform
from newfound.classes import NO_CLASS, Classes, Decision
from newfound.saved import load_fitted, save_fitted

TEXTS = st.sampled_from(["fox", "emu", " elk ", "ape", "Ω-3", "a=b", "new-99", "5"])
NUMBERS = st.integers(0, 40)
PARTS = ("names", "ids", "is_new", "is_named", "component_class", "component_is_new")


def equal(one, other):
    """To the last digit. (NumPy's own check takes ten times as long, and most of the time here.)"""
    assert np.array_equal(one, other), (one, other)


def close(one, other):
    assert np.allclose(one, other, rtol=0, atol=1e-9), (one, other)


def same(one, other):
    """Whether two models say the same, to the last digit, of classes and rows."""
    for part in PARTS:
        equal(getattr(one.classes, part), getattr(other.classes, part))
    for part in ("labels", "row_is_sure"):
        equal(getattr(one, part), getattr(other, part))
    assert one.classes.next_new == other.classes.next_new
    assert one.n_new_range == other.n_new_range


def saved_and_loaded(fitted):
    with tempfile.TemporaryDirectory() as folder:
        save_fitted(fitted, {}, folder)
        return load_fitted(folder)[0]


class ActsMachine(RuleBasedStateMachine):
    """A person who acts at random on a model of random probabilities."""

    @initialize(
        kind=st.sampled_from(["text", "numbers"]),
        n_known=st.integers(0, 3),
        n_fragments=st.integers(1, 7),
        n_new=st.integers(1, 7),
        has_tree=st.sampled_from([True, True, True, False]),
        seed=st.integers(0, 10_000),
    )
    def begin(self, kind, n_known, n_fragments, n_new, has_tree, seed):
        self.first = fitted_by_hand(kind, n_known, n_fragments, min(n_new, n_fragments), seed, has_tree=has_tree)
        self.states, self.acts = [self.first], []  # each state, and the act that led to the next
        self.q = np.random.default_rng(seed + 1).dirichlet(np.full(self.classes.n_components, 0.3), 40)
        self.q[:3] = np.eye(self.classes.n_components)[np.arange(3) % self.classes.n_components]  # leaves no other
        self.seen = set(map(str, self.classes.ids))
        self.n_done = 0

    @property
    def fitted(self):
        return self.states[-1]

    @property
    def classes(self) -> Classes:
        return self.fitted.classes

    def act(self, name, **arguments):
        """What holds of every act; what every other one leaves is written to disk and read, to go on from there."""
        before = self.fitted
        after, sentence = perform(before, name, arguments)
        assert sentence.endswith(".")
        self.n_done += 1
        self.states.append(saved_and_loaded(after) if self.n_done % 2 else after)
        self.acts.append((name, arguments))
        same(self.fitted, after)
        for one, other in zip(self.classes.answer(self.q), after.classes.answer(self.q), strict=True):
            equal(one, other)
        self.ids_are_never_reused(before.classes)
        if name != "rename":
            self.names_stay_with_their_ids(before.classes)
            assert self.fitted.n_new_range == (self.classes.is_new.sum(),) * 2
        return before.classes

    def ids_are_never_reused(self, before):
        fresh = set(map(str, self.classes.ids)) - set(map(str, before.ids))
        assert not fresh & self.seen
        self.seen |= fresh

    def names_stay_with_their_ids(self, before):
        was, now = self.described(before), self.described(self.classes)
        assert all(now[i] == was[i] for i in now if i in was)

    @staticmethod
    def described(classes):
        of = zip(classes.names, classes.is_named, classes.is_new, strict=True)
        return dict(zip(classes.ids.tolist(), of, strict=True))

    def refused(self, name, **arguments):
        before = self.fitted
        with pytest.raises(ValueError, match=r"\.$|\.\"$"):
            perform(before, name, arguments)
        same(self.fitted, before)

    def any_class(self, data, *, is_new=None, but=()):
        which = [i for i in range(len(self.classes)) if is_new in (None, bool(self.classes.is_new[i])) and i not in but]
        return data.draw(st.sampled_from(which)) if which else None

    def given(self, data, i):
        """A class by its name or by its id."""
        return data.draw(st.sampled_from([self.classes.names[i].item(), self.classes.ids[i].item()]))

    # ---- acts --------------------------------------------------------------------------------------------------------

    @rule(data=st.data())
    def rename(self, data):
        i = self.any_class(data)
        name = data.draw(NUMBERS if self.classes.names.dtype.kind == "i" else TEXTS)
        old, classes = self.given(data, i), self.classes
        others = {str(other) for other in np.delete(classes.names, i)}
        ids = set(self.seen) - {str(classes.ids[i])}
        if str(name).strip() in others | ids:
            self.refused("rename", names=[[old, name]])
            return
        if self._was_skipped(name, i):
            return
        before = self.act("rename", names=[[old, name]])
        expected = [*before.names.tolist()]
        expected[i] = name.strip() if isinstance(name, str) else name
        assert self.classes.names.tolist() == expected
        assert self.classes.is_named[i]
        equal(self.classes.component_class, before.component_class)
        assert self.fitted.n_new_range == self.states[-2].n_new_range

    def _was_skipped(self, name, i):
        """A number below the next one that was no id, because a class was called so: it may be refused, too."""
        text = str(name).strip().removeprefix("new-")
        return text.isdecimal() and int(text) < self.classes.next_new and str(name) != str(self.classes.ids[i])

    @precondition(lambda self: len(self.classes) > 1)
    @rule(data=st.data(), n=st.integers(2, 4), goes_into=st.booleans())
    def merge(self, data, n, goes_into):
        """Rows of other classes keep their class and its probability, to the last digit."""
        chosen = [self.any_class(data)]
        while len(chosen) < min(n, len(self.classes)):
            is_new = True if not self.classes.is_new[chosen].all() else None  # no two known ones
            if (more := self.any_class(data, is_new=is_new, but=chosen)) is None:
                break
            chosen.append(more)
        known = [i for i in chosen if not self.classes.is_new[i]]
        if len(chosen) < 2:
            self.refused("merge", classes=[self.given(data, i) for i in chosen])
            return
        into = None
        if goes_into:
            into = self.given(data, known[0] if known else chosen[-1])
        one = self.classes.answer(self.q)
        sure, rows = self.fitted.row_is_sure, self.fitted.row_classes
        before = self.act("merge", classes=[self.given(data, i) for i in chosen], into=into)
        other = self.classes.answer(self.q)
        self.check_heir(before, chosen, known, into)
        stays = ~np.isin(one.position, chosen)
        equal(self.classes.ids[other.position[stays]], before.ids[one.position[stays]])
        equal(other.probability[stays], one.probability[stays])
        equal(other.component, one.component)
        assert len(set(other.position[~stays])) <= 1
        assert (other.probability[~stays] >= one.probability[~stays] - 1e-12).all()
        if not known:
            equal(other.p_new, one.p_new)
        stays = ~np.isin(rows, chosen)
        equal(self.fitted.row_is_sure[stays], sure[stays])
        equal(self.classes.ids[self.fitted.row_classes[stays]], before.ids[rows[stays]])
        assert len(set(self.fitted.row_classes[~stays])) <= 1

    def check_heir(self, before, chosen, known, into):
        sizes = self.fitted.component_rows
        size = {i: sizes[before.components(i)].sum() for i in chosen}
        named = [i for i in chosen if before.is_named[i]] or chosen
        if into is not None:
            heirs = [before.position(into)]
        else:
            heirs = known or [i for i in named if size[i] == max(size[j] for j in named)]
        left = [i for i in chosen if before.ids[i] in self.classes.ids]
        assert len(left) == 1
        assert left[0] in heirs

    @precondition(lambda self: (~self.classes.is_new).sum() > 1)
    @rule(data=st.data())
    def merge_known_classes(self, data):
        first = self.any_class(data, is_new=False)
        second = self.any_class(data, is_new=False, but=[first])
        self.refused("merge", classes=[self.given(data, first), self.given(data, second)])

    @rule(data=st.data())
    def split(self, data):
        """The larger part keeps id and name; a merge of both parts restores what was."""
        i = self.any_class(data)
        own = self.classes.components(i)
        if len(own) < 2:
            self.refused("split", class_name=self.given(data, i))
            return
        was = self.fitted
        before = self.act("split", class_name=self.given(data, i))
        assert len(self.classes) == len(before) + 1
        kept, fresh = self.classes.position(before.ids[i]), self.fresh_since(before)
        rows = self.fitted.component_rows
        if before.is_new[i]:
            assert rows[self.classes.components(kept)].sum() >= rows[self.classes.components(fresh)].sum()
        assert set(self.classes.components(kept)) | set(self.classes.components(fresh)) == set(own)
        back, _ = perform(self.fitted, "merge", {"classes": [before.ids[i].item(), self.classes.ids[fresh].item()]})
        for part in PARTS:
            equal(getattr(back.classes, part), getattr(was.classes, part))
        equal(back.labels, was.labels)
        equal(back.row_is_sure, was.row_is_sure)

    def fresh_since(self, before):
        """The position of the one class that has an id which was not there."""
        (fresh,) = np.flatnonzero(~np.isin(self.classes.ids, before.ids))
        return int(fresh)

    @rule(n_new=st.integers(1, 8))
    def cut(self, n_new):
        """Classes of the same components keep their ids; known and discarded ones are left alone."""
        n_most = len(self.classes.new_components)
        if self.fitted.tree is None or n_new > n_most:
            self.refused("cut", n_new=n_new)
            return
        before = self.act("cut", n_new=n_new)
        assert self.classes.is_new.sum() == n_new
        equal(self.classes.is_kept, before.is_kept)
        fixed = ~before.is_of_new_class
        ids = np.append(before.ids.astype(str), "")[before.component_class]
        now = np.append(self.classes.ids.astype(str), "")[self.classes.component_class]
        equal(ids[fixed], now[fixed])
        for i in np.flatnonzero(self.classes.is_new):
            own = self.classes.components(i)
            if len(set(ids[own])) == 1 and (ids == ids[own[0]]).sum() == len(own):
                assert str(self.classes.ids[i]) == ids[own[0]]

    @rule(data=st.data())
    def discard(self, data):
        """Rows of other classes keep their class; its own take one that remains, and are not sure."""
        i = self.any_class(data)
        if not self.classes.is_new[i] or len(self.classes) == 1:
            self.refused("discard", class_name=self.given(data, i))
            return
        rows = self.fitted.row_classes
        lost = np.isin(self.fitted.row_components, self.classes.components(i))
        before = self.act("discard", class_name=self.given(data, i))
        assert before.ids[i] not in self.classes.ids
        is_other = rows != i
        still = self.classes.component_class[self.fitted.row_components] != NO_CLASS
        equal(self.classes.ids[self.fitted.row_classes[is_other & still]], before.ids[rows[is_other & still]])
        assert not self.fitted.row_is_sure[lost].any()

    @precondition(lambda self: self.acts)
    @rule()
    def undo(self):
        """What a replay of all acts but the last gives is what was before it."""
        self.acts.pop()
        self.states.pop()
        same(self.replayed(), self.fitted)
        self.seen = {str(i) for state in self.states for i in state.classes.ids}

    def replayed(self):
        fitted = self.first
        for name, arguments in self.acts:
            fitted, _ = perform(fitted, name, arguments)
        return fitted

    # ---- what always holds -------------------------------------------------------------------------------------------

    @invariant()
    def classes_are_whole(self):
        classes = self.classes
        assert len(set(classes.names.tolist())) == len(set(classes.ids.tolist())) == len(classes)
        assert set(classes.component_class) - {NO_CLASS} == set(range(len(classes)))
        assert not (np.diff(classes.is_new.astype(int)) < 0).any()  # known classes come first
        equal(classes.ids[~classes.is_new], self.first.classes.known)

    @invariant()
    def the_order_of_classes_is_that_of_their_sizes(self):
        """And so by no act that was done before."""
        tree, new = self.fitted.tree, [self.classes.components(i) for i in np.flatnonzero(self.classes.is_new)]
        first = self.classes.n_components - (0 if tree is None else tree.n_fragments)
        places = [(0 if tree is None else -tree.sizes[own - first].sum(), own.min()) for own in new]
        assert places == sorted(places)

    @invariant()
    def answers_are_of_these_classes(self):
        classes, answer = self.classes, self.classes.answer(self.q)
        probabilities = classes.probabilities(self.q)
        close(probabilities.sum(axis=1), 1)
        for i in range(len(classes)):  # slowly
            total = self.q[:, classes.is_kept].sum(axis=1)
            expected = self.q[:, classes.components(i)].sum(axis=1) / np.where(total > 0, total, np.nan)
            is_there = np.isfinite(expected)
            close(probabilities[is_there, i], expected[is_there])
        equal(classes.component_class[answer.component], answer.position)
        assert set(classes.named(answer).tolist()) <= set(classes.names.tolist())
        equal(answer.probability, probabilities[np.arange(len(self.q)), answer.position])
        close(answer.p_new, probabilities[:, classes.is_new].sum(axis=1))

    @invariant()
    def decisions_hold(self):
        classes, usual = self.classes, self.classes.answer(self.q)
        if classes.n_known:
            forced = classes.answer(self.q, Decision(known_only=True))
            assert not classes.is_new[forced.position].any()
            kept = ~classes.is_new[usual.position]
            equal(forced.position[kept], usual.position[kept])
        if classes.n_known and classes.is_new.any():
            moved = classes.answer(self.q, Decision(new_threshold=0.3))
            equal(classes.is_new[moved.position], moved.p_new > 0.3)

    @invariant()
    def rows_fitted_on_have_one_of_these_classes(self):
        fitted = self.fitted
        assert set(fitted.labels.tolist()) <= set(self.classes.names.tolist())
        labelled = fitted.row_is_labelled
        ids = self.classes.ids[fitted.row_classes[labelled]]
        equal(ids, self.first.classes.ids[fitted.row_components[labelled]])
        assert fitted.row_is_sure[labelled].all()
        evidence = fitted.class_evidence
        assert evidence is None or len(evidence.n_rows) == self.classes.is_new.sum()


TestActs = ActsMachine.TestCase
TestActs.settings = settings(max_examples=30, stateful_step_count=12, deadline=None)


@pytest.mark.slow
def test_a_thousand_sequences():
    """Of eight steps or more; those without an act that was done, saved and loaded do not count."""
    n_done = []

    class Counted(ActsMachine):
        def teardown(self):
            n_done.append(self.n_done)

    of_steps = settings(max_examples=1100, stateful_step_count=12, deadline=None)
    run_state_machine_as_test(Counted, settings=of_steps, _min_steps=8)
    assert np.count_nonzero(n_done) >= 1000
    print(f"{np.count_nonzero(n_done):,} sequences, {sum(n_done):,} acts")
