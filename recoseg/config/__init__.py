"""What decides a run, as typed settings; light to import."""

from recoseg.config.load import from_plain, load, to_yaml
from recoseg.config.settings import RunConfig

__all__ = ["RunConfig", "from_plain", "load", "to_yaml"]
