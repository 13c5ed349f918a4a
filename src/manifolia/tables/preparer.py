"""`TablePreparer`: a raw table → a float matrix, as one scikit-learn transformer that is saved with the model.

Two steps, each elementwise, so that a row never depends on its batch:

1. *encode*: one number per cell (a date as days, a level as its position, −1 for an unknown level, NaN for missing),
   followed by the features of texts;
2. *expand*: fill what must be filled, one column per level for categorical columns, indicators, standardise.

What ``fit`` learns is plain data only (str, float, bool, lists, dicts with text keys, NumPy arrays of numbers), so
that it can be saved without pickle.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

from manifolia._core.collections import row_by_row
from manifolia._core.estimators import Estimator
from manifolia._core.fitting import all_or_nothing
from manifolia._core.memory import require
from manifolia._core.messages import Argument, Message, Word
from manifolia._core.precision import mean_and_spread
from manifolia._core.types import Array, ArrayLike, BoolArray, FloatArray, IntArray
from manifolia._core.validate import check_bool, check_is_fitted, check_number, check_option, is_sparse
from manifolia._core.warnings import warn
from manifolia.exceptions import ParameterError, TableError
from manifolia.tables.columns import read_each, to_booleans, to_days, to_keys, to_new_numbers, to_places, to_texts
from manifolia.tables.frames import Source, open_source
from manifolia.tables.naming import Remark, counted, distinct, listing, nearest
from manifolia.tables.number_formats import unit_of
from manifolia.tables.roles import LEFT_OUT
from manifolia.tables.survey import LookedAt, Survey, check_finite, describe, look_at, safe_scale
from manifolia.tables.text_features import to_features

_OTHER = "other"


class TablePreparer(TransformerMixin, Estimator):
    """Turn a raw table into numbers: roles of columns, missing values, categories, scale.

    Columns are found by name, in any order; those that ``fit`` did not see are ignored. A level that ``fit`` did not
    see becomes zeros in every column of its category. An absent column counts as missing, provided that at least half
    of the columns are there. Each of these causes a warning with counts and names.

    A sparse matrix stays sparse and keeps every column: its cells are numbers, and there are no roles to find.

    Parameters
    ----------
    roles : dict, default=None
        Column to role, if the one found is not right: "numeric", "categorical", "ordered", "boolean", "date" ("dmy" or
        "mdy" if nothing shows whether the day or the month comes first), "text", "identifier" or "drop" (both left out;
        a page shows no column that is "drop"), or a list of levels from lowest to highest.
    missing : {"keep", "impute"}, default="keep"
        "keep" leaves missing values as NaN, for forests. "impute" fills them by the median or the most frequent
        level and adds a column that flags them. In both cases a value that is missing in a column that was complete at
        ``fit`` is filled in, with a warning: trees cannot send it anywhere.
    scale : bool, default=False
        Whether numbers get mean 0 and standard deviation 1, for methods that use distances; the features of a text
        column together get the variance of one number. Columns of 0 and 1 that stand for levels, booleans and missing
        values stay as they are; a sparse matrix is only divided.
    max_levels : int, default=30
        Maximum number of columns that one categorical column becomes; rarer levels share the column "other".

    Attributes
    ----------
    roles_ : dict
        Every raw column to its role: one of those of `roles`, or "constant" or "missing" (both left out).
    notes_ : list of str
        Sentences on what was done: what was left out, encoded, kept missing or filled in, and why.
    used_ : list of str
        The raw columns that take part, in the order of the table.
    sources_ : list of str
        For each output column the raw column it comes from, so that importances can be added up. A feature of a text
        stands for itself: "column: its words".
    names_out_ : list of str
        Names of the output columns.
    levels_ : dict
        Categorical and ordered columns to their levels.
    pooled_ : dict
        Categorical columns to the levels that share the column "other".
    origins_ : dict
        Date columns to the moment that is day 0.
    written_ : dict
        Columns of texts to how their numbers, times or dates are written, if not plainly: "%", a currency, a unit,
        "clock", "seconds", "mdy" and so on.
    texts_ : dict
        Columns of free text to what was learned about their words.
    fill_ : ndarray of shape (n_used,)
        What replaces a missing value: the median, or the position of the most frequent level.
    had_missing_ : ndarray of bool of shape (n_used,)
        Whether the column had missing values at ``fit``.
    center_, scale_ : ndarray of shape (n_out,) or None
        What is subtracted and divided by: if `scale`, and for forests if single precision, in which trees compare,
        cannot hold the numbers of a column.
    sparse_ : bool
        Whether ``fit`` saw a sparse matrix.
    n_features_in_ : int
        Number of raw columns.
    feature_names_in_ : ndarray of str
        Their names, if they had any.

    Examples
    --------
    >>> import pandas as pd
    >>> from manifolia.tables import TablePreparer
    >>> frame = pd.DataFrame({"age": [30.0, None, 50.0, 41.0], "sex": ["f", "m", "f", "f"]})
    >>> preparer = TablePreparer(missing="impute").fit(frame)
    >>> preparer.transform(frame)
    array([[30.,  0.,  1.,  0.],
           [41.,  1.,  0.,  1.],
           [50.,  0.,  1.,  0.],
           [41.,  0.,  1.,  0.]])
    >>> preparer.get_feature_names_out()
    array(['age', 'age (missing)', 'sex=f', 'sex=m'], dtype=object)
    """

    def __init__(
        self, roles: dict[str, Any] | None = None, *, missing: str = "keep", scale: bool = False, max_levels: int = 30
    ) -> None:
        self.roles = roles
        self.missing = missing
        self.scale = scale
        self.max_levels = max_levels

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike = None) -> TablePreparer:
        """Find the role of each column, and what encoding needs.

        Parameters
        ----------
        X : Table, DataFrame, polars or Arrow table, array-like or sparse matrix of shape (n, d)
            The raw table, without the target.
        y : object, default=None
            Not used; there for pipelines.

        Returns
        -------
        TablePreparer
            Itself.

        Raises
        ------
        TableError
            If no column is left, or a column's values need a decision; the message names column, value and row.
        """
        check_option(self.missing, "missing", ("keep", "impute"))
        check_bool(self.scale, "scale")
        max_levels = check_number(self.max_levels, "max_levels", low=2, integer=True)
        source, given, columns = X if isinstance(X, LookedAt) else look_at(X, self.roles, max_levels)
        self.n_features_in_ = source.shape[1]
        if source.named:
            self.feature_names_in_ = np.array(source.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.sparse_ = columns is None
        if columns is None:
            return self._fit_sparse(source, given)
        self._set_columns(source, columns)
        self.notes_ = describe(source.names, columns, missing=self.missing, scale=self.scale)
        self.center_: FloatArray | None = None
        self.scale_: FloatArray | None = None
        if self.scale:
            self.center_, self.scale_ = self._find_scale(self._encode(source))
        elif self.missing == "keep" and any(i in columns.units for i in self.positions_.tolist()):
            self.center_, self.scale_ = np.zeros(len(self.names_out_)), np.ones(len(self.names_out_))
            for start, i in zip(self.starts_, self.positions_.tolist(), strict=True):
                if i in columns.units:
                    self.center_[start], self.scale_[start], _ = columns.units[i]
        return self

    def _set_columns(self, source: Source, columns: Survey) -> None:
        self.roles_ = dict(zip(source.names, columns.roles, strict=True))
        used = [i for i, role in enumerate(columns.roles) if role not in LEFT_OUT]
        if not used:
            told = listing([Remark(name, role) for name, role in self.roles_.items()], limit=8)
            role = Argument("roles", {Word("column"): Word("role")})
            raise TableError(
                Message(f"no column can be used: {told}. Pass ", role, " to use one that was left out, or other data.")
            )
        self.used_ = [source.names[i] for i in used]
        self.positions_ = np.array(used, dtype=np.intp)
        plans = {source.names[i]: columns.plans[i] for i in used if i in columns.plans}
        self.levels_ = {name: list(plan.levels) for name, plan in plans.items() if plan.levels}
        self.pooled_ = {name: list(plan.pooled) for name, plan in plans.items() if plan.pooled}
        self.origins_ = {name: plan.origin for name, plan in plans.items() if plan.origin}
        self.written_ = {name: plan.writing for name, plan in plans.items() if plan.writing}
        self.texts_ = {name: plan.text for name, plan in plans.items() if plan.text is not None}
        self.fill_ = columns.fill[used]
        self.had_missing_ = columns.n_missing[used] > 0
        self._set_output_columns()

    def _set_output_columns(self) -> None:
        """Lay out the output: where each used column begins, how many columns it takes, and their names."""
        names: list[str] = []
        sources: list[str] = []
        starts = np.zeros(len(self.used_), dtype=np.intp)
        marks = np.full(len(self.used_), -1, dtype=np.intp)
        marked = self.had_missing_ & (self.missing == "impute")
        for j, name in enumerate(self.used_):
            starts[j] = len(names)
            own_sources = None
            if name in self.texts_:
                own = own_sources = self.texts_[name].sources(name)
            elif self.roles_[name] == "categorical":
                own = [f"{name}={level}" for level in self.levels_[name]]
                if name in self.pooled_:
                    # A level may itself be called "other".
                    own += distinct([f"{name}={_OTHER}"], own)
            else:
                own = [name]
            if marked[j]:
                marks[j] = len(names) + len(own)
                own = [*own, f"{name} (missing)"]
            names += own
            sources += [name] * len(own) if own_sources is None else own
        self.starts_, self.marks_ = starts, marks
        self.names_out_, self.sources_ = distinct(names), sources

    def _fit_sparse(self, source: Source, given: dict[str, Any]) -> TablePreparer:
        wrong = {name: role for name, role in given.items() if role not in ("numeric", "drop")}
        if wrong:
            raise TableError(
                f"the cells of a sparse matrix are numbers, and roles says {wrong!r}. Only 'numeric' and 'drop' are "
                f"possible; pass a frame for other roles."
            )
        _check_sparse(source)
        dropped = {name for name, role in given.items() if role == "drop"}
        keep = [i for i, name in enumerate(source.names) if name not in dropped]
        if not keep:
            raise TableError("roles drops every column of the sparse matrix. Leave at least one.")
        self.roles_ = {name: "drop" if name in dropped else "numeric" for name in source.names}
        self.used_ = [source.names[i] for i in keep]
        self.positions_ = np.array(keep, dtype=np.intp)
        self.names_out_, self.sources_ = list(self.used_), list(self.used_)
        self.levels_, self.pooled_, self.origins_, self.written_, self.texts_ = {}, {}, {}, {}, {}
        self.fill_ = np.zeros(len(keep))
        self.had_missing_ = np.zeros(len(keep), dtype=bool)
        self.center_ = self.scale_ = None
        self.notes_ = ["The sparse matrix is used as it is; roles of columns are not looked for in it."]
        if dropped:
            self.notes_.append(f"Left out as asked: {listing(sorted(dropped))}.")
        if self.scale:
            values = source.values[:, keep].astype(np.float64)
            exponent = np.frexp(np.asarray(abs(values).max(axis=0).toarray()).ravel())[1]
            values.data = np.ldexp(values.data, -exponent[values.indices])  # as in `_find_scale`
            mean = np.asarray(values.mean(axis=0)).ravel()
            square = np.asarray(values.multiply(values).mean(axis=0)).ravel()
            self.center_ = np.zeros(len(keep))
            spread = np.sqrt(np.maximum(square - mean**2, 0.0))
            self.scale_ = safe_scale(np.ldexp(spread, exponent), np.ldexp(mean, exponent))
            self.notes_.append("Columns are divided by their standard deviation, and not centred: zeros stay zeros.")
        return self

    @row_by_row
    def transform(self, X: ArrayLike) -> Any:
        """Turn a raw table into numbers.

        Parameters
        ----------
        X : Table, DataFrame, polars or Arrow table, array-like or sparse matrix of shape (n, d)
            Rows with the columns of ``fit``, found by name; without names, by place.

        Returns
        -------
        ndarray or csr_array of shape (n, n_out)
            float32 if every raw column is, otherwise float64. A row is the same, to the bit, in any batch.

        Raises
        ------
        TableError
            If more than half of the columns are absent, or a value does not fit its column.
        """
        check_is_fitted(self)
        source = open_source(X)
        if is_sparse(source.values) != self.sparse_:
            kinds = ("a sparse matrix", "a dense table")
            now, then = kinds if is_sparse(source.values) else kinds[::-1]
            raise TableError(f"X is {now} and fit saw {then}. Pass the same kind.")
        if not self.sparse_:
            return self._expand(self._encode(source))
        _check_sparse(source)
        out = source.some(self._places(source)).astype(source.dtype())
        if self.scale_ is not None:
            out.data /= self.scale_.astype(out.dtype)[out.indices]
        return out

    def get_feature_names_out(self, input_features: ArrayLike = None) -> Array:
        """Return the names of the output columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the raw columns; must be those of ``fit`` if they had names.

        Returns
        -------
        ndarray of str of shape (n_out,)
            A level's column is called "column=level", a mark of missing values "column (missing)".
        """
        check_is_fitted(self)
        if input_features is None:
            return np.array(self.names_out_, dtype=object)
        given = [str(name) for name in input_features]
        if len(given) != self.n_features_in_:
            raise ParameterError(
                f"input_features should have length equal to {self.n_features_in_}, got {len(given)}.",
                parameter="input_features",
            )
        own = list(self.roles_)
        if hasattr(self, "feature_names_in_"):
            if given != own:
                raise ParameterError(
                    "input_features is not equal to feature_names_in_. Leave it out.", parameter="input_features"
                )
            return np.array(self.names_out_, dtype=object)
        renamed = dict(zip(own, given, strict=True))
        pairs = zip(self.names_out_, self.sources_, strict=True)
        return np.array([renamed[source] + name[len(source) :] for name, source in pairs], dtype=object)

    def _places(self, source: Source) -> IntArray:
        """Return where each used column is in a new table; −1 where it is absent."""
        fitted_names = hasattr(self, "feature_names_in_")
        if not (source.named and fitted_names):
            if source.shape[1] != self.n_features_in_:
                raise TableError(
                    f"X has {source.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                    f"features as input."
                )
            if fitted_names:
                warn("X does not have valid feature names, and fit saw some: its columns are taken in fit's order.")
            elif source.named:
                warn("X has feature names, and fit saw none: its columns are taken in their order.")
            return self.positions_
        if source.names == list(self.roles_):
            return self.positions_
        where = {name: i for i, name in enumerate(source.names)}
        places = np.array([where.get(name, -1) for name in self.used_], dtype=np.intp)
        self._report_columns(source.names, [name for name in self.used_ if name not in where])
        return places

    def _report_columns(self, names: list[str], absent: list[str]) -> None:
        extra = [name for name in names if name not in self.roles_]
        if absent:
            near = {name: nearest(name, extra) for name in absent[:5]} if len(extra) < 1000 else {}
            pairs = ", ".join(f"{found[0]!r} for {name!r}" for name, found in near.items() if found)
            hint = f" Was a column renamed ({pairs})?" if pairs else ""
            of = "all" if len(absent) == len(self.used_) else f"{len(absent):,} of"
            text = f"{of} the {len(self.used_):,} columns that the model uses: {listing(absent)}"
            if self.sparse_ or 2 * len(absent) > len(self.used_):
                share = "All" if self.sparse_ else "At least half"
                raise TableError(f"the table lacks {text}.{hint} {share} of them must be there.")
            warn(f"The table lacks {text}; each counts as missing.{hint}")
        if extra:
            some = "column that fit did not see is" if len(extra) == 1 else "columns that fit did not see are"
            warn(f"{len(extra):,} {some} left aside: {listing(extra)}.")

    def _encode(self, source: Source) -> FloatArray:
        """Return one number per cell of the used columns."""
        places = self._places(source)
        n_rows, n_used = source.shape[0], len(self.used_)
        dtype = source.dtype()
        require(
            2.0 * n_rows * (n_used + len(self.names_out_)) * np.dtype(dtype).itemsize,
            step=f"preparing {n_rows:,} rows of {n_used:,} columns",
            remedy=Message(
                "Pass fewer rows at a time, fewer columns (",
                Argument("roles", {Word("column"): "drop"}),
                "), or a sparse matrix.",
            ),
        )
        direct = self._has_role("numeric") & (places >= 0)
        direct[direct] = source.numeric()[places[direct]]
        if direct.all():
            encoded = source.block(places, dtype)
        else:
            encoded = np.full((n_rows, n_used + self._n_text_features()), np.nan, dtype=dtype)
            if direct.any():
                encoded[:, np.flatnonzero(direct)] = source.block(places[direct], dtype)
            others = np.flatnonzero(~direct & (places >= 0))
            for j, cells in read_each(others, lambda j: self._encode_column(source, int(places[j]), self.used_[j])):
                encoded[:, j] = cells
            for name, block in self._text_blocks():
                place = int(places[self.used_.index(name)])
                if place >= 0:
                    texts, present = to_texts(source.column(place))
                    encoded[present, block] = to_features(texts, self.texts_[name])
        check_finite(encoded[:, :n_used], self.used_)
        self._warn_of_plain_numbers(direct, encoded)
        return encoded

    def _warn_of_plain_numbers(self, plain: BoolArray, encoded: FloatArray) -> None:
        """Say which unit numbers are taken to be in, for columns that were written with one at fit."""
        bare = {}
        for j in np.flatnonzero(plain):
            writing = self.written_.get(self.used_[j], "")
            if writing and np.isfinite(encoded[:, j]).any():
                bare[self.used_[j]] = writing
        percent = [name for name, writing in bare.items() if writing == "%"]
        if percent:
            warn(
                f"Columns that held percentages at fit hold plain numbers: {listing(percent)}; each is taken as the "
                f"number before the sign, 61.3 for 61.3%."
            )
        units = {name: unit_of(writing) for name, writing in bare.items() if unit_of(writing)}
        if units:
            told = listing([Remark(name, unit) for name, unit in units.items()])
            warn(f"Columns that held units at fit hold plain numbers: {told}; each is taken to be in that unit.")

    def _n_text_features(self) -> int:
        return sum(len(learned.labels) for learned in self.texts_.values())

    def _text_blocks(self) -> Iterator[tuple[str, slice]]:
        """Yield columns of texts, and where their features are among the encoded columns."""
        start = len(self.used_)
        for name, learned in self.texts_.items():
            yield name, slice(start, start + len(learned.labels))
            start += len(learned.labels)

    def _width(self, name: str) -> int:
        """Return how many columns a raw column becomes, without that which marks missing values."""
        if name in self.texts_:
            return len(self.texts_[name].labels)
        return len(self.levels_[name]) + (name in self.pooled_) if self.roles_[name] == "categorical" else 1

    def _has_role(self, *roles: str) -> BoolArray:
        """Find which used columns have one of some roles."""
        return np.array([self.roles_[name] in roles for name in self.used_], dtype=bool)

    def _encode_column(self, source: Source, place: int, name: str) -> FloatArray:
        column, role = source.column(place), self.roles_[name]
        writing = self.written_.get(name, "")
        if role == "numeric":
            return to_new_numbers(column, name, writing)
        if role == "boolean":
            return to_booleans(column, name)
        if role == "date":
            return to_days(column, name, self.origins_[name], writing)
        if role == "text":
            return np.where(column.isna(), np.nan, 0.0)
        codes, keys = to_keys(column, name)
        numbers = to_places(codes, keys, self.levels_[name], self.pooled_.get(name, ()))
        unknown = np.flatnonzero(numbers == -1.0)
        if len(unknown):
            values = sorted({keys[code] for code in codes[unknown]})
            what = "no level" if role == "categorical" else "missing"
            levels = [*self.levels_[name], *self.pooled_.get(name, ())]
            bare = {level.lstrip("0"): level for level in levels if level.strip("0")}
            padded = [f"{value!r} is {bare[value.lstrip('0')]!r}" for value in values if value.lstrip("0") in bare]
            hint = f" But for leading zeros, {padded[0]}: write it so if that is meant." if padded else ""
            values_of = "has a value" if len(unknown) == 1 else "have values"
            words = [value for value in values[:5] if not any(map(str.isdigit, value))]
            meant = [f"{near[0]!r} for {value!r}" for value in words if (near := nearest(value, levels, cutoff=0.8))]
            hint = hint or (f" Did you mean {' and '.join(meant)}?" if meant else "")
            warn(
                f"{len(unknown):,} of {len(codes):,} rows {values_of} of {name!r} that fit did not see: "
                f"{listing(values)}; each counts as {what}.{hint}"
            )
            if role == "ordered":
                numbers[unknown] = np.nan
        return numbers

    def _expand(self, encoded: FloatArray) -> FloatArray:
        """Fill what must be filled, and spread levels and flags over their columns."""
        n_used = len(self.used_)
        encoded, texts = encoded[:, :n_used], encoded[:, n_used:]
        gaps = np.isnan(encoded)
        gapped = gaps.any(axis=0)
        keep = self.had_missing_ & (self.missing == "keep")
        new = gapped & ~self.had_missing_
        if new.any():
            counts = gaps[:, new].sum(axis=0)
            names = [name for name, is_new in zip(self.used_, new, strict=True) if is_new]
            told = listing([Remark(name, counted(int(k), "row")) for name, k in zip(names, counts, strict=True)])
            warn(
                f"Missing values in columns that were complete at fit are filled by the median or the most frequent "
                f"level: {told}."
            )
        for j in np.flatnonzero(gapped & ~keep):
            encoded[gaps[:, j], j] = self.fill_[j]
        if len(self.names_out_) == n_used and not self.levels_ and not self.texts_:
            out = encoded
        else:
            out = np.zeros((len(encoded), len(self.names_out_)), dtype=encoded.dtype)
            many, written = self._has_role("categorical"), self._has_role("text")
            single = ~(many | written)
            out[:, self.starts_[single]] = encoded[:, single]
            for name, block in self._text_blocks():
                place = self.used_.index(name)
                features = texts[:, block.start - n_used : block.stop - n_used]
                features[gaps[:, place]] = np.nan if keep[place] else 0.0
                out[:, self.starts_[place] : self.starts_[place] + self._width(name)] = features
            for j in np.flatnonzero(many):
                name, start = self.used_[j], self.starts_[j]
                width = self._width(name)
                out[:, start : start + width] = encoded[:, [j]] == np.arange(width)
                out[np.isnan(encoded[:, j]), start : start + width] = np.nan
            marked = self.marks_ >= 0
            out[:, self.marks_[marked]] = gaps[:, marked]
        if self.center_ is not None and self.scale_ is not None:
            out -= self.center_.astype(out.dtype)
            out /= self.scale_.astype(out.dtype)
        return out

    def _find_scale(self, encoded: FloatArray) -> tuple[FloatArray, FloatArray]:
        out = self._expand(encoded)
        center, scale = np.zeros(out.shape[1]), np.ones(out.shape[1])
        for start in self.starts_[self._has_role("numeric", "date", "ordered")]:
            values = out[:, start][~np.isnan(out[:, start])].astype(np.float64)
            center[start], spread = mean_and_spread(values)
            scale[start] = safe_scale(np.array([spread]), center[[start]])[0]
        for j in np.flatnonzero(self._has_role("text")):
            own = slice(self.starts_[j], self.starts_[j] + self._width(self.used_[j]))
            moments = [mean_and_spread(values[~np.isnan(values)]) for values in out[:, own].T]
            center[own] = [mean for mean, _ in moments]
            scale[own] = np.sqrt(sum(spread**2 for _, spread in moments)) or 1.0
        return center, scale

    def __getstate__(self) -> dict[str, Any]:
        """Save notes as plain text: the arguments that they name are useful only while the fit is reported."""
        state: dict[str, Any] = super().__getstate__()
        return {**state, "notes_": [str(note) for note in state["notes_"]]} if "notes_" in state else state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _check_sparse(source: Source) -> None:
    if not np.isfinite(source.values.data).all():
        raise TableError(
            "the sparse matrix holds NaN or infinity, which forests take in dense tables only. Pass a dense array or "
            "a frame, or remove those values."
        )


def unseen_levels(preparer: TablePreparer, X: Any) -> dict[str, BoolArray]:
    """Find which prepared rows have, in which categorical columns, a level that ``fit`` did not see."""
    unseen = {}
    for j in np.flatnonzero(preparer._has_role("categorical")):
        name, start = preparer.used_[j], preparer.starts_[j]
        rows = X[:, start : start + preparer._width(name)].sum(axis=1) == 0
        if rows.any():
            unseen[name] = rows
    return unseen
