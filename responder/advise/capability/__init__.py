"""What each attention backend can do where: sglang's second and third gate, as data."""

from responder.advise.capability.mend import as_rule, remedies
from responder.advise.capability.situation import Situation, situation
from responder.advise.capability.table import PHASES, AttentionPhase, Cell, preferred, verdict

__all__ = ["PHASES", "AttentionPhase", "Cell", "Situation", "as_rule", "preferred", "remedies", "situation", "verdict"]
