import pytest
from make_content import CASES

from newfound.report.page import render


@pytest.fixture(scope="session")
def contents():
    return {name: make() for name, make in CASES.items()}


@pytest.fixture(scope="session")
def pages(contents):
    return {name: render(content) for name, content in contents.items()}
