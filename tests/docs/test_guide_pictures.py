"""The pictures of the guides show the library's values."""

import re
from typing import get_args

from fastndcg.choices import TiePolicy
from scripts.site import guide_pictures


def test_tie_picture_has_the_value_of_each_policy():
    """Each policy of `Convention` has a row with its nDCG@3, in light and in dark."""
    for theme in guide_pictures.TEXT:
        texts = re.findall(r">([^<>]+)</text>", "".join(guide_pictures.draw_ties(theme)))
        for policy in ("average", *guide_pictures.POLICIES):
            assert policy in texts
            assert f"{guide_pictures.compute_ndcg(policy):.4f}" in texts
    assert {"average", "mean_rank", *guide_pictures.POLICIES} == set(get_args(TiePolicy))  # nDCG has no mean_rank
