"""Refusals: what a person reads who has made a mistake."""

import pytest


def check_refusal(make, words, kind=(TypeError, ValueError)):
    """The call is refused with words that match and that make a sentence; gives them back."""
    with pytest.raises(kind, match=words) as caught:
        make()
    said = str(caught.value).rstrip()
    assert said.endswith((".", "?", "division by zero")), said  # the last words of a user's own error
    return said
