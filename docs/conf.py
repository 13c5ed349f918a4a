"""Settings of the site. It is built with the network off and needs none when it is read."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from xml.sax.saxutils import escape

sys.path.insert(0, str(Path(__file__).parent))

import api_pages

import manifolia
from manifolia.datasets import available

PAPERS = sorted((Path(__file__).parent / "papers").glob("*.md"))

project = "manifolia"
author = "The manifolia developers"
copyright = author
release = manifolia.__version__
version = release

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # MathJax and its fonts from an installed package, in place of a content network
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "_extra", "examples", "stories", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
default_role = "py:obj"
suppress_warnings = ["ref.citation"]  # a reference that the text does not cite by number is still a reference

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

# --- reference ------------------------------------------------------------------------------------------------------

autosummary_generate = api_pages.write(Path(__file__).parent / "api" / "generated")
autodoc_typehints = "none"  # types stand in the docstrings, in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the class template lists them
numpydoc_xref_param_type = False

# --- gallery --------------------------------------------------------------------------------------------------------

#: The stories need data that is not part of the repository. Without it they are shown, and not run.
STORIES = {"scrna_pbmc3k", "titanic", "vowel"} <= set(available())
if not STORIES:
    sys.stderr.write("The stories are not run: their data sets are not in the data home (MANIFOLIA_DATA).\n")

sphinx_gallery_conf = {
    "examples_dirs": ["examples", "stories"],
    "gallery_dirs": ["auto_examples", "auto_stories"],
    "filename_pattern": r"plot_" if STORIES else r"examples.plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,  # that page loads scripts from the network
    "remove_config_comments": True,
    "plot_gallery": "True",
    "image_srcset": ["2x"],
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive", category=UserWarning)

# --- pages ----------------------------------------------------------------------------------------------------------

#: Where the site is hosted, for the sitemap and the version switcher; a build for elsewhere names its own place.
html_baseurl = os.environ.get("MANIFOLIA_DOCS_URL", "https://manifolia.readthedocs.io/en/latest/").rstrip("/") + "/"
html_extra_path = ["_extra"]  # the live pages

html_theme = "pydata_sphinx_theme"
html_title = "manifolia"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "manifolia"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["version-switcher", "theme-switcher"],
    # The list of versions is beside the site, so that a published version learns of later ones.
    "switcher": {
        "json_url": "_static/switcher.json",
        "version_match": "dev" if "dev" in release else release,
    },
    # Tables of equations need the room.
    "secondary_sidebar_items": {"**": ["page-toc"], **{f"papers/{page.stem}": [] for page in PAPERS}},
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"getting_started": []}


def write_sitemap(app, exception):
    """List the pages of the site for search engines."""
    if exception is not None or app.builder.name != "html":
        return
    pages = sorted(path.relative_to(app.outdir).as_posix() for path in Path(app.outdir).rglob("*.html"))
    places = [f"<url><loc>{escape(html_baseurl + page)}</loc></url>" for page in pages if not page.startswith("_")]
    lines = ['<?xml version="1.0" encoding="utf-8"?>', '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">']
    (Path(app.outdir) / "sitemap.xml").write_text("\n".join([*lines, *places, "</urlset>", ""]), encoding="utf-8")
    (Path(app.outdir) / "robots.txt").write_text(f"Sitemap: {html_baseurl}sitemap.xml\n", encoding="utf-8")


def setup(app):
    app.connect("build-finished", write_sitemap)
    app.connect("autodoc-process-docstring", api_pages.bars_as_signs)
    app.connect("autodoc-skip-member", api_pages.skip_member)
