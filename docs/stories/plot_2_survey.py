"""
A list of passengers, with gaps
===============================

891 passengers of the Titanic: numbers, categories, names, one age in five missing, three
cabins in four unknown. Who survived, and which columns tell?
"""

import matplotlib.pyplot as plt

import manifolia as mf
from manifolia import datasets

passengers = datasets.load("titanic").frame
print(passengers.isna().sum()[lambda gaps: gaps > 0].to_string())

# %%
# The table goes in as it is. The notes say how each column was used: cabins and ticket
# numbers differ too much to be categories and are left out, names become the words in them,
# and missing values are kept, because trees can ask whether a value is there.

run = mf.map(passengers, target="Survived", key="PassengerId", n_trees=300)
for note in run.notes:
    print("-", note)

# %%
# What the map shows, in sentences:

for finding in run.findings:
    print("-", finding.text)

# %%
# And as a picture. Passengers lie between the two ends where the list does not decide.

places = run.embedding[["map_x", "map_y"]].to_numpy()
survived, sex = passengers["Survived"].astype(str) == "1", passengers["Sex"]
fig, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for ax, column, shown in ((axes[0], "survived", survived), (axes[1], "women and girls", sex == "female")):
    ax.scatter(*places[~shown].T, s=6, color="#BBBBBB")
    ax.scatter(*places[shown].T, s=6, color="#AA3377")
    ax.set(xticks=[], yticks=[], title=column)
plt.show()

# %%
# Which columns matter, and why one passenger lies where she does. "Name" leads because "mr"
# says sex and age at once. Passenger 298 is a girl of two in first class who did not
# survive: the values that put her among the survivors say why the list expected otherwise.

print(run.explain())
print(run.explain(298))

# %%
# How far to trust it: how the forest does on passengers that it did not see, and how
# many places are better than chance.

print(f"out of bag: {run.model[-1].oob_score_:.3f}")
diagnosis = mf.diagnose(run.model[-1], run.rows, passengers["Survived"], random_state=0)
print(diagnosis.summary)

# %%
# What this map does not show
# ---------------------------
#
# - **Causes.** Sex and class go with who was let into the boats. The map shows that they
#   separate the rows, not what would have happened to anyone with another ticket.
# - **That missing means nothing.** Ages are missing more often for those who died, perhaps
#   because nobody could ask them. "The value is missing" is a clue here that a new list
#   would not have: a gap is information about how a table was made.
# - **The crew**, and everyone who is not on the list.
# - **Families.** Passengers on one ticket travelled and often died together; as separate
#   rows they count too often. ``groups="Ticket"`` holds them out together.
# - **A risk.** A place near survivors is not a probability; the model's ``predict_proba``
#   gives one, and nobody has checked that it is calibrated.
