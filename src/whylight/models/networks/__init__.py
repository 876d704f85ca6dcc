"""Networks of our own, as models of transformers: trained, saved and loaded like any other."""

from transformers import AutoConfig, AutoModelForSequenceClassification

from whylight.models.networks.config import PlmCaConfig
from whylight.models.networks.plm_ca import PlmCaForSequenceClassification, PlmCaOutput

__all__ = ["PlmCaConfig", "PlmCaForSequenceClassification", "PlmCaOutput", "register"]


def register() -> None:
    """Let the auto classes of transformers load our networks; calling it again changes nothing."""
    AutoConfig.register(PlmCaConfig.model_type, PlmCaConfig, exist_ok=True)
    AutoModelForSequenceClassification.register(PlmCaConfig, PlmCaForSequenceClassification, exist_ok=True)
