"""Settings of the documentation; `make docs` builds it."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extension"))

from whylight import __version__  # noqa: E402  after the path is set

project = "whylight"
author = "The whylight authors"
copyright = author  # noqa: A001  Sphinx's own name
release = __version__
language = "en_GB"
needs_sphinx = "8.0"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "notebooks", "reference"]
exclude_patterns = ["extension", "_build"]
source_suffix = {".md": "myst-nb"}
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nitpicky = True
nitpick_ignore_regex = [("py:.*", r".*")]  # types of torch, numpy and transformers have no page here; links by hand do
suppress_warnings = ["mystnb.unknown_mime_type"]

nb_execution_mode = os.environ.get("NOTEBOOKS", "cache")
nb_execution_cache_path = str(HERE.parent / "build" / "notebooks")
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_execution_in_temp = True
nb_output_stderr = "remove"  # progress bars and paths of the machine; what is printed stays
os.environ |= {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"}  # commands in notebooks print plain text

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"whylight {__version__}"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "monokai"
