"""A grant, made idempotent by Powertools for AWS Lambda (Python) as its documentation shows, with one business write."""

import json
import os
import uuid

import boto3
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent

dynamodb = boto3.client("dynamodb")
store = DynamoDBPersistenceLayer(table_name=os.environ["POWERTOOLS_TABLE"])
config = IdempotencyConfig(event_key_jmespath='headers."idempotency-key"', payload_validation_jmespath="body")


@idempotent(persistence_store=store, config=config)
def handler(event, context):
    asked = json.loads(event["body"])
    grant_id = str(uuid.uuid4())
    dynamodb.put_item(
        TableName=os.environ["GRANTS_TABLE"],
        Item={
            "grant_id": {"S": grant_id},
            "user_id": {"S": asked["user_id"]},
            "stock_keeping_unit": {"S": asked["stock_keeping_unit"]},
            "reason": {"S": asked["reason"]},
            "purchase_id": {"S": asked["purchase_id"]},
            "state": {"S": "ACTIVE"},
        },
    )
    answer = {
        "grant_id": grant_id,
        "user_id": asked["user_id"],
        "stock_keeping_unit": asked["stock_keeping_unit"],
        "status": "ACTIVE",
    }
    return {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(answer)}
