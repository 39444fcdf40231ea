"""What a campaign may cost: estimated before, counted during, refused before too much. Pure."""

from flows.budget.billing import Billing, billing_of
from flows.budget.estimate import Totals, estimate, money_not_spent, totals
from flows.budget.sharing import Sharing, sharing
from flows.budget.spending import Spending
from flows.budget.steps import Beside

__all__ = [
    "Beside",
    "Billing",
    "Sharing",
    "Spending",
    "Totals",
    "billing_of",
    "estimate",
    "money_not_spent",
    "sharing",
    "totals",
]
