"""Which pixels vary around an image: importances of its features, drawn as an image beside it.

A row's importances (Eq. 4 of FeatureMAP), reshaped like its pixels, light up where similar images differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from manifolia._core.types import ArrayLike, FloatArray
from manifolia._core.validate import check_bool, check_number, check_option, is_sparse, row_numbers
from manifolia.exceptions import ParameterError
from manifolia.show._features import explained_model, group_rows
from manifolia.show._style import Axes, Display, check_shape, matplotlib_part, shorten
from manifolia.show.palette import DARK

_GAP = 0.10  # between tiles, in widths of an image
_TITLE = 0.26  # space for the text above an image, in its widths
_NAME = 14
_SALIENT = ("#FFFFFF", "#FDE3DC", "#F8A58F", "#DD513A", "#9B1B1E", "#4D0711")  # white to dark red, rising in darkness
_SALIENT_DARK = ("#15181D", "#4A1512", "#8F2A1C", "#D9573A", "#F9A98F", "#FFF1EC")


@dataclass(eq=False, repr=False)
class SaliencyDisplay(Display):
    """Images and their saliency maps; make one with `from_estimator` or `from_data`.

    Parameters
    ----------
    images : ndarray of shape (m, h, w) or (m, h, w, channels) or None
        Images; None shows saliency alone.
    saliency : ndarray of shape (m, h, w)
        Importance of each pixel.
    titles : list of str, default=None
        Title above each image.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    figure_ : matplotlib Figure
        After `plot`: the figure of `ax_`.
    image_tiles_ : list of matplotlib AxesImage
        After `plot`: the images, in order.
    saliency_tiles_ : list of matplotlib AxesImage
        After `plot`: the saliency maps.
    titles_ : list of matplotlib Text
        After `plot`: the texts over them.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import manifolia as mf
    >>> model = mf.FeatureMAP(n_epochs=20, random_state=0).fit(load_digits().data[:200])
    >>> mf.show.SaliencyDisplay.from_estimator(model, [0, 1, 2], shape=(8, 8)).saliency.shape
    (3, 8, 8)
    """

    images: FloatArray | None
    saliency: FloatArray
    _: KW_ONLY
    titles: list[str] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        rows: Any = None,
        *,
        shape: Sequence[int] | None = None,
        X: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        kind: str = "variance",
        titles: Sequence[Any] | None = None,
        max_rows: int = 1_000,
    ) -> SaliencyDisplay:
        """Take importances of a fitted FeatureMAP.

        Parameters
        ----------
        estimator : FeatureMAP
            Fitted on images, one feature per pixel.
        rows : int, slice, array-like of int or bool, default=None
            Which rows, of the training rows or of `X`; None: all rows of `X`, or the first 10 of the map.
        shape : sequence of int, default=None
            Height, width and, if there are any, colour channels of an image; None takes a square.
        X : array-like of shape (m, d), default=None
            New images; None: training rows.
        groups : array-like of shape (n,), default=None
            Labels of all training rows: shows the mean image and the mean importance of each class instead of rows.
        kind : {"variance", "gradient"}, default="variance"
            Importance with directions weighted by their variance, or each counted alike (Eq. 4).
        titles : sequence of str, default=None
            Title above each image; None uses the numbers of the rows, or the names of the groups.
        max_rows : int, default=1000
            For a larger group, a sample is averaged.

        Returns
        -------
        SaliencyDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If the features do not form an image of that shape, or both rows and groups are given.
        """
        check_option(kind, "kind", ("variance", "gradient"))
        model = explained_model(estimator, "SaliencyDisplay")
        _check_image(shape, model.n_features_in_)
        if groups is not None:
            if rows is not None or X is not None:
                raise ParameterError(
                    "groups are averages over training rows. Pass rows (and X) without groups, or groups alone.",
                    parameter="groups",
                )
            members = group_rows(groups, model.embedding_.shape[0], max_rows)
            images = [model.feature_values(rows=inside).mean(axis=0) for _, inside in members]
            maps = [model.feature_importance(rows=inside, kind=kind).mean(axis=0) for _, inside in members]
            names = [name for name, _ in members] if titles is None else titles
            return cls.from_data(images, maps, shape=shape, titles=names)
        new = None if X is None else np.asarray(X.toarray() if is_sparse(X) else X)
        n = len(model.embedding_ if new is None else new)
        points = np.arange(n)[: 10 if new is None else n] if rows is None else row_numbers(rows, n)
        pixels = model.feature_values(rows=points) if new is None else new[points]
        found = model.feature_importance(rows=points, X=X, kind=kind)
        names = [f"row {row}" for row in points] if titles is None else titles
        return cls.from_data(pixels, found, shape=shape, titles=names)

    @classmethod
    def from_data(
        cls,
        images: ArrayLike | None,
        saliency: ArrayLike,
        *,
        shape: Sequence[int] | None = None,
        titles: Sequence[Any] | None = None,
    ) -> SaliencyDisplay:
        """Take images and importances.

        Parameters
        ----------
        images : array-like of shape (m, d) or None
            Pixels of each image; None shows saliency alone.
        saliency : array-like of shape (m, d)
            Importance of each pixel.
        shape : sequence of int, default=None
            Height, width and, if there are any, colour channels; None takes a square.
        titles : sequence of str, default=None
            Title above each image.

        Returns
        -------
        SaliencyDisplay
            Ready to `plot`; the importances of several channels are added as squares.

        Raises
        ------
        ValueError
            If sizes do not fit.
        """
        found = np.asarray(saliency, dtype=np.float64)
        if found.ndim != 2 or not found.shape[0]:
            raise ParameterError(
                f"saliency must be of shape (images, pixels), got shape {found.shape}.", parameter="saliency"
            )
        size = _check_image(shape, found.shape[1])
        m = found.shape[0]
        pixels = None if images is None else np.asarray(images, dtype=np.float64)
        if pixels is not None:
            check_shape(pixels, found.shape, "images", "as saliency is")
        if titles is not None and len(titles) != m:
            raise ParameterError(
                f"titles has {len(titles)} entries and there are {m} images. Pass one for each.", parameter="titles"
            )
        maps = found.reshape(m, *size)
        if len(size) == 3:
            maps = np.sqrt((maps**2).sum(axis=3))
        return cls(
            None if pixels is None else pixels.reshape(m, *size),
            maps,
            titles=None if titles is None else [str(title) for title in titles],
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        theme: str = "auto",
        n_columns: int = 10,
        cmap: Any = None,
        image_cmap: Any = None,
        common_scale: bool = False,
    ) -> SaliencyDisplay:
        """Draw it: each image with its saliency map below it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw all of them; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds of axes and figure; "auto" leaves them and follows the axes.
        n_columns : int, default=10
            Number of images per row.
        cmap : str or Colormap, default=None
            Scale of importance; None goes from the background to the most salient red.
        image_cmap : str or Colormap, default=None
            Scale of the images; None is ink on paper.
        common_scale : bool, default=False
            Whether all saliency maps have one scale, or each its own from 0 to its largest.

        Returns
        -------
        SaliencyDisplay
            Itself, with `ax_` and what was drawn.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        check_number(n_columns, "n_columns", low=1, integer=True)
        check_bool(common_scale, "common_scale")
        m, height, width = self.saliency.shape
        across = min(n_columns, m)
        down = -(-m // across)
        n_kinds = 1 + (self.images is not None)
        step_x = width * (1.0 + _GAP)
        step_y = n_kinds * (height + width * _GAP) + width * (_TITLE if self.titles is not None else _GAP)
        inch = float(np.clip(9.6 / across, 0.55, 1.6))
        figure_size = (max(inch * across, 2.0), max(inch * down * step_y / step_x, 1.2))
        ax, chosen = self._open(ax, theme, figure_size)
        dark = chosen is DARK
        if cmap is None:
            stops = _SALIENT_DARK if dark else _SALIENT
            cmap = matplotlib_part("colors").LinearSegmentedColormap.from_list("manifolia-saliency", stops)
        if image_cmap is None:
            image_cmap = "gray" if dark else "gray_r"
        largest = float(self.saliency.max()) or 1.0
        self.image_tiles_: list[Any] = []
        self.saliency_tiles_: list[Any] = []
        self.titles_: list[Any] = []
        top = width * (_TITLE if self.titles is not None else 0.0)
        for i in range(m):
            x, y = (i % across) * step_x, (i // across) * step_y + top
            if self.titles is not None:
                look: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 8, "color": chosen.text}
                title = shorten(self.titles[i], _NAME)
                self.titles_.append(ax.text(x + width / 2, y - 0.04 * width, title, parse_math=False, **look))
            if self.images is not None:
                self.image_tiles_.append(_tile(ax, self.images[i], x, y, image_cmap))
                y += height + width * _GAP
            own = largest if common_scale else (float(self.saliency[i].max()) or 1.0)
            self.saliency_tiles_.append(_tile(ax, self.saliency[i], x, y, cmap, limits=(0.0, own)))
        ax.set(xlim=(0.0, across * step_x), ylim=(down * step_y, 0.0), xticks=[], yticks=[], aspect="equal")
        ax.spines[:].set_visible(False)
        return self


def _tile(ax: Any, pixels: FloatArray, x: float, y: float, cmap: Any, limits: tuple[float, float] | None = None) -> Any:
    height, width = pixels.shape[:2]
    low, high = (float(pixels.min()), float(pixels.max())) if limits is None else limits
    high = high if high > low else low + 1.0
    shown = np.clip((pixels - low) / (high - low), 0.0, 1.0) if pixels.ndim == 3 else pixels
    return ax.imshow(
        shown, cmap=cmap, vmin=low, vmax=high, extent=(x, x + width, y + height, y), interpolation="nearest"
    )


def _check_image(shape: Sequence[int] | None, n_features: int) -> tuple[int, ...]:
    """Shape of an image; a square by default."""
    if shape is None:
        side = math.isqrt(n_features)
        if side * side != n_features:
            raise ValueError(f"{n_features} features are no square image. Pass shape=(height, width).")
        return side, side
    size = tuple(check_number(one, "shape", low=1, integer=True) for one in shape)
    if len(size) not in (2, 3) or math.prod(size) != n_features or (len(size) == 3 and size[2] not in (3, 4)):
        raise ParameterError(
            f"shape must be (height, width) or (height, width, 3 or 4 channels) with {n_features} pixels, got {size}.",
            parameter="shape",
        )
    return size
