"""What is a pile of short texts about?
====================================

Texts become a sparse matrix of term weights, and every sparse component is a list of a few terms that occur together.
The matrix stays sparse, even when it is centred. The texts are articles of five of the 20 newsgroups if
scikit-learn has fetched these before, otherwise the eighty sentences beside this file.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from sklearn.datasets import fetch_20newsgroups
from sklearn.feature_extraction.text import TfidfVectorizer

from orthoprox import SparsePCA
from orthoprox.plotting import top_terms, topic_table

# The site runs scripts in their folder and without a __file__.
CORPUS = Path(globals().get("__file__", "topics.py")).with_name("corpus.txt")
GROUPS = ["comp.graphics", "rec.sport.hockey", "sci.med", "sci.space", "talk.politics.mideast"]
TOPICS = 7  # more than there are subjects: stars and planets are two, soil and flowers too


def texts() -> tuple[list[str], str]:
    """What there is to read, and what it is called."""
    bare = ("headers", "footers", "quotes")
    try:
        found = fetch_20newsgroups(subset="train", categories=GROUPS, remove=bare, download_if_missing=False)
    except OSError:
        return [line for line in CORPUS.read_text("utf-8").splitlines() if not line.startswith("#")], "sentences"
    return list(found.data), "articles"


def main(folder: Path) -> Path:
    corpus, kind = texts()
    vectorizer = TfidfVectorizer(stop_words="english", min_df=2, max_features=2000, token_pattern="[a-z]{3,}")
    X = vectorizer.fit_transform(corpus)
    model = SparsePCA(TOPICS, n_nonzero_per_component=8).fit(X)
    terms = vectorizer.get_feature_names_out()
    for topic in top_terms(model, terms, 4):
        print(", ".join(term for term, _ in topic))

    canvas = Figure(figsize=(9, 2.7), layout="constrained")
    ax = topic_table(model, terms, 8, titles=[f"topic {i + 1}" for i in range(TOPICS)], ax=canvas.gca())
    ax.set_title(f"{len(corpus)} {kind}, {len(terms)} terms, eight in each component", fontsize=10)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "topics.png"
    canvas.savefig(path, dpi=90)
    return path


if __name__ == "__main__":
    main(Path("out"))
