"""The page that shows a map: one self-contained HTML file, made from a payload."""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    names={
        "Explorer": "manifolia.explorer.widget",
        "LivePage": "manifolia.explorer.serve",
        "NewRows": "manifolia.explorer.payload",
        "Payload": "manifolia.explorer.payload",
        "build_payload": "manifolia.explorer.payload",
        "explore": "manifolia.explorer.build",
        "page_html": "manifolia.explorer.page",
        "write_page": "manifolia.explorer.page",
    },
)
