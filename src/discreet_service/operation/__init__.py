"""Operation: figures about the service, its log, backups. Nothing here tells of contents."""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .logs import MEDIA_TYPE as MEDIA_TYPE
    from .logs import ServiceMetrics as ServiceMetrics
    from .logs import log_event as log_event
    from .logs import place_of_failure as place_of_failure
    from .logs import service_log as service_log
    from .logs import start_log as start_log

lazy_face(__name__)
