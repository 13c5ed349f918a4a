"""A pipeline and a plain model are taken apart alike."""

from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manifolia._core.pipelines import before_last, last_step


def test_a_pipeline_has_a_last_step_and_what_comes_before():
    scaler, pca = StandardScaler(), PCA(2)
    model = make_pipeline(scaler, pca)
    assert last_step(model) is pca
    assert before_last(model).steps[-1][1] is scaler


def test_a_plain_model_is_its_own_last_step():
    pca = PCA(2)
    assert last_step(pca) is pca
    assert before_last(pca) is None
    assert before_last(make_pipeline(pca)) is None
