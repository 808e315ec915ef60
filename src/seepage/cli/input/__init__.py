"""What a user names on the command line: models, rows, policies."""

from seepage.cli.input._policies import PolicyFile as PolicyFile
from seepage.cli.input._question import CommandQuestion as CommandQuestion
from seepage.cli.input._question import whole_frame as whole_frame
