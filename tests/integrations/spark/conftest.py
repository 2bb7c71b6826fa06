"""The session of Spark and the integration, for all tests of this folder."""

import pytest
from spark_sessions import skip_without_spark, start_session


@pytest.fixture(scope="module")
def session():
    skip_without_spark()
    return start_session()


@pytest.fixture(scope="module")
def spark(session):
    from fastndcg.integrations import spark

    return spark
