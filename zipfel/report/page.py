"""`model_report`: the content as one HTML page that works from a file, without a network."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from zipfel.classifier import Zipfel
from zipfel.data import BUCKETS, Dataset
from zipfel.explanation import to_html
from zipfel.report.content import Content, WorstDocument, content_of
from zipfel.report.figures import Bars, bar_chart, curve, reliability_diagram
from zipfel.report.training import curve_charts, gains_chart, seconds_chart

_COLUMNS = ("label", "bucket", "in train", "in test", "precision", "recall", "F1", "missed", "wrong")
_SHOWN = ("P", "nDCG", "R", "PSP", "coverage", "macro-F1")
_TEXT = 1200
"""Characters of a document that are shown."""


def model_report(model: Zipfel, test: Dataset, *, k: int = 5, title: str = "zipfel report") -> str:
    """A self-contained HTML page: metrics, calibration, labels, worst documents, parts, data.

    model: a fitted model. test: documents with true labels that it was not trained on. k: how many labels of each
    document count as predicted. title: of the page.

    >>> from zipfel.data import Dataset
    >>> from zipfel.estimator.inputs import as_dataset
    >>> data = as_dataset(["a red bike", "a blue boat"] * 9, [["bike"], ["boat"]] * 9)
    >>> page = model_report(Zipfel("knn").fit(data), data, k=1)
    >>> page.startswith("<!doctype html>") and "precision" in page
    True
    """
    return render(content_of(model, test, k=k), title)


def render(content: Content, title: str) -> str:
    """The page of a content; every name and text in it is escaped."""
    sections = [
        _section("Summary", _facts(content)),
        _section("Metrics", _metrics(content)),
        _section("Calibration", _calibration(content)),
        _section("Labels", _labels(content)),
        _section("Documents that went wrong", "".join(map(_document, content.worst)) or "<p>None.</p>"),
        _section("Training", _training(content)),
        _section("Parts of the model", _parts(content)),
        _section("Training data", _data(content)),
    ]
    name = html.escape(title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_asset('report.css')}</style></head>\n<body><main><h1>{name}</h1>\n{''.join(sections)}</main>\n"
        f'<script type="application/json" id="labels">{_json(content.labels)}</script>\n'
        f"<script>{_asset('report.js')}</script></body></html>\n"
    )


def _asset(name: str) -> str:
    return resources.files("zipfel.report").joinpath(name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
    """JSON that can't end the script element that it stands in."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _section(name: str, body: str) -> str:
    """Nothing where there is nothing to show."""
    return f"<section><h2>{name}</h2>\n{body}</section>\n" if body else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table; cells are escaped here."""
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>\n'


def _facts(content: Content) -> str:
    items = "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in content.facts.items())
    return f"<dl>{items}</dl>\n"


def _metrics(content: Content) -> str:
    ks = sorted({int(key.split("@")[1]) for key in content.scores if "[" not in key})
    rows = [[name, *(_percent(content.scores.get(f"{name}@{k}")) for k in ks)] for name in _SHOWN]
    groups = [
        (f"{name}@{content.k}", [100 * content.scores.get(f"{name}@{content.k}[{b}]", 0.0) for b in BUCKETS])
        for name in ("R", "nDCG", "PSP")
    ]
    note = "<p>Head labels have more than 100 training documents, tail labels at most 5. All values are per cent.</p>"
    chart = bar_chart(Bars(BUCKETS, groups), "Recall, nDCG and PSP by label frequency")
    return f'<div class="pair">{_table(["metric", *(f"@{k}" for k in ks)], rows)}<figure>{chart}</figure></div>{note}'


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"


def _calibration(content: Content) -> str:
    found = content.reliability
    if found is None:
        return "<p>The scores of this model are no probabilities.</p>"
    total = max(1, sum(found.sizes))
    error = sum(n * abs(m - s) for m, s, n in zip(found.mean, found.share, found.sizes, strict=True)) / total
    chart = reliability_diagram(found.mean, found.share, found.sizes, "Reliability diagram")
    told = f"<p>Expected calibration error of the first {content.k} labels, ten bins: {100 * error:.2f} %.</p>"
    return f"<figure>{chart}</figure>{told}"


def _labels(content: Content) -> str:
    head = "".join(
        f'<th aria-sort="none"><button type="button" data-column="{i}">{html.escape(name)}</button></th>'
        for i, name in enumerate(_COLUMNS)
    )
    note = f"Labels of the test data: {content.n_labels:,}. In the table: {len(content.labels):,}."
    return (
        f"<p>{note} Precision, recall and F1 count the first {content.k} labels of each document.</p>\n"
        '<p><label>Find <input type="search" id="filter" placeholder="part of a name"></label> '
        '<label>Frequency <select id="bucket"><option value="">all</option>'
        + "".join(f"<option>{bucket}</option>" for bucket in BUCKETS)
        + '</select></label> <span id="shown" role="status"></span></p>\n'
        f'<div class="wide"><table id="table"><thead><tr>{head}</tr></thead><tbody></tbody></table></div>\n'
        '<p><button type="button" id="more">Show more</button></p>\n'
    )


def _document(document: WorstDocument) -> str:
    true = set(document.true)
    given = "".join(
        f'<li class="{"hit" if name in true else "miss"}">{html.escape(name)} <span>{score:.2f}</span></li>'
        for name, score in document.predicted
    )
    lacking = [name for name in document.true if name not in {name for name, _ in document.predicted}]
    missed = "".join(f"<li>{html.escape(name)}</li>" for name in lacking)
    return (
        f"<details><summary>{html.escape(document.name)}</summary>\n{_text(document)}"
        f'<div class="pair"><div><h3>Predicted</h3><ul>{given}</ul></div>'
        f"<div><h3>True and not predicted</h3><ul>{missed}</ul></div></div></details>\n"
    )


def _text(document: WorstDocument) -> str:
    """The text. If the method explains, each word is highlighted by what it added to the first label's score."""
    explained = document.explained
    if explained is None or not explained.contributions:
        return f"<p>{html.escape(document.text[:_TEXT])}</p>\n"
    label = next(iter(explained.contributions))
    added = explained.contributions[label]
    pieces, weights, length = [], [], 0
    for piece, parts in explained.pieces:
        if length > _TEXT:
            break
        pieces.append(piece)
        weights.append(sum(added[i] for i in parts))
        length += len(piece)
    reasons = "".join(f"<li>{html.escape(reason)}</li>" for reason in explained.reasons(label))
    note = f"<p>Highlighted: words that raise the score of “{html.escape(label)}”.</p>"
    return f"{to_html(pieces, weights)}\n{note}<ul>{reasons}</ul>\n"


def _training(content: Content) -> str:
    """Curves of what was trained by epochs, then the seconds of every phase."""
    charts = [chart for curve in content.training.curves for chart in curve_charts(curve)]
    charts.append(("Seconds by phase (phases may run side by side)", seconds_chart(content.training)))
    figures = "".join(
        f"<figure><figcaption>{html.escape(title)}</figcaption>{chart}</figure>" for title, chart in charts
    )
    return f'<div class="pair">{figures}</div>\n'


def _parts(content: Content) -> str:
    """Of auto only: other methods have no parts."""
    plan = content.training.plan
    if not plan:
        return ""
    head = ["part", "tried", "gain on held-out documents", "kept", "why not"]
    note = "<p>Gain: points of the mean of P@1, P@3 and P@5 that are lost without the part, ± its error.</p>"
    chart = gains_chart(content.training)
    figure = f"<figure>{chart}</figure>" if chart else ""
    return f'{figure}{note}<div class="plan">' + _table(head, [_part(row) for row in plan]) + "</div>"


def _part(row: Mapping[str, Any]) -> list[str]:
    gain = row.get("gain")
    shown = "" if gain is None else f"{100 * gain:+.2f} ± {100 * (row.get('error') or 0.0):.2f}"
    kept = bool(row.get("kept"))
    return [str(row["part"]), _yes(row.get("tried")), shown, _yes(kept), "" if kept else str(row.get("why", ""))]


def _yes(value: Any) -> str:
    return "yes" if value else "no"


def _data(content: Content) -> str:
    chart = curve(content.frequencies, "Documents of a label by its rank", "rank of the label", "training documents")
    figure = f"<figure>{chart}</figure>" if chart else "<p>No label has a training document.</p>"
    head = ["labels", "in train", "share of labels", "share of pairs"]
    return f'<div class="pair">{_table(head, content.groups)}{figure}</div>\n'
