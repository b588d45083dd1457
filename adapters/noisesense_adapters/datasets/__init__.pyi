"""The public names, each with the module it is loaded from when it is first used."""

from noisesense_adapters.datasets.answering import ablate as ablate
from noisesense_adapters.datasets.read import read_rows as read_rows
from noisesense_adapters.datasets.read import results_of as results_of
from noisesense_adapters.datasets.rows import BadRow as BadRow
from noisesense_adapters.datasets.rows import Row as Row
from noisesense_adapters.datasets.score import score_dataset as score_dataset
from noisesense_adapters.datasets.sheets import read_labels as read_labels
from noisesense_adapters.datasets.sheets import write_labels as write_labels
