"""Sessions in worker processes beside the engine: plans and mask rows come through shared memory."""

from factorspec_server.constraint_service.openings import WrittenDocument
from factorspec_server.constraint_service.options import ServiceOptions, VocabularySource
from factorspec_server.constraint_service.record import RemoteRecord
from factorspec_server.constraint_service.service import ConstraintService, Wanted
from factorspec_server.constraint_service.stats import ServiceStats
from factorspec_server.drafting import DraftingSpec

__all__ = [
    "ConstraintService",
    "DraftingSpec",
    "RemoteRecord",
    "ServiceOptions",
    "ServiceStats",
    "VocabularySource",
    "Wanted",
    "WrittenDocument",
]
