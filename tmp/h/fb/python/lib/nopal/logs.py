"""Log records as a probe."""
from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._nopal import Provider


class LogHandler(logging.Handler):
    """A logging handler that fires a probe for each record, and formats only while it is traced.

        logging.getLogger().addHandler(nopal.LogHandler(app))

    The probe is `record`(int32 level, str message, str logger, str file, int32 line, str function),
    for example `usdt:*:app:record /arg0 >= 40/ { printf("%s\\n", str(arg1)) }`. The
    handler's formatter makes the message: by default the text with its arguments, and a traceback
    if there is one.
    """

    def __init__(self, provider: Provider, name: str = "record", level: int = logging.NOTSET):
        from . import Type

        super().__init__(level)
        self.probe = provider.probe(
            name,
            level=Type.int32,
            message=Type.string,
            logger=Type.string,
            file=Type.string,
            line=Type.int32,
            function=Type.string,
            description="a record of the module logging",
        )

    def handle(self, record: logging.LogRecord) -> bool:
        # Before filters and the lock of the handler: without a tracer they are not needed.
        return bool(super().handle(record)) if self.probe else False

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self.probe(
                record.levelno,
                self.format(record),
                record.name,
                record.pathname,
                record.lineno,
                record.funcName,
            )
        except Exception:
            self.handleError(record)
