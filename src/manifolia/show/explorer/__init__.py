"""The page that shows a map: one self-contained HTML file, made from a payload."""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    names={
        "Explorer": "manifolia.show.explorer.widget",
        "LivePage": "manifolia.show.explorer.server",
        "NewRows": "manifolia.show.explorer.payload",
        "Payload": "manifolia.show.explorer.payload",
        "build_payload": "manifolia.show.explorer.building",
        "explore": "manifolia.show.explorer.outlets",
        "page_html": "manifolia.show.explorer.page",
        "write_page": "manifolia.show.explorer.page",
    },
)
