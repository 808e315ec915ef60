"""What a user names on the command line: models, rows, policies."""

from seepage.cli.input._models import write_model as write_model
from seepage.cli.input._policies import PolicyFile as PolicyFile
from seepage.cli.input._question import Question as Question
