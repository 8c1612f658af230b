"""Imports every module that registers built-in functions."""

from __future__ import annotations

from millrace.relational.functions import arithmetic, casts, comparison, conditional, logical  # noqa: F401
from millrace.relational.functions import arrays as _arrays  # noqa: F401
from millrace.relational.functions import arrays_as_sets as _arrays_as_sets  # noqa: F401
from millrace.relational.functions import bitmaps as _bitmaps  # noqa: F401
from millrace.relational.functions import date_format as _date_format  # noqa: F401
from millrace.relational.functions import digits as _digits  # noqa: F401
from millrace.relational.functions import encodings as _encodings  # noqa: F401
from millrace.relational.functions import hashes as _hashes  # noqa: F401
from millrace.relational.functions import intervals as _intervals  # noqa: F401
from millrace.relational.functions import json_construction as _json_construction  # noqa: F401
from millrace.relational.functions import json_query as _json_query  # noqa: F401
from millrace.relational.functions import json_values as _json_values  # noqa: F401
from millrace.relational.functions import like as _like  # noqa: F401
from millrace.relational.functions import maps as _maps  # noqa: F401
from millrace.relational.functions import mathematics as _mathematics  # noqa: F401
from millrace.relational.functions import objects as _objects  # noqa: F401
from millrace.relational.functions import padding as _padding  # noqa: F401
from millrace.relational.functions import printf as _printf  # noqa: F401
from millrace.relational.functions import randoms as _randoms  # noqa: F401
from millrace.relational.functions import regex as _regex  # noqa: F401
from millrace.relational.functions import rounding as _rounding  # noqa: F401
from millrace.relational.functions import rows as _rows  # noqa: F401
from millrace.relational.functions import searching as _searching  # noqa: F401
from millrace.relational.functions import session as _session  # noqa: F401
from millrace.relational.functions import strings as _strings  # noqa: F401
from millrace.relational.functions import temporal_difference as _temporal_difference  # noqa: F401
from millrace.relational.functions import temporal_extract as _temporal_extract  # noqa: F401
from millrace.relational.functions import temporal_now as _temporal_now  # noqa: F401
from millrace.relational.functions import temporal_rounding as _temporal_rounding  # noqa: F401
from millrace.relational.functions import text_tests as _text_tests  # noqa: F401
from millrace.relational.functions import timestamps as _timestamps  # noqa: F401
from millrace.relational.functions import urls as _urls  # noqa: F401
from millrace.relational.functions import variants as _variants  # noqa: F401
