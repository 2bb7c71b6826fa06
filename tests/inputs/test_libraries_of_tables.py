"""Data sets of Hugging Face and frames of Dask: the rows that they show, splits, and columns of other types."""

import numpy as np
import pytest

import fastndcg as fn

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
ROWS = pd.DataFrame(
    {
        "query_id": ["q1", "q1", "q2", "q2", "q3", "q3"],
        "doc_id": ["a", "b", "a", "b", "a", "b"],
        "label": [1, 0, 0, 1, 0, 1],
        "score": [2.0, 1.0, 2.0, 1.0, 1.0, 2.0],
    }
)


class TestHuggingFace:
    """Data sets of Hugging Face."""

    @pytest.fixture
    def rows(self):
        """Return a Dataset of three queries."""
        datasets = pytest.importorskip("datasets")
        return datasets.Dataset.from_pandas(ROWS)

    def test_filters_and_selections_hold(self, rows):
        """Filtered and selected rows are evaluated, of which the table behind them knows nothing."""
        left = rows.select([0, 1, 4, 5])
        assert left.data.table.num_rows == len(ROWS)
        expected = {"q1": {"RR": 1.0}, "q3": {"RR": 1.0}}
        assert fn.evaluate(left, metrics="rr").to_dict() == expected
        assert fn.evaluate(rows.filter(lambda row: row["query_id"] != "q2"), metrics="rr").to_dict() == expected

    def test_order_of_shuffled_rows_holds(self, rows):
        """Rows of a shuffled data set count in its order, as qrels, as a run, and with scores."""
        shuffled = rows.shuffle(seed=3)
        frame = shuffled.to_pandas()
        for memory in (None, "4kB"):
            result = fn.evaluate(shuffled, metrics="ndcg,rr", memory=memory)
            expected = fn.evaluate(frame, metrics="ndcg,rr")
            assert result.values.tobytes() == expected.values.tobytes()
            assert result.query_ids.tolist() == expected.query_ids.tolist()
        qrels = shuffled.remove_columns("score")
        run = shuffled.remove_columns("label")
        assert fn.evaluate(qrels, run, "rr").to_dict() == fn.evaluate(frame, metrics="rr").to_dict()

    def test_formats_do_not_matter(self, rows):
        """A data set that shows NumPy's arrays, or some of its columns, has all its columns."""
        expected = fn.evaluate(ROWS, metrics="rr").to_dict()
        assert fn.evaluate(rows.with_format("numpy"), metrics="rr").to_dict() == expected
        assert fn.evaluate(rows.with_format("pandas", columns=["label"]), metrics="rr").to_dict() == expected

    def test_dicts_of_splits_raise(self, rows):
        """A dict of splits raises an error that names them, as truth and as a run."""
        datasets = pytest.importorskip("datasets")
        for kind, split in ((datasets.DatasetDict, rows), (datasets.IterableDatasetDict, rows.to_iterable_dataset())):
            splits = kind({"train": split, "test": split})
            message = f"`truth` must be one split, but is a {kind.__name__} of 'train', 'test'. Pass one: dataset"
            with pytest.raises(fn.InvalidTypeError, match=message):
                fn.evaluate(splits, metrics="rr")
            with pytest.raises(fn.InvalidTypeError, match="`run` must be one split"):
                fn.evaluate({"q1": {"a": 1}}, splits, "rr")

    def test_iterable_data_sets(self, rows):
        """An IterableDataset is read once, with filters, and its columns may have types or none."""
        iterable = rows.to_iterable_dataset().filter(lambda row: row["query_id"] != "q2")
        expected = {"q1": {"RR": 1.0}, "q3": {"RR": 1.0}}
        assert fn.evaluate(iterable, metrics="rr").to_dict() == expected
        assert fn.evaluate(iterable, metrics="rr", memory="1kB").to_dict() == expected

    def test_iterable_data_sets_without_rows(self):
        """An IterableDataset without rows raises an error, as it has no columns."""
        datasets = pytest.importorskip("datasets")
        empty = datasets.IterableDataset.from_generator(lambda: iter(()))
        with pytest.raises(fn.InvalidInputError, match="`truth` must hold rows, but the IterableDataset has none"):
            fn.evaluate(empty, metrics="rr")


class TestDask:
    """Frames of Dask."""

    def make(self, rows, n_partitions=3):
        """Return a Dask frame."""
        return pytest.importorskip("dask.dataframe").from_pandas(rows, npartitions=n_partitions, sort=False)

    def test_partitions_are_computed_once(self):
        """Each partition is computed once, in order or not, within memory or beyond."""
        reads = []

        def record(part):
            reads.append(len(part))
            return part

        for rows in (ROWS, ROWS.iloc[[3, 0, 5, 1, 2, 4]]):
            expected = fn.evaluate(rows, metrics="rr,ndcg").to_dict()
            for memory in (None, "1kB"):
                frame = self.make(rows).map_partitions(record, meta=ROWS.iloc[:0])
                reads.clear()
                assert fn.evaluate(frame, metrics="rr,ndcg", memory=memory).to_dict() == expected
                assert len(reads) == 3

    def test_an_index_of_queries(self):
        """The index is a column if it has a name."""
        frame = self.make(ROWS.set_index("query_id"))
        assert fn.evaluate(frame, metrics="rr").to_dict() == fn.evaluate(ROWS, metrics="rr").to_dict()

    def test_missing_scores_are_nan(self):
        """A missing score is NaN, as in a frame of pandas."""
        rows = ROWS.assign(score=[np.nan, 1.0, 2.0, 1.0, 1.0, 2.0])
        convention = fn.conventions["default"].replace(nan_scores="last")
        result = fn.evaluate(self.make(rows), metrics="rr", convention=convention)
        assert result.to_dict() == fn.evaluate(rows, metrics="rr", convention=convention).to_dict()

    def test_partitions_of_other_types_raise(self):
        """A column whose type differs between partitions raises an error."""

        def change(part, partition_info=None):
            return part.assign(label=part["label"] / 2) if partition_info["number"] == 2 else part

        frame = self.make(ROWS).map_partitions(change, meta=ROWS.iloc[:0], enforce_metadata=False)
        with pytest.raises(
            fn.InvalidInputError, match="column 'label' is int64 in the first rows and double from row 4"
        ):
            fn.evaluate(frame, metrics="rr")
