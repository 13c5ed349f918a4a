"""Files made by hand, with checksums that are right: refused with a sentence, and nothing of theirs is run."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import manifolia as mf
from manifolia.exceptions import ModelFileError
from manifolia.persist import archive, trees
from manifolia.persist.graph import ObjectArray, Pairs, RandomStream, Scalar, SparseMatrix, TreeAt, TreeList
from persist.forgery import forge, npy, pack, reseal, unpack, with_header, with_member, with_schema

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(5, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def mapped():
    return mf.RFPHATE(n_trees=30, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def good(forest, tmp_path_factory):
    return mf.save(forest, tmp_path_factory.mktemp("good") / "model.mfa")


@pytest.fixture
def sentinel(tmp_path):
    """A file that exists only if something of a crafted file was run."""
    path = tmp_path / "it-ran"
    yield path
    assert not path.exists()


@pytest.fixture
def out(tmp_path):
    return tmp_path / "crafted.mfa"


def refused(path, pattern, **options):
    with pytest.raises(ModelFileError, match=pattern) as caught:
        mf.load(path, **options)
    assert str(caught.value).startswith(f"{path} is not loaded: ")


def test_the_tools_make_files_that_load(forest, mapped, good, out):
    """What is refused below is refused for what was changed, not for how the file was made."""
    for path in (
        forge(forest, out),
        forge(mapped, out),
        pack(out, unpack(good)),
        with_schema(good, out, lambda schema: None),
        with_header(good, out),
    ):
        mf.load(path)


# --- pickle -----------------------------------------------------------------------------------------------------------


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def test_the_bomb_works(tmp_path):
    pickle.loads(pickle.dumps(Bomb(tmp_path / "it-ran")))
    assert (tmp_path / "it-ran").exists()


def test_a_pickle_and_a_joblib_file(out, sentinel):
    out.write_bytes(pickle.dumps(Bomb(sentinel)))
    refused(out, "could run code")
    joblib.dump(Bomb(sentinel), out)
    refused(out, "could run code")
    joblib.dump(Bomb(sentinel), out, compress=3)
    refused(out, "another kind of file")


def test_a_pickle_as_array_of_trees(good, out, sentinel):
    bomb = npy(np.array([Bomb(sentinel)], dtype=object), pickled=True)
    refused(with_member(good, out, "trees/left_child.npy", bomb), "may not hold")


def test_a_pickle_among_the_arrays_of_objects(good, out, sentinel):
    bomb = npy(np.array([Bomb(sentinel)], dtype=object), pickled=True)
    refused(with_schema(good, out, lambda schema: None, **{"17.npy": bomb}), "may not hold")


def test_a_pickle_in_place_of_the_graph(good, out, sentinel):
    refused(with_member(good, out, "graph.skops", pickle.dumps(Bomb(sentinel))), "makes no model")


# --- what skops would build -------------------------------------------------------------------------------------------


def text(value):
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(value)}


def entries(kind, *items):
    return {"__class__": kind, "__module__": "builtins", "__loader__": f"{kind.title()}Node", "content": list(items)}


def command(sentinel):
    return text(f"touch {sentinel}")


def function(sentinel):
    return {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"}


def function_as_type(sentinel):
    return {"__class__": "eval", "__module__": "builtins", "__loader__": "TypeNode"}


def constructed(sentinel):
    arguments = entries("tuple", entries("list", text("touch"), text(str(sentinel))))
    return {
        "__class__": "Popen",
        "__module__": "subprocess",
        "__loader__": "ConstructorFromReduceNode",
        "content": arguments,
    }


def partial(sentinel):
    content = {
        "func": function(sentinel),
        "args": entries("tuple", command(sentinel)),
        "kwds": text({}),
        "namespace": text(None),
    }
    return {"__class__": "partial", "__module__": "functools", "__loader__": "PartialNode", "content": content}


def operator(sentinel):
    return {
        "__class__": "call",
        "__module__": "operator",
        "__loader__": "OperatorFuncNode",
        "attrs": entries("tuple", function(sentinel), command(sentinel)),
    }


def method(sentinel):
    content = {
        "func": "transform",
        "obj": {"__class__": "RFPHATE", "__module__": "manifolia", "__loader__": "ObjectNode"},
    }
    return {"__class__": "RFPHATE", "__module__": "manifolia", "__loader__": "MethodNode", "content": content}


def dictionary_of_calls(sentinel):
    types = entries("list", {"__class__": "system", "__module__": "os", "__loader__": "TypeNode"})
    return {
        "__class__": "dict",
        "__module__": "builtins",
        "__loader__": "DictNode",
        "content": {f"touch {sentinel}": text(1)},
        "key_types": types,
    }


def list_of_another_kind(sentinel):
    return {**entries("list", command(sentinel)), "__class__": "system", "__module__": "os"}


def foreign_class(sentinel):
    return {"__class__": "Evil", "__module__": "evil_module", "__loader__": "ObjectNode"}


def other_estimator(sentinel):
    return {"__class__": "SVC", "__module__": "sklearn.svm._classes", "__loader__": "ObjectNode"}


def tree_by_skops(sentinel):
    return {
        "__class__": "Tree",
        "__module__": "sklearn.tree._tree",
        "__loader__": "TreeNode",
        "__reduce__": {"args": entries("tuple")},
        "content": text({}),
    }


def loss(sentinel):
    return {
        "__class__": "system",
        "__module__": "os",
        "__loader__": "LossNode",
        "__reduce__": {"args": entries("tuple")},
    }


def no_kind_at_all(sentinel):
    return {"__loader__": ["ListNode"], "__module__": None, "__class__": 3}


NODES = [
    function,
    function_as_type,
    constructed,
    partial,
    operator,
    method,
    dictionary_of_calls,
    list_of_another_kind,
    foreign_class,
    other_estimator,
    tree_by_skops,
    loss,
    no_kind_at_all,
]


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.__name__)
@pytest.mark.parametrize("place", ["inside", "whole"])
def test_a_node_that_is_not_allowed(node, place, good, out, sentinel, tmp_path, monkeypatch):
    (tmp_path / "evil_module.py").write_text(f"open({str(sentinel)!r}, 'w').close()\nclass Evil: pass\n")
    monkeypatch.syspath_prepend(tmp_path)

    def change(schema):
        if place == "inside":
            schema["content"]["content"]["max_depth"] = node(sentinel)
        else:
            kept = {key: schema[key] for key in ("protocol", "_skops_version")}
            schema.clear()
            schema.update(node(sentinel), **kept)

    refused(with_schema(good, out, change), "of an unknown kind|type that is not allowed|keys are not texts")
    assert "evil_module" not in sys.modules


def test_a_class_of_scikit_learn_that_is_not_listed_is_not_saved_either(tmp_path):
    with pytest.raises(ModelFileError, match=r"sklearn\.svm\._classes\.SVC"):
        mf.save(SVC().fit(X, Y), tmp_path / "svc.mfa")


@pytest.mark.parametrize(
    ("change", "pattern"),
    [
        (lambda schema: schema.update(protocol=0), "unknown way"),
        (lambda schema: schema.update(protocol=99), "unknown way"),
        (lambda schema: b'{"protocol": 2, "protocol": 2}', "the same thing twice"),
        (lambda schema: b"[" * 100_000, "makes no model"),
        (lambda schema: b"[]", "unknown way"),
        (lambda schema: b"\xff\xfe", "makes no model"),
        (lambda schema: schema["content"].pop("content"), "makes no model"),
        (lambda schema: schema.pop("content"), "has no attributes"),
        (lambda schema: schema["content"]["content"].update(estimators_=text(3)), "other things than trees"),
        (lambda schema: schema["content"]["content"].update(n_features_in_=text(10**9)), "other features or classes"),
        (lambda schema: schema["content"]["content"].update(n_outputs_=text(2)), "other features or classes"),
        (lambda schema: schema["content"]["content"].update(n_jobs=text(10**9)), "n_jobs is no number of threads"),
    ],
)
def test_a_schema_that_is_wrong(change, pattern, good, out):
    refused(with_schema(good, out, change), pattern)


def test_an_array_that_is_elsewhere(good, out):
    def change(schema):
        schema["content"]["content"]["n_classes_"] = {
            "__class__": "ndarray",
            "__module__": "numpy",
            "__loader__": "NdArrayNode",
            "type": "numpy",
            "file": "../../etc/passwd",
        }

    refused(with_schema(good, out, change), "refers to an array that it does not hold")


# --- the archive ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["/tmp/absolute.npy", "../parent.npy", "trees/../../x.npy", "trees/X.npy", "more.txt", "C:\\x"]
)
def test_a_member_of_a_foreign_name(name, good, out):
    refused(pack(out, [*unpack(good), (name, b"")]), "a member that a model file does not have")
    refused(with_schema(good, out, lambda schema: None, **{name: b""}), "a member that a model file does not have")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice(good, out):
    members = unpack(good)
    refused(pack(out, [*members, members[-1]]), "a member that a model file does not have")
    refused(pack(out, [*members, members[0]]), "a member that a model file does not have")


@pytest.mark.parametrize(
    "shape", ["(10000000000000,)", "(-1,)", "(2, 2)", "(3000000000, 3000000000, 3000000000)", "(True,)"]
)
def test_an_array_that_says_it_is_larger_than_it_is(shape, good, out):
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    lie = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 8
    refused(with_member(good, out, "trees/feature.npy", lie), "not as large as that|may not hold|makes no model")
    refused(
        with_schema(good, out, lambda schema: None, **{"17.npy": lie}),
        "not as large as that|may not hold|makes no model",
    )


@pytest.mark.parametrize("array", [np.zeros(3, dtype=[("a", "i4")]), np.zeros(2, dtype="V8")], ids=["records", "void"])
def test_an_array_of_records(array, good, out):
    refused(with_member(good, out, "trees/feature.npy", npy(array)), "may not hold")


def test_a_bomb_of_zeros(good, out):
    path = with_member(good, out, "trees/values.npy", npy(np.zeros(2**20)))
    assert path.stat().st_size < 2**18
    with mf.memory_limit("4MiB"):
        refused(path, r"it would take about 8\.[01] MiB of memory and the limit is 4\.0 MiB")


# --- small files that would take much time or memory ------------------------------------------------------------------


def numbered(node, number):
    return {**node, "__id__": number}


def shared_levels(schema):
    """Twenty lists, each twice in the next: skops would walk through the first a million times."""
    node = numbered(entries("list"), 1)
    for level in range(2, 22):
        node = numbered(entries("list", node, numbered(entries("list"), level - 1)), level)
    return node


def many_nodes(schema):
    return entries("list", *[text(i) for i in range(600)])


def long_text(schema):
    return text("a" * 300_000)


def list_as_text(schema):
    return text([[]] * 1000)


def items_besides(schema):
    return {**text(1), "more": [[]] * 20_000}


def deep_items(schema):
    node = entries("list")
    for _ in range(120):
        node = entries("list", node)
    return node


def array_many_times(schema):
    node = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy"}
    return entries("list", *[numbered({**node, "file": "17.npy"}, i) for i in range(1, 20)])


def large_set(schema):
    return entries("set", *[text(i * (2**61 - 1)) for i in range(2001)])  # numbers of one hash


def keys_of_one_hash(schema):
    kinds = entries("list", {"__class__": "int", "__module__": "builtins", "__loader__": "TypeNode"})
    content = {"1": text(1)}
    node = {"__class__": "dict", "__module__": "builtins", "__loader__": "DictNode"}
    return {**node, "content": content, "key_types": kinds}


@pytest.mark.parametrize(
    ("make", "pattern", "limit"),
    [
        (shared_levels, "two different objects in it have the same number", "1GiB"),
        (many_nodes, r"would take about 1\.\d MiB of memory and the limit is 1\.0 MiB", "1MiB"),
        (long_text, r"would take about 1\.\d MiB of memory and the limit is 1\.0 MiB", "1MiB"),
        (list_as_text, "a list where a number or a text belongs", "1GiB"),
        (items_besides, r"it has 41,\d+ items in 12 levels", "1GiB"),
        (deep_items, r"items in 2\d\d levels", "1GiB"),
        (array_many_times, r"would take about 1\.\d MiB of memory and the limit is 1\.0 MiB", "1MiB"),
        (large_set, "a set that is larger", "1GiB"),
        (keys_of_one_hash, "keys are not texts", "1GiB"),
    ],
)
def test_objects_that_would_take_much(make, pattern, limit, good, out):
    def change(schema):
        schema["content"]["content"]["max_depth"] = make(schema)

    more = {"17.npy": npy(np.zeros(2**13))}
    with mf.memory_limit(limit):
        refused(with_schema(good, out, change, **more), pattern)


def test_objects_of_a_model_have_a_limit_of_their_own(good, out, monkeypatch):
    """Unless the user sets one, a file that describes very many objects is refused however much memory is free."""
    path = with_schema(good, out, lambda schema: schema["content"]["content"].update(max_depth=many_nodes(schema)))
    monkeypatch.setattr(archive, "_MOST_OBJECTS", 500)
    monkeypatch.setattr(archive, "_PACKED_OBJECT", 1000)
    refused(path, r"the limit is 1000\.0 KiB\. .*MANIFOLIA_MEMORY_LIMIT.*manifolia\.memory_limit\('8GiB'\)")
    with mf.memory_limit("1GiB"):
        mf.load(path)
    monkeypatch.setattr(archive, "_PACKED_OBJECT", 1)  # a file that is large itself may describe more
    mf.load(path)


def test_a_model_of_very_many_objects_is_saved(out, monkeypatch):
    monkeypatch.setattr(archive, "_MOST_OBJECTS", 500)
    monkeypatch.setattr(archive, "_PACKED_OBJECT", 1000)
    path = mf.save(FunctionTransformer(kw_args={f"column {i}": i for i in range(600)}), out)
    refused(path, "would take about")
    with mf.memory_limit("1GiB"):
        assert mf.load(path).kw_args["column 7"] == 7


def test_objects_that_are_packed_twice(good, out):
    """What is packed twice can be a millionth of what it holds."""
    refused(pack(out, unpack(good), packing=zipfile.ZIP_DEFLATED), "'graph.skops' is packed twice")


def test_more_members_than_there_can_be(good, out, monkeypatch):
    inner = {f"{10**6 + i}.npy": npy(np.zeros(1)) for i in range(600)}
    path = with_schema(good, out, lambda schema: None, **inner)
    mf.load(path)
    with mf.memory_limit("1MiB"):
        refused(path, "would take about")
    monkeypatch.setattr(archive, "_MOST_HEADER", 1500)
    more = [("trees/" + "a" * (1 + i % 40) + "b" * (i // 40) + ".npy", b"") for i in range(100)]
    refused(pack(out, [*unpack(good), *more]), "more members than a model file has")
    data = bytearray(good.read_bytes())
    at = data.rindex(b"PK\x05\x06")
    data[at:at] = b"PK\x06\x07" + bytes(16)
    refused(reseal(out, bytes(data)), "more members than a model file has")


def test_more_trees_than_there_can_be(forest, out):
    def stumps(arrays):
        single = {"left_child": -1, "right_child": -1, "feature": -2, "max_depth": 0, "node_count": 1}
        for name, array in arrays.items():
            arrays[name] = np.repeat(array[:1] if name != "values" else array[:3], 600)
            arrays[name][:] = single.get(name, arrays[name])

    with mf.memory_limit("1MiB"):
        refused(forge(forest, out, nodes=stumps), "would take about")


def test_trees_deeper_than_any(good, monkeypatch):
    monkeypatch.setattr(trees, "_DEEPEST", 3)
    refused(good, "a tree has more than 3 levels")


def test_keys_that_would_take_the_square_of_the_time(out):
    many = [i * (2**61 - 1) for i in range(2001)]
    path = forge(FunctionTransformer(), out, change=held(Pairs(many, many)))
    refused(path, "a dictionary has keys that no model has")
    mf.load(forge(FunctionTransformer(), out, change=held(Pairs(many[:100], many[:100]))))


def test_an_array_of_very_many_texts(out):
    path = forge(FunctionTransformer(), out, change=held(ObjectArray((2**15,), np.full(2**15, "a"))))
    with mf.memory_limit("1MiB"):
        refused(path, r"would take about 2\.0 MiB")


def test_a_member_that_says_it_is_larger_than_it_can_be(good, out):
    data = bytearray(good.read_bytes())
    place = data.rindex(b"trees/values.npy") - 46  # its entry in the list at the end
    data[place + 24 : place + 28] = (2**31).to_bytes(4, "little")
    refused(reseal(out, bytes(data)), "larger than it can be")


def test_an_encrypted_member(good, out):
    data = bytearray(good.read_bytes())
    place = data.rindex(b"trees/values.npy") - 46
    data[place + 8] |= 1
    refused(reseal(out, bytes(data)), "packed in an unknown way")


@pytest.mark.parametrize(
    ("header", "pattern"),
    [
        ({"version": 1}, "a model file of format 1, .* Make the map again from its data and save it"),
        ({"version": 3}, "version 3, this manifolia reads version 2. Update manifolia"),
        ({"version": 0}, "version 0"),
        ({"version": True}, "not that of a model file"),
        ({"version": "2"}, "not that of a model file"),
        ({"format": "other"}, "not that of a model file"),
        ({"model": "os.system"}, "names another class"),
        ({"model": None}, "names another class"),
    ],
)
def test_a_header_that_lies(header, pattern, good, out):
    refused(with_header(good, out, **header), pattern)


@pytest.mark.parametrize(
    "name",
    ["manifolia.Nothing", "manifolia.methods.rf_phate.RFPHATE", "os.system", "subprocess.Popen", "", None, 3, ["x"]],
    ids=str,
)
@pytest.mark.parametrize("place", ["inside", "whole"])
def test_an_id_that_is_not_in_the_table(name, place, mapped, out, tmp_path):
    path = mf.save(mapped, tmp_path / "model.mfa")

    def change(schema):
        node = schema["content"]["_fitted_forest"] if place == "inside" else schema
        assert json.loads(node["content"]["manifolia:type"]["content"]).startswith("manifolia.")
        node["content"]["manifolia:type"] = entries("list", text("x")) if isinstance(name, list) else text(name)

    refused(with_schema(path, out, change), "of a type that is not allowed" if name != ["x"] else "makes no model")


def test_fields_that_a_class_does_not_have(mapped, out, tmp_path):
    path = mf.save(mapped, tmp_path / "model.mfa")

    def without_span(schema):
        fields = schema["content"]["_fitted_forest"]["content"]["ranges"]
        fields["content"].pop("span")
        fields["key_types"]["content"].pop()

    def with_one_more(schema):
        fields = schema["content"]["_fitted_forest"]["content"]["ranges"]
        fields["content"]["more"] = text(3)
        fields["key_types"]["content"].append(fields["key_types"]["content"][0])

    for change in (without_span, with_one_more):
        refused(with_schema(path, out, change), "manifolia.state.NodeRanges has other fields")


def test_a_class_of_ours_is_not_built_by_skops(good, out):
    node = {"__class__": "RFPHATE", "__module__": "manifolia.methods.rf_phate", "__loader__": "ObjectNode"}
    path = with_schema(good, out, lambda schema: schema["content"]["content"].update(max_depth=node))
    refused(path, r"type that is not allowed: manifolia\.methods")


def test_a_header_that_is_none(good, out):
    members = dict(unpack(good))
    for data, pattern in (
        (b"[]", "not that of a model file"),
        (b"{", "makes no model"),
        (b"{}", "not that of a model"),
    ):
        refused(pack(out, list({**members, "manifolia.json": data}.items()), rewrite_header=False), pattern)
    refused(pack(out, [(name, data) for name, data in members.items() if name != "manifolia.json"]), "no header")
    refused(pack(out, [(name, data) for name, data in members.items() if name != "graph.skops"]), "does not match")


def test_a_checksum_that_is_wrong(good, out):
    members = dict(unpack(good))
    members["trees/threshold.npy"] = members["trees/impurity.npy"]
    refused(pack(out, list(members.items()), rewrite_header=False), "does not match the checksum in its header")


def test_what_a_foreign_scikit_learn_says_is_a_warning(good, out):
    other = with_header(good, out, libraries={"scikit-learn": "0.9.1", "manifolia": "0.0"})
    with pytest.warns(mf.exceptions.ManifoliaWarning, match=r"saved with scikit-learn 0\.9\.1"):
        mf.load(other)


# --- trees ------------------------------------------------------------------------------------------------------------


def cycle(a):
    a["left_child"][a["right_child"][0]] = 0


def loop(a):
    a["left_child"][0] = 0


def two_parents(a):
    a["left_child"][0] = a["right_child"][0]


def child_beyond(a):
    a["right_child"][0] = a["node_count"][0]


def child_far_beyond(a):
    a["right_child"][0] = 2**31 - 1


def negative_child(a):
    a["left_child"][0] = -5


def half_a_leaf(a):
    a["left_child"][0] = -1


def feature_beyond(a):
    a["feature"][0] = 4


def negative_feature(a):
    a["feature"][0] = -3


def leaf_with_feature(a):
    a["feature"][np.flatnonzero(a["left_child"] == -1)[0]] = 1


def no_threshold(a):
    a["threshold"][0] = np.nan


def too_shallow(a):
    a["max_depth"][2] -= 1


def far_too_deep(a):
    a["max_depth"][2] = 2**40


def negative_depth(a):
    a["max_depth"][:] = -1


def missing_nowhere(a):
    a["missing_go_to_left"][0] = 7


def fewer_than_none(a):
    a["n_node_samples"][0] = -1


def more_nodes_than_there_are(a):
    a["node_count"][0] += 1


def overflowing_nodes(a):
    a["node_count"] = np.array([2**62, 2**62, 2**62, 2**62, a["node_count"].sum()])


def no_nodes(a):
    a["node_count"][1] += a["node_count"][0]
    a["node_count"][0] = 0


def negative_nodes(a):
    a["node_count"][0] = -a["node_count"][0]


def nodes_of_another_tree(a):
    a["node_count"][0] += 2
    a["node_count"][1] -= 2


def short_values(a):
    a["values"] = a["values"][:-1]


def short_nodes(a):
    a["threshold"] = a["threshold"][:-1]


def more_classes(a):
    a["n_classes"][0] = 4


def no_classes(a):
    a["n_classes"][0] = 0


def negative_classes(a):
    a["n_classes"][:] = -3


def more_outputs(a):
    a["n_outputs"][0] = 2


def outputs_of_another_tree(a):
    a["n_outputs"][:] = [2, 0, 1, 1, 1]


def no_features(a):
    a["n_features"][:] = 0


def more_features(a):
    a["n_features"][:] = 1000
    a["feature"][0] = 999


def fewer_trees(a):
    a["max_depth"] = a["max_depth"][:-1]


def another_type(a):
    a["left_child"] = a["left_child"].astype(float)


def another_shape(a):
    a["feature"] = a["feature"].reshape(1, -1)


def no_property(a):
    del a["impurity"]


def one_property_more(a):
    a["categories"] = a["impurity"]


def no_trees(a):
    a.clear()


def fewer_classes_everywhere(a):
    a["n_classes"][:] = 1
    a["values"] = a["values"][::3].copy()


LIES = [
    value
    for value in list(vars().values())
    if getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("a",)
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_trees_that_are_none(lie, forest, out):
    refused(
        forge(forest, out, nodes=lie),
        "its trees are not trees of a fitted forest|its trees have the properties|parts do not fit together",
    )


def test_there_are_many_lies():
    assert len(LIES) == 37


def test_tampering_at_random_never_crashes(seed, tmp_path):
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("tamper.py")), str(seed), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 75  # of 150; some changes are those of another tree that is as good


def test_a_lone_tree_is_checked_too(out):
    tree = DecisionTreeClassifier(random_state=0).fit(X, Y)
    mf.load(forge(tree, out))
    refused(forge(tree, out, nodes=cycle), "a child is not a later node of its tree")
    refused(forge(tree, out, change=lambda parts: vars(parts).update(tree_=TreeAt(1))), "a tree that it does not hold")
    refused(forge(tree, out, change=lambda parts: vars(parts).update(tree_=TreeAt(-1))), "a tree that it does not hold")
    refused(forge(tree, out, change=lambda parts: vars(parts).update(tree_=StandardScaler())), "a tree has no nodes")
    refused(forge(tree, out, change=lambda parts: vars(parts).update(n_features_in_=9)), "other features or classes")


def test_trees_in_other_places(forest, out):
    stranger = FunctionTransformer()

    def hide(parts):
        vars(parts)["scale_"] = TreeAt(0)

    pipeline = make_pipeline(StandardScaler().fit(X), forest)
    refused(forge(pipeline, out, change=lambda parts: hide(parts.steps[0][1])), "a tree is where none belongs")
    refused(forge(forest, out, change=lambda parts: vars(parts).update(estimators_=[])), "other things than trees")
    refused(
        forge(forest, out, change=lambda parts: vars(parts).update(estimators_=[stranger])), "other things than trees"
    )
    fake = TreeList(stranger, [0], 0)
    refused(
        forge(forest, out, change=lambda parts: vars(parts).update(estimators_=fake)), "the trees of a forest are none"
    )

    def more(parts):
        old = parts.estimators_
        parts.estimators_ = TreeList(old.template, [*old.seeds, 0], old.first)

    refused(forge(forest, out, change=more), "a tree that it does not hold")


@pytest.mark.parametrize("steps", [[], None, [1], [("a", 1, 2)], [(1, "a")]])
def test_pipelines_without_steps(forest, out, steps):
    pipeline = make_pipeline(StandardScaler().fit(X), forest)
    path = forge(pipeline, out, change=lambda parts: vars(parts).update(steps=steps))
    refused(path, "a pipeline has no steps")


def test_parameters_that_are_never_saved(forest, out):
    for name in ("callback", "memory"):
        path = forge(forest, out, change=lambda parts, name=name: vars(parts).update({name: "cache"}))
        refused(path, "a parameter that is never saved")


def encoder(**options):
    words = np.array([["a"], ["b"], ["c"], ["c"], ["d"], ["d"]], dtype=object)
    return OneHotEncoder(**options).fit(np.column_stack([words, np.arange(6) % 3 + 0.5]).astype(object))


ENCODERS = [{}, {"drop": "first"}, {"drop": "if_binary"}, {"min_frequency": 2}, {"max_categories": 2, "drop": "first"}]


@pytest.mark.parametrize("options", ENCODERS, ids=str)
def test_one_hot_encoders(options, out):
    model = encoder(**options)
    new = np.array([["d", 1.5], ["a", 0.5]], dtype=object)
    assert (mf.load(mf.save(model, out)).transform(new) != model.transform(new)).nnz == 0
    narrow = list(model._n_features_outs)
    narrow[-1] -= 1
    refused(forge(model, out, change=lambda parts: vars(parts).update(_n_features_outs=narrow)), "other columns than")


def test_one_hot_encoders_that_would_write_elsewhere(out):
    def change(**state):
        return lambda parts: vars(parts).update(state)

    numbers = OneHotEncoder().fit(np.arange(4.0)[:, np.newaxis])
    mf.load(forge(numbers, out))
    wrong = change(categories_=[np.array([3.0, 2.0, 0.0, 1.0])])
    refused(forge(numbers, out, change=wrong), "in no order")
    wrong = change(categories_=[np.array([0.0, np.nan, 1.0, 2.0])])
    refused(forge(numbers, out, change=wrong), "in no order")
    mf.load(mf.save(OneHotEncoder().fit([[1.0], [2.0], [np.nan]]), out))
    refused(forge(encoder(), out, change=change(_n_features_outs=[4])), "no sizes")
    dropping = encoder(drop="first")
    wrong = change(_drop_idx_after_grouping=ObjectArray((2,), [9, 0]))
    refused(forge(dropping, out, change=wrong), "leaves out a category that it does not have")
    grouping = encoder(min_frequency=2)
    wrong = change(_default_to_infrequent_mappings=[np.array([0, 1, 2**40, 0]), None])
    refused(forge(grouping, out, change=wrong), "other columns than")
    wrong = change(_default_to_infrequent_mappings=[np.array([0, 1, -7, 0]), None])
    refused(forge(grouping, out, change=wrong), "grouped in no way")


# --- what kernels index with ------------------------------------------------------------------------------------------


def forest_of(parts, **changes):
    vars(parts._fitted_forest).update(changes)


def leaf_beyond(parts):
    leaf = parts._fitted_forest.leaf.copy()
    leaf[3, 7] = 2**30
    forest_of(parts, leaf=leaf)


def leaf_of_another_tree(parts):
    leaf = parts._fitted_forest.leaf.copy()
    leaf[0, 0] = leaf[1].min()
    forest_of(parts, leaf=leaf)


def negative_leaf(parts):
    forest_of(parts, leaf=parts._fitted_forest.leaf - 2**20)


def wide_leaves(parts):
    forest_of(parts, leaf=parts._fitted_forest.leaf.astype(np.int64))


def short_counts(parts):
    forest_of(parts, counts=parts._fitted_forest.counts[:, 1:])


def other_counts(parts):
    forest_of(parts, counts=parts._fitted_forest.counts.astype(float))


def fewer_rows(parts):
    forest_of(parts, leaf=parts._fitted_forest.leaf[:, 1:], counts=parts._fitted_forest.counts[:, 1:])


def no_fitted_forest(parts):
    parts._fitted_forest = tuple(vars(parts._fitted_forest).values())


def short_places(parts):
    forest_of(parts, leaves=parts._fitted_forest.leaves._replace(values=parts._fitted_forest.leaves.values[:3]))


def short_filled(parts):
    forest_of(parts, leaves=parts._fitted_forest.leaves._replace(filled=parts._fitted_forest.leaves.filled[:3]))


def short_ranges(parts):
    forest_of(parts, ranges=parts._fitted_forest.ranges._replace(low=parts._fitted_forest.ranges.low[:3]))


def short_spans(parts):
    forest_of(parts, ranges=parts._fitted_forest.ranges._replace(span=parts._fitted_forest.ranges.span[:1]))


def short_excess(parts):
    forest_of(parts, excess=np.ones(3))


def short_weight(parts):
    forest_of(parts, weight=np.ones(3))


def other_features(parts):
    parts.n_features_in_ = 3


def no_forest(parts):
    forest_of(parts, forest=StandardScaler())


def own_table_as_forest(parts):
    forest_of(parts, forest=FunctionTransformer())
    vars(parts._fitted_forest.forest).update(estimators_=[FunctionTransformer()], n_features_in_=4)


STATES = [
    value
    for value in list(vars().values())
    if getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("parts",) and value is not forest_of
]


@pytest.mark.parametrize("change", STATES, ids=lambda change: change.__name__)
def test_fitted_arrays_that_do_not_fit_the_forest(change, mapped, out):
    mapped.novelty(X[:2])
    refused(forge(mapped, out, change=change), "does not fit the forest|fit its forest|makes no model")


def test_there_are_many_states():
    assert len(STATES) == 17


def held(value):
    return lambda parts: vars(parts).update(kw_args=value)


def matrix(**changes):
    eye = sp.csr_array(np.eye(4))
    return SparseMatrix("csr_array", (4, 4), eye.data, eye.indices, eye.indptr)._replace(**changes)


def stream(bits, **changes):
    state = getattr(np.random, bits)(0).state
    for key, value in changes.items():
        (state if key in state else state["state"])[key] = value
    return RandomStream(False, state, {})


@pytest.mark.parametrize(
    "value",
    [
        matrix(indices=np.array([0, 1, 2, 2**30])),
        matrix(indices=np.array([0, 1, 2, -7])),
        matrix(indptr=np.array([0, 1, 2, 3, 400])),
        matrix(indptr=np.array([0, 3, 2, 1, 4])),
        matrix(shape=(4, 2**70)),
        matrix(shape=(-4, 4)),
        matrix(kind="csr_array.__init__"),
        matrix(kind="save_npz"),
        matrix(data=np.array(3.0)),
        matrix(kind="coo_array"),
        matrix(kind="coo_array", indptr=np.array([0, 1, 2, 2**40])),
        stream("MT19937", pos=10**6),
        stream("MT19937", pos=-10),
        stream("Philox", buffer_pos=-5),
        stream("PCG64", bit_generator="seed"),
        RandomStream(True, {"bit_generator": "PCG64"}, {}),
        RandomStream(False, np.random.PCG64(0).state, {"pool_size": 2**31}),
        Scalar(np.zeros(3)),
        ObjectArray((2**60,), ["a"]),
        TreeAt(0),
    ],
    ids=lambda value: str(value)[:70],
)
def test_parts_that_do_not_fit(value, out):
    path = forge(FunctionTransformer(), out, change=held(value))
    refused(path, "do not fit together|makes no model|sparse|does not hold")


@pytest.mark.parametrize("value", [matrix(), stream("MT19937"), stream("Philox")], ids=["matrix", "twister", "philox"])
def test_parts_that_fit(value, out):
    mf.load(forge(FunctionTransformer(), out, change=held(value)))


def test_nothing_is_written_while_loading(good, tmp_path):
    folder = tmp_path / "only"
    folder.mkdir()
    copy = folder / "model.mfa"
    copy.write_bytes(good.read_bytes())
    mf.load(copy)
    assert [entry.name for entry in folder.iterdir()] == ["model.mfa"]
    with zipfile.ZipFile(io.BytesIO(copy.read_bytes())) as archive:
        assert archive.testzip() is None
