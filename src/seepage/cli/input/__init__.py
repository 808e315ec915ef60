"""What a user names on the command line: models, rows, policies."""

from seepage.cli.input._policies import PolicyFile as PolicyFile
from seepage.cli.input._question import Question as Question
from seepage.cli.input._refits import exact_refits as exact_refits
