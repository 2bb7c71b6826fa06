"""Metrics of a user who stops at a document with some chance."""

from fastndcg.catalog.record import REL, Parameter, Record

MAX_GRADE = Parameter("max_grade", "grade", 4, "the highest label there is; a higher one is an error")
STOP = Parameter(
    "stop", "grades|labels", "grades",
    "what labels are: grades, with (2^label − 1) / 2^max_grade the chance to stop at a document, or such chances",
)  # fmt: skip
CHAPELLE_2009 = (
    "O. Chapelle, D. Metzler, Y. Zhang, P. Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009"
)
TIES = "; in a tie group by elementary symmetric polynomials of the chances to go on"

RECORDS = (
    Record(
        name="ERR",
        title="expected reciprocal rank",
        kernel="stopping.expected_reciprocal_rank",
        formula="sum over ranks r = 1 … k of 1/r · stop(r) · product over the ranks i above of 1 − stop(i), where "
        "stop(r) = (2^label − 1) / 2^max_grade" + TIES,
        range="0 to 1",
        undefined="never",
        source=CHAPELLE_2009,
        doi="10.1145/1645953.1646033",
        parameters=(MAX_GRADE, STOP),
        aliases=("err", "expected_reciprocal_rank"),
        peers=(("ir_measures", "ERR"), ("RankLib", "ERR"), ("CatBoost", "ERR, as ERR(stop=labels)")),
    ),
    Record(
        name="nERR",
        title="normalised expected reciprocal rank",
        kernel="stopping.normalised_reciprocal_rank",
        formula="ERR@k / ERR@k of the best order of all judged documents",
        range="0 to 1",
        undefined="nothing has a label above 0",
        source=CHAPELLE_2009 + "; C. L. A. Clarke and others, A comparative analysis of cascade measures, WSDM 2011",
        doi="10.1145/1935826.1935847",
        parameters=(MAX_GRADE, STOP),
        aliases=("nerr",),
    ),
    Record(
        name="PFound",
        title="chance to find",
        kernel="stopping.chance_to_find",
        formula="sum over ranks r = 1 … k of decay^(r − 1) · stop(r) · product over the ranks i above of 1 − stop(i)"
        + TIES,
        range="0 to 1",
        undefined="never",
        source="A. Gulin, P. Karpovich, D. Raskovalov, I. Segalovich, Yandex at ROMIP 2009, ROMIP 2009",
        parameters=(
            Parameter("decay", "probability", 0.85, "the chance to go on from one rank to the next"),
            MAX_GRADE,
            STOP,
        ),
        aliases=("pfound",),
        peers=(("CatBoost", "PFound, as PFound(stop=labels)"),),
    ),
    Record(
        name="TBG",
        title="time-biased gain",
        kernel="stopping.time_biased_gain",
        formula="sum over ranks r = 1 … k with a relevant document of 0.64 · 0.77 · 2^(−t / half_life), where t "
        "seconds were read above: 4.4 + (0.018 · words + 7.8) · 0.64 for each relevant document, · 0.39 for each other",
        range="0 and up",
        undefined="never",
        source="M. D. Smucker and C. L. A. Clarke, Time-based calibration of effectiveness measures, SIGIR 2012; "
        "every document is taken to be as long, and none to be a duplicate",
        doi="10.1145/2348283.2348300",
        parameters=(
            Parameter("half_life", "positive", 224, "seconds after which half of the users read on"),
            Parameter("words", "positive", 363, "words in a document; by default the mean of AQUAINT's"),
            REL,
        ),
        aliases=("tbg", "time_biased_gain"),
    ),
)
