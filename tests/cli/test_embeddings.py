"""Files of vectors as runs of the command line: values, ids, documents that are left out, errors."""

import csv
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import fastndcg as fn

N_QUERIES, N_DOCUMENTS = 6, 30
RNG = np.random.default_rng(3)
USERS, ITEMS = (RNG.integers(-3, 4, (n, 5)).astype("f4") for n in (N_QUERIES, N_DOCUMENTS))
LIKED = RNG.integers(0, N_DOCUMENTS, N_QUERIES).tolist()
QUERIES = [f"q{row}" for row in range(N_QUERIES)]
DOCUMENTS = [f"d{row}" for row in range(N_DOCUMENTS)]
SCORES = USERS @ ITEMS.T
TRUTH = fn.Interactions(np.array(LIKED), offsets=np.arange(N_QUERIES + 1))


@pytest.fixture
def vectors(files):
    """Write vectors, ids, judgments by numbers and by ids, and documents to leave out."""
    np.save("users.npy", USERS)
    np.save("items.npy", ITEMS)
    (files / "queries.txt").write_text("\n".join(QUERIES) + "\n")
    (files / "documents.txt").write_text("\n".join(DOCUMENTS) + "\n")
    (files / "numbers.txt").write_text("".join(f"{q} 0 {item} 1\n" for q, item in enumerate(LIKED)))
    (files / "named.txt").write_text("".join(f"q{q} 0 d{item} 1\n" for q, item in enumerate(LIKED)))
    (files / "seen.txt").write_text("".join(f"q{q} 0 d{(item + 1) % N_DOCUMENTS} 1\n" for q, item in enumerate(LIKED)))
    (files / "overlap.txt").write_text(f"q0 0 d{LIKED[0]} 1\n")
    (files / "some.txt").write_text("".join(f"d{item}\n" for item in sorted({*LIKED, 0, 1, 2})))
    return files


IDS = ("--query-ids", "queries.txt", "--document-ids", "documents.txt")
PAIR = "users.npy,items.npy"


def evaluate(shown, *arguments):
    return json.loads(shown("evaluate", *arguments, "-m", "rr,auc", "--format", "json"))["runs"]


def test_values_are_those_of_the_function(vectors, shown):
    seen = [{(item + 1) % N_DOCUMENTS} for item in LIKED]
    some = sorted({*LIKED, 0, 1, 2})
    cases = [
        (("numbers.txt", PAIR), {}, "dot"),
        (("named.txt", PAIR, *IDS), {}, "dot"),
        (("named.txt", PAIR, *IDS, "--similarity", "euclidean"), {}, "euclidean"),
        (("named.txt", PAIR, *IDS, "--exclude", "seen.txt", "--memory", "1MB"), {"exclude": seen}, "dot"),
        (("named.txt", PAIR, *IDS, "--candidates", "some.txt"), {"candidates": some}, "dot"),
        (("named.txt", PAIR, *IDS, "--candidates", "named.txt"), {"candidates": [[item] for item in LIKED]}, "dot"),
        (("named.txt", PAIR, *IDS, "--exclude", "overlap.txt", "--missing-truth", "unretrieved"),
            {"exclude": [[LIKED[0]], *[[]] * (N_QUERIES - 1)], "missing_truth": "unretrieved"}, "dot"),
    ]  # fmt: skip
    for arguments, options, similarity in cases:
        (report,) = evaluate(shown, *arguments)
        expected = fn.evaluate(TRUTH, fn.Embeddings(USERS, ITEMS, similarity=similarity, **options), "rr, auc")
        means = expected.mean().items()
        assert report["mean"] == {name: pytest.approx(mean) if mean == mean else None for name, mean in means}


@pytest.mark.parametrize("names", [("users", "items"), ("queries", "documents")])
@pytest.mark.parametrize("dtype", ["f4", "f2", "bfloat16"])
def test_safetensors_give_the_same_values(vectors, shown, names, dtype):
    save_file = pytest.importorskip("safetensors.numpy").save_file
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    biases = np.arange(N_DOCUMENTS, dtype="f4")
    tensors = dict(zip(names, (USERS.astype(dtype), ITEMS.astype(dtype)), strict=True)) | {"item_biases": biases}
    save_file(tensors, "model.safetensors")
    (report,) = evaluate(shown, "numbers.txt", "model.safetensors")
    assert report["run"] == "model"
    assert report["mean"]["RR"] == pytest.approx(fn.evaluate(TRUTH, SCORES + biases, "rr").mean()["RR"])


def test_process_reads_bfloat16(vectors, wrong):
    """A process that has not imported ml_dtypes reads vectors and biases of bfloat16. Other tensors are refused."""
    save_file = pytest.importorskip("safetensors.numpy").save_file
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    biases = np.arange(N_DOCUMENTS, dtype="f4")
    tensors = {"users": USERS, "items": ITEMS, "item_biases": biases}
    save_file({name: values.astype(bfloat16) for name, values in tensors.items()}, "model.safetensors")
    save_file({"users": USERS, "items": ITEMS, "item_bias": biases}, "typo.safetensors")
    command = ["evaluate", "numbers.txt", "model.safetensors", "-m", "rr", "--format", "json"]
    ended = subprocess.run([sys.executable, "-m", "fastndcg", *command], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    (report,) = json.loads(ended.stdout)["runs"]
    assert report["mean"]["RR"] == pytest.approx(fn.evaluate(TRUTH, SCORES + biases, "rr").mean()["RR"])
    for message in ("must have tensors called users, queries, items", "but has 'item_bias'"):
        wrong(message, "evaluate", "numbers.txt", "typo.safetensors", "-m", "rr")


def test_compare_explain_and_names(vectors, shown):
    (vectors / "als").mkdir()
    np.save("als/users.npy", -USERS)
    np.save("als/items.npy", ITEMS)
    fn.Embeddings(USERS, ITEMS, query_ids=QUERIES, document_ids=DOCUMENTS).top(30).to_run().write("top.run")
    runs = (PAIR, "als/users.npy,als/items.npy", "top.run", "--names", "plain,als,run")
    out = shown("compare", "named.txt", *runs, *IDS, "-m", "rr", "--format", "csv")
    means = {row["system"]: row["mean"] for row in csv.DictReader(out.splitlines())}
    assert float(means["plain"]) == pytest.approx(fn.evaluate(TRUTH, SCORES, "rr").mean()["RR"])
    assert float(means["als"]) == pytest.approx(fn.evaluate(TRUTH, -SCORES, "rr").mean()["RR"])
    assert float(means["run"]) == pytest.approx(float(means["plain"]))
    reports = evaluate(shown, "named.txt", "als/users.npy,als/items.npy", PAIR, *IDS)
    assert [report["run"] for report in reports] == ["als", "users"]
    assert f"d{LIKED[2]}" in shown("explain", "named.txt", PAIR, "q2", *IDS, "-m", "rr", "--exclude", "seen.txt")


BAD = {
    "one file": (["named.txt", "users.npy"], "two files with a comma between them, such as users.npy,items.npy"),
    "no such file": (["named.txt", "users.npy,nothing.npy"], "nothing.npy"),
    "no file of NumPy": (["named.txt", "users.npy,fake.npy"], "fake.npy must be a file of NumPy"),
    "dimensions": (["named.txt", "users.npy,narrow.npy", *IDS], "vectors of one length, but theirs are 5 and 4"),
    "ids": (["named.txt", PAIR, "--query-ids", "documents.txt"], "`query_ids` must have length 6"),
    "overlap": (["named.txt", PAIR, *IDS, "--exclude", "overlap.txt"], "is in `exclude`"),
    "no embeddings": (["qrels.txt", "good.run", "--exclude", "seen.txt"], "--exclude is for embeddings, but no RUN is"),
    "no distances": (["qrels.txt", "good.run", "--similarity", "euclidean"], "--similarity is for embeddings, but no"),
    "no missing truth": (["qrels.txt", "good.run", "--missing-truth", "skip"], "--missing-truth is for embeddings"),
    "a run with excluded": (
        ["named.txt", "good.run", PAIR, *IDS, "--exclude", "seen.txt"], "--exclude is for embeddings, but good.run is",
    ),
    "trec_eval's -M": (
        ["named.txt", PAIR, *IDS, "-M", "5", "--convention", "trec_eval"], "-M is for runs, but RUN is embeddings",
    ),
    "damaged safetensors": (["named.txt", "fake.safetensors"], "fake.safetensors must be a file of safetensors"),
    "names of tensors": (["named.txt", "other.safetensors"], "must have one tensor called users or queries, but has"),
    "output": (["named.txt", PAIR, *IDS, "-o", "items.npy"], "must not name an input file"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_errors(vectors, wrong, arguments, message):
    if any("safetensors" in argument for argument in arguments):
        pytest.importorskip("safetensors.numpy").save_file({"x": USERS}, "other.safetensors")
    for name in ("fake.npy", "fake.safetensors"):
        (vectors / name).write_text("text")
    np.save("narrow.npy", ITEMS[:, :4])
    wrong(message, "evaluate", *arguments, "-m", "rr")


def test_vectors_of_numpy_are_not_read_into_memory(vectors):
    from fastndcg.scoring.files import FileRows, read_embeddings

    expected = [np.load(path) for path in PAIR.split(",")]
    model = read_embeddings(PAIR)
    rows = [2, 0, 1, 1]
    for own, values in zip((model.factors.users, model.factors.items), expected, strict=True):
        assert isinstance(own, FileRows)
        assert own[np.array(rows)].tolist() == values[rows].tolist()
        assert own[1:3].tolist() == values[1:3].tolist()
        assert pickle.loads(pickle.dumps(own)).tolist() == values.tolist()
    best = model.top(2).items.tolist()
    np.save(PAIR.split(",")[0], np.asfortranarray(expected[0]))
    assert read_embeddings(PAIR).top(2).items.tolist() == best
