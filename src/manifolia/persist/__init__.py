"""Models in files: saved and loaded without pickle, so that a file from someone else cannot run code.

`save` takes a model apart into plain parts (`graph`), of which skops writes the objects and this package the trees of
forests (`trees`), and puts both with a JSON header into one sealed archive (`archive`). `load` goes the same way back
and trusts nothing: the seal, the sizes, the types (`allowed`) and every number that compiled code would use as an index
are checked before anything is built from them; `build` then builds the objects without skops.
"""

from manifolia.persist.files import load, save

__all__ = ["load", "save"]
