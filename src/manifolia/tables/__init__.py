"""Tables in, numbers out: readers, column roles, and one transformer that prepares a raw table for a method.

=================  =========================================================================================
`read`             a file (CSV, TSV, Excel, JSON, Parquet, Arrow, npz, npy, h5ad) or an object in memory → `Table`
`Table`            features, what else is known of each row, row names
`TablePreparer`    raw table → float matrix; finds each column's role, and says what it did
`write`            a frame to a file, by its suffix
`write_anndata`    a copy of an h5ad file with map and explanations added
=================  =========================================================================================
"""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    names={
        "Table": "manifolia.tables.table",
        "TableError": "manifolia.exceptions",
        "TablePreparer": "manifolia.tables.preparer",
        "read": "manifolia.tables.reading",
        "write": "manifolia.tables.writing",
        "write_anndata": "manifolia.tables.anndata",
    },
)
