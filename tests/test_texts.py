"""The texts of tables and notes: examples in the files texts.txt of the folders."""

import doctest
from pathlib import Path

import numpy as np
import pytest
import system_values

import fastndcg as fn


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.glob("*/texts.txt")), ids=lambda path: path.parent.name)
def test_texts_are_those_of_the_file(path):
    names = {"fn": fn, "np": np} | vars(system_values)
    assert not doctest.testfile(str(path), module_relative=False, globs=names, encoding="utf-8").failed
