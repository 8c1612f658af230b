"""What happens to the last checkpoints of a cancelled job, under PyFlink's path."""

from millrace.common.state.externalized_checkpoint_retention import *  # noqa: F403
from millrace.common.state.externalized_checkpoint_retention import __all__ as __all__
