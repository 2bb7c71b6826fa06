"""Frames, records and files with ranks and no scores, and RecTools' names of columns."""

import re

import numpy as np
import pytest

import fastndcg as fn

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
METRICS = "ndcg@10,map,rr,recall"
RECO = pd.DataFrame({"user_id": [2, 1, 1, 2, 1], "item_id": [5, 6, 5, 7, 9], "rank": [2, 1, 2, 1, 3]})
LIKED = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [5, 9, 5], "weight": [1.0, 3.0, 2.0], "datetime": [0, 0, 0]})
SCORED = RECO.assign(score=-RECO["rank"]).drop(columns="rank")
EXPECTED = fn.evaluate(LIKED.rename(columns={"weight": "label"}), SCORED, METRICS).to_dict()


def test_ranks_and_weights_of_rectools(tmp_path):
    assert fn.evaluate(LIKED, RECO, METRICS).to_dict() == EXPECTED
    assert fn.evaluate(LIKED.to_dict("records"), RECO.to_dict("records"), METRICS).to_dict() == EXPECTED
    assert fn.evaluate(LIKED, RECO.rename(columns={"rank": "place"}), METRICS, columns={"rank": "place"}).to_dict() == (
        EXPECTED
    )
    RECO.to_parquet(tmp_path / "reco.parquet")
    assert fn.evaluate(LIKED, tmp_path / "reco.parquet", METRICS).to_dict() == EXPECTED
    texts = {"user_id": str, "item_id": str}
    RECO.to_csv(tmp_path / "reco.csv", index=False)
    RECO.astype(texts).to_json(tmp_path / "reco.jsonl", orient="records", lines=True)
    expected = {str(user): values for user, values in EXPECTED.items()}
    for name in ("reco.csv", "reco.jsonl"):
        assert fn.evaluate(LIKED.astype(texts), tmp_path / name, METRICS).to_dict() == expected


def test_ranks_and_weights_count_where_there_is_nothing_else():
    both = RECO.assign(score=[9.0, 1.0, 3.0, 8.0, 2.0])
    expected = fn.evaluate(LIKED, both.drop(columns="rank"), METRICS).to_dict()
    assert fn.evaluate(LIKED, both, METRICS).to_dict() == expected != EXPECTED
    assert fn.evaluate(LIKED, both, METRICS, columns={"rank": "rank"}).to_dict() == EXPECTED
    assert fn.evaluate(LIKED, both, METRICS, columns={"rank": "rank", "score": "score"}).to_dict() == expected
    both = LIKED.assign(rating=[1, 0, 1])
    expected = fn.evaluate(LIKED.drop(columns="weight").assign(rating=[1, 0, 1]), RECO, METRICS).to_dict()
    assert fn.evaluate(both, RECO, METRICS).to_dict() == expected
    assert fn.evaluate(both, RECO, METRICS, columns={"label": "weight"}).to_dict() == EXPECTED
    with pytest.raises(fn.InvalidInputError, match="none is 'place', named for rank"):
        fn.evaluate(LIKED, SCORED, "rr", columns={"rank": "place"})


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ([2, 1, 2, 2, 3], "the run: ranks must differ in a query, but document 5 of query 2 (row 0) and document 7 of "
         "query 2 (row 3) both have rank 2. For ranks with ties or gaps give a column of scores, such as -rank"),
        ([2, 1, 2, 1, 4], "the run: ranks must be 1, 2, 3 and so on in each query, but document 9 of query 1 (row 4) "
         "has rank 4, and its query has 3 documents. For ranks with ties or gaps give"),
        ([1, 0, 1, 0, 2], "the run: rank must be a whole number from 1 on, but that of document 6 of query 1 (row 1) "
         "is 0. Add 1 to all ranks"),
        ([1, 1.5, 1, 2, 2], "is 1.5. Correct it, or give a column of scores"),
        ([1, np.nan, 1, 2, 2], "is nan. Correct it"),
        ([1, np.inf, 1, 2, 2], "is inf. Correct it"),
        ([-1, -1, -2, -2, -3], "(row 0) is -1. Correct it"),
        (list("abcde"), "column 'rank' of `run` must hold numbers, but its type is"),
    ],
)  # fmt: skip
def test_ranks_with_ties_or_gaps_raise_an_error(ranks, message):
    with pytest.raises(fn.InvalidInputError, match=re.escape(message)):
        fn.evaluate(LIKED, RECO.assign(rank=ranks), "rr")
