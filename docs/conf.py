"""Settings of the site. It is built with the network off and needs none when it is read."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import api_pages

import manifolia

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
exclude_patterns = ["_build", "examples", "**/GALLERY_HEADER.rst"]
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

sphinx_gallery_conf = {
    "examples_dirs": ["examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"plot_",
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

html_theme = "pydata_sphinx_theme"
html_title = "manifolia"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "manifolia"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher"],
    # Tables of equations need the room.
    "secondary_sidebar_items": {"**": ["page-toc"], **{f"papers/{page.stem}": [] for page in PAPERS}},
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"getting_started": []}


def setup(app):
    app.connect("autodoc-process-docstring", api_pages.bars_as_signs)
    app.connect("autodoc-skip-member", api_pages.skip_member)
