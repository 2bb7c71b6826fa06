"""INST and BPM equal the values of the installed cwl_eval to the last digits."""

import peer_libraries
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

import fastndcg as fn

GAINS = st.lists(st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=30)


def theirs(kind, gains, goal, k):
    peer_libraries.library("cwl", "test")
    from cwl.ruler.measures.cwl_bpm import BPMCWLMetric
    from cwl.ruler.measures.cwl_inst import INSTCWLMetric
    from cwl.ruler.ranking import Ranking

    ranking = Ranking("q", gains, [1.0] * len(gains), max_n=1000 if kind == "BPM" else k)
    return (BPMCWLMetric(goal, k) if kind == "BPM" else INSTCWLMetric(goal)).measure(ranking)


@pytest.mark.parametrize("kind", ["INST", "BPM"])
@examples(60)
@given(gains=GAINS, goal=st.sampled_from([0.5, 1, 2, 3.5]), k=st.sampled_from([1, 2, 10, 50, 900]))
def test_cwl_eval(kind, gains, goal, k):
    metric = fn.Metric(kind, k, goal=goal, gain="linear")
    ours = fn.evaluate(gains, range(0, -len(gains), -1), metric, groups=[len(gains)])
    assert ours[metric][0] == pytest.approx(theirs(kind, gains, goal, k), rel=1e-12)


@examples(20)
@given(gains=GAINS)
def test_live_cwl_values_of_long_rankings(gains):
    """INST without k is at most 3 % lower than cwl_eval's value, which ends at rank 1000."""
    ours = fn.evaluate(gains, range(0, -len(gains), -1), "INST(gain=linear)", groups=[len(gains)]).values[0, 0]
    ended = theirs("INST", gains, 1, 1000)
    assert ended * 0.97 <= ours <= ended
