"""What runoff may do in an account at the least, as AWS's policy language says it.

Only what bears runoff's tags may be changed or removed.
"""

from __future__ import annotations

from typing import Any, Final

from flows.amazon.tags import RUN

LOOKS: Final = (
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeKeyPairs",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSpotPriceHistory",
    "ec2:DescribeSubnets",
    "ec2:DescribeVolumes",
    "ec2:DescribeVpcs",
    "ec2:GetConsoleOutput",
    "pricing:GetProducts",
    "servicequotas:GetServiceQuota",
    "ssm:GetParameter",
)
MAKES: Final = (
    "ec2:CreateSecurityGroup",
    "ec2:ImportKeyPair",
    "ec2:RunInstances",
)
CHANGES_OURS: Final = (
    "ec2:AuthorizeSecurityGroupIngress",
    "ec2:CreateTags",
    "ec2:DeleteKeyPair",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteSecurityGroup",
    "ec2:DeleteVolume",
    "ec2:RevokeSecurityGroupIngress",
    "ec2:TerminateInstances",
)
TAGS_WHAT_IT_MAKES: Final = "ec2:CreateTags"


def minimal_policy() -> dict[str, Any]:
    """The policy document; a stated instance profile needs ``iam:PassRole`` beside it."""
    made = [action.removeprefix("ec2:") for action in MAKES]
    ours = {"Null": {f"aws:ResourceTag/{RUN}": "false"}}
    return {
        "Version": "2012-10-17",
        "Statement": [
            _allow("Look", LOOKS),
            _allow("Make", MAKES),
            _allow(
                "TagWhatIsMade",
                (TAGS_WHAT_IT_MAKES,),
                {"StringEquals": {"ec2:CreateAction": made}},
            ),
            _allow("ChangeAndRemoveOurs", CHANGES_OURS, ours),
        ],
    }


def _allow(
    name: str, actions: tuple[str, ...], condition: dict[str, Any] | None = None
) -> dict[str, Any]:
    statement = {"Sid": name, "Effect": "Allow", "Action": list(actions), "Resource": "*"}
    return statement if condition is None else {**statement, "Condition": condition}
