"""What is a pile of short texts about?

Eighty sentences become a sparse matrix of term weights, and every sparse component is a list of a few terms that occur
together. The matrix is never made dense, not even to be centred.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from sklearn.feature_extraction.text import TfidfVectorizer

from orthoprox import SparsePCA
from orthoprox.plotting import top_terms, topic_table

CORPUS = Path(__file__).with_name("corpus.txt")
TOPICS = 7  # the five subjects, and two of them twice: stars and planets, soil and flowers


def main(folder: Path) -> Path:
    sentences = [line for line in CORPUS.read_text("utf-8").splitlines() if not line.startswith("#")]
    vectorizer = TfidfVectorizer(stop_words="english", min_df=2)
    X = vectorizer.fit_transform(sentences)
    model = SparsePCA(TOPICS, n_nonzero_per_component=8).fit(X)
    terms = vectorizer.get_feature_names_out()
    for topic in top_terms(model, terms, 4):
        print(", ".join(term for term, _ in topic))

    canvas = Figure(figsize=(9, 2.7), layout="constrained")
    ax = topic_table(model, terms, 8, titles=[f"topic {i + 1}" for i in range(TOPICS)], ax=canvas.gca())
    ax.set_title(f"{len(sentences)} sentences, {len(terms)} terms, eight in each component", fontsize=10)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "topics.png"
    canvas.savefig(path, dpi=90)
    return path


if __name__ == "__main__":
    main(Path("out"))
