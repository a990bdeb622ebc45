from __future__ import annotations

import numpy as np
import pytest
from drawn_frames import own_hits, own_settings, ranking, texts, ticks

from nousmem.errors import InvalidParameter
from nousmem.retrieval.settings import Settings
from nousmem.scoring import Scoring
from nousmem.viz import plots


def test_the_bars_are_the_contributions_and_what_decay_took():
    scoring = Scoring(decay_lambda=0.001, w_recency=0.2)
    frame = ranking(scoring)
    ax = plots.score_parts(frame, scoring=scoring)
    widths = [[bar.get_width() for bar in bars] for bars in ax.containers]
    np.testing.assert_allclose(np.sum(widths[:3], axis=0), frame["score"])
    np.testing.assert_allclose(widths[0], 0.5 * frame["relevance"] * frame["decay"])
    np.testing.assert_allclose(widths[3], 0.5 * frame["relevance"] * (1 - frame["decay"]))
    starts = [bar.get_x() for bar in ax.containers[3]]
    np.testing.assert_allclose(starts, frame["score"])
    assert [bars.get_label() for bars in ax.containers] == [
        "relevance left by decay",
        "importance",
        "recency",
        "lost to decay",
    ]
    assert len({bars[0].get_hatch() for bars in ax.containers}) == 4
    assert ax.get_xlabel() == "score = 0.5 · relevance · decay + 0.3 · importance + 0.2 · recency"


def test_rank_one_is_at_the_top_whatever_the_order_of_the_rows():
    frame = ranking(Scoring())
    ax = plots.score_parts(frame.sort_values("rank", ascending=False))
    assert ax.yaxis_inverted()
    labels = ticks(ax.yaxis)
    assert [label.split()[-1] for label in labels] == ["1", "2", "3", "4"]
    assert labels[0].startswith(frame["content"].iloc[0])


def test_terms_that_weigh_nothing_and_decay_that_took_nothing_are_left_out():
    scoring = Scoring(decay_lambda=0, w_recency=0)
    ax = plots.score_parts(ranking(scoring), scoring=scoring)
    assert len(ax.containers) == 2


def test_what_updates_took_and_took_over_stands_apart():
    scoring = Scoring(decay_lambda=0.001, w_recency=0)
    frame = ranking(scoring)
    fresh = np.array([1.25, 0.8, 1, 1])
    kept = frame["relevance"] * frame["decay"]
    frame = frame.assign(freshness=fresh, score=frame["score"] + 0.5 * kept * (fresh - 1))
    ax = plots.score_parts(frame, scoring=scoring)
    bars = {bar.get_label(): [part.get_width() for part in bar] for bar in ax.containers}
    assert list(bars) == [
        *("relevance left by decay", "taken over from outdated", "importance"),
        *("lost to decay", "lost to an update"),
    ]
    np.testing.assert_allclose(bars["taken over from outdated"], 0.5 * kept * [0.25, 0, 0, 0])
    np.testing.assert_allclose(
        bars["lost to an update"], 0.5 * frame["relevance"] * [0, 0.2, 0, 0], atol=1e-12
    )
    in_score = np.sum(list(bars.values())[:3], axis=0)
    np.testing.assert_allclose(in_score, frame["score"])
    assert "relevance · freshness · decay" in ax.get_xlabel()


def test_relevant_memories_carry_a_star():
    ax = plots.score_parts(ranking(Scoring()), relevant=["m2", "elsewhere"])
    assert [label for label in ticks(ax.yaxis) if "★" in label] == [
        label for label in ticks(ax.yaxis) if "number 2" in label
    ]
    assert "★ relevant: 1 of 2 in these 4 hits" in texts(ax)


def test_score_and_age_stand_beside_the_bars():
    frame = ranking(Scoring())
    written = texts(plots.score_parts(frame))
    assert f"{frame['score'].iloc[0]:.3f}".removeprefix("0") in written
    assert "83.3 d" in written
    assert "age" not in texts(plots.score_parts(frame.drop(columns="age_hours")))


def test_contents_are_literal_short_and_on_one_line():
    contents = ["costs $5 or $6", "a\nb", "long " * 30, "\U000f0000" * 5]
    ax = plots.score_parts(ranking(Scoring(), contents=contents))
    labels = ticks(ax.yaxis)
    assert any(label.startswith("costs $5 or $6  ") for label in labels)
    assert any(label.startswith("a b  ") for label in labels)
    assert any("…" in label for label in labels)
    assert any(label.startswith("[m3]") for label in labels)
    assert max(map(len, labels)) < 52
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())


def test_a_negative_weight_builds_to_the_left():
    weights = (0.5, 0.3, -0.2)
    scoring = Scoring(w_recency=-0.2)
    ax = plots.score_parts(ranking(scoring), weights=weights)
    assert all(bar.get_width() <= 0 and bar.get_x() == 0 for bar in ax.containers[2])
    assert ax.get_xlabel().endswith("+ 0.3 · importance − 0.2 · recency")


def test_weights_that_do_not_give_the_scores_are_refused():
    frame = ranking(Scoring(decay_lambda=0, w_recency=0.4))
    with pytest.raises(InvalidParameter, match="the Scoring that the search ran with"):
        plots.score_parts(frame)
    with pytest.raises(InvalidParameter, match="not both"):
        plots.score_parts(frame, scoring=Scoring(), weights=(1, 0, 0))
    with pytest.raises(InvalidParameter, match="three finite numbers"):
        plots.score_parts(frame, weights=(1, 0))
    with pytest.raises(InvalidParameter, match="several doc_ids"):
        plots.score_parts(ranking(Scoring()), relevant="m1")


def test_no_hits_is_said():
    assert texts(plots.score_parts(ranking(Scoring()).head(0))) == ["no hits"]


def widths(ax):
    return {bars.get_label(): [bar.get_width() for bar in bars] for bars in ax.containers}


def test_every_addend_is_a_part_of_its_own_whoever_made_the_term():
    settings = own_settings()
    hits = own_hits(settings)
    frame = hits.to_frame()
    assert "shouting_rank" in frame.columns
    ax = plots.score_parts(hits)
    drawn = widths(ax)
    assert list(drawn) == [
        *("relevance left by decay", "brevity left by decay", "importance", "recency"),
        *("frequency", "lost to decay"),
    ]
    rows = [hits.candidates.ids.index(doc_id) for doc_id in frame["doc_id"]]
    names = {"relevance": "relevance left by decay", "brevity": "brevity left by decay"}
    for part in hits.parts.addends:
        expected = part.weight * part.value[rows]
        np.testing.assert_allclose(
            drawn[names.get(part.term, part.term)], expected, atol=1e-12, err_msg=part.term
        )
    np.testing.assert_allclose(np.sum(list(drawn.values())[:-1], axis=0), frame["score"])
    looks = {(bars[0].get_facecolor(), bars[0].get_hatch()) for bars in ax.containers}
    assert len(looks) == len({bars[0].get_hatch() for bars in ax.containers}) == len(drawn)
    assert " ".join(ax.get_xlabel().split()) == (
        "score = 0.5 · (relevance + 0.4 · brevity) · decay + 0.3 · importance + 0.1 · recency "
        "+ 0.2 · frequency"
    )


def test_a_frame_of_hits_is_drawn_as_the_hits_are_with_their_settings():
    settings = own_settings()
    hits = own_hits(settings)
    by_frame = plots.score_parts(hits.to_frame(), scoring=settings)
    assert widths(by_frame) == widths(plots.score_parts(hits))


def test_a_scoring_alone_will_do_where_no_term_decays():
    settings = own_settings(w_brevity=0)
    hits = own_hits(settings)
    drawn = widths(plots.score_parts(hits.to_frame(), scoring=settings.scoring))
    assert "frequency" in drawn
    assert "shouting" not in drawn
    assert drawn == widths(plots.score_parts(hits))
    # A Scoring does not say that age takes from brevity.
    settings = own_settings()
    with pytest.raises(InvalidParameter, match=r"hits\.settings where terms of your own decay"):
        plots.score_parts(own_hits(settings).to_frame(), scoring=settings.scoring)


def test_what_an_update_took_over_is_no_part_of_a_term():
    settings = own_settings()
    frame = own_hits(settings).to_frame()
    fresh = np.array([1.25, 0.8, 1, 1])
    score = frame["score"] + 0.5 * frame["relevance"] * frame["decay"] * (fresh - 1)
    frame = frame.assign(freshness=fresh, score=score)
    drawn = widths(plots.score_parts(frame, scoring=settings))
    kept = frame["relevance"] * frame["decay"]
    np.testing.assert_allclose(drawn["taken over from outdated"], 0.5 * kept * [0.25, 0, 0, 0])
    in_score = np.sum([drawn[name] for name in drawn if not name.startswith("lost")], axis=0)
    np.testing.assert_allclose(in_score, frame["score"])


def test_settings_stand_for_their_scoring_and_nothing_else_does():
    scoring = Scoring(decay_lambda=0, w_recency=0.4)
    frame = ranking(scoring)
    drawn = widths(plots.score_parts(frame, scoring=Settings(scoring=scoring)))
    assert drawn == widths(plots.score_parts(frame, scoring=scoring))
    with pytest.raises(InvalidParameter, match="a Scoring or Settings, got 'tuned'"):
        plots.score_parts(frame, scoring="tuned")
