"""The public sets that manifolia knows by name: target, identifiers, split, meaning of the class codes, quirks.

A set is known by the name of its file in the data home. Values are those of the source: no scaling,
imputation or encoding, unless the text says so.

References
----------
Rhodes, Cutler, Wolf and Moon: supervised visualization with forest proximities and diffusion (RF-PHATE).
Liao, Luo and Ma (2023): Bayesian selection of hyperparameters in dimension reduction.
Vens and Costa (2011): random forest based feature induction.
Gisbrecht, Schulz and Hammer (2015): kernel t-SNE.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

__all__ = ["KNOWN", "KnownSet"]


@dataclass(frozen=True)
class KnownSet:
    """What is known about a set beyond its file."""

    about: str  # What a row is, and what to beware of
    origin: str  # Where it comes from
    licence: str  # As far as the source states one
    n_rows: int  # Rows of the complete set
    task: str = "classification"  # "classification", "regression", "multilabel" or "none"
    target: tuple[str, ...] = ("y",)  # Target columns of a table or of the label table; the array of a matrix
    identifiers: tuple[str, ...] = ()  # Columns that name a row or an event and are no features
    n_train: int | None = None  # Rows at the top that are the training part, where the file does not say it
    classes: Mapping[Hashable, str] | None = None  # Class code to its meaning, in the source's order
    image_shape: tuple[int, int] | None = None  # Height and width of a row seen as an image
    feature_column: str | None = None  # The column of the feature table that names the features of a count matrix
    openml: str | None = None  # The set's name on OpenML, where it differs from ours

    @property
    def description(self) -> str:
        """The text for the user."""
        return f"{self.about} Source: {self.origin}. Licence: {self.licence}."


_UCI = "CC BY 4.0 (UCI)"
_DIGITS: dict[Hashable, str] = {d: str(d) for d in range(10)}
_GARMENTS: dict[Hashable, str] = dict(
    enumerate(
        ["T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"]
    )
)

_TABLES: dict[str, KnownSet] = {
    "titanic": KnownSet(
        "Passengers of the Titanic and whether they survived. Missing: 177 ages, 687 cabins, 2 ports; 712 rows "
        "are complete once Cabin is dropped, as Rhodes et al. use them. PassengerId, Name and Ticket name a "
        "passenger and are kept out of the features.",
        "Kaggle 'Titanic', training file",
        "Kaggle competition data",
        891,
        target=("Survived",),
        identifiers=("PassengerId", "Name", "Ticket"),
        classes={0: "died", 1: "survived"},
    ),
    "ames_housing": KnownSet(
        "Houses sold in Ames, Iowa, with 79 variables and the sale price. 6965 cells in 19 columns are missing: NA "
        "is read as missing also where it means that the house has no such part; the text 'None' in MasVnrType is "
        "a value.",
        "De Cock (2011), Kaggle 'House Prices', training file",
        "Kaggle competition data",
        1460,
        task="regression",
        target=("SalePrice",),
        identifiers=("Id",),
        openml="house_prices",
    ),
    "iris": KnownSet(
        "Fisher's Iris: four measurements of flowers of three species. These are the values of Fisher's paper, as "
        "in scikit-learn; the file at UCI differs in two rows.",
        "Fisher (1936), as bundled with scikit-learn",
        _UCI,
        150,
        target=("species",),
    ),
    "sonar": KnownSet(
        "Sonar returns in 60 frequency bands from a metal cylinder or a rock.",
        "UCI Connectionist Bench (Sonar, Mines vs. Rocks)",
        _UCI,
        208,
        target=("class",),
        classes={"M": "metal", "R": "rock"},
    ),
    "german_credit_numeric": KnownSet(
        "Applicants for credit, 24 numeric variables without names. The classes are 1 good and 2 bad, as in the "
        "file; Rhodes et al. code them 1 good and 0 bad.",
        "UCI Statlog German Credit, numeric version",
        _UCI,
        1000,
        target=("class",),
        classes={1: "good", 2: "bad"},
    ),
    "letter": KnownSet(
        "Capital letters in distorted fonts, described by 16 integers from 0 to 15.",
        "UCI Letter Recognition",
        _UCI,
        20000,
        target=("lettr",),
    ),
    "blood_transfusion": KnownSet(
        "Blood donors and whether they gave blood in March 2007.",
        "UCI Blood Transfusion Service Center",
        _UCI,
        748,
        target=("donated_march_2007",),
        classes={0: "did not donate", 1: "donated"},
        openml="blood-transfusion-service-center",
    ),
    "breast_cancer_wisconsin_prognostic": KnownSet(
        "Breast cancer patients and whether the cancer recurred. Four values of lymph_node_status are missing. "
        "`time` is the time to recurrence or the time free of disease, so its meaning depends on the outcome. 33 "
        "features with `time`; Vens and Costa count 32.",
        "UCI Breast Cancer Wisconsin (Prognostic)",
        _UCI,
        198,
        target=("outcome",),
        identifiers=("id",),
        classes={"N": "no recurrence", "R": "recurrence"},
    ),
    "breast_cancer_wisconsin_diagnostic": KnownSet(
        "Cell nuclei of breast masses, 30 measurements.",
        "UCI Breast Cancer Wisconsin (Diagnostic)",
        _UCI,
        569,
        target=("diagnosis",),
        classes={"B": "benign", "M": "malignant"},
        openml="wdbc",
    ),
    "breast_cancer_wisconsin_original": KnownSet(
        "Breast cytology, nine grades from 1 to 10. 16 values of bare_nuclei are missing. An id may occur more than "
        "once.",
        "UCI Breast Cancer Wisconsin (Original)",
        _UCI,
        699,
        target=("class",),
        identifiers=("id",),
        classes={2: "benign", 4: "malignant"},
        openml="breast-w",
    ),
    "credit_approval": KnownSet(
        "Credit card applications with variables and values made anonymous. 67 cells in 37 rows are missing.",
        "UCI Credit Approval",
        _UCI,
        690,
        target=("class",),
        openml="credit-approval",
    ),
    "cylinder_bands": KnownSet(
        "Printing runs with and without bands from the cylinder. 999 cells in 263 rows are missing. The file has 540 "
        "rows, while its notes and Vens and Costa speak of 512 rows of which 302 are incomplete. Nominal values were "
        "folded to lower case. The 35 features are the columns without timestamp, cylinder_number, customer and "
        "job_number.",
        "UCI Cylinder Bands",
        _UCI,
        540,
        target=("band_type",),
        identifiers=("timestamp", "cylinder_number", "customer", "job_number"),
        openml="cylinder-bands",
    ),
    "ecoli": KnownSet(
        "Proteins of E. coli and where they are localised. Vens and Costa separate cp and pp from the sites at a "
        "membrane.",
        "UCI Ecoli",
        _UCI,
        336,
        target=("site",),
        identifiers=("sequence_name",),
        classes={
            "cp": "cytoplasm",
            "im": "inner membrane without signal sequence",
            "pp": "periplasm",
            "imU": "inner membrane, uncleavable signal sequence",
            "om": "outer membrane",
            "omL": "outer membrane lipoprotein",
            "imL": "inner membrane lipoprotein",
            "imS": "inner membrane, cleavable signal sequence",
        },
    ),
    "glass": KnownSet(
        "Glass fragments, refractive index and oxides. Type 4 does not occur. The binary task of Vens and Costa has "
        "163 rows: types 1 and 3 (float) against type 2 (not float).",
        "UCI Glass Identification",
        _UCI,
        214,
        target=("type",),
        identifiers=("id",),
        classes={
            1: "building windows, float",
            2: "building windows, not float",
            3: "vehicle windows, float",
            5: "containers",
            6: "tableware",
            7: "headlamps",
        },
    ),
    "haberman": KnownSet(
        "Survival after surgery for breast cancer.",
        "UCI Haberman's Survival",
        _UCI,
        306,
        target=("survival_status",),
        classes={1: "survived five years", 2: "died within five years"},
    ),
    "heart_cleveland": KnownSet(
        "Heart disease at the Cleveland Clinic, graded from 0 (none) to 4. Missing: four values of ca, two of thal. "
        "Vens and Costa take 0 against the rest.",
        "UCI Heart Disease, processed Cleveland file",
        _UCI,
        303,
        target=("num",),
        classes={0: "none", 1: "grade 1", 2: "grade 2", 3: "grade 3", 4: "grade 4"},
    ),
    "hepatitis": KnownSet(
        "Patients with hepatitis. 167 cells in 75 rows are missing.",
        "UCI Hepatitis",
        _UCI,
        155,
        target=("class",),
        classes={1: "died", 2: "lived"},
    ),
    "ionosphere": KnownSet(
        "Radar returns from the ionosphere, good ones with evidence of structure and bad ones without.",
        "UCI Ionosphere",
        _UCI,
        351,
        target=("class",),
        classes={"g": "good", "b": "bad"},
    ),
    "mammographic_mass": KnownSet(
        "Mammographic masses. 162 cells in 131 rows are missing. bi_rads is a physician's assessment; without it 130 "
        "rows are incomplete, as Vens and Costa use the set.",
        "UCI Mammographic Mass",
        _UCI,
        961,
        target=("severity",),
        classes={0: "benign", 1: "malignant"},
    ),
    "pima_diabetes": KnownSet(
        "Women of Pima heritage tested for diabetes. No cell is empty, but zeros stand for missing values in some "
        "columns.",
        "Pima Indians Diabetes (NIDDK, formerly at UCI)",
        "not verified",
        768,
        target=("class",),
        classes={0: "negative", 1: "positive"},
        openml="diabetes",
    ),
    "spectf_heart": KnownSet(
        "Heart SPECT images as 44 counts of regions at rest and under stress. The corrected test file of 2006 is "
        "used, not the uncorrected one of 269 rows; 80 rows train, 187 test. The source codes the diagnosis 0 and 1.",
        "UCI SPECTF Heart",
        _UCI,
        267,
        target=("diagnosis",),
    ),
    "vehicle": KnownSet(
        "Silhouettes of four kinds of vehicle, 18 shape measures. Vens and Costa take opel and saab against bus and "
        "van.",
        "UCI Statlog Vehicle Silhouettes",
        _UCI,
        846,
        target=("class",),
    ),
    "wine": KnownSet(
        "Chemical analysis of wines of three cultivars. Vens and Costa take class 2 against the rest.",
        "UCI Wine",
        _UCI,
        178,
        target=("class",),
        classes={1: "cultivar 1", 2: "cultivar 2", 3: "cultivar 3"},
    ),
    "reuters_r52": KnownSet(
        "News of one topic each, lower-case text; 6532 train, 2568 test. It stands in for the English part of the "
        "multilingual Reuters collection that Liao et al. use.",
        "Reuters-21578, R52 subset of Cardoso-Cachopo",
        "research use (terms of Reuters-21578)",
        9100,
        target=("topic",),
    ),
}

_MATRICES: dict[str, KnownSet] = {
    "optdigits": KnownSet(
        "Handwritten digits as counts from 0 to 16 in 8 × 8 blocks; 3823 train, 1797 test. The test part is "
        "scikit-learn's digits.",
        "UCI Optical Recognition of Handwritten Digits",
        _UCI,
        5620,
        classes=_DIGITS,
        image_shape=(8, 8),
    ),
    "arcene": KnownSet(
        "Mass spectra of patients with cancer (+1) and without (−1), 10,000 variables from 0 to 999, some of them "
        "probes without meaning. The 100 training and 100 validation rows of the challenge together, 44 positive in "
        "each half.",
        "UCI Arcene (NIPS 2003 feature selection challenge)",
        _UCI,
        200,
        classes={-1: "healthy", 1: "cancer"},
    ),
    "mnist": KnownSet(
        "Handwritten digits, 28 × 28 pixels from 0 to 255; the first 60,000 rows train, the last 10,000 test.",
        "MNIST (LeCun, Cortes and Burges)",
        "CC BY-SA 3.0 (as commonly stated)",
        70000,
        n_train=60000,
        classes=_DIGITS,
        image_shape=(28, 28),
        openml="mnist_784",
    ),
    "fashion_mnist": KnownSet(
        "Articles of clothing, 28 × 28 pixels from 0 to 255; the first 60,000 rows train, the last 10,000 test.",
        "Fashion-MNIST (Xiao, Rasul and Vollgraf 2017)",
        "MIT",
        70000,
        n_train=60000,
        classes=_GARMENTS,
        image_shape=(28, 28),
        openml="Fashion-MNIST",
    ),
    "usps": KnownSet(
        "Digits from envelopes, 16 × 16 pixels in [−1, 1]; 7291 train, 2007 test. This is not the version of 11,000 "
        "images that Gisbrecht et al. use.",
        "USPS zip-code digits, version of 'The Elements of Statistical Learning'",
        "none stated, research use",
        9298,
        classes=_DIGITS,
        image_shape=(16, 16),
        openml="USPS",
    ),
    "coil20": KnownSet(
        "Photographs of 20 objects on a turntable, 128 × 128 pixels from 0 to 255; `pose` counts the 72 steps of 5°.",
        "COIL-20, processed images (Nene, Nayar and Murase 1996)",
        "non-commercial research use",
        1440,
        classes={k: f"object {k}" for k in range(1, 21)},
        image_shape=(128, 128),
    ),
    "mulan_yeast": KnownSet(
        "Genes of yeast and their functional classes, 14 labels, 4.237 a row; 1500 train, 917 test.",
        "Mulan: yeast",
        "not stated",
        2417,
        task="multilabel",
    ),
    "mulan_emotions": KnownSet(
        "Pieces of music and the emotions they raise, 6 labels, 1.868 a row; 391 train, 202 test.",
        "Mulan: emotions",
        "not stated",
        593,
        task="multilabel",
    ),
    "mulan_medical": KnownSet(
        "Clinical reports as words that occur and the codes of diseases, 45 labels, 1.245 a row; 333 train, 645 test.",
        "Mulan: medical",
        "not stated",
        978,
        task="multilabel",
    ),
    "mulan_bibtex": KnownSet(
        "Bibliography entries as words that occur and their tags, 159 labels, 2.402 a row; 4880 train, 2515 test. It "
        "stands in for subset 1 of rcv1v2, which Vens and Costa use.",
        "Mulan: bibtex",
        "not stated",
        7395,
        task="multilabel",
    ),
}

_COUNTS: dict[str, KnownSet] = {
    "scrna_pbmc3k": KnownSet(
        "Blood cells, counts of 13,714 genes. The 2638 annotated of 2700 cells, genes seen in at least three cells. "
        "The cell types come from clustering and marker genes, not from an independent assay, so maps of the same "
        "counts agree with them too easily.",
        "10x Genomics PBMC 3k; cell types of the Seurat tutorial",
        "CC BY 4.0 (10x Genomics)",
        2638,
        target=("cell_type",),
        identifiers=("barcode",),
        feature_column="gene_symbol",
    ),
    "scrna_neurons10k": KnownSet(
        "Mouse brain cells, counts of 1000 genes, without labels. The genes are the first of the file, not the most "
        "variable ones, so expect weak structure; one cell has no counts. A set for timing.",
        "10x Genomics, subset of 1.3 million mouse brain cells",
        "CC BY 4.0 (10x Genomics)",
        10000,
        task="none",
        target=(),
        feature_column="gene_symbol",
    ),
    "newsgroups20_w1000": KnownSet(
        "Postings to 20 newsgroups, counts of 1000 stemmed words; 11,256 train, 7489 test. The words were chosen by "
        "their mutual information with the class, so classes separate too well.",
        "20 Newsgroups by date (Rennie), vocabulary of Marlin",
        "none stated",
        18745,
        target=("newsgroup",),
        feature_column="term",
    ),
}

#: Tables that judge choices made on others; the columns are x1, x2, … in the source's order.
_UNTOUCHED: dict[str, KnownSet] = {
    "pendigits": KnownSet(
        "Digits written with a pen, as eight points resampled along the way; both parts of the source.",
        "UCI Pen-Based Recognition of Handwritten Digits, copy of KEEL",
        _UCI,
        10992,
        target=("class",),
    ),
    "satimage": KnownSet(
        "Landsat pixels, four bands of a 3 × 3 neighbourhood, and the ground at its centre; both parts of the source.",
        "UCI Statlog (Landsat Satellite), copy of KEEL",
        _UCI,
        6435,
        target=("class",),
        classes={
            "1": "red soil",
            "2": "cotton crop",
            "3": "grey soil",
            "4": "damp grey soil",
            "5": "soil with vegetation stubble",
            "7": "very damp grey soil",
        },
    ),
    "segment": KnownSet(
        "Regions of outdoor images of seven kinds, 19 measurements, of which one is constant.",
        "UCI Statlog (Image Segmentation), copy of KEEL",
        _UCI,
        2310,
        target=("class",),
    ),
    "vowel": KnownSet(
        "Eleven vowels, each spoken six times by 15 speakers. x1 is the source's split and x2 the speaker, which "
        "groups the rows; both are kept out of the features. x3 is the speaker's sex.",
        "UCI Connectionist Bench (Vowel Recognition, Deterding), copy of KEEL",
        _UCI,
        990,
        target=("class",),
        identifiers=("x1", "x2"),
    ),
    "splice": KnownSet(
        "Stretches of 60 DNA letters around a splice junction, as categories.",
        "UCI Molecular Biology (Splice-junction Gene Sequences), copy of KEEL",
        _UCI,
        3190,
        target=("class",),
        classes={"EI": "exon to intron", "IE": "intron to exon", "N": "neither"},
    ),
    "spambase": KnownSet(
        "E-mails, frequencies of words and signs. The source has 4601 rows; this copy lacks four.",
        "UCI Spambase, copy of KEEL",
        _UCI,
        4597,
        target=("class",),
        classes={"0": "no spam", "1": "spam"},
    ),
    "led7digit": KnownSet(
        "Seven noisy segments of a display and the digit. Many rows are equal; no rule is right in more than about "
        "74 % of them.",
        "UCI LED Display Domain, copy of KEEL",
        _UCI,
        500,
        target=("class",),
    ),
    "contraceptive": KnownSet(
        "Married women in Indonesia and their method of contraception. The signal is weak: about 53 % at best.",
        "UCI Contraceptive Method Choice, copy of KEEL",
        _UCI,
        1473,
        target=("class",),
        classes={"1": "none", "2": "long-term", "3": "short-term"},
    ),
}

#: Name to what is known about it.
KNOWN: Mapping[str, KnownSet] = {**_TABLES, **_MATRICES, **_COUNTS, **_UNTOUCHED}
