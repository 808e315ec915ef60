"""How the documentation is built: `sphinx-build -W --keep-going -n docs OUTPUT`."""

import os
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

from seepage import __version__

project = "seepage"
author = "The seepage developers"
copyright = author  # noqa: A001
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "sphinx_copybutton",
    "author_year",
    "mathml",
    "public_names",
    "terms",
]
exclude_patterns = ["_build", "examples", "pictures"]
templates_path: list[str] = []
nitpicky = True

# Pages are Markdown; equations are $...$ and, with the number that code comments cite, $$...$$ (2.1).
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
math_eqref_format = "({number})"

# Types stand in the docstrings, in words; signatures stay readable without them.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = False
numpydoc_show_class_members = False
default_role = "code"

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "author_year"
bibtex_reference_style = "author_year"

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "min_reported_time": 0,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
}
# The figures of the gallery are stored as files, never shown.
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

# Names of other libraries are links where the network is reached: the build that is published sets the variable.
if os.environ.get("SEEPAGE_DOCS_ONLINE"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "pandas": ("https://pandas.pydata.org/docs", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "statsmodels": ("https://www.statsmodels.org/stable", None),
        "torch": ("https://docs.pytorch.org/docs/stable", None),
    }

# What a link to a page looks like where somebody shares it.
_HOME = "https://seepage-privacy.github.io/seepage"
_SUMMARY = "Measure what a trained model gives away about each person in its training data, and decide what to publish."
html_baseurl = f"{_HOME}/{version}/"
html_extra_path = ["pictures/report_adult_internal.png"]
myst_html_meta = {
    "description": _SUMMARY,
    "property=og:type": "website",
    "property=og:site_name": "seepage",
    "property=og:title": "seepage: what a model gives away, person by person",
    "property=og:description": _SUMMARY,
    "property=og:image": f"{_HOME}/report_adult_internal.png",
    "property=og:image:alt": "The first page of a report: the verdict, what it means, and each attribute",
    "name=twitter:card": "summary_large_image",
}

html_theme = "furo"
html_title = f"seepage {version}"
html_static_path = ["_static"]
html_css_files = ["seepage.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    # Every release keeps its pages, in a folder of its own below the first page of the site.
    "footer_icons": [{"name": "All versions", "url": f"{_HOME}/versions.html", "html": "All versions", "class": ""}],
    "light_css_variables": {"color-brand-primary": "#0b5a86", "color-brand-content": "#0b5a86"},
    "dark_css_variables": {"color-brand-primary": "#7cc4ee", "color-brand-content": "#7cc4ee"},
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
