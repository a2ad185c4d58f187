// A grant, made idempotent by Powertools for AWS Lambda (TypeScript) as its documentation shows, with one business write.

import { randomUUID } from 'node:crypto';
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';

const dynamodb = new DynamoDBClient({});
const persistenceStore = new DynamoDBPersistenceLayer({ tableName: process.env.POWERTOOLS_TABLE ?? '' });
const config = new IdempotencyConfig({
  eventKeyJmesPath: 'headers."idempotency-key"',
  payloadValidationJmesPath: 'body',
});

export const handler = makeIdempotent(
  async (event: APIGatewayProxyEventV2, _context: Context) => {
    const asked = JSON.parse(event.body ?? '');
    const grantId = randomUUID();
    await dynamodb.send(
      new PutItemCommand({
        TableName: process.env.GRANTS_TABLE,
        Item: {
          grant_id: { S: grantId },
          user_id: { S: asked.user_id },
          stock_keeping_unit: { S: asked.stock_keeping_unit },
          reason: { S: asked.reason },
          purchase_id: { S: asked.purchase_id },
          state: { S: 'ACTIVE' },
        },
      })
    );
    const answer = {
      grant_id: grantId,
      user_id: asked.user_id,
      stock_keeping_unit: asked.stock_keeping_unit,
      status: 'ACTIVE',
    };
    return { statusCode: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(answer) };
  },
  { persistenceStore, config }
);
